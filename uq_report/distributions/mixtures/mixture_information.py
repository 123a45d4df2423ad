"""What mixtures of normals share, by quadrature: members with each other, and two mixtures of one row.

The entropy of the mixture, -sum_m w_m E_{q_m}[log q], is H = sum_m w_m H(q_m) + I with the mutual information
of outcome and member I = sum_m w_m E_{q_m}[log(q_m / q)]. Of the Kullback-Leibler divergence of p from q,
p log(p / q) - p + q is integrated, which is never negative, and 0 where p and q are equal.

Where one step suits a row, nodes lie evenly (`mixture_grid`). Such a rule misses narrow members between wide ones;
there a row's range is halved until no panel is wider than eight standard deviations of the narrowest member in reach
of it, and then until the two rules of `quadrature` agree to 1e-6 nats over the row. Then I is integrated itself:
sum_m w_m q_m log q_m - q log q, smooth, never negative, and 0 where the members are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import entr, xlogy

from ...core.support.arrays import BoolArray, FloatArray
from ..families.normal import LOG_2PI
from ..numerics.quadrature import NODES, Panels, integral, joined
from ..numerics.relative_entropy import kl_terms, kl_terms_of_logs
from ..numerics.rowwise import row_sum
from .mixture_grid import REACH, NormalMixtureParameters, even_integral

_REACH = 6.0  # standard deviations; beyond them members hold 2e-9, of which the entropy has less than 1e-7 nats
_FINEST = 1e-100  # of a row's extent: narrower members are taken to be so wide, lest squares overflow
_RESOLVED = 1e6  # standard deviations of the narrowest member that one anchor may serve
_WIDTH = 8.0  # of a panel, in standard deviations
_TOLERANCE = 1e-6  # nats per row
_BLOCK = 1 << 19  # rows times squared members worked on at once
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
