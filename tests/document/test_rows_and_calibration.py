"""Single rows, calibration, redundancy and the fallback: the drawn numbers are the result's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from uq_report.core.model.results import Diagnostic
from uq_report.document.plots import attribution, registered
from uq_report.runner import figures

from . import results


def test_the_way_runs_from_base_to_value_and_the_rest_is_one_step() -> None:
    (axes,) = attribution.draw(results.attribution(), "prediction", row=5, top=2).axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["a = 7.25", "b = red", "2 other features"]
    ends = np.unique(results.corners(axes.patches)[:, 0])
    assert np.allclose(ends, [1.0, 1.25, 1.351, 1.5])
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["+0.500", "−0.250", "+0.101", "base 1.00", "value 1.35"]


def test_panels_of_a_row_share_the_features() -> None:
    left, right = attribution.draw(results.attribution(), row=2).axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["a = 1.5", "b = missing", "c = 3", "d"]
    assert next(t.get_text() for t in right.texts) == "−0.500"


def test_contributions_too_small_to_print_are_said_to_be_about_nothing() -> None:
    found = results.attribution()
    frame = found.frame.assign(value=found.frame["value"] * np.where(found.frame["feature"] == "a", 1, 1e-9))
    (axes,) = attribution.draw(type(found)(**{**vars(found), "frame": frame}), "prediction", row=2).axes
    assert [text.get_text() for text in axes.texts][:2] == ["+0.500", "≈ 0"]


def test_a_sequential_method_keeps_its_order() -> None:
    found = results.attribution()
    frame = found.frame.assign(position=[{"d": 1, "c": 2, "b": 3, "a": 4}[f] for f in found.frame["feature"]])
    (axes,) = attribution.draw(type(found)(**{**vars(found), "frame": frame}), "prediction", row=2).axes
    assert [text.get_text()[0] for text in axes.get_yticklabels()] == ["d", "c", "b", "a"]


def test_reliability_draws_points_intervals_and_where_a_right_model_would_be() -> None:
    rows = [
        {
            "item": f"bin {k}",
            "x": x,
            "estimate": x + 0.05,
            "lower": x - 0.1,
            "upper": x + 0.1,
            "n": 25,
            "null_lower": x - 0.08,
            "null_upper": x + 0.08,
        }
        for k, x in enumerate((0.7, 0.2))
    ]
    counts = {"other": [3, 1], "event": [0, 2]}
    figure = figures.draw(results.diagnostic("calibration.reliability", rows, event="P(y = bad)", histogram=counts))
    axes, below = figure.axes
    assert np.allclose(axes.lines[-1].get_xydata(), [[0.2, 0.25], [0.7, 0.75]])
    assert below.get_xlabel() == "stated P(y = bad)"
    boxes = [bar.get_bbox() for bar in below.patches if isinstance(bar, Rectangle)]
    assert [(box.y0, box.height) for box in boxes] == [(0, 3), (0, 1), (3, 0), (1, 2)]
    assert "points of a calibrated model" in [t.get_text() for t in figure.legends[0].get_texts()]


def test_coverage_and_pit_draw_what_was_observed() -> None:
    levels = [
        {"item": "coverage", "x": x, "estimate": x - 0.1, "lower": x - 0.2, "upper": x, "n": 9} for x in (0.5, 0.9)
    ]
    (axes,) = figures.draw(results.diagnostic("calibration.coverage", levels)).axes
    assert np.allclose(axes.lines[-1].get_xydata(), [[0.5, 0.4], [0.9, 0.8]])
    assert axes.get_xlim()[0] < 0.4
    bins = [
        {"item": f"bin {k}", "x": x, "estimate": e, "lower": e - 0.1, "upper": e + 0.1}
        for k, (x, e) in enumerate(((0.25, 1.4), (0.75, 0.6)))
    ]
    (axes,) = figures.draw(results.diagnostic("calibration.pit", bins)).axes
    assert [round(bar.get_height(), 6) for bar in axes.patches if isinstance(bar, Rectangle)] == [1.4, 0.6]


def test_redundancy_joins_both_r2_of_a_feature() -> None:
    rows = [
        {"measure": "r_squared", "feature": f, "item": item, "estimate": e, "lower": e - 0.1, "upper": e + 0.1}
        for f, pair in (("a", (0.2, 0.3)), ("b", (0.7, 0.6)))
        for item, e in zip(("without target", "with target"), pair, strict=True)
    ]
    (axes,) = figures.draw(results.diagnostic("redundancy", rows)).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["b", "a"]
    links = np.asarray(axes.lines[1].get_xydata()).reshape(-1, 3, 2)[:, :2, 0]
    assert np.allclose(links, [[0.7, 0.6], [0.2, 0.3]])


def test_pairs_before_and_after_the_shuffle_share_axes() -> None:
    raw = [
        (when, "a", "b", float(x), float(x * sign)) for when, sign in (("before", 1), ("after", -1)) for x in range(3)
    ]
    found = Diagnostic(
        id="redundancy.joint",
        explainer="redundancy",
        title="j",
        estimates=results.empty(),
        frame=pd.DataFrame(raw, columns=list(Diagnostic.columns)),
    )
    (axes,) = figures.draw(found).axes
    assert [line.get_marker() for line in axes.lines] == ["x", "o"]
    assert np.array_equal(axes.lines[1].get_ydata(), [0, 1, 2])


def test_any_other_table_is_lines_over_x_or_dots() -> None:
    running = results.diagnostic(
        "other", [{"item": i, "x": float(x), "estimate": float(x)} for i in "pq" for x in range(4)]
    )
    single = results.diagnostic("other", [{"item": i, "x": 0.0, "estimate": 1.0} for i in "pq"])
    assert registered.runs(running.frame)
    assert not registered.runs(single.frame)
    assert [len(np.asarray(line.get_xdata())) for line in figures.draw(running).axes[0].lines] == [4, 4]
    assert [text.get_text() for text in figures.draw(single).axes[0].get_yticklabels()] == ["p", "q"]


def test_a_swarm_has_a_dot_for_each_observation_by_the_side_of_the_median() -> None:
    rows = [
        {"measure": "prediction", "feature": feature, "row": row, "position": 0, "base": 0.0, "value": sign * 0.1 * row}
        for feature, sign in (("age", 2.0), ("sex", 1.0))
        for row in range(4)
    ]
    data = {"age": [20.0, 30.0, 40.0, 50.0], "sex": ["f", "m", "f", "m"]}
    base = results.attribution()
    result = replace(
        base, frame=pd.DataFrame(rows), meta={"explained": [0, 1, 2, 3], "rows_used": [0, 1, 2], "data": data}
    )
    (axes,) = attribution.draw_swarm(result, "prediction").axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["age", "sex"]
    category, below, above = ([np.size(line.get_xdata()) for line in axes.lines[k::3]] for k in (1, 2, 3))
    assert (category, below, above) == ([0, 3], [2, 0], [1, 0])


def test_the_decision_curve_marks_thresholds_and_prefers_the_band() -> None:
    line = {"item": "net benefit", "lower": 0.0, "upper": 0.3, "all": -0.1}
    rows = [line | {"x": x, "estimate": 0.2, "band_lower": -0.1, "band_upper": 0.4} for x in (0.1, 0.3)]
    figure = figures.draw(results.diagnostic("calibration.net_benefit", rows, event="bad", threshold=0.2, ideal=0.4))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "95% band, all thresholds at once" in labels
    assert "the model's threshold" in labels
    assert "at the stated costs" not in labels  # beyond the last threshold
    bare = [{key: value for key, value in row.items() if not key.startswith("band")} for row in rows]
    figure = figures.draw(results.diagnostic("calibration.net_benefit", bare, event="bad", threshold=None, ideal=0.3))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert not any("band" in label or label == "the model's threshold" for label in labels)
    assert "at the stated costs" in labels
