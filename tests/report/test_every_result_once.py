"""Every result of the sample runs stands in the report, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from uq_report import store
from uq_report.core.results import Result
from uq_report.document.document import Document, Figure, Table
from uq_report.evidence import ids
from uq_report.report.assemble import document

from .reading import all_blocks, sections

SAMPLES = sorted((Path(__file__).parents[2] / "sample_reports").glob("*/run.json"))
# results that no table or figure shows by itself, and where they are
ELSEWHERE = {
    ids.PDP_OWN: "marks in the figures of pdp",
    ids.PDP_DISTRIBUTION: "bars in the figures of pdp",
    ids.REDUNDANCY_PARTNER: "a column in the table of redundancy",
    ids.CID_COVER: "its sets are the partners in the tables of cover",
    ids.PFI_DELTA: "the changes of single rows stay in the evidence",
    ids.SUPPORT_ROWS: "a number per row stays in the evidence, as its section says",
}
# results that several sections show, and why
SHARED = {
    ids.PFI: "by the role of the measure, feature by feature as a map, beside corrected importance, and in rankings",
    ids.CALIBRATION: "scores among the outcomes, tests with the quality of the uncertainty",
}
CITING = {"summary", "findings"}  # chapters that only cite


@pytest.fixture(params=SAMPLES, ids=lambda path: path.parent.name)
def sample(request: pytest.FixtureRequest, undrawn: None) -> tuple[tuple[Result, ...], Document]:
    """The results of a sample run, and its report without figures."""
    run, _ = store.read(request.param)
    return run.results, document(run)


def places(whole: Document) -> Iterator[tuple[str, str]]:
    """Yield each result that a table or figure shows, with the section of a chapter it stands in."""
    for chapter in whole.sections:
        for part in () if chapter.id in CITING else (replace(chapter, sections=()), *chapter.sections):
            yield from {(b.evidence, part.id) for b in all_blocks(part) if isinstance(b, Table | Figure) and b.evidence}


def test_every_result_with_numbers_is_shown_and_in_one_section(sample: tuple[tuple[Result, ...], Document]) -> None:
    results, whole = sample
    numbers = {result.id for result in results if len(result.frame) or len(result.estimates)}
    shown = list(places(whole))
    assert numbers - {evidence for evidence, _ in shown} == numbers & set(ELSEWHERE)
    for key in numbers - set(ELSEWHERE) - set(SHARED):
        assert len([place for evidence, place in shown if evidence == key]) == 1, key


def test_what_a_section_shows_is_not_told_by_its_kind_as_well(sample: tuple[tuple[Result, ...], Document]) -> None:
    _, whole = sample
    by_kind = [part.id for part in sections(whole) if part.id.startswith("result-")]
    libraries = {
        ids.SHAP,
        ids.SHAP_IMPORTANCE,
        ids.DALEX_PARTS,
        ids.DALEX_PERFORMANCE,
        ids.DALEX_PROFILE,
        ids.DALEX_ROWS,
    }
    assert sorted(by_kind) == sorted(f"result-{key}" for key in libraries)
