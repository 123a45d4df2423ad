"""Profiles: one path per class, own values at their places, levels never joined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch

from uq_report.document.plots import profile
from uq_report.document.plots.matrix import draw_surface

from . import results


def curves(axes: Axes) -> list[Any]:
    """Return the lines that hold several rows: those with gaps."""
    return [line for line in axes.lines if np.isnan(line.get_ydata()).any()]


def test_rows_of_a_class_are_one_path_with_a_gap_after_each_row() -> None:
    figure = profile.draw(results.profile(), own=results.own())
    left = figure.axes[0]
    assert len(curves(left)) == 2
    y = np.asarray(curves(left)[0].get_ydata())
    assert np.array_equal(y, [0, 1, 4, np.nan, 1, 2, 5, np.nan], equal_nan=True)
    first, second = (line.get_linestyle() for line in curves(left))
    assert first != second


def test_the_average_and_its_band_are_the_estimates() -> None:
    left = profile.draw(results.profile()).axes[0]
    average = left.lines[-1]
    assert np.array_equal(average.get_xydata(), [[0, 0], [1, 1], [4, 4]])
    band = np.asarray(left.collections[0].get_paths()[0].vertices)
    assert (band[:, 1].min(), band[:, 1].max()) == (-1.0, 5.0)


def test_own_values_are_marked_by_class() -> None:
    left = profile.draw(results.profile(), own=results.own()).axes[0]
    circles = [line for line in left.lines if line.get_marker() == "o"]
    triangles = [line for line in left.lines if line.get_marker() == "^"]
    assert np.array_equal(circles[0].get_xydata(), [[0, 10], [1, 11]])
    assert np.array_equal(triangles[0].get_xydata(), [[2, 12], [3, 13]])


def test_the_distribution_stands_beside_by_class_with_its_bins() -> None:
    figure = profile.draw(results.profile(), own=results.own(), distribution=results.distribution())
    last = figure.axes[2]
    assert last.get_title(loc="left") == "observations"
    outlines = [p.get_data() for p in last.patches if isinstance(p, StepPatch) and not p.get_fill()]
    assert [list(outline[0]) for outline in outlines] == [[5, 1], [2, 8]]
    assert list(outlines[0][1]) == [0, 2, 4]


def test_levels_are_points_with_their_intervals_and_no_single_rows() -> None:
    figure = profile.draw(results.profile(levels=("low", "mid", "high")), own=results.own())
    average, intervals = figure.axes[0].lines
    assert (average.get_linestyle(), np.asarray(average.get_xydata()).tolist()) == ("None", [[0, 0], [1, 1], [2, 2]])
    ends = np.asarray(intervals.get_ydata()).reshape(-1, 3)
    assert np.array_equal(ends, [[-1, 1, np.nan], [0, 2, np.nan], [1, 3, np.nan]], equal_nan=True)
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["low", "mid", "high"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "average",
        "pointwise 95% CI over new test samples",
    ]


def test_many_levels_are_thinned_not_written_over_each_other() -> None:
    levels = tuple(f"level {k}" for k in range(40))
    left = profile.draw(results.profile(levels=levels)).axes[0]
    assert len(left.get_xticklabels()) <= 16
    assert left.get_xticklabels()[0].get_rotation() == 30


def test_a_profile_without_rows_or_intervals_is_a_line() -> None:
    found = results.profile()
    bare = type(found)(
        id="ale",
        explainer="ale",
        title="ALE",
        frame=found.frame[found.frame["curve"] < 0],
        estimates=results.empty(),
    )
    figure = profile.draw(bare, measure="entropy")
    assert len(figure.axes) == 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["average"]


def test_surface_cells_tile_the_plane_and_levels_follow_the_values() -> None:
    figure = draw_surface(results.surface())
    axes, scale = figure.axes
    corners = results.corners(axes.patches)
    assert (corners[:, 0].min(), corners[:, 0].max()) == (-0.5, 4.0)
    assert (corners[:, 1].min(), corners[:, 1].max()) == (-1.0, 3.0)
    assert len(corners) == 6 * 5
    assert scale.get_ylabel() == "entropy (nats)"


def test_extrapolated_cells_of_a_surface_are_crossed_out() -> None:
    found = results.surface()
    names = {"measure": "entropy", "feature": "x", "feature_2": "z"}
    places = {"x": [0.0, 0.0, 1.0, 1.0, 3.0, 3.0], "x_2": [0.0, 2.0] * 3}
    estimates = found.estimates.reindex(range(6)).assign(**names, **places)
    marked = replace(found, estimates=estimates.assign(extrapolated=[False, True, *[False] * 4]))
    assert not list(draw_surface(found).axes[0].lines)
    across, back = draw_surface(marked).axes[0].lines
    assert [np.asarray(line.get_xdata())[:2].tolist() for line in (across, back)] == [[-0.5, 0.5], [0.5, -0.5]]
    assert np.asarray(across.get_ydata())[:2].tolist() == [1.0, 3.0]


def test_a_constant_surface_is_one_level() -> None:
    found = results.surface()
    flat = type(found)(id="s", explainer="s", title="s", frame=found.frame.assign(value=2.0), estimates=results.empty())
    axes, _ = draw_surface(flat).axes
    assert len(axes.patches) == 1
