"""Interactions: Friedman and Popescu's H-statistic of pairs and of single features with all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import pandas as pd

from ...core.support.text import count
from ...document import slots
from ...document.blocks import TOP, left_out, make_figure, make_table, paragraphs
from ...document.document import Block, Column, Paragraph, Section
from ...document.plots import matrix
from ...document.text import joined, name, value_words
from ...evidence.importance import RSensInteraction
from ...evidence.profiles import HLine, HStatisticView
from ...evidence.view import by_feature, largest_first, of_measure
from ...reading.run_reader import RunReader
from ..shared.wording import ResultSection

PAIRS = 20
PANELS = 3
LEAD = (
    "H² of a pair is the share of the variance of its joint partial dependence that the sum of the two single ones "
    "does not explain: 0 where a measure is additive in them. It is a ratio: a large H² of a pair with little effect "
    "on the measure is unimportant. The strength is in the measure's unit."
)
NO_INTERVAL = "There are no intervals: H² is computed on a small sample and is biased upwards."
OTHER = " R-sens₂, below, measures interactions of the whole predictive distribution, with intervals."


class InteractionsSection(ResultSection[HStatisticView]):
    """H² of single features and, by measure, of pairs; or why there is none."""

    name: ClassVar[str] = "interactions"
    slot: ClassVar[str] = slots.INTERACTIONS
    shows: ClassVar[tuple[str, ...]] = (HStatisticView.id,)
    of = HStatisticView
    title = "Interactions: H-statistic"
    empty = "No H-statistic is defined for this run."

    def blocks(self, e: RunReader, view: HStatisticView) -> Iterable[Block]:
        """Return a table of single features."""
        lead = f"{LEAD} {NO_INTERVAL}{'' if e.find(RSensInteraction.id) is None else OTHER}"
        rest = joined([e.words(measure).title for measure in view.measures[PANELS:]])
        more = paragraphs(f"In the evidence: the pairs of {rest}." if rest else "")
        return (Paragraph(text=lead), _totals(e, view), *left_out(view.result), *more)

    def parts(self, e: RunReader, view: HStatisticView) -> Iterable[Section]:
        """Return a part on the pairs of each measure."""
        for k, measure in enumerate(view.measures[:PANELS], 1):
            yield _pairs(e, view, measure, f"interactions-{k}")


def _totals(e: RunReader, view: HStatisticView) -> Block:
    """Return H² of each feature with all others, a column per measure."""
    lines = [line for line in view.lines if not line.feature_2]
    cells = {measure: by_feature(of_measure(lines, measure)) for measure in view.measures}
    first = largest_first(of_measure(lines, view.measures[0]))
    order = dict.fromkeys(line.feature for line in (*first, *lines))
    rows = [[name(f), *(_total(by_name.get(f)) for by_name in cells.values())] for f in order]
    columns = [Column("feature"), *(Column(f"H² for {e.words(m).title}") for m in cells)]
    caption = f"Each feature with all others together: share of the measure's variance. {NO_INTERVAL}"
    return make_table("interactions-totals", caption, columns, rows, of=view.result)


def _total(line: HLine | None) -> str:
    if line is None:
        return "undefined"
    return f"{value_words(line.estimate)}{'' if line.ranked else ' (not ranked)'}"


def _pairs(e: RunReader, view: HStatisticView, measure: str, key: str) -> Section:
    """Return the pairs of one measure in words, as a matrix and as a table."""
    facts = e.words(measure)
    lines = largest_first(line for line in of_measure(view.lines, measure) if line.feature_2)
    title = f"Pairs for {facts.title}"
    if not lines:
        return Section(id=key, title=title, blocks=(Paragraph(text="No pair has a defined H²."),))
    text = _largest(lines)
    blocks: list[Block] = [Paragraph(text=text)]
    features = dict.fromkeys([*(line.feature for line in lines), *(line.feature_2 for line in lines)])
    if len(features) > 2:
        blocks.append(_figure(lines, list(features)[:TOP], f"H² of pairs for {facts.title}.", text, f"{key}-figure"))
    rows = []
    for line in lines[:PAIRS]:
        ranked = "yes" if line.ranked else "no: unstable"
        rows.append((name(line.feature), name(line.feature_2), line.estimate, line.strength, ranked))
    columns = [Column("one"), Column("other"), Column("H²", "number"), Column("strength", "number", facts.unit)]
    more = f" The {PAIRS} largest of {len(lines)}." if len(lines) > PAIRS else ""
    caption = f"H² of pairs for {facts.title}, largest first.{more} {NO_INTERVAL}"
    blocks.append(make_table(f"{key}-table", caption, [*columns, Column("ranked")], rows, evidence=view.id))
    return Section(id=key, title=title, blocks=tuple(blocks))


def _largest(lines: Sequence[HLine]) -> str:
    """Name the largest pairs that are ranked, and count the others."""
    ranked = [line for line in lines if line.ranked]
    top = [f"{name(line.feature)} with {name(line.feature_2)} {value_words(line.estimate)}" for line in ranked[:3]]
    text = f"Largest H²: {joined(top)}." if top else "No pair is ranked."
    loose = len(lines) - len(ranked)
    if not loose:
        return text
    return f"{text} {count(loose, 'pair')} of {len(lines)} have little joint effect on the measure and are not ranked."


def _figure(lines: Sequence[HLine], features: Sequence[str], caption: str, text: str, key: str) -> Block:
    """Return the matrix of pairs; pairs that are not ranked are white, in brackets."""
    square = pd.DataFrame(float("nan"), index=list(features), columns=list(features))
    for line in lines:
        if line.feature in square.index and line.feature_2 in square.index:
            square.loc[line.feature, line.feature_2] = square.loc[line.feature_2, line.feature] = line.estimate
    loose = {(line.feature, line.feature_2) for line in lines if not line.ranked}
    white = " White, in brackets: not ranked." if loose else ""
    return make_figure(
        key,
        f"{caption}{white} {NO_INTERVAL}",
        f"Symmetric matrix of {count(len(features), 'feature')}. {text}",
        lambda: matrix.draw(square, matrix.ColourScale("H²", 0.0), loose),
        HStatisticView.id,
    )
