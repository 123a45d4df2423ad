"""Precision matrices of standardised columns: sparse by a penalty, of a given graph, or of a shrunk covariance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

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


class Inverter(Protocol):
    """A way from rows to their precision."""

    def precision(self, Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return the precision of centred columns of variance 1, and how it was found."""
        ...


@dataclass(frozen=True)
class Lasso:
    """The penalised precision; the penalty by cross-validation where none is given."""

    penalty: float | None
    engine: Engine

    def precision(self, Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return the precision; refuse a lasso that does not converge."""
        covariance = Z.T @ Z / len(Z)
        if len(covariance) == 1:
            return np.asarray(np.linalg.inv(covariance), dtype=float), {"penalty": None, "graph": "one column"}
        with warnings.catch_warnings(), global_random_state_kept():
            warnings.filterwarnings("ignore", category=RuntimeWarning)  # seen on the way, judged by the result
            try:
                penalty = self._by_folds(Z) if self.penalty is None else self.penalty
                warnings.simplefilter("error", ConvergenceWarning)
                found = graphical_lasso(covariance, alpha=penalty, max_iter=500)[1]
            except (ConvergenceWarning, FloatingPointError, ValueError) as error:
                chosen = self.penalty or "cross-validation"
                message = (
                    f"cid.penalty must make the graphical lasso converge; got {chosen}: {error} "
                    "Set a larger penalty (0.01 to 0.5), give a graph, or drop collinear columns."
                )
                raise UnfitError(message, "the graphical lasso did not converge") from error
        facts = {"penalty": penalty, "graph": BY_FOLDS if self.penalty is None else "lasso"}
        return checked(found, facts)

    def _by_folds(self, Z: FloatArray) -> float:
        """Return the penalty that predicts left-out rows best; a fold may stop early, the fit that is used may not."""
        warnings.simplefilter("ignore", ConvergenceWarning)
        seed = int(self.engine.rng("folds").integers(2**31))
        folds = KFold(min(5, len(Z)), shuffle=True, random_state=seed)
        return float(GraphicalLassoCV(cv=folds, assume_centered=True).fit(Z).alpha_)


@dataclass(frozen=True)
class Given:
    """The precision of a given graph over all columns; one with y is cut where the rows have no y."""

    edges: BoolArray

    def precision(self, Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return the precision."""
        size = Z.shape[1]
        found = given_graph(Z.T @ Z / len(Z), self.edges[:size, :size])
        return checked(found, {"penalty": None, "graph": "given"})


class Shrunk:
    """The precision of the covariance shrunk towards the identity, oracle-approximating (Chen et al. 2010)."""

    def precision(self, Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return the precision, which has every edge."""
        covariance, shrinkage = oas(Z, assume_centered=True)
        facts = {"penalty": None, "graph": f"all pairs, covariance shrunk by {shrinkage:.2g} (OAS)"}
        return checked(np.linalg.inv(covariance), facts)


def checked(precision: FloatArray, facts: dict[str, Any]) -> tuple[FloatArray, dict[str, Any]]:
    """Return a precision with its condition number; refuse one that is ill-conditioned."""
    condition = float(np.linalg.cond(precision))
    if not condition < MAX_CONDITION:
        raise UnfitError(
            f"cid.X must not be collinear; the fitted precision has condition number {condition:.1e}. "
            "Drop or combine columns, or set a larger penalty.",
            "columns are collinear",
        )
    return precision, {**facts, "condition": condition}


def given_graph(covariance: FloatArray, edges: BoolArray, tolerance: float = 1e-12) -> FloatArray:
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
