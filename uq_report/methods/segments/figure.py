"""The means of each measure in the segments that stand out."""

from collections.abc import Sequence

from ...core.model.results import Result
from ...document.plots import importance, style
from ...document.plots.frames import axis_label, several, words
from ...document.plots.registered import figure_plugin
from ...evidence import ids
from ...evidence.segments import ALL_ROWS, SegmentsView
from ...evidence.view import table_of

MOST = 3  # segments of each tree


def draw(result: Result, measure: Sequence[str] | str | None = None, top: int = 16) -> style.Figure:
    """Draw the mean of each measure in the segments that stand out, and over all judged rows.

    Parameters
    ----------
    result : Diagnostic
        As the explainer ``segments`` returns it.
    measure : str or sequence of str, optional
        One panel each; the first three by default.
    top : int
        Segments to show; all of them, the largest of each tree first, where none stands out.
    """
    view = SegmentsView.from_result(result)
    chosen = several(result, "measure", measure, view.measures)[: None if measure else importance.PANELS]
    names = {x.segment: x.item for x in reversed(view.lines)}
    keys = view.raised(MOST) or tuple(dict.fromkeys(x.segment for x in view.lines if x.segment != ALL_ROWS))
    shown = (*keys[:top], ALL_ROWS)
    rows = {key: "all judged observations" if key == ALL_ROWS else f"{k} {names[key]}" for k, key in labelled(shown)}
    panels = []
    for one in chosen:
        table = table_of([view.of(key)[one] for key in shown]).assign(feature=[*rows.values()])
        role = words(one, result.measures).role
        panels.append(importance.ImportancePanel("", axis_label(one, result.measures), role, table))
    return importance.draw_panels(panels, [*rows.values()])


def labelled(keys: Sequence[str]) -> list[tuple[str, str]]:
    """Return segments with the letters that they have in table and figure.

    Examples
    --------
    >>> labelled(("nll 1", "entropy 2"))
    [('A', 'nll 1'), ('B', 'entropy 2')]
    """
    return [(chr(ord("A") + k % 26) + (str(k // 26) if k >= 26 else ""), key) for k, key in enumerate(keys)]


SegmentsFigure = figure_plugin(ids.SEGMENTS, draw)
PeriodsFigure = figure_plugin(ids.SEGMENTS_PERIODS, draw)
