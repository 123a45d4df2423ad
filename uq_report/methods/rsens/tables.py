"""The tables of R-sens: means over rows with their intervals, values of single rows, and ranks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from ...core.model.results import ESTIMATE_COLUMNS, Importance, Interaction, RowValues
from ...core.support.arrays import FloatArray
from ...evidence.importance import RSENS2
from ..shared.estimates import estimate
from .pairs import Pairs
from .sample import DerivativeSample, Terms

COLUMNS = (*ESTIMATE_COLUMNS, "raw", "per_spread", "spread", "rank")
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
    frame = pd.DataFrame(dict(zip(Importance.columns, (measures[at], features[at], repeats, own), strict=True)))
    return _ranked(lines | {"measure": measures, "feature": features}), frame


def row_values(sample: DerivativeSample, terms: Terms, units: Mapping[str, float]) -> RowValues | None:
    """Return the terms of features known on every row, for measures that all of these have."""
    whole = [f for f in sample.features if sample.has_value(f).all() and any(feature == f for _, feature in terms)]
    measures = [m for m in dict.fromkeys(m for m, _ in terms) if all((m, f) in terms for f in whole)]
    if not whole or not measures:
        return None
    scaled = [[terms[m, f] * (1.0 if m in UNITLESS else units[f]) for f in whole] for m in measures]
    return RowValues(tuple(measures), tuple(whole), np.array(scaled))


def pair_table(pairs: Pairs, left_out: Collection[str], *, per_unit: bool) -> tuple[pd.DataFrame, RowValues | None]:
    """Return one row per measure and unordered pair, and the local values of pairs known on every row."""
    sample, names = pairs.sample, pairs.features
    spreads = np.array([sample.spreads[f] for f in names])
    kept = [ab for ab in combinations(range(len(names)), 2) if _name(names, *ab) not in left_out]
    a, b = np.array(kept, dtype=int).reshape(-1, 2).T
    spread, measures = spreads[a] * spreads[b], _measures(pairs)
    unit = np.ones(len(kept)) if per_unit else spread
    values = np.concatenate([part[a, b] for part in measures.values()])
    lines = _lines(sample, values, np.tile(unit, len(measures)), np.tile(spread, len(measures)))
    first, second = (np.array([names[i] for i in at], dtype=object) for at in (a, b))
    keys = {
        "measure": np.repeat(np.array([*measures], dtype=object), len(kept)),
        "feature": np.tile(first, len(measures)),
        "feature_2": np.tile(second, len(measures)),
    }
    estimates = _ranked(lines | keys)
    local = pairs.rsens2[a, b] * unit[:, None]
    complete = bool(kept) and bool(np.isfinite(local).all())
    return estimates, RowValues((RSENS2,), tuple(_name(names, *ab) for ab in kept), local[None]) if complete else None


def symmetric(pairs: Pairs, left_out: Collection[str], *, per_unit: bool) -> pd.DataFrame:
    """Return the means of R-sens₂ of all ordered pairs, a feature with itself included."""
    sample, names = pairs.sample, pairs.features
    spreads = np.array([sample.spreads[f] for f in names])
    kept = [
        (a, b)
        for a, b in product(range(len(names)), repeat=2)
        if _name(names, min(a, b), max(a, b)) not in left_out and not np.isinf(pairs.rsens2[a, b]).any()
    ]
    a, b = np.array(kept, dtype=int).reshape(-1, 2).T
    unit = np.ones(len(kept)) if per_unit else spreads[a] * spreads[b]
    first, second = (np.array([names[i] for i in at], dtype=object) for at in (a, b))
    value = _lines(sample, pairs.rsens2[a, b], unit, unit)["estimate"]
    columns = (np.full(len(kept), RSENS2, dtype=object), first, second, np.zeros(len(kept), dtype=int), value)
    return pd.DataFrame(dict(zip(Interaction.columns, columns, strict=True)))


def _name(names: Sequence[str], a: int, b: int) -> str:
    return f"{names[a]} x {names[b]}"


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
