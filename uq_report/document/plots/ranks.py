"""What figures and tables of ranks share: places in words, shades, and the names of rows and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from . import style

TINY = 6.5
ASLANT = 6  # columns above which headings stand aslant
# the last rank of each shade, darkest first; above the last one cells stay white
SHADES = ((1, "#1d4f7c"), (3, "#5b8db8"), (5, "#a9c6de"), (10, "#e1eaf2"))


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
