"""Small runs made by hand: every kind of result, every state, awkward text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from uq_report.core.explainer import MethodCard
from uq_report.core.model.results import (
    ESTIMATE_COLUMNS,
    KINDS,
    Importance,
    MeasureFacts,
    Omission,
    Result,
    RowValues,
)
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome, RuleRecord, Symptom, Waived, Waiver
from uq_report.evidence.run import (
    FindingChange,
    InputChange,
    MethodRecord,
    NotRun,
    PluginRecord,
    Run,
    RunChanges,
    ValueChange,
)

# the further columns of a permutation importance, and a value for each
OWN: dict[str, Any] = {
    **dict.fromkeys(("margin", "p_value", "spread_low", "spread_high", "unpermuted", "n_needed"), 0.5),
    "exact_zero": False,
    "remark": "",
}
AWKWARD = ("age", "=HYPERLINK(1)", "naïve \u202e名", '<b>"x"</b>')


def estimates(features: tuple[str, ...] = AWKWARD) -> pd.DataFrame:
    """Return an estimates table with a missing number and a column of its own."""
    rows = [("entropy", f, 0.1 + i / 3, np.nan, -0.0, 1e-300, 0.95, "new test samples") for i, f in enumerate(features)]
    table = pd.DataFrame(rows, columns=list(ESTIMATE_COLUMNS))
    return table.assign(
        verdict=pd.Series(["positive", np.nan, "about 0", ""][: len(features)], dtype=object),
        n=np.arange(len(features)),
    )


def importance(id: str = ids.PFI) -> Importance:
    """Return an importance with raw repeats and row values."""
    frame = pd.DataFrame(
        [("entropy", f, r, r / 7) for f in AWKWARD for r in range(3)], columns=list(Importance.columns)
    )
    rows = RowValues(("entropy",), AWKWARD, np.array([[[1 / 3, np.nan]] * len(AWKWARD)]).reshape(1, len(AWKWARD), 2))
    return Importance(
        id=id,
        explainer=ids.PFI,
        title="Importance",
        frame=frame,
        estimates=estimates().assign(**OWN),
        rows=rows,
        options={"n_repeats": 3, "features": None},
        notes=("a note",),
        omissions=(Omission("nll", "", "it is infinite on 3 rows"),),
        meta={"margin": {"entropy": 0.01}},
        measures={"entropy": MeasureFacts("entropy", "nats", "uncertainty", "smaller")},
    )


def empty(kind: str) -> Result:
    """Return a result of a kind with no rows."""
    cls = KINDS[kind]
    frame = pd.DataFrame({name: pd.Series(dtype=float) for name in cls.columns})
    return cls(id=f"x.{kind}", explainer="x", title=kind, frame=frame, estimates=estimates(()))


def run() -> Run:
    """Return a small run with a finding, a check that passed and one that was skipped."""
    finding = Finding(
        code="UQ101", title="T", severity="high", statement="S", evidence=(ids.PFI,), rests_on="eq. 1", threshold=0.5
    )
    subject = {
        "label": "m", "task": "regression", "family": "normal", "model_class": "a.B", "model_parameters": {},
        "adapter": "function", "adapter_reason": "r", "n": 2, "d": 4, "has_y": True, "has_train": False,
        "weights": False, "features": [], "hashes": {"X": "0"},
    }  # fmt: skip
    return Run(
        as_of="2026-01-31",
        subject=subject,
        settings={"seed": 0},
        environment={"python": "3", "platform": "p", "numpy": "2"},
        results=(importance(), *(empty(kind) for kind in KINDS)),
        outcomes=(
            Outcome(check="a", state="found", findings=(finding,)),
            Outcome(check="b", state="passed"),
            Outcome(check="c", state="skipped", reason="slow"),
        ),
        not_run=(NotRun(ids.SHAP, "explainers", "not installed", "missing library"),),
        plugins=(PluginRecord("explainers", ids.PFI, "uq_report", "0.1.0", 1, 12, "ran: 1 result"),),
    )


def full() -> Run:
    """Return `run` with everything that a run may hold: rules, a waiver, methods, changes, a challenger."""
    base = run()
    (finding,) = base.findings
    cause = replace(finding, affected="1 of 2 rows", size=0.25, explains=(Symptom(code="UQ301", feature="age"),))
    rule = RuleRecord(code="UQ101", title="T", severity="high", when="W", rests_on="eq. 1", thresholds={"level": 0.05})
    waiver = Waiver(code="UQ101", owner="risk", reason="known", expires="2026-06-30")
    outcome = Outcome(
        check="a", state="found", findings=(cause,), waived=(Waived(finding=finding, waiver=waiver),), rules=(rule,)
    )
    values: dict[str, Any] = {"before": 0.1, "now": 0.2, "difference": 0.1, "lower": 0.05, "upper": None}
    changes = RunChanges(
        previous={"as_of": "2025-01-31"},
        findings=(FindingChange(code="UQ101", title="T", features=("age",), change="new", before="", now="high"),),
        values=(ValueChange(result=ids.PFI, measure="nll", feature="", **values, interval="paired", changed=True),),
        inputs=(InputChange(what="numpy", before="1", now="2"),),
        not_compared=("ranks",),
    )
    card = MethodCard(title="Importance", definition="D", references="breiman2001")
    method = MethodRecord(name=ids.PFI, section="drivers", options={"n_repeats": 3}, card=card)
    return replace(base, outcomes=(outcome, *base.outcomes[1:]), methods=(method,), changes=changes, challenger=base)
