"""Results of permutation importance with chosen estimates and errors, and runs that hold them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from uq_report import runner
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, MeasureFacts, Result
from uq_report.core.model.subject import Subject
from uq_report.core.statistics.verdicts import judge
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.runner.settings import make_settings

Table = Mapping[str, Mapping[str, tuple[float, float]]]
ROLES = {
    **dict.fromkeys(("nll", "nll_clipped", "brier", "squared_error"), "loss"),
    "entropy": "uncertainty",
    "prediction": "prediction",
}
MARGIN = 0.01
NUMBERS = dict.fromkeys(("p_value", "spread_low", "spread_high", "unpermuted", "n_needed", "shuffling_error"), np.nan)
UNREAD: Mapping[str, Any] = {**NUMBERS, "exact_zero": False, "remark": ""}  # columns of pfi that these tests leave open


def run(*results: Result, not_run: tuple[NotRun, ...] = (), **subject: Any) -> Run:
    """Return a run of 200 rows with these results."""
    facts = {"n": 200, "clusters": None, "weights": False, "has_train": True} | subject
    return Run(as_of="2026-01-01", subject=facts, settings={}, environment={}, results=results, not_run=not_run)


def audited(subject: Subject, explainers: list[str], **settings: Any) -> Run:
    """Return a real audit of a subject by a few explainers and the checks of the settings."""
    given = {"explainers": explainers, "as_of": "2026-01-01", **settings}
    return runner.run(subject, make_settings(given, "audit"), None).run


def outcome(found: Run, check: str) -> Outcome:
    return next(one for one in found.outcomes if one.check == check)


def pfi(table: Table, df: int = 199) -> Importance:
    """Return ``pfi`` from estimates and standard errors by measure and feature, judged as the explainer does."""
    lines = [_line(m, f, value, error, df) for m, row in table.items() for f, (value, error) in row.items()]
    return _importance("pfi", lines, list(table), df)


def trained(table: Mapping[str, Mapping[str, float]], df: int = 199) -> Importance:
    """Return ``pfi.train``: values without an interval."""
    lines = [_line(m, f, value, np.nan, df) for m, row in table.items() for f, value in row.items()]
    return _importance("pfi.train", lines, list(table), df)


def _line(measure: str, feature: str, value: float, error: float, df: int) -> dict[str, Any]:
    judged = judge(value, error, df, MARGIN, n=df + 1)
    return {
        "measure": measure,
        "feature": feature,
        "estimate": value,
        "std_error": error,
        "lower": judged.lower,
        "upper": judged.upper,
        "confidence": 0.95,
        "covers": "new test samples",
        "verdict": judged.verdict,
        "margin": MARGIN,
        **UNREAD,
    }


def _importance(id: str, lines: list[dict[str, Any]], measures: list[str], df: int) -> Importance:
    return Importance(
        id=id,
        explainer="pfi",
        title="",
        frame=pd.DataFrame(columns=list(Importance.columns)),
        estimates=pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, "verdict", "margin", *UNREAD]),
        meta={"degrees_of_freedom": df},
        measures={m: MeasureFacts(f"{m} title", "nats", ROLES[m]) for m in measures},
    )


def diagnostic(id: str, lines: list[dict[str, Any]], **fields: Any) -> Diagnostic:
    """Return a diagnostic with these lines as its estimates and its frame."""
    table = pd.DataFrame([{"measure": "", "covers": "none", "confidence": 0.95, **line} for line in lines])
    table = table.reindex(columns=[*ESTIMATE_COLUMNS, *(c for c in table.columns if c not in ESTIMATE_COLUMNS)])
    frame = table.assign(value=table["estimate"]).reindex(columns=list(Diagnostic.columns))
    return Diagnostic(
        id=id, explainer=id.partition(".")[0], title="", frame=frame.fillna({"x": 0.0}), estimates=table, **fields
    )
