"""Performance and uncertainty by group of a protected attribute, with intervals and numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..core.text import count
from ..document import slots
from ..document.blocks import interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ..document.document import Block, Column, Paragraph, Section
from ..document.evidence import Evidence
from ..document.text import joined, name, value_words
from ..evidence import columns as col
from ..evidence.outcomes import GroupLine, Groups, GroupsDifference, GroupsProxy
from ..evidence.view import of_feature, of_measure, table_of
from ..plots import importance
from ..plots.words import axis_label
from ._wording import BuiltIn, absent, words_of

TITLE = "Groups"
PANELS = 3
TOP = 12
COLUMNS = 6
PREFERRED = ("brier", "squared_error", "nll", "entropy")
LEAD = (
    "Groups of the attributes that were named as protected, each with its number of rows; small groups are withheld. "
    "A difference is a group less the rest. Intervals hold one by one, not for all groups at once; findings are "
    "adjusted for their number. A difference is no proof of unfairness, and its absence no proof of fairness."
)


class GroupsSection(BuiltIn):
    """Performance and uncertainty by group of each attribute, and proxies; or why there is none."""

    name: ClassVar[str] = Groups.id
    slot: ClassVar[str] = slots.GROUPS
    shows: ClassVar[tuple[str, ...]] = (Groups.id, GroupsDifference.id, GroupsProxy.id)

    def section(self, evidence: Evidence) -> Section:
        """Return a part per attribute, and one on proxies."""
        view, section = Groups.find(evidence.run), Section(id=self.name, title=TITLE)
        if view is None or not view.lines:
            return absent(evidence, section, Groups.id, view, "No group has enough rows to be shown.")
        notes = notes_of(view.result)
        blocks: list[Block] = [Paragraph(text=LEAD), *evidence.warning(view.measures)]
        blocks += [*([Paragraph(text=notes)] if notes else []), *left_out(view.result)]
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

    @property
    def lines(self) -> tuple[GroupLine, ...]:
        """The means of its groups, and those over all rows."""
        return tuple(line for line in self.view.lines if line.feature in (self.attribute, ""))

    def section(self) -> Section:
        difference = GroupsDifference.find(self.e.run)
        measures = list(dict.fromkeys(line.measure for line in self.lines))
        leading = ([m for m in PREFERRED if m in measures] or measures)[:PANELS]
        blocks = [Paragraph(text=self._apart(difference)), self._figure(leading), self._table(measures)]
        differences = [] if difference is None else self._differences(difference)
        return Section(id=self.key, title=name(self.attribute), blocks=(*blocks, *differences))

    def _apart(self, difference: GroupsDifference | None) -> str:
        """Say which differences lie off 0 by their own interval."""
        if difference is None:
            return "Groups were not compared."
        lines = of_feature(difference.lines, self.attribute)
        off = [
            f"{self.e.words(line.measure).title} of {name(line.item)} {words_of(line)}"
            for line in lines
            if line.lower > 0 or line.upper < 0
        ]
        if not off:
            return "No difference between a group and the rest is shown."
        return f"Group less the rest, where the interval of that one difference excludes 0: {joined(off)}."

    def _figure(self, measures: Sequence[str]) -> Block:
        """Draw the leading measures side by side, a row per group."""
        parts = {measure: of_measure(self.lines, measure) for measure in measures}
        labels = list(dict.fromkeys(line.item for lines in parts.values() for line in lines))[:TOP]
        panels = [self._panel(measure, lines) for measure, lines in parts.items()]
        means = [
            f"{self.e.words(measure).title}: "
            + joined([f"{name(line.item)} {value_words(line.estimate)}" for line in lines])
            for measure, lines in parts.items()
        ]
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

    def _table(self, measures: Sequence[str]) -> Block:
        """Return a column per group, those with the most rows where there are many."""
        sizes: dict[str, int] = {}
        for line in self.lines:
            sizes[line.item] = max(sizes.get(line.item, 0), line.n)
        largest = sorted(sizes, key=lambda item: -sizes[item])[:COLUMNS]
        cells = {(line.measure, line.item): words_of(line) for line in self.lines}
        rows = [[self.e.words(m).title, *(cells.get((m, item), "none") for item in largest)] for m in measures]
        columns = [Column("mean of"), *(Column(f"{name(item)} (n = {sizes[item]})") for item in largest)]
        more = len(sizes) - len(largest)
        cut = f" {count(more, 'smaller group')}: see the evidence {self.view.id}." if more else ""
        intervals = intervals_caption(table_of(self.lines))
        caption = f"Every measure by group of {name(self.attribute)}.{cut} {intervals}"
        return make_table(f"{self.key}-table", caption, columns, rows, evidence=self.view.id)

    def _differences(self, difference: GroupsDifference) -> list[Block]:
        """Return each group less the rest, with its interval and p-value."""
        lines = of_feature(difference.lines, self.attribute)
        if not lines:
            return []
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
        return [make_table(key, caption, columns, rows, of=difference.result)]


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
