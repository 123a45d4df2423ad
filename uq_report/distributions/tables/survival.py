"""Survival curves: the probability that the event has not happened yet, as a step function of time."""

from typing import Any, Self

import numpy as np
from scipy.special import entr, xlogy

from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.numbers import show_value
from ..families.weibull import Lifetimes
from ..numerics.quadrature import half_of, kl_of
from ..numerics.validate import levels, numbers, row_sum, vector

ROUNDING = 1e-9  # what a curve may rise, or leave [0, 1] by, as sums of hazards do


class Survival(Lifetimes):
    """n survival curves S(t) = P(T > t), steps at common times; the curves need not reach 0.

    The time axis is cut into cells, each up to and including its last time, and one beyond the last time of the
    curve. `entropy`, `log_prob` and the divergences are those of the cell that the event falls into, in nats: they
    compare models on the same cells only. An event scores the mass of its cell, a censored row S at its time. Moments,
    `quantile` and `sample` are those of min(T, horizon), where the horizon is the last time: the restricted mean
    survival time.

    Parameters
    ----------
    times : array of shape (T,)
        Increasing, at least 0.
    survival : array of shape (n, T)
        S at and after each time, up to the next; before the first it is 1. It may not rise.
    cells : array of int, optional
        Positions in `times` that end a cell, the last one among them; every time by default. Cells without mass make
        an infinite loss possible, so fine curves that few events have fitted need broader cells.

    References
    ----------
    Kvamme & Borgan (2021), doi:10.1007/s10985-021-09532-6, eq. 2 (the likelihood of discrete times).
    Royston & Parmar (2013), doi:10.1186/1471-2288-13-152 (restricted mean survival time).

    Examples
    --------
    >>> curves = Survival([1.0, 2.0], [[0.5, 0.25]])
    >>> curves.mean()
    array([1.5])
    >>> from uq_report.core.validation.lifetimes import recorded
    >>> event, censored = (recorded(np.array([1.5]), np.array([seen])) for seen in (True, False))
    >>> curves.log_prob(event).round(4), curves.log_prob(censored).round(4)
    (array([-1.3863]), array([-0.6931]))
    """

    family = "survival"
    supports = frozenset({"mean", "variance", "entropy", "log_prob", "cdf", "quantile", "sample", "kl", "renyi_half"})
    discrete = True
    by_row = ("survival",)

    def __init__(self, times: Any, survival: Any, cells: Any = None) -> None:
        self.times = _increasing(times)
        self.survival = _curves(survival, len(self.times))
        self.horizon = float(self.times[-1])
        self.cells = np.arange(len(self.times)) if cells is None else _ends(cells, len(self.times))

    @property
    def mass(self) -> FloatArray:
        """The probabilities of the cells, and of what lies beyond the horizon, shape (n, cells + 1)."""
        n = len(self)
        return np.asarray(-np.diff(np.column_stack([np.ones(n), self.survival[:, self.cells], np.zeros(n)]), axis=1))

    def mean(self) -> FloatArray:
        """Return the restricted mean survival time: the integral of S up to the horizon."""
        return self._integral(np.diff(self.times, prepend=0.0))

    def variance(self) -> FloatArray:
        """Return the variance of min(T, horizon)."""
        square = self._integral(np.diff(np.square(self.times), prepend=0.0))
        return np.maximum(square - np.square(self.mean()), 0.0)

    def entropy(self) -> FloatArray:
        """Return the Shannon entropy of the cell of the event, in nats."""
        return row_sum(entr(self.mass))

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log mass of the cell of an event, and log S(t) of a row censored at t."""
        cell = np.searchsorted(self.times[self.cells], y["time"])
        with np.errstate(divide="ignore"):
            return np.log(np.where(y["event"], self.mass[np.arange(len(self)), cell], self._at(y["time"])))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(T <= y) of plain times y; from the horizon on it stays where the curve ends."""
        return 1 - self._at(y)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the first times with P(T <= t) >= p, the horizon where the curve does not get there, shape (n, L)."""
        at = (self.survival[:, None, :] > 1 - levels("survival.quantile.p", p)[:, None] + ROUNDING).sum(axis=2)
        return np.asarray(self.times[np.minimum(at, len(self.times) - 1)])

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values of min(T, horizon) from each, shape (size, n)."""
        uniform = rng.random((size, len(self)))
        at = np.array(
            [np.searchsorted(-curve, -u, side="left") for curve, u in zip(self.survival, uniform.T, strict=True)]
        )
        return np.asarray(self.times[np.minimum(at, len(self.times) - 1)].T)

    def kl(self, other: Self) -> FloatArray:
        """Return the Kullback-Leibler divergence of the cells."""
        return kl_of(self.mass, self._alike(other).mass)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return the Rényi divergence of order 1/2 of the cells."""
        return half_of(self.mass, self._alike(other).mass)

    def cumulative_hazard(self, time: AnyArray) -> FloatArray:
        """Return the sum of the hazards of the times of the curve up to a time per row."""
        return self._summed(self._hazards(), self._steps(time))

    def expected_nll(self, y: AnyArray) -> FloatArray:
        """Return the loss that the curve expects up to the time of y, whatever ends the observation, shape (n,).

        At each time of the curve before which the row is at risk, the loss moves by a known amount if the event happens
        and by another if not; the sum of the means of these moves, for the row's own time at risk. The loss less this
        sum is a martingale (Aalen, Borgan & Gjessing 2008, section 2.2): its mean is 0 under any censoring that is
        independent of the event. Without censoring the mean of this sum is the entropy.
        """
        hazard, before = self._hazards(), self._before()
        cell = np.searchsorted(self.cells, np.arange(len(self.times)))
        event = xlogy(hazard, self.mass[:, cell])
        alive = xlogy(1 - hazard, self.survival)
        moves = np.where(before > 0, np.log(np.where(before > 0, before, 1.0)) - event - alive, 0.0)
        seen = np.minimum(np.searchsorted(self.times, y["time"]) + 1, len(self.times))  # an event belongs to its step
        return self._summed(moves, np.where(y["event"], seen, self._steps(y["time"])))

    def pit_bounds(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the range of the PIT: the step an event belongs to, and from F(t) up to 1 where censored at t.

        A uniform draw in that range is uniform on [0, 1] if y follows the curve, under independent censoring
        (Li, Wu & Feng 2021, Statistics in Medicine 40, 1482-1497).
        """
        at = np.searchsorted(self.times, y["time"])  # the step at or after the event
        rows, edges = np.arange(len(self)), np.column_stack([np.ones(len(self)), self.survival, np.zeros(len(self))])
        lower = np.where(y["event"], 1 - edges[rows, at], self.cdf(y["time"]))
        return lower, np.where(y["event"], 1 - edges[rows, at + 1], 1.0)

    def _before(self) -> FloatArray:
        """Return S just before each time, shape (n, T)."""
        return np.column_stack([np.ones(len(self)), self.survival[:, :-1]])

    def _hazards(self) -> FloatArray:
        """Return the probability of the event at each time for a row still at risk, shape (n, T); 0 where none is."""
        before = self._before()
        return np.where(before > 0, (before - self.survival) / np.where(before > 0, before, 1.0), 0.0)

    @staticmethod
    def _summed(moves: FloatArray, steps: IntArray) -> FloatArray:
        """Return the sum of the first moves of each row, as many as it made steps."""
        total = np.column_stack([np.zeros(len(moves)), np.cumsum(moves, axis=1)])
        return np.asarray(total[np.arange(len(moves)), steps])

    def _integral(self, widths: FloatArray) -> FloatArray:
        """Return the integral of S up to the horizon, over steps of these widths."""
        return np.asarray(widths[0] + row_sum(self.survival[:, :-1], widths[1:]))

    def _steps(self, time: AnyArray) -> IntArray:
        """Return how many times of the curves each time has reached."""
        return np.searchsorted(self.times, time, side="right")

    def _at(self, time: AnyArray) -> FloatArray:
        """Return S at a time per row."""
        at = self._steps(time)
        return np.where(at > 0, self.survival[np.arange(len(self)), at - 1], 1.0)

    def _alike(self, other: Self) -> Self:
        if not (np.array_equal(self.times, other.times) and np.array_equal(self.cells, other.cells)):
            raise InputError("survival.times must be those of both curves that are compared; got two. Use one grid.")
        return other


def _increasing(times: Any) -> FloatArray:
    checked = vector("survival.times", times)
    if not len(checked) or checked[0] < 0 or (np.diff(checked) <= 0).any():
        raise InputError(
            f"survival.times must be increasing and at least 0; got {checked[:5].tolist()} ... Sort them, each once."
        )
    return checked


def _curves(survival: Any, size: int) -> FloatArray:
    """Return curves that lie in [0, 1] and do not rise, up to rounding, which is taken out."""
    s = numbers("survival.survival", survival)
    if s.ndim != 2 or s.shape[1] != size:
        raise InputError(f"survival.survival must have shape (rows, {size}), one column per time; got {s.shape}.")
    outside = ~((s >= -ROUNDING) & (s <= 1 + ROUNDING))
    _refuse("lie in [0, 1]", s, outside, "A hazard below 0 makes S exceed 1: use a model whose hazards are positive.")
    rises = np.diff(s, axis=1, prepend=1.0) > ROUNDING
    _refuse("not rise", s, rises, "The model's hazards are negative there: use a model whose hazards are positive.")
    return np.minimum.accumulate(np.clip(s, 0.0, 1.0), axis=1)


def _refuse(must: str, s: FloatArray, bad: AnyArray, remedy: str) -> None:
    rows = np.flatnonzero(bad.any(axis=1))
    if len(rows):
        first, column = int(rows[0]), int(np.argmax(bad[rows[0]]))
        raise InputError(
            f"survival.survival must {must}; got {show_value(s[first, column])} at time number {column} in row {first} "
            f"({len(rows)} of {len(s)} rows). {remedy}",
            row=first,
        )


def _ends(cells: Any, size: int) -> IntArray:
    ends = np.asarray(cells)
    if ends.ndim != 1 or ends.dtype.kind not in "iu" or not len(ends) or ends[-1] != size - 1 or ends[0] < 0:
        raise InputError(f"survival.cells must be positions in times, the last {size - 1}; got {cells}.")
    if (np.diff(ends) <= 0).any():
        raise InputError(f"survival.cells must increase; got {ends.tolist()}.")
    return ends.astype(np.int64)
