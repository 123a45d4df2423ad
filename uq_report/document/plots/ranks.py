"""What figures and tables of ranks share: places in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


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
