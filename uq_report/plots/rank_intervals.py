"""Ranks with their intervals: a column per method and measure, a row per feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..evidence import columns as col
from . import style
from .ranks import ASLANT, SHADES, name_sides
from .shapes import rectangles

TINY = 6.5


class Ranking(NamedTuple):
    """One method's ranks: its two headings, and a table indexed by feature with ``estimate``, ``lower``, ``upper``."""

    method: str
    measure: str
    table: pd.DataFrame


def order(rankings: Sequence[Ranking]) -> list[str]:
    """Return the features by their mean rank over the rankings that hold them."""
    table = pd.DataFrame({k: ranking.table[col.ESTIMATE] for k, ranking in enumerate(rankings)}, dtype=float)
    return [str(feature) for feature in table.mean(axis=1).sort_values(kind="stable").index]


def draw(rankings: Sequence[Ranking], features: Sequence[str], role: str = "") -> Figure:
    """Draw the ranks of `features`; below each the interval of the rank, where it has one."""
    with style.context():
        figure = style.new_figure(0.34 * len(features) + (1.15 if len(rankings) > ASLANT else 0.75))
        axes = figure.subplots()
        for c, ranking in enumerate(rankings):
            _column(axes, c, ranking.table.reindex(list(features)))
        name_sides(axes, features, [(style.name(r.method, 20), style.name(r.measure, 18), role) for r in rankings])
    return figure


def _column(axes: Axes, c: int, table: pd.DataFrame) -> None:
    rank = table[col.ESTIMATE].to_numpy(dtype=float)
    lower, upper = (table[end].to_numpy(dtype=float) for end in (col.LOWER, col.UPPER))
    sure = np.isfinite(lower) & np.isfinite(upper)
    for k, (limit, color) in enumerate(SHADES):
        above = SHADES[k - 1][0] if k else 0
        rows = np.flatnonzero((rank > above) & (rank <= limit))
        rectangles(axes, ((c - 0.48, c + 0.48, r - 0.46, r + 0.46) for r in rows), color)
    for r in np.flatnonzero(np.isfinite(rank)):
        color = "white" if rank[r] <= SHADES[1][0] else style.INK
        look: dict[str, Any] = {"ha": "center", "va": "center_baseline", "color": color}
        axes.text(c, r - 0.17 * bool(sure[r]), f"{rank[r]:.0f}", fontsize=style.SMALL, **look)
        if sure[r]:
            axes.text(c, r + 0.24, f"{lower[r]:.0f} to {upper[r]:.0f}", fontsize=TINY, **look)
