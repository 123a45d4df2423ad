"""From local sensitivities to the tables of the results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray
from ...core.results import ESTIMATE_COLUMNS, Importance, Interaction, RowValues
from ...evidence.importance import RSENS2
from ..shared.curves import stacked
from .compare import Terms
from .local import Local
from .pairs import Pairs
from .sample import Sample

COLUMNS = (*ESTIMATE_COLUMNS, "raw", "per_spread", "spread", "rank")
ORDER = {RSENS2: 0, "eah": 1, "aeh": 2}
UNITLESS = ("var", "pd")  # in units of the prediction, whatever the feature's unit


def importance_table(
    sample: Sample, terms: Terms, units: Mapping[str, float], *, keep_rows: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the estimates, and the frame with a value per row (or the means alone)."""
    table, frames = [], []
    for (measure, feature), values in terms.items():
        keys: dict[str, Any] = {"measure": measure, "feature": feature}
        unit = 1.0 if measure in UNITLESS else units[feature]
        line = _line(sample, values, unit, sample.spreads[feature])
        table.append(keys | line | ({"raw": np.nan, "per_spread": np.nan} if measure in UNITLESS else {}))
        present = ~np.isnan(values)
        rows, own = (sample.rows[present], values[present] * unit) if keep_rows else ([0], [line["estimate"]])
        frames.append(pd.DataFrame(keys | {"repeat": rows, "value": own}))
    return _ranked(pd.DataFrame(table, columns=list(COLUMNS))), stacked(frames, Importance.columns)


def row_values(sample: Sample, terms: Terms, units: Mapping[str, float]) -> RowValues | None:
    """Return the terms of features known on every row, for measures that all of these have."""
    whole = [f for f in sample.features if sample.has_value(f).all() and any(feature == f for _, feature in terms)]
    measures = [m for m in dict.fromkeys(m for m, _ in terms) if all((m, f) in terms for f in whole)]
    if not whole or not measures:
        return None
    scaled = [[terms[m, f] * (1.0 if m in UNITLESS else units[f]) for f in whole] for m in measures]
    return RowValues(tuple(measures), tuple(whole), np.array(scaled))


def pair_table(
    sample: Sample, pairs: Pairs, left_out: Collection[str], *, per_unit: bool
) -> tuple[pd.DataFrame, RowValues | None]:
    """Return one row per measure and unordered pair, and the local values of pairs known on every row."""
    table, names, local = [], [], []
    for a, b in combinations(range(len(pairs.features)), 2):
        first, second = pairs.features[a], pairs.features[b]
        if f"{first} x {second}" in left_out:
            continue
        spread = sample.spreads[first] * sample.spreads[second]
        unit = 1.0 if per_unit else spread
        for measure, values in _measures(sample, pairs, a, b).items():
            keys = {"measure": measure, "feature": first, "feature_2": second}
            table.append(keys | _line(sample, values, unit, spread))
        names.append(f"{first} x {second}")
        local.append(pairs.rsens2[a, b] * unit)
    estimates = pd.DataFrame(table, columns=[*COLUMNS, "feature_2"])
    estimates = estimates.sort_values("measure", key=lambda s: s.map(ORDER), kind="stable", ignore_index=True)
    complete = bool(local) and bool(np.isfinite(local).all())
    return _ranked(estimates), RowValues((RSENS2,), tuple(names), np.array(local)[None]) if complete else None


def symmetric(sample: Sample, pairs: Pairs, left_out: Collection[str], *, per_unit: bool) -> pd.DataFrame:
    """Return the means of R-sens₂ of all ordered pairs, a feature with itself included."""
    table = []
    for (a, first), (b, second) in product(enumerate(pairs.features), repeat=2):
        key = f"{first} x {second}" if a <= b else f"{second} x {first}"
        values = pairs.rsens2[a, b]
        if key not in left_out and not np.isinf(values).any():
            unit = 1.0 if per_unit else sample.spreads[first] * sample.spreads[second]
            table.append((RSENS2, first, second, 0, _line(sample, values, unit)["estimate"]))
    return pd.DataFrame(table, columns=list(Interaction.columns))


def step_meta(sample: Sample, local: Local) -> dict[str, Any]:
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


def _measures(sample: Sample, pairs: Pairs, a: int, b: int) -> dict[str, FloatArray]:
    """Return the row terms of R-sens₂, and of the expected absolute and absolute expected Hessian."""
    if pairs.hessian is None:
        return {RSENS2: pairs.rsens2[a, b]}
    bent = pairs.hessian[a, b]
    present = ~np.isnan(bent)
    negative = sample.sampling.weights[present] @ bent[present] < 0
    return {RSENS2: pairs.rsens2[a, b], "eah": np.abs(bent), "aeh": -bent if negative else bent}


def _line(sample: Sample, values: FloatArray, unit: float, spread: float = 1.0) -> dict[str, Any]:
    """Return the mean of the rows that have a value, times a unit, with its t-interval over new test rows."""
    present = ~np.isnan(values)
    sampling = sample.sampling if present.all() else sample.sampling.part(present)
    mean, error = (float(part) * unit for part in sampling.mean(values[present]))
    lower, upper = sampling.interval(mean, error, sample.engine.confidence)
    has_interval = bool(np.isfinite(error))
    return {
        "estimate": mean,
        "std_error": error,
        "lower": lower,
        "upper": upper,
        "confidence": sample.engine.confidence if has_interval else np.nan,
        "covers": "new test rows" if has_interval else "none",
        "raw": mean / unit,
        "per_spread": mean / unit * spread,
        "spread": spread,
    }


def _ranked(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the estimates with the rank of each within its measure."""
    ranks = estimates.groupby("measure")["estimate"].rank(ascending=False, method="min")
    return estimates.assign(rank=ranks.astype(int))
