"""Figures in the page: plain shapes alone, ids of their own, and colours that are seen on a dark page."""

from __future__ import annotations

import re

import pytest

from uq_report.document.plots import style
from uq_report.render.environment import templates_dir
from uq_report.render.filters import DARK, inline

SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'


def drawn(inner: str) -> str | None:
    return inline(SVG.format(inner).encode(), "map", 'A "line" <b>')


def test_a_figure_is_heard_as_its_text_with_ids_of_its_own() -> None:
    clip = '<defs><clipPath id="i0"><rect width="9"/></clipPath></defs><g clip-path="url(#i0)"><use href="#i1"/></g>'
    shown = drawn(f'{clip}<text fill="#1f2328">a &lt; b &amp; c</text>')
    assert shown is not None
    assert shown.startswith('<svg role="img" aria-label="A &quot;line&quot; &lt;b&gt;"><defs><clipPath id="map-i0">')
    assert 'clip-path="url(#map-i0)"' in shown
    assert '<use href="#map-i1"/>' in shown
    assert "a &lt; b &amp; c</text>" in shown


@pytest.mark.parametrize(
    "inner",
    [
        "<script>alert(1)</script>",
        '<path onclick="alert(1)"/>',
        '<path style="fill:red"/>',
        '<path fill="url(https://example.org/x)"/>',
        '<path class="banner"/>',
        '<use href="https://example.org/x.svg#a"/>',
        '<use href="data:image/svg+xml,x"/>',
        '<use xlink:href="#a"/>',
        '<g clip-path="url(https://example.org/x)"/>',
        "<foreignObject/>",
        '<image href="data:image/png;base64,AA"/>',
        '<a href="#x"/>',
        "<!-- comment -->",
        "<path>",
    ],
)
def test_anything_but_plain_shapes_stays_an_image(inner: str) -> None:
    assert drawn(inner) is None
    assert drawn("<path/>") is not None


def test_colours_that_mean_values_stay_on_paper() -> None:
    assert 'class="paper"' not in str(drawn('<path fill="#fff" stroke="none"/>'))
    assert 'class="paper"' in str(drawn(f'<path fill="{style.LEVELS[3]}"/>'))


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_colour_of_a_figure_is_seen_on_a_dark_page() -> None:
    """WCAG 2.2: text 4.5, what tells things apart 3; a grid and a band only help the eye."""
    colours = (templates_dir() / "css" / "colours.css").read_text().split("@media")[1]
    dark = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", colours))["page"]
    assert DARK["#fff"] == dark
    for text in (style.INK, style.MUTED):
        assert contrast(DARK[text], dark) >= 4.5
    for line in (*style.ROLE.values(), *style.CLASSES, style.SPREAD):
        assert contrast(DARK[line], dark) >= 3, line
    for mark in (style.GRID, style.BAND):
        assert 1.1 < contrast(DARK[mark], dark) < 3
