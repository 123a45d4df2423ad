"""Proxies: how well the model's features tell a protected attribute, together and one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray, IntArray, take_rows
from ...core.engine import Engine
from ...core.results import Diagnostic, Omission
from ...core.sampling import Sampling
from ...evidence import ids
from ..shared.association import Coded, association, coded
from ..shared.forest import forecasts, row_groups
from ..shared.tidy import diagnostic, record

MOST_ROWS = 1000
SINGLE_ROWS = 10_000
LEAST_ROWS = 10
TOGETHER = "all features"


def proxies(engine: Engine, targets: Mapping[str, FloatArray]) -> Diagnostic:
    """Return the result ``groups.proxy``.

    `targets` holds, for each attribute, the values to predict, shape (n, k): a centred number, or the indicators
    of the groups shown; rows that take no part are NaN.
    """
    columns = [coded(engine.subject, name) for name in engine.subject.features]
    records: list[dict[str, Any]] = []
    omissions = []
    for name, target in targets.items():
        rows = np.flatnonzero(~np.isnan(target).any(axis=1))
        others = [column for column in columns if column.name != name]
        reason = _impossible(target[rows], others)
        if reason:
            omissions.append(Omission("", name, reason))
            continue
        order = engine.rng("proxy rows", name).permutation(rows)
        chosen, wider = np.sort(order[:MOST_ROWS]), np.sort(order[:SINGLE_ROWS])
        together = _together(engine, name, target[chosen], others, chosen)
        if isinstance(together, Omission):
            omissions.append(together)
        else:
            records.append(together)
        records += [_single(name, target, other, wider) for other in others]
    return diagnostic(
        ids.GROUPS_PROXY,
        "How well the model's features tell a protected attribute",
        records,
        ("item", "n"),
        x="n",
        notes=(
            (
                f"'{TOGETHER}': out-of-bag R² of a random forest of 100 trees, at most {MOST_ROWS} rows; for groups "
                "the Brier skill of their indicators. The interval covers new rows for the fitted forest."
            ),
            (
                f"Other lines: the association of one feature with the attribute, 0 to 1, by {SINGLE_ROWS} rows at "
                "most. An attribute that the model uses does not predict itself."
            ),
        ),
        omissions=tuple(omissions),
    )


def _impossible(target: FloatArray, others: Sequence[Coded]) -> str:
    if not others:
        return "there is no other feature to predict it from"
    if len(target) < LEAST_ROWS:
        return f"fewer than {LEAST_ROWS} rows can be used"
    return "fewer than two values or groups can be used" if not np.ptp(target, axis=0).any() else ""


def _together(
    engine: Engine, name: str, truth: FloatArray, others: Sequence[Coded], rows: IntArray
) -> dict[str, Any] | Omission:
    """Return the skill of all features together, or why there is none."""
    subject = engine.subject
    X = np.column_stack([_ranks(column.numbers[rows]) if column.ordered else column.numbers[rows] for column in others])
    clusters = None if subject.clusters is None else subject.clusters[rows]
    blocks = row_groups(take_rows(subject.X, rows), clusters)
    forecast = forecasts(X, truth, blocks, engine.rng("proxy", name), None)
    if np.isnan(forecast).any():
        return Omission("", name, "too few different rows to leave some out of every tree")
    sampling = Sampling.of(subject, rows)
    missed = np.square(truth - forecast).sum(axis=1)
    spread = np.square(truth - sampling.weights @ truth).sum(axis=1)
    ratio = float(sampling.weights @ missed / (sampling.weights @ spread))
    error = float(sampling.mean((missed - ratio * spread) / (sampling.weights @ spread))[1])
    interval = sampling.interval(1 - ratio, error, engine.confidence)
    measure = "brier_skill" if truth.shape[1] > 1 else "r_squared"
    line = record(measure, name, 1 - ratio, error, interval, engine.confidence)
    return line | {"item": TOGETHER, "n": len(rows)}


def _single(name: str, target: FloatArray, other: Coded, rows: IntArray) -> dict[str, Any]:
    """Return the association of one feature with the attribute."""
    ordered = target.shape[1] == 1
    numbers = target[rows, 0] if ordered else target[rows].argmax(axis=1).astype(float)
    measure, size = association(
        Coded(name, numbers, ordered=ordered), Coded(other.name, other.numbers[rows], other.ordered)
    )
    line = {"measure": measure, "feature": name, "estimate": size}
    return line | {"covers": "none", "item": other.name, "n": len(rows)}


def _ranks(values: FloatArray) -> FloatArray:
    return np.asarray(pd.Series(values).rank(method="dense"), dtype=float)
