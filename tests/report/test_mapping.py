"""Mappings: dated, true to what the run holds, and never a verdict on anything outside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from uq_report.document.document import Block, Bullets, Cell, Fold, Paragraph, Section, Table, texts
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import Run, RunChanges
from uq_report.reading.run_reader import RunReader
from uq_report.render.outline import outline
from uq_report.report.assemble import document
from uq_report.report.sections.mapping import (
    FOLDER,
    RECORDS,
    Places,
    Requirement,
    answer_of,
    frameworks,
    is_there,
    mapping,
)
from uq_report.runner import plugins
from uq_report.runner.settings import About

from . import reading
from .synthetic import make_run

NAMES = ["EU AI Act, Annex IV", "ISO/IEC 42001", "NIST AI RMF", "PRA SS1/23", "SR 26-2"]
POINTS = [(framework, point) for framework in frameworks() for point in framework.requirements]


def needs(*evidence: str, people: str = "") -> Requirement:
    return Requirement("I", "Something.", evidence, people)


def answered(e: RunReader, *evidence: str, sections: Sequence[Section] = ()) -> tuple[list[str], list[str]]:
    """Return the sections that answer a heading, and what is missing for it."""
    found, missing = answer_of(e, needs(*evidence), Places.of(sections))
    return [*found], missing


def told(run: Run, **about: str) -> RunReader:
    """Return a run in which people said something."""
    return RunReader(replace(run, settings={**run.settings, "about": about}))


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


def test_the_five_texts_are_mapped_with_status_and_date() -> None:
    assert [framework.title for framework in frameworks()] == NAMES
    for framework in frameworks():
        assert framework.status.strip()
        assert framework.source.strip()
        assert framework.basis.strip()
        assert date.fromisoformat(framework.mapped) >= date(2026, 11, 21)
        assert framework.requirements


def test_what_is_rescinded_is_not_called_current() -> None:
    """SR 11-7 and OCC 2011-12 were superseded on 17 April 2026."""
    texts = {path.name: path.read_text() for path in FOLDER.glob("*.toml")}
    assert [name for name, text in texts.items() if "SR 11-7" in text] == ["sr_26_2.toml"]
    assert "Supersedes SR 11-7" in texts["sr_26_2.toml"]
    assert "2 December 2027" in texts["eu_ai_act.toml"]


def test_no_mapping_claims_to_comply() -> None:
    for path in FOLDER.glob("*.toml"):
        assert not re.search(r"\bcompl(y|iant|iance|ies)\b", path.read_text(), re.IGNORECASE), path


@pytest.mark.parametrize(("framework", "point"), POINTS, ids=lambda x: getattr(x, "title", getattr(x, "place", "")))
def test_every_name_in_a_mapping_exists(framework: object, point: Requirement) -> None:
    known = {plugin.name for plugin in plugins.find(plugins.EXPLAINERS)}
    checks = {plugin.name for plugin in plugins.find(plugins.CHECKS)}
    for name in (choice for needed in point.evidence for choice in needed.split(" | ")):
        kind, _, key = name.rpartition(":")
        assert key in {"": known, "check": checks, "about": About.model_fields, "run": RECORDS}[kind], name
    assert point.asks.endswith(".")


def test_a_heading_is_answered_by_what_is_there_and_lacks_the_rest(run: Run) -> None:
    e = told(run, purpose="To lend.")
    assert answered(e, "pfi", "about:purpose") == (["evidence files"], [])
    assert answered(e, "pfi", "about:owner") == (["evidence files"], ["owner"])
    assert answered(e, "rsens") == ([], ["sensitivity"])
    assert answered(e) == ([], [])


def test_either_of_two_is_enough(run: Run) -> None:
    e = RunReader(run)
    assert answered(e, "rsens | pdp")[1] == []
    assert answered(e, "rsens | about:owner")[1] == ["sensitivity or owner"]


def part(key: str, *blocks: Block, parts: tuple[Section, ...] = (), appendix: bool = False) -> Section:
    return Section(id=key, title=key, blocks=blocks, sections=parts, appendix=appendix)


def test_an_answer_names_the_section_that_shows_the_evidence(run: Run) -> None:
    shown = Table(id="t", caption="c", columns=(), rows=(), evidence="pfi")
    said = Paragraph(text="Said.")
    sections = (part("findings", said), part("drives", said, parts=(part("inner", Fold(title="f", blocks=(shown,))),)))
    annexed = (part("methods", said, appendix=True), part("model", said, appendix=True))
    e = told(run, purpose="To lend.")
    assert answered(e, "pfi", sections=sections) == (["2.1"], [])
    assert answered(e, "about:purpose", "pfi", sections=(*sections, *annexed)) == (["B", "2.1"], [])


def test_a_section_that_is_empty_answers_nothing(run: Run) -> None:
    empty = (part("features"), part("drives", parts=(part("inner"),)))
    assert answered(RunReader(run), "pdp", "pfi", sections=empty) == (["evidence files"], [])
    held = (part("features"), part("drives", parts=(part("inner", Paragraph(text="Said.")),)))
    assert answered(RunReader(run), "pdp", "pfi", sections=held) == (["evidence files", "2"], [])


def test_numbers_are_those_that_renderers_print(run: Run) -> None:
    made = document(run)
    printed = {p.section.id: p.number or "page 1" for top in outline(made).parts for p in (top, *top.parts)}
    found = Places.of(made.sections).numbers
    there = {part.id for part in reading.sections(made) if not part.feature} & set(printed) & set(found)
    assert {"answer", "findings", "rules"} <= there
    assert {key: printed[key] for key in there} == {key: found[key] for key in there}


def test_page_1_and_single_sheets_are_no_answers(run: Run) -> None:
    shown = Table(id="t", caption="c", columns=(), rows=(), evidence="pdp")
    sheet = replace(part("sheet-age", shown), feature="age")
    sections = (part("answer", shown), part("drives", Paragraph(text="Said.")), part("features", parts=(sheet, sheet)))
    assert answered(RunReader(run), "pdp", sections=sections) == (["2"], [])


def test_a_result_without_rows_is_no_evidence(run: Run) -> None:
    empty = tuple(replace(r, frame=r.frame.iloc[:0]) if r.explainer == "pfi" else r for r in run.results)
    assert answered(RunReader(replace(run, results=empty)), "pfi") == ([], ["importance"])


@pytest.mark.parametrize(("state", "there"), [("passed", True), ("skipped", False), ("not_applicable", False)])
def test_a_check_without_verdict_is_no_evidence(run: Run, state: str, there: bool) -> None:
    outcome = Outcome(check="policy", state=state, reason="a reason")  # type: ignore[arg-type] # one of the states
    assert is_there(RunReader(replace(run, outcomes=(outcome,))), "check:policy") is there


@pytest.mark.parametrize(("at_default", "there"), [(None, False), (["n_estimators"], False), ([], True)])
def test_parameters_that_nobody_chose_are_no_evidence(run: Run, at_default: list[str] | None, there: bool) -> None:
    """The run has one parameter, n_estimators; which were chosen may not be recorded."""
    e = RunReader(replace(run, subject={**run.subject, "parameters_at_default": at_default}))
    assert is_there(e, "run:chosen parameters") is there


def test_records_of_the_run_are_seen(run: Run) -> None:
    changed = replace(run, changes=RunChanges(previous={"label": "Forest"}))
    assert not is_there(RunReader(run), "run:changes")
    assert is_there(RunReader(changed), "run:changes")
    bare = Run(as_of="2026-11-21", subject={}, settings={}, environment={})
    assert not [name for name, (_, holds) in RECORDS.items() if holds(RunReader(bare))]


def rows(section: Section) -> list[tuple[Cell, ...]]:
    return [row for block in section.blocks if isinstance(block, Table) for row in block.rows]


def test_in_full_every_heading_stands_with_its_answer_and_what_is_open(run: Run) -> None:
    section = mapping(RunReader(run), (part("data", Paragraph(text="Said.")),), whole=True)
    assert [one.title for one in section.sections] == NAMES
    for framework, one in zip(frameworks(), section.sections, strict=True):
        assert framework.mapped in next(block.caption for block in one.blocks if isinstance(block, Table))
        assert framework.status in " ".join(texts([one]))
        for point, (heading, answer, still) in zip(framework.requirements, rows(one), strict=True):
            assert heading == f"{point.place}: {point.asks}"
            assert answer is not None or still is not None
            assert point.people in str(still or "")


def test_in_short_no_heading_is_lost_and_what_nothing_answers_is_open(run: Run) -> None:
    section = mapping(RunReader(run), (), whole=False)
    told_ = " ".join(texts([section]))
    assert all(f"{point.place}: {point.asks.rstrip('.')}" in told_ for _, point in POINTS)
    assert all(answer for _, _, answer, _ in rows(section))
    (bare,) = (block for block in section.blocks if isinstance(block, Bullets))
    assert not [row for row in rows(section) if str(row[1]).rstrip(".") in " ".join(bare.items)]


def test_what_only_people_can_show_is_open_whatever_the_run_holds(run: Run) -> None:
    e = told(run, **dict.fromkeys(About.model_fields, "Said."))
    alone = [f"{point.place}: {point.asks}" for _, point in POINTS if not point.evidence]
    told_ = [row for part_ in mapping(e, (), whole=True).sections for row in rows(part_) if row[0] in alone]
    assert len(told_) == len(alone) > 0
    assert {answer for _, answer, _ in told_} == {None}


@pytest.mark.parametrize("whole", [True, False])
def test_nothing_is_called_filled_or_compliant(run: Run, whole: bool) -> None:
    assert not re.search(
        r"\bfilled|complian", " ".join(texts([mapping(RunReader(run), (), whole=whole)])), re.IGNORECASE
    )
