"""How far the audited rows' distribution of a column is from that of the training rows, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray, IntArray
from ...core.engine import Engine
from ...core.results import ESTIMATE_COLUMNS, Diagnostic
from ...core.text import short
from ...evidence import ids
from .columns import Paired

COLUMNS = (*ESTIMATE_COLUMNS, "item", "n")
MEASURE = "distance"


def shifts(columns: Sequence[Paired], rows: IntArray, engine: Engine) -> Diagnostic:
    """Return the result ``support.shift``; of the audited rows the independent ones, at positions `rows`, count."""
    level = (1 - engine.confidence) / len(columns)
    records = [_record(one, one.test[rows], level, engine.confidence) for one in columns]
    estimates = pd.DataFrame([record for record in records if record], columns=list(COLUMNS))
    return Diagnostic(
        id=ids.SUPPORT_SHIFT,
        explainer=ids.SUPPORT,
        title="How far audited rows are distributed from the training rows",
        frame=estimates.rename(columns={"n": "x", "estimate": "value"})[list(Diagnostic.columns)].astype({"x": float}),
        estimates=estimates,
        notes=(
            (
                "Largest difference of the distribution functions; of levels, half the sum of the differences of their "
                "shares. At least this share of the rows would have to change for both to be alike."
            ),
            (
                "Intervals hold for all features at once, for any distribution (Massart 1990, Weissman et al. 2003), "
                "over new training rows too. Weights take no part; of clusters one row each, drawn once, does."
            ),
        ),
    )


def _record(one: Paired, test: FloatArray, level: float, confidence: float) -> dict[str, Any]:
    """Return the line of a column; nothing where either sample has no value."""
    old, new = (np.sort(values[~np.isnan(values)]) for values in (one.train, test))
    if not len(old) or not len(new):
        return {}
    distance, words, kinds = _numbers(old, new) if one.ordered else _levels(old, new, one)
    reach = sum(np.sqrt((kinds * np.log(2) - np.log(level / 2)) / (2 * len(values))) for values in (old, new))
    return {
        "measure": MEASURE,
        "feature": one.name,
        "estimate": distance,
        "std_error": np.nan,
        "lower": max(distance - reach, 0.0),
        "upper": min(distance + reach, 1.0),
        "confidence": confidence,
        "covers": "new test and training rows",
        "item": words,
        "n": len(new),
    }


def _numbers(old: FloatArray, new: FloatArray) -> tuple[float, str, int]:
    """Return the distance of Kolmogorov and Smirnov, both medians in words, and 1."""
    at = np.union1d(old, new)
    ours, theirs = (np.searchsorted(values, at, side="right") / len(values) for values in (new, old))
    distance = float(np.abs(ours - theirs).max())
    return distance, f"median {np.median(old):.3g} in training, {np.median(new):.3g} here", 1


def _levels(old: FloatArray, new: FloatArray, one: Paired) -> tuple[float, str, int]:
    """Return the total variation distance, the level that changed most in words, and the number of levels."""
    size = len(one.labels)
    theirs, ours = (np.bincount(values.astype(np.int64), minlength=size) / len(values) for values in (old, new))
    most = int(np.abs(ours - theirs).argmax())
    words = f"{short(one.labels[most])}: {theirs[most]:.0%} in training, {ours[most]:.0%} here".replace("%", " %")
    return float(np.abs(ours - theirs).sum() / 2), words, size
