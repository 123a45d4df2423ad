"""Covered information, importance alone and adjusted for redundancy, and the dependence graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.frames import axis_label, choose, interval_words, number
from ...document.plots.matrix import rectangles
from ...document.plots.registered import figure_plugin
from ...evidence import columns as col, ids
from ...evidence.importance import CoverCorrected
from ...evidence.information import COVERED, MUTUAL, PARTIAL_CORRELATION, SHARE, CidGraph
from ...evidence.view import of_measure, table_of

BAR = "#b9c4d0"
DOT: dict[str, Any] = {"color": style.ROLE["loss"], "linestyle": "", "marker": "D", "markersize": 4.5}
CORRECTED = {**DOT, "label": "with its partners permuted too"}
PLAIN = {**DOT, "color": style.MUTED, "marker": "o", "markerfacecolor": "white", "label": "alone"}
PARTNERS = 2  # named beside a feature


def part(result: Result, item: str) -> pd.DataFrame:
    """Return the estimates of one item of ``cid``, indexed by feature."""
    table = result.estimates
    return table[table[col.ITEM] == item].drop_duplicates(col.FEATURE).set_index(col.FEATURE)


def draw(result: Result, top: int = 20) -> style.Figure:
    """Draw per feature a bar of I(X; Y), and a dot of covered information with its interval, largest bar first.

    Parameters
    ----------
    result : Diagnostic
        ``cid``; its estimates have a column ``item``.
    """
    mutual = part(result, MUTUAL).sort_values(col.ESTIMATE, ascending=False, kind="stable").head(top)
    features = list(mutual.index)
    covered, share = (part(result, item).reindex(features) for item in (COVERED, SHARE))
    at = np.arange(len(features), dtype=float)
    names = [style.name(feature) for feature in features]
    with style.rows(names, "information about y (nats)", 0.29, 1.25) as (figure, axes):
        ends = mutual[col.ESTIMATE].to_numpy(dtype=float)
        rectangles(axes, ((0.0, v, k - 0.32, k + 0.32) for k, v in zip(at, ends, strict=True)), BAR)
        style.intervals(axes, mutual, at - 0.16, color=style.MUTED, linewidth=1.0)
        style.estimates(axes, covered, at + 0.12, 1.6, **DOT)
        _shares(axes, share[col.ESTIMATE].to_numpy(dtype=float), at)
        bar = style.patch(color=BAR, linewidth=0, label="I(X; Y), its information about y")
        interval = style.line(color=style.INK, linewidth=1.2, label=interval_words(covered))
        style.key(figure, [bar, style.line(label="shared with the other features", **DOT), interval])
    return figure


def _shares(axes: style.Axes, share: Any, at: Any) -> None:
    """Write the covered share at the right edge; a feature without information has none."""
    look: dict[str, Any] = {"ha": "right", "fontsize": style.SMALL}
    for value, height in zip(share, at, strict=True):
        text = f"{100 * value:.0f}%" if np.isfinite(value) else "–"
        axes.text(1.06, height, text, transform=axes.get_yaxis_transform(), va="center", **look)
    axes.text(1.06, 1.0, "covered share", transform=axes.transAxes, va="bottom", **look)


def draw_corrected(
    result: Result, measure: str | None = None, top: int = 20, features: Sequence[str] | None = None
) -> style.Figure:
    """Draw each feature's importance alone and adjusted for redundancy with their intervals, and its partners' names.

    Parameters
    ----------
    result : Importance
        ``cover``.
    measure : str, optional
        The first by default.
    top : int
        Features to show: those that lead once corrected.
    features : sequence of str, optional
        Only these.
    """
    view = CoverCorrected.from_result(result)
    chosen = choose(result, "measure", measure, view.measures)
    selected = [line for line in of_measure(view.lines, chosen) if features is None or line.feature in features]
    lines = sorted(selected, key=lambda line: line.rank)[:top]
    table, at = table_of(lines), np.arange(len(lines), dtype=float)
    names = [_with_partners(line.feature, view.partners.get(line.feature, ())) for line in lines]
    label = f"importance for {axis_label(chosen, result.measures)}"
    with style.rows(names, label, 0.32, 1.0) as (figure, axes):
        alone = {col.ESTIMATE: table[col.PLAIN], col.LOWER: table[col.PLAIN_LOWER], col.UPPER: table[col.PLAIN_UPPER]}
        style.estimates(axes, table.assign(**alone), at - 0.14, 1.6, **PLAIN)
        style.estimates(axes, table, at + 0.14, 1.6, **CORRECTED)
        interval = style.line(color=style.INK, linewidth=1.6, label=interval_words(table))
        style.key(figure, [interval], columns=3)
    return figure


def _with_partners(feature: str, partners: Sequence[str]) -> str:
    """Return a feature's name, and below it those of its first partners."""
    if not partners:
        return style.name(feature)
    more = f" and {len(partners) - PARTNERS} more" if len(partners) > PARTNERS else ""
    return (
        f"{style.name(feature)}\n(with {', '.join(style.name(partner, 18) for partner in partners[:PARTNERS])}{more})"
    )


CoverFigure = figure_plugin(ids.CID, draw)
CorrectedFigure = figure_plugin(ids.COVER, draw_corrected)
TARGET = "y"
STRONGEST = 12  # edges
WIDEST = 5.0


def draw_graph(result: Result, top: int = STRONGEST) -> style.Figure:
    """Draw the strongest edges and the nodes at their ends, the target at the top.

    Parameters
    ----------
    result : Diagnostic
        ``cid.graph``: an edge from ``feature`` to ``item`` per row; the nodes end with y.
    top : int
        Edges drawn.
    """
    view, nodes = CidGraph.from_result(result), strongest_nodes(result, top)
    edges = [(nodes.index(a), nodes.index(b), value) for a, b, value in view.edges[:top]]
    largest = max((abs(value) for *_, value in edges), default=1.0)
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(nodes)) / max(len(nodes), 1)
    with style.drawing(3.6) as figure:
        axes = figure.subplots()
        for a, b, value in reversed(edges):
            ends = [a, b]
            axes.plot(np.cos(angle[ends]), np.sin(angle[ends]), **_edge(value, largest, to_y=0 in ends))
        _nodes(axes, nodes, angle)
        style.key(figure, _graph_legend(largest, view.edge or "edge"), columns=2)
    return figure


def strongest_nodes(result: Result, top: int = STRONGEST) -> list[str]:
    """Return y and the features at the ends of the strongest edges, in the result's order."""
    view = CidGraph.from_result(result)
    ends = {end for *pair, _ in view.edges[:top] for end in pair}
    return [TARGET, *(str(node) for node in view.nodes[:-1] if node in ends)]


def _edge(value: float, largest: float, *, to_y: bool) -> dict[str, Any]:
    share = abs(value) / largest if largest else 0.0
    return {
        "color": style.ROLE["loss"] if to_y else style.INK,
        "linewidth": 0.5 + (WIDEST - 0.5) * share,
        "linestyle": "-" if value >= 0 else (0, (2.2, 1.2)),
        "alpha": 1.0 if to_y else 0.45 + 0.4 * share,
        "zorder": 2 if to_y else 1,
    }


def _nodes(axes: style.Axes, nodes: Sequence[str], angle: Any) -> None:
    x, y = np.cos(angle), np.sin(angle)
    target: dict[str, Any] = {"marker": "s", "markersize": 11, "color": style.ROLE["loss"], "markeredgecolor": "white"}
    axes.plot(x[1:], y[1:], linestyle="", marker="o", markersize=6, color=style.INK, zorder=3)
    axes.plot(x[:1], y[:1], linestyle="", zorder=4, **target)
    for k, node in enumerate(nodes):
        side = "center" if abs(x[k]) < 0.12 else "left" if x[k] > 0 else "right"
        # y stands further out, above the names of its neighbours
        text, weight, out = ("y (the target)", "bold", 1.17) if k == 0 else (style.name(node, 22), "normal", 1.09)
        axes.text(out * x[k], out * y[k], text, ha=side, va="center", fontsize=style.SMALL, fontweight=weight)
    axes.set_xlim(-2.3, 2.3)
    axes.set_ylim(-1.2, 1.3)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _graph_legend(largest: float, meaning: str) -> list[Any]:
    half = number(largest / 2, 2)
    entries = [(largest, f"{meaning}, size {number(largest, 2)} (the strongest)"), (largest / 2, f"size {half}")]
    handles = [style.line(label=text, **_edge(value, largest, to_y=False)) for value, text in entries]
    if meaning == PARTIAL_CORRELATION:
        handles.append(style.line(label="negative: broken line", **_edge(-largest / 2, largest, to_y=False)))
    handles.append(style.line(label="edge with y", **_edge(largest / 2, largest, to_y=True)))
    return handles


GraphFigure = figure_plugin(ids.CID_GRAPH, draw_graph)
