"""One smoothed shape, moved to each row's place and stretched to its scale."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import logsumexp, ndtr

from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ..families.normal import absolute_moment, log_density
from ..mixtures.normal_mixture import NormalMixture
from ..numerics.numeric import DIVERGENCES, FISHER
from ..numerics.quadrature import half_from
from ..numerics.validate import Rowwise, levels, positive, row_sum, same_length, vector

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

_CELLS = 1 << 18  # numbers in one array of (row, centre)
_REACH, _STEPS = 10.0, 16  # of the grid that expectations are taken on, in bandwidths and steps per bandwidth
_ALWAYS = frozenset({"mean", "variance", "entropy", "log_prob", "cdf", "quantile", "sample", "crps"})


class Smoothed(Rowwise):
    """n distributions of loc + scale Z, where Z is one of the centres plus a normal of the bandwidth.

    Parameters
    ----------
    loc : array of shape (n,)
    scale : float or array of shape (n,)
        Greater than 0.
    centres : array of shape (m,)
    bandwidth : float
        Greater than 0, in units of the centres.
    size : int, optional
        The number m of values that the centres stand for, by default of the centres. Calibration judges the PIT from
        1/(m + 1) to m/(m + 1) and what lies beyond by its probability alone: there the tails are those of the kernel.

    Raises
    ------
    InputError
        If a value is not finite, a scale or the bandwidth not positive, or the size smaller than the number of centres.

    Examples
    --------
    >>> Smoothed([0.0, 5.0], [1.0, 2.0], [-1.0, 1.0], 0.5).variance()
    array([1.25, 5.  ])
    """

    family = "smoothed empirical"
    supports = _ALWAYS | FISHER | DIVERGENCES
    parametrisation = ("loc", "scale")
    by_row = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, centres: Any, bandwidth: float, size: int | None = None) -> None:
        self.loc = vector("smoothed.loc", loc)
        self.scale = same_length("smoothed.scale", scale, len(self.loc))
        positive("smoothed.scale", self.scale, "Give each row a positive scale.")
        self.centres = vector("smoothed.centres", centres)
        if not (len(self.centres) and np.isfinite(bandwidth) and bandwidth > 0):
            raise InputError(
                f"smoothed must have centres and a bandwidth > 0; got {len(self.centres)} and {bandwidth!r}."
            )
        self.bandwidth = float(bandwidth)
        self.size = len(self.centres) if size is None else size
        if self.size < len(self.centres):
            raise InputError(f"smoothed.size must be at least the number of centres, {len(self.centres)}; got {size}.")

    @cached_property
    def shape(self) -> NormalMixture:
        """The distribution of Z."""
        return NormalMixture(self.centres[None], np.full((1, len(self.centres)), self.bandwidth))

    def moved(self, loc: Any, scale: Any) -> Smoothed:
        """Return distributions of the same shape at other places and scales."""
        _ = self.constants, self.tail_losses
        other = Smoothed(loc, scale, self.centres, self.bandwidth, self.size)
        for name in ("shape", "grid", "spline", "constants", "tail_losses"):
            other.__dict__[name] = getattr(self, name)
        return other

    @cached_property
    def grid(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Places z, the logarithm of the density f of Z there, and f' / f; f vanishes at both ends."""
        reach = _REACH * self.bandwidth
        n = int(np.ceil((np.ptp(self.centres) + 2 * reach) / self.bandwidth * _STEPS)) + 1
        z = np.linspace(self.centres.min() - reach, self.centres.max() + reach, n)
        blocks = map(self._log_density_and_slope, _blocks(z, self))
        log_f, slope = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return z, log_f, slope

    @cached_property
    def spline(self) -> CubicSpline:
        """The logarithm of the density of Z between the places of the grid."""
        from scipy.interpolate import CubicSpline  # half of what the core would load, for this family alone

        return CubicSpline(*self.grid[:2])

    @cached_property
    def constants(self) -> tuple[float, FloatArray, float]:
        """The entropy of Z, its Fisher information in (loc, scale), and half its mean distance from its like.

        Integrals are sums over the grid: the trapezoid rule is exact to rounding for a density that vanishes.
        """
        z, log_f, slope = self.grid
        weight = np.exp(log_f) * (z[1] - z[0])
        terms = slope, 1 + z * slope
        information = np.array([[float(np.sum(weight * a * b)) for a in terms] for b in terms])
        at = self.centres.mean(keepdims=True)
        apart = row_sum(absolute_moment(at[:, None] - self.centres, np.asarray(self.bandwidth**2)), self._shares)
        return float(-np.sum(weight * log_f)), information, float((apart - self.shape.crps(at))[0])

    @property
    def _shares(self) -> FloatArray:
        return np.full(len(self.centres), 1 / len(self.centres))

    def _log_density_and_slope(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log f and its derivative at z, shape (n,)."""
        apart = (z[:, None] - self.centres) / self.bandwidth
        member = log_density(apart, np.asarray(self.bandwidth))
        total = logsumexp(member, axis=1)
        slope = -row_sum(np.exp(member - total[:, None]) * apart) / self.bandwidth
        return np.asarray(total - np.log(len(self.centres))), slope

    def _by_block(self, y: AnyArray, of: Any) -> FloatArray:
        """Return a function of the standardised outcomes, by blocks that stay in the processor's cache."""
        z = (np.asarray(y, dtype=float) - self.loc) / self.scale
        return np.concatenate([of(block) for block in _blocks(z, self)]) if len(z) else z

    def mean(self) -> FloatArray:
        """Return loc + scale E[Z]."""
        return np.asarray(self.loc + self.scale * self.centres.mean())

    def variance(self) -> FloatArray:
        """Return scale² (variance of the centres + bandwidth²)."""
        return np.asarray(np.square(self.scale) * (self.centres.var() + self.bandwidth**2))

    def entropy(self) -> FloatArray:
        """Return the entropy of Z + log scale."""
        return self.constants[0] + np.log(self.scale)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y."""
        return self._by_block(y, lambda z: self._log_density_and_slope(z)[0]) - np.log(self.scale)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return self._by_block(y, lambda z: row_sum(ndtr((z[:, None] - self.centres) / self.bandwidth), self._shares))

    def pit_bounds(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return F(y) twice; beyond the share 1/(m + 1) of either end the whole of that share."""
        reached, share = self.cdf(y), 1 / (self.size + 1)
        lower = np.where(reached < share, 0.0, np.minimum(reached, 1 - share))
        return lower, np.where(reached > 1 - share, 1.0, np.maximum(reached, share))

    @cached_property
    def tail_losses(self) -> tuple[float, float]:
        """The mean of -log f(Z) in the lowest and in the highest 1/(m + 1) of the probability of Z."""
        z, log_f, _ = self.grid
        weight = np.exp(log_f) * (z[1] - z[0])
        reached, share = np.cumsum(weight) - weight / 2, 1 / (self.size + 1)
        low, high = (weight * tail for tail in (reached < share, reached > 1 - share))
        return float(-(low @ log_f) / low.sum()), float(-(high @ log_f) / high.sum())

    def expected_nll(self, y: AnyArray) -> FloatArray:
        """Return the entropy; beyond the share 1/(m + 1) of either end with what the loss there exceeds its mean by.

        Such a tail is stated by its probability alone, so that an outcome in it counts with the tail's mean loss.
        """
        reached, share, low = self.cdf(y), 1 / (self.size + 1), self.tail_losses[0]
        excess = -self.log_prob(y) - np.log(self.scale) - np.where(reached < share, low, self.tail_losses[1])
        return self.entropy() + np.where((reached < share) | (reached > 1 - share), excess, 0.0)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return loc + scale times the quantiles of Z, shape (n, L)."""
        z = self.shape.quantile(levels("smoothed.quantile.p", p))
        return np.asarray(self.loc[:, None] + self.scale[:, None] * z)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        z = rng.normal(rng.choice(self.centres, (size, len(self))), self.bandwidth)
        return np.asarray(self.loc + self.scale * z)

    def crps(self, y: AnyArray) -> FloatArray:
        """Return scale (E|Z - z| - E|Z - Z'| / 2) (Gneiting & Raftery 2007, eq. 21)."""
        square = np.asarray(self.bandwidth**2)
        apart = self._by_block(y, lambda z: row_sum(absolute_moment(z[:, None] - self.centres, square), self._shares))
        return np.asarray(self.scale * (apart - self.constants[2]))

    def kl(self, other: Self) -> FloatArray:
        """Return the integral of f (log f - log g) over the grid of Z, with g the other's density there."""
        log_f = self.grid[1]
        return self._over_grid(other, lambda log_g: row_sum(np.exp(log_f) * (log_f - log_g)))

    def renyi_half(self, other: Self) -> FloatArray:
        """Return -2 log(1 - H), where 2 H is the integral of (sqrt f - sqrt g)², and of g beyond the grid of Z."""
        f = np.exp(self.grid[1])

        def gap(log_g: FloatArray) -> FloatArray:
            g = np.exp(log_g)
            return row_sum(np.square(np.sqrt(f) - np.sqrt(g))) / 2 + np.maximum(row_sum(f - g), 0.0) / 2

        return half_from(self._over_grid(other, gap))

    def _over_grid(self, other: Self, of: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return the integral of what `of` makes of the other's log density at the grid of Z, not below 0."""
        z, step = self.grid[0], max(1, _CELLS // len(self.grid[0]))
        parts = [np.zeros(0)]
        for rows in (slice(start, start + step) for start in range(0, len(self), step)):
            check_limits()
            ratio = (self.scale[rows] / other.scale[rows])[:, None]
            place = ((self.loc[rows] - other.loc[rows]) / other.scale[rows])[:, None] + ratio * z
            parts.append(of(other._interpolated(place) + np.log(ratio)))
        return np.maximum(np.concatenate(parts) * (z[1] - z[0]), 0.0)

    def _interpolated(self, z: FloatArray) -> FloatArray:
        """Return log f between the places of the grid, to 1e-6; beyond them it falls as a normal of the bandwidth."""
        at, _, slope = self.grid
        inside = np.clip(z, at[0], at[-1])
        beyond = z - inside
        edge = np.where(beyond < 0, slope[0], slope[-1])
        return np.asarray(self.spline(inside) + edge * beyond - 0.5 * np.square(beyond / self.bandwidth))

    @property
    def parameters(self) -> FloatArray:
        """(loc, scale), shape (n, 2)."""
        return np.stack([self.loc, self.scale], axis=1)

    def fisher_information(self) -> FloatArray:
        """Return the information of Z / scale², shape (n, 2, 2)."""
        return np.asarray(self.constants[1] / np.square(self.scale)[:, None, None])

    def fisher_norm(self, derivatives: FloatArray) -> FloatArray:
        """Return sqrt(v' I v), term by term, so that a row's last bits are its own."""
        (a, b), (_, c) = self.constants[1]
        u, v = np.moveaxis(derivatives, -1, 0)
        return np.asarray(np.sqrt(np.maximum(a * u * u + 2 * b * u * v + c * v * v, 0.0)) / self.scale)


def _blocks(z: FloatArray, of: Smoothed) -> list[FloatArray]:
    step = max(1, _CELLS // len(of.centres))
    return [z[start : start + step] for start in range(0, len(z), step)]
