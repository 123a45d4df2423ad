"""The dependence graph on a circle: a line per edge, wide where strong, broken where negative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.frames import number
from ...document.plots.registered import figure_plugin
from ...evidence import ids
from ...evidence.information import PARTIAL_CORRELATION, CidGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TARGET = "y"
STRONGEST = 12  # edges
WIDEST = 5.0


def draw(result: Result, top: int = STRONGEST) -> Figure:
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
            axes.plot(np.cos(angle[ends]), np.sin(angle[ends]), **_look(value, largest, to_y=0 in ends))
        _nodes(axes, nodes, angle)
        style.key(figure, _legend(largest, view.edge or "edge"), columns=2)
    return figure


def strongest_nodes(result: Result, top: int = STRONGEST) -> list[str]:
    """Return y and the features at the ends of the strongest edges, in the result's order."""
    view = CidGraph.from_result(result)
    ends = {end for *pair, _ in view.edges[:top] for end in pair}
    return [TARGET, *(str(node) for node in view.nodes[:-1] if node in ends)]


def _look(value: float, largest: float, *, to_y: bool) -> dict[str, Any]:
    share = abs(value) / largest if largest else 0.0
    return {
        "color": style.ROLE["loss"] if to_y else style.INK,
        "linewidth": 0.5 + (WIDEST - 0.5) * share,
        "linestyle": "-" if value >= 0 else (0, (2.2, 1.2)),
        "alpha": 1.0 if to_y else 0.45 + 0.4 * share,
        "zorder": 2 if to_y else 1,
    }


def _nodes(axes: Axes, nodes: Sequence[str], angle: Any) -> None:
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


def _legend(largest: float, meaning: str) -> list[Any]:
    half = number(largest / 2, 2)
    entries = [(largest, f"{meaning}, size {number(largest, 2)} (the strongest)"), (largest / 2, f"size {half}")]
    handles = [style.line(label=text, **_look(value, largest, to_y=False)) for value, text in entries]
    if meaning == PARTIAL_CORRELATION:
        handles.append(style.line(label="negative: broken line", **_look(-largest / 2, largest, to_y=False)))
    handles.append(style.line(label="edge with y", **_look(largest / 2, largest, to_y=True)))
    return handles


GraphFigure = figure_plugin(ids.CID_GRAPH, draw)
