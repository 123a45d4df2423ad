"""The map from covered information to importance, what features tell alone, and their figures, by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy.stats import norm

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Diagnostic
from uq_report.core.support.errors import InputError
from uq_report.document.plots import style
from uq_report.evidence.importance import CoverCorrected
from uq_report.methods.cid import cid as textbook, explain, figure
from uq_report.methods.cid.explain import CoveredInformation
from uq_report.runner import figures

from ..report.methods_results import cover
from .pfi_cases import MEASURES, subject
from .test_cid_terms import flat


def test_the_fit_of_a_map_is_that_of_its_own_law() -> None:
    """Importances that are linear in the terms: coefficients, prediction without redundancy, and R² of 1."""
    rng = np.random.default_rng(0)
    terms, law = rng.random((3, 9, 4)) + 0.1, np.array([-0.5, 2.0, 0.3, 1.0])
    found = textbook.importance_map(terms @ law, terms)
    np.testing.assert_allclose(found.coefficients, law, atol=1e-3)
    np.testing.assert_allclose(found.left_out, np.tile(law, (9, 1)), atol=1e-3)
    np.testing.assert_allclose(found.corrected, terms[..., 1:] @ law[1:], atol=2e-3)
    assert [found.r2, found.r2_left_out] == pytest.approx([1, 1], abs=1e-4)
    assert found.refusals == ()
    assert found.facts["r2"] == found.r2
    one = textbook.importance_map(terms[:, :1] @ law, terms[:, :1])
    assert not one.left_out.any(), "of one feature nothing can be left out"


def test_r2_is_the_share_of_the_squares_about_the_mean() -> None:
    assert textbook._r2(np.array([1.0, 2.0, 6.0]), np.array([1.0, 3.0, 5.0])) == pytest.approx(1 - 2 / 14)
    assert textbook._r2(np.array([0.1, 0.2]), np.array([0.1, 0.2])) == 1.0
    assert np.isnan(textbook._r2(np.full(3, 2.0), np.zeros(3)))


def test_each_gate_closes_at_its_limit() -> None:
    negative, positive = np.full((8, 4), -1.0), np.zeros((8, 4))
    nearly = np.r_[[[-1e-9] * 4], negative[1:]]
    assert textbook._refusals(8, 0.5, negative) == textbook._refusals(8, 0.5, nearly) == ()
    assert textbook._refusals(7, 0.5, negative[:7]) == ("the map is learnt from 7 features, at least 8 are needed",)
    few = "predicting each feature from the others has R² 0.49, at least 0.5 is needed"
    assert textbook._refusals(8, 0.494, negative) == (few,)
    assert "R² undefined" in textbook._refusals(8, float("nan"), negative)[0]
    positive[0] = -1.0
    last = "covered information is not negative in 1 of 8 leave-one-feature-out fits"
    assert textbook._refusals(8, 0.9, np.r_[np.zeros((1, 4)), negative[1:]])[0].endswith(last)
    sign = "the coefficient of redundant covered information is not negative in 7 of 8 leave-one-feature-out fits"
    assert textbook._refusals(8, 0.9, positive) == (sign,)


def test_corrections_are_medians_with_their_spread_and_both_ranks() -> None:
    plain = np.array([[1.0, 3.0, 2.0], [1.0, 3.0, 4.0]])
    values = np.array([[0.0, 2.0, 5.0], [4.0, 2.0, 7.0]])
    table = explain._corrections("nll", ["a", "b", "c"], plain, values, 0.5)
    assert table["estimate"].tolist() == [2.0, 2.0, 6.0]
    assert table["plain"].tolist() == [1.0, 3.0, 3.0]
    assert table[["lower", "upper"]].to_numpy().tolist() == [[1.0, 3.0], [2.0, 2.0], [5.5, 6.5]]
    assert table["std_error"].tolist() == pytest.approx([np.sqrt(8), 0.0, np.sqrt(2)])
    assert table["rank"].tolist() == [2, 2, 1]
    assert table["plain_rank"].tolist() == [3, 1, 1]
    assert set(table["confidence"]) == {0.5}


@pytest.mark.parametrize("clustered", [False, True])
def test_bootstrap_weights_draw_units_in_proportion_and_leave_out_rows_of_no_weight(clustered: bool) -> None:
    weights = np.array([1.0, 2.0, 0.0, 3.0, 2.0, 0.0])
    more = {"clusters": np.array([0, 0, 0, 1, 1, 2])} if clustered else {}
    of = subject(flat, np.arange(12.0).reshape(6, 2), np.arange(6.0), sample_weight=weights, **more)
    found = explain.bootstrap_weights(Engine(of, MEASURES), 50)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert not found[:, [2, 5]].any()
    ratio = found[:, [0, 1, 3, 4]] / weights[[0, 1, 3, 4]]
    assert ((ratio == 0).any(axis=0) & (ratio > 0).any(axis=0)).all()
    together = [np.isclose(ratio[:, 2 * k], ratio[:, 2 * k + 1]).all() for k in (0, 1)]
    assert together == [clustered, clustered]
    times = ratio[:, [0, 2]] if clustered else ratio  # how often a unit was drawn, up to a factor of each set
    drawn = {tuple(np.round(row / row.max(), 6)) for row in times}
    assert (0.5, 1.0) not in drawn or not clustered, "two units are drawn twice: 2 and 0, 1 and 1, or 0 and 2"


def test_what_a_class_tells_is_a_share_of_its_entropy_row_by_row() -> None:
    """The rows average to I / H, and each is the influence of its row on that ratio."""
    y, mutual = np.array([0, 0, 0, 1]), np.array([[0.2], [0.4], [0.1], [0.5]])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    surprise = -np.log(np.array([0.75, 0.75, 0.75, 0.25]))
    found = explain._of_entropy(weights, y, mutual)
    share = weights @ mutual / (weights @ surprise)
    np.testing.assert_allclose(weights @ found, share)
    for row, step in ((0, 1e-6), (3, 1e-6)):
        moved = (1 - step) * weights + step * (np.arange(4) == row)
        slope = (moved @ mutual / (moved @ surprise) - share) / step
        np.testing.assert_allclose(found[row] - share, slope, rtol=1e-4)


def test_what_a_number_tells_is_the_squared_correlation_of_normal_scores() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.array([2.0, 1.0, 4.0, 3.0, 50.0])
    q = norm.ppf((np.arange(5) + 0.5) / 5)
    q /= q.std()
    b = q[[1, 0, 3, 2, 4]]
    found = explain._of_numbers(x, y, np.full(5, 0.2))
    r = (q * b).mean()
    assert found.mean() == pytest.approx(r**2)
    np.testing.assert_allclose(found, r**2 + 2 * r * (q * b - r) - r**2 * (q**2 - 1 + b**2 - 1))


def test_what_a_level_tells_is_what_the_other_rows_of_it_predict() -> None:
    """Levels of two rows predict each other; a row alone in its level is predicted by the mean of all."""
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    q = norm.ppf((np.arange(5) + 0.5) / 5)
    q /= q.std()
    weights = np.array([0.1, 0.2, 0.3, 0.2, 0.2])
    mean = weights @ q
    predicted = np.array([q[1], q[0], q[3], q[2], mean])
    left, whole = weights @ (q - predicted) ** 2, weights @ (q - mean) ** 2
    found = explain._of_levels(pd.Series(list("aabbc")), y, weights)
    assert weights @ found == pytest.approx(1 - left / whole)
    np.testing.assert_allclose(
        found, 1 - left / whole - ((q - predicted) ** 2 - left / whole * (q - mean) ** 2) / whole
    )


def test_a_feature_of_too_few_rows_or_of_one_value_tells_nothing() -> None:
    n = explain.LEAST_ROWS + 2
    X = np.column_stack([np.arange(n), np.ones(n), np.arange(n), np.arange(n)]).astype(float)
    X[:2, 2] = np.nan
    X[:3, 3] = np.nan
    y = np.arange(n) ** 2.0
    found = explain.alone(Engine(subject(flat, X, y), MEASURES), list("abcd"), np.zeros((n, 4)))
    (rows,) = found.values()
    assert np.isfinite(rows).all(axis=0).tolist() == [True, False, True, False]
    np.testing.assert_allclose(rows[:, [0, 2]].mean(axis=0), 1)
    np.testing.assert_allclose(rows[:2, 2], 1, err_msg="rows without a value count as the mean")


@pytest.mark.parametrize(
    ("option", "bad", "good"),
    [("bins", 1, 2), ("n_sets", 9, 10), ("max_cover", -1, 0), ("penalty", 0.0, 1e-9), ("min_gain", 0.0, 1e-9)],
)
def test_options_are_refused_below_their_least(option: str, bad: Any, good: Any) -> None:
    assert getattr(CoveredInformation(**{option: good}), option) == good
    with pytest.raises(InputError, match=option):
        CoveredInformation(**{option: bad})


def information() -> Diagnostic:
    """Return ``cid`` of two features, the first more informative."""
    rows = [
        {"measure": "", "feature": f, "estimate": v, "std_error": 0.05, "lower": v - 0.1, "upper": v + 0.2}
        | {"confidence": 0.95, "covers": "new test samples", "item": item}
        for f, mutual in (("b", 0.2), ("a", 0.6))
        for item, v in (("mutual information", mutual), ("covered information", mutual / 2), ("covered share", 0.5))
    ]
    table = pd.DataFrame(rows)
    frame = table.assign(x=0.0, value=table["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(id="cid", explainer="cid", title="", frame=frame, estimates=table)


def xy(line: Any) -> list[list[float]]:
    values = np.asarray(line.get_xydata(), dtype=float)
    return [[round(float(v), 6) for v in row] for row in values[np.isfinite(values).all(axis=1)]]


def test_covered_information_is_drawn_as_bars_with_dots_below_their_intervals() -> None:
    drawn = figure.draw(information())
    (axes,) = drawn.axes
    zero, mutual, intervals, dots = axes.lines
    assert xy(mutual) == [[0.5, -0.16], [0.8, -0.16], [0.1, 0.84], [0.4, 0.84]]
    assert {x for x, _ in xy(zero)} == {0.0}
    assert xy(intervals) == [[0.2, 0.12], [0.5, 0.12], [0.0, 1.12], [0.3, 1.12]]
    assert xy(dots) == [[0.3, 0.12], [0.1, 1.12]]
    assert [line.get_linewidth() for line in (mutual, zero, intervals)] == [1.0, 0.8, 1.6]
    assert (dots.get_markersize(), dots.get_marker()) == (4.5, "D")
    (bars,) = axes.patches
    vertices = np.asarray(bars.get_path().vertices, dtype=float)
    corners = sorted({(round(float(x), 6), round(float(y), 6)) for x, y in vertices})
    ends = {-0.32: 0.6, 0.32: 0.6, 0.68: 0.2, 1.32: 0.2}
    assert corners == sorted([*((0.0, y) for y in ends), *((x, y) for y, x in ends.items())])
    assert axes.get_ylim() == (1.6, -0.6)
    assert [text.get_text() for text in axes.texts] == ["50%", "50%", "covered share"]
    assert [text.get_position() for text in axes.texts] == [(1.06, 0.0), (1.06, 1.0), (1.06, 1.0)]
    assert len(drawn.legends[0].get_texts()) == 3, "bars, dots and intervals"
    assert drawn.get_size_inches()[1] < figure.draw(information(), 1).get_size_inches()[1] + 0.3
    assert len(figure.draw(information(), 1).axes[0].get_yticks()) == 1


def test_corrected_importance_is_drawn_below_that_alone() -> None:
    result = cover(("a", "b", "c"))
    view = CoverCorrected.from_result(result)
    (axes,) = figures.draw(result).axes
    lines = sorted((one for one in view.lines if one.measure == view.measures[0]), key=lambda one: one.rank)
    zero, *drawn = axes.lines
    assert set(np.asarray(zero.get_xdata()).tolist()) == {0}
    for k, (side, ends) in enumerate(
        ((-0.14, ("plain", "plain_lower", "plain_upper")), (0.14, ("estimate", "lower", "upper")))
    ):
        whisker, dots = drawn[2 * k : 2 * k + 2]
        value, low, high = ([float(getattr(line, name)) for line in lines] for name in ends)
        assert xy(dots) == [[round(v, 6), round(at + side, 6)] for at, v in enumerate(value)]
        assert xy(whisker) == [
            [round(v, 6), round(at + side, 6)]
            for at, pair in enumerate(zip(low, high, strict=True))
            for v in pair
            if np.isfinite(v)
        ]
        assert whisker.get_linewidth() == 1.6
    assert axes.get_ylim() == (len(lines) - 0.4, -0.6)


def test_partners_are_named_up_to_two() -> None:
    assert figure._with_partners("a", ()) == "a"
    assert figure._with_partners("a", ("b", "c")) == "a\n(with b, c)"
    assert figure._with_partners("a", ("b", "c", "d")) == "a\n(with b, c and 1 more)"


def test_an_edge_is_wide_where_strong_and_of_its_own_colour_at_the_target() -> None:
    look = figure._edge
    assert look(0.4, 0.8, to_y=False) == {
        "color": style.INK, "linewidth": 2.75, "linestyle": "-", "alpha": pytest.approx(0.65), "zorder": 1,
    }  # fmt: skip
    broken = look(-0.8, 0.8, to_y=True)
    assert (broken["linewidth"], broken["linestyle"], broken["alpha"], broken["zorder"]) == (
        5.0, (0, (2.2, 1.2)), 1.0, 2,
    )  # fmt: skip
    assert broken["color"] == style.ROLE["loss"]
    assert look(0.0, 0.0, to_y=False)["linewidth"] == 0.5
    assert look(0.0, 1.0, to_y=False)["linestyle"] == "-"


def graph(edges: list[tuple[str, str, float]], meaning: str = "partial correlation") -> Diagnostic:
    frame = pd.DataFrame([("", a, b, np.nan, v) for a, b, v in edges], columns=list(Diagnostic.columns))
    blank = information().estimates.head(0)
    meta = {"nodes": ["a", "b", "c", "y"], "edge": meaning}
    return Diagnostic(id="cid.graph", explainer="cid", title="", frame=frame, estimates=blank, meta=meta)


def test_the_graph_names_its_sizes_and_puts_the_target_apart() -> None:
    edges = [("a", "y", -0.8), ("a", "b", 0.4), ("b", "c", 0.2)]
    drawn = figure.draw_graph(graph(edges))
    (axes,) = drawn.axes
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == [
        "partial correlation, size 0.80 (the strongest)", "size 0.40", "negative: broken line", "edge with y",
    ]  # fmt: skip
    strong, half, negative, target = drawn.legends[0].get_lines()
    assert to_hex(negative.get_color()) == to_hex(style.INK)
    assert [line.get_linewidth() for line in (strong, half, negative, target)] == [5.0, 2.75, 2.75, 2.75]
    assert [line.is_dashed() for line in (strong, half, negative, target)] == [False, False, True, False]
    assert to_hex(target.get_color()) == to_hex(style.ROLE["loss"]) != to_hex(half.get_color())
    *_, features, y = axes.lines
    assert xy(y) == [[0, 1]]
    np.testing.assert_allclose(xy(features), [[1, 0], [0, -1], [-1, 0]], atol=1e-6)
    places = [text.get_position() for text in axes.texts]
    np.testing.assert_allclose(places, [[0, 1.17], [1.09, 0], [0, -1.09], [-1.09, 0]], atol=1e-9)
    assert [text.get_fontweight() for text in axes.texts] == ["bold", *["normal"] * 3]
    assert [*axes.get_xlim(), *axes.get_ylim()] == [-2.3, 2.3, -1.2, 1.3]
    assert str(axes.get_aspect()) == "1.0"
    assert drawn.legends[0]._ncols == 2  # type: ignore[attr-defined]
    assert [line.get_markersize() for line in (features, y)] == [6, 11]
    assert [line.get_zorder() for line in (features, y)] == [3, 4]
    potentials = figure.draw_graph(graph(edges, "largest pair potential")).legends[0].get_texts()
    assert len(potentials) == 3, "potentials of cells have no sign"
    assert len(figure.draw_graph(graph([])).axes[0].texts) == 1


def test_figures_grow_with_their_features() -> None:
    def height(drawn: Any) -> float:
        return float(drawn.get_size_inches()[1])

    assert height(figure.draw(information())) == pytest.approx(2 * 0.29 + 1.25)
    assert height(figure.draw(information(), 1)) == pytest.approx(0.29 + 1.25)
    assert height(figure.draw_corrected(cover(("a", "b", "c")))) == pytest.approx(3 * 0.32 + 1.0)
    assert height(figure.draw_graph(graph([("a", "y", 0.5)]))) == 3.6
    assert figure.draw(information()).legends[0]._ncols == 2  # type: ignore[attr-defined]
    assert figure.draw_corrected(cover(("a", "b", "c"))).legends[0]._ncols == 3  # type: ignore[attr-defined]


def test_corrected_importance_is_drawn_of_chosen_features() -> None:
    result = cover(("a", "b", "c"))
    some = figure.draw_corrected(result, features=("a", "c")).axes[0].get_yticklabels()
    assert {text.get_text()[0] for text in some} == {"a", "c"}
    assert len(figure.draw_corrected(result, top=2).axes[0].get_yticks()) == 2
    widths = [line.get_linewidth() for line in figure.draw(information()).legends[0].get_lines()]
    assert widths[-1] == 1.2
    assert figure.draw_corrected(result).legends[0].get_lines()[-1].get_linewidth() == 1.6


def test_names_in_the_graph_are_cut() -> None:
    long = graph([("n" * 40, "y", 0.5)])
    nodes = {"nodes": ["n" * 40, "y"], "edge": "partial correlation"}
    texts = figure.draw_graph(replace(long, meta=nodes)).axes[0].texts
    assert [len(text.get_text()) for text in texts] == [len("y (the target)"), 22]
