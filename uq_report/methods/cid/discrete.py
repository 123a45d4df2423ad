"""Covered information of a discrete pairwise field: log-linear potentials, exact sums over states."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from .cover import related_by_cells, with_indicators
from .pseudo import GRADIENT, least_pseudo
from .terms import Data, InformationEstimate, InformationTerms, LogProbability, UnfitError, in_cells

TITLE = "discrete field"
MAX_ENUMERATED = 200_000


class Field(NamedTuple):
    """p(s) proportional to exp(sum_a unary[a, s_a] + sum_{a<b} pair[(a, s_a), (b, s_b)]); the target is the last node.

    States of all nodes stand one after the other: node a has positions ``starts[a] .. starts[a+1]``.
    `pair` is symmetric over states and zero within a node: every unordered pair enters once and whole.
    """

    starts: IntArray
    unary: FloatArray
    pair: FloatArray

    def block(self, a: int) -> slice:
        """Return the positions of node a's states."""
        return slice(int(self.starts[a]), int(self.starts[a + 1]))


def discrete_estimate(data: Data, bins: int, edges: BoolArray | None, penalty: float) -> InformationEstimate:
    """Return the terms of a pairwise field of cells."""
    codes, notes = in_cells(data, bins)
    field = fit_field(codes, edges, penalty)
    starts = field.starts[:-1]
    return InformationEstimate(
        data.features,
        discrete_terms(codes, field),
        TITLE,
        np.maximum.reduceat(np.maximum.reduceat(np.abs(field.pair), starts, axis=0), starts, axis=1),
        discrete_log_p(codes, penalty),
        with_indicators(np.empty((len(codes), 0)), codes),
        related_by_cells(codes[:, :-1], data.units),
        (f"Discrete pairwise field by penalised pseudo-likelihood, penalty {penalty:g}.", *notes),
        {"penalty": penalty, "graph": "all pairs" if edges is None else "given", "bins": bins},
    )


def fit_field(codes: IntArray, edges: BoolArray | None = None, penalty: float = 1.0) -> Field:
    """Fit the field to rows of states by penalised pseudo-likelihood (Besag 1975).

    Parameters
    ----------
    codes : ndarray of int (n, nodes)
        States 0 .. k-1 of each node, every one seen, the target last.
    edges : ndarray of bool (nodes, nodes), optional
        A given graph; every pair by default.
    penalty : float
        Half the weight of the squared pair potentials, against n terms of the likelihood.
    """
    starts = np.concatenate([[0], np.cumsum(codes.max(axis=0) + 1)])
    nodes = np.repeat(np.arange(codes.shape[1]), np.diff(starts))
    allowed = nodes[:, None] != nodes
    if edges is not None:
        allowed &= edges[np.ix_(nodes, nodes)]
    least = least_pseudo(codes, starts, allowed, penalty)
    if least.gradient > GRADIENT:
        message = f"cid.penalty must make the discrete field converge; got {penalty:g}, which leaves a gradient of "
        reason = "the discrete field did not converge"
        raise UnfitError(f"{message}{least.gradient:.1g}. Set a larger penalty, or fewer bins.", reason)
    return Field(starts, least.unary, least.pair)


def discrete_terms(codes: IntArray, field: Field) -> InformationTerms:
    """Return the pointwise information of each node but the last about the last, in nats.

    The conditional term is exact: ``log F_xy (D'FE) / ((D'F_.y)(F_x.E))`` with F the pair of x_i and
    y, D and E the potentials of each with the others at the row's values. The mutual term has the
    field's own marginals where its states can be enumerated, else the observed pair frequencies,
    which those of a maximum-likelihood field equal.
    """
    n, nodes = codes.shape
    y = nodes - 1
    rows = np.arange(n)
    positions = codes + field.starts[:-1]
    tables = pair_marginals(codes, field)
    of_others = np.zeros((n, len(field.unary)))
    for own in positions.T:  # node by node: all at once are rows x nodes x states
        check_limits()
        of_others += field.pair[own]
    influence = field.unary + of_others
    mutual, conditional = np.empty((n, y)), np.empty((n, y))
    b_y = field.block(y)
    for i in range(y):
        check_limits()
        b_i = field.block(i)
        coupling = field.pair[b_i, b_y]
        d = influence[:, b_i] - field.pair[positions[:, y], b_i]
        e = influence[:, b_y] - field.pair[positions[:, i], b_y]
        conditional[:, i] = _pmi(d[:, :, None] + coupling + e[:, None, :], rows, codes[:, i], codes[:, y])
        with np.errstate(divide="ignore"):
            mutual[:, i] = _pmi(np.log(tables[i])[None], np.zeros(n, dtype=np.int64), codes[:, i], codes[:, y])
    return InformationTerms(mutual, conditional)


def _pmi(log_joint: FloatArray, rows: IntArray, a: IntArray, b: IntArray) -> FloatArray:
    """Return log p(a, b) / (p(a) p(b)) of unnormalised log tables (rows, states, states) at one cell each."""
    largest = log_joint.max(axis=(1, 2), keepdims=True)
    total = np.log(np.exp(log_joint - largest).sum(axis=(1, 2))) + largest[:, 0, 0]
    left, right = logsumexp(log_joint[rows, a], axis=1), logsumexp(log_joint[rows, :, b], axis=1)
    return np.asarray(log_joint[rows, a, b] + total[rows] - left - right)


def pair_marginals(codes: IntArray, field: Field) -> list[FloatArray]:
    """Return p(x_i, y) for each node i, by enumeration if the field has few states, else as observed."""
    sizes = np.diff(field.starts)
    y = len(sizes) - 1
    if np.prod(sizes.astype(float)) > MAX_ENUMERATED:
        states, p = codes, np.full(len(codes), 1 / len(codes))
    else:
        states = np.array(list(product(*map(range, sizes))))
        p = np.exp(log_probabilities(states, field))
        p /= p.sum()
    tables = [np.zeros((sizes[i], sizes[y])) for i in range(y)]
    for i, table in enumerate(tables):
        np.add.at(table, (states[:, i], states[:, y]), p)
    return tables


def log_probabilities(states: IntArray, field: Field) -> FloatArray:
    """Return the unnormalised log probability of each row of states."""
    positions = states + field.starts[:-1]
    pairs = field.pair[positions[:, :, None], positions[:, None, :]].sum(axis=(1, 2)) / 2
    return np.asarray(field.unary[positions].sum(axis=1) + pairs)


def discrete_log_p(codes: IntArray, penalty: float) -> LogProbability:
    """Return log p(y | x_S) of the rows for any features S, y in the last column.

    By the field of S and y alone, fitted to the same cells: a pairwise field has log-odds of y that are additive in
    the other nodes, so this part of it is a logistic regression. To sum the field of all columns over the rest would
    take as many terms as that has states.
    """
    y, sizes = codes[:, -1], codes.max(axis=0) + 1

    def log_p(chosen: tuple[int, ...]) -> FloatArray:
        if not chosen:
            return np.asarray(np.log(np.bincount(y) / len(y))[y])
        from sklearn.linear_model import LogisticRegression  # here: heavy, and a list of plugins fits nothing

        states, first, key, counts = np.unique(
            codes[:, [*chosen, -1]], axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        key = key.ravel()
        hot = np.concatenate([states[:, [i]] == np.arange(sizes[k]) for i, k in enumerate(chosen)], axis=1).astype(
            float
        )
        model = LogisticRegression(C=1 / penalty, tol=1e-6, solver="newton-cholesky", max_iter=1000)
        model.fit(hot, y[first], sample_weight=counts)
        return np.asarray(model.predict_log_proba(hot)[key, y])

    return log_p
