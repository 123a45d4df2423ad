"""Figures of redundancy: a dot without and with the target for each feature, and pairs before and after a shuffle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic
from uq_report.evidence import ids
from uq_report.evidence.information import AFTER, BEFORE, WITH_TARGET, WITHOUT_TARGET
from uq_report.methods.redundancy.figure import draw_joint, draw_redundancy

from .results import diagnostic

GAP = float("nan")


def skills(lower: float = GAP, upper: float = GAP) -> Diagnostic:
    """Return R² of a, b and c without the target, and of a and b with it; an interval of a's first."""
    values = [("a", WITHOUT_TARGET, 0.2), ("b", WITHOUT_TARGET, 0.9), ("c", WITHOUT_TARGET, 0.2)]
    values += [("a", WITH_TARGET, 0.3), ("b", WITH_TARGET, 0.95)]
    rows = [{"feature": f, "item": item, "estimate": v, "n": 9} for f, item, v in values]
    return diagnostic(ids.REDUNDANCY, [rows[0] | {"lower": lower, "upper": upper}, *rows[1:]])


def dots(axes: Any, marker: str) -> list[tuple[float, float]]:
    (line,) = [line for line in axes.lines if line.get_marker() == marker]
    return [tuple(point) for point in np.asarray(line.get_xydata(), dtype=float).tolist()]


def labels(drawn: Any) -> list[str]:
    return [text.get_text() for text in drawn.legends[0].get_texts()]


def test_dots_stand_on_the_rows_of_their_features_largest_first_and_ties_in_order() -> None:
    drawn = draw_redundancy(skills())
    (axes,) = drawn.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a", "c"]
    assert dots(axes, "o") == [(0.9, 0), (0.2, 1), (0.2, 2)]
    assert dots(axes, "D")[:2] == [(0.95, 0), (0.3, 1)]
    assert np.isnan(dots(axes, "D")[2][0])
    low, high = axes.get_ylim()
    assert low > 2
    assert high < 0
    assert labels(drawn) == [WITHOUT_TARGET, WITH_TARGET]
    assert [label.get_text() for label in draw_redundancy(skills(), 2).axes[0].get_yticklabels()] == ["b", "a"]
    (zero,) = [line for line in axes.lines if np.size(line.get_xdata()) == 2]
    assert np.asarray(zero.get_xdata()).tolist() == [0, 0]


def test_dots_with_an_interval_stand_apart_and_on_it() -> None:
    drawn = draw_redundancy(skills(0.1, 0.25))
    (axes,) = drawn.axes
    before, after = ([y for _, y in dots(axes, marker)] for marker in "oD")
    assert after == [0, 1, 2]  # none of them has an interval
    gap = -before[0]
    assert 0 < gap < 0.5
    assert before == pytest.approx([-gap, 1 - gap, 2 - gap])
    (interval,) = [line for line in axes.lines if 0.25 in np.asarray(line.get_xdata())]
    assert np.asarray(interval.get_xydata())[3:5].tolist() == [[0.1, before[1]], [0.25, before[1]]]
    assert labels(drawn)[:2] == [WITHOUT_TARGET, WITH_TARGET]
    assert labels(drawn)[2] == "95% CI over new test samples"
    both = skills(0.1, 0.25)
    both.estimates.loc[3, ["lower", "upper"]] = [0.2, 0.4]
    found = [y for _, y in dots(draw_redundancy(both).axes[0], "D")]
    assert found == pytest.approx([gap, 1 + gap, 2 + gap])


def test_every_feature_adds_the_same_height() -> None:
    one, two, three = (draw_redundancy(skills(), top).get_size_inches()[1] for top in (1, 2, 3))
    assert three - two == pytest.approx(two - one)
    assert 0 < two - one < one


def joint(*pairs: tuple[str, str]) -> Diagnostic:
    """Return three rows of each pair before and after, x and value apart for every pair."""
    rows = [
        {"measure": when, "feature": a, "item": b, "x": 10 * k + i, "value": 100 * k + 10 * (when == AFTER) + i}
        for k, (a, b) in enumerate(pairs)
        for when in (BEFORE, AFTER)
        for i in range(3)
    ]
    made = diagnostic(ids.REDUNDANCY_JOINT, [{"item": "", "estimate": 0.0}])
    return replace(made, frame=pd.DataFrame(rows)[list(Diagnostic.columns)])


PAIRS = (("a", "b"), ("a", "c"), ("d", "b"), ("e", "f"), ("g", "h"))


@pytest.mark.parametrize(("count", "shape"), [(1, (1, 1)), (2, (1, 2)), (3, (2, 2)), (5, (2, 2))])
def test_the_first_four_pairs_stand_two_beside_each_other(count: int, shape: tuple[int, int]) -> None:
    drawn = draw_joint(joint(*PAIRS[:count]))
    place = drawn.axes[0].get_subplotspec()
    assert place is not None
    assert place.get_gridspec().get_geometry() == shape
    visible = [axes for axes in drawn.axes if axes.get_visible()]
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in visible] == list(PAIRS[: min(count, 4)])
    for k, axes in enumerate(visible):
        for marker, more in (("o", 0), ("x", 10)):
            assert dots(axes, marker) == [(10 * k + i, 100 * k + more + i) for i in range(3)]
    assert labels(drawn) == ["observations", "after the permutation"]


def test_pairs_that_are_asked_for_are_shown_and_a_row_of_panels_adds_its_height() -> None:
    result = joint(*PAIRS)
    drawn = draw_joint(result, [("e", "f")])
    assert [axes.get_xlabel() for axes in drawn.axes] == ["e"]
    heights = [draw_joint(result, PAIRS[:count]).get_size_inches()[1] for count in (2, 3, 5)]
    assert heights[2] - heights[1] == pytest.approx(heights[1] - heights[0])
    assert 0.5 * heights[0] < heights[1] - heights[0] < heights[0]


def test_long_names_are_cut_to_what_an_axis_holds() -> None:
    names = draw_joint(joint(("u" * 60, "v" * 60))).axes[0]
    assert (len(names.get_xlabel()), len(names.get_ylabel())) == (30, 22)
