"""Rules of tables are rectangles where they are; other borders are left to WeasyPrint."""

from __future__ import annotations

import re

import pytest

from uq_report.render.borders import straight
from uq_report.render.weasy import HTML, draw

PAGE = (
    "<style>@page {{ size: 200px 100px; margin: 0 }} body {{ margin: 0 }} table {{ border-spacing: 0 }}"
    "td {{ width: 100px; height: 20px; padding: 0; {} }}</style><table><tr><td></td></tr></table>"
)


def drawn(style: str) -> tuple[list[list[float]], bool]:
    """Return the rectangles that are filled for a cell, and whether anything is cut out."""
    with straight():
        pdf = HTML(string=PAGE.format(style)).write_pdf(uncompressed_pdf=True)
    content = pdf[pdf.index(b"stream\n") : pdf.index(b"endstream")].decode("latin-1")
    boxes = re.findall(r"^(\S+) (\S+) (\S+) (\S+) re\nf$", content, re.MULTILINE)
    return [[float(number) for number in box] for box in boxes], "\nW" in content


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("border-bottom: 2px solid red", [[0, 20, 100, 2]]),
        ("border-top: 1px solid red; border-bottom: 3px solid blue", [[0, 0, 100, 1], [0, 21, 100, 3]]),
        ("border-left: 4px solid red", [[0, 0, 4, 20]]),
        ("border-right: 4px solid red", [[100, 0, 4, 20]]),
    ],
)
def test_a_solid_border_is_a_rectangle(style: str, expected: list[list[float]]) -> None:
    assert drawn(style) == (expected, False)


@pytest.mark.parametrize("style", ["border-bottom: 2px dashed red", "border-bottom: 2px solid red; border-radius: 3px"])
def test_other_borders_are_drawn_as_before(style: str) -> None:
    boxes, cut = drawn(style)
    assert not boxes
    assert cut


def test_nothing_is_drawn_for_a_hidden_cell() -> None:
    assert drawn("border-bottom: 2px solid red; visibility: hidden") == ([], False)


def test_weasyprint_is_left_as_it_was() -> None:
    before = draw.draw_border
    with straight():
        assert draw.draw_border is not before
    assert draw.draw_border is before
