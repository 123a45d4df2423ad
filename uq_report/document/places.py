"""The places that features may have in a ranking, as far as its numbers tell them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..core.ranking import ranks
from ..evidence import columns as col
from ..evidence.information import Agreement
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from .plots.frames import has_interval
from .plots.ranks import places_words, tied


class Place(NamedTuple):
    """The first and the last place that a feature may have; `known` by intervals, else only shared in a tie.

    Examples
    --------
    >>> Place(2, 4).words, Place(1, 1).words, Place(2, 3, known=False).words
    ('2 to 4', '1', 'tied, 2 to 3')
    """

    first: int
    last: int
    known: bool = True

    @property
    def words(self) -> str:
        """The places as the chapter on agreement says them."""
        return f"{'' if self.known or self.first == self.last else 'tied, '}{places_words(self.first, self.last)}"


def places(run: Run, source: str, measure: str, table: pd.DataFrame, sign: int = 1) -> Mapping[str, Place]:
    """Return each feature's places in one ranking of the result `source`; of `sign` -1 the smallest leads.

    They are those of the agreement of methods where it ranks alike and has intervals; else the intervals of the
    estimates decide, where all have one: only what lies wholly above comes before. Without intervals equal values tie.
    A group of features has no place among its members.
    """
    single = table[table[col.ESTIMATE].notna() & ~table[col.FEATURE].isin(list(SubjectFacts.of(run).groups))]
    features = single[col.FEATURE].astype(str).tolist()
    together = simultaneous(run, source, measure)
    if set(together) >= set(features):
        return together
    if has_interval(single).all():
        return dict(zip(features, _apart(single, sign), strict=True))
    order = ranks(sign * single[col.ESTIMATE].to_numpy(dtype=float))
    shared = tied(dict(zip(features, order.tolist(), strict=True)))
    return {feature: Place(*ends, known=False) for feature, ends in shared.items()}


def simultaneous(run: Run, source: str, measure: str) -> Mapping[str, Place]:
    """Return the places that hold for all features of one ranking at once; none where they were not computed."""
    view = Agreement.find(run)
    every = view.lines if view is not None and view.sign != "absolute" else ()
    lines = [line for line in every if (line.item, line.measure) == (source, measure) and line.has_interval]
    return {line.feature: Place(int(line.lower), int(line.upper)) for line in lines}


def _apart(table: pd.DataFrame, sign: int) -> list[Place]:
    """Return the places that are left by the intervals that do not meet."""
    ends = np.sort(sign * table[[col.LOWER, col.UPPER]].to_numpy(dtype=float), axis=1)
    above = ends[:, 0] > ends[:, [1]]  # [j, l]: l lies above j
    firsts, lasts = 1 + above.sum(axis=1), len(ends) - above.sum(axis=0)
    return [Place(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]
