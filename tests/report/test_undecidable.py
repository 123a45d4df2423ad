"""What cannot be judged is said before the findings, and what unseen rows confirm of the claims beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic
from uq_report.evidence import ids
from uq_report.evidence.importance import ALL_FEATURES, CLAIMED, DIFFERENCE
from uq_report.reading.run_reader import RunReader
from uq_report.report.answer.cards import realised
from uq_report.report.answer.section import undecidable

from .cases import Case, estimates
from .synthetic import make_run

OPEN, PASSED = "cannot be judged", "passes"


def told(*, gate: Any = OPEN, counts: tuple[int, ...] = (), clusters: int | None = None) -> str:
    """Return what cannot be judged with these classes and clusters."""
    run = make_run(Case(gate=gate))
    facts: dict[str, Any] = {"clusters": clusters, "y_summary": {"counts": list(counts)}}
    return undecidable(RunReader(replace(run, subject={**run.subject, **facts})))


def test_nothing_is_said_where_the_rows_are_enough() -> None:
    assert told(counts=(20, 180)) == told(counts=(), clusters=20) == ""


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ((0, 200), "all 200 observations belong to one class (20 of another are needed)"),
        ((1, 199), "only 1 observation is of the rarer class (20 are needed)"),
        ((19, 181), "only 19 observations are of the rarer class (20 are needed)"),
        ((4, 5, 191), "only 9 observations are outside the most frequent class (20 are needed)"),
    ],
)
def test_few_events_leave_calibration_and_the_loss_open(counts: tuple[int, ...], why: str) -> None:
    assert told(counts=counts) == (f"Not assessable: calibration and importance for the loss, because {why}.")
    assert told(counts=counts, gate="fails") == f"Not assessable: importance for the loss, because {why}."


def test_one_cluster_leaves_calibration_open_few_only_the_importances() -> None:
    assert "calibration and importance, because 1 cluster does not" in told(clusters=1)
    assert told(gate=PASSED, clusters=7).startswith("Not assessable: importance, because 7 clusters do not")


def test_two_reasons_are_two_sentences() -> None:
    both = told(counts=(3, 197), clusters=7)
    assert both.count(" Also not assessable: importance, because 7") == 1


def claims(claimed: float = 0.4, low: float = 0.7, unreliable: str = "", share: float = 0.848) -> RunReader:
    lines = [
        {"measure": "nll", "feature": ALL_FEATURES, "item": CLAIMED, "estimate": claimed},
        {
            "measure": "nll",
            "feature": ALL_FEATURES,
            "item": DIFFERENCE,
            "estimate": 0.1,
            "share": share,
            "share_lower": low,
            "share_upper": share + 0.152,
            "unreliable": unreliable,
        },
    ]
    table = estimates(lines, confidence=0.95, covers="new test samples").fillna({"unreliable": ""})
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    result = Diagnostic(
        id=ids.PFI_CLAIMS, explainer=ids.PFI, title="", frame=frame, estimates=table, meta={"margin": 0.01}
    )
    run = make_run(Case())
    return RunReader(replace(run, results=(*run.results, result)))


def test_the_share_of_the_claims_that_unseen_rows_confirm_is_one_sentence() -> None:
    assert realised(claims()) == ("Realisation ratio of the importance: 0.85 (0.70 to 1.00).")


def test_features_that_are_worth_more_than_is_claimed_are_not_said_to_be_realised() -> None:
    assert realised(claims(low=1.05, share=1.348)) == ("Realisation ratio of the importance: 1.35 (1.05 to 1.50).")


def test_no_share_without_claims_an_interval_or_trust_in_it() -> None:
    assert realised(RunReader(make_run(Case()))) == ""
    assert realised(claims(low=np.nan)) == realised(claims(unreliable="few events")) == ""
    assert realised(claims(claimed=0.009)) == ""
