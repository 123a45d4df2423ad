"""Importance figures show exactly the estimates, their intervals, margins and verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from uq_report.document.plots import importance
from uq_report.report.plots import draw_map

from . import results


def dots(axes: Axes, marker: str) -> list[tuple[float, float]]:
    """Return the points drawn with a marker."""
    found = [line for line in axes.lines if line.get_marker() == marker and line.get_linestyle() == "None"]
    return [(float(x), float(y)) for line in found for x, y in np.asarray(line.get_xydata())]


def bars(axes: Axes, width: float) -> Any:
    """Return the ends and heights of the segments of one line width, shape (n, 3)."""
    line = next(line for line in axes.lines if line.get_linewidth() == width and np.isnan(line.get_xydata()).any())
    points = np.asarray(line.get_xydata()).reshape(-1, 3, 2)
    return np.column_stack([points[:, 0, 0], points[:, 1, 0], points[:, 0, 1]])


def legend_texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_dots_stand_at_the_estimates_largest_first_with_their_verdict() -> None:
    (axes,) = importance.draw(results.importance(), "nll").axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "c", "b"]
    assert dots(axes, "o") == [(0.3, 0.0)]
    assert dots(axes, "s") == [(0.01, 1.0)]
    assert dots(axes, "v") == [(-0.2, 2.0)]
    assert axes.get_xlabel() == "negative log-likelihood (nats)"


def test_intervals_and_the_spread_of_shuffles_are_different_lines_at_their_own_numbers() -> None:
    (axes,) = importance.draw(results.importance(), "nll").axes
    assert np.allclose(bars(axes, 2.0), [[0.25, 0.35, 0], [-0.04, 0.06, 1], [-0.25, -0.15, 2]])
    assert np.allclose(bars(axes, 0.8), [[0.28, 0.32, 0.24], [-0.01, 0.03, 1.24], [-0.22, -0.18, 2.24]])


def test_the_legend_names_what_is_drawn_and_which_interval() -> None:
    texts = legend_texts(importance.draw(results.importance(), "nll"))
    assert "95% CI over new test samples" in texts
    assert "spread of the permutations (no interval)" in texts
    assert {"positive", "negative", "undetermined"} <= set(texts)
    assert "about 0" not in texts


def test_intervals_that_cover_different_things_are_left_to_the_caption() -> None:
    found = results.importance()
    found.estimates.loc[found.estimates["measure"] == "entropy", "covers"] = "Monte Carlo"
    assert "95% CI (see the caption)" in legend_texts(importance.draw(found))


def test_panels_share_the_features_in_the_order_of_the_first_measure() -> None:
    left, right = importance.draw(results.importance()).axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["a", "c", "b"]
    assert dots(right, "o") == [(0.1, 1.0), (0.2, 2.0)]
    assert dots(right, "D") == [(0.001, 0.0)]


def test_only_the_largest_features_are_drawn() -> None:
    (axes,) = importance.draw(results.importance(), "entropy", top=2).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["b", "c"]


def test_estimates_without_interval_or_verdict_are_plain_dots() -> None:
    found = results.importance()
    bare = found.estimates[
        ["measure", "feature", "estimate", "std_error", "lower", "upper", "confidence", "covers"]
    ].copy()
    bare[["lower", "upper"]] = np.nan
    figure = importance.draw(type(found)(id="i", explainer="i", title="i", frame=found.frame, estimates=bare), "nll")
    assert len(dots(figure.axes[0], "o")) == 3
    assert not figure.legends


def test_the_map_puts_entropy_across_and_likelihood_up() -> None:
    (axes,) = draw_map(results.importance()).axes
    assert dots(axes, "o") == [(0.001, 0.3), (0.2, -0.2), (0.1, 0.01)]
    assert sorted(text.get_text() for text in axes.texts) == ["a", "b", "c"]


def test_labels_of_a_crowd_never_overlap_and_the_missing_ones_are_counted() -> None:
    base = results.importance()
    crowd = [
        {**row, "feature": f"feature_{k:02d}", "estimate": row["estimate"] + 0.002 * (k % 7), "margin": 0.0}
        for k in range(30)
        for row in base.estimates.iloc[[0, 4]].to_dict("records")
    ]
    found = type(base)(id="pfi", explainer="pfi", title="p", frame=base.frame, estimates=results.table(crowd))
    figure = draw_map(found)
    (axes,) = figure.axes
    figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the thin lines
    assert len(boxes) >= 5
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert f"{30 - len(boxes)} for lack of room" in axes.get_title(loc="left")


def test_features_inside_both_margins_are_counted_not_labelled() -> None:
    found = results.importance()
    found.estimates.loc[found.estimates["feature"] == "a", ["estimate", "lower", "upper"]] = [0.001, -0.001, 0.002]
    (axes,) = draw_map(found).axes
    assert "1 inside both margins" in axes.get_title(loc="left")
    assert "a" not in [text.get_text() for text in axes.texts]


def test_interactions_are_drawn_as_importances_of_pairs() -> None:
    (axes,) = importance.draw_pairs(results.interaction()).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a × b", "c"]
    assert axes.get_xlabel() == "entropy"


@pytest.mark.parametrize("label", ["negative log-likelihood (nats)", "prediction (probability of bad)"])
def test_long_labels_break_before_their_unit(label: str) -> None:
    assert importance.wrapped(label) == label.replace(" (", "\n(")


@pytest.mark.parametrize(("largest", "scale"), [(0.79, "linear"), (0.81, "symlog")])
def test_an_axis_is_logarithmic_where_one_feature_dwarfs_the_next(largest: float, scale: str) -> None:
    """Eight times the mean of the next two, which is above the tolerance."""
    found = results.importance()
    base = found.estimates[found.estimates["measure"].isin(["nll", "entropy"])]
    rows = [
        row | {"feature": feature, "estimate": value if row["measure"] == "nll" else 0.02, "lower": 0.0, "upper": 1.0}
        for feature, value in (("a", largest), ("b", 0.1), ("c", 0.1))
        for row in base.drop_duplicates("measure").assign(margin=0.01).to_dict("records")
    ]
    made = type(found)(id="pfi", explainer="pfi", title="p", frame=found.frame, estimates=results.table(rows))
    (axes,) = draw_map(made).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", scale)
