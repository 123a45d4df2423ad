"""The small table of a feature's sheet: every importance with its interval and its rank, and what else is known."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

from ...document.document import Column, Table
from ...document.ledger import Ledger
from ...document.places import Ranking
from ...document.plots.words import number
from ...document.telling import distrusted, mark
from ...document.text import joined, mention, mentions, name, value_words
from ...evidence import ids
from ...evidence.importance import RAW, RSens
from ...evidence.view import Estimate

FEW = 2  # partners named
ROLES = {"prediction": "the prediction", "loss": "the loss", "uncertainty": "the doubt"}


class Line(NamedTuple):
    """A line of the table: what, its value in words, and its rank.

    `distrust` says why the interval of the value is not to be trusted, empty where it is.
    """

    what: str
    value: str
    rank: str = ""
    distrust: str = ""


def table(ledger: Ledger, feature: str, key: str) -> Table | None:
    """Return the table of one feature; None where the run says nothing of it."""
    lines = [*lines_of_sheet(ledger, feature)]
    ranked = any(line.rank for line in lines)
    labels = ("what", f"value{_level(ledger, feature)}", *["rank"] * ranked)
    rows = tuple((line.what, line.value, *[line.rank or None] * ranked) for line in lines)
    source = ids.PFI if feature in ledger.losses else ""
    caption = f"{mention(feature)} in numbers{_units(ledger)}."
    columns = tuple(map(Column, labels))
    note = distrusted((line.distrust for line in lines), f"The interval of {name(feature)}")
    return Table(id=key, caption=caption, columns=columns, rows=rows, evidence=source, note=note) if rows else None


def lines_of_sheet(ledger: Ledger, feature: str) -> Iterator[Line]:
    """Yield what the run knows of a feature, line by line."""
    yield from _ranked(ledger.ranking(ids.SHAP_IMPORTANCE, "prediction"), feature, "Shapley size")
    yield from _ranked(ledger.loss, feature, "cost of wrong values")
    yield from _claimed(ledger, feature)
    yield from _corrected(ledger, feature)
    yield from _trained(ledger, feature)
    yield from _grouped(ledger, feature)
    yield from _ranked(ledger.doubt, feature, "doubt rises by")
    yield from _ranked(ledger.ranking(ids.RSENS, ""), feature, f"R-sens per {_step(ledger)}")
    yield from _ranked(ledger.ranking(ids.DALEX_PARTS, "prediction"), feature, "DALEX drop-out loss")
    yield from _interacting(ledger, feature)
    codes = ledger.codes(feature)
    yield from [Line("findings", codes)] if codes else []


def _ranked(ranking: Ranking | None, feature: str, what: str) -> Iterator[Line]:
    """Yield a feature's line in a ranking."""
    line = None if ranking is None else ranking.lines.get(feature)
    if ranking is not None and line is not None and isfinite(line.estimate):
        place = ranking.places.get(feature)
        yield _line(what, line, "" if place is None else place.words, ranking.distrust.get(feature, ""))


def _line(what: str, line: Estimate, rank: str = "", distrust: str = "") -> Line:
    """Return the line of an estimate, its interval marked where it is not to be trusted."""
    found = Line(what, value_words(line.estimate, line.lower, line.upper), rank, distrust)
    return found._replace(value=f"{found.value}{mark(found)}")


def _units(ledger: Ledger) -> str:
    """Say the units of the lines once: ``"; loss and doubt in nats"``."""
    named = {"loss": ledger.loss, "doubt": ledger.doubt}
    held = {what: ranking.unit for what, ranking in named.items() if ranking is not None and ranking.unit}
    together = {unit: [what for what in held if held[what] == unit] for unit in held.values()}
    words = [f"{joined(whats)} in {unit}" for unit, whats in together.items()]
    return f"; {joined(words)}" if words else ""


def _claimed(ledger: Ledger, feature: str) -> Iterator[Line]:
    line = ledger.claimed.get(feature)
    if line is not None:
        yield _line("the model claims", line, distrust=line.distrust)


def _corrected(ledger: Ledger, feature: str) -> Iterator[Line]:
    """Yield the importance with the partners lost too, which could stand in for it."""
    others = ledger.partners.get(feature)
    if others:
        what = f"corrected for cover by {joined(mentions(others), FEW)}"
        yield from _ranked(ledger.ranking(ids.COVER, "loss"), feature, what)


def _trained(ledger: Ledger, feature: str) -> Iterator[Line]:
    """Yield the cost on the training rows where it lies outside the interval of that on unseen rows."""
    line, trained = ledger.losses.get(feature), ledger.trained.get(feature)
    if line is None or trained is None or not line.has_interval:
        return
    if not line.lower <= trained.estimate <= line.upper:
        yield Line("on training rows", value_words(trained.estimate))


def _grouped(ledger: Ledger, feature: str) -> Iterator[Line]:
    """Yield what the group costs that a feature belongs to."""
    group = ledger.group_of(feature)
    if group:
        others = [one for one in ledger.e.subject.groups[group] if one != feature]
        yield from _ranked(ledger.loss, group, f"cost together with {joined(mentions(others), FEW)}")


def _step(ledger: Ledger) -> str:
    view = RSens.find(ledger.e.run)
    return "unit" if view is not None and view.ranked_by == RAW else "standard deviation"


def _interacting(ledger: Ledger, feature: str) -> Iterator[Line]:
    """Yield the pair of the feature with the largest share of interaction, in which measure, and with whom."""
    pairs = [one for one in ledger.interactions if feature in (one.feature, one.feature_2)]
    if pairs:
        most = max(pairs, key=lambda one: one.estimate)
        other = most.feature_2 if most.feature == feature else most.feature
        facts = ledger.e.words(most.measure)
        where = ROLES.get(facts.role, facts.title)
        yield Line(f"interacts most with {mention(other)}", f"H² {number(most.estimate, 2)} in {where}")


def _level(ledger: Ledger, feature: str) -> str:
    """Return the level of the intervals in brackets, where there is one for all."""
    lines = [ranking.lines.get(feature) for ranking in ledger.leading]
    levels = {round(100 * line.confidence) for line in lines if line is not None and line.has_interval}
    return f" ({levels.pop()} %)" if len(levels) == 1 else ""
