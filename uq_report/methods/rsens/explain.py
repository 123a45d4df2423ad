"""Uncertainty-aware sensitivity: R-sens of features, R-sens₂ of pairs, and their comparators."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model import results as kinds
from ...core.model.subject import Subject
from ...core.support import options as opt
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.errors import UnsupportedError
from ...distributions import Categorical
from ...evidence import ids
from ...evidence.importance import RSENS, RSENS2
from ..shared.cards import CardedExplainer
from ..shared.estimates import estimate, points
from ..shared.grids import features_of, stacked
from .compare import MOVES, NAMES, comparators
from .estimator import DerivativeSample, Local, Pairs, Terms, local_values, make_sample, mean_position, pair_values

FACTS = {
    RSENS: kinds.MeasureFacts("R-sens", "Fisher length", "uncertainty"),
    RSENS2: kinds.MeasureFacts("R-sens₂", "Fisher length", "uncertainty"),
    "ead": kinds.MeasureFacts("expected absolute derivative", "prediction", "prediction"),
    "aed": kinds.MeasureFacts("absolute expected derivative", "prediction", "prediction"),
    "apc": kinds.MeasureFacts("average predictive comparison", "prediction", "prediction"),
    "var": kinds.MeasureFacts("variance of the prediction along the feature", "prediction, squared", "prediction"),
    "pd": kinds.MeasureFacts("spread of the partial dependence", "prediction", "prediction"),
    "eah": kinds.MeasureFacts("expected absolute Hessian", "prediction", "prediction"),
    "aeh": kinds.MeasureFacts("absolute expected Hessian", "prediction", "prediction"),
}


@dataclass(frozen=True)
class RSens(CardedExplainer):
    """Uncertainty-aware sensitivity of the predictive distribution (Paananen et al.).

    ``R-sens(x, d) = √(α (∂λ/∂x_d)' I(λ) (∂λ/∂x_d))`` with λ(x) the parameters of q(y|x) and I their
    Fisher information: how fast the whole distribution moves with a feature, in Fisher length per unit
    of x_d. R-sens₂ has ∂²λ/∂x_d∂x_e instead. Global values are means over rows; intervals cover new
    test rows. Derivatives are exact where the model's family has a rule, else differences; a model that
    is piecewise constant (trees) gets a finite-step form, and says so. A categorical feature is moved to
    its other levels, by their shares. It is no slope of the epistemic uncertainty, which is that of its profile,
    ``uq.profile(subject, feature, measures=["decomposition"], mode="derivative")``.

    Parameters
    ----------
    features : tuple of str, optional
        All features by default.
    alpha : float
        Order of the Rényi divergence; only a factor √α.
    max_rows : int
        Rows used; a random sample above that.
    interactions : bool
        Whether R-sens₂ is computed. Without an exact rule it predicts 8 variants of every row per pair.
    comparators : bool
        Whether other sensitivity measures are computed on the same rows, from 16 predictions of each row
        per numeric feature.
    top : int
        Pairs are among this many numeric features, those with the largest R-sens.
    pair_rel_tol : float
        Pairs are computed on as many of the rows, at random, as bring every standard error of R-sens₂ to this share
        of the largest pair's mean; on all of them if it is 0.
    step : float
        Step of the finite-step form, in standard deviations of the feature.
    shared_unit : bool
        Say True only if all features have one unit: then values per unit are ranked. By default
        each is multiplied by its feature's standard deviation.
    along : bool
        Whether the values of single observations along each numeric feature, with the part of the mean and that of the
        other parameters, are given as ``rsens.along``.

    References
    ----------
    Paananen, Andersen and Vehtari, Uncertainty-aware sensitivity analysis using Rényi divergences,
    UAI 2021, eq. 4 to 6 and section 2.5.
    """

    features: tuple[str, ...] | None = None
    alpha: float = opt.positive(1.0)
    max_rows: int = opt.at_least(2, 200)
    interactions: bool = True
    comparators: bool = True
    top: int = opt.at_least(2, 8)
    pair_rel_tol: float = opt.not_negative(0.1)
    step: float = opt.positive(0.5)
    shared_unit: bool = False
    along: bool = False

    name: ClassVar[str] = "rsens"
    section: ClassVar[str] = "uncertainty.sensitivity"
    priority: ClassVar[int] = 9

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return how many rows it predicts at least, for the comparators; 0 where a fast path may spare them."""
        if not self.comparators or engine.shortened:
            return 0
        return MOVES * min(subject.n, self.max_rows) * len(features_of(self.name, subject, self.features)[0])

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[kinds.Result]:
        """Return ``rsens``; if asked ``rsens.along``, ``rsens.interaction`` and ``rsens.comparators``."""
        sample = make_sample(subject, engine, features_of(self.name, subject, self.features)[0], self.max_rows)
        if not sample.features:
            raise UnsupportedError(f"rsens: no feature can be moved: {'; '.join(g.reason for g in sample.omissions)}.")
        local = local_values(sample, self.alpha, self.step)
        meta = self._meta(sample, local.method)
        terms: Terms = {(RSENS, feature): values for feature, values in local.values.items()}
        main = self._importance(sample, terms, keep_rows=True)
        results: list[kinds.Result] = [
            replace(
                main,
                id=self.name,
                title="Uncertainty-aware sensitivity (R-sens)",
                notes=(f"Method: {local.method}.", *local.notes, *main.notes),
                measures={RSENS: FACTS[RSENS]},
                meta=meta | step_meta(sample, local),
            )
        ]
        if self.along:
            results.append(_along(sample, local, self.alpha))
        if self.interactions:
            pairs = pair_values(sample, local, self.top, self.alpha, self.step, self.pair_rel_tol)
            results.append(self._pairs(pairs))
        if self.comparators:
            terms, gaps = comparators(sample, local)
            others = self._importance(sample, terms, gaps, keep_rows=False)
            scaling = "ead, aed and apc are changes of the prediction per unit of x, scaled as R-sens is."
            results.append(replace(others, notes=(scaling, *others.notes), meta=meta))
        return results

    def _importance(
        self, sample: DerivativeSample, terms: Terms, gaps: Sequence[kinds.Omission] = (), *, keep_rows: bool
    ) -> kinds.Importance:
        """Return the importance of finite terms, as that of the comparators."""
        units = {f: 1.0 if self.shared_unit else sample.spreads[f] for f in sample.features}
        infinite = {key: count for key, values in terms.items() if (count := int(np.isinf(values).sum()))}
        remedy = "a probability of 0 becomes positive; calibrate or smooth the probabilities"
        omissions = (
            kinds.Omission(*key, f"infinite for {count} observations: {remedy}") for key, count in infinite.items()
        )
        finite = {key: values for key, values in terms.items() if key not in infinite}
        estimates, frame = importance_table(sample, finite, units, keep_rows=keep_rows)
        return kinds.Importance(
            id=ids.RSENS_COMPARATORS,
            explainer=self.name,
            title="Sensitivity of the prediction by other methods on the same sample",
            frame=frame,
            estimates=estimates,
            rows=row_values(sample, finite, units),
            options=asdict(self),
            notes=self._notes(sample),
            omissions=(*sample.omissions, *gaps, *omissions),
            measures={name: FACTS[name] for name in NAMES},
        )

    def _pairs(self, pairs: Pairs) -> kinds.Interaction:
        sample, left_out = pairs.sample, {g.feature for g in pairs.omissions}
        estimates, rows = pair_table(pairs, left_out, per_unit=self.shared_unit)
        method = (f"Method: {pairs.method}.",) if pairs.method else ()
        return kinds.Interaction(
            id=ids.RSENS_INTERACTION,
            explainer=self.name,
            title="Uncertainty-aware interaction (R-sens₂)",
            frame=symmetric(pairs, left_out, per_unit=self.shared_unit),
            estimates=estimates,
            rows=rows,
            options=asdict(self),
            notes=(*method, *pairs.notes, *self._notes(sample), "The frame holds the full symmetric matrix."),
            omissions=pairs.omissions,
            measures={name: FACTS[name] for name in ORDER},
            meta=self._meta(sample, pairs.method),
        )

    def _notes(self, sample: DerivativeSample) -> tuple[str, ...]:
        used, total = len(sample.rows), sample.total
        rows = f"a random sample of {used} of {total} observations" if sample.drawn else f"{used} observations"
        ranked = "raw values per unit, as all features share one" if self.shared_unit else "values × standard deviation"
        unknown = [f for f in sample.features if not sample.has_value(f).all()]
        missing = f"Observations without a value, or of a rare level, are excluded for: {', '.join(unknown)}."
        levels = [note for f in sample.categorical for note in sample.grids[f].notes]
        return (
            f"Means over {rows}; estimates and ranks refer to {ranked}; both are in the estimates.",
            *((missing,) if unknown else ()),
            *levels,
            *sample.sampling.notes(),
        )

    def _meta(self, sample: DerivativeSample, method: str) -> dict[str, Any]:
        return {
            "method": method,
            "ranked_by": "raw" if self.shared_unit else "per_spread",
            "rows_used": sample.rows.tolist(),
            "spreads": sample.spreads,
        }


def _along(sample: DerivativeSample, local: Local, alpha: float) -> kinds.Diagnostic:
    """Return ``rsens.along``: R-sens of each observation at its value of each numeric feature, and its two parts.

    The part of the mean is R-sens with the derivatives of the other parameters set to 0, that of the others the square
    root of what is left of the square; both exist for families whose first parameter is the mean.
    """
    base, rates, parts = sample.engine.baseline, local.derivatives, {}
    at = None if isinstance(base, Categorical) else mean_position(base)
    for j, feature in enumerate(sample.numeric):
        whole = local.values[feature]
        parts[feature, "R-sens"] = whole
        if rates is not None and at is not None:
            alone = np.zeros_like(rates.first[:, j])
            alone[:, at] = rates.first[:, j, at]
            mean = np.sqrt(alpha) * base.fisher_norm(alone)
            parts[feature, "part of the mean"] = mean
            parts[feature, "part of the spread"] = np.sqrt(np.maximum(whole**2 - mean**2, 0.0))
    tables = [
        pd.DataFrame({"measure": RSENS, "feature": feature, "item": item, "x": sample.values(feature), "value": values})
        for (feature, item), values in parts.items()
    ]
    frame = stacked(tables, kinds.Diagnostic.columns).dropna(subset="value")
    why = f"{base.family} has no parameter that is the mean alone" if at is None else local.method
    gap = kinds.Omission(RSENS, "", f"no parts of the mean and the spread: {why}")
    return points(
        ids.RSENS_ALONG,
        "R-sens along each feature, per unit of the feature",
        frame.sort_values(["feature", "item", "x"], kind="stable", ignore_index=True),
        notes=(f"Method: {local.method}.", "Squares of both parts add to the square of R-sens."),
        omissions=(gap,) if len(parts) == len(sample.numeric) else (),
        measures={RSENS: FACTS[RSENS]},
    )


def step_meta(sample: DerivativeSample, local: Local) -> dict[str, Any]:
    """Return the steps of differences, and their largest error relative to the feature's largest derivative."""
    rates = local.derivatives
    if rates is None or rates.steps is None or rates.error is None:
        return {}
    base = sample.engine.baseline
    errors = {}
    for j, feature in enumerate(sample.numeric):
        size = float(base.fisher_norm(rates.first[:, j]).max())
        worst = float(base.fisher_norm(rates.error[:, j]).max())
        errors[feature] = worst / size if np.isfinite(worst) and 0 < size < np.inf else 0.0
    return {"steps": dict(zip(sample.numeric, rates.steps.tolist(), strict=True)), "relative_error": errors}


COLUMNS = (*kinds.ESTIMATE_COLUMNS, "raw", "per_spread", "spread", "rank")
ORDER = (RSENS2, "eah", "aeh")
UNITLESS = ("var", "pd")  # in units of the prediction, whatever the feature's unit


def importance_table(
    sample: DerivativeSample, terms: Terms, units: Mapping[str, float], *, keep_rows: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the estimates, and the frame with a value per row (or the means alone)."""
    measures, features = (np.array([key[i] for key in terms], dtype=object) for i in (0, 1))
    unitless = np.isin(measures, UNITLESS)
    unit = np.where(unitless, 1.0, [units[f] for f in features])
    values = np.reshape([*terms.values()], (len(terms), len(sample.rows)))
    lines = _lines(sample, values, unit, np.array([sample.spreads[f] for f in features]))
    for name in ("raw", "per_spread"):
        lines[name] = np.where(unitless, np.nan, lines[name])
    at, rows = np.nonzero(~np.isnan(values)) if keep_rows else (np.arange(len(terms)), np.zeros(len(terms), dtype=int))
    own = values[at, rows] * unit[at] if keep_rows else lines["estimate"]
    repeats = sample.rows[rows] if keep_rows else rows
    frame = pd.DataFrame(dict(zip(kinds.Importance.columns, (measures[at], features[at], repeats, own), strict=True)))
    return _ranked(lines | {"measure": measures, "feature": features}), frame


def row_values(sample: DerivativeSample, terms: Terms, units: Mapping[str, float]) -> kinds.RowValues | None:
    """Return the terms of features known on every row, for measures that all of these have."""
    whole = [f for f in sample.features if sample.has_value(f).all() and any(feature == f for _, feature in terms)]
    measures = [m for m in dict.fromkeys(m for m, _ in terms) if all((m, f) in terms for f in whole)]
    if not whole or not measures:
        return None
    scaled = [[terms[m, f] * (1.0 if m in UNITLESS else units[f]) for f in whole] for m in measures]
    return kinds.RowValues(tuple(measures), tuple(whole), np.array(scaled))


def pair_table(
    pairs: Pairs, left_out: Collection[str], *, per_unit: bool
) -> tuple[pd.DataFrame, kinds.RowValues | None]:
    """Return one row per measure and unordered pair, and the local values of pairs known on every row."""
    sample, names, measures = pairs.sample, pairs.features, _measures(pairs)
    a, b, spread = _places(pairs, left_out, combinations(range(len(names)), 2))
    unit = np.ones(len(a)) if per_unit else spread
    values = np.concatenate([part[a, b] for part in measures.values()])
    lines = _lines(sample, values, np.tile(unit, len(measures)), np.tile(spread, len(measures)))
    first, second = (np.array([names[i] for i in at], dtype=object) for at in (a, b))
    keys = {
        "measure": np.repeat(np.array([*measures], dtype=object), len(a)),
        "feature": np.tile(first, len(measures)),
        "feature_2": np.tile(second, len(measures)),
    }
    estimates = _ranked(lines | keys)
    local = pairs.rsens2[a, b] * unit[:, None]
    listed = tuple(f"{x} x {y}" for x, y in zip(first, second, strict=True))
    complete = bool(listed) and bool(np.isfinite(local).all())
    return estimates, kinds.RowValues((RSENS2,), listed, local[None]) if complete else None


def symmetric(pairs: Pairs, left_out: Collection[str], *, per_unit: bool) -> pd.DataFrame:
    """Return the means of R-sens₂ of all ordered pairs, a feature with itself included."""
    sample, names = pairs.sample, pairs.features
    every = product(range(len(names)), repeat=2)
    a, b, spread = _places(pairs, left_out, ((a, b) for a, b in every if not np.isinf(pairs.rsens2[a, b]).any()))
    unit = np.ones(len(a)) if per_unit else spread
    first, second = (np.array([names[i] for i in at], dtype=object) for at in (a, b))
    value = _lines(sample, pairs.rsens2[a, b], unit, unit)["estimate"]
    columns = (np.full(len(a), RSENS2, dtype=object), first, second, np.zeros(len(a), dtype=int), value)
    return pd.DataFrame(dict(zip(kinds.Interaction.columns, columns, strict=True)))


def _places(
    pairs: Pairs, left_out: Collection[str], every: Iterable[tuple[int, int]]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the positions of both features of the pairs that are listed, and the product of their spreads."""
    names = pairs.features
    kept = [(a, b) for a, b in every if f"{names[min(a, b)]} x {names[max(a, b)]}" not in left_out]
    a, b = np.array(kept, dtype=int).reshape(-1, 2).T
    spreads = np.array([pairs.sample.spreads[f] for f in names])
    return a, b, spreads[a] * spreads[b]


def _measures(pairs: Pairs) -> dict[str, FloatArray]:
    """Return the row terms of R-sens₂, and of the expected absolute and absolute expected Hessian, (d, d, n) each."""
    if pairs.hessian is None:
        return {RSENS2: pairs.rsens2}
    negative = np.nan_to_num(pairs.hessian, nan=0.0) @ pairs.sample.sampling.weights < 0
    signed = np.where(negative[..., None], -pairs.hessian, pairs.hessian)
    return dict(zip(ORDER, (pairs.rsens2, np.abs(pairs.hessian), signed), strict=True))


def _lines(sample: DerivativeSample, values: FloatArray, units: FloatArray, spreads: FloatArray) -> dict[str, Any]:
    """Return the mean of each of `values`, (k, n), over the rows that have one, times a unit, with its t-interval."""
    engine, missing = sample.engine, np.isnan(values)
    whole = np.flatnonzero(~missing.any(axis=1))
    columns = np.empty((4, len(values)))
    for at in filter(len, (whole, *np.flatnonzero(missing.any(axis=1))[:, None])):
        present = ~missing[at].any(axis=0)
        sampling = sample.sampling if present.all() else sample.sampling.part(present)
        alone = values[at][:, None, present]  # one product each: a matrix's rounds a line by its place among others
        mean, error = (part[:, 0] * units[at] for part in sampling.mean(alone))
        columns[:, at] = mean, error, *sampling.interval(mean, error, engine.confidence)
    mean, error, lower, upper = columns
    return estimate(mean, error, (lower, upper), engine.confidence) | {
        "raw": mean / units,
        "per_spread": mean / units * spreads,
        "spread": spreads,
    }


def _ranked(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return the estimates with the rank of each within its measure: 1 for the largest, equal ones share the best."""
    measure, value = columns["measure"], columns["estimate"]
    larger = (measure[:, None] == measure) & (value > value[:, None])
    ranked = {**columns, "rank": larger.sum(axis=1) + 1}
    return pd.DataFrame({name: ranked[name] for name in (*COLUMNS, "feature_2") if name in ranked})
