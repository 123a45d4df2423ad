"""A sheet for each leading feature: sentences on its effects and importances, its figure, and a small table."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...core.support.text import count, file_stem
from ...document.blocks import make_figure, make_section, paragraphs
from ...document.document import Block, Column, Section, Split, Table
from ...document.plots.frames import number
from ...document.text import items, joined, mention, mentions, name, position, spaced, value_words
from ...evidence import columns as col, ids
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, RAW, RSensView
from ...evidence.profiles import PdpDistribution
from ...evidence.subject import FeatureFacts
from ...evidence.view import EstimateLine, by_key
from ...reading.effects import FALLS, RISES, ROLES, Move, Point, curve, has_levels, move, parts
from ...reading.feature_index import SHEETS, Ledger, in_order, leaders
from ...reading.rank_ranges import FeatureRanking, RankedFeature
from ...reading.run_reader import RunReader
from ...reading.sentences import DAGGER, estimate_words, range_words, unreliable_words
from ...reading.tables import parts_of
from ..plots import SheetPanel, draw_sheet, most_frequent

FEW = 2  # partners named
TURNING = 4  # start, turning points and end of a curve in a sentence
TAIL = 0.05  # of the observations on either side, where no sentence describes a curve


def reading(ledger: Ledger, feature: str) -> str:
    """Return the effects of a feature, its importance for the loss, and the epistemic part of the uncertainty.

    Intervals are in the table and in the figure; here numbers are rounded to them.
    """
    parts = (effect, importance, epistemic)
    return spaced(*(part(ledger, feature) for part in parts))


def effect(ledger: Ledger, feature: str) -> str:
    """Describe the average prediction along a feature, and the uncertainty beside it."""
    measure = ledger.measures.get("prediction")
    points = _middle(ledger, curve(ledger.average, measure or "", feature), feature)
    if measure is None or points.empty:
        return ""
    unit, course = ledger.e.words(measure).unit, move(points)
    uncertainty = _uncertainty(ledger, feature, course)
    if course is None:
        return f"The average prediction shows no significant change{uncertainty}."
    what = f"predicted {unit}" if unit.startswith("probability") else "prediction"
    return f"The {what} {_moves(course, unit)}{uncertainty}."


def _moves(course: Move, unit: str) -> str:
    if 1 < len(course.turns) <= TURNING:
        start, *others = course.turns
        steps = zip(course.turns, others, strict=False)
        verbs = [("rises" if a.estimate < b.estimate else "falls", f"to {rounded(b)} at {b.where}") for a, b in steps]
        (verb, end), *later = verbs
        return ", then ".join([f"{verb} from {rounded(start, unit)} at {start.where} {end}", *map(" ".join, later)])
    at = "for" if course.levels else "at"
    low, high = course.low, course.high
    return f"is lowest {at} {low.where} ({rounded(low, unit)}) and highest {at} {high.where} ({rounded(high)})"


def _middle(ledger: Ledger, points: pd.DataFrame, feature: str) -> pd.DataFrame:
    """Return the points of a curve between the 5th and the 95th percentile of the feature, of few points all."""
    counts, edges = _counts(ledger.e, feature)
    if points.empty or edges is None or has_levels(points):
        return points
    shares = np.append(0.0, counts.groupby(col.X)[col.VALUE].sum().cumsum().to_numpy(dtype=float))
    if len(shares) != len(edges):  # neighbouring edges are one number: the feature is as good as constant
        return points
    low, high = np.interp([TAIL * shares[-1], (1 - TAIL) * shares[-1]], shares, edges)
    middle = points[points[col.X].between(low, high)]
    return middle if len(middle) > 1 else points


def _uncertainty(ledger: Ledger, feature: str, course: Move | None) -> str:
    """Describe the uncertainty along a feature, relative to the prediction where that changes."""
    measure = ledger.measures.get("uncertainty", "")
    points = _middle(ledger, curve(ledger.average, measure, feature), feature)
    if points.empty:
        return ""
    unit, own = ledger.e.words(measure).unit, move(points)
    if own is None:
        return ", nor does the uncertainty" if course is None else "; the uncertainty shows no significant change"
    if course is None:
        return f"; the uncertainty {_moves(own, unit)}"
    ends = [rounded(end) for end in own.ends]
    span = f"{ends[0]} to {f'{ends[1]} {unit}'.strip()}"
    if own.direction and own.direction == course.direction:
        return f", and so does the predictive uncertainty ({span})"
    if own.direction and own.direction == -course.direction:
        return f", while the predictive uncertainty {'rises' if own.direction == RISES else 'falls'} ({span})"
    at, highest = "for" if own.levels else "at", ends[0 if own.direction == FALLS else 1]
    return f"; the uncertainty is highest {at} {own.high.where} ({highest} {unit})"


def importance(ledger: Ledger, feature: str) -> str:
    """Return whether the loss increases out of sample, and the change in uncertainty; the table has the sizes."""
    line = ledger.losses.get(feature)
    if line is None or ledger.loss is None or ledger.loss.facts.sign < 0:
        return ""
    return {
        POSITIVE: f"Permuting it increases the loss{_signalled(ledger, feature)}.",
        NEGATIVE: "Permuting it decreases the loss.",
        ABOUT_0: "Permuting it changes the loss by about 0.",
    }.get(line.verdict, "Its importance for the loss is inconclusive.")


def _signalled(ledger: Ledger, feature: str) -> str:
    """Say whether the uncertainty increases with a loss that does; empty where that is inconclusive."""
    line = ledger.uncertainties.get(feature)
    if line is None or ledger.uncertainty is None or ledger.uncertainty.facts.sign < 0:
        return ""
    size = rounded(line, ledger.uncertainty.facts.unit, sign=0)
    return {
        ABOUT_0: ", without increasing the stated uncertainty",
        POSITIVE: f", and the stated uncertainty then rises by {size}",
        NEGATIVE: f", yet the stated uncertainty then falls by {size}",
    }.get(line.verdict, "")


def epistemic(ledger: Ledger, feature: str) -> str:
    """Say how much of the increase in uncertainty is epistemic, where that is shown."""
    line, total, parts = ledger.epistemics.get(feature), ledger.uncertainties.get(feature), ledger.epistemic
    if line is None or total is None or parts is None:
        return ""
    raised = total.verdict == POSITIVE and total.measure == parts_of(parts.result.estimates[col.MEASURE])[0]
    if line.verdict == ABOUT_0:
        return "The epistemic part of this increase is about 0." if raised else ""
    if line.verdict == POSITIVE and raised and line.estimate < total.estimate:
        whole = rounded(total, parts.facts.unit)
        return f"Of the increase in uncertainty of {whole}, {rounded(line)} are epistemic."
    size = rounded(line, parts.facts.unit, sign=0)
    way = {POSITIVE: "increases", NEGATIVE: "decreases"}.get(line.verdict, "")
    return f"Permuting it {way} the epistemic uncertainty by {size}." if way else ""


def rounded(line: RankedFeature | EstimateLine | Point, unit: str = "", sign: int = 1) -> str:
    """Return `sign` times an estimate, of `sign` 0 its size, rounded to its interval and without that."""
    value = sign * line.estimate if sign else abs(line.estimate)
    return value_words(value, line.lower, line.upper, unit).partition(" (")[0]


class SheetRow(NamedTuple):
    """A line of the table: what, its value in words, and its rank.

    `unreliable` says why the interval of the value is unreliable, empty where it is reliable.
    """

    what: str
    value: str
    rank: str = ""
    unreliable: str = ""


def table(ledger: Ledger, feature: str, key: str) -> Table | None:
    """Return the table of one feature; None where the run has no result on it."""
    lines = [*_lines(ledger, feature)]
    ranked = any(line.rank for line in lines)
    labels = ("what", f"value{_level(ledger, feature)}", *["rank"] * ranked)
    rows = tuple((line.what, line.value, *[line.rank or None] * ranked) for line in lines)
    note = unreliable_words((line.unreliable for line in lines), f"The interval of {name(feature)}")
    source, columns = ids.PFI if feature in ledger.losses else "", tuple(map(Column, labels))
    caption = f"{mention(feature)} in numbers."
    return Table(id=key, caption=caption, columns=columns, rows=rows, evidence=source, note=note) if rows else None


def _lines(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield the results on a feature, line by line."""
    yield from _ranked(ledger.ranking(ids.SHAP_IMPORTANCE, "prediction"), feature, "mean absolute Shapley value")
    yield from _ranked(ledger.loss, feature, "increase in loss")
    yield from _corrected(ledger, feature)
    yield from _trained(ledger, feature)
    yield from _together(ledger, feature)
    yield from _ranked(ledger.ranking(ids.PFI_UNCERTAINTY, "uncertainty"), feature, "size of change in uncertainty")
    view = RSensView.find(ledger.e.run)
    step = "unit" if view is not None and view.ranked_by == RAW else "standard deviation"
    yield from _ranked(ledger.ranking(ids.RSENS, ""), feature, f"R-sens per {step}")
    yield from _interacting(ledger, feature)


def _ranked(ranking: FeatureRanking | None, feature: str, what: str) -> Iterator[SheetRow]:
    """Yield a feature's line in a ranking."""
    line = None if ranking is None else ranking.lines.get(feature)
    if ranking is not None and line is not None and isfinite(line.estimate):
        place, value = ranking.features.get(feature), f"{estimate_words(line)}{DAGGER * bool(line.unreliable)}"
        yield SheetRow(what, value, "" if place is None else place.words, line.unreliable)


def _units(ledger: Ledger) -> str:
    """Return the units of the tables: ``"In the tables: loss and uncertainty in nats."``."""
    rankings = (("loss", ledger.loss), ("uncertainty", ledger.uncertainty))
    units = by_key((x.facts.unit, what) for what, x in rankings if x is not None and x.facts.unit)
    words = [f"{joined(what)} in {unit}" for unit, what in units.items()]
    return f"In the tables: {joined(words)}." if words else ""


def _corrected(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield the importance adjusted for redundancy with partner features."""
    others = ledger.partners.get(feature)
    if others:
        what = f"adjusted for redundancy with {joined(mentions(others), FEW)}"
        yield from _ranked(ledger.ranking(ids.COVER, "loss"), feature, what)


def _trained(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield the importance on the training sample where it lies outside the interval on the test sample."""
    line, trained = ledger.losses.get(feature), ledger.trained.get(feature)
    if line is None or trained is None or not line.has_interval:
        return
    if not line.lower <= trained.estimate <= line.upper:
        yield SheetRow("on training sample, fixed", value_words(trained.estimate))


def _together(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield the importance of a feature together with the other members of its group."""
    group = ledger.group_of(feature)
    if group:
        others = [member for member in ledger.e.subject.groups[group] if member != feature]
        yield from _ranked(ledger.loss, group, f"together with {joined(mentions(others), FEW)}")


def _interacting(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield the pair of the feature with the largest share of interaction."""
    pairs = [pair for pair in ledger.interactions if feature in (pair.feature, pair.feature_2)]
    if pairs:
        most = max(pairs, key=lambda pair: pair.estimate)
        other = most.feature_2 if most.feature == feature else most.feature
        facts = ledger.e.words(most.measure)
        what = f"largest H², with {mention(other)} ({facts.role or facts.title})"
        yield SheetRow(what, number(most.estimate, 2))


def _level(ledger: Ledger, feature: str) -> str:
    """Return the level of the intervals, where all have the same."""
    lines = [ranking.lines.get(feature) for ranking in ledger.leading]
    levels = {round(100 * line.confidence) for line in lines if line is not None and line.has_interval}
    return f" ({levels.pop()}%)" if len(levels) == 1 else ""


LINES = 40  # of the table of the others
RANKED = (ids.SHAP_IMPORTANCE, ids.PFI)
LEAD = (
    "Curves are means over all observations with the feature set to one value; a dashed line is the accumulated local "
    "effect where it differs: prefer it for correlated features. Sentences describe the 5th to the 95th percentile. "
    "Increases: when the feature is permuted, out of sample. H² has no interval."
)


def sheets(e: RunReader, most: int = SHEETS) -> Section | None:
    """Return a sheet for each of at most `most` leading features, and a line per other one; None without features."""
    ledger = Ledger(e)
    if not e.results or not ledger.features:
        return None
    chosen = leaders(ledger, most)
    others = [feature for feature in in_order(ledger) if feature not in chosen]
    sections = [_sheet(ledger, feature) for feature in chosen]
    if others:
        sections.append(make_section("features-others", "Other features", (_others(ledger, others),), (), RANKED))
    missing = "" if ledger.average is not None else f"No curves were computed. {e.why_missing(ids.PDP)}"
    blocks = paragraphs(spaced(LEAD, _units(ledger)), missing)
    behind = (*RANKED, ids.PFI_UNCERTAINTY, ids.COVER, ids.RSENS, ids.H_STATISTIC)
    return make_section("features", "Feature sheets", blocks, tuple(sections), behind)


def _sheet(ledger: Ledger, feature: str) -> Section:
    """Return the sheet of one feature."""
    key = f"sheet-{file_stem(feature)}"
    facts = ledger.facts.get(feature)
    blocks = (_figure(ledger, feature, key), table(ledger, feature, f"{key}-table"))
    sides: list[Block] = [block for block in blocks if block is not None]
    both = (Split(left=(sides[0],), right=(sides[1],)),) if len(sides) == 2 else tuple(sides)
    whole = (*paragraphs(reading(ledger, feature)), *both) or paragraphs("No method explains this feature.")
    return Section(id=key, title=name(feature), feature=feature, aside=_values(facts) if facts else "", blocks=whole)


def _values(facts: FeatureFacts) -> str:
    """Return the values of a feature: ``"number, 4 to 72"``, ``"3 levels"``."""
    missing = f", {count(facts.missing, 'value')} missing" if facts.missing else ""
    if facts.min is not None and facts.max is not None:
        return f"number, {position(facts.min)} to {position(facts.max)}{missing}"
    return f"{count(facts.distinct, 'level')}{missing}" if facts.distinct else facts.kind


def _figure(ledger: Ledger, feature: str, key: str) -> Block | None:
    """Return the figure of a feature's average effects; None without any."""
    measures = {role: ledger.measures[role] for role in ROLES if role in ledger.measures}
    every = [_panel(ledger, role, measure, feature) for role, measure in measures.items()]
    panels = [panel for panel in every if len(panel.average)]
    if ledger.average is None or not panels:
        return None
    counts, edges = _counts(ledger.e, feature)
    first, own = panels[0].average, ledger.average.id
    levels = has_levels(first)
    more = len(first) - len(most_frequent(first, counts)) if levels else 0
    caption = spaced(f"Effects of {name(feature)}.", f"{count(more, 'rarer level')} not drawn." * bool(more))
    drawn = f"{'Points by level' if levels else 'Curves'} of {joined([panel.title for panel in panels])}"
    scope = " Between the 5th and the 95th percentile:" * (not levels)
    words = zip(every, map(ledger.e.words, measures.values()), strict=True)
    ranges = [range_words(_middle(ledger, x.average, feature), facts) for x, facts in words if len(x.average)]
    alt = " ".join([f"{drawn} along {name(feature)}.{scope}", *ranges])
    return make_figure(f"{key}-figure", caption, alt, lambda: draw_sheet(panels, counts, edges), own)


def _panel(ledger: Ledger, role: str, measure: str, feature: str) -> SheetPanel:
    average, local = (curve(result, measure, feature) for result in (ledger.average, ledger.local))
    apart = len(average) and parts(local, average) is not None
    facts = ledger.e.words(measure)
    title = role if role in ("prediction", "loss") else f"uncertainty, {facts.title}"
    return SheetPanel(role, title, facts.unit, average, local if apart else local.head(0))


def _counts(e: RunReader, feature: str) -> tuple[pd.DataFrame, Sequence[float] | None]:
    """Return the observations of a feature by bin or level, and the bounds of the bins."""
    view = PdpDistribution.find(e.run)
    if view is None:
        return pd.DataFrame({col.X: [], col.VALUE: []}), None
    frame = view.result.frame
    return frame.loc[frame[col.FEATURE] == feature, [col.X, col.VALUE]], view.edges.get(feature)


def _others(ledger: Ledger, features: Sequence[str]) -> Table:
    """Return a line for each feature without a sheet, and for each group of features."""
    every = (ledger.ranking(ids.SHAP_IMPORTANCE, "prediction"), ledger.loss, ledger.uncertainty)
    heads_of = ("mean absolute Shapley value", "increase in loss", "increase in uncertainty")
    rankings = {head: ranking for head, ranking in zip(heads_of, every, strict=True) if ranking is not None}
    heads = (Column(head, unit=ranking.facts.unit) for head, ranking in rankings.items())
    rows = tuple(_line(ledger, feature, [*rankings.values()]) for feature in features)
    lines = (ranking.lines.get(feature) for feature in features for ranking in rankings.values())
    reasons = (line.unreliable for line in lines if line is not None)
    return Table(
        id="features-others-table",
        caption="Features without a sheet, and groups of features.",
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
    """Return the number of a feature in a ranking, its interval marked where it is unreliable."""
    line = ranking.lines.get(feature)
    return None if line is None else estimate_words(line) + DAGGER * bool(line.unreliable)
