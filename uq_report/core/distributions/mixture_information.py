"""The mutual information of outcome and member in mixtures of normals, by adaptive quadrature.

The entropy of the mixture, -sum_m w_m E_{q_m}[log q], is H = sum_m w_m H(q_m) + I with
I = sum_m w_m E_{q_m}[log(q_m / q)], so only I is integrated: sum_m w_m q_m log q_m - q log q, which is
smooth, never negative, and 0 where the members are equal.

A fixed rule misses narrow members between wide ones. Here a row's range is halved until no panel is wider
than eight standard deviations of the narrowest member in reach of it, and then until the two rules of
Gauss and Kronrod (QUADPACK's qk15) agree to 1e-6 nats over the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import entr, xlogy

from ..arrays import BoolArray, FloatArray, IntArray
from .normal import LOG_2PI
from .rowwise import row_sum

_REACH = 7.0  # standard deviations; 2.6e-12 of a member lies beyond
_FINEST = 1e-100  # of a row's extent: narrower members are taken to be so wide, lest squares overflow
_RESOLVED = 1e6  # standard deviations of the narrowest member that one anchor may serve
_WIDTH = 8.0  # of a panel, in standard deviations
_TOLERANCE = 1e-6  # nats per row
_HALVINGS = 6  # at most, after the panels fit the members
_CELLS = 1 << 16  # numbers in one array of nodes, so that it stays in the processor's cache
_BLOCK = 1 << 19  # rows times squared members worked on at once

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


class _Mixtures(NamedTuple):
    """Means and standard deviations (n, m), and weights (m,)."""

    means: FloatArray
    stds: FloatArray
    weights: FloatArray


class _Panels(NamedTuple):
    """Intervals of the rows they belong to, as distances from the mean of one member, the anchor.

    Distances keep their digits where narrow members lie far from 0 and from each other.
    """

    row: IntArray
    anchor: IntArray
    lower: FloatArray
    upper: FloatArray

    def at(self, index: BoolArray | slice) -> _Panels:
        return _Panels(self.row[index], self.anchor[index], self.lower[index], self.upper[index])

    def halved(self) -> _Panels:
        middle = 0.5 * (self.lower + self.upper)
        return _joined([self._replace(upper=middle), self._replace(lower=middle)])


def _joined(panels: list[_Panels]) -> _Panels:
    row, anchor, lower, upper = (np.concatenate(parts) for parts in zip(*panels, strict=True))
    return _Panels(row, anchor, lower, upper)


def mutual_information(means: FloatArray, stds: FloatArray, weights: FloatArray) -> FloatArray:
    """Return I(outcome; member) in nats, shape (n,), of mixtures with positive standard deviations.

    It lies between 0 and the entropy of the weights; what rounding leaves outside is set to these bounds.

    Parameters
    ----------
    means, stds : array of shape (n, m)
    weights : array of shape (m,), sum 1
    """
    used = weights > 0
    means, stds, weights = np.compress(used, means, axis=1), np.compress(used, stds, axis=1), weights[used]
    n, m = means.shape
    information = np.zeros(n)
    rows = max(1, _BLOCK // (m * m))
    for start in range(0, n if m > 1 else 0, rows):
        block = slice(start, start + rows)
        information[block] = _integrated(_scaled(means[block], stds[block], weights))
    return np.clip(information, 0.0, entr(weights).sum())


def _scaled(means: FloatArray, stds: FloatArray, weights: FloatArray) -> _Mixtures:
    """Return the mixtures in units of each row's narrowest member, to a power of 2: that changes no digit."""
    stds = np.maximum(stds, _FINEST * (np.ptp(means, axis=1, keepdims=True) + stds.max(axis=1, keepdims=True)))
    unit = np.exp2(np.floor(np.log2(stds.min(axis=1, keepdims=True))))
    return _Mixtures(means / unit, stds / unit, weights)


def _integrated(q: _Mixtures) -> FloatArray:
    n = len(q.means)
    total = np.zeros(n)
    panels, halvings = _fitted(q), 0
    while len(panels.row):
        value, error = _rules(q, panels)
        share = _TOLERANCE / np.maximum(np.bincount(panels.row, minlength=n), 1)
        good = (error <= share[panels.row]) | (halvings == _HALVINGS)
        total += np.bincount(panels.row[good], value[good], n)
        panels, halvings = panels.at(~good).halved(), halvings + 1
    return total


def _fitted(q: _Mixtures) -> _Panels:
    """Return panels that cover the members' reach, none wide against the narrowest member in reach of it."""
    panels, done = _joined([_around_one(q), _around_all(q)]), []
    while len(panels.row):
        middle, half = 0.5 * (panels.lower + panels.upper), 0.5 * (panels.upper - panels.lower)
        stds = q.stds[panels.row]
        near = np.abs(middle[:, None] + _from_anchor(q, panels)) <= half[:, None] + _REACH * stds
        narrowest = np.where(near, stds, np.inf).min(axis=1)
        wide = 2 * half > _WIDTH * narrowest
        done.append(panels.at(~wide & np.isfinite(narrowest)))
        panels = panels.at(wide).halved()
    return _joined(done)


def _from_anchor(q: _Mixtures, panels: _Panels) -> FloatArray:
    """Return the anchor's mean less each member's, shape (panels, m)."""
    return q.means[panels.row, panels.anchor][:, None] - q.means[panels.row]


def _around_one(q: _Mixtures) -> _Panels:
    """Return one panel for each row whose members one anchor resolves."""
    row = np.flatnonzero(_resolved(q))
    reach, means = _REACH * q.stds[row], q.means[row] - q.means[row, :1]
    return _Panels(row, np.zeros_like(row), (means - reach).min(axis=1), (means + reach).max(axis=1))


def _around_all(q: _Mixtures) -> _Panels:
    """Return two panels for each member of the other rows, left and right of its mean, half way to the next."""
    rows = np.flatnonzero(~_resolved(q))
    reach, anchor = _REACH * q.stds[rows], np.argsort(q.means[rows], axis=1)
    means = np.take_along_axis(q.means[rows], anchor, axis=1)
    half_way = 0.5 * np.diff(means, axis=1)
    left = (reach + (means[:, :1] - q.means[rows])).max(axis=1, keepdims=True)
    right = (reach + (q.means[rows] - means[:, -1:])).max(axis=1, keepdims=True)
    row = np.repeat(rows, means.shape[1])
    lower, upper = np.hstack([-left, -half_way]).ravel(), np.hstack([half_way, right]).ravel()
    zero, anchor = np.zeros(len(row)), anchor.ravel()
    return _joined([_Panels(row, anchor, lower, zero), _Panels(row, anchor, zero, upper)])


def _resolved(q: _Mixtures) -> BoolArray:
    return np.asarray(np.ptp(q.means, axis=1) + q.stds.max(axis=1) <= _RESOLVED)


def _rules(q: _Mixtures, panels: _Panels) -> tuple[FloatArray, FloatArray]:
    """Return each panel's integral by the Kronrod rule, and its distance from the Gauss rule."""
    value, error = np.empty(len(panels.row)), np.empty(len(panels.row))
    step = max(1, _CELLS // (15 * q.means.shape[1]))
    for start in range(0, len(value), step):
        block = slice(start, start + step)
        part = panels.at(block)
        half, density = 0.5 * (part.upper - part.lower), _divergence(q, part)
        value[block] = half * row_sum(density, KRONROD)
        error[block] = half * np.abs(row_sum(density, KRONROD - GAUSS))
    return value, error


def _divergence(q: _Mixtures, panels: _Panels) -> FloatArray:
    """Return q(y) sum_m r_m log(r_m / w_m) at the nodes of each panel, shape (panels, 15).

    `log_member` and `density` have the shape (panels, members, 15).
    """
    stds = q.stds[panels.row]
    middle = (0.5 * (panels.upper + panels.lower)[:, None] + _from_anchor(q, panels)) / stds
    half = 0.5 * (panels.upper - panels.lower)[:, None] / stds
    log_member = np.square(middle[:, :, None] + half[:, :, None] * NODES)
    log_member *= -0.5
    log_member -= (np.log(stds) + 0.5 * LOG_2PI)[:, :, None]
    density = np.exp(log_member)
    density *= q.weights[:, None]
    total = density.sum(axis=1)
    density *= log_member
    return np.asarray(density.sum(axis=1) - xlogy(total, total))
