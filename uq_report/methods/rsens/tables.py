"""From local sensitivities to the tables of the results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray
from ...core.results import ESTIMATE_COLUMNS, Importance, Interaction, RowValues
from ..shared.curves import stacked
from .local import Local
from .pairs import Pairs
from .sample import Sample

COLUMNS = (*ESTIMATE_COLUMNS, "raw", "per_spread", "spread", "rank")
_UNITLESS = ("var", "pd")  # in units of the prediction, whatever the feature's unit
_COVERS = "new test rows"


def importance_table(
    sample: Sample,
    terms: Mapping[tuple[str, str], FloatArray],
    units: Mapping[str, float],
    *,
    keep_rows: bool = True,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the estimates, and the frame with a value per row (or the means alone)."""
    table, frames = [], []
    for (measure, feature), values in terms.items():
        unit, spread = (1.0, 1.0) if measure in _UNITLESS else (units[feature], sample.spreads[feature])
        row = _estimate(sample, values, unit)
        raw = row["estimate"] / unit
        bare = measure in _UNITLESS
        place = {"raw": np.nan if bare else raw, "per_spread": np.nan if bare else raw * spread}
        table.append({"measure": measure, "feature": feature, **row, **place, "spread": sample.spreads[feature]})
        known = ~np.isnan(values)
        rows, kept = (sample.rows[known], values[known] * unit) if keep_rows else ([0], [row["estimate"]])
        frames.append(pd.DataFrame({"measure": measure, "feature": feature, "repeat": rows, "value": kept}))
    estimates = pd.DataFrame(table, columns=list(COLUMNS))
    estimates["rank"] = estimates.groupby("measure")["estimate"].rank(ascending=False, method="min").astype(int)
    return estimates, stacked(frames, Importance.columns)


def pair_table(
    sample: Sample, pairs: Pairs, left_out: Collection[str], *, per_unit: bool
) -> tuple[pd.DataFrame, RowValues | None]:
    """Return one row per measure and unordered pair, and the local values of pairs known on every row."""
    table, names, local = [], [], []
    for a, b in combinations(range(len(pairs.features)), 2):
        one, two = pairs.features[a], pairs.features[b]
        if f"{one} x {two}" in left_out:
            continue
        spread = sample.spreads[one] * sample.spreads[two]
        unit = 1.0 if per_unit else spread
        for measure, values in _measures(sample, pairs, a, b).items():
            row = _estimate(sample, values, unit)
            raw = row["estimate"] / unit
            place = {"raw": raw, "per_spread": raw * spread, "spread": spread, "feature_2": two}
            table.append({"measure": measure, "feature": one, **row, **place})
        names.append(f"{one} x {two}")
        local.append(pairs.rsens2[a, b] * unit)
    estimates = pd.DataFrame(table, columns=[*COLUMNS, "feature_2"])
    order = {"rsens2": 0, "eah": 1, "aeh": 2}
    estimates = estimates.sort_values("measure", key=lambda s: s.map(order), kind="stable", ignore_index=True)
    estimates["rank"] = estimates.groupby("measure")["estimate"].rank(ascending=False, method="min").astype(int)
    complete = bool(local) and bool(np.isfinite(local).all())
    return estimates, RowValues(("rsens2",), tuple(names), np.array(local)[None]) if complete else None


def symmetric(sample: Sample, pairs: Pairs, left_out: Collection[str], *, per_unit: bool) -> pd.DataFrame:
    """Return the means of R-sens₂ of all ordered pairs, a feature with itself included."""
    table = []
    for a, one in enumerate(pairs.features):
        for b, two in enumerate(pairs.features):
            first, second = (one, two) if a <= b else (two, one)
            values = pairs.rsens2[a, b]
            if f"{first} x {second}" in left_out or np.isinf(values).any():
                continue
            unit = 1.0 if per_unit else sample.spreads[one] * sample.spreads[two]
            table.append(("rsens2", one, two, 0, _estimate(sample, values, unit)["estimate"]))
    return pd.DataFrame(table, columns=list(Interaction.columns))


def step_meta(sample: Sample, local: Local) -> dict[str, Any]:
    """Return the steps of differences, and their largest error relative to the feature's largest derivative."""
    found = local.derivatives
    if found is None or found.steps is None or found.error is None:
        return {}
    base = sample.engine.baseline
    errors = {}
    for j, feature in enumerate(sample.numeric):
        size = float(base.fisher_norm(found.first[:, j]).max())
        worst = float(base.fisher_norm(found.error[:, j]).max())
        errors[feature] = worst / size if np.isfinite(worst) and 0 < size < np.inf else 0.0
    return {"steps": dict(zip(sample.numeric, found.steps.tolist(), strict=True)), "relative_error": errors}


def _measures(sample: Sample, pairs: Pairs, a: int, b: int) -> dict[str, FloatArray]:
    """Return the row terms of R-sens₂, and of the expected absolute and absolute expected Hessian."""
    found = {"rsens2": pairs.rsens2[a, b]}
    if pairs.hessian is not None:
        bent = pairs.hessian[a, b]
        known = ~np.isnan(bent)
        negative = sample.sampling.weights[known] @ bent[known] < 0
        found |= {"eah": np.abs(bent), "aeh": -bent if negative else bent}
    return found


def _estimate(sample: Sample, values: FloatArray, unit: float) -> dict[str, Any]:
    """Return the mean of the rows that have a value, times a unit, with its t-interval over new test rows."""
    known = ~np.isnan(values)
    sampling = sample.sampling if known.all() else sample.sampling.part(known)
    confidence = sample.engine.confidence
    mean, error = (float(part) * unit for part in sampling.mean(values[known]))
    lower, upper = sampling.interval(mean, error, confidence)
    judged = bool(np.isfinite(error))
    return {
        "estimate": mean,
        "std_error": error,
        "lower": lower,
        "upper": upper,
        "confidence": confidence if judged else np.nan,
        "covers": _COVERS if judged else "none",
    }
