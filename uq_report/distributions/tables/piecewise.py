"""Densities that are constant between edges, with a tail beyond each of the outermost two.

Histograms: bar distributions and densities on a grid.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from scipy.special import erf, ndtr, ndtri, rel_entr

from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError, UnsupportedError
from ..families.categorical import checked_probabilities
from ..numerics.numeric import DIVERGENCES
from ..numerics.quadrature import half_from, half_of, kl_of
from ..numerics.validate import Rowwise, levels, numbers, row_sum

_HALF_NORMAL_MEAN = float(np.sqrt(2 / np.pi))


class Tail(Protocol):
    """The distance T >= 0 from the edge, in units of the tail's scale."""

    mean: ClassVar[float]
    variance: ClassVar[float]
    entropy: ClassVar[float]
    square: ClassVar[float]  # the integral of the squared survival function

    def log_density(self, t: FloatArray) -> FloatArray:
        """Return the log density of T at t >= 0."""

    def beyond(self, t: FloatArray) -> FloatArray:
        """Return P(T > t)."""

    def at(self, share: FloatArray) -> FloatArray:
        """Return the distance beyond which `share` of the tail lies."""

    def distance(self, d: FloatArray) -> FloatArray:
        """Return the mean absolute value of T - d, for d >= 0."""


class Exponential:
    """exp(-t)."""

    mean: ClassVar[float] = 1.0
    variance: ClassVar[float] = 1.0
    entropy: ClassVar[float] = 1.0
    square: ClassVar[float] = 0.5

    def log_density(self, t: FloatArray) -> FloatArray:
        """Return -t."""
        return -t

    def beyond(self, t: FloatArray) -> FloatArray:
        """Return exp(-t)."""
        return np.exp(-t)

    def at(self, share: FloatArray) -> FloatArray:
        """Return -log(share)."""
        return -np.log(share)

    def distance(self, d: FloatArray) -> FloatArray:
        """Return d - 1 + 2 exp(-d)."""
        return np.asarray(d - 1 + 2 * np.exp(-d))


class HalfNormalTail:
    """2 phi(t)."""

    mean: ClassVar[float] = _HALF_NORMAL_MEAN
    variance: ClassVar[float] = 1 - 2 / np.pi
    entropy: ClassVar[float] = float(0.5 + 0.5 * np.log(np.pi / 2))
    square: ClassVar[float] = float((2 - np.sqrt(2)) * _HALF_NORMAL_MEAN)

    def log_density(self, t: FloatArray) -> FloatArray:
        """Return log(2 phi(t))."""
        return np.asarray(-0.5 * np.square(t) + np.log(_HALF_NORMAL_MEAN))

    def beyond(self, t: FloatArray) -> FloatArray:
        """Return 2 Phi(-t)."""
        return np.asarray(2 * ndtr(-t))

    def at(self, share: FloatArray) -> FloatArray:
        """Return -Phi^-1(share / 2)."""
        return np.asarray(-ndtri(share / 2))

    def distance(self, d: FloatArray) -> FloatArray:
        """Return E T - d + 2 * the integral of P(T <= t) from 0 to d."""
        below = d * erf(d / np.sqrt(2)) + self.mean * np.expm1(-0.5 * np.square(d))
        return np.asarray(self.mean - d + 2 * below)


DENSITY = frozenset({"entropy", "log_prob"}) | DIVERGENCES
WITHOUT_DENSITY = frozenset({"mean", "variance", "cdf", "quantile", "sample", "crps"})


class Piecewise(Rowwise):
    """n densities, each with K cells between K + 1 edges and two tails; the base of quantile tables and histograms.

    A subclass sets `edges` (n, K + 1), `masses` (n, K) of the cells, `beyond` (n, 2) of the tails, and the
    `scales` (n, 2) of the tails. All answers are closed forms.
    """

    by_row: ClassVar[tuple[str, ...]] = ("edges", "masses", "beyond", "scales")
    edges: FloatArray
    masses: FloatArray
    beyond: FloatArray
    scales: FloatArray
    tail: Tail = Exponential()

    def mean(self) -> FloatArray:
        """Return the masses' mean centre, with that of the tails."""
        lower, upper = (self.tail.mean * scale for scale in self.scales.T)
        first, last = self.beyond.T
        middle = row_sum(self.masses * self._centres())
        return np.asarray(middle + first * (self.edges[:, 0] - lower) + last * (self.edges[:, -1] + upper))

    def variance(self) -> FloatArray:
        """Return the variance within cells and tails plus that of their means."""
        mean = self.mean()
        inside = np.square(np.diff(self.edges)) / 12 + np.square(self._centres() - mean[:, None])
        ends = self.edges[:, [0, -1]] + self.tail.mean * self.scales * np.array([-1.0, 1.0])
        tails = self.tail.variance * np.square(self.scales) + np.square(ends - mean[:, None])
        return row_sum(self.masses * inside) + row_sum(self.beyond * tails)

    def entropy(self) -> FloatArray:
        """Return sum_k m_k log(w_k / m_k), and of each tail its mass times (its entropy + log(scale / mass))."""
        self._need("entropy")
        tails = self.tail.entropy * self.beyond - rel_entr(self.beyond, self.scales)
        return -row_sum(rel_entr(self.masses, np.diff(self.edges))) + row_sum(tails)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf where there is none."""
        self._need("log_prob")
        cell, below, above = self._place(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.log(_of(self.masses, cell)) - np.log(_of(np.diff(self.edges), cell))
            log_tails = np.log(self.beyond) - np.log(self.scales)
        y = np.asarray(y, dtype=float)
        with np.errstate(invalid="ignore", over="ignore"):
            lower = log_tails[:, 0] + self.tail.log_density(self._beyond(y, 0))
            upper = log_tails[:, 1] + self.tail.log_density(self._beyond(y, 1))
        values = np.where(below, lower, np.where(above, upper, inside))
        return np.where(np.isnan(values), -np.inf, values)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y), linear inside a cell."""
        cell, below, above = self._place(y)
        y = np.asarray(y, dtype=float)
        start, width = _of(self.edges, cell), _of(np.diff(self.edges), cell)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(width > 0, (y - start) / width, 1.0)
        inside = _of(self._reached(), cell) + share * _of(self.masses, cell)
        lower = self.beyond[:, 0] * self.tail.beyond(self._beyond(y, 0))
        upper = 1 - self.beyond[:, 1] * self.tail.beyond(self._beyond(y, 1))
        return np.where(below, lower, np.where(above, upper, inside))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest y with P(Y <= y) >= p, shape (n, L)."""
        return self._inverse(np.tile(levels(f"{self.family.replace(' ', '_')}.quantile.p", p), (len(self), 1)))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return self._inverse(1 - rng.random((size, len(self))).T).T

    def crps(self, y: AnyArray) -> FloatArray:
        """Return E|Y - y| less the integral of F (1 - F), summed over cells and tails."""
        return self.distance(y) - self._spread()

    def distance(self, y: AnyArray) -> FloatArray:
        """Return E|Y - y|, summed over cells and tails."""
        y = np.asarray(y, dtype=float)
        start, end, width = self.edges[:, :-1], self.edges[:, 1:], np.diff(self.edges)
        inside = np.clip(y[:, None], start, end)
        with np.errstate(divide="ignore", invalid="ignore"):
            left, right = (inside - start) / width, (end - inside) / width
            parts = (left * (inside - start) + right * (end - inside)) / 2
        off = np.abs(y[:, None] - inside)  # from the cell, where y is outside it
        distance = np.where(off > 0, off + width / 2, np.where(width > 0, parts, 0.0))
        score = row_sum(self.masses * distance)
        for side, edge in enumerate((self.edges[:, 0] - y, y - self.edges[:, -1])):
            scale = self.scales[:, side]
            with np.errstate(over="ignore"):  # the square of a distance whose exponential is 0
                far = self.tail.distance(self._beyond(y, side)) * scale
            score += self.beyond[:, side] * np.where(edge > 0, far, scale * self.tail.mean - edge)
        return score

    def kl(self, other: Self) -> FloatArray:
        """Return the divergence from `other`, in closed form over the cells of both."""
        self._need("kl")
        if self._same_cells(other):
            return kl_of(self._all_masses(), other._all_masses())
        self._need_log_linear(other)
        return kl_of_pieces(self, other)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return -2 log of the integral of √(p q), in closed form over the cells of both."""
        self._need("renyi_half")
        if self._same_cells(other):
            return half_of(self._all_masses(), other._all_masses())
        self._need_log_linear(other)
        return half_of_pieces(self, other)

    def _centres(self) -> FloatArray:
        return np.asarray(0.5 * (self.edges[:, :-1] + self.edges[:, 1:]))

    def _reached(self) -> FloatArray:
        """Return P(Y <= edge) at every edge, shape (n, K + 1)."""
        return np.cumsum(np.column_stack([self.beyond[:, 0], self.masses]), axis=1)

    def _all_masses(self) -> FloatArray:
        return np.column_stack([self.masses, self.beyond])

    def _place(self, y: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return the cell of each y, and whether it lies in the lower and in the upper tail."""
        at = np.asarray(y, dtype=float)
        passed = (self.edges <= at[:, None]).sum(axis=1)
        above = (at > self.edges[:, -1]) | ((at == self.edges[:, -1]) & (self.beyond[:, 1] > 0))
        return np.clip(passed - 1, 0, self.masses.shape[1] - 1), passed == 0, above

    def _beyond(self, y: FloatArray, side: int) -> FloatArray:
        """Return how far y lies beyond the lowest (side 0) or highest edge, in scales; 0 inside."""
        out = y - self.edges[:, -1] if side else self.edges[:, 0] - y
        with np.errstate(over="ignore"):  # so far out that the tail has nothing left
            return np.asarray(np.maximum(out, 0.0) / self.scales[:, side])

    def _inverse(self, p: FloatArray) -> FloatArray:
        """Return quantiles at levels of shape (n, L) of its own for every row, shape (n, L)."""
        reached, last = self._reached(), self.masses.shape[1] - 1
        passed = np.array([np.searchsorted(row, at) for row, at in zip(reached, p, strict=True)], dtype=int)
        passed = passed.reshape(p.shape)
        cell = np.clip(passed - 1, 0, last)
        width, mass = (np.take_along_axis(values, cell, axis=1) for values in (np.diff(self.edges), self.masses))
        start, level = (np.take_along_axis(values, cell, axis=1) for values in (self.edges, reached))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(mass > 0, np.minimum((p - level) / mass, 1.0), 1.0)
            lower = self.edges[:, :1] - self.scales[:, :1] * self.tail.at(p / self.beyond[:, :1])
            upper = self.edges[:, -1:] + self.scales[:, 1:] * self.tail.at((1 - p) / self.beyond[:, 1:])
        upper = np.where((self.beyond[:, 1:] > 0) & (p < 1), upper, self.edges[:, -1:])  # a sum may miss 1 by rounding
        first = np.where(self.beyond[:, :1] > 0, lower, self.edges[:, :1])
        return np.where(passed == 0, first, np.where(passed > last + 1, upper, start + share * width))

    def _spread(self) -> FloatArray:
        """Return the integral of F (1 - F)."""
        reached, m = self._reached()[:, :-1], self.masses
        cells = reached * (1 - reached) + m * (1 - 2 * reached) / 2 - np.square(m) / 3
        tails = self.beyond * self.tail.mean - np.square(self.beyond) * self.tail.square
        return row_sum(np.diff(self.edges) * cells) + row_sum(self.scales * tails)

    def _same_cells(self, other: Self) -> bool:
        return np.array_equal(self.edges, other.edges) and np.array_equal(self.scales, other.scales)

    def _need(self, method: str) -> None:
        if method not in self.supports:
            self._cannot(method)

    def _need_log_linear(self, other: Self) -> None:
        if not (isinstance(self.tail, Exponential) and isinstance(other.tail, Exponential)):
            raise UnsupportedError(
                f"a divergence of {self.family}s with half-normal tails must be between equal edges; got others."
            )


def _of(values: FloatArray, column: AnyArray) -> FloatArray:
    """Return the entry of each row in its own column."""
    return np.asarray(values[np.arange(len(values)), column])


class Scaled(NamedTuple):
    """The same pieces in other units, in which no square leaves the range of floats."""

    edges: FloatArray
    masses: FloatArray
    beyond: FloatArray
    scales: FloatArray


class LogLinearPiece(NamedTuple):
    """A log density a + b u on every interval, shape (n, G)."""

    a: FloatArray
    b: FloatArray


def kl_of_pieces(p: Piecewise, q: Piecewise) -> FloatArray:
    """Return the integral of p log(p / q) - p + q >= 0 over the intervals, shape (n,); infinite where only q is 0."""
    first, second, width, left = _lines(p, q)
    mass, moment = _moments(first, width, left)
    with np.errstate(invalid="ignore"):
        terms = (first.a - second.a) * mass + (first.b - second.b) * moment
    terms = np.where(mass > 0, terms, 0.0) + (_moments(second, width, left)[0] - mass)
    return row_sum(np.maximum(terms, 0.0))


def half_of_pieces(p: Piecewise, q: Piecewise) -> FloatArray:
    """Return -2 log of the integral B of √(p q), from 1 - B, the integral of (√p - √q)² / 2, where B is near 1."""
    first, second, width, left = _lines(p, q)
    middle = LogLinearPiece(0.5 * (first.a + second.a), 0.5 * (first.b + second.b))
    masses = [_moments(line, width, left)[0] for line in (first, second, middle)]
    gap = row_sum(np.maximum(0.5 * (masses[0] + masses[1]) - masses[2], 0.0))
    with np.errstate(divide="ignore"):
        return np.where(gap < 0.5, half_from(gap), -2 * np.log(row_sum(masses[2])))


def _lines(p: Piecewise, q: Piecewise) -> tuple[LogLinearPiece, LogLinearPiece, FloatArray, FloatArray]:
    """Return both log densities on the intervals between all edges, the widths, and which is open to the left."""
    origin, unit = p.edges[:, :1], p.edges[:, -1:] - p.edges[:, :1]
    first, second = (Scaled((d.edges - origin) / unit, d.masses, d.beyond, d.scales / unit) for d in (p, q))
    both = np.concatenate([first.edges, second.edges], axis=1)
    order = np.argsort(both, axis=1, kind="stable")
    grid = np.take_along_axis(both, order, axis=1)
    start = np.column_stack([grid[:, :1], grid])  # the finite end from which u is measured
    of_p = np.column_stack([np.zeros(len(grid), dtype=int), np.cumsum(order < first.edges.shape[1], axis=1)])
    of_q = np.arange(start.shape[1]) - of_p
    width = np.column_stack([np.full(len(grid), np.inf), np.diff(grid), np.full(len(grid), np.inf)])
    left = np.zeros(start.shape)
    left[:, 0] = 1.0
    return _line(first, of_p, start), _line(second, of_q, start), width, left


def _line(pieces: Scaled, passed: IntArray, start: FloatArray) -> LogLinearPiece:
    """Return the log density on intervals that begin after `passed` edges."""
    last = pieces.edges.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.log(pieces.masses) - np.log(np.diff(pieces.edges))
        tails = np.log(pieces.beyond) - np.log(pieces.scales)
    low = (start - pieces.edges[:, :1]) / pieces.scales[:, :1]
    high = (pieces.edges[:, -1:] - start) / pieces.scales[:, 1:]
    cell = np.take_along_axis(inside, np.clip(passed - 1, 0, last - 2), axis=1)
    below, above = passed == 0, passed == last
    a = np.where(below, tails[:, :1] + low, np.where(above, tails[:, 1:] + high, cell))
    b = np.where(below, 1 / pieces.scales[:, :1], np.where(above, -1 / pieces.scales[:, 1:], 0.0))
    return LogLinearPiece(np.where(np.isnan(a), -np.inf, a), b)


def _moments(line: LogLinearPiece, width: FloatArray, left: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the integrals of exp(a + b u) and of u exp(a + b u) over each interval.

    Both are taken from the end where the density is larger, so that nothing overflows.
    """
    a, rate, open_end = line.a, np.abs(line.b), np.isinf(width)
    rising = (line.b > 0) & ~open_end
    with np.errstate(divide="ignore", invalid="ignore"):
        fallen = np.where(open_end, 0.0, np.exp(-rate * width))
        mass = np.where(rate > 0, -np.expm1(-rate * width) / rate, width)
        rest = np.where(open_end, 0.0, width * fallen)
        moment = np.where(rate > 0, (mass - rest) / rate, np.square(width) / 2)
        height = np.exp(a + np.where(rising, rate * width, 0.0))
        moment = np.where(rising, width * mass - moment, moment * (1 - 2 * left))
        return np.where(height > 0, height * mass, 0.0), np.where(height > 0, height * moment, 0.0)


_MEDIAN = float(HalfNormalTail().at(np.array(0.5)))


class Histogram(Piecewise):
    """n distributions over K bars, of constant density inside a bar.

    Parameters
    ----------
    edges : array of shape (K + 1,) or (n, K + 1)
        Strictly increasing; the same for all rows, or a row of them for each.
    probabilities : array of shape (n, K)
        Of the bars; not negative; each row sums to 1 within 1e-5 and is divided by its sum.
    half_normal_ends : bool
        Whether the first and the last bar are half-normal tails that start at their inner edge and have half their
        probability inside the bar, as in TabPFN's full-support bar distribution. They need K >= 3, and a divergence
        then needs two histograms with equal edges.

    Raises
    ------
    InputError
        If edges do not increase, or probabilities are none; it names the row.

    Notes
    -----
    The entropy is -sum p_k log(p_k / w_k) with w the widths of the bars.

    Examples
    --------
    >>> q = Histogram([0.0, 1.0, 3.0], [[0.5, 0.5], [1.0, 0.0]])
    >>> q.entropy().round(4), q.mean()
    (array([1.0397, 0.    ]), array([1.25, 0.5 ]))
    >>> Histogram([0.0, 1.0, 2.0, 3.0], [[0.25, 0.5, 0.25]], half_normal_ends=True).cdf([0.0]).round(4)
    array([0.125])
    """

    family = "histogram"
    supports = WITHOUT_DENSITY | DENSITY

    def __init__(self, edges: Any, probabilities: Any, *, half_normal_ends: bool = False) -> None:
        p = checked_probabilities("histogram.probabilities", probabilities)
        self.edges = _checked_edges(edges, p.shape)
        self.masses = p / p.sum(axis=1, keepdims=True)
        self.beyond, self.scales = np.zeros((len(p), 2)), np.ones((len(p), 2))
        if half_normal_ends:
            self._end_half_normal()

    def _end_half_normal(self) -> None:
        """Turn the first and the last bar into tails."""
        if self.masses.shape[1] < 3:
            raise InputError(
                f"histogram.probabilities must have at least 3 bars with half-normal ends; got {self.masses.shape[1]}."
            )
        self.tail = HalfNormalTail()
        self.scales = np.diff(self.edges, axis=1)[:, [0, -1]] / _MEDIAN
        self.beyond = self.masses[:, [0, -1]]
        self.edges, self.masses = self.edges[:, 1:-1], self.masses[:, 1:-1]


def _checked_edges(edges: Any, shape: tuple[int, ...]) -> FloatArray:
    floats = numbers("histogram.edges", edges)
    n, k = shape
    if floats.shape not in ((k + 1,), (n, k + 1)):
        raise InputError(
            f"histogram.edges must be one more than the {k} bars, shape ({k + 1},) or ({n}, {k + 1}); "
            f"got {floats.shape}."
        )
    bad = np.atleast_1d(~(np.isfinite(floats).all(axis=-1) & (np.diff(floats) > 0).all(axis=-1)))
    if bad.any():
        row = f" in row {int(np.argmax(bad))} ({int(bad.sum())} of {n} rows)" if floats.ndim == 2 else ""
        raise InputError(
            f"histogram.edges must be finite and strictly increase; got others{row}. "
            "Join bars of no width, and give open bars an end or half_normal_ends=True.",
            row=int(np.argmax(bad)) if row else None,
        )
    return np.array(np.broadcast_to(floats, (n, k + 1)))
