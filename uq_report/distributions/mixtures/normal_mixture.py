"""Mixtures of normals: the predictive distribution of an ensemble of regressors.

What mixtures of normals share, by quadrature: members with each other, and two mixtures of one row.

The entropy of the mixture, -sum_m w_m E_{q_m}[log q], is H = sum_m w_m H(q_m) + I with the mutual information
of outcome and member I = sum_m w_m E_{q_m}[log(q_m / q)]. Of the Kullback-Leibler divergence of p from q,
p log(p / q) - p + q is integrated, which is never negative, and 0 where p and q are equal.

Where one step suits a row, nodes lie evenly (`mixture_grid`). Such a rule misses narrow members between wide ones;
there a row's range is halved until no panel is wider than eight standard deviations of the narrowest member in reach
of it, and then until the two rules of `quadrature` agree to 1e-6 nats over the row. Then I is integrated itself:
sum_m w_m q_m log q_m - q log q, smooth, never negative, and 0 where the members are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import entr, logsumexp, ndtr, ndtri, xlogy

from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ..families.normal import LOG_2PI, Normal, absolute_moment, log_density
from ..numerics.numeric import FISHER
from ..numerics.quadrature import NODES, Panels, integral, joined, kl_terms, kl_terms_of_logs
from ..numerics.validate import Rowwise, levels, numbers, refuse_rows, row_sum, shares

REACH = 7.0  # standard deviations; 2.6e-12 of a member lies beyond
_STEPS = (0.56, 0.3)  # tried in turn, in standard deviations of a row's narrowest member
_TURN = 2 / 5  # of a turn per node: the frequency at which the nodes are heard
_NEAR = 2e-6  # nats that may be heard there, and a hundredth of it per nat of a large integral
_RUN = 20  # nodes that follow from one exponential: further ones would from an underflow
_RUNS = 96  # the most of a row; where its range asks for more, its members are of too many scales for one step
_NONE = 39.0  # standard deviations from which on a density is 0 in floats
_CELLS = 20_000  # runs times members worked on at once, so that they stay in the processor's cache


class NormalMixtureParameters(NamedTuple):
    """Means and standard deviations (n, m), and weights (m,)."""

    means: FloatArray
    stds: FloatArray
    weights: FloatArray

    def used(self) -> NormalMixtureParameters:
        """Return the mixtures without members of weight 0."""
        positive = self.weights > 0
        means, stds = (np.compress(positive, values, axis=1) for values in (self.means, self.stds))
        return NormalMixtureParameters(means, stds, self.weights[positive])

    def at(self, rows: BoolArray | IntArray) -> NormalMixtureParameters:
        """Return the mixtures of some rows."""
        return NormalMixtureParameters(self.means[rows], self.stds[rows], self.weights)


# of the densities of each mixture at a row's nodes (rows, nodes): the integrand there, NaN where floats lose it
Integrand = Callable[..., FloatArray]


def even_integral(
    mixtures: Sequence[NormalMixtureParameters], integrand: Integrand, reach: float = REACH
) -> tuple[FloatArray, BoolArray]:
    """Return the integral over the members' reach of each row, and of which rows this is settled, each of shape (n,).

    Rows that are not are those whose members are of very different widths, and those whose integrand has a kink.
    """
    means, stds = (np.hstack([getattr(q, name) for q in mixtures]) for name in ("means", "stds"))
    lower, upper = (means - reach * stds).min(axis=1), (means + reach * stds).max(axis=1)
    values, settled = np.zeros(len(means)), np.zeros(len(means), dtype=bool)
    for step in _STEPS:
        runs = np.ceil((upper - lower) / (step * stds.min(axis=1)) / _RUN)
        runs[settled | (runs > _RUNS)] = 0
        for count in np.unique(runs[runs > 0]).astype(int):
            rows, waves = np.flatnonzero(runs == count), _waves(_RUN * count)
            parts = min(len(rows), -(-len(rows) * count * means.shape[1] // _CELLS))
            for some in np.array_split(rows, parts):
                check_limits()
                h = (upper - lower)[some] / (_RUN * count - 1)
                f = integrand(*(_densities(q.at(some), lower[some], h, count) for q in mixtures))
                values[some] = h * row_sum(f)
                heard = h * np.hypot(*(row_sum(f, wave) for wave in waves))
                settled[some] = heard <= _NEAR * np.maximum(1.0, 0.01 * np.abs(values[some]))
    return values, settled


def _waves(nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return a cosine and a sine at the nodes."""
    turns = 2 * np.pi * _TURN * np.arange(nodes)
    return np.cos(turns), np.sin(turns)


def _densities(q: NormalMixtureParameters, first: FloatArray, step: FloatArray, runs: int) -> FloatArray:
    """Return q at nodes from `first` on, `step` apart, shape (rows, nodes), node after node in each run.

    For z_j = z + j a, exp(-z_j²/2) is exp(-z²/2) exp(-z a)^j exp(-(j a)²/2), of which the last is the same in all runs.
    """
    begins = first[:, None] + (_RUN * step)[:, None] * np.arange(runs)
    z = np.clip((begins[:, :, None] - q.means[:, None, :]) / q.stds[:, None, :], -_NONE, _NONE)
    a = step[:, None] / q.stds
    density, growth = np.exp(-0.5 * np.square(z)), np.exp(-z * a[:, None, :])
    shares = np.exp(-0.5 * np.square(np.arange(_RUN)[:, None, None] * a)) * (q.weights / (np.sqrt(2 * np.pi) * q.stds))
    out = np.empty((*begins.shape, _RUN))
    for node in range(_RUN):
        out[:, :, node] = np.einsum("rkm,rm->rk", density, shares[node])
        density *= growth
    return out.reshape(len(first), -1)


_LEVEL_CELLS = 1 << 16  # numbers in one array of (row, level, member), so that it stays in the processor's cache
_ROUNDING = 1 - 1e-14  # a sum of weights may fall short of a level by rounding


def quantiles(means: FloatArray, stds: FloatArray, weights: FloatArray, p: FloatArray) -> FloatArray:
    """Return the smallest y with P(Y <= y) >= p, shape (n, L), of mixtures (n, m) with weights (m,)."""
    values = np.empty((len(means), len(p)))
    points = ~(stds > 0).any(axis=1)
    step = max(1, _LEVEL_CELLS // (len(p) * len(weights)))
    for solve, rows in ((_of_points, np.flatnonzero(points)), (_of_normals, np.flatnonzero(~points))):
        for start in range(0, len(rows), step):
            check_limits()
            block = rows[start : start + step]
            values[block] = solve(means[block], stds[block], weights, p)
    return values


def standardised(y: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    """Return (y - mean) / std; of a single point, inf from the point on and -inf below it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (y - means) / stds
    return np.where(stds > 0, z, np.where(y >= means, np.inf, -np.inf))


def _of_points(means: FloatArray, _: FloatArray, weights: FloatArray, p: FloatArray) -> FloatArray:
    """Return the quantiles where every member is a single point: those of weighted observations."""
    order = np.argsort(means, axis=1)
    reached = np.cumsum(weights[order], axis=1)
    below = (reached[:, None, :] < p[:, None] * _ROUNDING).sum(axis=2)
    return np.take_along_axis(np.take_along_axis(means, order, axis=1), below, axis=1)


def _of_normals(means: FloatArray, stds: FloatArray, weights: FloatArray, p: FloatArray) -> FloatArray:
    """Take Newton steps inside a bracket, the members' own quantiles, and halve it where they fail.

    A step fails if it leaves the bracket or is more than half the last one (Press et al., Numerical
    Recipes, rtsafe).
    """
    means, stds = means[:, None, :], stds[:, None, :]
    member = means + stds * ndtri(p)[:, None]
    lower, upper = member.min(axis=2), member.max(axis=2)
    y, step = 0.5 * (lower + upper), upper - lower
    near = 1e-13 * step + 4 * np.spacing(np.maximum(np.abs(lower), np.abs(upper)))
    while not np.all(done := np.abs(step) <= near):
        z = standardised(y[:, :, None], means, stds)
        excess = row_sum(ndtr(z), weights) - p * _ROUNDING
        lower, upper = np.where(excess < 0, y, lower), np.where(excess < 0, upper, y)
        # infinite, hence refused, where the density is too small for a step
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            newton = y - excess / row_sum(_density(z, stds), weights)
        fine = (newton >= lower) & (newton <= upper) & (np.abs(newton - y) <= 0.5 * np.abs(step))
        following = np.where(done, y, np.where(fine, newton, 0.5 * (lower + upper)))
        step, y = np.where(done, step, following - y), following
    return _snapped(y, means, stds, 2 * near)


def _density(z: FloatArray, stds: FloatArray) -> FloatArray:
    """Return the members' densities at standardised values z; 0 for single points."""
    with np.errstate(over="ignore"):
        return np.exp(-0.5 * np.square(z) - 0.5 * LOG_2PI) / np.where(stds > 0, stds, np.inf)


def _snapped(y: FloatArray, means: FloatArray, stds: FloatArray, near: FloatArray) -> FloatArray:
    """Return y moved onto a member that is a single point, where one lies within `near`."""
    if (stds > 0).all():
        return y
    distance = np.where(stds > 0, np.inf, np.abs(y[:, :, None] - means))
    nearest = distance.argmin(axis=2)
    point = np.take_along_axis(np.broadcast_to(means, distance.shape), nearest[:, :, None], axis=2)[:, :, 0]
    return np.where(distance.min(axis=2) <= near, point, y)


_REACH = 6.0  # standard deviations; beyond them members hold 2e-9, of which the entropy has less than 1e-7 nats
_FINEST = 1e-100  # of a row's extent: narrower members are taken to be so wide, lest squares overflow
_RESOLVED = 1e6  # standard deviations of the narrowest member that one anchor may serve
_WIDTH = 8.0  # of a panel, in standard deviations
_TOLERANCE = 1e-6  # nats per row
_BLOCK = 1 << 19  # rows times squared members worked on at once
_HERMITE = 5  # nodes of a member
_SEEN, _LOST = 1e-16, 1e-150  # a density p that counts, and one of q of which even nodes may have lost members


def mean_entropy(q: NormalMixtureParameters) -> FloatArray:
    """Return the weighted mean of the members' entropies in nats, shape (n,)."""
    return 0.5 + 0.5 * LOG_2PI + row_sum(np.log(q.stds), q.weights)


def mutual_information(q: NormalMixtureParameters) -> FloatArray:
    """Return I(outcome; member) in nats, shape (n,), of mixtures with positive standard deviations.

    It lies between 0 and the entropy of the weights; what rounding leaves outside is set to these bounds.
    """
    q = q.used()
    if len(q.weights) == 1:
        return np.zeros(len(q.means))
    q = _scaled(q)
    entropy, settled = even_integral([q], _entropy, reach=_REACH)
    values = entropy - mean_entropy(q)
    values[~settled] = _integrals(q.at(~settled), _information)
    alike = (np.ptp(q.means, axis=1) == 0) & (np.ptp(q.stds, axis=1) == 0)
    return np.where(alike, 0.0, np.clip(values, 0.0, entr(q.weights).sum()))


def cross_entropies(q: NormalMixtureParameters) -> FloatArray:
    """Return -E_{q_m}[log q] of each member in nats, shape (n, m), by five Gauss-Hermite nodes of its own.

    Enough for the spread of the members about their mean, the entropy, which is known better.
    """
    n, m = q.means.shape
    nodes, shares = np.polynomial.hermite_e.hermegauss(_HERMITE)
    values, step = np.zeros((n, m)), max(1, _BLOCK // (m * m))
    for start in range(0, n, step):
        check_limits()
        part = q.at(np.arange(start, min(start + step, n)))
        for node, share in zip(nodes, shares / shares.sum(), strict=True):
            y = part.means + node * part.stds
            log_member = log_density((y[:, :, None] - part.means[:, None]) / part.stds[:, None], part.stds[:, None])
            values[start : start + step] -= share * logsumexp(log_member, axis=2, b=part.weights)
    return values


def kl_of_mixtures(p: NormalMixtureParameters, q: NormalMixtureParameters) -> FloatArray:
    """Return the Kullback-Leibler divergence of p from q in nats, shape (n,); to 1e-6 nats, and 1e-8 of it if large."""
    p, q = p.used(), q.used()
    both = NormalMixtureParameters(
        np.hstack([p.means, q.means]), np.hstack([p.stds, q.stds]), np.hstack([p.weights, q.weights])
    )
    both, m = _scaled(both), len(p.weights)
    parts = [
        NormalMixtureParameters(both.means[:, own], both.stds[:, own], both.weights[own])
        for own in (slice(m), slice(m, None))
    ]
    values, settled = even_integral(parts, _even_excess)
    values[~settled] = _integrals(both.at(~settled), partial(_excess, split=m), relative=1e-8)
    return np.maximum(values, 0.0)


def _integrals(
    q: NormalMixtureParameters,
    integrand: Callable[[NormalMixtureParameters, Panels], FloatArray],
    relative: float = 0.0,
) -> FloatArray:
    """Return the integral of `integrand` over the reach of each row's members, shape (n,)."""
    n, m = q.means.shape
    values = np.empty(n)
    rows = max(1, _BLOCK // (m * m))
    for start in range(0, n, rows):
        block = np.arange(start, min(start + rows, n))
        part = q.at(block)
        values[block] = integral(
            len(part.means), _fitted(part), partial(integrand, part), tolerance=_TOLERANCE, relative=relative, members=m
        )
    return values


def _scaled(q: NormalMixtureParameters) -> NormalMixtureParameters:
    """Return the mixtures in units of each row's narrowest member, to a power of 2: that changes no digit."""
    extent = np.ptp(q.means, axis=1, keepdims=True) + q.stds.max(axis=1, keepdims=True)
    stds = np.maximum(q.stds, _FINEST * extent)
    unit = np.exp2(np.floor(np.log2(stds.min(axis=1, keepdims=True))))
    return NormalMixtureParameters(q.means / unit, stds / unit, q.weights)


def _fitted(q: NormalMixtureParameters) -> Panels:
    """Return panels that cover the members' reach, none wide against the narrowest member in reach of it."""
    panels, done = joined([_of_an_anchor(q), _of_all_members(q)]), []
    while len(panels.row):
        middle, half = 0.5 * (panels.lower + panels.upper), 0.5 * (panels.upper - panels.lower)
        stds = q.stds[panels.row]
        near = np.abs(middle[:, None] + _from_anchor(q, panels)) <= half[:, None] + REACH * stds
        narrowest = np.where(near, stds, np.inf).min(axis=1)
        wide = 2 * half > _WIDTH * narrowest
        done.append(panels.at(~wide & np.isfinite(narrowest)))
        panels = panels.at(wide).halved()
    return joined(done)


def _from_anchor(q: NormalMixtureParameters, panels: Panels) -> FloatArray:
    """Return the anchor's mean less each member's, shape (panels, m)."""
    return q.means[panels.row, panels.anchor][:, None] - q.means[panels.row]


def _of_an_anchor(q: NormalMixtureParameters) -> Panels:
    """Return one panel for each row whose members one anchor resolves."""
    row = np.flatnonzero(_resolved(q))
    reach, means = REACH * q.stds[row], q.means[row] - q.means[row, :1]
    return Panels(row, np.zeros_like(row), (means - reach).min(axis=1), (means + reach).max(axis=1))


def _of_all_members(q: NormalMixtureParameters) -> Panels:
    """Return two panels for each member of the other rows, left and right of its mean, half way to the next."""
    rows = np.flatnonzero(~_resolved(q))
    reach, anchor = REACH * q.stds[rows], np.argsort(q.means[rows], axis=1)
    means = np.take_along_axis(q.means[rows], anchor, axis=1)
    half_way = 0.5 * np.diff(means, axis=1)
    left = (reach + (means[:, :1] - q.means[rows])).max(axis=1, keepdims=True)
    right = (reach + (q.means[rows] - means[:, -1:])).max(axis=1, keepdims=True)
    row = np.repeat(rows, means.shape[1])
    lower, upper = np.hstack([-left, -half_way]).ravel(), np.hstack([half_way, right]).ravel()
    zero, anchor = np.zeros(len(row)), anchor.ravel()
    return joined([Panels(row, anchor, lower, zero), Panels(row, anchor, zero, upper)])


def _resolved(q: NormalMixtureParameters) -> BoolArray:
    return np.asarray(np.ptp(q.means, axis=1) + q.stds.max(axis=1) <= _RESOLVED)


def _log_members(q: NormalMixtureParameters, panels: Panels) -> FloatArray:
    """Return the members' log densities at the nodes of each panel, shape (panels, members, 15)."""
    stds = q.stds[panels.row]
    middle = (0.5 * (panels.upper + panels.lower)[:, None] + _from_anchor(q, panels)) / stds
    half = 0.5 * (panels.upper - panels.lower)[:, None] / stds
    log_member = np.square(middle[:, :, None] + half[:, :, None] * NODES)
    log_member *= -0.5
    log_member -= (np.log(stds) + 0.5 * LOG_2PI)[:, :, None]
    return np.asarray(log_member)


def _information(q: NormalMixtureParameters, panels: Panels) -> FloatArray:
    """Return q(y) sum_m r_m log(r_m / w_m) at the nodes of each panel, shape (panels, 15)."""
    log_member = _log_members(q, panels)
    density = np.exp(log_member)
    density *= q.weights[:, None]
    total = density.sum(axis=1)
    density *= log_member
    return np.asarray(density.sum(axis=1) - xlogy(total, total))


def _entropy(density: FloatArray) -> FloatArray:
    """Return -q log q at even nodes."""
    return np.asarray(-xlogy(density, density))


def _even_excess(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return p log(p / q) - p + q at even nodes, NaN where p counts and q has underflowed."""
    return np.where((q < _LOST) & (p > _SEEN), np.nan, kl_terms(p, np.maximum(q, _LOST)))


def _excess(both: NormalMixtureParameters, panels: Panels, split: int) -> FloatArray:
    """Return p log(p / q) - p + q at the nodes of each panel; the first `split` members are p's, the others q's."""
    log_member = _log_members(both, panels)
    log_p = _log_sum(log_member[:, :split], both.weights[:split])
    return kl_terms_of_logs(log_p, _log_sum(log_member[:, split:], both.weights[split:]))


def _log_sum(log_member: FloatArray, weights: FloatArray) -> FloatArray:
    """Return log sum_m w_m exp(log_member) over axis 1."""
    top = log_member.max(axis=1)
    return np.asarray(top + np.log((np.exp(log_member - top[:, None]) * weights[:, None]).sum(axis=1)))


_REMEDY = "raise min_samples_leaf, or lay a distribution over the mean with residuals='oob' (others: 'normal')"
_SPLIT = {"aleatoric_variance", "epistemic_variance"}
_ALWAYS = frozenset({"mean", "variance", "cdf", "quantile", "sample", "crps"}) | _SPLIT
_DENSITY = frozenset({"entropy", "log_prob", "aleatoric", "epistemic", "members", "leave_one_out", "kl"})


class NormalMixture(Rowwise):
    """n mixtures of m normal distributions.

    Parameters
    ----------
    means, stds : array of shape (n, m)
        Of the members; standard deviations at least 0.
    weights : array of shape (m,), optional
        Relative weights of the members; equal by default.
    points : bool, optional
        Whether members may be single points (standard deviation 0). A model whose members are must say
        True, so that what is supported does not depend on the rows asked; read from `stds` by default.

    Notes
    -----
    With points there is no density: entropy, log_prob, aleatoric, epistemic, members and kl are not supported,
    the rest is. ``entropy`` = ``aleatoric`` + ``epistemic`` in nats and ``variance`` likewise.

    Examples
    --------
    >>> q = NormalMixture([[0.0, 0.0], [0.0, 100.0]], [[1.0, 1.0], [1.0, 1.0]])
    >>> q.epistemic().round(4)
    array([0.    , 0.6931])
    >>> q.variance()
    array([1.000e+00, 2.501e+03])
    """

    family = "normal mixture"
    by_row = ("means", "stds")

    def __init__(self, means: Any, stds: Any, weights: Any = None, *, points: bool | None = None) -> None:
        self.means, self.stds = _members("means", means), _members("stds", stds)
        if self.means.shape != self.stds.shape:
            raise InputError(f"normal_mixture.stds must be of means' shape, {self.means.shape}; got {self.stds.shape}.")
        negative, zero = (self.stds < 0).any(axis=1), (self.stds == 0).any(axis=1)
        if negative.any():
            raise InputError(f"normal_mixture.stds must be >= 0; got negative ones in {int(negative.sum())} rows.")
        if points is False and zero.any():
            got = f"{int(zero.sum())} of {len(zero)} rows"
            raise InputError(f"normal_mixture.stds must be > 0; got 0 in {got}. {_REMEDY.capitalize()}.")
        self.points = bool(zero.any()) if points is None else points
        self.weights = shares("normal_mixture.weights", weights, self.means.shape[1])
        self.information: FloatArray | None = None

    @property
    def supports(self) -> frozenset[str]:
        """All but Fisher information; what needs a density only without points."""
        return _ALWAYS if self.points else _ALWAYS | _DENSITY

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method in _DENSITY:
            return f"{method} needs a density, but members are single points (standard deviation 0): {_REMEDY}"
        if method in FISHER:
            return f"{method} is not defined for a mixture, whose Fisher norm is that of its density"
        return super().why_not(method)

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = super().take(index)
        other.information = None
        return other

    def mean(self) -> FloatArray:
        """Return the weighted mean of the members' means."""
        return row_sum(self.means, self.weights)

    def variance(self) -> FloatArray:
        """Return the total variance."""
        return self.aleatoric_variance() + self.epistemic_variance()

    def aleatoric_variance(self) -> FloatArray:
        """Return the weighted mean of the members' variances."""
        return row_sum(np.square(self.stds), self.weights)

    def epistemic_variance(self) -> FloatArray:
        """Return the weighted variance of the members' means, exactly 0 where these are equal."""
        apart = self.means - self.means[:, :1]
        return row_sum(np.square(apart - row_sum(apart, self.weights)[:, None]), self.weights)

    def entropy(self) -> FloatArray:
        """Return the differential entropy by quadrature, to 1e-6 nats."""
        self._need_density("entropy")
        return self.aleatoric() + self.epistemic()

    def aleatoric(self) -> FloatArray:
        """Return the weighted mean of the members' entropies."""
        self._need_density("aleatoric")
        return mean_entropy(self._mixtures)

    def epistemic(self) -> FloatArray:
        """Return the mutual information of outcome and member, between 0 and the entropy of the weights."""
        self._need_density("epistemic")
        if self.information is None:
            self.information = mutual_information(self._mixtures)
        return self.information

    def members(self) -> Iterator[tuple[float, Normal]]:
        """Yield the weight and the normal distributions of each member."""
        self._need_density("members")
        for weight, mean, std in zip(self.weights, self.means.T, self.stds.T, strict=True):
            if weight > 0:
                yield float(weight), Normal(mean, std)

    def leave_one_out(self) -> tuple[NormalMixture, ...]:
        """Return the mixtures without each member of positive weight; their entropies to first order in its weight.

        ``H - w/(1 - w) (CE_k - H)`` with the cross-entropy CE_k = -E_{q_k}[log q]: no further quadrature.
        """
        self._need_density("leave_one_out")
        used, entropy, others = self._mixtures.used(), self.entropy(), []
        excess = cross_entropies(used)
        excess -= row_sum(excess, used.weights)[:, None]
        for k, weight in enumerate(used.weights):
            other = copy(self)
            other.means, other.stds = (np.delete(part, k, axis=1) for part in (used.means, used.stds))
            other.weights = np.delete(used.weights, k) / (1 - weight)
            left = entropy - weight / (1 - weight) * excess[:, k]
            other.information = np.maximum(left - other.aleatoric(), 0.0)
            others.append(other)
        return tuple(others)

    def kl(self, other: Self) -> FloatArray:
        """Return the divergence from `other` by quadrature, to 1e-6 nats."""
        self._need_density("kl")
        other._need_density("kl")
        return kl_of_mixtures(self._mixtures, other._mixtures)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y."""
        self._need_density("log_prob")
        member = log_density((np.asarray(y)[:, None] - self.means) / self.stds, self.stds)
        return np.asarray(logsumexp(member, axis=1, b=self.weights))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        check_limits()
        return row_sum(ndtr(standardised(np.asarray(y)[:, None], self.means, self.stds)), self.weights)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest y with P(Y <= y) >= p, shape (n, L), to 1e-10 of the members' spread."""
        return quantiles(self.means, self.stds, self.weights, levels("normal_mixture.quantile.p", p))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        member = rng.choice(len(self.weights), (size, len(self)), p=self.weights)
        rows = np.arange(len(self))
        return rng.normal(self.means[rows, member], self.stds[rows, member])

    def crps(self, y: AnyArray) -> FloatArray:
        """Return sum_m w_m A(y - mu_m, s_m^2) - 1/2 sum_ml w_m w_l A(mu_m - mu_l, s_m^2 + s_l^2).

        Grimit et al. 2006, eq. 3 and 5; A is `absolute_moment`.
        """
        variances = np.square(self.stds)
        score = row_sum(absolute_moment(np.asarray(y)[:, None] - self.means, variances), self.weights)
        score -= row_sum(self.stds, np.square(self.weights)) / np.sqrt(np.pi)
        for m, weight in enumerate(self.weights):
            check_limits()
            later = slice(m + 1, None)
            apart = self.means[:, m, None] - self.means[:, later]
            distance = absolute_moment(apart, variances[:, m, None] + variances[:, later])
            score -= weight * row_sum(distance, self.weights[later])
        return score

    @property
    def _mixtures(self) -> NormalMixtureParameters:
        return NormalMixtureParameters(self.means, self.stds, self.weights)

    def _need_density(self, method: str) -> None:
        if self.points:
            self._cannot(method)


def _members(what: str, values: Any) -> FloatArray:
    parts = numbers(f"normal_mixture.{what}", values)
    if parts.ndim != 2 or parts.shape[1] == 0:
        raise InputError(f"normal_mixture.{what} must have the shape (rows, members); got {parts.shape}.")
    must, remedy = "must be finite; got other values", "Look at these rows' inputs and at the members' fit."
    refuse_rows(f"normal_mixture.{what} {must}", np.asarray(~np.isfinite(parts).all(axis=1)), remedy)
    return parts
