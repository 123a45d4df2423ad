"""From covered information to corrected importance (Pereira et al., equations 3-4, assumption 2.1).

Over sets of rows, importance is regressed on the information terms of the same rows; the corrected
importance is what the map says when no information is covered redundantly. That point lies outside
the data, so the map must pass a gate before its values are printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import Measure
from ...core.model.results import Importance, Omission, Result
from ...core.model.sampling import Sampling
from ...core.model.variants import Variant
from ...core.support.arrays import FloatArray, take_rows
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ...core.support.numbers import fixed
from ...evidence import ids
from ...evidence.information import CorrectedLine
from ..shared.curves import stacked
from .terms import InformationEstimate, regressors

COEFFICIENTS = ("redundant CI", "MI", "synergistic CI", "synergistic MI")
MIN_FEATURES = 8
MIN_R2 = 0.5
SHUFFLES = 5
TEST_SHARE = 0.2


class Sets(NamedTuple):
    """Importance (sets, d) per measure and the terms (sets, d, 4) of the same rows, and how the sets came about."""

    importances: dict[str, FloatArray]
    terms: FloatArray
    note: str


class ImportanceMap(NamedTuple):
    """The fitted map and what the gate says of it.

    Attributes
    ----------
    corrected : ndarray (sets, d)
        Importance with redundant covered information set to 0.
    coefficients : ndarray (4,)
        Of redundant CI, MI, synergistic CI, synergistic MI.
    left_out : ndarray (d, 4)
        The coefficients of the fit without each feature.
    r2, r2_left_out : float
        In the sample, and predicting each feature from the others; NaN if all importances are equal.
    refusals : tuple of str
        Why corrected values must not be printed; empty if the gate passes.
    """

    corrected: FloatArray
    coefficients: FloatArray
    left_out: FloatArray
    r2: float
    r2_left_out: float
    refusals: tuple[str, ...]

    @property
    def facts(self) -> dict[str, Any]:
        """What is always recorded about a map."""
        return {
            "coefficients": dict(zip(COEFFICIENTS, self.coefficients.tolist(), strict=True)),
            "redundant_left_out": self.left_out[:, 0].tolist(),
            "refusals": list(self.refusals),
            **{name: getattr(self, name) for name in ("r2", "r2_left_out") if np.isfinite(getattr(self, name))},
        }


def corrected_importance(
    sets: Sets, estimate: InformationEstimate, names: Sequence[str], confidence: float
) -> Importance:
    """Return ``cid.corrected``: what the map of each measure gives where it passes its gate, else why it does not."""
    features = estimate.features
    frames, tables, omissions, maps = [], [], [], {}
    for measure in names:
        reason = "permutation importance has no row values of it for every feature"
        if measure in sets.importances:
            fitted = importance_map(sets.importances[measure], sets.terms)
            maps[measure] = fitted.facts
            refused = f"corrected importance is not shown: {'; '.join(fitted.refusals)}"
            reason = refused if fitted.refusals else ""
        if reason:
            omissions.append(Omission(measure, "", reason))
            continue
        wide = pd.DataFrame(fitted.corrected, columns=list(features))
        long = wide.melt(var_name="feature", ignore_index=False).reset_index(names="repeat")
        frames.append(long.assign(measure=measure))
        tables.append(_corrections(measure, features, sets.importances[measure], fitted.corrected, confidence))
    columns = [field.name for field in fields(CorrectedLine)]
    return Importance(
        id=ids.CID_CORRECTED,
        explainer=ids.CID,
        title="Permutation importance with no information covered by other features",
        frame=stacked(frames, Importance.columns),
        estimates=stacked(tables, columns),
        notes=(sets.note, "No redundant cover lies outside the data: every corrected value is an extrapolation."),
        omissions=tuple(omissions),
        meta={"maps": maps, "coefficients": list(COEFFICIENTS), "estimator": estimate.estimator},
    )


def _corrections(
    measure: str, features: Sequence[str], plain: FloatArray, corrected: FloatArray, confidence: float
) -> pd.DataFrame:
    """Return the median over sets with its spread, beside the plain importance, and both ranks."""
    tail = (1 - confidence) / 2
    middle, before = np.median(corrected, axis=0), plain.mean(axis=0)
    low, high = np.quantile(corrected, [tail, 1 - tail], axis=0)
    return pd.DataFrame(
        {
            "measure": measure,
            "feature": list(features),
            "estimate": middle,
            "std_error": corrected.std(axis=0, ddof=1),
            "lower": low,
            "upper": high,
            "confidence": confidence,
            "covers": "sets of rows, given the map",
            "plain": before,
            "rank": pd.Series(-middle).rank(method="min").astype(int),
            "plain_rank": pd.Series(-before).rank(method="min").astype(int),
        }
    )


# ---------------------------------------------------------------------- the map


def importance_map(importance: FloatArray, terms: FloatArray) -> ImportanceMap:
    """Fit the map by Bayesian ridge without intercept, with one zero row per set.

    Parameters
    ----------
    importance : ndarray (sets, d)
    terms : ndarray (sets, d, 4)
        As `regressors` gives them, on the same rows.

    Notes
    -----
    The zero rows (no information, no importance) change the noise estimate only. Sets share rows,
    so the map is learnt from d features: the gate asks for at least 8 of them, a leave-one-feature-out
    R² of at least 0.5, and a negative coefficient of redundant CI in every leave-one-feature-out fit.
    """
    d = importance.shape[1]
    coefficients = _fit(importance, terms)
    left_out, predicted = np.zeros((d, 4)), np.zeros_like(importance)
    for j in range(d if d > 1 else 0):
        check_limits()
        others = np.arange(d) != j
        left_out[j] = _fit(importance[:, others], terms[:, others])
        predicted[:, j] = terms[:, j] @ left_out[j]
    uncovered = terms.copy()
    uncovered[..., 0] = 0
    r2, r2_left_out = _r2(importance, terms @ coefficients), _r2(importance, predicted)
    return ImportanceMap(
        uncovered @ coefficients, coefficients, left_out, r2, r2_left_out, _refusals(d, r2_left_out, left_out)
    )


def _fit(importance: FloatArray, terms: FloatArray) -> FloatArray:
    from sklearn.linear_model import BayesianRidge  # here: heavy, and a list of plugins fits nothing

    sets = len(importance)
    rows = np.vstack([terms.reshape(-1, 4), np.zeros((sets, 4))])
    target = np.concatenate([importance.ravel(), np.zeros(sets)])
    return np.asarray(BayesianRidge(tol=1e-6, fit_intercept=False).fit(rows, target).coef_)


def _r2(observed: FloatArray, predicted: FloatArray) -> float:
    total = ((observed - observed.mean()) ** 2).sum()
    return float(1 - ((observed - predicted) ** 2).sum() / total) if total > 0 else float("nan")


def _refusals(d: int, r2: float, left_out: FloatArray) -> tuple[str, ...]:
    """Say why the gate is closed, if it is."""
    positive = int((left_out[:, 0] >= 0).sum())
    score = "undefined" if np.isnan(r2) else fixed(r2, 2)
    sign = "the coefficient of redundant covered information is not negative"
    rules = (
        (d < MIN_FEATURES, f"the map is learnt from {d} features, at least {MIN_FEATURES} are needed"),
        (not r2 >= MIN_R2, f"predicting each feature from the others has R² {score}, at least {MIN_R2} is needed"),
        (positive > 0, f"{sign} in {positive} of {d} leave-one-feature-out fits"),
    )
    return tuple(reason for is_closed, reason in rules if is_closed)


# ---------------------------------------------------------------------- sets of rows


def bootstrapped(
    engine: Engine, estimate: InformationEstimate, plain: Result | None, names: Sequence[str], n_sets: int
) -> Sets:
    """Return sets of the same model: importance from the row values of `plain` where it has them."""
    weights = bootstrap_weights(engine, n_sets)
    terms = np.stack([regressors(estimate.terms, rows) for rows in weights])
    importances, rows = {}, None if plain is None else plain.rows
    if rows is not None and set(estimate.features) <= set(rows.features):
        for measure in (name for name in names if name in rows.measures):
            values = np.stack([rows.of(measure, f) for f in estimate.features])
            if np.isfinite(values).all():
                importances[measure] = weights @ values.T
    return Sets(importances, terms, f"The model is kept; {n_sets} bootstrap sets of the audited rows.")


def bootstrap_weights(engine: Engine, n_sets: int) -> FloatArray:
    """Return the row weights of bootstrap samples of the units (rows, or clusters), (sets, n), each summing to one.

    Rows of weight zero are no units.
    """
    sampling = Sampling.of(engine.subject)
    present = np.flatnonzero(sampling.weights > 0)
    codes = present if sampling.codes is None else sampling.codes[present]
    different, codes = np.unique(codes, return_inverse=True)
    units = len(different)
    counts = engine.rng("bootstrap").multinomial(units, np.full(units, 1 / units), size=n_sets)
    weights = np.zeros((n_sets, engine.subject.n))
    weights[:, present] = counts[:, codes] * sampling.weights[present]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def refitted(engine: Engine, estimate: InformationEstimate, names: Sequence[str], n_sets: int) -> Sets:
    """Return random splits with the model refitted on each, for estimators that can be cloned; of held-out rows."""
    from sklearn.base import clone
    from sklearn.model_selection import ShuffleSplit

    subject = engine.subject
    if not hasattr(subject.model, "get_params") or not hasattr(subject.model, "fit"):
        raise InputError(f"cid.refit must get an estimator that can be cloned; got {type(subject.model).__name__}.")
    if subject.y is None or subject.weights is not None or subject.clusters is not None:
        raise InputError("cid.refit must get y, and neither weights nor clusters: its splits know neither.")
    measures = [m for m in engine.select(names)[0] if m.statistic is None]
    if not measures:
        raise InputError(f"cid.refit must get a measure that is a mean over rows; got {list(names)}.")
    splits = ShuffleSplit(n_sets, test_size=TEST_SHARE, random_state=int(engine.rng("splits").integers(2**31)))
    importances, terms = [], []
    for s, (fit, test) in enumerate(splits.split(np.asarray(subject.y))):
        model: Any = clone(subject.model).fit(take_rows(subject.X, fit), subject.y[fit])
        part = replace(subject, model=model, X=take_rows(subject.X, test), y=subject.y[test], train=None)
        importances.append(_shuffled(engine.bound(ids.CID, part), measures, estimate.features, s))
        rows = np.zeros(subject.n)
        rows[test] = 1 / len(test)
        terms.append(regressors(estimate.terms, rows))
    by_name = {m.name: values for m, values in zip(measures, np.stack(importances, axis=1), strict=True)}
    return Sets(
        {name: values for name, values in by_name.items() if np.isfinite(values).all()},
        np.stack(terms),
        f"The model is refitted on {n_sets} random splits of the rows, scored on the {TEST_SHARE:.0%} left out.",
    )


def _shuffled(engine: Engine, measures: Sequence[Measure], features: Sequence[str], split: int) -> FloatArray:
    """Return the permutation importance (measures, d) of a refitted model on its held-out rows."""
    subject = engine.subject
    variants = [Variant()]
    for feature in features:
        rng = engine.rng("refit", feature, split)
        variants += [Variant(subject.positions(feature), donors=rng.permutation(subject.n)) for _ in range(SHUFFLES)]
    means = np.concatenate(
        [g.values.mean(axis=2) for g in engine.evaluate(variants, measures, total=len(variants))], axis=1
    )
    shuffled = means[:, 1:].reshape(len(measures), len(features), SHUFFLES).mean(axis=2)
    return np.asarray(shuffled - means[:, :1])
