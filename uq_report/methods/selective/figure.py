"""The risk-coverage curve of selective prediction."""

from typing import Any

import numpy as np

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.frames import interval_words, numbers
from ...document.plots.registered import figure_plugin
from ...evidence import columns as col, ids
from ...evidence.selective import RiskCoverageView

HEIGHT = 3.0
REFERENCE: dict[str, Any] = {"color": style.SPREAD, "linewidth": 1.0}
ORACLE = {**REFERENCE, "linestyle": style.LINES[2]}
IMPLIED: dict[str, Any] = {"color": style.ROLE["uncertainty"], "linewidth": 1.1, "linestyle": style.LINES[1]}


def draw(result: Result) -> style.Figure:
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
    with style.panel(HEIGHT) as (figure, axes):
        axes.plot(x, risk, "-o", color=color, markersize=3.5, linewidth=1.2, label="kept observations")
        if np.isfinite(to).any():
            band: dict[str, Any] = {"color": style.BAND, "linewidth": 0, "label": "band, all shares from 50% at once"}
            axes.fill_between(x, from_, to, zorder=0, **band)
        style.segments(axes, low, high, x, upright=True, color=color, linewidth=0.9, label=interval_words(table))
        if np.isfinite(implied).all():
            axes.plot(x, implied, **IMPLIED, label="as the model implies")
        axes.plot([0, 100], [risk[-1], risk[-1]], **REFERENCE, label="random order")
        axes.plot(x, oracle, **ORACLE, label="best order")
        axes.set(xlabel="share kept, least uncertain first (%)", xlim=(0, 101))
        axes.set_ylabel(f"{view.loss} (%)" if scale > 1 else f"{view.loss}\n({view.unit})")
        axes.set_ylim(bottom=0)
        style.key(figure, columns=3)
    return figure


RiskCoverageFigure = figure_plugin(ids.SELECTIVE_CURVE, draw)
