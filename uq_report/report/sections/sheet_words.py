"""The words of a feature's sheet: two or three sentences, each only as far as its evidence goes, and a small table."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

from ...document.document import Column, Table
from ...document.plots.words import number
from ...document.text import interval, joined, mention, mentions, name, spaced, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, RAW, RSensView
from ...evidence.view import EstimateLine
from ...reading.effects import FALLS, RISES, Move, curve, move
from ...reading.feature_index import Ledger
from ...reading.members import parts_of
from ...reading.rank_ranges import FeatureRanking
from ...reading.sentences import mark, unreliable_words

FEW = 2  # partners named
ROLES = {"prediction": "the prediction", "loss": "the loss", "uncertainty": "the doubt"}


def reading(ledger: Ledger, feature: str) -> str:
    """Return what the feature does to the prediction and the uncertainty, what permuted values cost, and who covers it.

    Intervals stand in the table and in the figure; here numbers are rounded to them.
    """
    parts = (effect, cost, disagreement, cover)
    return spaced(*(part(ledger, feature) for part in parts))


def effect(ledger: Ledger, feature: str) -> str:
    """Say how the average prediction moves along a feature, and whether the uncertainty moves with it."""
    measure = ledger.measures.get("prediction")
    points = curve(ledger.average, measure or "", feature)
    if measure is None or points.empty:
        return ""
    unit, course = ledger.e.words(measure).unit, move(points)
    doubt = _doubt(ledger, feature, course)
    if course is None:
        return f"The prediction has no clear direction{doubt}."
    what = f"predicted {unit}" if unit.startswith("probability") else "prediction"
    return f"The {what} {_moves(course, unit)}{doubt}."


def _moves(course: Move, unit: str) -> str:
    a, b = course.ends
    start, end = rounded(a.estimate, a.lower, a.upper, unit), rounded(b.estimate, b.lower, b.upper)
    at = "for" if course.levels else "at"
    if course.direction in (RISES, FALLS):
        verb = "rises" if course.direction == RISES else "falls"
        return f"{verb} from {start} at {a.where} to {end} at {b.where}"
    return f"is lowest {at} {a.where} ({start}) and highest {at} {b.where} ({end})"


def _doubt(ledger: Ledger, feature: str, course: Move | None) -> str:
    """Say how the uncertainty moves, next to the prediction where that has a course."""
    measure = ledger.measures.get("uncertainty", "")
    points = curve(ledger.average, measure, feature)
    if points.empty:
        return ""
    unit, own = ledger.e.words(measure).unit, move(points)
    if own is None:
        return ", nor has the model's doubt" if course is None else "; the model's doubt has no clear direction"
    if course is None:
        return f"; the model's doubt {_moves(own, unit)}"
    ends = [rounded(end.estimate, end.lower, end.upper) for end in own.ends]
    span = f"{ends[0]} to {f'{ends[1]} {unit}'.strip()}"
    if own.direction and own.direction == course.direction:
        return f", and so does the model's doubt ({span})"
    if own.direction and own.direction == -course.direction:
        return f", while the model's doubt {'rises' if own.direction == RISES else 'falls'} ({span})"
    at, highest = "for" if own.levels else "at", ends[0 if own.direction == FALLS else 1]
    return f"; the model's doubt is highest {at} {own.high.where} ({highest} {unit})"


def cost(ledger: Ledger, feature: str) -> str:
    """Say what permuted values cost out of sample, against what the model claims, and whether uncertainty rises."""
    line = ledger.losses.get(feature)
    if line is None or ledger.loss is None or ledger.loss.sign < 0:
        return ""
    unit = ledger.loss.unit
    value = rounded(line.estimate, line.lower, line.upper, unit)
    if line.verdict == POSITIVE:
        return f"Wrong values cost {value} on unseen rows{_claim(ledger, feature)}{_noticed(ledger, feature)}."
    if line.verdict == NEGATIVE:
        less = rounded(-line.estimate, line.lower, line.upper, unit)
        return f"Wrong values lower the loss on unseen rows by {less}{_doubted(ledger, feature)}."
    if line.verdict == ABOUT_0:
        return f"Wrong values cost about nothing on unseen rows ({value}){_doubted(ledger, feature)}."
    ends = interval(line.lower, line.upper)
    between = f" ({f'{ends} {unit}'.strip()}){mark(line)}" if ends else ""
    return f"What wrong values cost on unseen rows is open{between}{_doubted(ledger, feature)}."


def _claim(ledger: Ledger, feature: str) -> str:
    """Compare a cost that is shown with what the model claims."""
    claim, side = _claimed(ledger, feature)
    if not claim or not side:
        return f", against {claim} claimed" if claim else ""
    return f", {'less' if side > 0 else 'more'} than the {claim} the model claims"


def _doubted(ledger: Ledger, feature: str) -> str:
    """Say what the model claims where no cost is shown, if it claims more than unseen rows confirm."""
    claim, side = _claimed(ledger, feature)
    return f", though the model claims {claim}" if side > 0 else ""


def _claimed(ledger: Ledger, feature: str) -> tuple[str, int]:
    """Return what the model claims, and 1 where that is shown to be too much, -1 too little, else 0."""
    claimed, excess = ledger.claimed.get(feature), ledger.excess.get(feature)
    if claimed is None or excess is None:
        return "", 0
    claim = rounded(claimed.estimate, claimed.lower, claimed.upper)
    shows = excess.has_interval and not excess.unreliable
    return claim, int(shows and excess.lower > 0) - int(shows and excess.upper < 0)


def _noticed(ledger: Ledger, feature: str) -> str:
    """Say whether the uncertainty rises with a loss that does; nothing where that cannot be told."""
    line = ledger.doubts.get(feature)
    if line is None or ledger.doubt is None or ledger.doubt.sign < 0:
        return ""
    size = rounded(abs(line.estimate), line.lower, line.upper, ledger.doubt.unit)
    return {
        ABOUT_0: ", but the doubt hardly changes then",
        POSITIVE: f", and the doubt then rises by {size}",
        NEGATIVE: f", yet the doubt then falls by {size}",
    }.get(line.verdict, "")


def disagreement(ledger: Ledger, feature: str) -> str:
    """Say how much of the rise of uncertainty is disagreement of the model's members, where that is shown."""
    line, doubt, parts = ledger.disagreements.get(feature), ledger.doubts.get(feature), ledger.disagreement
    if line is None or doubt is None or parts is None:
        return ""
    raised = doubt.verdict == POSITIVE and doubt.measure == parts_of(parts.result.estimates[col.MEASURE])[0]
    if line.verdict == ABOUT_0:
        return "Next to nothing of that doubt is disagreement of the members." if raised else ""
    if line.verdict == POSITIVE and raised and line.estimate < doubt.estimate:
        whole, lost = rounded(doubt.estimate, doubt.lower, doubt.upper, parts.unit), ledger.losses.get(feature)
        noticed = lost is not None and lost.verdict == POSITIVE and bool(_noticed(ledger, feature))
        lead = f"Of these {whole}," if noticed else f"The doubt then rises by {whole}, of which"
        return f"{lead} {rounded(line.estimate, line.lower, line.upper)} is disagreement of the members."
    size = rounded(abs(line.estimate), line.lower, line.upper, parts.unit)
    way = {POSITIVE: "more", NEGATIVE: "less"}.get(line.verdict, "")
    return f"The members then disagree {way}, by {size}." if way else ""


def cover(ledger: Ledger, feature: str) -> str:
    """Say what others hide of a feature, where that is shown."""
    line = ledger.covered.get(feature)
    others = ledger.partners.get(feature, ())
    if line is None or line.unreliable or not others or ledger.loss is None:
        return ""
    if not line.change_lower > 0 or line.change < line.margin:
        return ""
    more = rounded(line.change, line.change_lower, line.change_upper, ledger.loss.unit)
    return f"Where {joined(mentions(others), FEW)} cannot stand in for it, wrong values cost {more} more."


def rounded(estimate: float, lower: float, upper: float, unit: str = "") -> str:
    """Return an estimate rounded to its interval, without the interval.

    Examples
    --------
    >>> rounded(0.03674, 0.00079, 0.0726, "nats")
    '0.037 nats'
    """
    return value_words(estimate, lower, upper, unit).partition(" (")[0]


class SheetRow(NamedTuple):
    """A line of the table: what, its value in words, and its rank.

    `unreliable` says why the interval of the value is not to be trusted, empty where it is.
    """

    what: str
    value: str
    rank: str = ""
    unreliable: str = ""


def table(ledger: Ledger, feature: str, key: str) -> Table | None:
    """Return the table of one feature; None where the run says nothing of it."""
    lines = [*_lines(ledger, feature)]
    ranked = any(line.rank for line in lines)
    labels = ("what", f"value{_level(ledger, feature)}", *["rank"] * ranked)
    rows = tuple((line.what, line.value, *[line.rank or None] * ranked) for line in lines)
    note = unreliable_words((line.unreliable for line in lines), f"The interval of {name(feature)}")
    source, columns = ids.PFI if feature in ledger.losses else "", tuple(map(Column, labels))
    caption = f"{mention(feature)} in numbers{_units(ledger)}."
    return Table(id=key, caption=caption, columns=columns, rows=rows, evidence=source, note=note) if rows else None


def _lines(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield what the run knows of a feature, line by line."""
    yield from _ranked(ledger.ranking(ids.SHAP_IMPORTANCE, "prediction"), feature, "Shapley size")
    yield from _ranked(ledger.loss, feature, "cost of wrong values")
    claim = ledger.claimed.get(feature)
    yield from [_line("the model claims", claim, unreliable=claim.unreliable)] if claim is not None else []
    yield from _corrected(ledger, feature)
    yield from _trained(ledger, feature)
    yield from _together(ledger, feature)
    yield from _ranked(ledger.doubt, feature, "doubt rises by")
    view = RSensView.find(ledger.e.run)
    step = "unit" if view is not None and view.ranked_by == RAW else "standard deviation"
    yield from _ranked(ledger.ranking(ids.RSENS, ""), feature, f"R-sens per {step}")
    yield from _ranked(ledger.ranking(ids.DALEX_PARTS, "prediction"), feature, "DALEX drop-out loss")
    yield from _interacting(ledger, feature)
    codes = ledger.codes(feature)
    yield from [SheetRow("findings", codes)] if codes else []


def _ranked(ranking: FeatureRanking | None, feature: str, what: str) -> Iterator[SheetRow]:
    """Yield a feature's line in a ranking."""
    line = None if ranking is None else ranking.lines.get(feature)
    if ranking is not None and line is not None and isfinite(line.estimate):
        place = ranking.features.get(feature)
        yield _line(what, line, "" if place is None else place.words, ranking.unreliable.get(feature, ""))


def _line(what: str, line: EstimateLine, rank: str = "", unreliable: str = "") -> SheetRow:
    """Return the line of an estimate, its interval marked where it is not to be trusted."""
    row = SheetRow(what, value_words(line.estimate, line.lower, line.upper), rank, unreliable)
    return row._replace(value=f"{row.value}{mark(row)}")


def _units(ledger: Ledger) -> str:
    """Say the units of the lines once: ``"; loss and uncertainty in nats"``."""
    units: dict[str, list[str]] = {}
    for what, ranking in (("loss", ledger.loss), ("doubt", ledger.doubt)):
        if ranking is not None and ranking.unit:
            units.setdefault(ranking.unit, []).append(what)
    words = [f"{joined(what)} in {unit}" for unit, what in units.items()]
    return f"; {joined(words)}" if words else ""


def _corrected(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield the importance with the partners lost too, which could replace it."""
    others = ledger.partners.get(feature)
    if others:
        what = f"corrected for cover by {joined(mentions(others), FEW)}"
        yield from _ranked(ledger.ranking(ids.COVER, "loss"), feature, what)


def _trained(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield the cost on the training rows where it lies outside the interval of that on unseen rows."""
    line, trained = ledger.losses.get(feature), ledger.trained.get(feature)
    if line is None or trained is None or not line.has_interval:
        return
    if not line.lower <= trained.estimate <= line.upper:
        yield SheetRow("on training rows", value_words(trained.estimate))


def _together(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield what a feature costs together with those that it is changed with."""
    group = ledger.group_of(feature)
    if group:
        others = [member for member in ledger.e.subject.groups[group] if member != feature]
        yield from _ranked(ledger.loss, group, f"cost together with {joined(mentions(others), FEW)}")


def _interacting(ledger: Ledger, feature: str) -> Iterator[SheetRow]:
    """Yield the pair of the feature with the largest share of interaction, in which measure, and with whom."""
    pairs = [pair for pair in ledger.interactions if feature in (pair.feature, pair.feature_2)]
    if pairs:
        most = max(pairs, key=lambda pair: pair.estimate)
        other = most.feature_2 if most.feature == feature else most.feature
        facts = ledger.e.words(most.measure)
        where = ROLES.get(facts.role, facts.title)
        yield SheetRow(f"interacts most with {mention(other)}", f"H² {number(most.estimate, 2)} in {where}")


def _level(ledger: Ledger, feature: str) -> str:
    """Return the level of the intervals in brackets, where there is one for all."""
    lines = [ranking.lines.get(feature) for ranking in ledger.leading]
    levels = {round(100 * line.confidence) for line in lines if line is not None and line.has_interval}
    return f" ({levels.pop()} %)" if len(levels) == 1 else ""
