"""Covered information: how much of what a feature says about y the others repeat, and what that does to importance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...plots import covered as figures
from ...plots import graph
from ...plots.words import number
from ..blocks import TOP, interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ..document import Block, Callout, Column, Facts, Paragraph, Section
from ..evidence import Evidence, as_cell
from ..telling import ordered
from ..text import clean, joined, name, sentence, value_words
from .extras import extras

TITLE = "Covered information"
EDGES = 10
KNOWN = ("cid", "cid.graph", "cid.corrected")
LEAD = (
    "Covered information is the part of what a feature says about the target that the other features say as well; "
    "below 0, the feature says more once the others are known. The covered share relates it to all the feature says. "
    "Permutation importance under-reports a feature by what others cover. All of it rests on a model of the joint "
    "distribution of features and target, which is drawn below."
)
FACTS = {"estimator": "Estimator", "graph": "Graph", "penalty": "Penalty"}


def covered(e: Evidence) -> Section:
    """Return covered information per feature, the graph it rests on, and plain beside corrected importance."""
    result = e.find("cid")
    if result is None or not len(result.estimates):
        text = e.why_missing("cid") if result is None else "No covered information could be estimated."
        return Section(id="covered", title=TITLE, blocks=(Paragraph(text=text), *left_out(result)))
    mutual = figures.part(result, figures.MUTUAL)
    capped = f", the {TOP} most informative of {len(mutual)}" if len(mutual) > TOP else ""
    figure = make_figure(
        "covered-figure",
        f"What each feature says about the target, and how much of it the others cover{capped}. "
        f"{intervals_caption(result.estimates)} The covered share has none.",
        _alt(result),
        lambda: figures.draw(result, TOP),
        result.id,
    )
    blocks: tuple[Block, ...] = (Paragraph(text=LEAD), Paragraph(text=_finding(result)), figure, _table(result))
    sections = (*_graph(e, result), *_corrected(e, result), *extras(e, "cid", KNOWN))
    return Section(id="covered", title=TITLE, blocks=(*blocks, *left_out(result)), sections=sections)


def _finding(result: Result) -> str:
    """Say for which features the interval of covered information lies above or below 0."""
    table = ordered(result.estimates[result.estimates["item"] == figures.COVERED])
    share = figures.part(result, figures.SHARE)["estimate"].to_dict()
    above, below = table[table["lower"] > 0], table[table["upper"] < 0]
    told = []
    if len(above):
        named = [f"{name(f)}{_share_words(share.get(f))}" for f in above["feature"]]
        told.append(f"The others repeat part of what {joined(named)} {_says(above)} about the target.")
    if len(below):
        told.append(f"{joined([name(f) for f in below['feature']])} {_says(below)} more once the others are known.")
    rest = len(table) - len(above) - len(below)
    held = f"For {count(rest, 'feature')} the interval of covered information holds 0: neither way is shown."
    return " ".join([*told, *([held] if rest else [])])


def _says(table: pd.DataFrame) -> str:
    return "says" if len(table) == 1 else "say"


def _share_words(share: Any) -> str:
    return "" if share is None or pd.isna(share) else f" (covered share {100 * share:.0f} %)"


def _alt(result: Result) -> str:
    top = ordered(result.estimates[result.estimates["item"] == figures.MUTUAL]).head(3)
    told = [f"{name(r.feature)} {value_words(r.estimate, r.lower, r.upper, 'nats')}" for r in top.itertuples()]
    return (
        "A bar per feature for its information about the target, and a dot with an interval for the covered part. "
        f"Most informative: {joined(told)}. {_finding(result)}"
    )


def _table(result: Result) -> Block:
    parts = {item: figures.part(result, item).to_dict("index") for item in (figures.COVERED, figures.SHARE)}
    mutual = ordered(result.estimates[result.estimates["item"] == figures.MUTUAL])
    rows = []
    for row in mutual.to_dict("records"):
        cover, share = (parts[item].get(row["feature"], {}) for item in parts)
        words = value_words(row["estimate"], row["lower"], row["upper"])
        told = value_words(cover.get("estimate"), cover.get("lower"), cover.get("upper"))
        rows.append([name(row["feature"]), words, told, _reading(cover), share.get("estimate")])
    columns = [
        Column("feature"),
        Column("information about y", unit="nats"),
        Column("covered", unit="nats"),
        Column("reading"),
        Column("covered share", "percent"),
    ]
    caption = f"Covered information of each feature. {intervals_caption(result.estimates)}"
    return make_table("covered-table", caption, columns, rows, evidence=result.id, note=notes_of(result))


def _reading(cover: Any) -> str:
    lower, upper = cover.get("lower"), cover.get("upper")
    if lower is None or pd.isna(lower):
        return "no interval"
    return "redundant" if lower > 0 else "synergistic" if upper < 0 else "not shown to differ from 0"


def _graph(e: Evidence, result: Result) -> tuple[Section, ...]:
    """Return the estimator's facts and the graph drawn."""
    found = e.find("cid.graph")
    held = {FACTS.get(key, key.replace("_", " ")): value for key, value in result.meta.items() if key != "measures"}
    first = {label: held.pop(label) for label in FACTS.values() if label in held}
    rows = [
        (clean(label, 60).capitalize(), "none" if value is None else as_cell(value))
        for label, value in (*first.items(), *sorted(held.items()))
    ]
    blocks: list[Block] = [Facts(rows=tuple(rows))] if rows else []
    if found is not None:
        blocks += _drawn(found)
    return (Section(id="covered-graph", title="The graph it rests on", blocks=tuple(blocks)),) if blocks else ()


def _drawn(found: Result) -> list[Block]:
    """Return the graph in a sentence, a figure and a table of its strongest edges."""
    frame = found.frame.assign(size=found.frame["value"].abs()).sort_values("size", ascending=False, kind="stable")
    if frame.empty:
        return [Paragraph(text="The graph has no edges: no feature is tied to another or to the target.")]
    meaning = clean(found.meta.get("edge", "strength"), 60)
    nodes = graph.shown(found)
    features = max(len(found.meta.get("nodes", ())), len(nodes)) - 1
    text = _graph_text(frame, features)
    left = features + 1 - len(nodes)
    capped = f" Drawn are {len(nodes) - 1} of {features} features, those most tied to the target." if left else ""
    caption = f"The dependence graph: width shows the size of the {meaning}. It has no intervals.{capped}"
    alt = f"Graph on a circle. {text}"
    figure = make_figure("covered-graph-figure", caption, alt, lambda: graph.draw(found), found.id)
    rows = [(name(a), name(b), v) for a, b, v in _edges(frame)[:EDGES]]
    listed = f"The {len(rows)} strongest of {len(frame)} edges" if len(frame) > len(rows) else "Edges, strongest first"
    columns = [Column("one"), Column("other"), Column(meaning, "number")]
    table = make_table("covered-graph-table", f"{listed}.", columns, rows, evidence=found.id)
    return [Paragraph(text=text), figure, table]


def _graph_text(frame: pd.DataFrame, features: int) -> str:
    """Say how many edges there are, the strongest, and those with the target."""
    edges = _edges(frame)
    direct = [name(a if b == graph.TARGET else b) for a, b, _ in edges if graph.TARGET in (a, b)]
    top = [f"{name(a)} and {name(b)} {number(v)}" for a, b, v in edges[:3]]
    full = len(edges) == (features + 1) * features // 2
    tied = "Every pair is joined" if full else f"Tied to the target: {joined(direct, 12) or 'none'}"
    held = f"{count(len(edges), 'edge')} between {count(features, 'feature')} and the target"
    return f"{held}. Strongest: {joined(top)}. {tied}."


def _edges(frame: pd.DataFrame) -> list[tuple[str, str, float]]:
    return [(str(a), str(b), float(v)) for a, b, v in frame[["feature", "item", "value"]].itertuples(index=False)]


def _corrected(e: Evidence, result: Result) -> tuple[Section, ...]:
    """Return corrected importance where the gate passes, else the plain one with its covered share and the reasons."""
    found = e.find("cid.corrected")
    if found is None:
        return ()
    done = [str(m) for m in dict.fromkeys(found.estimates["measure"])]
    refused = [m for m in dict.fromkeys(gap.measure for gap in found.omissions) if m and m not in done]
    sections = [_moves(e, found, m, k) for k, m in enumerate(done, 1)]
    sections += [_plain(e, result, found, m, k) for k, m in enumerate(refused, len(done) + 1)]
    return tuple(sections)


def _moves(e: Evidence, found: Result, measure: str, number_of: int) -> Section:
    said = e.words(measure)
    table = found.estimates[found.estimates["measure"] == measure].sort_values("rank", kind="stable")
    moved = table[table["rank"] != table["plain_rank"]]
    told = [f"{name(r.feature)} from {r.plain_rank} to {r.rank}" for r in moved.itertuples()]
    text = f"Ranks move for {joined(told)}." if told else "No feature changes its rank."
    text = f"{text} Every corrected value is an extrapolation to features that cover nothing of each other."
    key = f"covered-corrected-{number_of}"
    capped = f" The first {TOP} of {len(table)} are drawn." if len(table) > TOP else ""
    figure = make_figure(
        f"{key}-figure",
        f"Rank by plain and by corrected importance for {said.title}.{capped} The moves have no intervals.",
        f"Two columns of ranks joined by lines. {text}",
        lambda: figures.draw_moves(found, measure, TOP),
        found.id,
    )
    columns = [Column("feature"), Column("plain rank", "integer"), Column("plain", "number", said.unit)]
    columns += [Column("corrected rank", "integer"), Column("corrected", "number", said.unit), *interval_columns(table)]
    kept = ["plain_rank", "plain", "rank", "estimate", *(["lower", "upper"] if interval_columns(table) else [])]
    rows = [[name(row["feature"]), *(row[c] for c in kept)] for row in table.to_dict("records")]
    caption = f"Plain and corrected importance for {said.title}. {intervals_caption(table)}"
    block = make_table(f"{key}-table", caption, columns, rows, evidence=found.id, note=notes_of(found))
    return Section(id=key, title=f"Corrected importance for {said.title}", blocks=(Paragraph(text=text), figure, block))


def _plain(e: Evidence, result: Result, found: Result, measure: str, number_of: int) -> Section:
    said = e.words(measure)
    reasons = [sentence(gap.reason) for gap in found.omissions if gap.measure == measure]
    text = f"{' '.join(reasons)} The plain importance stands, with the share of its information that others cover."
    blocks: list[Block] = [
        Callout(tone="neutral", title=f"No corrected importance for {said.title}", text=text, evidence=(found.id,))
    ]
    pfi = e.find("pfi")
    table = pd.DataFrame() if pfi is None else ordered(_single(e, pfi.estimates, measure))
    key = f"covered-corrected-{number_of}"
    if len(table):
        blocks.append(_plain_table(result, table, (said.title, said.unit), key))
    return Section(id=key, title=f"Plain importance for {said.title}", blocks=tuple(blocks))


def _single(e: Evidence, table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one measure's rows of single features: groups overlap them."""
    return table[(table["measure"] == measure) & ~table["feature"].isin(list(e.groups))]


def _plain_table(result: Result, table: pd.DataFrame, said: Sequence[str], key: str) -> Block:
    share = figures.part(result, figures.SHARE)["estimate"].to_dict()
    cover = figures.part(result, figures.COVERED).to_dict("index")
    rank = table["estimate"].rank(method="min", ascending=False).astype(int)
    rows = []
    for row, place in zip(table.to_dict("records"), rank, strict=True):
        words = value_words(row["estimate"], row["lower"], row["upper"])
        reading = _reading(cover[row["feature"]]) if row["feature"] in cover else "not estimated"
        rows.append([name(row["feature"]), place, words, share.get(row["feature"]), reading])
    columns = [Column("feature"), Column("rank", "integer"), Column("plain importance", unit=said[1])]
    columns += [Column("covered share", "percent"), Column("covered information is")]
    caption = f"Permutation importance for {said[0]} with covered shares. {intervals_caption(table)}"
    return make_table(f"{key}-table", caption, columns, rows, evidence=result.id)
