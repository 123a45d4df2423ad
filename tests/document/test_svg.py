"""SVG: small, the same bytes each time, text as text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from uq_report.document.plots import style
from uq_report.document.plots.picture import to_svg

SVG = "{http://www.w3.org/2000/svg}"


def curves(n: int = 30) -> Figure:
    """A figure with a bundle, markers, text, and what goes beyond its panel."""
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 20)
    with style.drawing(2.5) as figure:
        axes = style.plain(figure.subplots(), "both")
        axes.plot(*style.bundle([x] * n, rng.normal(size=(n, 20)).cumsum(axis=1)), linewidth=0.5)
        axes.plot(x, np.sin(x), "o")
        axes.plot(x, x, "|", color="#ff0000")
        axes.set(xlabel="strength <b> & Größe", ylabel="turned", ylim=(-2, 2))
    return figure


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert to_svg(curves()) == to_svg(curves())


def test_the_callers_settings_come_back_and_keep_text_as_text() -> None:
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": None}):
        assert to_svg(curves()) == to_svg(curves())
        assert mpl.rcParams["svg.fonttype"] == "path"
    assert b"Gr\xc3\xb6\xc3\x9fe" in to_svg(curves())


def test_a_style_sheet_of_the_user_reaches_the_page() -> None:
    with mpl.rc_context({"font.family": ["Liberation Serif"], "axes.labelcolor": "#123456"}):
        text = to_svg(curves()).decode()
    assert "'Liberation Serif', 'DejaVu Sans'" in text
    assert 'fill="#123456"' in text
    assert "#123456" not in to_svg(curves()).decode()


def test_nothing_needless_is_kept() -> None:
    text = to_svg(curves()).decode()
    for gone in ("<?xml", "DOCTYPE", "metadata", "matplotlib", "xlink", "<image", "script", "<!--", "style="):
        assert gone not in text
    assert "strength &lt;b&gt; &amp; Größe" in text


def test_every_reference_has_its_target_and_coordinates_are_short() -> None:
    text = to_svg(curves()).decode()
    root = ET.fromstring(text)
    ids = {element.get("id") for element in root.iter()} - {None}
    values = [value for element in root.iter() for value in element.attrib.values()]
    assert {name for value in values for name in re.findall(r"#(i\d+)", value)} == ids
    assert not re.search(r"\d\.\d\d", "".join(path.attrib["d"] for path in root.iter(f"{SVG}path")))
    assert len(text) < 40_000


def test_marks_of_one_look_have_it_once() -> None:
    root = ET.fromstring(to_svg(curves()))
    marks = [group for group in root.iter(f"{SVG}g") if len(group) == 20]
    assert [{frozenset(mark.keys()) for mark in group} for group in marks] == [{frozenset(("href", "x", "y"))}] * 2
    assert [bool(group.get("fill")) for group in marks] == [True, True]


def test_a_page_can_read_values_off() -> None:
    figure = curves()
    (frame,) = json.loads(ET.fromstring(to_svg(figure)).attrib["data-axes"])
    assert frame["x"][0] == "strength <b> & Größe"
    assert frame["y"] == ["turned", -2.0, 2.0]
    left, top, right, bottom = frame["box"]
    assert 0 < left < right <= 468
    assert 0 <= top < bottom < 180


def test_axes_with_names_or_logarithms_say_no_range() -> None:
    with style.drawing(2.0, width=3.0) as figure:
        left, right = figure.subplots(1, 2)
        left.set(xlim=(0, 72), ylim=(0.25, 0.5), xlabel="cost in \\$", xticks=(0, 36))
        right.set_xscale("log")
        right.set_yticks([0, 1], ["age", "sex"])
    (frame,) = json.loads(str(ET.fromstring(to_svg(figure)).get("data-axes")))
    assert (frame["x"], frame["y"]) == (["cost in $", 0, 72], ["", 0.25, 0.5])


def test_a_centred_text_stands_around_its_place_in_every_font() -> None:
    root = ET.fromstring(to_svg(curves()))
    centred = next(text for text in root.iter(f"{SVG}text") if text.text == "strength <b> & Größe")
    assert centred.get("text-anchor") == "middle"
    turned = next(text for text in root.iter(f"{SVG}text") if text.text == "turned")
    assert turned.attrib["transform"].startswith("rotate(-90 ")


def test_a_picture_and_a_pattern_are_kept() -> None:
    with style.drawing(2.0) as figure:
        axes = figure.subplots()
        axes.imshow([[0.0, 1.0]])
        axes.bar([0], [1], hatch="//")
    text = to_svg(figure).decode()
    assert "<image" in text
    name = re.findall(r'fill="url\(#(\w+)\)"', text)[0]
    assert f'<pattern id="{name}"' in text or re.search(rf'<pattern [^>]*id="{name}"', text)
