"""Rules of tables are rectangles where they are, and what is not bare is left to WeasyPrint."""

from __future__ import annotations

import re
from typing import Any

import pytest

from uq_report.render.borders import straight
from uq_report.render.weasy import HTML, background, draw

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


@pytest.mark.parametrize(
    ("style", "calls"),
    [
        ("color: red", 0),
        ("background: red", 3),
        ("background: red; visibility: hidden", 3),
        ("background-image: linear-gradient(red, blue)", 3),
        ("box-shadow: 1px 1px red", 3),
        ("border-image: linear-gradient(red, blue) 1 / 2px", 3),
        ("mask-border: linear-gradient(red, blue) 1 / 2px", 3),
        ("column-count: 2; column-rule: 1px solid red", 3),
        ("border: 1px dashed red", 0),
    ],
)
def test_what_is_bare_is_not_looked_at_and_every_byte_is_the_same(
    style: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes: list[Any] = []
    lay = background.layout_box_backgrounds

    def counted(page: Any, box: Any, *rest: Any, **options: Any) -> None:
        boxes.append(box)
        lay(page, box, *rest, **options)

    page = f"<html style='background: #eee'><style>p {{ {style} }}</style>{'<p>one<br>two<b>three</b></p>' * 3}"
    plain = HTML(string=page).write_pdf(uncompressed_pdf=True)
    monkeypatch.setattr(background, "layout_box_backgrounds", counted)
    with straight():
        assert HTML(string=page).write_pdf(uncompressed_pdf=True) == plain
    assert sum(box.element_tag == "p" for box in boxes) == calls


def test_weasyprint_is_left_as_it_was() -> None:
    before = draw.draw_border, background.layout_box_backgrounds
    with straight():
        assert draw.draw_border is not before[0]
        assert background.layout_box_backgrounds is not before[1]
    assert (draw.draw_border, background.layout_box_backgrounds) == before
