"""Small runs made by hand: every kind of result, every state, awkward text."""

from __future__ import annotations

import numpy as np
import pandas as pd

from uq_report.core.finding import Finding, Outcome
from uq_report.core.results import ESTIMATE_COLUMNS, KINDS, Importance, Omission, Result, RowValues
from uq_report.core.run import NotRun, PluginRecord, Run

AWKWARD = ("age", "=HYPERLINK(1)", "naïve \u202e名", '<b>"x"</b>')


def estimates(features: tuple[str, ...] = AWKWARD) -> pd.DataFrame:
    """Return an estimates table with a missing number and a column of its own."""
    rows = [("entropy", f, 0.1 + i / 3, np.nan, -0.0, 1e-300, 0.95, "new test rows") for i, f in enumerate(features)]
    table = pd.DataFrame(rows, columns=list(ESTIMATE_COLUMNS))
    return table.assign(
        verdict=pd.Series(["positive", np.nan, "about 0", ""][: len(features)], dtype=object),
        n=np.arange(len(features)),
    )


def importance(id: str = "pfi") -> Importance:
    """Return an importance with raw repeats and row values."""
    frame = pd.DataFrame(
        [("entropy", f, r, r / 7) for f in AWKWARD for r in range(3)], columns=list(Importance.columns)
    )
    rows = RowValues(("entropy",), AWKWARD, np.array([[[1 / 3, np.nan]] * len(AWKWARD)]).reshape(1, len(AWKWARD), 2))
    return Importance(
        id=id,
        explainer="pfi",
        title="Importance",
        frame=frame,
        estimates=estimates(),
        rows=rows,
        options={"n_repeats": 3, "features": None},
        notes=("a note",),
        omissions=(Omission("nll", "", "it is infinite on 3 rows"),),
        meta={"margin": {"entropy": 0.01}},
    )


def empty(kind: str) -> Result:
    """Return a result of a kind with no rows."""
    cls = KINDS[kind]
    frame = pd.DataFrame({name: pd.Series(dtype=float) for name in cls.columns})
    return cls(id=f"x.{kind}", explainer="x", title=kind, frame=frame, estimates=estimates(()))


def run() -> Run:
    """Return a run that uses every field."""
    finding = Finding(
        code="UQ101", title="T", severity="high", statement="S", evidence=("pfi",), rests_on="eq. 1", threshold=0.5
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
        not_run=(NotRun("shap", "explainers", "not installed"),),
        plugins=(PluginRecord("explainers", "pfi", "uq_report", "0.1.0", 1, 12, "ran: 1 result"),),
    )
