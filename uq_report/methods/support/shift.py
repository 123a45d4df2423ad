"""How far the audited rows' distribution of a column is from that of the training rows, with an interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.arrays import FloatArray, IntArray
from ...core.engine import Engine
from ...core.results import Diagnostic
from ...core.text import short
from ...evidence import ids
from ..shared.tidy import diagnostic, record
from .columns import Paired


def shifts(columns: Sequence[Paired], rows: IntArray, engine: Engine) -> Diagnostic:
    """Return the result ``support.shift``; of the audited rows the independent ones, at positions `rows`, count."""
    return diagnostic(
        ids.SUPPORT_SHIFT,
        "How far audited rows are distributed from the training rows",
        _lines(columns, rows, engine.confidence),
        ("item", "n"),
        x="n",
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


def _lines(columns: Sequence[Paired], rows: IntArray, confidence: float) -> Iterator[dict[str, Any]]:
    """Yield the line of every column with a value in both samples."""
    level = (1 - confidence) / len(columns)
    for column in columns:
        old, new = (np.sort(values[~np.isnan(values)]) for values in (column.train, column.test[rows]))
        if not len(old) or not len(new):
            continue
        distance, words, kinds = _numbers(old, new) if column.ordered else _levels(old, new, column)
        reach = sum(np.sqrt((kinds * np.log(2) - np.log(level / 2)) / (2 * len(values))) for values in (old, new))
        interval = max(distance - reach, 0.0), min(distance + reach, 1.0)
        line = record("distance", column.name, distance, np.nan, interval, confidence)
        yield line | {"covers": "new test and training rows", "item": words, "n": len(new)}


def _numbers(old: FloatArray, new: FloatArray) -> tuple[float, str, int]:
    """Return the distance of Kolmogorov and Smirnov, both medians in words, and 1."""
    at = np.union1d(old, new)
    ours, theirs = (np.searchsorted(values, at, side="right") / len(values) for values in (new, old))
    distance = float(np.abs(ours - theirs).max())
    return distance, f"median {np.median(old):.3g} in training, {np.median(new):.3g} here", 1


def _levels(old: FloatArray, new: FloatArray, column: Paired) -> tuple[float, str, int]:
    """Return the total variation distance, the level that changed most in words, and the number of levels."""
    size = len(column.labels)
    theirs, ours = (np.bincount(values.astype(np.int64), minlength=size) / len(values) for values in (old, new))
    most = int(np.abs(ours - theirs).argmax())
    words = f"{short(column.labels[most])}: {theirs[most]:.0%} in training, {ours[most]:.0%} here".replace("%", " %")
    return float(np.abs(ours - theirs).sum() / 2), words, size
