"""SVG: small, the same bytes each time, nothing moved by more than half a digit."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from uq_report.plots import style
from uq_report.plots.svg import _path, slim, to_svg

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
    for command, body in re.findall(r"([MLQCZmlqcz])([^MLQCZmlqcz]*)", d):
        numbers = [float(t) for t in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", body)]
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
    raw = "M 10.04 20.06 L 30.123 40.987 L -5.55 0.04 C 1.11 2.22 3.33 4.44 5.55 6.66 z M 1 1 L 2.25 1000.75 Q 1 2 3 4"
    before, after = absolute(raw), absolute(_path(raw, 1))
    assert [c for c, _ in before] == [c for c, _ in after]
    for (_, a), (_, b) in zip(before, after, strict=True):
        assert np.allclose(a, b, atol=0.05 + 1e-9)


def test_rounding_errors_do_not_add_up_along_a_path() -> None:
    x = np.arange(2000) * 0.1449
    raw = "M " + " L ".join(f"{v:.6f} {-v:.6f}" for v in x)
    last = absolute(_path(raw, 1))[-1][1]
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
    bundles = [path for path in paths if "stroke-width:0.5" in path.get("style", "")]
    assert len(bundles) == 1
    assert bundles[0].attrib["d"].count("m") == 60
    assert len(to_svg(curves(60))) < 20_000


def test_slimming_halves_what_matplotlib_writes() -> None:
    import io

    buffer = io.BytesIO()
    with style.context():
        curves(60).savefig(buffer, format="svg")
    assert len(slim(buffer.getvalue())) < 0.5 * len(buffer.getvalue())
