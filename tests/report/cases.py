"""What a synthetic run is about, and small tables for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from uq_report import testing
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, MeasureFacts
from uq_report.distributions import Categorical, Normal
from uq_report.runner.provenance import measure_facts

LEVELS = ("no checking account", "< 0 DM", "0 <= ... < 200 DM", ">= 200 DM")
LABELS = ("bad", "good")
NAMES = ("checking_status", "duration", "amount", "age", "savings", "purpose", "credit_history", "employment", "noise")


@dataclass(frozen=True)
class Case:
    """What a synthetic run is about."""

    names: tuple[str, ...] = NAMES
    task: str = "classification"
    n: int = 400
    has_y: bool = True
    gate: str = "passes"

    @property
    def classes(self) -> tuple[str, ...]:
        return LABELS if self.task == "classification" else ()

    @property
    def loss(self) -> str:
        return "brier" if self.task == "classification" else "squared_error"

    @property
    def measures(self) -> tuple[str, ...]:
        return (self.loss, "nll", "entropy") if self.has_y else ("entropy",)

    @property
    def facts(self) -> dict[str, MeasureFacts]:
        """The facts of the registered measures, as the host records them."""
        dist = Categorical([[0.5, 0.5]], LABELS, positive=0) if self.classes else Normal([0.0], [1.0])
        return measure_facts(testing.measures().values(), dist)

    def is_level(self, name: str) -> bool:
        """The first feature of a classification case is categorical."""
        return self.task == "classification" and name == self.names[0]


def estimates(rows: Iterable[Mapping[Any, Any]], **common: Any) -> pd.DataFrame:
    """Return an estimates table; columns not given are NaN or empty."""
    blank = {"std_error": np.nan, "lower": np.nan, "upper": np.nan, "confidence": np.nan, "covers": "none"}
    table = pd.DataFrame([{**blank, **common, **row} for row in rows])
    return table[[*ESTIMATE_COLUMNS, *(c for c in table.columns if c not in ESTIMATE_COLUMNS)]]


def empty() -> pd.DataFrame:
    return pd.DataFrame(
        {c: pd.Series(dtype=object if c in ("measure", "feature", "covers") else float) for c in ESTIMATE_COLUMNS}
    )


def diagnostic(id: str, title: str, table: pd.DataFrame, explainer: str = "calibration") -> Diagnostic:
    """A diagnostic whose frame repeats its estimates."""
    frame = table.assign(x=table.get("x", 0.0), value=table["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(id=id, explainer=explainer, title=title, frame=frame, estimates=table)
