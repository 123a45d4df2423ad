"""The drawn report: small figures, safe text, equal bytes."""

from __future__ import annotations

import pytest

from uq_report.report.assemble import document
from uq_report.report.document import Figure

from . import reading
from .synthetic import Case, make_run


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    made = document(make_run(Case(names=("<b>$x$</b>", "b\u202e\x1b[31m", "中"))))
    return [block for block in reading.blocks(made) if isinstance(block, Figure)]


def test_figures_are_vector_small_and_safe(figures: list[Figure]) -> None:
    assert len(figures) > 15
    for figure in figures:
        text = figure.svg.decode()
        assert text.startswith("<svg")
        assert len(figure.svg) < 60_000
        for forbidden in ("<image", "<script", "http://", "\x1b", "\u202e", "中"):
            assert forbidden not in text.replace("http://www.w3.org/2000/svg", "")
    assert any("&lt;b&gt;$x$&lt;/b&gt;" in figure.svg.decode() for figure in figures)
