"""Importance adjusted for redundancy, and the covered information it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isnan, nan
from typing import ClassVar

from ...core.model.measures import NLL
from ...core.support.text import count
from ...document import slots
from ...document.blocks import TOP, intervals_caption, left_out, make_figure, make_table, notes_of
from ...document.document import Block, Bullets, Cell, Column, Facts, Paragraph, Section
from ...document.plots.frames import number
from ...document.text import clean, joined, name, sentence, value_words
from ...evidence.importance import CoverCorrected, RSensView
from ...evidence.information import COVERED, MUTUAL, SHARE, Cid, CidCorrected, CidCover, CidGraph, ItemLine
from ...evidence.view import by_feature, largest_first, of_measure, table_of
from ...reading.run_reader import RunReader
from ...reading.tables import FEATURE, INTERVAL, Field, line_table
from ..shared.wording import BuiltInSection, absent, named, words_of
from . import figure as figures

TITLE = "Importance adjusted for redundancy"
EDGES = 10
LEAD = (
    "Permuting one of several correlated features increases the loss little, because the others carry the same "
    "information. Adjusted importance is the increase in loss when a feature is permuted in addition to its partner "
    "features, which the fitted joint distribution names. Both measure the effect of corrupting a feature, not of "
    "omitting it."
)
COVERED_LEAD = (
    "Covered information is the part of a feature's information about the target that it shares with the other "
    "features; below 0, the feature is more informative once the others are known (synergy). The covered share relates "
    "it to the feature's whole information. The model keeps the shared information if this feature alone is corrupted. "
    "All values rest on a model of the joint distribution of features and target, which is drawn below."
)


class CoverSection(BuiltInSection):
    """Plain and adjusted importance, then covered information, its graph, and the map where it passes."""

    name: ClassVar[str] = "covered"
    slot: ClassVar[str] = slots.COVER
    shows: ClassVar[tuple[str, ...]] = (CoverCorrected.id, Cid.id, CidCover.id, CidGraph.id, CidCorrected.id)

    def section(self, evidence: RunReader) -> Section:
        """Return the corrected importance, a part on covered information, on the graph, and per measure of the map."""
        view, section = Cid.find(evidence.run), Section(id="covered", title=TITLE)
        if view is None or not view.lines:
            return absent(evidence, section, Cid.id, view, "No covered information could be estimated.")
        corrected, parts = CoverCorrected.find(evidence.run), [_information(view), _graph(evidence, view)]
        if corrected is None or not corrected.lines:
            missing = absent(evidence, section, CoverCorrected.id, corrected, "No importance could be adjusted.")
            return replace(missing, sections=(*parts, *_mapped(evidence)))
        order = sorted(corrected.measures, key=lambda measure: measure != NLL.name)
        first, *others = (_corrected(evidence, corrected, m, f"cover-{k}") for k, m in enumerate(order, 1))
        blocks = (Paragraph(text=LEAD), *first.blocks, *left_out(corrected.result))
        return replace(section, blocks=blocks, sections=(*others, *parts, *_mapped(evidence)))


def _corrected(e: RunReader, view: CoverCorrected, measure: str, key: str) -> Section:
    """Return one measure: importance alone and corrected with the change of rank, for the likelihood beside R-sens."""
    facts, lines = e.words(measure, view.result), sorted(of_measure(view.lines, measure), key=lambda line: line.rank)
    is_first = key == "cover-1"
    sensitivity = RSensView.find(e.run) if is_first else None
    speeds = {} if sensitivity is None else by_feature(sensitivity.lines)
    columns = [Column("feature"), Column("alone", unit=facts.unit)]
    columns += [Column("adjusted for redundancy", unit=facts.unit), Column("partners"), Column("rank")]
    columns += [Column("R-sens, rank")] if speeds else []
    rows = []
    for line in lines:
        alone = value_words(line.plain, line.plain_lower, line.plain_upper)
        partners = joined([name(partner) for partner in view.partners.get(line.feature, ())]) or "none"
        moved = str(line.rank) if line.rank == line.plain_rank else f"{line.plain_rank} to {line.rank}"
        speed = speeds.get(line.feature)
        speed_words = "not computed" if speed is None else f"{words_of(speed)}, {speed.rank}"
        rows.append((name(line.feature), alone, words_of(line), partners, moved, *([speed_words] if speeds else [])))
    caption = f"Importance for {facts.title}: plain, and adjusted for redundancy. {intervals_caption(table_of(lines))}"
    note = notes_of(view.result) if is_first else ""
    table = make_table(f"{key}-table", caption, columns, rows, evidence=view.id, note=note)
    return Section(id=key, title=f"Adjusted importance for {facts.title}", blocks=(table,))


def _information(view: Cid) -> Section:
    """Return what each feature says about the target, how much of it the others cover, and its reading."""
    parts = {item: [line for line in view.lines if line.item == item] for item in (MUTUAL, COVERED, SHARE)}
    mutual, covered = largest_first(parts[MUTUAL]), by_feature(parts[COVERED])
    shares = {line.feature: line.estimate for line in parts[SHARE]}
    intervals, text = intervals_caption(view.result.estimates), _cover_words(covered, shares)
    capped = f", the {TOP} most informative of {len(mutual)}" if len(mutual) > TOP else ""
    figure = make_figure(
        "covered-figure",
        f"Information of each feature about the target, and the part that it shares with the others{capped}. "
        f"{intervals} The covered share has no interval.",
        "A bar per feature for its information about the target, and a dot with an interval for the covered part. "
        f"Most informative: {named(mutual[:3], 'nats')}. {text}",
        lambda: figures.draw(view.result, TOP),
        view.id,
    )
    fields: tuple[Field, ...] = (
        *(FEATURE, (Column("information about y", unit="nats"), words_of)),
        (Column("covered", unit="nats"), lambda line: words_of(covered.get(line.feature), "no number")),
        ("reading", lambda line: _reading(covered.get(line.feature))),
        (Column("covered share", "percent"), lambda line: shares.get(line.feature)),
    )
    table = line_table("covered-table", "Covered information of each feature.", mutual, fields, of=view.result)
    blocks = (Paragraph(text=COVERED_LEAD), Paragraph(text=text), figure, table, *left_out(view.result))
    return Section(id="covered-information", title="Covered information", blocks=blocks)


def _cover_words(covered: Mapping[str, ItemLine], shares: Mapping[str, float]) -> str:
    """Say for which features the interval of covered information lies above or below 0."""
    lines = largest_first(covered.values())
    above, below = [line for line in lines if line.lower > 0], [line for line in lines if line.upper < 0]
    sentences = []
    if above:
        percent = {line.feature: shares.get(line.feature, nan) for line in above}
        names = [name(f) + ("" if isnan(p) else f" (covered share {100 * p:.0f}%)") for f, p in percent.items()]
        sentences.append(f"The other features share part of the information of {joined(names)} about the target.")
    if below:
        are = "is" if len(below) == 1 else "are"
        named = joined([name(line.feature) for line in below])
        sentences.append(f"{named} {are} more informative once the others are known (synergy).")
    if rest := len(lines) - len(above) - len(below):
        left = count(rest, "feature")
        sentences.append(f"For {left} the interval of covered information holds 0: neither way is shown.")
    return " ".join(sentences)


def _reading(cover: ItemLine | None) -> str:
    if cover is None or not cover.has_interval:
        return "no interval"
    return "redundant" if cover.lower > 0 else "synergistic" if cover.upper < 0 else "not shown to differ from 0"


def _graph(e: RunReader, view: Cid) -> Section:
    """Return the estimator's facts and the graph as a figure."""
    rows: tuple[tuple[str, Cell], ...] = (
        ("Estimator", clean(view.estimator)),
        ("Graph", clean(view.graph)),
        ("Penalty", "none" if view.penalty is None else view.penalty),
        *([("Bins", view.bins)] if view.bins else []),
        *([] if isnan(view.condition) else [("Condition", view.condition)]),
    )
    edges = CidGraph.find(e.run)
    blocks = (Facts(rows=rows), *([] if edges is None else _edges(edges)))
    return Section(id="covered-graph", title="Dependence graph", blocks=blocks)


def _edges(view: CidGraph) -> list[Block]:
    """Return the graph in a sentence, a figure and a table of its strongest edges."""
    total = view.total
    if not total:
        return [Paragraph(text="The graph has no edges: no feature depends on another or on the target.")]
    meaning, left = clean(view.edge or "strength", 60), total - figures.STRONGEST
    text = _graph_text(view)
    capped = f" Of {total} edges the {figures.STRONGEST} strongest are drawn, {left} weaker ones are left out."
    figure = make_figure(
        "covered-graph-figure",
        f"The dependence graph: width shows the size of the {meaning}. It has no intervals.{capped * (left > 0)}",
        f"Graph on a circle. {text}",
        lambda: figures.draw_graph(view.result),
        view.id,
    )
    rows = [(name(a), name(b), value) for a, b, value in view.edges[:EDGES]]
    caption = f"The {len(rows)} strongest of {total} edges." if total > len(rows) else "Edges, strongest first."
    columns = [Column("one"), Column("other"), Column(meaning, "number")]
    table = make_table("covered-graph-table", caption, columns, rows, evidence=view.id)
    return [Paragraph(text=text), figure, table]


def _graph_text(view: CidGraph) -> str:
    """Say how many edges there are, the strongest, and those with the target."""
    edges, total, features = view.edges, view.total, max(len(view.nodes) - 1, 0)
    direct = [name(a if b == figures.TARGET else b) for a, b, _ in edges if figures.TARGET in (a, b)]
    top = [f"{name(a)} and {name(b)} {number(value)}" for a, b, value in edges[:3]]
    full = total == (features + 1) * features // 2
    tied = "Every pair is joined" if full else f"Tied to the target: {joined(direct, 12) or 'none'}"
    size = f"{count(total, 'edge')} between {count(features, 'feature')} and the target"
    return f"{size}. Strongest: {joined(top)}. {tied}."


def _mapped(e: RunReader) -> list[Section]:
    """Return the importance that the map of Pereira et al. predicts, where it passes its gate, else why it does not."""
    view = CidCorrected.find(e.run)
    if view is None:
        return []
    passed = [_moves(e, view, m, f"covered-map-{k}") for k, m in enumerate(view.measures, 1)]
    if not view.omissions:
        return passed
    reasons = tuple(f"{e.words(gap.measure).title}: {sentence(gap.reason)}" for gap in view.omissions)
    title = "The map of Pereira et al. is not shown"
    return [*passed, Section(id="covered-map", title=title, blocks=(Bullets(items=reasons),))]


def _moves(e: RunReader, view: CidCorrected, measure: str, key: str) -> Section:
    """Return corrected beside plain importance, in the order of the adjusted ranks."""
    facts = e.words(measure)
    lines = sorted(of_measure(view.lines, measure), key=lambda line: line.rank)
    moved = [line for line in lines if line.rank != line.plain_rank]
    moves = joined([f"{name(line.feature)} from {line.plain_rank} to {line.rank}" for line in moved])
    text = f"Ranks move for {moves}." if moved else "No feature changes its rank."
    text = f"{text} Every corrected value is an extrapolation to features that share no information."
    capped = f" The first {TOP} of {len(lines)} are drawn." if len(lines) > TOP else ""
    figure = make_figure(
        f"{key}-figure",
        f"Rank by plain and by corrected importance for {facts.title}.{capped} The moves have no intervals.",
        f"Two columns of ranks joined by lines. {text}",
        lambda: figures.draw_moves(view.result, measure, TOP),
        view.id,
    )
    fields = (
        *(FEATURE, (Column("plain rank", "integer"), "plain_rank"), (Column("plain", "number", facts.unit), "plain")),
        (Column("adjusted rank", "integer"), "rank"),
        *((Column("corrected", "number", facts.unit), "estimate"), INTERVAL),
    )
    caption = f"Plain and corrected importance for {facts.title}."
    values = line_table(f"{key}-table", caption, lines, fields, of=view.result)
    blocks = (Paragraph(text=text), figure, values)
    return Section(id=key, title=f"The map of Pereira et al. for {facts.title}", blocks=blocks)
