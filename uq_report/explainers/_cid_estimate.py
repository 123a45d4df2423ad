"""Which estimator of covered information fits the data, and its terms, with everything a reader must know."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.covariance import GraphicalLassoCV, graphical_lasso
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from ..core.arrays import BoolArray, FloatArray, IntArray
from ..core.engine import Engine
from ..core.errors import InputError
from ..core.foreign import global_random_state_kept
from ..core.results import Omission
from ..core.subject import Subject
from ._cid_discrete import discrete_terms, fit_field
from ._cid_gaussian import gaussian_terms, half_potential_terms, normal_scores
from ._cid_mixed import mixed_terms
from ._cid_terms import Terms

MOST_TIES = 0.2
TOO_ALIKE = 1 - 1e-9
MAX_CONDITION = 1e10


@dataclass(frozen=True)
class Estimate:
    """Terms of the features that have them, how they were estimated, and the dependence graph.

    ``links`` is (d + 1, d + 1) over the features and y: partial correlations, or for a discrete
    field the largest pair potential; 0 where the graph has no edge.
    """

    features: tuple[str, ...]
    terms: Terms
    estimator: str
    links: FloatArray
    notes: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """What the user may decide about the estimator; see `CoveredInformation`."""

    estimator: str
    penalty: float | None
    graph: tuple[tuple[str, str], ...] | None
    potentials: str
    bins: int


def estimate(subject: Subject, engine: Engine, choice: Choice) -> Estimate:
    """Return the terms by the named estimator, or by the one that fits the columns."""
    features, omissions = _usable(subject)
    y = engine.y
    if y is None:
        raise InputError("cid.y must be given: covered information is about y; got none.")
    classes = "proba" in engine.baseline.supports
    text = [f for f in features if subject.kinds[f] != "numeric"]
    name = _named(choice.estimator, classes, text)
    graph = _edges(choice.graph, features)
    if name == "discrete":
        found = _discrete(subject, features, np.asarray(y), choice, graph, classes=classes)
    else:
        X = np.column_stack([np.asarray(subject.values(f), dtype=float) for f in features])
        _refuse_copies(X, features)
        lasso = Lasso(choice.penalty, graph, engine)
        if name == "mixed":
            found = _mixed(X, features, np.asarray(y, dtype=np.int64), lasso)
        else:
            found = _copula(X, features, np.asarray(y, dtype=float), lasso, choice.potentials)
    return Estimate(**{**found.__dict__, "omissions": (*omissions, *found.omissions)})


def _named(asked: str, classes: bool, text: Sequence[str]) -> str:
    """Return the estimator to use; refuse one that the columns do not allow."""
    if asked == "auto":
        return "discrete" if text else "mixed" if classes else "copula"
    if asked in ("copula", "mixed") and text:
        raise InputError(
            f"cid.estimator {asked!r} must get numeric columns; got {', '.join(text)}. "
            "Leave them out, or take estimator='discrete', which bins the numeric ones."
        )
    if asked == "mixed" and not classes:
        raise InputError("cid.estimator 'mixed' must get a class target; got a numeric one. Take 'copula'.")
    if asked == "copula" and classes:
        raise InputError("cid.estimator 'copula' must get a numeric target; got classes. Take 'mixed'.")
    return asked


def _usable(subject: Subject) -> tuple[tuple[str, ...], tuple[Omission, ...]]:
    """Return the features with information to share; a constant has none, a missing value none that is known."""
    used, left = [], []
    for name in subject.features:
        values = subject.values(name)
        missing = int(pd.isna(values).sum())
        if missing:
            raise InputError(
                f"cid.X must have no missing values; got {missing} in {name!r}. "
                "Impute them in the data, or drop the column."
            )
        if pd.Series(values).nunique() < 2:
            left.append(Omission("", name, "it is constant, so it has no information"))
        else:
            used.append(name)
    if len(used) < 2:
        raise InputError(f"cid.X must have two features that vary; got {len(used)}. Nothing can be covered.")
    return tuple(used), tuple(left)


def _refuse_copies(X: FloatArray, features: Sequence[str]) -> None:
    alike = np.triu(np.abs(np.corrcoef(X, rowvar=False)) > TOO_ALIKE, 1)
    if alike.any():
        a, b = np.argwhere(alike)[0]
        raise InputError(
            f"cid.X must have no copies; got {features[a]!r} and {features[b]!r} with correlation ±1 "
            f"({int(alike.sum())} such pairs). Each covers all of the other: keep one."
        )


def _edges(graph: tuple[tuple[str, str], ...] | None, features: Sequence[str]) -> BoolArray | None:
    """Return the given graph over the features and then y, which is called ``y``."""
    if graph is None:
        return None
    names = [*features, "y"]
    edges = np.eye(len(names), dtype=bool)
    for a, b in graph:
        if a not in names or b not in names:
            raise InputError(f"cid.graph must join features that vary, and 'y'; got the edge {(a, b)!r}.")
        edges[names.index(a), names.index(b)] = edges[names.index(b), names.index(a)] = True
    return edges


# ---------------------------------------------------------------------- precision matrices


@dataclass(frozen=True)
class Lasso:
    """The penalised precision of standardised columns, or that of a given graph."""

    penalty: float | None
    edges: BoolArray | None
    engine: Engine

    def precision(self, Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return the precision and how it was chosen; refuse one that is ill-conditioned."""
        covariance = Z.T @ Z / len(Z)
        if self.edges is not None:
            # The given graph is over all columns of Z; a graph with y is cut where Z has no y.
            kept = self.edges[: len(covariance), : len(covariance)]
            found, facts = given_graph(covariance, kept), {"penalty": None, "graph": "given"}
        else:
            found, facts = self._lasso(Z, covariance)
        condition = float(np.linalg.cond(found))
        if not condition < MAX_CONDITION:
            raise InputError(
                f"cid.X must not be collinear; the fitted precision has condition number {condition:.1e}. "
                "Drop or combine columns, or set a larger penalty."
            )
        return found, {**facts, "condition": condition}

    def _lasso(self, Z: FloatArray, covariance: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        with warnings.catch_warnings(), global_random_state_kept():
            warnings.simplefilter("error", ConvergenceWarning)
            warnings.filterwarnings("ignore", category=RuntimeWarning)  # seen on the way, judged by the result
            try:
                if self.penalty is not None:
                    return graphical_lasso(covariance, alpha=self.penalty)[1], {
                        "penalty": self.penalty,
                        "graph": "lasso",
                    }
                seed = int(self.engine.rng("folds").integers(2**31))
                folds = KFold(5, shuffle=True, random_state=seed)
                model = GraphicalLassoCV(cv=folds, assume_centered=True, max_iter=500).fit(Z)
            except (ConvergenceWarning, FloatingPointError, ValueError) as error:
                chosen = self.penalty or "cross-validation"
                raise InputError(
                    f"cid.penalty must make the graphical lasso converge; got {chosen}: {error} "
                    "Set a larger penalty (0.01 to 0.5), give a graph, or drop collinear columns."
                ) from error
        return model.precision_, {"penalty": float(model.alpha_), "graph": "lasso, penalty by 5-fold cross-validation"}


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


# ---------------------------------------------------------------------- the three estimators


def _copula(X: FloatArray, features: tuple[str, ...], y: FloatArray, lasso: Lasso, potentials: str) -> Estimate:
    Z = normal_scores(np.column_stack([X, y]))
    precision, facts = lasso.precision(Z)
    terms = (half_potential_terms if potentials == "half" else gaussian_terms)(Z, precision)
    ties = {name: 1 - len(np.unique(v)) / len(v) for name, v in zip((*features, "y"), (*X.T, y), strict=True)}
    tied = [name for name, share in ties.items() if share > MOST_TIES]
    notes = [f"Gaussian copula: columns mapped to normal quantiles by mid-ranks; {facts['graph']}."]
    if tied:
        notes.append(
            f"More than 20 % of the values are ties in {', '.join(tied)}: a Gaussian copula does not fit there."
        )
    if potentials == "half":
        notes.append(
            "Half of every pair potential is used, for comparison with published figures; it is not the definition."
        )
    return Estimate(features, terms, "Gaussian copula", partial_correlations(precision), tuple(notes), facts=facts)


def _mixed(X: FloatArray, features: tuple[str, ...], y: IntArray, lasso: Lasso) -> Estimate:
    classes, codes = np.unique(y, return_inverse=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.stack([Z[codes == c].mean(axis=0) for c in range(len(classes))])
    if len(classes) < 2:
        raise InputError(f"cid.y must have two classes or more in the audited rows; got {len(classes)}.")
    within = Z - means[codes]
    scale = within.std(axis=0)
    if (scale == 0).any():
        constant = [f for f, s in zip(features, scale, strict=True) if s == 0]
        raise InputError(
            f"cid.X must vary within classes; got {', '.join(constant)} constant in each. It equals y: drop it."
        )
    precision, facts = lasso.precision(within / scale)
    log_prior = np.log(np.bincount(codes) / len(codes))
    shared = np.repeat((precision)[None], len(classes), axis=0)
    terms = mixed_terms(Z / scale, codes, log_prior, means / scale, shared)
    links = np.zeros((len(features) + 1,) * 2)
    links[:-1, :-1] = partial_correlations(precision)
    note = f"Conditional Gaussian: one normal per class with a shared covariance; {facts['graph']}."
    return Estimate(features, terms, "conditional Gaussian", links, (note,), facts=facts)


def _discrete(
    subject: Subject, features: tuple[str, ...], y: Any, choice: Choice, graph: BoolArray | None, *, classes: bool
) -> Estimate:
    binned = [f for f in features if subject.kinds[f] != "categorical" and _levels(subject.values(f)) > choice.bins]
    columns = [_cells(subject.values(f), choice.bins if f in binned else None) for f in features]
    columns.append(_cells(y, None if classes else choice.bins))
    codes = np.column_stack(columns)
    penalty = 1.0 if choice.penalty is None else choice.penalty
    field_ = fit_field(codes, graph, penalty)
    starts = field_.starts[:-1]
    links = np.maximum.reduceat(np.maximum.reduceat(np.abs(field_.pair), starts, axis=0), starts, axis=1)
    notes = [f"Discrete pairwise field by penalised pseudo-likelihood, penalty {penalty:g}."]
    if binned or not classes:
        named = ", ".join([*binned, *(() if classes else ("y",))])
        notes.append(
            f"Cut into {choice.bins} cells of about equal count: {named}. Information within a cell is not seen."
        )
    facts = {"penalty": penalty, "graph": "given" if graph is not None else "all pairs", "bins": choice.bins}
    return Estimate(features, discrete_terms(codes, field_), "discrete field", links, tuple(notes), facts=facts)


def _levels(values: Any) -> int:
    return int(pd.Series(values).nunique())


def _cells(values: Any, bins: int | None) -> IntArray:
    """Return level codes, or quantile cells of about equal count with equal values together."""
    if bins is None:
        return np.asarray(pd.factorize(pd.Series(values), sort=True)[0], dtype=np.int64)
    ranks = pd.Series(np.asarray(values)).rank(method="average", pct=True).to_numpy()
    return np.asarray(pd.factorize(np.ceil(ranks * bins), sort=True)[0], dtype=np.int64)
