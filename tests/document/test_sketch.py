"""Sketches: each figure's SVG for pages against the same figure by matplotlib, which knows nothing of them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from uq_report.document.blocks import svg_of
from uq_report.document.plots import metrics, style
from uq_report.document.plots.sketch import Sketch, frame, shapes
from uq_report.document.plots.sketch.scale import STEPS, Scale, numerals
from uq_report.document.plots.svg import to_svg
from uq_report.render.inline import inline
from uq_report.runner import figures

from . import results

SVG = "{http://www.w3.org/2000/svg}"
EVERY = [*results.every_kind(), *results.every_id(), results.surface()]


def profile_with_companions() -> Figure:
    others = [results.profile(), results.own(), results.distribution()]
    return figures.draw(others[0], others=others)


DRAWN: list[tuple[str, Callable[[], Figure]]] = [
    *((f"{k} {result.id}", lambda result=result: figures.draw(result)) for k, result in enumerate(EVERY)),
    ("profile with companions", profile_with_companions),
]


def sketched(draw: Callable[[], Figure]) -> Sketch:
    with style.sketching():
        made: object = draw()
    assert isinstance(made, Sketch)
    return made


def words(svg: bytes) -> Counter[str]:
    return Counter(text.text for text in ET.fromstring(svg).iter(f"{SVG}text") if text.text)


def scales(svg: bytes) -> list[dict[str, list[float]]]:
    return list(json.loads(str(ET.fromstring(svg).get("data-axes", "[]"))))


@pytest.mark.parametrize(("name", "draw"), DRAWN, ids=[name for name, _ in DRAWN])
def test_a_sketch_says_what_matplotlib_says_on_the_same_axes(name: str, draw: Callable[[], Figure]) -> None:
    """Every text, tick, axis name and range is that of matplotlib; panels are where its layout puts them, nearly."""
    ours, theirs = sketched(draw).svg("x"), to_svg(draw())
    assert words(ours) == words(theirs), name
    pairs = list(zip(scales(ours), [s for s in scales(theirs) if s], strict=False))
    for mine, other in pairs:
        for axis in "xy":
            assert (axis in mine) == (axis in other)
            if axis in mine:
                assert mine[axis][0] == other[axis][0]
                assert mine[axis][1:] == pytest.approx(other[axis][1:], rel=1e-4, abs=1e-9)
        assert mine["box"] == pytest.approx(other["box"], abs=12)


@pytest.mark.parametrize(("name", "draw"), DRAWN, ids=[name for name, _ in DRAWN])
def test_every_text_stays_on_the_figure_and_every_figure_goes_into_a_page(
    name: str, draw: Callable[[], Figure]
) -> None:
    figure = sketched(draw)
    assert inline(figure.svg("x"), "f", "What it shows.") is not None, name
    width, height = 72 * figure.get_size_inches()
    for axes, place in zip(figure.axes, figure._places, strict=True):
        for text in frame.texts(axes, place, figure.sizes) if axes.visible else ():
            box = text.box
            assert min(box.left, box.top) > -1.5, text
            assert (box.right, box.bottom) < (width + 1.5, height + 1.5), text


def test_the_same_sketch_gives_the_same_bytes_whatever_the_caller_set() -> None:
    expected = svg_of(profile_with_companions)
    with mpl.rc_context({"font.size": 20.0, "axes.unicode_minus": False, "lines.linewidth": 9.0}):
        assert svg_of(profile_with_companions) == expected
    assert isinstance(profile_with_companions(), Figure)


def polar() -> Figure:
    figure = style.new_figure(2.0)
    figure.subplots().imshow([[0, 1]])
    return figure


def stepped() -> Figure:
    figure = style.new_figure(2.0)
    figure.subplots().plot([0, 1], [0, 1], drawstyle="steps")
    return figure


@pytest.mark.parametrize("draw", [polar, stepped])
def test_what_a_sketch_has_not_is_drawn_by_matplotlib(draw: Callable[[], Figure]) -> None:
    with style.sketching(), pytest.raises((AttributeError, NotImplementedError)):
        draw()
    assert svg_of(draw) == to_svg(draw())


@pytest.mark.parametrize("seed", range(60))
def test_numbers_on_axes_are_written_as_matplotlib_writes_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = float(rng.normal() * 10.0 ** rng.integers(-7, 7))
    high = low + float(rng.gamma(1) * 10.0 ** rng.integers(-7, 7))
    places = MaxNLocator(6, steps=STEPS).tick_values(low, high)
    theirs = ScalarFormatter(useOffset=False, useMathText=False)
    theirs.set_powerlimits((-4, 5))
    theirs.create_dummy_axis()
    assert theirs.axis is not None
    theirs.axis.set_view_interval(low, high)
    with mpl.rc_context({"axes.unicode_minus": True}):
        expected = theirs.format_ticks(list(places))
        power = theirs.get_offset().replace("-", "−")
    assert numerals(list(places), (low, high)) == (expected, power)


@pytest.mark.parametrize("sticky", [False, True])
def test_ranges_are_those_of_matplotlib(sticky: bool) -> None:
    scale, axes = Scale(), Figure().subplots()
    values = [3.0, float("nan"), 7.5]
    scale.hold(values)
    axes.plot([1, 2, 3], values)
    if sticky:
        scale.hold([0.0])
        scale.sticky.add(0.0)
        axes.bar([1, 2, 3], values)
    assert scale.limits == pytest.approx(axes.get_ylim())
    scale.set_limits(None, 20)
    axes.set_ylim(top=20)
    assert scale.limits == pytest.approx(axes.get_ylim())


def test_an_empty_range_and_one_of_a_single_value_are_open() -> None:
    scale = Scale()
    assert scale.limits[0] < scale.limits[1]
    scale.hold([2.0])
    assert scale.limits[0] < 2.0 < scale.limits[1]


@pytest.mark.parametrize("text", ["0.00", "negative log-likelihood (nats)", "Größe ≥ 3 WAVE", "I(X; Y)"])
@pytest.mark.parametrize("bold", [False, True])
def test_text_is_as_wide_as_matplotlib_measures_it_but_for_kerning(text: str, bold: bool) -> None:
    font = FontProperties(family=["DejaVu Sans"], size=8, weight=700 if bold else 400)
    width = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    assert metrics.width(text, 8, bold) == pytest.approx(width, rel=0.04)


@pytest.mark.parametrize("marker", sorted(shapes.KNOWN - {"x", "|", "_", "o"}))
def test_marks_are_closed_shapes_around_their_points(marker: str) -> None:
    path = shapes.marks(marker, np.array([10.0, 50.0]), np.array([20.0, 20.0]), 6.0)
    assert path.count("z") == path.count("m") == 2
    first = [float(n) for n in re.findall(r"-?\d*\.?\d+", path.partition("z")[0])]
    assert abs(first[0] - 10) <= 4.5
    assert abs(first[1] - 20) <= 4.5


def test_data_beyond_the_range_is_cut_off_and_no_other() -> None:
    def draw(top: float) -> Callable[[], Figure]:
        def make() -> Figure:
            figure = style.new_figure(2.0)
            axes = style.plain(figure.subplots())
            axes.plot([0, 1], [0, 5])
            axes.set_ylim(0, top)
            return figure

        return make

    assert b"clip-path" in sketched(draw(4.0)).svg("x")
    assert b"clip-path" not in sketched(draw(5.0)).svg("x")


def test_a_key_takes_as_many_columns_as_have_room() -> None:
    def make() -> Figure:
        figure = style.new_figure(2.0)
        figure.subplots()
        style.key(
            figure, [style.line("a long label " * 5), style.patch("another one " * 5, color="#000000")], columns=2
        )
        return figure

    assert len(sketched(make)._key.rows(468)) == 1
