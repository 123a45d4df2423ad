"""What changed since the previous run: noise is no change, and what could not be compared is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from uq_report.document.document import Badge, Bullets, Paragraph, Section, Table, inside
from uq_report.evidence.run import FindingChange, InputChange, RunChanges, ValueChange
from uq_report.reading.run_reader import RunReader
from uq_report.report.sections.comparison import changes, changes_in_full, in_short

from .cases import Case
from .synthetic import make_run


def value(feature: str, lower: float | None, upper: float | None, changed: bool) -> ValueChange:
    return ValueChange(
        result="pfi", measure="nll", feature=feature, before=0.1, now=0.2, difference=0.1, lower=lower, upper=upper,
        interval="95%, the two runs independent", changed=changed,
    )  # fmt: skip


def finding(code: str, change: str, before: str, now: str) -> FindingChange:
    return FindingChange(code=code, title="it matters", features=("age",), change=change, before=before, now=now)  # type: ignore[arg-type]


FOUND = RunChanges(
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


def made(found: RunChanges) -> Section:
    section = changes(RunReader(replace(make_run(Case()), changes=found)))
    assert section is not None
    return section


def behind(found: RunChanges | None) -> Section | None:
    return changes_in_full(RunReader(replace(make_run(Case()), changes=found)))


def tables(section: Section | None) -> dict[str, Table]:
    blocks = () if section is None else inside(section.blocks)
    return {block.id: block for block in blocks if isinstance(block, Table)}


def test_without_a_previous_run_there_is_no_section() -> None:
    assert changes(RunReader(make_run(Case()))) is None
    assert behind(None) is None


def test_unrelated_runs_have_no_tables_and_say_why() -> None:
    found = RunChanges(
        previous=dict(FOUND.previous) | {"unrelated": "The two runs are of unrelated models: why"},
        not_compared=("Findings: no change.",),
    )
    assert in_short(found) == "The two runs are of unrelated models: why."
    first, last = made(found).blocks
    assert first == Paragraph(
        text="Compared with the run of 2026-08-01 (“Forest”). The two runs are of unrelated models: why."
    )
    assert last == Paragraph(text="Not compared: Findings: no change.")
    assert behind(found) is None


def test_the_sentence_counts_findings_values_and_inputs() -> None:
    assert in_short(FOUND) == (
        "Findings: 1 new, 1 closed and 1 unchanged. Of 3 compared values, 1 changed beyond "
        "sampling error. 1 hash, version or setting differs: hashes.model."
    )
    assert in_short(RunChanges(previous={})).endswith("0 hashes, versions or settings differ.")
    assert str(made(FOUND).blocks[0]).count("does not prove") == 1


def test_one_table_tells_what_changed_worst_first_and_nothing_that_did_not() -> None:
    (table,) = tables(made(FOUND)).values()
    assert table.rows[:2] == (
        ("UQ401 (age)", Badge("new", "bad"), None, "high"),
        ("UQ201 it matters (age)", Badge("closed", "good"), "medium", None),
    )
    assert [(row[0], str(row[1])[:7]) for row in table.rows[2:]] == [("log loss of income", "by 0.10")]


def test_every_finding_that_opened_or_moved_is_listed_the_severest_first() -> None:
    many = [finding(f"UQ{k}", "new", "", "low") for k in range(7)]
    noted = (finding("UQ501", "new", "", "observation"), finding("UQ202", "moved", "low", "low"))
    found = replace(FOUND, findings=(*many, *noted, finding("UQ9", "new", "", "high")), values=())
    rows = tables(made(found))["changes-table"].rows
    assert (len(rows), rows[0][0]) == (10, "UQ9 (age)")
    assert rows[-1][:2] == ("UQ202 (age)", Badge("moved", "neutral"))
    unmoved = replace(FOUND, findings=(finding("UQ501", "unchanged", "low", "low"),), values=())
    assert tables(made(unmoved)) == {}


def test_values_are_told_by_their_difference_against_its_interval() -> None:
    changed = [value(f"x{k}", 0.1 - 0.001 * k, 0.1 + 0.001 * k, changed=True) for k in range(9, 0, -1)]
    rows = tables(made(replace(FOUND, findings=(), values=tuple(changed))))["changes-table"].rows
    assert [str(row[0])[-2:] for row in rows[:5]] == ["x1", "x2", "x3", "x4", "x5"]
    assert rows[5:] == (("4 further values", "changed", "", ""),)


def test_every_value_and_input_stands_behind() -> None:
    found = tables(behind(FOUND))
    assert [row[2] for row in found["changes-values"].rows] == ["income", "age", "x"]
    assert [row[7] for row in found["changes-values"].rows] == [Badge("changed", "warning"), "not shown", "no interval"]
    assert "95%, the two runs independent" in found["changes-values"].caption
    assert found["changes-inputs"].rows == (("hashes.model", "aa", "bb"),)
    section = behind(FOUND)
    assert section is not None
    assert section.blocks[-1] == Bullets(items=("Not compared: shap: other options.", "Not compared: b[31m."))


def test_what_was_not_compared_is_cut_after_one_and_counted() -> None:
    texts = [block.text for block in made(FOUND).blocks if isinstance(block, Paragraph)]
    assert texts[-1] == "Not compared: shap: other options; and 1 more (full appendix)."
    more = replace(FOUND, not_compared=("a", "b", "c"))
    assert "Not compared: a; and 2 more (full appendix)." in str(made(more))


@pytest.mark.parametrize(
    "found",
    [
        replace(FOUND, findings=()),
        replace(FOUND, values=()),
        replace(FOUND, inputs=()),
        replace(FOUND, not_compared=()),
        RunChanges(previous={}),
    ],
    ids=["findings", "values", "inputs", "not compared", "all"],
)
def test_any_part_may_be_empty(found: RunChanges) -> None:
    assert all(table.rows for table in tables(made(found)).values())
    assert all(table.rows for table in tables(behind(found)).values())
