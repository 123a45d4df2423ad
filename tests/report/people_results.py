"""Results of the explainers support, data_quality and groups, made of numbers, in the shapes they emit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from uq_report.core.model.results import Diagnostic, Omission, Result
from uq_report.evidence import ids
from uq_report.evidence.rows import OUTSIDE, SHUFFLED

from .cases import empty, estimates

INTERVAL: dict[str, Any] = {"confidence": 0.95, "covers": "new test samples"}


def _made(id: str, rows: list[dict[str, Any]], **more: Any) -> Diagnostic:
    table = estimates(rows) if rows else empty()
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    if rows:
        frame = table.assign(x=0.0, value=table["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(id=id, explainer=ids.explainer_of(id), title=id, frame=frame, estimates=table, **more)


def support(names: Sequence[str]) -> list[Result]:
    """A tenth of the rows outside, more after each shuffle, and one value beyond the training range."""
    rows: list[dict[str, Any]] = [
        {"measure": "share_outside", "feature": "", "estimate": 0.1, "lower": 0.07, "upper": 0.13, "item": OUTSIDE,
         "n": 250, "p_value": 0.0001, "expected": 0.05, **INTERVAL}
    ]  # fmt: skip
    for j, name in enumerate(names):
        share = 0.4 / (j + 1)
        rows.append(
            {"measure": "share_outside", "feature": name, "estimate": share, "lower": share - 0.02,
             "upper": share + 0.02, "item": SHUFFLED, "n": 250, "p_value": np.nan, "expected": 0.05, **INTERVAL}
        )  # fmt: skip
    value = {"measure": "count", "feature": names[0], "estimate": 3.0, "item": "above range", "n": 250,
             "share": 0.012, "p_value": 0.02, "bound": "60"}  # fmt: skip
    return [
        _made(ids.SUPPORT, rows, meta={"expected": 0.05}),
        _made(ids.SUPPORT_ROWS, []),
        _made(ids.SUPPORT_VALUES, [value]),
    ]


def data_quality(column: str) -> Result:
    """No duplicate, three rows seen in training, a column with gaps, and two classes."""
    facts = (
        ("duplicate_rows", "", "all", 0),
        ("overlap", "", "all", 3),
        ("missing", column, "", 5),
        ("class", "", "bad", 82),
        ("class", "", "good", 168),
    )
    rows = [
        {"measure": kind, "feature": feature, "estimate": count / 250, "item": item, "count": count, "n": 250}
        for kind, feature, item, count in facts
    ]
    return _made(ids.DATA_QUALITY, rows)


def missing(column: str) -> Result:
    """A share of missing values that is larger than in training."""
    line = {"measure": "missing_change", "feature": column, "estimate": 0.1, "lower": 0.06, "upper": 0.14, "n": 250}
    line |= {"item": "missing", "share": 0.12, "share_train": 0.02, "n_train": 900, **INTERVAL}
    return _made(ids.DATA_QUALITY_MISSING, [line])


def groups(labels: Sequence[str], attribute: str = "sex") -> list[Result]:
    """Every number grows by group; the last group is withheld for one measure; `purpose` tells the attribute."""
    units = {"prediction": "probability", "outcome": "share of observations", "residual": "probability", "nll": "nats",
             "entropy": "nats", "confidence_gap": "nats"}  # fmt: skip
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    for k, label in enumerate(["all observations", *labels]):
        for measure, unit in units.items():
            value = 0.3 + 0.1 * k
            about = "" if k == 0 else attribute
            rows.append(
                {"measure": measure, "feature": about, "estimate": value, "lower": value - 0.03,
                 "upper": value + 0.03, "item": label, "n": 250 - k, "unit": unit, "p_value": np.nan, **INTERVAL}
            )  # fmt: skip
            if k:
                differences.append(
                    {"measure": measure, "feature": attribute, "estimate": value - 0.47, "lower": value - 0.51,
                     "upper": value - 0.43, "item": label, "n": 250 - k, "n_rest": k, "unit": unit, "p_value": 0.2,
                     "overall": 0.3, "scale": 0.5, **INTERVAL}
                )  # fmt: skip
    proxy = [
        {"measure": "brier_skill", "feature": attribute, "estimate": 0.6, "lower": 0.5, "upper": 0.7,
         "item": "all features", "n": 250, **INTERVAL},
        {"measure": "cramers_v", "feature": attribute, "estimate": 0.7, "item": "purpose", "n": 250},
    ]  # fmt: skip
    use = [
        {"measure": "prediction", "feature": attribute, "estimate": -0.04, "lower": -0.05, "upper": -0.03,
         "item": labels[0], "n": 249, "unit": "probability", "p_value": 0.01, "by": "purpose", "association": 0.7,
         "scale": 0.5, **INTERVAL}
    ]  # fmt: skip
    gap = Omission("nll", attribute, "group 'x': fewer than 30 rows")
    order = {attribute: {"groups": list(labels), "withheld": [], "edges": None, "feature": False}}
    return [
        _made(ids.GROUPS, rows, omissions=(gap,), meta={"attributes": order, "n_min": 30}),
        _made(ids.GROUPS_DIFFERENCE, differences),
        _made(ids.GROUPS_PROXY, proxy),
        _made(ids.GROUPS_USE, use),
    ]
