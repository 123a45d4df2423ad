"""Selective prediction in full: the numbers, the risk-coverage curve as a table, and referral by protected group."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...core.model.results import Result
from ...core.support.numbers import number
from ...document import slots
from ...document.blocks import intervals_caption, left_out, paragraphs
from ...document.document import Block, Column
from ...document.plots import style
from ...document.plots.frames import interval_words, numbers
from ...document.plots.registered import figure_plugin
from ...document.text import name, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.selective import RiskCoverageView, SelectiveGroups, SelectiveView
from ...reading.run_reader import RunReader
from ...reading.tables import FEATURE, INTERVAL, Field, line_table
from ..shared.wording import ResultSection

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITEMS = {
    "failure_auroc": "AUROC of failures",
    "normalised_gain": "gain over a random order, as a share of the largest possible",
    "gain": "gain over a random order, in rank form",
    "implied_gain": "the same as the model implies",
    "implied_loss": "mean loss as the model implies",
    "loss": "mean loss",
}
LEAD = (
    "Observations are kept in order of their uncertainty and the others referred to a person. The curve gives the mean "
    "loss of the kept; a person's own errors and costs are not in it. A share or a threshold that is chosen on these "
    "observations looks better than it is."
)


class SelectiveSection(ResultSection[SelectiveView]):
    """The numbers of selective prediction, the curve as a table, and referral by group."""

    name: ClassVar[str] = SelectiveView.id
    slot: ClassVar[str] = slots.SELECTIVE
    shows: ClassVar[tuple[str, ...]] = (SelectiveView.id, RiskCoverageView.id, SelectiveGroups.id)
    of = SelectiveView
    title = "Selective prediction in full"
    empty = "No number could be computed."

    def blocks(self, e: RunReader, view: SelectiveView) -> Iterable[Block]:
        """Return the numbers, the curve and the groups, as tables."""
        yield from paragraphs(LEAD)
        fields: list[Field] = [("", lambda line: ITEMS.get(line.item, line.item)), ("unit", "unit")]
        fields += [(Column("estimate", "number"), "estimate"), INTERVAL, (Column("p, one-sided", "pvalue"), "p_value")]
        caption = f"How well the {view.uncertainty} orders the errors."
        yield line_table("selective-table", caption, view.lines, fields, of=view.result)
        yield from (*_curve(e), *_groups(e), *left_out(view.result))


def _curve(e: RunReader) -> Iterable[Block]:
    view = RiskCoverageView.find(e.run)
    if view is None or not view.lines:
        return
    fields: list[Field] = [
        (Column("share kept", "percent"), "x"),
        (Column("threshold", "number"), "threshold"),
        (Column("loss of the kept", "number"), "estimate"),
        INTERVAL,
        ("band", lambda x: f"{number(x.band_lower)} to {number(x.band_upper)}" if isfinite(x.band_lower) else ""),
        (Column("implied", "number"), "implied"),
        (Column("best order", "number"), "oracle"),
        ("saved", lambda line: value_words(line.saved, line.saved_lower, line.saved_upper)),
        ("share of all loss referred", lambda x: value_words(x.captured, x.captured_lower, x.captured_upper)),
    ]
    if any(isfinite(line.width) for line in view.lines):
        fields.append((Column("width of 90% prediction intervals", "number"), "width"))
    caption = f"Risk-coverage curve. {intervals_caption(view.result.estimates)}"
    yield line_table("selective-curve-table", caption, view.lines, fields, of=view.result)


def _groups(e: RunReader) -> Iterable[Block]:
    view = SelectiveGroups.find(e.run)
    if view is None or not view.lines:
        return
    fields: list[Field] = [
        ("attribute", FEATURE[1]),
        ("group", lambda line: name(line.item)),
        ("", lambda line: e.words(line.measure, view.result).title),
        (Column("n", "integer"), "n"),
        (Column("estimate", "number"), "estimate"),
        INTERVAL,
    ]
    yield line_table("selective-groups", "Referral by protected group.", view.lines, fields, of=view.result)


HEIGHT = 3.0
REFERENCE: dict[str, Any] = {"color": style.SPREAD, "linewidth": 1.0}
ORACLE = {**REFERENCE, "linestyle": style.LINES[2]}
IMPLIED: dict[str, Any] = {"color": style.ROLE["uncertainty"], "linewidth": 1.1, "linestyle": style.LINES[1]}


def draw(result: Result) -> Figure:
    """Draw the loss of the kept observations against their share.

    Parameters
    ----------
    result : Diagnostic
        Its estimates: ``x`` (share kept), ``estimate`` with its limits, ``band_lower`` and ``band_upper``, ``implied``
        and ``oracle``.
    """
    table = result.estimates.sort_values(col.X, kind="stable")
    x, color = 100 * table[col.X], style.ROLE["loss"]
    view = RiskCoverageView.from_result(result)
    scale = 100.0 if view.unit.startswith("share") else 1.0
    risk, low, high, from_, to, implied, oracle = (
        scale * numbers(table, name)
        for name in (col.ESTIMATE, col.LOWER, col.UPPER, "band_lower", "band_upper", "implied", "oracle")
    )
    samples = [style.line(color=color, marker="o", markersize=3.5, linewidth=1.2, label="kept observations")]
    with style.drawing(HEIGHT) as figure:
        axes = style.plain(figure.subplots(), "both")
        if np.isfinite(to).any():
            axes.fill_between(x, from_, to, color=style.BAND, linewidth=0, zorder=0)
            samples.append(style.patch(color=style.BAND, linewidth=0, label="band, all shares from 50% at once"))
        axes.plot(*reversed(style.segments(low, high, x)), color=color, linewidth=0.9)
        axes.plot(x, risk, "-o", color=color, markersize=3.5, linewidth=1.2)
        samples.append(style.line(color=color, linewidth=0.9, label=interval_words(table)))
        if np.isfinite(implied).all():
            axes.plot(x, implied, **IMPLIED)
            samples.append(style.line(**IMPLIED, label="as the model implies"))
        axes.plot([0, 100], [risk[-1], risk[-1]], **REFERENCE)
        axes.plot(x, oracle, **ORACLE)
        samples += [style.line(**REFERENCE, label="random order"), style.line(**ORACLE, label="best order")]
        axes.set(xlabel="share kept, least uncertain first (%)", xlim=(0, 101))
        axes.set_ylabel(f"{view.loss} (%)" if scale > 1 else f"{view.loss}\n({view.unit})")
        axes.set_ylim(bottom=0)
        style.key(figure, samples, columns=3)
    return figure


RiskCoverageFigure = figure_plugin(ids.SELECTIVE_CURVE, draw)
