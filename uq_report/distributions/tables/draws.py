"""Draws from a predictive distribution: what a sampler gives."""

from typing import Any, Self

import numpy as np
from scipy.special import digamma, entr

from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError
from ..mixtures.normal_mixture import NormalMixture
from ..numerics.numeric import DIVERGENCES
from ..numerics.quadrature import half_from
from ..numerics.validate import Rowwise, levels, numbers, refuse, refuse_rows, row_sum

FEWEST = 20
_OF_DRAWS = frozenset({"mean", "variance", "entropy", "cdf", "quantile", "sample", "crps"})


class Draws(Rowwise):
    """n distributions of a continuous target, each known by m draws.

    All but the entropy and the CRPS is of the draws themselves, each of probability 1 / m; those two are estimates for
    the distribution that was drawn from. There is no density at a point, so no likelihood; `smoothed` has one.

    Parameters
    ----------
    draws : array of shape (m, n), m >= 20
        m draws for each of n rows, as ``posterior_predictive`` of a sampler, chains joined.

    Raises
    ------
    InputError
        If there are fewer than 20 draws, draws of unequal length, values that are not finite, or so many equal draws
        in a row that its entropy does not exist.

    Notes
    -----
    The entropy is Vasicek's estimator of order w = round(√m), corrected by the bias that it has for a uniform
    distribution (Wieczorkowski & Grzegorzewski 1999, doi:10.1080/03610919908813564). What is left of the bias depends
    on m, which is the same for all rows: for a normal -0.07 nats at m = 20, 0.01 at m = 100, 0.02 at m = 1000.

    Examples
    --------
    >>> q = Draws(np.linspace(0.0, 2.0, 1001)[:, None])
    >>> q.mean(), q.crps([1.0]).round(4), q.entropy().round(1)
    (array([1.]), array([0.1665]), array([0.7]))
    """

    family = "sample of draws"
    supports = _OF_DRAWS
    by_row = ("values",)

    def __init__(self, draws: Any) -> None:
        self.values = np.sort(_checked(draws).T, axis=1)
        self._refuse_ties()

    @property
    def size(self) -> int:
        """Number of draws of a row, m."""
        return self.values.shape[1]

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method == "log_prob" or method in DIVERGENCES:
            return f"{method} needs a density, which draws have not; Draws(...).smoothed() has one"
        return super().why_not(method)

    def mean(self) -> FloatArray:
        """Return the mean of the draws."""
        return row_sum(self.values) / self.size

    def variance(self) -> FloatArray:
        """Return the variance of the draws, divided by m."""
        return row_sum(np.square(self.values - self.mean()[:, None])) / self.size

    def entropy(self) -> FloatArray:
        """Return the estimate from the distances of draws that are 2 w apart in order; see the class."""
        spacing = self._spacings()
        return row_sum(np.log(spacing)) / self.size + _constant(self.size)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return the share of draws <= y."""
        return np.asarray((self.values <= np.asarray(y, dtype=float)[:, None]).sum(axis=1) / self.size)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest draws that a share p does not exceed, shape (n, L)."""
        level = levels(f"{'count_' * self.discrete}draws.quantile.p", p)
        return self.values[:, np.ceil(level * self.size * (1 - 1e-14)).astype(int) - 1]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` of the draws again, with replacement, shape (size, n)."""
        return self.values[np.arange(len(self)), rng.integers(self.size, size=(size, len(self)))]

    def crps(self, y: AnyArray) -> FloatArray:
        """Return mean |x - y| - mean |x - x'| / 2, a draw not paired with itself: the fair form (Ferro 2014).

        Without bias for the distribution that the draws come from, and so below 0 now and then.
        """
        m = self.size
        distance = row_sum(np.abs(self.values - np.asarray(y, dtype=float)[:, None])) / m
        order = (2 * np.arange(1, m + 1) - m - 1) / (m * (m - 1))
        return distance - row_sum((self.values - self.values[:, :1]) * order)

    def smoothed(self) -> NormalMixture:
        """Return a normal kernel around every draw, of Silverman's width 0.9 min(sd, IQR / 1.34) m^(-1/5).

        It adds the squared width to the variance. Source: Silverman 1986, eq. 3.31.
        """
        quartiles = np.quantile(self.values, [0.25, 0.75], axis=1)
        spread = np.minimum(
            np.sqrt(self.variance() * self.size / (self.size - 1)), np.diff(quartiles, axis=0)[0] / 1.34
        )
        width = 0.9 * spread * self.size**-0.2
        refuse("draws.smoothed.width", "greater than 0", width, width <= 0, "Half of the draws there are one value.")
        return NormalMixture(self.values, np.repeat(width[:, None], self.size, axis=1), points=False)

    def _spacings(self) -> FloatArray:
        w = _order(self.size)
        padded = np.pad(self.values, ((0, 0), (w, w)), mode="edge")
        return np.asarray(padded[:, 2 * w :] - padded[:, : -2 * w])

    def _refuse_ties(self) -> None:
        must = f"draws.draws must not repeat a value {_order(self.size) + 1} times or more in a row; got that"
        remedy = "Give counts as CountDraws, and thin a chain that stands still."
        refuse_rows(must, np.asarray((self._spacings() <= 0).any(axis=1)), remedy)


class CountDraws(Draws):
    """n distributions of a count, each known by m draws: the shares of the draws are its probabilities.

    Parameters
    ----------
    draws : array of shape (m, n), m >= 20
        Whole numbers.

    Notes
    -----
    The log probability of a count that was not drawn is -inf. The entropy is that of the shares; it lies below that of
    the distribution they were drawn from by about (k - 1) / (2 m) nats, k the number of values that may occur
    (Miller 1955).

    Examples
    --------
    >>> q = CountDraws(np.repeat([[0], [1]], 10, axis=0))
    >>> q.entropy().round(4), q.log_prob([1]).round(4)
    (array([0.6931]), array([-0.6931]))
    """

    family = "sample of counts"
    discrete = True
    supports = _OF_DRAWS | DIVERGENCES | {"log_prob"}

    def __init__(self, draws: Any) -> None:
        table = _checked(draws)
        broken = (table != np.floor(table)).any(axis=0)
        refuse_rows("count_draws.draws must be whole numbers; got others", broken, "Use Draws for a continuous target.")
        self.values = np.sort(table.T, axis=1)

    def entropy(self) -> FloatArray:
        """Return -sum p log p over the values drawn."""
        share = self.shares(self.values)
        return row_sum(entr(share) / (share * self.size))

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log share of the draws that are y; -inf where none is."""
        with np.errstate(divide="ignore"):
            return np.log(self.shares(np.asarray(y, dtype=float)[:, None])[:, 0])

    def kl(self, other: Self) -> FloatArray:
        """Return sum p log(p / q) over the values drawn; infinite where `other` has none of one."""
        with np.errstate(divide="ignore"):
            ratio = np.log(self.shares(self.values)) - np.log(other.shares(self.values))
        return np.maximum(row_sum(ratio) / self.size, 0.0)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return -2 log sum √(p q); infinite where no value was drawn from both."""
        ratio = np.sqrt(other.shares(self.values) / self.shares(self.values))
        return half_from(np.maximum(row_sum(1 - ratio) / self.size, 0.0))

    def shares(self, at: FloatArray) -> FloatArray:
        """Return the share of draws equal to each number, shape (n, L) to (n, L)."""
        counts = [
            np.searchsorted(row, y, side="right") - np.searchsorted(row, y)
            for row, y in zip(self.values, at, strict=True)
        ]
        return np.asarray(counts, dtype=float).reshape(at.shape) / self.size


def _order(m: int) -> int:
    """Return the order of the spacings, the nearest whole number to √m."""
    return int(np.sqrt(m) + 0.5)


def _constant(m: int) -> float:
    """Return what is added to the mean log spacing, so that the estimate has no bias for a uniform distribution."""
    w = _order(m)
    ends = float(digamma(w + np.arange(w)).sum())
    return float(digamma(m + 1) - (1 - 2 * w / m) * digamma(2 * w) - 2 / m * ends)


def _checked(draws: Any) -> FloatArray:
    try:
        table = numbers("draws.draws", draws)
    except InputError as error:
        lengths = sorted({np.size(row) for row in draws}) if isinstance(draws, list | tuple) else []
        if len(lengths) < 2:
            raise
        got = f"between {lengths[0]} and {lengths[-1]} of them"
        raise InputError(f"draws.draws must have as many rows in every draw; got {got}. Cut them alike.") from error
    if table.ndim != 2 or table.shape[0] < FEWEST:
        raise InputError(
            f"draws.draws must have the shape (draws, rows) with at least {FEWEST} draws; got {table.shape}. "
            "Join the chains, draw more, or transpose."
        )
    remedy = "Drop draws that diverged, all rows of them."
    bad = np.asarray(~np.isfinite(table).all(axis=0))
    refuse_rows("draws.draws must be finite; got other values", bad, remedy)
    return table
