"""The figure of a feature's sheet: a panel per measure, levels in rows, and no more levels than have room."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from uq_report.document.plots import style
from uq_report.document.plots.picture import to_svg
from uq_report.report import plots as sheet

ROLES = ("prediction", "loss", "uncertainty")
NONE = pd.DataFrame({"x": [], "value": []})


def points(values: list[float], levels: tuple[str, ...] = (), half: float = 0.1) -> pd.DataFrame:
    """An average along 0, 1, 2 ... or along levels, each point in an interval of this half width."""
    at = np.arange(len(values), dtype=float)
    ends = {"lower": np.array(values) - half, "upper": np.array(values) + half}
    return pd.DataFrame({"x": at, "level": levels or "", "estimate": values, **ends})


def panels(average: pd.DataFrame, roles: tuple[str, ...] = ROLES) -> list[sheet.SheetPanel]:
    return [sheet.SheetPanel(role, f"title of {role}", "nats", average, average.head(0)) for role in roles]


def counted(*numbers: float) -> pd.DataFrame:
    return pd.DataFrame({"x": np.arange(len(numbers), dtype=float), "value": numbers})


@pytest.mark.parametrize("roles", [ROLES[:1], ROLES[:2], ROLES])
@pytest.mark.parametrize("levels", [(), tuple("abcdefgh")], ids=["numbers", "levels"])
def test_there_is_a_panel_per_measure_and_one_for_the_rows(roles: tuple[str, ...], levels: tuple[str, ...]) -> None:
    average = points([0.1 * k for k in range(8)], levels)
    assert len(sheet.draw_sheet(panels(average, roles), NONE).axes) == len(roles)
    figure = sheet.draw_sheet(panels(average, roles), counted(*range(8)))
    assert len(figure.axes) == len(roles) + 1
    assert [text.get_color() for text in figure.texts][: len(roles)] == [style.ROLE[role] for role in roles]


def test_a_figure_has_half_a_line_and_its_text_is_not_small() -> None:
    figure = sheet.draw_sheet(panels(points([0.1 * k for k in range(20)])), counted(*range(20)))
    width, height = figure.get_size_inches()
    assert (width, height <= 2.4) == (3.2, True)
    ticks = [text for axes in figure.axes for text in axes.get_xticklabels() + axes.get_yticklabels()]
    assert min(float(text.get_fontsize()) for text in (*ticks, *figure.texts)) >= 8


def test_many_numbers_are_a_line_in_its_band_and_few_are_points_with_intervals() -> None:
    line = sheet.draw_sheet(panels(points([0.1 * k for k in range(7)]))[:1], NONE).axes[0]
    assert (len(line.lines), len(line.patches)) == (1, 1)
    corners = np.asarray(line.patches[0].get_path().vertices)
    assert np.allclose([corners[:, 1].min(), corners[:, 1].max()], [-0.1, 0.7])
    dots, intervals = sheet.draw_sheet(panels(points([0.5, 0.7]))[:1], NONE).axes[0].lines
    assert dots.get_linestyle() == "None"
    ends = np.asarray(intervals.get_ydata()).reshape(-1, 3)[:, :2]
    assert np.allclose(ends, [[0.4, 0.6], [0.6, 0.8]])


def test_a_level_stands_in_the_row_of_its_name() -> None:
    axes = sheet.draw_sheet(panels(points([0.5, 0.9, 0.1], ("mid", "high", "low"))), counted(3, 2, 1)).axes
    names = {
        label.get_text(): float(y) for label, y in zip(axes[0].get_yticklabels(), axes[0].get_yticks(), strict=True)
    }
    drawn = dict(zip(*np.asarray(axes[1].lines[0].get_data()).round(6), strict=True))
    assert names == {"high": 2.0, "mid": 1.0, "low": 0.0}
    assert drawn == {0.9: 2.0, 0.5: 1.0, 0.1: 0.0}
    bars = np.asarray(axes[3].patches[0].get_path().vertices).reshape(-1, 5, 2)
    assert {float(bar[:, 1].mean().round()): float(bar[:, 0].max()) for bar in bars} == {1.0: 3.0, 2.0: 2.0, 0.0: 1.0}


def test_beyond_twelve_levels_the_most_frequent_are_kept() -> None:
    levels = tuple(f"level {k}" for k in range(15))
    average, rows = points([0.01 * k for k in range(15)], levels), counted(*range(15))
    assert sorted(sheet.most_frequent(average, rows)["x"]) == list(range(3, 15))
    assert len(sheet.draw_sheet(panels(average), rows).axes[0].get_yticks()) == 12
    assert len(sheet.most_frequent(average.head(12), rows)) == 12


def test_the_local_effect_keeps_its_shape_at_the_height_of_the_average() -> None:
    x, y = sheet.aligned(points([10.0, 12.0, 14.0]), points([-1.0, 0.0, 4.0]))
    assert np.allclose(x, [0, 1, 2])
    assert np.allclose(y, [10.0, 11.0, 15.0])
    assert np.isclose(y.mean(), 12.0)


def test_a_local_effect_is_dashed_and_named() -> None:
    average = points([0.1 * k for k in range(8)])
    panel = panels(average)[0]._replace(local=points([0.2 * k for k in range(8)]))
    axes = sheet.draw_sheet([panel], NONE).axes[0]
    assert [text.get_text() for text in axes.texts] == ["local"]
    assert axes.lines[1].is_dashed()
    assert not sheet.draw_sheet(panels(average)[:1], NONE).axes[0].texts


@pytest.mark.parametrize("value", [0.0, 1e-9, -3.5, 1e7])
def test_a_flat_curve_of_any_size_can_be_drawn(value: float) -> None:
    for levels in ((), tuple("abcdefgh")):
        svg = to_svg(sheet.draw_sheet(panels(points([value] * 8, levels, half=0.0)), counted(*[1] * 8)))
        assert b"nan" not in svg
        assert len(svg) < 12_000


def test_names_are_safe() -> None:
    levels = ("<b>$x$</b>", "b\u202e\x1b[31m", "\u4e2d" * 40)
    svg = to_svg(sheet.draw_sheet(panels(points([0.1, 0.2, 0.3], levels)), counted(1, 2, 3))).decode()
    assert "&lt;b&gt;$x$&lt;/b&gt;" in svg
    assert not [bad for bad in ("\u202e", "\x1b", "\u4e2d", "<image") if bad in svg]


def test_numbers_on_an_axis_keep_apart_and_within() -> None:
    narrow = sheet.draw_sheet(panels(points([0.5, 0.9, 0.1], ("mid", "high", "low"))), NONE)
    for axes in narrow.axes:
        inches = axes.get_position().width * 3.2
        ticks, (low, high) = axes.get_xticks(), axes.get_xlim()
        at = [(tick - low) / (high - low) * inches for tick in ticks]
        assert all(0 <= place <= inches for place in at)
        assert all(b - a > 0.068 * 3 for a, b in pairwise(at))
