"""What is averaged over the rows of a group: losses, uncertainty, outcome and errors."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from ..core.arrays import BoolArray, FloatArray
from ..core.distributions import Categorical
from ..core.engine import Engine
from ..core.results import Omission

TESTED = (
    *("brier", "squared_error", "confidence_gap", "coverage_90"),
    *("false_positive_rate", "false_negative_rate"),
)


class Values(NamedTuple):
    """One number per row, averaged over the rows `inside`; `share` where they are 0 or 1."""

    measure: str
    unit: str
    rows: FloatArray
    inside: BoolArray
    share: bool = False


def row_values(engine: Engine) -> tuple[list[Values], tuple[Omission, ...]]:
    """Return everything that can be averaged here, and why the rest cannot."""
    measures, omitted = engine.select(("loss", "nll", "entropy", "prediction"))
    every = np.ones(engine.subject.n, dtype=bool)
    found = [
        Values(measure.name, measure.unit, rows, every)
        for measure, rows in zip(measures, engine.unchanged(measures), strict=True)
    ]
    if engine.y is None:
        names = ("outcome", "confidence_gap", "coverage_90", "false_positive_rate", "false_negative_rate")
        return found, (*omitted, *(Omission(name, "", "y was not given") for name in names))
    more, lacking = _with_y(engine, {one.measure: one.rows for one in found}, every)
    return [*found, *more], (*omitted, *lacking)


def _with_y(
    engine: Engine, known: dict[str, FloatArray], every: BoolArray
) -> tuple[list[Values], tuple[Omission, ...]]:
    q = engine.baseline
    found: list[Values] = []
    lacking: list[Omission] = []
    if {"nll", "entropy"} <= set(known):
        with np.errstate(invalid="ignore"):
            found.append(Values("confidence_gap", "nats", known["nll"] - known["entropy"], every))
    else:
        lacking.append(Omission("confidence_gap", "", "it needs nll and entropy"))
    if "proba" in q.supports:
        classes, reasons = _classes(cast("Categorical", q), np.asarray(engine.y), every)
        return [*found, *classes], (*lacking, *reasons)
    y = np.asarray(engine.y, dtype=float)
    found.append(Values("outcome", "units of y", y, every))
    if "cdf" not in q.supports:
        return found, (*lacking, Omission("coverage_90", "", q.why_not("cdf")))
    low, high = q.cdf(np.nextafter(y, -np.inf)), q.cdf(y)
    pit = low + engine.rng("pit").random(len(y)) * (high - low)
    inside = (np.abs(pit - 0.5) <= 0.45).astype(float)
    return [*found, Values("coverage_90", "share of rows", inside, every, share=True)], tuple(lacking)


def _classes(q: Categorical, y: FloatArray, every: BoolArray) -> tuple[list[Values], tuple[Omission, ...]]:
    event = y == q.positive
    found = [Values("outcome", "share of rows", event.astype(float), every, share=True)]
    if len(q.classes) != 2:
        reason = f"needs two classes; this model has {len(q.classes)}"
        names = ("false_positive_rate", "false_negative_rate")
        return found, tuple(Omission(name, "", f"{name} {reason}") for name in names)
    called = q.mean() >= 0.5
    return [
        *found,
        Values("false_positive_rate", "share of negatives", called.astype(float), ~event, share=True),
        Values("false_negative_rate", "share of positives", (~called).astype(float), event, share=True),
    ], ()
