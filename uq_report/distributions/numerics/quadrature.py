"""Integrals of one function per row, by the rules of Gauss and Kronrod (QUADPACK's qk15).

Panels are halved until the two rules agree.

Integrals of continuous and sums of discrete distributions, row by row, from where their mass lies.

A row's range is cut at its quantiles: `quadrature` then finds narrow parts and singular ends by halving. Integers are
added one by one; beyond the first 224 the sum of a smooth function is its integral and the first term of the
midpoint rule's expansion (Abramowitz & Stegun 1972, 25.4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import rel_entr

from ...core.predictive import Distribution
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from .validate import row_sum

_CROWD = 256  # panels of a row that are halved at once
_CELLS = 1 << 16  # numbers in one array of nodes, so that it stays in the processor's cache

_NODES = np.array([0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
                   0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
                   0.586087235467691130294144691758900, 0.405845151377397166906606412076961,
                   0.207784955007898467600689403773245])  # fmt: skip
_KRONROD = np.array([0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
                     0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
                     0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
                     0.204432940075298892414161999234649, 0.209482141084727828012999174891714])  # fmt: skip
_GAUSS = np.array([0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
                   0.381830050505118944950369775488975, 0.417959183673469387755102040816327])  # fmt: skip
NODES = np.concatenate([-_NODES, [0.0], _NODES[::-1]])
KRONROD = np.concatenate([_KRONROD, _KRONROD[-2::-1]])
GAUSS = np.zeros(15)
GAUSS[1::2] = np.concatenate([_GAUSS, _GAUSS[-2::-1]])


class Panels(NamedTuple):
    """Intervals, and the rows they belong to.

    Of mixtures, `anchor` is the member from whose mean the distances `lower` and `upper` are taken:
    distances keep their digits where narrow members lie far from 0 and from each other. Of other totals
    it is the sign of y where the interval is one of log abs(y), else 0.
    """

    row: IntArray
    anchor: IntArray
    lower: FloatArray
    upper: FloatArray

    def at(self, index: BoolArray | slice) -> Panels:
        """Return the panels at positions `index`."""
        return Panels(self.row[index], self.anchor[index], self.lower[index], self.upper[index])

    def halved(self) -> Panels:
        """Return the left halves, then the right ones."""
        middle = 0.5 * (self.lower + self.upper)
        return joined([self._replace(upper=middle), self._replace(lower=middle)])

    def nodes(self) -> FloatArray:
        """Return the places where both rules ask for the integrand, shape (panels, 15)."""
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        return np.asarray(middle[:, None] + half[:, None] * NODES)


Integrand: TypeAlias = Callable[[Panels], FloatArray]  # values at the nodes of each panel, shape (panels, 15)


def joined(panels: list[Panels]) -> Panels:
    """Return the panels of all as one."""
    row, anchor, lower, upper = (np.concatenate(parts) for parts in zip(*panels, strict=True))
    return Panels(row, anchor, lower, upper)


def even_panels(n: int, edges: FloatArray) -> Panels:
    """Return the panels between `edges`, shape (L,), for each of n rows."""
    row = np.repeat(np.arange(n), len(edges) - 1)
    return Panels(row, np.zeros_like(row), np.tile(edges[:-1], n), np.tile(edges[1:], n))


def integral(
    n: int,
    panels: Panels,
    integrand: Integrand,
    *,
    tolerance: float,
    relative: float = 0.0,
    halvings: int = 6,
    members: int = 1,
) -> FloatArray:
    """Return each row's integral over its panels, shape (n,).

    A row with more panels to halve at once than 256, and than four times those it began with, is left as it is: its
    integrand is rough by rounding, and halving would not end.

    Parameters
    ----------
    n : int
        Number of rows.
    panels : Panels
    integrand : callable
    tolerance : float
        By how much the two rules may differ over a row.
    relative : float
        By how much of a panel's value they may differ on it, where that is more.
    halvings : int
        How often a panel is halved at most.
    members : int
        Numbers that the integrand holds per node.
    """
    crowd = np.maximum(4 * np.bincount(panels.row, minlength=n), _CROWD)
    total, left = np.zeros(n), halvings
    while len(panels.row):
        value, error = _rules(panels, integrand, members)
        count = np.bincount(panels.row, minlength=n)
        share = tolerance / np.maximum(count, 1)
        good = (error <= np.maximum(share[panels.row], relative * np.abs(value))) | (left == 0)
        good |= (count > crowd)[panels.row]
        total += np.bincount(panels.row[good], value[good], n)
        panels, left = panels.at(~good).halved(), left - 1
    return total


def _rules(panels: Panels, integrand: Integrand, members: int) -> tuple[FloatArray, FloatArray]:
    """Return each panel's integral by the Kronrod rule, and its distance from the Gauss rule."""
    value, error = np.empty(len(panels.row)), np.empty(len(panels.row))
    step = max(1, _CELLS // (15 * members))
    for start in range(0, len(value), step):
        check_limits()
        block = slice(start, start + step)
        part = panels.at(block)
        half, density = 0.5 * (part.upper - part.lower), integrand(part)
        value[block] = half * row_sum(density, KRONROD)
        error[block] = half * np.abs(row_sum(density, KRONROD - GAUSS))
    return value, error


Terms: TypeAlias = Callable[[IntArray, FloatArray], FloatArray]  # at y (P, k) of the rows (P,), shape (P, k)

_ENDS = np.array([1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.3])
LEVELS = np.concatenate([_ENDS, [0.5], 1 - _ENDS[::-1]])  # 2e-12 of the mass lies beyond them
_OUTWARD = 10.0 ** np.array([1, 2, 4, 8, 16])  # times the distance of the outermost quantile from the median
HALVINGS = 40
OF_CDF = 4  # of an interpolated cdf, whose last digits are not smooth
_SMALLEST = 1e-300  # where panels begin that would begin at 0
_SUM_CELLS = 1 << 18  # numbers in one array of terms
_FIRST, _LONGEST = 32, 128  # integers added in the first step and in the last; each has twice those before it
_ADDED = 2 * _LONGEST - _FIRST  # integers added one by one


def reach(*dists: Distribution, tails: bool = False) -> FloatArray:
    """Return sorted edges of panels that hold the mass of all, shape (n, E); the last is excluded from sums.

    With `tails` they go on outwards, for moments of heavy tails.
    """
    if dists[0].discrete and not tails:
        return _reach_of_counts(dists)
    edges = _quantiles(dists, LEVELS)
    if dists[0].discrete:
        return np.hstack([np.floor(edges), np.floor(edges[:, -1:]) + 1])
    if tails:
        middle = edges[:, edges.shape[1] // 2, None]
        below, above = ((middle + (edges[:, [end]] - middle) * _OUTWARD) for end in (0, -1))
        edges = np.hstack([below[:, ::-1], edges, above])
    return edges


def _quantiles(dists: Sequence[Distribution], at_levels: FloatArray) -> FloatArray:
    edges = np.hstack([np.asarray(dist.quantile(at_levels), dtype=float) for dist in dists])
    return np.sort(edges, axis=1)


def _reach_of_counts(dists: Sequence[Distribution]) -> FloatArray:
    """Return the edges of sums; what lies within them only matters where there are too many integers to add."""
    ends = np.floor(_quantiles(dists, LEVELS[[0, -1]]))
    edges = np.repeat(ends[:, -1:] + 1, len(dists) * len(LEVELS) + 1, axis=1)
    edges[:, 0] = ends[:, 0]
    if len(rows := np.flatnonzero(edges[:, -1] - edges[:, 0] > _ADDED)):
        edges[rows, :-1] = np.floor(_quantiles([dist.take(rows) for dist in dists], LEVELS))
    return edges


def spread(dist: Distribution) -> FloatArray:
    """Return the width of each row's middle 80%, or 1 where that is 0, shape (n,): a unit to integrate in."""
    low, high = np.asarray(dist.quantile(np.array([0.1, 0.9])), dtype=float).T
    return np.where(high > low, high - low, 1.0)


def at(dist: Distribution, method: str, rows: IntArray, y: FloatArray) -> FloatArray:
    """Return ``log_prob`` or ``cdf`` of the rows (P,) at y (P, k), shape (P, k); -inf for an infinite density.

    Such a density is that of one float at the edge of the range, which holds no mass.
    """
    flat = dist.take(np.repeat(rows, y.shape[1]))
    values = np.asarray(getattr(flat, method)(y.ravel())).reshape(y.shape)
    return np.where(np.isposinf(values), -np.inf, values)


def cdf_at(dist: Distribution, rows: IntArray, y: FloatArray) -> FloatArray:
    """Return the cdf of the rows (P,) at y (P, k), shape (P, k); of a discrete one the cubic through four integers.

    So continued it is smooth, which `total` needs of what it adds up over many integers.
    """
    if not dist.discrete or np.array_equal(y, np.floor(y)):
        return at(dist, "cdf", rows, y)
    f = (k := y - np.floor(y)) * (1 - k)
    low, here, high, beyond = (at(dist, "cdf", rows, np.floor(y) + step) for step in (-1, 0, 1, 2))
    return np.asarray(
        here * (1 - k) + high * k - f / 6 * ((2 - k) * (low - 2 * here + high) + (1 + k) * (here - 2 * high + beyond))
    )


def half_gini(dist: Distribution) -> FloatArray:
    """Return E|Y - Y'| / 2 of two independent draws, shape (n,): the total of F (1 - F)."""
    unit = spread(dist)

    def terms(rows: IntArray, y: FloatArray) -> FloatArray:
        reached = cdf_at(dist, rows, y)
        return reached * (1 - reached) / unit[rows, None]

    return unit * total(
        reach(dist, tails=True), terms, discrete=dist.discrete, halvings=OF_CDF if dist.discrete else HALVINGS
    )


def total(
    edges: FloatArray,
    terms: Terms,
    *,
    discrete: bool,
    members: int = 1,
    tolerance: float = 1e-9,
    halvings: int = HALVINGS,
) -> FloatArray:
    """Return each row's integral of `terms` over its edges (n, E), or sum over the integers before the last, (n,).

    Parameters
    ----------
    edges : array of shape (n, E)
        Sorted within rows.
    terms : callable
        ``terms(rows, y)``, the values at y (P, k) of the rows (P,).
    discrete : bool
    members : int
        Numbers that `terms` holds for each of its values.
    tolerance : float
        By how much a row's integral may be off, in units of its value; 1e-10 of a panel's where that is more.
    halvings : int
        How often a panel is halved at most.
    """
    n = len(edges)
    if discrete:
        return _sum(edges, terms, members, halvings)
    return _integral(np.arange(n), edges, terms, (members, halvings), tolerance)


def _integral(
    rows: IntArray, edges: FloatArray, terms: Terms, cost: tuple[int, int], tolerance: float = 1e-10
) -> FloatArray:
    """Return the integrals over the edges, in log y where a panel spans decades: near 0, and in heavy tails."""
    edges = np.where(edges[:, :1] == 0, np.maximum(edges, _SMALLEST), edges)
    at_row, cell = np.nonzero(edges[:, 1:] > edges[:, :-1])
    lower, upper = edges[at_row, cell], edges[at_row, cell + 1]
    sign = np.where(lower > 0, 1, -1) * ((lower / 4 > 0) & (upper / 4 > lower) | (upper < 0) & (lower / 4 < upper))
    ends = np.sort(
        np.where(sign == 0, [lower, upper], np.log(np.abs(np.where(sign == 0, 1.0, [lower, upper])))), axis=0
    )

    def integrand(part: Panels) -> FloatArray:
        y, sign = part.nodes(), part.anchor[:, None]
        y = np.where(sign == 0, y, sign * np.exp(np.where(sign == 0, 0.0, y)))
        return terms(rows[part.row], y) * np.where(sign == 0, 1.0, np.abs(y))

    panels = Panels(at_row, sign, *ends)
    members, halvings = cost
    return integral(
        len(rows), panels, integrand, tolerance=tolerance, relative=1e-10, halvings=halvings, members=members
    )


def _sum(edges: FloatArray, terms: Terms, members: int, halvings: int) -> FloatArray:
    first, last = edges[:, 0].copy(), edges[:, -1]
    value, rows, width = np.zeros(len(edges)), np.flatnonzero(first < last), _FIRST
    while len(rows) and width <= _LONGEST:
        step = max(1, _SUM_CELLS // (width * members))
        for start in range(0, len(rows), step):
            check_limits()
            part = rows[start : start + step]
            count = first[part, None] + np.arange(width)
            value[part] += row_sum(np.where(count < last[part, None], terms(part, count), 0.0))
        first[rows] += width
        rows, width = rows[first[rows] < last[rows]], 2 * width
    if len(rows):
        value[rows] += _smooth_sum(rows, first[rows], edges[rows], terms, (members, halvings))
    return value


def _smooth_sum(
    rows: IntArray, first: FloatArray, edges: FloatArray, terms: Terms, cost: tuple[int, int]
) -> FloatArray:
    """Return the sum over the integers first <= k < last of a function that is smooth there."""
    ends = np.stack([first, edges[:, -1]], axis=1)
    inner = np.clip(edges, first[:, None], None) - 0.5
    whole = _integral(rows, inner, terms, cost)
    slope = terms(rows, ends) - terms(rows, ends - 1)
    return np.asarray(whole - (slope[:, 1] - slope[:, 0]) / 24)


def kl_by_total(p: Distribution, q: Distribution, edges: FloatArray, members: int = 1) -> FloatArray:
    """Return KL(p ‖ q) in nats, shape (n,): the total of p log(p / q) - p + q; infinite where q leaves p out."""
    impossible = np.zeros(len(p), dtype=bool)

    def terms(rows: IntArray, y: FloatArray) -> FloatArray:
        log_p, log_q = at(p, "log_prob", rows, y), at(q, "log_prob", rows, y)
        outside = np.isneginf(log_q)
        impossible[rows[(outside & (log_p > -np.inf)).any(axis=1)]] = True
        apart = outside | np.isneginf(log_p)
        return np.where(outside, 0.0, np.where(apart, np.exp(log_q), kl_terms_of_logs(*_where(~apart, log_p, log_q))))

    value = np.maximum(total(edges, terms, discrete=p.discrete, members=members), 0.0)
    return np.where(impossible, np.inf, value)


def _where(kept: BoolArray, *values: FloatArray) -> tuple[FloatArray, ...]:
    return tuple(np.where(kept, value, 0.0) for value in values)


def distance_by_total(p: Distribution, q: Distribution, edges: FloatArray, members: int = 1) -> FloatArray:
    """Return 1 - ∫ √(p q), shape (n,): the total of (√p - √q)² / 2."""

    def terms(rows: IntArray, y: FloatArray) -> FloatArray:
        roots = (np.exp(at(dist, "log_prob", rows, y) / 2) for dist in (p, q))
        return np.asarray(np.square(next(roots) - next(roots)) / 2)

    return total(edges, terms, discrete=p.discrete, members=members)


def kl_terms(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return p log(p / q) - p + q >= 0 of numbers >= 0: q where p is 0, infinite where only q is 0.

    Over a table of probabilities the terms add up to the Kullback-Leibler divergence, and none cancels
    another.
    """
    return np.maximum(rel_entr(p, q) + (q - p), 0.0)


def kl_terms_of_logs(log_p: FloatArray, log_q: FloatArray) -> FloatArray:
    """Return `kl_terms` of two densities given by their logarithms, where the densities themselves may underflow."""
    gap, p = log_q - log_p, np.exp(log_p)
    below, above = np.minimum(gap, 1.0), np.maximum(gap, 1.0)  # so that the term not taken cannot overflow
    return np.where(gap < 1, p * (np.expm1(below) - below), np.exp(log_q) - p - p * above)


def kl_of(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence of each row of p from its row of q, shape (n, k) to (n,)."""
    return row_sum(kl_terms(p, q))


def half_of(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the Rényi divergence of order 1/2 of each row of p from its row of q, shape (n, k) to (n,)."""
    return half_from(row_sum(np.square(np.sqrt(p) - np.sqrt(q))) / 2)


def half_from(gap: FloatArray) -> FloatArray:
    """Return -2 log(1 - gap), where gap = 1 - ∫ √(p q) = ∫ (√p - √q)² / 2; infinite where p and q share nothing."""
    with np.errstate(divide="ignore"):
        return np.asarray(-2 * np.log1p(-np.minimum(gap, 1.0)))
