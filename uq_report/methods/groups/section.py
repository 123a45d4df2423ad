"""Performance and uncertainty by group of a protected attribute, with intervals and numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import ClassVar

from ...core.measures import ENTROPY, NLL
from ...document import slots
from ...document.blocks import interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ...document.document import Block, Column, Paragraph, Section
from ...document.evidence import Evidence
from ...document.plots import importance
from ...document.plots.words import axis_label
from ...document.text import joined, name, value_words
from ...evidence import columns as col
from ...evidence.outcomes import (
    CONFIDENCE_GAP,
    DifferenceLine,
    GroupLine,
    Groups,
    GroupsDifference,
    GroupsProxy,
    GroupsUse,
    UseLine,
)
from ...evidence.view import of_feature, of_measure, table_of
from ..shared.wording import BuiltIn, absent, words_of

TITLE = "Groups"
PANELS = 3
TOP = 12
LOSS, EXPECTED = (NLL.name, "brier", "squared_error"), (CONFIDENCE_GAP, "excess_loss")
PREFERRED = ("prediction", "outcome", *EXPECTED, *LOSS, ENTROPY.name)
RATES = ("coverage_90", "false_positive_rate", "false_negative_rate")
LEAD = (
    "Groups of the attributes that were named as protected; small groups are withheld. A difference is a group less "
    "the rest. Outcomes less predictions, and the loss less the loss that the model expects, are 0 on average in every "
    "group if the model is right; losses, entropy and error rates differ wherever base rates do. Intervals hold one by "
    "one; findings are adjusted for their number. A difference is no proof of unfairness, its absence no proof of "
    "fairness."
)
TITLES = {"residual": "outcome less prediction", "coverage_90": "coverage of 90 % intervals"}
MEAN, LESS_REST = False, True
PREDICTED = (
    ("prediction", MEAN),
    ("outcome", MEAN),
    ("prediction", LESS_REST),
    ("outcome", LESS_REST),
    ("residual", LESS_REST),
)


class GroupsSection(BuiltIn):
    """Performance and uncertainty by group of each attribute, and proxies; or why there is none."""

    name: ClassVar[str] = Groups.id
    slot: ClassVar[str] = slots.GROUPS
    shows: ClassVar[tuple[str, ...]] = (Groups.id, GroupsDifference.id, GroupsProxy.id, GroupsUse.id)

    def section(self, evidence: Evidence) -> Section:
        """Return a part per attribute, and one on proxies."""
        view, section = Groups.find(evidence.run), Section(id=self.name, title=TITLE)
        if view is None or not view.lines:
            return absent(evidence, section, Groups.id, view, "No group has enough rows to be shown.")
        texts = filter(None, (LEAD, notes_of(view.result)))
        blocks: list[Block] = [*(Paragraph(text=text) for text in texts), *left_out(view.result)]
        parts = [
            _Attribute(evidence, view, attribute, f"groups-{k}").section()
            for k, attribute in enumerate(filter(None, view.features), 1)
        ]
        return Section(id=self.name, title=TITLE, blocks=tuple(blocks), sections=(*parts, *_proxy(evidence)))


@dataclass(frozen=True)
class _Attribute:
    """What is said of one attribute; blocks are named after `key`."""

    e: Evidence
    view: Groups
    attribute: str
    key: str

    @cached_property
    def lines(self) -> tuple[GroupLine, ...]:
        """The means over all rows, and those of its groups in their order."""
        known = self.view.levels(self.attribute)
        place = {item: k for k, item in enumerate(known)}
        own = sorted(of_feature(self.view.lines, self.attribute), key=lambda x: place.get(x.item, len(known)))
        return (*of_feature(self.view.lines, ""), *own)

    @cached_property
    def apart(self) -> tuple[DifferenceLine, ...]:
        """Each group less the rest, groups in their order."""
        view = GroupsDifference.find(self.e.run)
        order = list(self.sizes)
        lines = () if view is None else of_feature(view.lines, self.attribute)
        return tuple(sorted(lines, key=lambda x: order.index(x.item) if x.item in order else len(order)))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Rows of each group, in order."""
        found: dict[str, int] = {}
        for line in self.lines:
            found[line.item] = max(found.get(line.item, 0), line.n)
        return found

    @cached_property
    def used(self) -> tuple[UseLine, ...]:
        """What is lost when the attribute, or a feature that tells it, is exchanged."""
        view = GroupsUse.find(self.e.run)
        return () if view is None else of_feature(view.lines, self.attribute)

    def section(self) -> Section:
        """Return predictions and outcomes, loss against expectation, use, and all differences."""
        measures = list(dict.fromkeys(line.measure for line in self.lines))
        suffixes = [m.removeprefix("prediction") for m in measures if m.startswith("prediction")]
        loss, excess = (next((m for m in found if m in measures), "") for found in (LOSS, EXPECTED))
        leading = ([m for m in PREFERRED if m in measures] or measures)[:PANELS]
        tables = (
            self._levels("predictions", "Predictions and outcomes", PREDICTED, suffixes),
            self._levels("losses", "Loss against the loss that the model expects", _losses(loss, excess), [""]),
            self._levels("rates", "Coverage and error rates", [(m, MEAN) for m in RATES], [""]),
        )
        blocks = [*tables[0], self._figure(leading), *tables[1], *tables[2]]
        return Section(id=self.key, title=name(self.attribute), blocks=(*blocks, *self._use(), *self._differences()))

    def _levels(
        self, key: str, title: str, columns: Sequence[tuple[str, bool]], suffixes: Sequence[str]
    ) -> tuple[Block, ...]:
        """Return a row per group (and class), a column per measure or its difference to the rest."""
        cells = {(MEAN, x.measure, x.item): words_of(x) for x in self.lines}
        cells |= {(LESS_REST, x.measure, x.item): words_of(x) for x in self.apart}
        filled = {(kind, measure) for kind, measure, _ in cells}
        shown = [(m, kind) for m, kind in columns if any((kind, f"{m}{s}") in filled for s in suffixes)]
        if not shown:
            return ()
        several = len(suffixes) > 1
        rows = [
            (*(name(item), n), *([_class(s)] if several else []), *(cells.get((k, f"{m}{s}", item)) for m, k in shown))
            for item, n in self.sizes.items()
            for s in suffixes
        ]
        labels = [f"{TITLES.get(m, self.e.words(m).title)}{', less the rest' if kind else ''}" for m, kind in shown]
        heads = [Column("group"), Column("rows", "integer"), *([Column("class")] if several else [])]
        caption = f"{title} by group of {name(self.attribute)}. {intervals_caption(table_of(self.lines))}"
        table = make_table(f"{self.key}-{key}", caption, [*heads, *map(Column, labels)], rows, evidence=self.view.id)
        return (table,)

    def _use(self) -> tuple[Block, ...]:
        """Return what is lost when the attribute, or a feature that tells it, is exchanged."""
        if not self.used:
            return ()
        several = any(x.measure != "prediction" for x in self.used)
        rows = [
            (
                *(name(x.by), x.association),
                *([_class(x.measure.removeprefix("prediction"))] if several else []),
                *(name(x.item), words_of(x)),
            )
            for x in self.used
        ]
        lost = "contrast to the rest that is lost; of all rows, mean change"
        columns = [Column("exchanged"), Column("association", "number"), *([Column("class")] if several else [])]
        columns += [Column("group"), Column(lost)]
        caption = f"Predictions when {name(self.attribute)}, or a feature that tells it, is exchanged."
        intervals = intervals_caption(table_of(self.used))
        return (make_table(f"{self.key}-use", f"{caption} {intervals}", columns, rows, evidence=GroupsUse.id),)

    def _figure(self, measures: Sequence[str]) -> Block:
        """Draw the leading measures side by side, a row per group."""
        parts = {measure: of_measure(self.lines, measure) for measure in measures}
        labels = list(dict.fromkeys(line.item for lines in parts.values() for line in lines))[:TOP]
        panels = [self._panel(measure, lines) for measure, lines in parts.items()]
        means = [f"{self.e.words(measure).title}: {_ends(lines)}" for measure, lines in parts.items()]
        what = name(self.attribute)
        return make_figure(
            f"{self.key}-figure",
            f"Mean by group of {what}, and over all rows. {intervals_caption(table_of(self.lines))}",
            f"A dot with its interval per group of {what}. {'. '.join(means)}.",
            lambda: importance.draw_panels(panels, labels),
            self.view.id,
        )

    def _panel(self, measure: str, lines: Sequence[GroupLine]) -> importance.Panel:
        table = table_of(lines).assign(feature=[line.item for line in lines]).drop_duplicates(col.FEATURE)
        label = axis_label(measure, self.view.result.measures)
        return importance.Panel("", label, self.e.words(measure).role, table)

    def _differences(self) -> tuple[Block, ...]:
        """Return each group less the rest, with its interval and p-value."""
        lines = self.apart
        if not lines:
            return ()
        table = table_of(lines)
        interval = interval_columns(table)
        columns = [Column("group"), Column("measure"), Column("rows", "integer"), Column("rest", "integer")]
        columns += [Column("difference", "number"), *interval, Column("p", "pvalue"), Column("over all rows", "number")]
        rows = [
            (
                *(name(line.item), self.e.words(line.measure).title, line.n, line.n_rest, line.estimate),
                *((line.lower, line.upper) if interval else ()),
                *(line.p_value, line.overall),
            )
            for line in lines
        ]
        caption = f"Each group of {name(self.attribute)} less the rest. {intervals_caption(table)}"
        key = f"{self.key}-differences"
        return (make_table(key, caption, columns, rows, evidence=GroupsDifference.id),)


def _losses(loss: str, excess: str) -> list[tuple[str, bool]]:
    """Return the columns of the loss against its expectation."""
    columns = [(loss, MEAN), (ENTROPY.name, MEAN), (excess, MEAN), (excess, LESS_REST)]
    return [column for column in columns if column[0]]


def _class(suffix: str) -> str:
    """Return the class that a measure is about, empty where there is one."""
    return name(suffix[1:-1]) if suffix else ""


def _proxy(e: Evidence) -> tuple[Section, ...]:
    """Return how well the model's other features tell the attribute, and the single ones that go with it."""
    view = GroupsProxy.find(e.run)
    if view is None or not view.lines:
        return ()
    text = (
        "A model that does not use an attribute can still follow it through features that go with it. Shown is how "
        "well the other features predict it together, and the association of each one."
    )
    columns = ("attribute", "measure", "by", "value")
    rows = [
        (name(line.feature), name(line.measure).replace("_", " "), name(line.item), words_of(line))
        for line in view.lines
    ]
    intervals = intervals_caption(view.result.estimates)
    caption = f"How far other features stand in for a protected attribute. {intervals}"
    table = make_table("groups-proxy-table", caption, columns, rows, of=view.result)
    return (Section(id="groups-proxy", title="Proxies", blocks=(Paragraph(text=text), table, *left_out(view.result))),)


def _ends(lines: Sequence[GroupLine]) -> str:
    """Say between which groups a mean runs."""
    means = sorted((line for line in lines if isfinite(line.estimate)), key=lambda line: line.estimate)
    ends = (("lowest", means[0]), ("highest", means[-1])) if means else ()
    return joined([f"{end} {value_words(line.estimate)} for {name(line.item)}" for end, line in ends]) or "no number"
