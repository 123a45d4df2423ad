"""The measure of a report's form sees pages, words, figures and white, and the largest samples keep the budgets."""

from __future__ import annotations

from pathlib import Path

import pytest

import uq_report as uq

from . import samples
from .budgets import BUDGETS, Measures, measure


def printed(pages: list[list[tuple[float, str]]], contents: list[tuple[int, str, int]]) -> bytes:
    """Return a PDF with texts at heights in points, of pages 842 high, and an outline."""
    pymupdf = pytest.importorskip("pymupdf", reason="reading a PDF needs PyMuPDF")
    made = pymupdf.open()
    for lines in pages:
        page = made.new_page(width=595, height=842)
        for height, text in lines:
            page.insert_text((60, height), text)
    made.set_toc([list(entry) for entry in contents])
    return bytes(made.tobytes())


def test_words_figures_pages_and_white_are_those_between_the_margins_before_the_appendix() -> None:
    head, foot = (30.0, "A running head"), (830.0, "Page 1 of 4")
    full = [head, (100.0, "1 Findings – three words"), (780.0, "Figure 2 Last"), foot]
    half = [head, (425.0, "Figure 1 Half"), foot]
    pages = [full, half, [(400.0, "A Rules")], [(100.0, "B Methods")]]
    contents = [(1, "A report", 1), (2, "1 Findings", 1), (2, "A Rules", 3), (2, "B Methods", 4)]
    found = measure(printed(pages, contents))
    assert (found.pages, found.words, found.figures, found.appendix) == (2, 10, 2, 2)
    assert found.whitest == pytest.approx(100 * (1 - (400 - 57) / (842 - 57 - 48)), abs=1.5)
    assert found.white == pytest.approx(found.whitest / 2, abs=1.5)


@pytest.mark.parametrize("what", BUDGETS)
def test_a_budget_is_exceeded_above_it_and_not_at_it(what: str) -> None:
    at = Measures(**BUDGETS)  # type: ignore[arg-type] # budgets of whole numbers are written as such
    assert at.exceeded == []
    assert Measures(**{**BUDGETS, what: BUDGETS[what] + 1}).exceeded[0].startswith(what)  # type: ignore[arg-type] # as above


@pytest.mark.minute
@pytest.mark.parametrize("name", ["credit", "faulty"])
def test_a_sample_keeps_the_budgets(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pymupdf", reason="reading a PDF needs PyMuPDF")
    file = tmp_path / "report.pdf"
    uq.load(samples.unpacked() / name / "run.json").save(file)
    assert measure(file.read_bytes()).exceeded == []
