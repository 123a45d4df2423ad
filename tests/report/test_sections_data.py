"""Support, data quality and groups: told in words, figures and tables, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from uq_report.core.model.results import Result
from uq_report.document.document import Callout, Figure, Table
from uq_report.evidence import ids
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.data_quality.section import QualitySection
from uq_report.methods.groups.section import GroupsSection
from uq_report.methods.support.section import SupportSection
from uq_report.reading.run_reader import RunReader
from uq_report.report.assemble import document

from . import people_results as made
from . import reading
from .cases import Case
from .reading import all_blocks, table_of, text_of
from .synthetic import holding, make_run

HOSTILE = ("<script>", "a\x1b[31mb\u202ec", "中文", "x" * 5000)
SECTIONS: dict[str, Any] = {
    ids.SUPPORT: SupportSection(),
    ids.DATA_QUALITY: QualitySection(),
    ids.GROUPS: GroupsSection(),
}


def run_of(results: Sequence[Result], not_run: tuple[NotRun, ...] = ()) -> Run:
    case = Case()
    run = make_run(case)
    return holding(replace(run, not_run=not_run), case, [*run.results, *results])


@pytest.mark.parametrize("name", SECTIONS)
def test_a_missing_result_says_why(name: str) -> None:
    told = SECTIONS[name].section(
        RunReader(run_of([], (NotRun(name, "explainers", "no training rows were given", "data"),)))
    )
    assert text_of(told) == "No training rows were given."


@pytest.mark.usefixtures("undrawn")
def test_support_tells_the_share_its_test_and_the_shuffles_that_leave_the_data() -> None:
    section = SupportSection().section(RunReader(run_of(made.support(("age", "income")))))
    told = text_of(section)
    assert (
        "Share of the test sample outside: 0.100 (0.070 to 0.130); of training observations it would be 0.0500" in told
    )
    assert "(p < 0.001, one-sided)" in told
    assert "Largest after permutation: age 0.400 (0.380 to 0.420)" in told
    assert table_of(section, "support-table").rows[0][:2] == ("age", 0.4)
    assert table_of(section, "support-values").rows == (("age", "above range", 3, 250, "60", 0.02),)


@pytest.mark.usefixtures("undrawn")
def test_data_quality_counts_faults_and_not_classes() -> None:
    section = QualitySection().section(RunReader(run_of([made.data_quality("age")])))
    assert text_of(section) == (
        "Found, with the number of columns or lines: observations that occur in training (1) and missing values (1)."
    )
    assert table_of(section, "data-quality-table").rows[2] == ("missing values", "age", "", 5, 250, 0.02)
    shares = QualitySection().section(RunReader(run_of([made.data_quality("age"), made.missing("age")])))
    assert table_of(shares, "data-quality-missing").rows == (("age", 0.12, 0.02, 0.06, 0.14),)
    clean = made.data_quality("age")
    single = replace(clean, estimates=clean.estimates.assign(count=1))
    assert "missing values (1)" in text_of(QualitySection().section(RunReader(run_of([single]))))
    none = replace(clean, estimates=clean.estimates.assign(count=0))
    assert "None of the faults" in text_of(QualitySection().section(RunReader(run_of([none]))))


@pytest.mark.usefixtures("undrawn")
def test_predictions_and_outcomes_by_group_come_first_then_loss_against_expectation() -> None:
    section = GroupsSection().section(RunReader(run_of(made.groups(("female", "male")))))
    told = text_of(section)
    assert "Omitted: nll of sex: group 'x': fewer than 30 rows." in told
    assert [block.id for block in section.sections[0].blocks if isinstance(block, Table)] == [
        "groups-1-predictions", "groups-1-losses", "groups-1-use", "groups-1-differences"
    ]  # fmt: skip
    first, second = (table_of(section, f"groups-1-{part}") for part in ("predictions", "losses"))
    assert [column.label for column in first.columns][-1] == "outcome minus prediction, minus the other groups"
    assert first.rows[0][:3] == ("all observations", 250, "0.300 (0.270 to 0.330)")
    assert first.rows[1][:3] == ("female", 249, "0.400 (0.370 to 0.430)")
    assert len(second.columns) == 6
    rows, rest, difference = table_of(section, "groups-1-differences").rows[0][2:5]
    assert (rows, rest) == (249, 1)
    assert difference == pytest.approx(-0.07)
    assert table_of(section, "groups-proxy-table").rows[1] == ("sex", "cramers v", "purpose", "0.700")


@pytest.mark.usefixtures("undrawn")
def test_groups_stand_in_their_own_order() -> None:
    labels = ("under 30", "30 to 44", "45 to 59", "60 and more")
    given = made.groups(labels)
    mixed = [replace(r, estimates=r.estimates.sort_values("item", kind="stable")) for r in given[:2]]
    section = GroupsSection().section(RunReader(run_of([*mixed, *given[2:]])))
    assert tuple(row[0] for row in table_of(section, "groups-1-predictions").rows) == ("all observations", *labels)
    told = [row[0] for row in table_of(section, "groups-1-differences").rows]
    assert tuple(dict.fromkeys(told)) == labels


@pytest.mark.parametrize("names", [("only",), ("a", "b"), HOSTILE], ids=len)
def test_every_figure_can_be_drawn_and_nothing_hostile_is_left(names: tuple[str, ...]) -> None:
    results = [*made.support(names), made.data_quality(names[0]), *made.groups(names, names[0])]
    e = RunReader(run_of(results))
    blocks = [block for section in SECTIONS.values() for block in all_blocks(section.section(e))]
    assert not [b.text for b in blocks if isinstance(b, Callout) and "missing" in b.title]
    assert len([b for b in blocks if isinstance(b, Figure)]) == 2
    assert "\\x1b" not in str(blocks)


@pytest.mark.usefixtures("undrawn")
def test_all_results_stand_in_the_document_once() -> None:
    results = [*made.support(("a",)), made.data_quality("a"), *made.groups(("x", "y"))]
    whole = document(run_of(results), appendix="full")
    cited = {b.evidence for b in reading.blocks(whole) if isinstance(b, Table | Figure)}
    assert {result.id for result in results} - cited == {ids.SUPPORT_ROWS}
    assert not [s.id for s in reading.sections(whole) if s.id.startswith("explainer-") and s.id[10:] in SECTIONS]
