"""Rankings and permutation importances made by hand, with every number known."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, MeasureFacts, RowValues
from uq_report.core.support.arrays import FloatArray
from uq_report.evidence.run import Run

from .importances import ROLES, UNREAD

NONE = float("nan")
Place = tuple[float, float, float]


def run(*results: Any, subject: Mapping[str, Any] | None = None, **parts: Any) -> Run:
    return Run(as_of="2026-01-01", subject=subject or {}, settings={}, environment={}, results=results, **parts)


def ranking(method: str, measure: str, places: Mapping[str, Place]) -> pd.DataFrame:
    """Return one ranking; a place is rank, lower and upper bound."""
    lines = [
        {"measure": measure, "feature": name, "estimate": rank, "lower": lower, "upper": upper}
        for name, (rank, lower, upper) in places.items()
    ]
    role = ROLES.get(measure, "prediction")
    return pd.DataFrame(lines).assign(
        std_error=NONE,
        confidence=0.95,
        covers="new test samples, all ranks together",
        item=method,
        role=role,
        value=0.0,
    )


def agreement(
    *rankings: pd.DataFrame, disagreements: Sequence[Mapping[str, Any]] = (), total: int | None = None
) -> Diagnostic:
    """Return the rankings with the disagreements that are listed, of `total`."""
    return Diagnostic(
        id="agreement",
        explainer="agreement",
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.concat(rankings, ignore_index=True),
        meta={"disagreements": list(disagreements), "n_disagreements": total or len(disagreements)},
    )


def case(feature: str, high: tuple[str, str], low: tuple[str, str], **parts: Any) -> dict[str, Any]:
    """Return a disagreement as agreement lists it; (method, measure) of the higher and the lower rank."""
    facts = {"sentence": f"{feature} is ranked otherwise.", "evidence": [], "sure": True, "explained": False}
    methods, measures = zip(high, low, strict=True)
    return {"feature": feature, "methods": list(methods), "measures": list(measures)} | facts | parts


def line(feature: str, verdict: str, estimate: float = 0.5, se: float = 0.1, measure: str = "nll") -> dict[str, Any]:
    """Return one line of permutation importance."""
    return {
        "measure": measure,
        "feature": feature,
        "estimate": estimate,
        "std_error": se,
        "lower": estimate - 2 * se,
        "upper": estimate + 2 * se,
        "confidence": 0.95,
        "covers": "new test samples",
        "verdict": verdict,
        "margin": 0.01,
        **UNREAD,
    }


def pfi(
    *lines: Mapping[str, Any],
    repeats: Mapping[str, Sequence[float]] | None = None,
    rows: Mapping[str, FloatArray] | None = None,
    id: str = "pfi",
    meta: Mapping[str, Any] | None = None,
) -> Importance:
    """Return permutation importance of nll; `repeats` and `rows` by feature."""
    frame = [
        ("nll", name, repeat, value) for name, values in (repeats or {}).items() for repeat, value in enumerate(values)
    ]
    terms = None if rows is None else RowValues(("nll",), tuple(rows), np.stack(list(rows.values()))[None])
    return Importance(
        id=id,
        explainer="pfi",
        title="",
        frame=pd.DataFrame(frame, columns=list(Importance.columns)),
        estimates=pd.DataFrame(list(lines), columns=[*ESTIMATE_COLUMNS, "verdict", "margin", *UNREAD]),
        rows=terms,
        meta={"degrees_of_freedom": 199} | dict(meta or {}),
        measures={str(one["measure"]): MeasureFacts("", "nats", ROLES[str(one["measure"])]) for one in lines},
    )
