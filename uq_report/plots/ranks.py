"""Ranks side by side: one column per measure and method, one row per feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .shapes import rectangles

TINY = 6.5
ASLANT = 6  # columns above which headings stand aslant
# the last rank of each shade, darkest first; above the last one cells stay white
SHADES = ((1, "#1d4f7c"), (3, "#5b8db8"), (5, "#a9c6de"), (10, "#e1eaf2"))


class Column(NamedTuple):
    """One ranking: its method and measure, the measure's role, an importance per feature, and the result's id."""

    method: str
    measure: str
    role: str
    values: Mapping[str, float]
    source: str = ""


def ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Return 1 for the largest value; equal values share the better rank; signs are kept.

    Examples
    --------
    >>> ranks({"a": 0.3, "b": -0.1, "c": 0.3})
    {'a': 1, 'b': 3, 'c': 1}
    """
    order = pd.Series(dict(values), dtype=float).rank(method="min", ascending=False)
    return {str(feature): int(rank) for feature, rank in order.items()}


def tied(ranked: Mapping[str, float]) -> dict[str, tuple[int, int]]:
    """Return the first and the last place of each feature: the same, unless others share its rank.

    Examples
    --------
    >>> tied({"a": 1, "b": 2, "c": 2})
    {'a': (1, 1), 'b': (2, 3), 'c': (2, 3)}
    """
    shared = Counter(ranked.values())
    return {feature: (int(rank), int(rank) + shared[rank] - 1) for feature, rank in ranked.items()}


def places_words(first: float, last: float) -> str:
    """Return places in words: ``"2"``, ``"2 to 4"``."""
    return " to ".join(f"{place:.0f}" for place in dict.fromkeys((first, last)))


def draw(columns: Sequence[Column], top: int = 20) -> Figure:
    """Draw the rank of each feature in each column, features ordered by their mean rank; ties as ``2 to 4``.

    A feature that a column does not hold has an empty cell; its mean is over the others.
    """
    ranked = [ranks(column.values) for column in columns]
    table = pd.DataFrame(ranked, dtype=float).T
    table = table.loc[table.mean(axis=1).sort_values(kind="stable").index[:top]]
    words = [{feature: places_words(*places) for feature, places in tied(one).items()} for one in ranked]
    with style.context():
        figure = style.new_figure(0.26 * len(table) + (1.1 if len(columns) > ASLANT else 0.75))
        axes = figure.subplots()
        _cells(axes, table, pd.DataFrame(words).T.reindex(table.index))
        heads = [(style.name(c.method, 16), style.name(c.measure, 16), c.role) for c in columns]
        name_sides(axes, list(table.index), heads)
    return figure


def name_sides(axes: Axes, features: Sequence[str], heads: Sequence[tuple[str, str, str]]) -> None:
    """Name the rows by feature, and the columns by method and measure in the colour of a role; many stand aslant."""
    aslant = len(heads) > ASLANT
    axes.set_xlim(-0.5, max(len(heads), 3) - 0.5)
    axes.set_ylim(len(features) - 0.5, -0.5)
    axes.set_yticks(range(len(features)), [style.name(feature) for feature in features])
    axes.xaxis.tick_top()
    joint = " " if aslant else "\n"
    axes.set_xticks(range(len(heads)), [f"{method}{joint}{measure}" for method, measure, _ in heads])
    for text, (_, _, role) in zip(axes.get_xticklabels(), heads, strict=True):
        text.set_color(style.ROLE.get(role, style.INK))
        if aslant:
            text.set(rotation=35, ha="left", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _cells(axes: Axes, table: pd.DataFrame, words: pd.DataFrame) -> None:
    ranked = table.to_numpy()
    for k, (limit, color) in enumerate(SHADES):
        above = SHADES[k - 1][0] if k else 0
        cells = np.argwhere((ranked > above) & (ranked <= limit))
        rectangles(axes, ((c - 0.48, c + 0.48, r - 0.46, r + 0.46) for r, c in cells), color)
    for r, c in np.argwhere(np.isfinite(ranked)):
        dark = ranked[r, c] <= SHADES[1][0]
        color = "white" if dark else style.INK
        text = str(words.iloc[r, c])
        size = style.SMALL if text.isdigit() else TINY
        axes.text(c, r, text, ha="center", va="center_baseline", fontsize=size, color=color)
