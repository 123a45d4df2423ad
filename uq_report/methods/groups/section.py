"""Performance and uncertainty by group of a protected attribute, with intervals and numbers of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isfinite
from typing import ClassVar, TypeVar

from ...core.model.measures import ENTROPY, NLL
from ...document import slots
from ...document.blocks import intervals_caption, left_out, make_figure, make_table, notes_of, paragraphs
from ...document.document import Block, Column, Paragraph, Section
from ...document.plots import importance
from ...document.plots.frames import axis_label
from ...document.text import joined, name, value_words
from ...evidence import columns as col
from ...evidence import ids, outcomes
from ...evidence.outcomes import DifferenceLine, GroupLine, GroupsView
from ...evidence.view import largest_first, of_feature, of_measure, table_of
from ...reading.run_reader import RunReader
from ...reading.tables import FEATURE, INTERVAL, Field, line_table
from ..shared.wording import ResultSection, words_of

L = TypeVar("L", bound=GroupLine)
PANELS = 3
TOP = 12
LOSS, EXPECTED = (NLL.name, "brier", "squared_error"), (outcomes.CONFIDENCE_GAP, "excess_loss")
PREFERRED = ("prediction", "outcome", *EXPECTED, *LOSS, ENTROPY.name)
RATES = ("coverage_90", "false_positive_rate", "false_negative_rate")
LEAD = (
    "Groups of the attributes that were named as protected; small groups are not shown. A difference is a group "
    "minus the other groups. Outcomes minus predictions, and the loss minus the loss that the model expects, are 0 on "
    "average in every group if the model is right; losses, entropy and error rates differ wherever base rates do. "
    "Intervals are pointwise; findings are adjusted for their number. A difference is no proof of unfairness, "
    "its absence no proof of fairness."
)
TITLES = {"residual": "outcome minus prediction", "coverage_90": "coverage of 90% prediction intervals"}
MEAN, LESS_REST = False, True
PREDICTED = (
    *(("prediction", MEAN), ("outcome", MEAN)),
    *(("prediction", LESS_REST), ("outcome", LESS_REST), ("residual", LESS_REST)),
)


class GroupsSection(ResultSection[GroupsView]):
    """Performance and uncertainty by group of each attribute, and proxies; or why there is none."""

    name: ClassVar[str] = ids.GROUPS
    slot: ClassVar[str] = slots.GROUPS
    shows: ClassVar[tuple[str, ...]] = (ids.GROUPS, ids.GROUPS_DIFFERENCE, ids.GROUPS_PROXY, ids.GROUPS_USE)
    of = GroupsView
    key = ids.GROUPS
    title = "Groups"
    empty = "No group has enough observations to be shown."

    def blocks(self, e: RunReader, view: GroupsView) -> Iterable[Block]:
        """Return how to read the parts."""
        return (*paragraphs(LEAD, notes_of(view.result)), *left_out(view.result))

    def parts(self, e: RunReader, view: GroupsView) -> Iterable[Section]:
        """Return a part per attribute, and one on proxies."""
        for k, attribute in enumerate(filter(None, view.features), 1):
            yield _Attribute(e, view, attribute, f"groups-{k}").section()
        yield from _proxy(e)


@dataclass(frozen=True)
class _Attribute:
    """What is said of one attribute; blocks are named after `key`."""

    e: RunReader
    view: GroupsView
    attribute: str
    key: str

    @cached_property
    def lines(self) -> tuple[GroupLine, ...]:
        """The means over all observations, and those of its groups in their order."""
        own = of_feature(self.view.lines, self.attribute)
        return (*of_feature(self.view.lines, ""), *_in_order(own, self.view.levels(self.attribute)))

    @cached_property
    def differences(self) -> list[DifferenceLine]:
        """Each group minus the other groups, groups in their order."""
        view = outcomes.GroupsDifference.find(self.e.run)
        return _in_order(() if view is None else of_feature(view.lines, self.attribute), list(self.sizes))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Rows of each group, in order."""
        sizes: dict[str, int] = {}
        for line in self.lines:
            sizes[line.item] = max(sizes.get(line.item, 0), line.n)
        return sizes

    def section(self) -> Section:
        """Return predictions and outcomes, loss against expectation, use, and all differences."""
        measures = list(dict.fromkeys(line.measure for line in self.lines))
        suffixes = [m.removeprefix("prediction") for m in measures if m.startswith("prediction")]
        loss, excess = (next((m for m in names if m in measures), "") for names in (LOSS, EXPECTED))
        losses = [(loss, MEAN), (ENTROPY.name, MEAN), (excess, MEAN), (excess, LESS_REST)]
        leading = ([m for m in PREFERRED if m in measures] or measures)[:PANELS]
        blocks = (
            *self._levels("predictions", "Predictions and outcomes", PREDICTED, suffixes),
            self._figure(leading),
            *self._levels("losses", "Loss against the loss that the model expects", [x for x in losses if x[0]], [""]),
            *self._levels("rates", "Coverage and error rates", [(m, MEAN) for m in RATES], [""]),
            *self._use(),
            *self._differences(),
        )
        return Section(id=self.key, title=name(self.attribute), blocks=blocks)

    def _levels(
        self, key: str, title: str, columns: Sequence[tuple[str, bool]], suffixes: Sequence[str]
    ) -> Iterator[Block]:
        """Yield a row per group (and class), a column per measure or its difference to the rest."""
        cells = {(MEAN, x.measure, x.item): words_of(x) for x in self.lines}
        cells |= {(LESS_REST, x.measure, x.item): words_of(x) for x in self.differences}
        present = {(kind, measure) for kind, measure, _ in cells}
        columns = [(m, kind) for m, kind in columns if any((kind, f"{m}{s}") in present for s in suffixes)]
        if not columns:
            return
        of_class = len(suffixes) > 1
        rows = []
        for (item, n), suffix in product(self.sizes.items(), suffixes):
            of = [_class(suffix)] if of_class else []
            rows.append((name(item), n, *of, *(cells.get((kind, f"{m}{suffix}", item)) for m, kind in columns)))
        labels = [
            f"{TITLES.get(m, self.e.words(m).title)}{', minus the other groups' if kind else ''}" for m, kind in columns
        ]
        heads: list[Column | str] = ["group", Column("rows", "integer"), *(["class"] if of_class else []), *labels]
        caption = f"{title} by group of {name(self.attribute)}. {intervals_caption(table_of(self.lines))}"
        yield make_table(f"{self.key}-{key}", caption, heads, rows, evidence=self.view.id)

    def _use(self) -> Iterator[Block]:
        """Yield what is lost when the attribute, or a feature associated with it, is permuted."""
        view = outcomes.GroupsUse.find(self.e.run)
        lines = () if view is None else of_feature(view.lines, self.attribute)
        if not lines:
            return
        of_class = any(x.measure != "prediction" for x in lines)
        classes: Field = ("class", lambda line: _class(line.measure.removeprefix("prediction")))
        fields: tuple[Field, ...] = (
            *(("permuted", lambda line: name(line.by)), (Column("association", "number"), "association")),
            *([classes] if of_class else []),
            *(
                ("group", _item),
                ("contrast to the other groups that is lost; of all observations, mean change", words_of),
            ),
        )
        caption = f"Predictions when {name(self.attribute)}, or a feature associated with it, is permuted."
        yield line_table(f"{self.key}-use", caption, lines, fields, evidence=ids.GROUPS_USE)

    def _figure(self, measures: Sequence[str]) -> Block:
        """Draw the leading measures side by side, a row per group."""
        parts = {measure: of_measure(self.lines, measure) for measure in measures}
        labels = list(dict.fromkeys(line.item for lines in parts.values() for line in lines))[:TOP]
        panels = []
        for measure, lines in parts.items():
            table = table_of(lines).assign(feature=[line.item for line in lines]).drop_duplicates(col.FEATURE)
            label = axis_label(measure, self.view.result.measures)
            panels.append(importance.ImportancePanel("", label, self.e.words(measure).role, table))
        means = [f"{self.e.words(measure).title}: {_ends(lines)}" for measure, lines in parts.items()]
        what = name(self.attribute)
        return make_figure(
            f"{self.key}-figure",
            f"Mean by group of {what}, and over all observations. {intervals_caption(table_of(self.lines))}",
            f"A dot with its interval per group of {what}. {'. '.join(means)}.",
            lambda: importance.draw_panels(panels, labels),
            self.view.id,
        )

    def _differences(self) -> Iterator[Block]:
        """Yield each group minus the other groups, with its interval and p-value."""
        if not self.differences:
            return
        fields: tuple[Field, ...] = (
            *(("group", _item), ("measure", lambda line: self.e.words(line.measure).title)),
            *((Column("rows", "integer"), "n"), (Column("rest", "integer"), "n_rest")),
            *((Column("difference", "number"), "estimate"), INTERVAL),
            *((Column("p", "pvalue"), "p_value"), (Column("over all observations", "number"), "overall")),
        )
        caption = f"Each group of {name(self.attribute)} minus the other groups."
        yield line_table(f"{self.key}-differences", caption, self.differences, fields, evidence=ids.GROUPS_DIFFERENCE)


def _item(line: GroupLine) -> str:
    return name(line.item)


def _in_order(lines: Sequence[L], items: Sequence[str]) -> list[L]:
    """Return lines in the order of their groups; those of others last."""
    return sorted(lines, key=lambda line: items.index(line.item) if line.item in items else len(items))


def _class(suffix: str) -> str:
    """Return the class that a measure is about, empty where there is one."""
    return name(suffix[1:-1]) if suffix else ""


def _proxy(e: RunReader) -> Iterator[Section]:
    """Yield how well the model's other features tell the attribute, and the single ones that go with it."""
    view = outcomes.GroupsProxy.find(e.run)
    if view is None or not view.lines:
        return
    text = (
        "A model that does not use an attribute can still follow it through features that go with it. Shown is how "
        "well the other features predict it together, and the association of each one."
    )
    measure: Field = ("measure", lambda line: name(line.measure).replace("_", " "))
    fields = (("attribute", FEATURE[1]), measure, ("by", lambda line: name(line.item)), ("value", words_of))
    caption = "How well other features predict a protected attribute."
    table = line_table("groups-proxy-table", caption, view.lines, fields, of=view.result)
    yield Section(id="groups-proxy", title="Proxies", blocks=(Paragraph(text=text), table, *left_out(view.result)))


def _ends(lines: Sequence[GroupLine]) -> str:
    """Say between which groups a mean runs."""
    means = largest_first((line for line in lines if isfinite(line.estimate)), sign=-1)
    ends = (("lowest", means[0]), ("highest", means[-1])) if means else ()
    return joined([f"{end} {value_words(line.estimate)} for {name(line.item)}" for end, line in ends]) or "no number"
