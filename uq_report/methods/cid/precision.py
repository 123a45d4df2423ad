"""How the normals of covered information come by their precision: a penalty, a given graph, or a shrunk covariance."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.support.arrays import BoolArray, FloatArray
from ...core.support.limits import check_limits
from ...core.traits.interop import global_random_state_restored
from .lasso import PROVEN, diagonal_start, graphical_lassos, largest_covariance, start_from_afar
from .terms import UnfitError

MAX_CONDITION = 1e10
BY_FOLDS = "lasso, penalty by 5-fold cross-validation"
_NO_ANSWER = (FloatingPointError, ValueError)  # how scikit-learn's solver gives up
_ROUNDS, _PENALTIES, _RANGE = 4, 4, 0.01
_TOGETHER = 40_000  # entries of the matrices of a round that are solved together: small ones cost calls, not numbers

# From centred columns of variance 1 to their precision, and how it came about.
Inverter = Callable[[FloatArray], tuple[FloatArray, dict[str, Any]]]


def by_lasso(Z: FloatArray, penalty: float | None, engine: Engine) -> tuple[FloatArray, dict[str, Any]]:
    """Return the penalised precision, the penalty by cross-validation if None; refuse one that does not converge."""
    covariance = Z.T @ Z / len(Z)
    if len(covariance) == 1:
        return np.asarray(np.linalg.inv(covariance), dtype=float), {"penalty": None, "graph": "one column"}
    with warnings.catch_warnings(), global_random_state_restored():
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # seen on the way, judged by the result
        if penalty is None:
            chosen, start, graph = *_by_folds(Z, engine), BY_FOLDS
        else:
            chosen, start, graph = penalty, start_from_afar(covariance[None], penalty), "lasso"
        solved = graphical_lassos(covariance[None], np.array([chosen]), start)
        if solved.proven[0]:
            return _checked(solved.precision[0], chosen, graph)
        try:
            precision = _by_peer(covariance, chosen)
        except _NO_ANSWER as error:
            raise _refused(penalty, str(error)) from error
    graph += f", solved by scikit-learn since the duality gap of our own answer was above {PROVEN:g} nats"
    return _checked(precision, chosen, graph)


def _by_peer(covariance: FloatArray, penalty: float) -> FloatArray:
    """Return scikit-learn's answer; one that has not converged raises."""
    from sklearn.covariance import graphical_lasso  # here and below: heavy, and a list of plugins fits no graph
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            return np.asarray(graphical_lasso(covariance, alpha=penalty, max_iter=500)[1])
        except ConvergenceWarning as warning:
            raise FloatingPointError(str(warning)) from warning


def _refused(penalty: float | None, reason: str) -> UnfitError:
    message = (
        f"cid.penalty must make the graphical lasso converge; got {penalty or 'cross-validation'}: {reason} "
        "Set a larger penalty (0.01 to 0.5), give a graph, or drop collinear columns."
    )
    return UnfitError(message, "the graphical lasso did not converge")


class _Tried(NamedTuple):
    """One penalty: its precisions of all folds, and the mean log-likelihood of the rows left out."""

    penalty: float
    precision: FloatArray
    score: float


def _by_folds(Z: FloatArray, engine: Engine) -> tuple[float, FloatArray]:
    """Return the penalty that predicts left-out rows best, all folds solved, and the folds' mean precision.

    Four rounds narrow it down by the penalties that scikit-learn's search would try, whose folds may stop early.
    """
    from sklearn.model_selection import KFold

    seed = int(engine.rng("folds").integers(2**31))
    folds = list(KFold(max(2, min(5, len(Z) // 2)), shuffle=True, random_state=seed).split(Z))
    S = np.stack([np.cov(Z[fit].T, bias=True) for fit, _ in folds])
    left_out = np.stack([np.cov(Z[rest].T, bias=True) for _, rest in folds])
    largest = float(largest_covariance(Z.T @ Z / len(Z)))
    ends = (_RANGE * largest, largest)
    tried: list[_Tried] = []
    for k in range(_ROUNDS):
        grid = np.geomspace(*ends, _PENALTIES)[::-1] if k == 0 else np.geomspace(*ends, _PENALTIES + 2)[1:-1][::-1]
        for penalties in _batches(grid, S, alone=k == 0):
            tried += _solved(S, left_out, penalties, tried)
        tried.sort(key=lambda t: -t.penalty)
        best = max(range(len(tried)), key=lambda i: (tried[i].score, i))
        ends = _around(tried, best)
    if not np.isfinite(tried[best].score):
        raise _refused(None, "no penalty has an answer in every fold.")
    return tried[best].penalty, tried[best].precision.mean(axis=0, keepdims=True)


def _batches(grid: FloatArray, S: FloatArray, *, alone: bool) -> Iterator[FloatArray]:
    """Yield the penalties that are solved together: neighbours where matrices are small, else one after the other."""
    size = 1 if alone else max(1, _TOGETHER // S.size)
    for start in range(0, len(grid), size):
        yield grid[start : start + size]


def _around(tried: Sequence[_Tried], best: int) -> tuple[float, float]:
    """Return the ends of the next round: the neighbours of the best, or a range below the smallest."""
    if best == len(tried) - 1:
        return _RANGE * tried[best].penalty, tried[best].penalty
    return tried[best + 1].penalty, tried[max(best - 1, 0)].penalty


def _solved(S: FloatArray, left_out: FloatArray, penalties: FloatArray, tried: Sequence[_Tried]) -> Iterator[_Tried]:
    """Yield each penalty solved in all folds, from the nearest that was tried."""
    folds = len(S)
    nearest = [min(tried, key=lambda t: abs(np.log(t.penalty / p)), default=None) for p in penalties]
    start = np.concatenate([diagonal_start(S) if t is None else t.precision for t in nearest])
    solved = graphical_lassos(np.tile(S, (len(penalties), 1, 1)), np.repeat(penalties, folds), start)
    for k, penalty in enumerate(penalties):
        mine = slice(k * folds, (k + 1) * folds)
        T, proven = solved.precision[mine], solved.proven[mine]
        for j in np.flatnonzero(~proven):
            try:
                T[j] = _by_peer(S[j], penalty)
            except _NO_ANSWER:
                T[j] = np.nan
        fit = np.linalg.slogdet(T)[1] - np.einsum("kij,kij->k", left_out, T)
        yield _Tried(
            float(penalty),
            np.where(np.isnan(T), diagonal_start(S), T),
            float(fit.mean()) if np.isfinite(fit).all() else -np.inf,
        )


def by_graph(Z: FloatArray, edges: BoolArray) -> tuple[FloatArray, dict[str, Any]]:
    """Return the precision of a graph over all columns; one with y is cut where the rows have no y."""
    size = Z.shape[1]
    return _checked(graph_precision(Z.T @ Z / len(Z), edges[:size, :size]), None, "given")


def by_shrinkage(Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
    """Return that of the covariance shrunk towards the identity, oracle-approximating (Chen et al. 2010): all edges."""
    from sklearn.covariance import oas

    covariance, shrinkage = oas(Z, assume_centered=True)
    return _checked(np.linalg.inv(covariance), None, f"all pairs, covariance shrunk by {shrinkage:.2g} (OAS)")


def _checked(precision: FloatArray, penalty: float | None, graph: str) -> tuple[FloatArray, dict[str, Any]]:
    """Return a precision with its condition number; refuse one that is ill-conditioned."""
    condition = float(np.linalg.cond(precision))
    if not condition < MAX_CONDITION:
        raise UnfitError(
            f"cid.X must not be collinear; the fitted precision has condition number {condition:.1e}. "
            "Drop or combine columns, or set a larger penalty.",
            "columns are collinear",
        )
    return precision, {"penalty": penalty, "graph": graph, "condition": condition}


def graph_precision(covariance: FloatArray, edges: BoolArray, tolerance: float = 1e-12) -> FloatArray:
    """Return the maximum-likelihood precision whose zeros are the non-edges (Hastie et al. 2009, algorithm 17.1)."""
    p = len(covariance)
    fitted = covariance.copy()
    for _ in range(1000):
        check_limits()
        before = fitted.copy()
        for j in range(p):
            rest = np.arange(p) != j
            near = edges[j] & rest
            beta = np.zeros(p)
            beta[near] = np.linalg.solve(fitted[np.ix_(near, near)], covariance[near, j])
            fitted[rest, j] = fitted[j, rest] = fitted[np.ix_(rest, rest)] @ beta[rest]
        if np.abs(fitted - before).max() < tolerance:
            break
    precision = np.linalg.inv(fitted)
    return np.where(edges, (precision + precision.T) / 2, 0.0)


def partial_correlations(precision: FloatArray) -> FloatArray:
    """Return -T_ij / sqrt(T_ii T_jj), with a zero diagonal."""
    scale = np.sqrt(np.diag(precision))
    links = -precision / np.outer(scale, scale)
    np.fill_diagonal(links, 0)
    return links
