"""Importance corrected for cover, and the covered information it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import ClassVar

from ...core.results import MeasureFacts
from ...core.text import count
from ...document import slots
from ...document.blocks import TOP, interval_columns, intervals_caption, left_out, make_figure, make_table
from ...document.document import Block, Bullets, Cell, Column, Facts, Paragraph, Section, Table
from ...document.evidence import Evidence
from ...document.plots.words import number
from ...document.text import clean, joined, name, sentence
from ...evidence.importance import CoverCorrected
from ...evidence.information import COVERED, MUTUAL, SHARE, Cid, CidCorrected, CidCover, CidGraph, ItemLine
from ...evidence.view import Estimate, by_feature, largest_first, of_measure, table_of
from ..shared.wording import BuiltIn, absent, named, words_of
from . import figure as figures
from . import graph_figure as graph
from .corrected_words import leading_blocks

TITLE = "Importance corrected for cover"
EDGES = 10
LEAD = (
    "Covered information is the part of what a feature says about the target that the other features say as well; "
    "below 0, the feature says more once the others are known. The covered share relates it to all the feature says. "
    "What others cover is not lost to the model when this feature alone is. All of it rests on a model of the joint "
    "distribution of features and target, which is drawn below."
)


class CoverSection(BuiltIn):
    """Importance alone and corrected for cover, then covered information, its graph, and the map where it passes."""

    name: ClassVar[str] = "covered"
    slot: ClassVar[str] = slots.COVER
    shows: ClassVar[tuple[str, ...]] = (CoverCorrected.id, Cid.id, CidCover.id, CidGraph.id, CidCorrected.id)

    def section(self, evidence: Evidence) -> Section:
        """Return the corrected importance, a part on covered information, on the graph, and per measure of the map."""
        view, section = Cid.find(evidence.run), Section(id="covered", title=TITLE)
        if view is None or not view.lines:
            return absent(evidence, section, Cid.id, view, "No covered information could be estimated.")
        corrected, parts = CoverCorrected.find(evidence.run), [*_information(view), _graph(evidence, view)]
        if corrected is None or not corrected.lines:
            missing = absent(evidence, section, CoverCorrected.id, corrected, "No importance could be corrected.")
            return replace(missing, sections=(*parts, *_mapped(evidence)))
        blocks, others = leading_blocks(evidence, corrected)
        gaps = left_out(corrected.result)
        return replace(section, blocks=(*blocks, *gaps), sections=(*others, *parts, *_mapped(evidence)))


def _information(view: Cid) -> list[Section]:
    """Return the part on covered information."""
    cover = _Cover.of(view)
    blocks = (Paragraph(text=LEAD), Paragraph(text=cover.words()), cover.figure(), cover.table())
    return [Section(id="covered-information", title="Covered information", blocks=(*blocks, *left_out(view.result)))]


@dataclass(frozen=True)
class _Cover:
    """The lines of covered information by item, and their section's blocks."""

    view: Cid
    mutual: tuple[ItemLine, ...]
    covered: dict[str, ItemLine]
    shares: dict[str, float]

    @classmethod
    def of(cls, view: Cid) -> _Cover:
        """Sort the lines by item."""
        parts = {item: [line for line in view.lines if line.item == item] for item in (MUTUAL, COVERED, SHARE)}
        shares = {line.feature: line.estimate for line in parts[SHARE]}
        return cls(view, largest_first(parts[MUTUAL]), by_feature(parts[COVERED]), shares)

    def words(self) -> str:
        """Say for which features the interval of covered information lies above or below 0."""
        lines = largest_first(self.covered.values())
        above, below = [line for line in lines if line.lower > 0], [line for line in lines if line.upper < 0]
        sentences = []
        if above:
            names = joined([f"{name(line.feature)}{_share_words(self.shares.get(line.feature))}" for line in above])
            sentences.append(f"The others repeat part of what {names} {_says(above)} about the target.")
        if below:
            names = joined([name(line.feature) for line in below])
            sentences.append(f"{names} {_says(below)} more once the others are known.")
        rest = count(len(lines) - len(above) - len(below), "feature")
        if len(lines) > len(above) + len(below):
            sentences.append(f"For {rest} the interval of covered information holds 0: neither way is shown.")
        return " ".join(sentences)

    def figure(self) -> Block:
        """Draw what each feature says about the target and how much of it the others cover."""
        capped = f", the {TOP} most informative of {len(self.mutual)}" if len(self.mutual) > TOP else ""
        return make_figure(
            "covered-figure",
            f"What each feature says about the target, and how much of it the others cover{capped}. "
            f"{intervals_caption(self.view.result.estimates)} The covered share has none.",
            "A bar per feature for its information about the target, and a dot with an interval for the covered part. "
            f"Most informative: {named(self.mutual[:3], 'nats')}. {self.words()}",
            lambda: figures.draw(self.view.result, TOP),
            self.view.id,
        )

    def table(self) -> Table:
        """Return information, cover and its reading, a row per feature."""
        rows = []
        for line in self.mutual:
            cover = self.covered.get(line.feature)
            words = (words_of(line), words_of(cover, "no number"), _reading(cover))
            rows.append((name(line.feature), *words, self.shares.get(line.feature)))
        columns = [Column("feature"), Column("information about y", unit="nats"), Column("covered", unit="nats")]
        columns += [Column("reading"), Column("covered share", "percent")]
        caption = f"Covered information of each feature. {intervals_caption(self.view.result.estimates)}"
        return make_table("covered-table", caption, columns, rows, of=self.view.result)


def _says(lines: Sequence[Estimate]) -> str:
    return "says" if len(lines) == 1 else "say"


def _share_words(share: float | None) -> str:
    return "" if share is None or isnan(share) else f" (covered share {100 * share:.0f} %)"


def _reading(cover: ItemLine | None) -> str:
    if cover is None or not cover.has_interval:
        return "no interval"
    return "redundant" if cover.lower > 0 else "synergistic" if cover.upper < 0 else "not shown to differ from 0"


def _graph(e: Evidence, view: Cid) -> Section:
    """Return the estimator's facts and the graph drawn."""
    penalty: Cell = "none" if view.penalty is None else view.penalty
    rows: list[tuple[str, Cell]] = [("Estimator", clean(view.estimator)), ("Graph", clean(view.graph))]
    rows += [("Penalty", penalty), *([("Bins", view.bins)] if view.bins else [])]
    rows += [] if isnan(view.condition) else [("Condition", view.condition)]
    drawn = CidGraph.find(e.run)
    blocks = (Facts(rows=tuple(rows)), *(() if drawn is None else _drawn(drawn)))
    return Section(id="covered-graph", title="The graph it rests on", blocks=blocks)


def _drawn(view: CidGraph) -> list[Block]:
    """Return the graph in a sentence, a figure and a table of its strongest edges."""
    if not view.edges:
        return [Paragraph(text="The graph has no edges: no feature is tied to another or to the target.")]
    meaning, left = clean(view.edge or "strength", 60), len(view.edges) - graph.STRONGEST
    text = _graph_text(view, max(len(view.nodes) - 1, 0))
    capped = f" Of {len(view.edges)} edges the {graph.STRONGEST} strongest are drawn, {left} weaker ones are left out."
    figure = make_figure(
        "covered-graph-figure",
        f"The dependence graph: width shows the size of the {meaning}. It has no intervals.{capped * (left > 0)}",
        f"Graph on a circle. {text}",
        lambda: graph.draw(view.result),
        view.id,
    )
    rows = [(name(one), name(other), value) for one, other, value in view.edges[:EDGES]]
    total = len(view.edges)
    caption = f"The {len(rows)} strongest of {total} edges." if total > len(rows) else "Edges, strongest first."
    columns = [Column("one"), Column("other"), Column(meaning, "number")]
    return [
        Paragraph(text=text), figure, make_table("covered-graph-table", caption, columns, rows, evidence=view.id)
    ]  # fmt: skip


def _graph_text(view: CidGraph, features: int) -> str:
    """Say how many edges there are, the strongest, and those with the target."""
    edges = view.edges
    direct = [name(a if b == graph.TARGET else b) for a, b, _ in edges if graph.TARGET in (a, b)]
    top = [f"{name(a)} and {name(b)} {number(value)}" for a, b, value in edges[:3]]
    full = len(edges) == (features + 1) * features // 2
    tied = "Every pair is joined" if full else f"Tied to the target: {joined(direct, 12) or 'none'}"
    size = f"{count(len(edges), 'edge')} between {count(features, 'feature')} and the target"
    return f"{size}. Strongest: {joined(top)}. {tied}."


def _mapped(e: Evidence) -> list[Section]:
    """Return the importance that the map of Pereira et al. predicts, where it passes its gate, else why it does not."""
    view = CidCorrected.find(e.run)
    if view is None:
        return []
    passed = [_moves(view, m, e.words(m), f"covered-map-{k}") for k, m in enumerate(view.measures, 1)]
    reasons = tuple(f"{e.words(gap.measure).title}: {sentence(gap.reason)}" for gap in view.omissions)
    if not reasons:
        return passed
    refused = Section(
        id="covered-map", title="The map of Pereira et al. is not shown", blocks=(Bullets(items=reasons),)
    )
    return [*passed, refused]


def _moves(view: CidCorrected, measure: str, facts: MeasureFacts, key: str) -> Section:
    """Return corrected beside plain importance, in the order of the corrected ranks."""
    lines = sorted(of_measure(view.lines, measure), key=lambda line: line.rank)
    moved = [f"{name(li.feature)} from {li.plain_rank} to {li.rank}" for li in lines if li.rank != li.plain_rank]
    text = f"Ranks move for {joined(moved)}." if moved else "No feature changes its rank."
    text = f"{text} Every corrected value is an extrapolation to features that cover nothing of each other."
    capped = f" The first {TOP} of {len(lines)} are drawn." if len(lines) > TOP else ""
    figure = make_figure(
        f"{key}-figure",
        f"Rank by plain and by corrected importance for {facts.title}.{capped} The moves have no intervals.",
        f"Two columns of ranks joined by lines. {text}",
        lambda: figures.draw_moves(view.result, measure, TOP),
        view.id,
    )
    table = table_of(lines)
    interval = interval_columns(table)
    columns = [Column("feature"), Column("plain rank", "integer"), Column("plain", "number", facts.unit)]
    columns += [Column("corrected rank", "integer"), Column("corrected", "number", facts.unit), *interval]
    rows = [
        (
            *(name(line.feature), line.plain_rank, line.plain, line.rank, line.estimate),
            *((line.lower, line.upper) if interval else ()),
        )
        for line in lines
    ]
    caption = f"Plain and corrected importance for {facts.title}. {intervals_caption(table)}"
    values = make_table(f"{key}-table", caption, columns, rows, of=view.result)
    blocks = (Paragraph(text=text), figure, values)
    return Section(id=key, title=f"The map of Pereira et al. for {facts.title}", blocks=blocks)
