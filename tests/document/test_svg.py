"""SVG: small, the same bytes each time, nothing moved by more than half a digit."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from uq_report.document.plots import style
from uq_report.document.plots.svg import compact, relative, to_svg

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


def absolute(d: str) -> list[tuple[str, list[float]]]:
    """Read a path with relative or absolute commands into absolute points, by the SVG rules alone."""
    out: list[tuple[str, list[float]]] = []
    here = start = np.zeros(2)
    for command, body in re.findall(r"([MLQCZmlhvqcz])([^MLQCZmlhvqcz]*)", d):
        numbers = [float(t) for t in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", body)]
        if command in "hv":
            numbers = [c for t in numbers for c in ((t, 0.0) if command == "h" else (0.0, t))]
        letter = "l" if command in "hv" else command
        step = {"m": 2, "l": 2, "q": 4, "c": 6, "z": 0}[letter.lower()]
        if step == 0:
            out.append(("z", []))
            here = start
        for k in range(0, len(numbers), step or 1):
            points = np.array(numbers[k : k + step]).reshape(-1, 2) + (here if letter.islower() else 0)
            here = points[-1]
            start = here if letter.lower() == "m" else start
            out.append((letter.lower(), points.ravel().tolist()))
    return out


def test_no_point_moves_by_more_than_half_of_the_last_digit() -> None:
    raw = (
        "M 1 2 L 3 2 L 3 5 L 3 5.4 L 9 5.4 z "
        "M 10.04 20.06 L 30.123 40.987 L -5.55 0.04 C 1.11 2.22 3.33 4.44 5.55 6.66 z M 1 1 L 2.25 1000.75 Q 1 2 3 4"
    )
    before, after = absolute(raw), absolute(relative(raw, 1))
    assert [c for c, _ in before] == [c for c, _ in after]
    for (_, a), (_, b) in zip(before, after, strict=True):
        assert np.allclose(a, b, atol=0.05 + 1e-9)


def test_rounding_errors_do_not_add_up_along_a_path() -> None:
    x = np.arange(2000) * 0.1449
    raw = "M " + " L ".join(f"{v:.6f} {-v:.6f}" for v in x)
    last = absolute(relative(raw, 1))[-1][1]
    assert last == pytest.approx([x[-1], -x[-1]], abs=0.05 + 1e-9)


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
    for gone in ("<?xml", "DOCTYPE", "metadata", "matplotlib", "xlink", "<image", "script", "<!--", "style=", "<use"):
        assert gone not in text
    assert "strength &lt;b&gt; &amp; Größe" in text
    assert "rotate(0 " not in text.replace("-0", "0")


def test_every_reference_has_its_target_and_only_what_goes_beyond_a_panel_is_cut() -> None:
    root = ET.fromstring(to_svg(curves()))
    ids = {element.get("id") for element in root.iter()} - {None}
    cut = [element for element in root.iter() if "clip-path" in element.attrib]
    assert {element.attrib["clip-path"] for element in cut} == {f"url(#{name})" for name in ids}
    assert [element.get("stroke-width") for element in cut] == ["0.5"]


def test_a_bundle_of_curves_and_the_marks_of_a_line_are_one_path_each_and_small() -> None:
    paths = list(ET.fromstring(to_svg(curves(60))).iter(f"{SVG}path"))
    bundles = [path for path in paths if path.get("stroke-width") == "0.5"]
    marks = [path for path in paths if path.get("stroke") == "#f00"]
    assert len(bundles) == 1
    assert [path.attrib["d"].count("M") for path in marks] == [20]
    grid = [path for path in paths if path.get("stroke") == style.GRID]
    assert len(grid) == 2
    assert len(to_svg(curves(60))) < 20_000


def test_it_is_half_of_what_matplotlib_writes() -> None:
    buffer = io.BytesIO()
    with style.context():
        curves(60).savefig(buffer, format="svg")
    assert len(compact(buffer.getvalue(), "serif")) < 0.5 * len(buffer.getvalue())


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
    anchored = {text.text: group for group in root.iter(f"{SVG}g") for text in group.iter(f"{SVG}text")}
    assert anchored["strength <b> & Größe"].get("text-anchor") == "middle"
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
