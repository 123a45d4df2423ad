"""Rankings of different questions and methods beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from ...core.text import count
from ...document.blocks import TOP, intervals_caption, make_figure, make_table
from ...document.document import Block, Column, Table
from ...document.evidence import Evidence
from ...document.questions import Answer, leader, leading
from ...document.telling import NUMBERS, largest_words
from ...document.text import joined, name, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...plots import importance, ranks
from ...plots.frames import interval_words

SIDE = 12  # features in the figure with all questions
COLUMNS = 10
ROWS = 10  # features in the table with all questions
# results whose importances are compared by rank, and what they are called there
RANKED = ((ids.PFI, "PFI"), (ids.SHAP_IMPORTANCE, "SHAP"), (ids.DALEX_PARTS, "DALEX"))
ROLES = ("prediction", "loss", "uncertainty")
LAST = 10**6  # the place of a feature that a ranking has not


def side_by_side(answered: Sequence[Answer], most: int = SIDE) -> list[Block]:
    """Return the figure with one panel per question, ordered by the loss where it is there."""
    if not answered:
        return []
    features, first = leading(answered, most), leader(answered)
    alt = " ".join(f"{a.heading.capitalize()} ({a.facts.title}). {largest_words(a.table, a.facts)}" for a in answered)
    covers = " ".join(f"{a.heading.capitalize()}: {a.method}. {intervals_caption(a.table)}" for a in answered)
    lead = f"The questions side by side for {count(len(features), 'feature')}, ordered by {first.facts.title}."
    panels = [answer.panel() for answer in answered]
    figure = make_figure(
        "drivers-side", f"{lead} {covers}", alt, lambda: importance.draw_panels(panels, features), first.result.id
    )
    return [figure]


def drivers_table(e: Evidence, answered: Sequence[Answer], key: str) -> Table:
    """Return ranks and importances side by side, one pair of columns per question."""
    places = [{feature: k for k, feature in enumerate(answer.features)} for answer in answered]
    features = list(dict.fromkeys(feature for place in places for feature in place))
    features.sort(key=lambda f: (min(p.get(f, LAST) for p in places), sum(p.get(f, LAST) for p in places)))
    return make_table(
        key,
        "What drives the prediction, the loss and the uncertainty, side by side.",
        answer_columns(answered),
        [[name(feature), *answer_cells(answered, feature)] for feature in features[:ROWS]],
        evidence=answered[-1].result.id,
        note=f"{_sources(answered)} {e.group_words}".strip(),
    )


def answer_columns(answered: Sequence[Answer]) -> list[Column]:
    """Return the columns of a table with a rank and a value per question."""
    pairs = ((Column("rank"), Column(a.heading, "text", a.facts.unit)) for a in answered)
    return [Column("feature"), *(column for pair in pairs for column in pair)]


def answer_cells(answered: Sequence[Answer], feature: str) -> list[str | None]:
    """Return a feature's rank and value for each question."""
    cells: list[str | None] = []
    for answer in answered:
        row = answer.table[answer.table[col.FEATURE] == feature]
        words = value_words(*row.iloc[0][list(NUMBERS)]) if len(row) else None
        place = answer.places.get(feature)
        cells += [None if place is None else place.words, words]
    return cells


def _sources(answered: Sequence[Answer]) -> str:
    """Say which numbers these are, and which intervals stand in brackets."""
    parts = [
        f"{a.heading}: {a.method}{f', in brackets the {w}' if (w := interval_words(a.table)) else ''}" for a in answered
    ]
    return f"{'. '.join(parts)}. These rows do not tell the ranks of features that have several."


class _Ranking(NamedTuple):
    """A column of the matrix, whose values are the estimates times `sign`."""

    column: ranks.Column
    sign: int

    @property
    def head(self) -> str:
        return f"{self.column.method} {self.column.measure}"

    def places(self) -> dict[str, int]:
        return ranks.ranks(self.column.values)


def rank_matrix(e: Evidence) -> list[Block]:
    """Return every ranking by method and measure, as a figure and as a table."""
    rankings = _rankings(e)
    if len(rankings) < 2:
        return []
    evidence = ids.PFI if e.find(ids.PFI) is not None else rankings[0].column.source
    return [_matrix(rankings, evidence), _matrix_table(rankings, evidence)]


def _matrix(rankings: Sequence[_Ranking], evidence: str) -> Block:
    places = [one.places() for one in rankings]
    leaders = [joined([name(feature) for feature, rank in place.items() if rank == 1]) for place in places]
    first = joined([f"{one.head}: {feature}" for one, feature in zip(rankings, leaders, strict=True)], COLUMNS)
    below = joined([one.head for one in rankings if one.sign < 0])
    return make_figure(
        "drivers-ranks",
        "Ranks by method and measure, 1 for the largest value (signs kept; equal values share their ranks)."
        f"{f' For {below}, where lower values are worse or less certain, 1 is the lowest.' if below else ''}",
        f"Matrix of ranks, a column per method and measure. First in each: {first}.",
        lambda: ranks.draw([one.column for one in rankings], TOP),
        evidence,
    )


def _matrix_table(rankings: Sequence[_Ranking], evidence: str) -> Block:
    places = [one.places() for one in rankings]
    mean = pd.DataFrame(places).mean().sort_values(kind="stable")
    shared = [ranks.tied(place) for place in places]
    return make_table(
        "drivers-ranks-table",
        "The same ranks as numbers; equal values share their places.",
        [Column("feature"), *(Column(one.head) for one in rankings)],
        [(name(f), *(ranks.places_words(*one[f]) if f in one else None for one in shared)) for f in mean.index],
        evidence=evidence,
        note="Ranks carry the error of the estimates they come from; they have no interval of their own here.",
    )


def _rankings(e: Evidence) -> list[_Ranking]:
    """Return the rankings, those of one question together."""
    rankings = []
    for key, method in RANKED:
        result = e.find(key)
        for measure, table in result.estimates.groupby(col.MEASURE, sort=False) if result is not None else ():
            facts, rows = e.words(str(measure), result), table.dropna(subset=[col.ESTIMATE])
            values = dict(zip(rows[col.FEATURE].astype(str), facts.sign * rows[col.ESTIMATE], strict=True))
            if values:
                column = ranks.Column(method, str(measure), facts.role, values, key)
                rankings.append(_Ranking(column, facts.sign))
    rankings.sort(key=lambda one: ROLES.index(one.column.role) if one.column.role in ROLES else len(ROLES))
    return rankings[:COLUMNS]
