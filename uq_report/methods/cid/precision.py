"""Precision matrices of standardised columns: sparse by a penalty, of a given graph, or of a shrunk covariance."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.covariance import GraphicalLassoCV, graphical_lasso, oas
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from ...core.arrays import BoolArray, FloatArray
from ...core.engine import Engine
from ...core.foreign import global_random_state_kept
from .columns import UnfitError

MAX_CONDITION = 1e10
BY_FOLDS = "lasso, penalty by 5-fold cross-validation"

# From centred columns of variance 1 to their precision, and how it came about.
Inverter = Callable[[FloatArray], tuple[FloatArray, dict[str, Any]]]


def by_lasso(Z: FloatArray, penalty: float | None, engine: Engine) -> tuple[FloatArray, dict[str, Any]]:
    """Return the penalised precision, the penalty by cross-validation if None; refuse one that does not converge."""
    covariance = Z.T @ Z / len(Z)
    if len(covariance) == 1:
        return np.asarray(np.linalg.inv(covariance), dtype=float), {"penalty": None, "graph": "one column"}
    with warnings.catch_warnings(), global_random_state_kept():
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # seen on the way, judged by the result
        try:
            alpha = _by_folds(Z, engine) if penalty is None else penalty
            warnings.simplefilter("error", ConvergenceWarning)
            precision = graphical_lasso(covariance, alpha=alpha, max_iter=500)[1]
        except (ConvergenceWarning, FloatingPointError, ValueError) as error:
            message = (
                f"cid.penalty must make the graphical lasso converge; got {penalty or 'cross-validation'}: {error} "
                "Set a larger penalty (0.01 to 0.5), give a graph, or drop collinear columns."
            )
            raise UnfitError(message, "the graphical lasso did not converge") from error
    return _checked(precision, alpha, BY_FOLDS if penalty is None else "lasso")


def _by_folds(Z: FloatArray, engine: Engine) -> float:
    """Return the penalty that predicts left-out rows best; a fold may stop early, the fit that is used may not."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    seed = int(engine.rng("folds").integers(2**31))
    folds = KFold(min(5, len(Z)), shuffle=True, random_state=seed)
    return float(GraphicalLassoCV(cv=folds, assume_centered=True).fit(Z).alpha_)


def by_graph(Z: FloatArray, edges: BoolArray) -> tuple[FloatArray, dict[str, Any]]:
    """Return the precision of a graph over all columns; one with y is cut where the rows have no y."""
    size = Z.shape[1]
    return _checked(graph_precision(Z.T @ Z / len(Z), edges[:size, :size]), None, "given")


def by_shrinkage(Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
    """Return that of the covariance shrunk towards the identity, oracle-approximating (Chen et al. 2010): all edges."""
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
