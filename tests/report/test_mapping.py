"""Mappings: dated, true to what the run holds, and never a verdict on anything outside it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest

from uq_report import plugins
from uq_report.config import About
from uq_report.document.document import Badge, Facts, Section, Table
from uq_report.document.evidence import Evidence
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import Changes, Run
from uq_report.report.assemble import document
from uq_report.report.mappings import FOLDER, Requirement, frameworks
from uq_report.report.sections.mapping import FILLED, OPEN, PARTLY, RECORDS, evidence_for, mapping

from . import reading
from .synthetic import make_run

NAMES = ["EU AI Act, Annex IV", "ISO/IEC 42001", "NIST AI RMF", "PRA SS1/23", "SR 26-2"]
POINTS = [(framework, point) for framework in frameworks() for point in framework.requirements]


def needs(*evidence: str) -> Requirement:
    return Requirement("I", "Something.", (), evidence)


def told(run: Run, **about: str) -> Evidence:
    """Return a run in which people said something."""
    return Evidence(replace(run, settings={**run.settings, "about": about}))


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
    checks = {plugin.name for plugin in plugins.find(plugins.RULES)}
    for name in (choice for needed in point.evidence for choice in needed.split(" | ")):
        kind, _, key = name.rpartition(":")
        assert key in {"": known, "check": checks, "about": About.model_fields, "run": RECORDS}[kind], name
    assert point.asks.endswith(".")


@pytest.mark.usefixtures("undrawn")
def test_every_section_in_a_mapping_exists(run: Run) -> None:
    there = {section.id for section in reading.sections(document(run))}
    named = {key for _, point in POINTS for key in point.sections}
    assert named - {"comparison"} <= there  # which is there for two models


def test_a_point_is_filled_by_all_its_evidence_partly_by_some_and_else_open(run: Run) -> None:
    e = told(run, purpose="To lend.")
    assert evidence_for(e, needs("pfi", "about:purpose")).state == FILLED
    assert evidence_for(e, needs("pfi", "about:owner")).state == PARTLY
    assert evidence_for(e, needs("about:owner")).state == OPEN
    assert evidence_for(e, needs("rsens")).state == OPEN
    assert evidence_for(e, needs()).state == OPEN


def test_either_of_two_is_enough(run: Run) -> None:
    e = Evidence(run)
    assert evidence_for(e, needs("rsens | pdp")).present == ("pdp, pdp.own and 1 more",)
    assert evidence_for(e, needs("rsens | about:owner")).missing == ("rsens or text: owner",)


def test_evidence_is_named_by_the_ids_of_this_run(run: Run) -> None:
    match = evidence_for(Evidence(run), needs("calibration", "run:hashes"))
    assert match.present == ("calibration and calibration.reliability", "hashes")


def test_a_result_without_rows_is_no_evidence(run: Run) -> None:
    empty = tuple(replace(r, frame=r.frame.iloc[:0]) if r.explainer == "pfi" else r for r in run.results)
    assert evidence_for(Evidence(replace(run, results=empty)), needs("pfi")).state == OPEN


@pytest.mark.parametrize(("state", "badge"), [("passed", FILLED), ("skipped", OPEN), ("not_applicable", OPEN)])
def test_a_check_without_verdict_is_no_evidence(run: Run, state: str, badge: Badge) -> None:
    outcome = Outcome(check="policy", state=state, reason="a reason")  # type: ignore[arg-type] # one of the states
    assert evidence_for(Evidence(replace(run, outcomes=(outcome,))), needs("check:policy")).state == badge


def test_records_of_the_run_are_seen(run: Run) -> None:
    changed = replace(run, changes=Changes(previous={"label": "Forest"}))
    assert evidence_for(Evidence(run), needs("run:changes")).state == OPEN
    assert evidence_for(Evidence(changed), needs("run:changes")).state == FILLED
    bare = Run(as_of="2026-11-21", subject={}, settings={}, environment={})
    assert not [name for name, holds in RECORDS.items() if holds(Evidence(bare))]


def parts(section: Section) -> list[tuple[Facts, Table]]:
    return [(part.blocks[0], part.blocks[1]) for part in section.sections]  # type: ignore[misc] # facts, then a table


def test_the_section_prints_every_point_with_its_state(run: Run) -> None:
    section = mapping(Evidence(run), (Section(id="data", title="The data"),))
    assert section.appendix
    assert [part.title for part in section.sections] == NAMES
    for framework, (facts, table) in zip(frameworks(), parts(section), strict=True):
        assert ("Date of this mapping", framework.mapped) in facts.rows
        assert table.caption.startswith(f"Evidence arranged under the headings of {framework.title}")
        assert len(table.rows) == len(framework.requirements)
        for point, row in zip(framework.requirements, table.rows, strict=True):
            asked, sections, given, missing, state = row
            assert asked == f"{point.place}: {point.asks}"
            assert sections == ("The data" if "data" in point.sections else "")
            assert state in (FILLED, PARTLY, OPEN)
            assert (state == FILLED) == (given != "" and missing == "")
            assert given or state == OPEN


def test_what_only_people_can_show_is_open_whatever_the_run_holds(run: Run) -> None:
    e = told(run, **dict.fromkeys(About.model_fields, "Said."))
    rows = [row for _, table in parts(mapping(e, ())) for row in table.rows]
    alone = [row for row in rows if row[3] == "for people: this report holds nothing on it"]
    assert len(alone) == sum(not point.evidence for _, point in POINTS) > 0
    assert {row[4] for row in alone} == {OPEN}
