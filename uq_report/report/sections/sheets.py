"""A sheet for each leading feature: its effects, importances and ranks, what covers it, and one sentence of reading."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...core.support.text import count, file_stem
from ...document.blocks import make_figure, paragraphs
from ...document.document import Block, Column, Section, Split, Table
from ...document.text import items, joined, name, position, spaced, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.profiles import PdpDistribution
from ...evidence.subject import FeatureFacts
from ...reading.effects import ROLES, curve, has_levels, parts
from ...reading.feature_index import Ledger, in_order, leaders
from ...reading.rank_ranges import FeatureRanking
from ...reading.run_reader import RunReader
from ...reading.sentences import DAGGER, range_words, unreliable_words
from ..plots import sheet as figures
from .sheet_words import reading, table

TITLE = "Features"
LINES = 40  # of the table of the others
LEAD = (
    "A curve is the average over all rows with the feature set to one value, in its band; grey bars count the rows. "
    "A dashed line is the local effect where it parts from the average: trust it where features go together. Wrong "
    "values are those of other rows. Ranks are the places that these rows leave open."
)


def sheets(e: RunReader) -> Section | None:
    """Return a sheet per leading feature, and a line for each other one; None where no feature is known."""
    ledger = Ledger(e)
    if not e.results or not ledger.features:
        return None
    chosen = leaders(ledger)
    others = [feature for feature in in_order(ledger) if feature not in chosen]
    sections = [_sheet(ledger, feature) for feature in chosen]
    if others:
        sections.append(Section(id="features-others", title="All other features", blocks=(_others(ledger, others),)))
    missing = "" if ledger.average is not None else f"There are no curves. {e.why_missing(ids.PDP)}"
    return Section(id="features", title=TITLE, blocks=paragraphs(LEAD, missing), sections=tuple(sections))


def _sheet(ledger: Ledger, feature: str) -> Section:
    """Return the sheet of one feature."""
    key = f"sheet-{file_stem(feature)}"
    facts, ranking = ledger.facts.get(feature), ledger.loss or next(iter(ledger.leading), None)
    # the kind and range of the feature, and its place for the loss
    aside = " · ".join(filter(None, (_values(facts) if facts else "", _rank(ledger, ranking, feature))))
    blocks = (_figure(ledger, feature, key), table(ledger, feature, f"{key}-table"))
    sides: list[Block] = [block for block in blocks if block is not None]
    both = (Split(left=(sides[0],), right=(sides[1],)),) if len(sides) == 2 else tuple(sides)
    whole = (*paragraphs(reading(ledger, feature)), *both) or paragraphs("No method explains it.")
    return Section(id=key, title=name(feature), feature=feature, aside=aside, blocks=whole)


def _values(facts: FeatureFacts) -> str:
    """Say what values a feature has: ``"number, 4 to 72"``, ``"3 levels"``."""
    missing = f", {count(facts.missing, 'value')} missing" if facts.missing else ""
    if facts.min is not None and facts.max is not None:
        return f"number, {position(facts.min)} to {position(facts.max)}{missing}"
    return f"{count(facts.distinct, 'level')}{missing}" if facts.distinct else facts.kind


def _rank(ledger: Ledger, ranking: FeatureRanking | None, feature: str) -> str:
    """Return a feature's place by its estimate among the single ones, and in brackets those that it may have."""
    single = [] if ranking is None else [x for x in ranking.order if x not in ledger.e.subject.groups]
    if ranking is None or feature not in single:
        return ""
    at, place = 1 + single.index(feature), ranking.features.get(feature)
    able = f" ({place.words})" if place is not None and place.words != str(at) else ""
    role = ledger.e.words(ranking.measure).role
    return f"rank {at} of {len(single)}{able}{f' for the {role}' if role in ('loss', 'prediction') else ''}"


def _figure(ledger: Ledger, feature: str, key: str) -> Block | None:
    """Return the figure of a feature's average effects; None without any."""
    measures = {role: ledger.measures[role] for role in ROLES if role in ledger.measures}
    every = [_panel(ledger, role, measure, feature) for role, measure in measures.items()]
    panels = [panel for panel in every if len(panel.average)]
    if ledger.average is None or not panels:
        return None
    counts, edges = _counts(ledger.e, feature)
    curves = "Points by level" if has_levels(panels[0].average) else "Curves"
    shape = f"{curves} of {joined([panel.title for panel in panels])} along {name(feature)}."
    words = zip(every, map(ledger.e.words, measures.values()), strict=True)
    ranges = [range_words(panel.average, facts) for panel, facts in words if len(panel.average)]
    return make_figure(
        f"{key}-figure",
        _caption(panels, counts, feature),
        " ".join([shape, *ranges]),
        lambda: figures.draw(panels, counts, edges),
        ledger.average.id,
    )


def _panel(ledger: Ledger, role: str, measure: str, feature: str) -> figures.SheetPanel:
    average, local = (curve(result, measure, feature) for result in (ledger.average, ledger.local))
    apart = len(average) and parts(local, average) is not None
    facts = ledger.e.words(measure)
    title = role if role in ("prediction", "loss") else f"doubt, {facts.title}"
    return figures.SheetPanel(role, title, facts.unit, average, local if apart else local.head(0))


def _counts(e: RunReader, feature: str) -> tuple[pd.DataFrame, Sequence[float] | None]:
    """Return the rows of a feature by bin or level, and the bounds of the bins."""
    view = PdpDistribution.find(e.run)
    if view is None:
        return pd.DataFrame({col.X: [], col.VALUE: []}), None
    frame = view.result.frame
    return frame.loc[frame[col.FEATURE] == feature, [col.X, col.VALUE]], view.edges.get(feature)


def _caption(panels: Sequence[figures.SheetPanel], counts: pd.DataFrame, feature: str) -> str:
    """Return the caption: what is drawn, and what is left out."""
    average = panels[0].average
    more = len(average) - len(figures.most_frequent(average, counts)) if has_levels(average) else 0
    return spaced(f"Effects of {name(feature)}.", f"{count(more, 'rarer level')} not drawn." if more else "")


def _others(ledger: Ledger, features: Sequence[str]) -> Table:
    """Return a line for each feature without a sheet, and for what is changed together."""
    prediction = ledger.ranking(ids.SHAP_IMPORTANCE, "prediction")
    every = (("Shapley size", prediction), ("cost of wrong values", ledger.loss), ("doubt rises by", ledger.doubt))
    rankings = {head: ranking for head, ranking in every if ranking is not None}
    heads = (Column(head, unit=ranking.unit) for head, ranking in rankings.items())
    rows = tuple(_line(ledger, feature, [*rankings.values()]) for feature in features)
    reasons = (ranking.unreliable.get(feature, "") for feature in features for ranking in rankings.values())
    return Table(
        id="features-others-table",
        caption="The other features, and what is changed together.",
        columns=(Column("feature"), *heads, Column("findings")),
        rows=rows[:LINES],
        total_rows=len(rows),
        rest=rows[LINES:],
        note=unreliable_words(reasons, "An interval of these features"),
    )


def _line(ledger: Ledger, feature: str, rankings: Sequence[FeatureRanking]) -> tuple[str | None, ...]:
    cells = (_cell(ranking, feature) for ranking in rankings)
    members = ledger.e.subject.groups.get(feature)
    group = f": {joined(items(members), 3)} together" if members else ""
    return (f"{name(feature)}{group}", *cells, ledger.codes(feature) or None)


def _cell(ranking: FeatureRanking, feature: str) -> str | None:
    """Return a feature's number in a ranking, its interval marked where it is not to be trusted."""
    line = ranking.lines.get(feature)
    if line is None:
        return None
    return value_words(line.estimate, line.lower, line.upper) + DAGGER * (feature in ranking.unreliable)
