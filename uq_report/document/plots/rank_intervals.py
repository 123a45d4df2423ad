"""Ranks with their intervals: a column per method and measure, a row per feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ...evidence import columns as col
from . import style
from .ranks import places_words, tied
from .shapes import cells, name_sides, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TINY = 6.5
ASLANT = 6  # columns above which headings stand aslant
# the last rank of each shade, darkest first; above the last one cells stay white
SHADES = ((1, "#1d4f7c"), (3, "#5b8db8"), (5, "#a9c6de"), (10, "#e1eaf2"))


class DrawnRanks(NamedTuple):
    """One method's ranks: its two headings, and a table indexed by feature with ``estimate``, ``lower``, ``upper``."""

    method: str
    measure: str
    table: pd.DataFrame


def order(rankings: Sequence[DrawnRanks]) -> list[str]:
    """Return the features by their mean rank over the rankings that hold them."""
    table = pd.DataFrame({k: ranking.table[col.ESTIMATE] for k, ranking in enumerate(rankings)}, dtype=float)
    return [str(feature) for feature in table.mean(axis=1).sort_values(kind="stable").index]


def draw(rankings: Sequence[DrawnRanks], features: Sequence[str], role: str = "") -> Figure:
    """Draw the ranks of `features`: the interval of each, or its estimate where it has none, ties as ``2 to 4``."""
    many = len(rankings) > ASLANT
    with style.drawing(0.34 * len(features) + (1.15 if many else 0.75)) as figure:
        axes = figure.subplots()
        for c, ranking in enumerate(rankings):
            _column(axes, c, _places(ranking.table).reindex(list(features)))
        axes.xaxis.tick_top()
        heads = [(" " if many else "\n").join((style.name(r.method, 20), style.name(r.measure, 18))) for r in rankings]
        name_sides(axes, features, heads, 3)
        axes.tick_params(axis="x", labelcolor=style.ROLE.get(role, style.INK))
        if many:
            style.aslant(axes, ha="left")
    return figure


def _places(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ranks, and in `words` what is determined of each: its interval, or which places it shares."""
    shared = tied({str(feature): rank for feature, rank in table[col.ESTIMATE].dropna().items()})
    ends = table[[col.LOWER, col.UPPER]]
    sure = {str(feature): tuple(row) for feature, row in zip(ends.index, ends.to_numpy(float), strict=True)}
    chosen = {feature: sure[feature] if np.isfinite(sure[feature]).all() else shared[feature] for feature in shared}
    return table[[col.ESTIMATE]].assign(words=pd.Series({f: places_words(*ends) for f, ends in chosen.items()}))


def _column(axes: Axes, c: int, table: pd.DataFrame) -> None:
    rank = table[col.ESTIMATE].to_numpy(dtype=float)
    for k, (limit, color) in enumerate(SHADES):
        above = SHADES[k - 1][0] if k else 0
        rows = np.flatnonzero((rank > above) & (rank <= limit)).tolist()
        cells(axes, ((r, c) for r in rows), color)
    for r in np.flatnonzero(np.isfinite(rank)).tolist():
        text = str(table["words"].iloc[r])
        write(axes, (r, c), text, rank[r] <= SHADES[1][0], style.SMALL if text.isdigit() else TINY)
