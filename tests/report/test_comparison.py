"""Two models: which predicts better and by how much, the worst first, and what only one of them has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic, Importance
from uq_report.document.document import Fold, Paragraph, Table, Verdict
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome
from uq_report.reading.run_reader import RunReader
from uq_report.report.sections.comparison import ALIKE, BETTER, MIXED, UNDECIDED, WORSE, better, comparison
from uq_report.runner.provenance import described

from .cases import Case, estimates
from .findings_made import finding
from .synthetic import make_run

pytestmark = pytest.mark.usefixtures("undrawn")
CASE = Case()


def scores(**values: tuple[float, float]) -> Diagnostic:
    """Differences of these measures, each with its half-width."""
    rows = [
        {"measure": name, "feature": "", "estimate": x, "std_error": w / 2, "lower": x - w, "upper": x + w,
         "champion": 0.5, "challenger": 0.5 + x}
        for name, (x, w) in values.items()
    ]  # fmt: skip
    table = estimates(rows, confidence=0.95, covers="new test samples, paired")
    return Diagnostic(
        id=ids.COMPARE_SCORES, explainer="compare", title="Scores", estimates=table,
        frame=table.assign(item="difference", x=np.nan, value=table["estimate"])[list(Diagnostic.columns)],
    )  # fmt: skip


def importance(*lines: tuple[str, float, float]) -> Importance:
    """Differences of the importance of features for the log score, each with its half-width."""
    rows = [
        {"measure": "nll", "feature": name, "estimate": x, "std_error": w / 2, "lower": x - w, "upper": x + w,
         "champion": 0.1, "challenger": 0.1 + x, "champion_verdict": "positive", "challenger_verdict": "positive"}
        for name, x, w in lines
    ]  # fmt: skip
    table = estimates(rows, confidence=0.95, covers="new test samples, paired")
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id=ids.COMPARE_IMPORTANCE, explainer="compare", title="Importance", estimates=table, frame=frame)


def reliance(*rows: tuple[str, str, str]) -> Diagnostic:
    found = [(measure, feature, who, np.nan, 0.1) for measure, feature, who in rows]
    frame = pd.DataFrame(found, columns=list(Diagnostic.columns))
    return Diagnostic(
        id=ids.COMPARE_RELIANCE, explainer="compare", title="Reliance", frame=frame, estimates=estimates([{
            "measure": "nll", "feature": "", "estimate": 0.0}]).iloc[:0],
    )  # fmt: skip


def evidence(*results: Any, champion: tuple[Finding, ...] = (), challenger: tuple[Finding, ...] = ()) -> RunReader:
    runs = [
        replace(make_run(CASE), outcomes=(Outcome(check="c", state="found" if f else "passed", findings=f),))
        for f in (champion, challenger)
    ]
    other = replace(runs[1], subject={**runs[1].subject, "label": "Boosting"})
    recorded = tuple(described(result, CASE.facts) for result in results)
    return RunReader(replace(runs[0], results=(*runs[0].results, *recorded), challenger=other))


def texts(e: RunReader) -> list[str]:
    section = comparison(e)
    assert section is not None
    return [unmarked(block.text) for block in section.blocks if isinstance(block, Paragraph)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"nll": (0.1, 0.099), "brier": (0.1, 0.2)}, WORSE),
        ({"nll": (-0.1, 0.099), "brier": (0.1, 0.2)}, BETTER),
        ({"nll": (0.1, 0.101), "brier": (-0.1, 0.2)}, ALIKE),
        ({"nll": (0.1, 0.05), "brier": (-0.1, 0.05)}, MIXED),
        ({"entropy": (0.5, 0.1)}, UNDECIDED),
    ],
)
def test_the_word_follows_the_intervals_of_the_losses(given: dict[str, tuple[float, float]], expected: object) -> None:
    assert better(evidence(scores(**given)))[0] == expected


def test_what_got_worse_comes_first_with_its_interval() -> None:
    text = better(evidence(scores(brier=(-0.1, 0.05), nll=(0.2, 0.05))))[1]
    assert text.index("worse by log loss, 0.20 nats (0.15 to 0.25)") < text.index("better by Brier")


def test_scores_of_other_units_are_ordered_by_their_standard_errors() -> None:
    text = better(evidence(scores(brier=(900.0, 800.0), nll=(0.2, 0.02))))[1]
    assert text.index("log loss") < text.index("Brier")


def test_without_scores_neither_is_called_better() -> None:
    badge, text = better(evidence())
    assert badge == UNDECIDED
    assert "cannot be ranked" in text


def test_findings_of_one_model_alone_stand_worst_first_and_shared_ones_do_not() -> None:
    shared, low, high = finding("UQ1"), finding("UQ2", "low"), finding("UQ3", "high", "age")
    e = evidence(scores(nll=(0.1, 0.2)), champion=(shared, low), challenger=(shared, high))
    section = comparison(e)
    assert section is not None
    (table,) = [b for b in section.blocks if isinstance(b, Table) and b.id == "comparison-table-findings"]
    assert [(row[0], row[2]) for row in table.rows] == [("the challenger", "UQ3"), ("the champion", "UQ2")]
    assert (
        texts(e)[0] == "Findings of the challenger only, or more severe there: UQ3 (high). "
        "Findings of the champion only, or more severe there: UQ2 (low)."
    )


def test_a_finding_more_severe_in_one_model_is_that_models() -> None:
    e = evidence(champion=(finding("UQ1", "low"),), challenger=(finding("UQ1", "high"),))
    assert texts(e)[0] == "Findings of the challenger only, or more severe there: UQ1 (high)."
    same = evidence(champion=(finding("UQ1"),), challenger=(finding("UQ1"),))
    assert texts(same)[0] == "Both models have the same findings."


def test_what_drives_them_apart_names_features_beyond_their_interval_only() -> None:
    e = evidence(
        importance(("age", 0.05, 0.06), ("amount", -0.3, 0.1), ("duration", 0.1, 0.05)),
        reliance(("nll", "amount", "only the champion"), ("brier", "amount", "only the champion")),
    )
    told = " ".join(texts(e))
    assert "Only the champion relies on amount, by negative log-likelihood and Brier score" in told
    assert "differs for amount by −0.30 nats (−0.40 to −0.20) and duration by 0.10 nats" in told
    assert "age by" not in told


def test_the_verdict_opens_the_section_and_evidence_is_folded() -> None:
    section = comparison(evidence(scores(nll=(0.2, 0.1)), importance(("age", 0.2, 0.1))))
    assert section is not None
    first = section.blocks[0]
    assert isinstance(first, Verdict)
    assert first.note.startswith("Champion: Forest. Challenger: Boosting.")
    assert [block.title for block in section.blocks if isinstance(block, Fold)] == [
        "Importance for negative log-likelihood"
    ]


def test_one_model_has_no_such_section() -> None:
    assert comparison(RunReader(make_run(CASE))) is None
