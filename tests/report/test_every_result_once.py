"""Every result of the sample runs stands in the whole report, at most once in front and once in the appendix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from uq_report.core.model.results import Result
from uq_report.document.document import Document, Figure, Table, inside
from uq_report.evidence import ids
from uq_report.report.assemble import document

from .. import samples
from .reading import all_blocks

SAMPLES = sorted(samples.unpacked().glob("*/run.json"))
# results that no table or figure shows by itself, and where they are
ELSEWHERE = {
    ids.PDP_OWN: "marks in the figures of pdp",
    ids.PDP_DISTRIBUTION: "bars in the figures of pdp",
    ids.PFI_DELTA: "the changes of single rows stay in the evidence",
    ids.SEGMENTS_ROWS: "attached, as the section of segments says",
    ids.SUPPORT_ROWS: "a number per row stays in the evidence",
}
# results that several sections show, and why
SHARED = {
    ids.PFI: "by the role of the measure, feature by feature as a map, beside corrected importance, and in rankings",
    ids.CALIBRATION: "scores among the outcomes, tests with the quality of the uncertainty",
}
CITING = {"answer", "findings"}  # chapters that only cite


@pytest.fixture(params=SAMPLES, ids=lambda path: path.parent.name)
def sample(request: pytest.FixtureRequest, undrawn: None) -> tuple[tuple[Result, ...], Document]:
    """The results of a sample run, and its report with all of the appendix, without figures."""
    return reported(request.param)


@cache
def reported(path: Path) -> tuple[tuple[Result, ...], Document]:
    run = samples.read(path)
    return run.results, document(run, appendix="full")


def places(whole: Document, *, appendix: bool) -> Iterator[tuple[str, str]]:
    """Yield each result that a table or figure shows, with where: the chapter in front, its section in the appendix."""
    for chapter in whole.sections:
        if chapter.appendix is not appendix or chapter.id in CITING:
            continue
        for part in (replace(chapter, sections=()), *chapter.sections) if appendix else (chapter,):
            yield from {
                (b.evidence, part.id) for b in inside(all_blocks(part)) if isinstance(b, Table | Figure) and b.evidence
            }


def test_every_result_with_numbers_is_shown(sample: tuple[tuple[Result, ...], Document]) -> None:
    results, whole = sample
    numbers = {result.id for result in results if len(result.frame) or len(result.estimates)}
    shown = {evidence for appendix in (False, True) for evidence, _ in places(whole, appendix=appendix)}
    shifted_only = {ids.SUPPORT_DISTRIBUTION}  # drawn for the features that differ between the samples
    assert numbers - shown - shifted_only == numbers & set(ELSEWHERE)


@pytest.mark.parametrize("appendix", [False, True], ids=["front", "appendix"])
def test_no_result_is_shown_twice_in_a_part(sample: tuple[tuple[Result, ...], Document], appendix: bool) -> None:
    _, whole = sample
    often = Counter(evidence for evidence, _ in places(whole, appendix=appendix) if evidence not in SHARED)
    assert {key: times for key, times in often.items() if times > 1} == {}


def test_no_table_or_figure_of_the_front_part_stands_in_the_annex(
    sample: tuple[tuple[Result, ...], Document],
) -> None:
    """Their captions would tell it: ids are unique anyway."""
    _, whole = sample
    captions = [
        {
            b.caption
            for s in whole.sections
            if s.appendix is appendix
            for b in inside(all_blocks(s))
            if isinstance(b, Table | Figure)
        }
        for appendix in (False, True)
    ]
    assert captions[0] & captions[1] == set()
