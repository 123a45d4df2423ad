"""The contract of figures, entry-point group ``uq_report.figures``, and the figures of whole kinds of results."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import pandas as pd

from ...core.model import results as kinds
from ...core.model.results import Result
from ...evidence import columns as col
from . import attribution, importance, profile, style
from .frames import axis_label, choose


@runtime_checkable
class FigurePlugin(Protocol):
    """Draws results of one id, or of one kind.

    Class variables
    ---------------
    name : the entry-point name: the id of the results it draws (``"method.part"``), or their kind (``"profile"``);
        an id comes before a kind
    """

    name: ClassVar[str]
    api_version: ClassVar[int]

    def draw(self, result: Result, **choice: Any) -> style.Figure:
        """Return a figure of the result's frames; `choice` is what a caller may pick (``measure=``, ``feature=``)."""


@runtime_checkable
class TakesCompanions(Protocol):
    """Optional: a figure that also takes other results of the same explainer, where they are there.

    ``companions`` maps an argument of `draw` to the end of their id: ``{"own": "own"}`` for a profile's ``.own``.
    """

    companions: ClassVar[Mapping[str, str]]


def figure_plugin(name: str, draw: Callable[..., style.Figure], **companions: str) -> type[FigurePlugin]:
    """Return the plugin that draws results of this id or kind by `draw`, with these companions if there are any."""
    words = {"__doc__": draw.__doc__, "__module__": draw.__module__, "name": name, "api_version": 1}
    taken = {"companions": companions} if companions else {}
    return type("RegisteredFigure", (), {**words, **taken, "draw": staticmethod(draw)})


LINES = 8
HISTOGRAM = "histogram"  # key of meta: what the values of a diagnostic along its measure are
DOTS = 30


def draw_diagnostic(result: Result, measure: str | None = None, feature: str | None = None) -> style.Figure:
    """Draw the values of one measure: a line per item over ``x``, or a dot per feature and item.

    Parameters
    ----------
    result : Diagnostic
    measure : str, optional
        The first one by default.
    feature : str, optional
        All by default.
    """
    chosen = choose(result, "measure", measure, result.frame[col.MEASURE])
    part = result.frame[result.frame[col.MEASURE] == chosen]
    if feature is not None:
        part = part[part[col.FEATURE] == choose(result, "feature", feature, part[col.FEATURE])]
    label = axis_label(str(chosen), result.measures) if chosen else "value"
    if not runs(part):
        return _dots(part, label)
    along = set(part[col.FEATURE]) - {""}
    if HISTOGRAM in result.meta:
        return _lines(part, str(result.meta[HISTOGRAM]), label)
    return _lines(part, label, style.name(along.pop()) if len(along) == 1 else "x")


def runs(part: pd.DataFrame) -> bool:
    """Say whether any item of a measure has several places along x."""
    return len(part) > 0 and bool(part.groupby([col.MEASURE, col.FEATURE, col.ITEM])[col.X].nunique().max() > 2)


def _lines(part: pd.DataFrame, label: str, along: str) -> style.Figure:
    with style.panel(3.2) as (figure, axes):
        handles = []
        for position, ((feature, item), rows) in enumerate(part.groupby([col.FEATURE, col.ITEM], sort=False)):
            if position == LINES:
                break
            look: dict[str, Any] = {**style.class_style(position), **style.marker(position, 4), "linewidth": 1.1}
            ordered = rows.sort_values(col.X, kind="stable")
            axes.plot(ordered[col.X], ordered[col.VALUE], **look)
            handles.append(style.line(label=style.name(" ".join(filter(None, (str(feature), str(item)))), 30), **look))
        axes.set(xlabel=along, ylabel=label)
        style.key(figure, handles if len(handles) > 1 else [])
    return figure


def _dots(part: pd.DataFrame, label: str) -> style.Figure:
    part = part.head(DOTS)
    names = [" ".join(filter(None, (str(f), str(i)))) for f, i in zip(part[col.FEATURE], part[col.ITEM], strict=True)]
    with style.rows([style.name(name, 34) for name in names], label, 0.26, 0.7) as (figure, axes):
        axes.plot(part[col.VALUE], range(len(part)), "o", color=style.ROLE["prediction"], markersize=5)
    return figure


ProfileFigure = figure_plugin(kinds.Profile.kind, profile.draw, own="own", distribution="distribution")
ImportanceFigure = figure_plugin(kinds.Importance.kind, importance.draw)
InteractionFigure = figure_plugin(kinds.Interaction.kind, importance.draw_pairs)
AttributionFigure = figure_plugin(kinds.Attribution.kind, attribution.draw)
DiagnosticFigure = figure_plugin(kinds.Diagnostic.kind, draw_diagnostic)
