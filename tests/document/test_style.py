"""One look: readable for colour-blind readers and in greyscale, safe for outside names."""

from __future__ import annotations

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from uq_report.core.model.results import MeasureFacts
from uq_report.document.plots import style
from uq_report.document.plots.frames import axis_label, number, words


def luminance(color: str) -> float:
    """Relative luminance of WCAG 2."""
    c = np.array(to_rgb(color))
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("color", [style.INK, style.MUTED, *style.ROLE.values()])
def test_colours_that_text_is_written_in_have_enough_contrast(color: str) -> None:
    assert contrast(color, "white") >= 4.5


def test_the_first_two_classes_differ_in_greyscale_and_in_every_other_sign() -> None:
    assert contrast(style.CLASSES[0], style.CLASSES[1]) >= 2.5
    assert style.class_style(0)["linestyle"] != style.class_style(1)["linestyle"]
    assert len(set(style.MARKERS)) == len(style.MARKERS) == len(style.CLASSES)


def test_levels_of_a_surface_grow_darker_evenly() -> None:
    steps = [luminance(a) ** 0.5 - luminance(b) ** 0.5 for a, b in pairwise(style.LEVELS)]
    assert min(steps) > 0.02


def test_names_are_never_read_as_mathematics_and_hold_only_drawable_characters() -> None:
    with style.drawing(1.0) as figure:
        text = figure.text(0, 0, style.name("$\\frac{1}{0}$ 中\u202e\x1b[31m" + "a" * 10_000))
        figure.canvas.draw()
    shown = text.get_text()
    assert "\\$" in shown
    assert "\u202e" not in shown
    assert len(shown) < 80


def test_settings_hold_inside_the_context_only() -> None:
    before = dict(mpl.rcParams)
    with style.context():
        assert mpl.rcParams["svg.fonttype"] == "none"
    assert dict(mpl.rcParams) == before


def test_what_a_user_sets_replaces_our_look_and_nothing_that_the_report_needs() -> None:
    with mpl.rc_context({"font.family": ["DejaVu Serif"], "axes.linewidth": 2.0, "svg.fonttype": "path"}):
        with style.context():
            assert mpl.rcParams["axes.linewidth"] == 2.0
            assert mpl.rcParams["axes.edgecolor"] == style.MUTED
            assert mpl.rcParams["svg.fonttype"] == "none"
            assert style.fonts().startswith("'DejaVu Serif', 'DejaVu Sans'")
        assert mpl.rcParams["svg.fonttype"] == "path"


def test_a_key_takes_as_many_columns_as_have_room() -> None:
    samples = [style.line("a long label " * 5), style.patch("another one " * 5, color="#000000")]
    with style.drawing(2.0) as figure:
        axes = figure.subplots()
        style.key(figure, samples, columns=2)
    (legend,) = figure.legends
    assert legend.get_window_extent().width <= figure.bbox.width
    room = axes.get_tightbbox()
    assert room is not None
    assert not legend.get_window_extent().overlaps(room)


def test_a_key_names_what_is_drawn_once_and_every_sample_that_has_words() -> None:
    figure = Figure()
    for axes in figure.subplots(1, 2):
        axes.plot([0, 1], [0, 1], label="mean")
        axes.plot([0, 1], [1, 0])
    style.key(figure, [style.line("cut"), style.patch("cut"), style.line("")])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mean", "cut", "cut"]


def test_bundle_and_segments_leave_gaps() -> None:
    x, y = style.bundle([[0, 1], [0, 1]], [[5, 6], [7, 8]])
    assert np.array_equal(x, [0, 1, np.nan, 0, 1, np.nan], equal_nan=True)
    assert np.array_equal(y, [5, 6, np.nan, 7, 8, np.nan], equal_nan=True)
    axes = Figure().subplots()
    style.segments(axes, [1, 2], [3, 4], [0, 9])
    x, y = axes.lines[0].get_data()
    assert np.array_equal(x, [1, 3, np.nan, 2, 4, np.nan], equal_nan=True)
    assert np.array_equal(y, [0, 0, np.nan, 9, 9, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0999999, "0.100"),
        (999.9, "1000"),
        (-12.345, "−12.3"),
        (1e6, "1\u202f000\u202f000"),
        (1e7, "1.00×10⁷"),
        (-2.5e-9, "−2.50×10⁻⁹"),
    ],
)
def test_numbers_have_three_digits_and_real_minus_signs(value: float, text: str) -> None:
    assert number(value) == text


def test_axes_take_their_words_from_what_a_result_records() -> None:
    measures = {"nll": MeasureFacts("loss (clipped)", "bits", "loss"), "gini": MeasureFacts("Gini", "", "uncertainty")}
    assert axis_label("nll", measures) == "loss (clipped), bits"
    assert (axis_label("gini", measures), words("gini", measures).role) == ("Gini", "uncertainty")
    assert axis_label("unknown_measure", measures) == "unknown measure"
