"""Lengths that are resolved once for each style leave every byte as it was."""

from __future__ import annotations

from typing import Any

import pytest

from uq_report.render.lengths import resolved
from uq_report.render.weasy import HTML, Box, inline

STYLE = "<style>@page { size: 300px 400px } p, td { padding: 2px 1em; max-width: 250px; border: 1px solid red }</style>"
PAGES = {
    "lengths": "<p>One <b>of</b> two lines of this page.<p>Two <b>of</b> two.<table><tr><td>a<td>b<tr><td>c</table>",
    "percentages": "".join(
        f"<div style='width: {width}px'><p class=a>x <b>y</b><table class=a><tr><td class=a>z</table></div>"
        for width in (100, 200)
    ),
    "formulas": "".join(f"<div style='width: {width}px'><p class=c>x</div>" for width in (100, 200)),
    "common borders": "<table style='border-collapse: collapse'><tr><td>a<td style='border: 4px solid'>b</table>",
    "places": "<ul><li>a<li>b</ul><p>x<b style='position: absolute; top: 3px'>y</b><b style='float: right'>z</b>",
    "corners": "<p class=r>x<p class=r style='width: 50px'>y<p>z",
    "margins": "<style>@page { @top-left { content: 'a' } @left-top { content: 'b'; width: 50% } }</style>",
    "unnamed": "<p>x<b style='display: table-cell; padding: 3px'>y</b><table style='margin: 9px'><tr><td>a</table>",
    "unnamed, common borders": "<div style='border-collapse: collapse'>x<i style='display: table-row'>y</i></div><p>z",
    "heights": "".join(f"<div style='height: {height}'><p class=h>x</div>" for height in ("auto", "40px", "80px")),
}
CLASSES = (
    "<style>.a { width: 50%; padding: 5%; margin: 3% } .c { width: calc(50% + 3px) } .h { height: 50% }"
    ".r { border-radius: 10% 2px }</style>"
)


@pytest.mark.parametrize("text", PAGES.values(), ids=PAGES.keys())
def test_pages_are_the_same_bytes(text: str) -> None:
    page = f"<html lang=en><title>T</title>{STYLE}{CLASSES}<body>{text}"
    plain = HTML(string=page).write_pdf(uncompressed_pdf=True)
    with resolved():
        assert HTML(string=page).write_pdf(uncompressed_pdf=True) == plain


def test_lengths_are_resolved_once_for_each_style(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    whole = inline.resolve_percentages

    def counted(box: Any, around: Any) -> None:
        calls.append(box)
        whole(box, around)

    monkeypatch.setattr(inline, "resolve_percentages", counted)
    for classes, expected in (("", 1), (" class=a", 3)):
        calls.clear()
        with resolved():
            HTML(string=f"{CLASSES}<p>{f'<b{classes}>x</b>' * 3}").render()
        assert sum(box.element_tag == "b" and bool(getattr(box, "children", ())) for box in calls) == expected


def test_lengths_of_lines_are_resolved_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    whole = inline.resolve_percentages

    def counted(box: Any, around: Any) -> None:
        calls.append(type(box).__name__)
        whole(box, around)

    monkeypatch.setattr(inline, "resolve_percentages", counted)
    lines = "".join(f"<p style='width: {width}px'>x" for width in (50, 60, 70))
    for once in (False, True):
        calls.clear()
        if once:
            with resolved():
                HTML(string=lines).render()
        else:
            HTML(string=lines).render()
        assert calls.count("LineBox") == (1 if once else 3)


def test_whether_a_box_is_in_the_flow_is_asked_once_for_each_style(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    plain = Box.is_in_normal_flow

    def counted(box: Any) -> bool:
        calls.append(id(box.style))
        return bool(plain(box))

    monkeypatch.setattr(Box, "is_in_normal_flow", counted)
    with resolved():
        document = HTML(string=PAGES["places"]).render()
    assert document.pages
    assert len(calls) == len(set(calls))
