"""Who is affected: predictions and outcomes by group of every protected attribute, and what goes through it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...document.amounts import amount, apart, points, unbracketed
from ...document.blocks import make_table
from ...document.document import Block, Bullets, Column, Paragraph, Section, Table
from ...document.evidence import Evidence
from ...document.text import clean, joined, mention, name, value_words
from ...evidence.outcomes import (
    DifferenceLine,
    GroupLine,
    Groups,
    GroupsDifference,
    GroupsProxy,
    GroupsUse,
    ProxyLine,
    UseLine,
)
from ...evidence.view import of_feature, of_measure

TITLE = "Who is affected?"
ATTRIBUTES, GROUPS = 3, 6  # in tables of the front part
PREDICTION, OUTCOME, MISSED = "prediction", "outcome", "false_negative_rate"
TOGETHER = "all features"
_OF_GROUP = re.compile(r"^group '.*?': ")


def affected(e: Evidence) -> Section | None:
    """Return a table and a sentence for each attribute, its proxies and what is withheld; None without attributes."""
    view = Groups.find(e.run)
    if view is None:
        reason = (Paragraph(text=e.why_missing(Groups.id)),) if e.subject.protected else ()
        return Section(id="sure-groups", title=TITLE, blocks=reason) if reason else None
    attributes = [Attribute(e, view, one) for one in view.features if one]
    tables = [table for k, one in enumerate(attributes[:ATTRIBUTES], 1) for table in one.table(f"sure-groups-{k}")]
    told = [text for one in attributes for text in one.told()]
    told += [*_proxies(e, view), *_withheld(e, view)]
    blocks: list[Block] = [*tables, *([Bullets(items=tuple(told))] if told else [])]
    blocks = blocks or [Paragraph(text="No group has enough rows to be shown.")]
    return Section(id="sure-groups", title=TITLE, blocks=tuple(blocks))


@dataclass(frozen=True)
class Attribute:
    """What is said of one attribute, of the class whose predictions differ most."""

    e: Evidence
    view: Groups
    name: str

    @cached_property
    def apart(self) -> tuple[DifferenceLine, ...]:
        """Each group less the rest."""
        view = GroupsDifference.find(self.e.run)
        return () if view is None else of_feature(view.lines, self.name)

    @cached_property
    def most(self) -> DifferenceLine | None:
        """The group whose predictions differ most from the rest."""
        lines = [line for line in self.apart if line.measure.startswith(PREDICTION)]
        return max(lines, key=lambda line: abs(line.estimate), default=None)

    @property
    def suffix(self) -> str:
        """The class that predictions are about, empty where there is one."""
        return "" if self.most is None else self.most.measure.removeprefix(PREDICTION)

    def of(self, measure: str, lines: Sequence[GroupLine]) -> dict[str, GroupLine]:
        """Return the lines of a measure by group."""
        return {line.item: line for line in lines if line.measure == f"{measure}{self.suffix}"}

    def groups(self) -> list[str]:
        """Return the groups in their order; of many those whose predictions differ most."""
        known = self.of(PREDICTION, of_feature(self.view.lines, self.name))
        order = [item for item in self.view.levels(self.name) if item in known] or [*known]
        apart = self.of(PREDICTION, self.apart)
        first = sorted(order, key=lambda item: -abs(apart[item].estimate) if item in apart else 0.0)[:GROUPS]
        return [item for item in order if item in first]

    def table(self, key: str) -> tuple[Table, ...]:
        """Return predictions and outcomes by group, and how far each is from the rest."""
        lines, shown = of_feature(self.view.lines, self.name), self.groups()
        means = [self.of(measure, lines) for measure in (PREDICTION, OUTCOME)]
        apart = [self.of(measure, self.apart) for measure in (PREDICTION, OUTCOME)]
        missed = {line.item: line for line in lines if line.measure == MISSED}
        if not shown:
            return ()
        columns = [Column("group"), Column("rows", "integer"), Column("predicted"), Column("observed")]
        columns += [
            Column("predicted, less the rest"),
            Column("observed, less the rest"),
            *[Column("missed")] * bool(missed),
        ]
        rows = [
            (
                *(name(item), means[0][item].n, *(_mean(one.get(item)) for one in means)),
                *(_apart(one, item) for one in apart),
                *([_mean(missed.get(item)) or "withheld"] if missed else []),
            )
            for item in shown
        ]
        return (make_table(key, self._caption(shown, lines), columns, rows, evidence=self.view.id),)

    def _caption(self, shown: Sequence[str], lines: Sequence[GroupLine]) -> str:
        all_of = len(of_measure(lines, f"{PREDICTION}{self.suffix}"))
        which = f" The {len(shown)} of {all_of} groups that differ most." if len(shown) < all_of else ""
        about = f", {name(self.suffix[1:-1])}" if self.suffix else ""
        return f"Mean prediction and outcome by {name(self.name)}{about}.{which}"

    def told(self) -> list[str]:
        """Say how far predictions and outcomes of the group that differs most are from the rest, and through what."""
        most = self.most
        if most is None:
            return []
        came = self.of(OUTCOME, self.apart).get(most.item)
        outcomes = "" if came is None else f"; outcomes {_side(came, '')}"
        about = f"Predictions for {mention(self.name)} = {name(most.item)}"
        return [f"{about} {_side(most, ' those for the rest')}{outcomes}{self._through(most)}."]

    def _through(self, most: DifferenceLine) -> str:
        """Say how much of a difference goes through the attribute, and through the feature that tells it best."""
        view = GroupsUse.find(self.e.run)
        lines: Sequence[UseLine] = () if view is None else of_feature(view.lines, self.name)
        own = [line for line in lines if (line.item, line.measure) == (most.item, most.measure)]
        parts = [_taken(line) for line in sorted(own, key=lambda line: -line.association)[:2]]
        return f"; exchanging {joined(parts)}" if parts else ""


def _taken(line: UseLine) -> str:
    """Say what exchanging a feature takes off a difference, or adds to it."""
    if line.estimate < 0:
        return f"{mention(line.by)} adds {points(_negated(line))} to that difference"
    return f"{mention(line.by)} takes {points(line)} off that difference"


def _negated(line: GroupLine) -> GroupLine:
    return replace(line, estimate=-line.estimate, lower=-line.upper, upper=-line.lower)


def _side(line: GroupLine, other: str) -> str:
    """Say how far a group is above or below another, or that the two are not told apart."""
    if line.lower <= 0 <= line.upper:
        whom = f" from{other}" if other else ""
        return f"cannot be told apart{whom} ({unbracketed(points(line))})"
    above = line.estimate > 0
    return f"are {points(line if above else _negated(line))} {'above' if above else 'below'}{other}"


def _mean(line: GroupLine | None) -> str:
    """Return a mean rounded to its error, without its interval."""
    return "" if line is None else apart(amount(line))[0]


def _apart(lines: Mapping[str, GroupLine], item: str) -> str:
    """Return a difference; of two groups one is the rest of the other."""
    if item in lines:
        return points(lines[item])
    return "the rest" if len(lines) == 1 else ""


def _proxies(e: Evidence, view: Groups) -> list[str]:
    """Say how well the other features tell each attribute, and which goes with it most."""
    found = GroupsProxy.find(e.run)
    lines = () if found is None else found.lines
    told = [text for one in view.features if one and (text := _proxy(of_feature(lines, one), one))]
    return [" ".join(told)] if told else []


def _proxy(lines: Sequence[ProxyLine], attribute: str) -> str:
    together = next((line for line in lines if line.item == TOGETHER), None)
    single = max((line for line in lines if line.item != TOGETHER), key=lambda line: line.estimate, default=None)
    if together is None:
        return ""
    tell = "tell" if together.lower > 0 else "are not shown to tell"
    skill = unbracketed(value_words(together.estimate, together.lower, together.upper))
    closest = (
        "" if single is None else f", closest is {mention(single.item)} (association {value_words(single.estimate)})"
    )
    return f"The other features {tell} {mention(attribute)} (skill {skill}){closest}."


def _withheld(e: Evidence, view: Groups) -> list[str]:
    """Return what is withheld and why, a sentence for what is so of the same attributes."""
    reasons: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    shared: dict[tuple[str, str], list[str]] = {}
    for gap in view.omissions:
        reason = clean(_OF_GROUP.sub("", gap.reason)).removeprefix("withheld, ")
        shared.setdefault((gap.measure, reason), []).append(gap.feature)
    for (measure, reason), features in shared.items():
        what = clean(e.words(measure).title) if measure else "some groups"
        reasons.setdefault((what, tuple(dict.fromkeys(features))), []).append(reason)
    return [
        f"{what[:1].upper()}{what[1:]} withheld for {joined([mention(one) for one in features if one]) or 'all'}: "
        f"{'; '.join(why)}."
        for (what, features), why in reasons.items()
    ]
