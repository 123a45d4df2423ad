"""Figures of pairs, ranks, graphs, covered information and local effects draw what the frames hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from uq_report.core.model.results import Diagnostic
from uq_report.document.plots import matrix
from uq_report.methods.cid import figure as covered
from uq_report.runner import figures

from .results import table

HOSTILE = ("<b>", "$x^2$", "中", "a" * 200)


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def square(names: tuple[str, ...]) -> pd.DataFrame:
    d = len(names)
    return pd.DataFrame(np.arange(d * d, dtype=float).reshape(d, d), index=names, columns=names)


def dependence(nodes: tuple[str, ...], edges: list[tuple[str, str, float]]) -> Diagnostic:
    rows = [("", a, b, np.nan, value) for a, b, value in edges]
    frame = pd.DataFrame(rows, columns=list(Diagnostic.columns))
    meta = {"nodes": [*nodes, "y"], "edge": "partial correlation"}
    return Diagnostic(
        id="cid.graph", explainer="cid", title="Graph", frame=frame, estimates=table([_blank("a")]).head(0), meta=meta
    )


def _blank(feature: str) -> dict[str, object]:
    return {"measure": "", "feature": feature, "estimate": 0.0}


def test_a_graph_shows_its_nodes_on_a_circle_and_its_edges_by_size_and_sign() -> None:
    """y at the top, then the features clockwise; the strongest edge is 5 points wide, others in between."""
    edges = [("a", "y", -0.8), ("a", "b", 0.4), ("b", "c", 0.2)]
    figure = covered.draw_graph(dependence(("a", "b", "c"), edges))
    axes = figure.axes[0]
    drawn = {tuple(np.round(np.asarray(line.get_xydata(), dtype=float), 6).ravel()): line for line in axes.lines[:3]}
    place = {"y": (0, 1), "a": (1, 0), "b": (0, -1), "c": (-1, 0)}
    for (one, other, _), width, style in zip(edges, (5.0, 2.75, 1.625), ("--", "-", "-"), strict=True):
        line = drawn[*place[one], *place[other]]
        assert line.get_linewidth() == pytest.approx(width)
        assert line.get_linestyle() == style
    assert [text.get_text() for text in axes.texts] == ["y (the target)", "a", "b", "c"]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for x, y in (text.get_position() for text in axes.texts):
        assert left < x < right
        assert low < y < high
    assert [text.get_horizontalalignment() for text in axes.texts] == ["center", "left", "center", "right"]


def test_ranks_carry_their_intervals_only_where_there_are_some() -> None:
    rows = {"estimate": [1.0, 2.0], "lower": [1.0, np.nan], "upper": [2.0, np.nan]}
    one = matrix.DrawnRanks("PFI", "nll", pd.DataFrame(rows, index=["a", "b"]))
    other = matrix.DrawnRanks("SHAP", "nll", pd.DataFrame({k: v[:1] for k, v in rows.items()}, index=["b"]))
    left, right = matrix.draw_ranks([one, other], ["a", "b"]).axes
    interval, filled, hollow = left.lines
    assert np.asarray(interval.get_xdata())[:2].tolist() == [1.0, 2.0]
    assert (filled.get_xdata(), hollow.get_xdata()) == ([1.0], [2.0])
    assert (filled.get_ydata(), hollow.get_markerfacecolor()) == ([0.0], "white")
    assert right.lines[1].get_ydata() == [1.0]


def test_graph_draws_every_edge_wide_where_strong_and_broken_where_negative() -> None:
    result = dependence(("a", "b", "c"), [("a", "b", 0.8), ("b", "c", -0.4), ("c", "y", 0.2)])
    figure = figures.draw(result)
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() != "None" and np.size(line.get_xdata()) == 2]
    width = {line.get_linestyle(): line.get_linewidth() for line in lines}
    assert len(lines) == 3
    assert width["--"] < max(line.get_linewidth() for line in lines)  # the negative one, half as strong
    assert "y (the target)" in texts(figure.axes[0])


def test_a_large_graph_keeps_what_is_tied_to_the_target() -> None:
    names = tuple(f"f{k}" for k in range(60))
    edges = [(f"f{k}", "y", 0.01 * (k + 1)) for k in range(60)]
    nodes = covered.strongest_nodes(dependence(names, edges), 5)
    assert nodes == ["y", "f55", "f56", "f57", "f58", "f59"]


@pytest.mark.parametrize(("edges", "drawn"), [(12, 12), (45, 12)])
def test_a_graph_draws_its_strongest_edges_only(edges: int, drawn: int) -> None:
    names = tuple(f"f{k}" for k in range(10))
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]][:edges]
    figure = covered.draw_graph(dependence(names, [(a, b, 0.01 * (k + 1)) for k, (a, b) in enumerate(pairs)]))
    lines = [line for line in figure.axes[0].lines if np.size(line.get_xdata()) == 2]
    assert len(lines) == drawn
    assert len(texts(figure.axes[0])) == 1 + len({end for pair in pairs[-drawn:] for end in pair})


def information() -> Diagnostic:
    rows = [
        {"measure": "", "feature": f, "estimate": value, "lower": value - 0.1, "upper": value + 0.1, "item": item}
        for f, mutual in (("a", 0.2), ("b", 0.6))
        for item, value in (("mutual information", mutual), ("covered information", mutual / 2))
    ]
    rows.append({"measure": "", "feature": "b", "estimate": 0.5, "item": "covered share"})
    estimates = table(rows)
    frame = estimates.assign(x=0.0, value=estimates["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(id="cid", explainer="cid", title="Covered", frame=frame, estimates=estimates)


def test_covered_information_is_ordered_by_information_and_states_its_share() -> None:
    axes = figures.draw(information()).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]
    assert texts(axes)[:2] == ["50%", "–"]
