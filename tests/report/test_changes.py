"""What changed since the previous run: noise is no change, and what could not be compared is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from uq_report.document.document import Badge, Bullets, Paragraph, Table
from uq_report.document.evidence import Evidence
from uq_report.evidence.run import Changes, FindingChange, InputChange, ValueChange
from uq_report.report.sections.changes import changes, in_short

from .cases import Case
from .synthetic import make_run


def value(feature: str, lower: float | None, upper: float | None, changed: bool) -> ValueChange:
    return ValueChange(
        result="pfi", measure="nll", feature=feature, before=0.1, now=0.2, difference=0.1, lower=lower, upper=upper,
        interval="95 %, the two runs independent", changed=changed,
    )  # fmt: skip


def finding(code: str, change: str, before: str, now: str) -> FindingChange:
    return FindingChange(code=code, title="it matters", features=("age",), change=change, before=before, now=now)  # type: ignore[arg-type]


FOUND = Changes(
    previous={"as_of": "2026-08-01", "label": "Forest", "sha256": "ab" * 32},
    findings=(
        finding("UQ101", "unchanged", "high", "high"),
        finding("UQ201", "closed", "medium", ""),
        finding("UQ401", "new", "", "high"),
    ),
    values=(
        value("age", -0.1, 0.3, changed=False),
        value("income", 0.05, 0.15, changed=True),
        value("x", None, None, changed=False),
    ),
    inputs=(InputChange(what="hashes.model", before="aa", now="bb"),),
    not_compared=("shap: other options", "b\x1b[31m"),
)  # fmt: skip


def made(found: Changes | None) -> tuple[object, ...]:
    return changes(Evidence(replace(make_run(Case()), changes=found))).blocks


def tables(found: Changes) -> dict[str, Table]:
    return {block.id: block for block in made(found) if isinstance(block, Table)}


def test_without_a_previous_run_the_section_says_so_in_one_sentence() -> None:
    assert made(None) == (Paragraph(text="No previous run was given."),)


def test_unrelated_runs_have_no_tables_and_say_why() -> None:
    found = Changes(
        previous=dict(FOUND.previous) | {"unrelated": "The two runs are of unrelated models: why"},
        not_compared=("Findings: no change.",),
    )
    assert in_short(found) == "The two runs are of unrelated models: why."
    first, facts, last = made(found)
    assert first == Paragraph(text="The two runs are of unrelated models: why.")
    assert [label for label, _ in getattr(facts, "rows", ())] == ["as of", "label", "sha256"]
    assert last == Bullets(items=("Not compared: Findings: no change.",))


def test_the_sentence_counts_findings_values_and_inputs() -> None:
    assert in_short(FOUND) == (
        "Findings against the previous run: 1 new, 1 closed and 1 unchanged. Of 3 compared values, 1 changed beyond "
        "what new rows would explain. 1 hash, version or setting differs."
    )
    assert in_short(Changes(previous={})).endswith("0 hashes, versions or settings differ.")


def test_findings_that_changed_stand_worst_first_and_unchanged_ones_do_not() -> None:
    rows = tables(FOUND)["changes-findings"].rows
    assert [row[:2] for row in rows] == [("UQ401", Badge("new", "bad")), ("UQ201", Badge("closed", "good"))]
    assert [row[4:] for row in rows] == [("none", "high"), ("medium", "none")]


def test_only_values_beyond_the_interval_of_their_difference_are_called_changed() -> None:
    table = tables(FOUND)["changes-values"]
    assert [row[2] for row in table.rows] == ["income", "age", "x"]
    assert [row[8] for row in table.rows] == [Badge("changed", "warning"), "not shown", "no interval"]
    assert "95 %, the two runs independent" in table.caption


def test_inputs_and_what_was_not_compared_are_told() -> None:
    assert tables(FOUND)["changes-inputs"].rows == (("hashes.model", "aa", "bb"),)
    (bullets,) = (block for block in made(FOUND) if isinstance(block, Bullets))
    assert bullets.items == ("Not compared: shap: other options.", "Not compared: b[31m.")


@pytest.mark.parametrize(
    "found",
    [
        replace(FOUND, findings=()),
        replace(FOUND, values=()),
        replace(FOUND, inputs=()),
        replace(FOUND, not_compared=()),
    ],
    ids=["findings", "values", "inputs", "not compared"],
)
def test_any_part_may_be_empty(found: Changes) -> None:
    assert len(made(found)) == len(made(FOUND)) - (found.inputs == FOUND.inputs)
