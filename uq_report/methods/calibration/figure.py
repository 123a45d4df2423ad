"""Is the predictive distribution right: reliability of probabilities, coverage of intervals, PIT."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.frames import has_interval, interval_words, optional
from ...document.plots.registered import figure_plugin
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.outcomes import Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NULL: dict[str, Any] = {"color": style.BAND, "linewidth": 0.0, "zorder": 0}
IDEAL: dict[str, Any] = {"color": style.MUTED, "linewidth": 0.9, "linestyle": style.LINES[1]}
SIZE = (2.9, 3.25)  # height and width: two of them stand side by side


def draw_reliability(result: Result) -> Figure:
    """Draw observed frequency against mean predicted probability, and where a right model's points would lie.

    Parameters
    ----------
    result : Diagnostic
        Its estimates, a row per bin: ``x`` (mean predicted), ``estimate`` (observed) with its
        interval, and ``null_lower``, ``null_upper``, the range if the model were right.
    """

    def fill(axes: Axes, table: pd.DataFrame) -> None:
        """Draw the points over the range of a right model."""
        axes.plot([0, 1], [0, 1], **IDEAL)
        if optional(table, col.NULL_LOWER).notna().any():
            axes.fill_between(table[col.X], table[col.NULL_LOWER], table[col.NULL_UPPER], **NULL)
        _points(axes, table)
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))

    event = Reliability.from_result(result).event or "the event"
    return _figure(result, fill, f"stated {style.name(event, 32)}", "observed frequency")


def draw_coverage(result: Result) -> Figure:
    """Draw the share of rows inside each central interval against its nominal level.

    Parameters
    ----------
    result : Diagnostic
        Its estimates: ``x`` (nominal level) and ``estimate`` (observed share).
    """

    def fill(axes: Axes, table: pd.DataFrame) -> None:
        """Draw the points, from the lowest of them on."""
        axes.plot([0, 1], [0, 1], **IDEAL)
        _points(axes, table)
        low = min(0.4, *table[[col.X, col.ESTIMATE, col.LOWER]].min().dropna().tolist())
        ends = max(0.0, low - 0.05), 1.02
        axes.set(xlim=ends, ylim=ends)

    return _figure(result, fill, "stated level", "share of outcomes inside")


def draw_pit(result: Result) -> Figure:
    """Draw the PIT histogram beside the flat line of a calibrated model.

    Parameters
    ----------
    result : Diagnostic
        Its estimates: ``x`` (bin centre) and ``estimate``, the density in the bin (1 is flat).
    """

    def fill(axes: Axes, table: pd.DataFrame) -> None:
        """Draw the bars with their intervals."""
        edge = style.ROLE["prediction"]
        axes.bar(table[col.X], table[col.ESTIMATE], 0.92 / len(table), color="#9fbfd8", edgecolor=edge, linewidth=0.7)
        low, at = style.segments(table[col.LOWER], table[col.UPPER], table[col.X])
        axes.plot(at, low, color=style.INK, linewidth=1.3)
        axes.axhline(1.0, **IDEAL)
        axes.set_xlim(0, 1)

    x = "stated probability of less than the outcome"
    return _figure(result, fill, x, "how often, against 1 if right", grid="y")


def _figure(result: Result, fill: Callable[[Axes, pd.DataFrame], None], x: str, y: str, grid: str = "both") -> Figure:
    """Return the figure of a table, bin by bin in order, with its axes named and its key."""
    table = result.estimates.sort_values(col.X, kind="stable")
    with style.drawing(*SIZE) as figure:
        axes = style.plain(figure.subplots(), grid)
        fill(axes, table)
        axes.set(xlabel=x, ylabel=y)
        style.key(figure, _legend(table), columns=1)
    return figure


def _points(axes: Axes, table: pd.DataFrame) -> None:
    """Draw points joined by a line, with their intervals."""
    color = style.ROLE["uncertainty"]
    low, at = style.segments(table[col.LOWER], table[col.UPPER], table[col.X])
    axes.plot(at, low, color=color, linewidth=1.3)
    axes.plot(table[col.X], table[col.ESTIMATE], "-o", color=color, linewidth=1.0, markersize=5)


def _legend(table: pd.DataFrame) -> list[Any]:
    handles: list[Any] = [style.line(**IDEAL, label="as stated")]
    if has_interval(table).any():
        handles.append(style.line(color=style.INK, linewidth=1.3, label=interval_words(table)))
    if optional(table, col.NULL_LOWER).notna().any():
        handles.append(style.patch(color=style.BAND, linewidth=0, label="where a right model's points lie"))
    return handles


ReliabilityFigure = figure_plugin(ids.CALIBRATION_RELIABILITY, draw_reliability)
CoverageFigure = figure_plugin(ids.CALIBRATION_COVERAGE, draw_coverage)
PitFigure = figure_plugin(ids.CALIBRATION_PIT, draw_pit)
