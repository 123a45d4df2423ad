"""Counts of a feature by class, as outlines that stay apart in greyscale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ...evidence import columns as col
from . import style


def draw_counts(axes: Axes, counts: pd.DataFrame, edges: Sequence[float] | None, order: Sequence[str]) -> None:
    """Draw counts per bin (`edges` given) or per level, one outline or row of bars per item.

    Parameters
    ----------
    counts : DataFrame
        Columns ``item`` (class), ``x`` (bin centre or level position) and ``value``.
    edges : sequence of float, optional
        Bin edges of a numeric feature.
    order : sequence of str
        The classes in the order that fixes their colours; items beyond it follow.
    """
    items = [item for item in order if item in set(counts[col.ITEM])]
    items += [item for item in dict.fromkeys(counts[col.ITEM]) if item not in items]
    single = len(items) == 1
    for position, item in enumerate(items):
        part = counts[counts[col.ITEM] == item].sort_values(col.X, kind="stable")
        look = style.class_style(position)
        color = style.SPREAD if single else look["color"]
        values = part[col.VALUE].to_numpy(dtype=float)
        if edges is not None and len(edges) == len(values) + 1:
            axes.stairs(values, np.asarray(edges), fill=True, color=color, alpha=0.22, linewidth=0)
            axes.stairs(values, np.asarray(edges), color=color, linewidth=1.1, linestyle=look["linestyle"])
            continue
        width = 0.76 / len(items)
        at = part[col.X].to_numpy(dtype=float) - 0.38 + width * (position + 0.5)
        axes.bar(at, values, 0.9 * width, color=color, alpha=0.8)
    axes.set_ylim(bottom=0)
