"""A sheet for each leading feature: its effects, importances and ranks, what covers it, and one sentence of reading."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...core.results import MeasureFacts
from ...core.text import count, file_stem
from ...document.blocks import make_figure
from ...document.document import Block, Column, Paragraph, Section, Split, Table
from ...document.effects import ROLES, curve, has_levels, parts
from ...document.evidence import Evidence
from ...document.ledger import Ledger, in_order, leaders
from ...document.places import Ranking
from ...document.telling import DAGGER, distrusted, range_words
from ...document.text import items, joined, name, position, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.profiles import PdpDistribution
from ...evidence.subject import FeatureFacts
from ..plots import sheet as figures
from .sheet_table import table
from .sheet_words import reading

TITLE = "Features"
LINES = 40  # of the table of the others
LEAD = (
    "A curve is the average over all rows with the feature set to one value, in its band; grey bars count the rows. "
    "A dashed line is the local effect where it parts from the average: trust it where features go together. Wrong "
    "values are those of other rows. Ranks are the places that these rows leave open."
)


def sheets(e: Evidence) -> Section | None:
    """Return a sheet per leading feature, and a line for each other one; None where no feature is known."""
    ledger = Ledger(e)
    if not e.results or not ledger.features:
        return None
    chosen = leaders(ledger)
    others = [feature for feature in in_order(ledger) if feature not in chosen]
    rest = _others(ledger, others)
    missing = [] if ledger.average is not None else [Paragraph(text=f"There are no curves. {e.why_missing(ids.PDP)}")]
    blocks: list[Block] = [Paragraph(text=LEAD), *missing]
    parts_of = [_sheet(ledger, feature) for feature in chosen]
    if rest is not None:
        parts_of.append(Section(id="features-others", title="All other features", blocks=(rest,)))
    return Section(id="features", title=TITLE, blocks=tuple(blocks), sections=tuple(parts_of))


def _sheet(ledger: Ledger, feature: str) -> Section:
    """Return the sheet of one feature."""
    key = f"sheet-{file_stem(feature)}"
    words, figure, rows = (
        reading(ledger, feature),
        _figure(ledger, feature, key),
        table(ledger, feature, f"{key}-table"),
    )
    sides = [block for block in (figure, rows) if block is not None]
    beside: list[Block] = [Split(left=(sides[0],), right=(sides[1],))] if len(sides) == 2 else list(sides)
    blocks = [*([Paragraph(text=words)] if words else []), *beside] or [Paragraph(text="No method explains it.")]
    return Section(id=key, title=name(feature), feature=feature, aside=_aside(ledger, feature), blocks=tuple(blocks))


def _aside(ledger: Ledger, feature: str) -> str:
    """Return the kind and range of a feature, and its place for the loss."""
    facts = ledger.facts.get(feature)
    ranking = ledger.loss or next(iter(ledger.leading), None)
    return " · ".join(filter(None, (_values(facts) if facts else "", _rank(ledger, ranking, feature))))


def _values(facts: FeatureFacts) -> str:
    """Say what values a feature has: ``"number, 4 to 72"``, ``"3 levels"``."""
    missing = f", {count(facts.missing, 'value')} missing" if facts.missing else ""
    if facts.min is not None and facts.max is not None:
        return f"number, {position(facts.min)} to {position(facts.max)}{missing}"
    return f"{count(facts.distinct, 'level')}{missing}" if facts.distinct else facts.kind


def _rank(ledger: Ledger, ranking: Ranking | None, feature: str) -> str:
    """Return a feature's place by its estimate among the single ones, and in brackets those that it may have."""
    single = [] if ranking is None else [one for one in ranking.order if one not in ledger.e.subject.groups]
    if ranking is None or feature not in single:
        return ""
    at, place = 1 + single.index(feature), ranking.places.get(feature)
    able = f" ({place.words})" if place is not None and place.words != str(at) else ""
    what = {"loss": " for the loss", "prediction": " for the prediction"}
    return f"rank {at} of {len(single)}{able}{what.get(ledger.e.words(ranking.measure).role, '')}"


def _figure(ledger: Ledger, feature: str, key: str) -> Block | None:
    """Return the figure of a feature's average effects; None without any."""
    average = ledger.average
    held = {role: ledger.measures[role] for role in ROLES if role in ledger.measures}
    panels = [_panel(ledger, role, measure, feature) for role, measure in held.items()]
    panels = [panel for panel in panels if len(panel.average)]
    if average is None or not panels:
        return None
    counts, edges = _counts(ledger.e, feature)
    return make_figure(
        f"{key}-figure",
        _caption(panels, counts, feature),
        " ".join([_shape(panels, feature), *_ranges(ledger, feature, list(held.values()))]),
        lambda: figures.draw(panels, counts, edges),
        average.id,
    )


def _panel(ledger: Ledger, role: str, measure: str, feature: str) -> figures.Panel:
    average, local = (curve(result, measure, feature) for result in (ledger.average, ledger.local))
    told = parts(local, average) if len(average) else None
    title, unit = _title(role, ledger.e.words(measure))
    return figures.Panel(role, title, unit, average, local if told is not None else local.head(0))


def _title(role: str, facts: MeasureFacts) -> tuple[str, str]:
    """Return a panel's title and the unit beside it."""
    if role == "prediction":
        return ("prediction", facts.unit)
    return ("loss", facts.unit) if role == "loss" else (f"doubt, {facts.title}", facts.unit)


def _counts(e: Evidence, feature: str) -> tuple[pd.DataFrame, Sequence[float] | None]:
    """Return the rows of a feature by bin or level, and the bounds of the bins."""
    view = PdpDistribution.find(e.run)
    if view is None:
        return pd.DataFrame({col.X: [], col.VALUE: []}), None
    frame = view.result.frame
    return frame.loc[frame[col.FEATURE] == feature, [col.X, col.VALUE]], view.edges.get(feature)


def _caption(panels: Sequence[figures.Panel], counts: pd.DataFrame, feature: str) -> str:
    """Return the caption: what is drawn, and what is left out."""
    average = panels[0].average
    more = len(average) - len(figures.kept(average, counts)) if has_levels(average) else 0
    left = f"{count(more, 'rarer level')} not drawn." if more else ""
    return " ".join(filter(None, (f"Effects of {name(feature)}.", left)))


def _shape(panels: Sequence[figures.Panel], feature: str) -> str:
    shown = joined([panel.title for panel in panels])
    return f"{'Points by level' if has_levels(panels[0].average) else 'Curves'} of {shown} along {name(feature)}."


def _ranges(ledger: Ledger, feature: str, measures: Sequence[str]) -> list[str]:
    curves = ((m, curve(ledger.average, m, feature)) for m in measures)
    return [range_words(points, ledger.e.words(m)) for m, points in curves if len(points)]


def _others(ledger: Ledger, features: Sequence[str]) -> Table | None:
    """Return a line for each feature without a sheet, and for each group; None without any."""
    prediction = ledger.ranking(ids.SHAP_IMPORTANCE, "prediction")
    parts_of = (("Shapley size", prediction), ("cost of wrong values", ledger.loss), ("doubt rises by", ledger.doubt))
    held = [(head, ranking) for head, ranking in parts_of if ranking is not None]
    columns = (Column("feature"), *(Column(head, unit=ranking.unit) for head, ranking in held), Column("findings"))
    rows = tuple(_line(ledger, feature, [ranking for _, ranking in held]) for feature in features)
    key, caption = "features-others-table", "The other features, and what is changed together."
    reasons = (ranking.distrust.get(feature, "") for feature in features for _, ranking in held)
    note = distrusted(reasons, "An interval of these features")
    shown, rest = rows[:LINES], rows[LINES:]
    made = Table(id=key, caption=caption, columns=columns, rows=shown, total_rows=len(rows), rest=rest, note=note)
    return made if rows else None


def _line(ledger: Ledger, feature: str, rankings: Sequence[Ranking]) -> tuple[str | None, ...]:
    cells = (_cell(ranking, feature) for ranking in rankings)
    members = ledger.e.subject.groups.get(feature)
    group = f": {joined(items(members), 3)} together" if members else ""
    return (f"{name(feature)}{group}", *cells, ledger.codes(feature) or None)


def _cell(ranking: Ranking, feature: str) -> str | None:
    """Return a feature's number in a ranking, its interval marked where it is not to be trusted."""
    line = ranking.lines.get(feature)
    if line is None:
        return None
    return value_words(line.estimate, line.lower, line.upper) + DAGGER * (feature in ranking.distrust)
