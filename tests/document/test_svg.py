"""SVG: small, the same bytes each time, nothing moved by more than half a digit."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from uq_report.document.plots import style
from uq_report.document.plots.pathdata import moved, relative
from uq_report.document.plots.svg import slim, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def curves(n: int = 30) -> Figure:
    """A figure with everything slimming touches: a bundle, markers, text, a clip path."""
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 20)
    with style.context():
        figure = style.new_figure(2.5)
        axes = style.plain(figure.subplots(), "both")
        axes.plot(*style.bundle([x] * n, rng.normal(size=(n, 20)).cumsum(axis=1)), linewidth=0.5)
        axes.plot(x, np.sin(x), "o")
        axes.set_xlabel("strength <b> & Größe")
    return figure


def absolute(d: str) -> list[tuple[str, list[float]]]:
    """Read a path with relative or absolute commands into absolute points, by the SVG rules alone."""
    out: list[tuple[str, list[float]]] = []
    here = start = np.zeros(2)
    for letter, body in re.findall(r"([MLQCZmlhvqcz])([^MLQCZmlhvqcz]*)", d):
        numbers = [float(t) for t in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", body)]
        command = "l" if letter in "hv" else letter
        if letter in "hv":
            numbers = [c for t in numbers for c in ((t, 0.0) if letter == "h" else (0.0, t))]
        step = {"m": 2, "l": 2, "q": 4, "c": 6, "z": 0}[command.lower()]
        if step == 0:
            out.append(("z", []))
            here = start
        for k in range(0, len(numbers), step or 1):
            points = np.array(numbers[k : k + step]).reshape(-1, 2) + (here if command.islower() else 0)
            here = points[-1]
            start = here if command.lower() == "m" else start
            out.append((command.lower(), points.ravel().tolist()))
    return out


def test_slim_moves_no_point_by_more_than_half_of_the_last_digit() -> None:
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


def test_the_callers_settings_change_nothing_and_come_back() -> None:
    expected = to_svg(curves())
    with mpl.rc_context({"font.size": 20.0, "svg.fonttype": "path", "svg.hashsalt": None, "axes.grid": True}):
        assert to_svg(curves()) == expected
        assert mpl.rcParams["font.size"] == 20.0


def test_nothing_needless_is_kept() -> None:
    text = to_svg(curves()).decode()
    for gone in ("<?xml", "DOCTYPE", "metadata", "matplotlib", "xlink", "<image", "script", "<!--", 'id="axes'):
        assert gone not in text
    assert "strength &lt;b&gt; &amp; Größe" in text
    assert "rotate(0 " not in text.replace("-0", "0")


def test_every_reference_has_its_target() -> None:
    root = ET.fromstring(to_svg(curves()))
    ids = {element.get("id") for element in root.iter()} - {None}
    used = {element.get("href", "#")[1:] for element in root.iter(f"{SVG}use")}
    used |= {
        re.sub(r"url\(#(.*)\)", r"\1", element.attrib["clip-path"])
        for element in root.iter()
        if "clip-path" in element.attrib
    }
    assert used == ids
    assert used


def test_a_bundle_of_curves_is_one_path_and_small() -> None:
    paths = ET.fromstring(to_svg(curves(60))).iter(f"{SVG}path")
    bundles = [path for path in paths if path.get("stroke-width") == "0.5"]
    assert len(bundles) == 1
    assert bundles[0].attrib["d"].count("m") == 60
    assert len(to_svg(curves(60))) < 20_000


def test_slimming_halves_what_matplotlib_writes() -> None:
    import io

    buffer = io.BytesIO()
    with style.context():
        curves(60).savefig(buffer, format="svg")
    assert len(slim(buffer.getvalue())) < 0.5 * len(buffer.getvalue())


def drawn() -> ET.Element:
    """The slim SVG of a figure with ticks, a grid, bars at points, rotated and centred text."""
    with style.context():
        figure = style.new_figure(2.5)
        axes = style.plain(figure.subplots(), "both")
        axes.plot(range(9), range(9), "|", color="#ff0000", markersize=6)
        axes.plot(range(9), range(9), "o", color="#00ff00", alpha=0.5)
        axes.set(xlabel="centred below", ylabel="turned")
    return ET.fromstring(to_svg(figure))


def test_the_marks_of_an_axis_and_straight_marks_are_one_path_each() -> None:
    root = drawn()
    bars = [path for path in root.iter(f"{SVG}path") if path.get("stroke") == "#f00"]
    assert [path.attrib["d"].count("m") for path in bars] == [9]
    grid = [path for path in root.iter(f"{SVG}path") if path.get("stroke") == style.GRID]
    assert len(grid) == 2
    ticks = [path for path in root.iter(f"{SVG}path") if path.get("stroke") == style.MUTED and "v" in path.attrib["d"]]
    assert sum(path.attrib["d"].count("m") for path in ticks) >= grid[0].attrib["d"].count("m")


def test_marks_that_are_seen_through_one_another_stay_apart() -> None:
    root = drawn()
    assert len(list(root.iter(f"{SVG}use"))) == 9


def test_text_starts_where_an_anchor_would_put_it() -> None:
    """The middle of a centred text is that of the axes in every font: textLength says how long the text is."""
    root = drawn()
    assert "text-anchor" not in ET.tostring(root, encoding="unicode")
    texts = {text.text: text for text in root.iter(f"{SVG}text")}
    centred = texts["centred below"]
    (frame,) = root.iter(f"{SVG}rect")
    middle = float(frame.attrib["x"]) + float(frame.attrib["width"]) / 2
    assert float(centred.attrib["x"]) + float(centred.attrib["textLength"]) / 2 == pytest.approx(middle, abs=0.15)
    assert texts["turned"].attrib["transform"].startswith("rotate(-90 ")


def test_nothing_needs_a_style_sheet() -> None:
    root = drawn()
    assert not list(root.iter(f"{SVG}style"))
    assert not [element for element in root.iter() if "style" in element.attrib]
    assert root.get("stroke-linejoin") == "round"


def test_a_moved_path_is_the_same_path_elsewhere() -> None:
    d = "M 0 1.5 C 0.4 1.5 0.78 1.34 1.06 1.06 L 2 0 z"
    for (_, a), (_, b) in zip(absolute(d), absolute(moved(d, 10, -3)), strict=True):
        assert np.allclose(np.reshape(a, (-1, 2)) + np.array([10, -3]), np.reshape(b, (-1, 2)))


def test_axes_that_measure_say_where_they_are_and_what_they_span() -> None:
    figure = style.new_figure(2.0, width=3.0)
    left, right = figure.subplots(1, 2)
    left.set(xlim=(0, 72), ylim=(0.25, 0.5), xlabel="cost in \\$", xticks=(0, 36))
    right.set_xscale("log")
    right.set_yticks([0, 1], ["age", "sex"])
    right.set_xlabel("strength")
    (frame,) = json.loads(str(ET.fromstring(to_svg(figure)).get("data-axes")))
    assert (frame["x"], frame["y"]) == (["cost in $", 0, 72], ["", 0.25, 0.5])
    x0, y0, x1, y1 = frame["box"]
    assert 0 < x0 < x1 < 216
    assert 0 < y0 < y1 < 144
