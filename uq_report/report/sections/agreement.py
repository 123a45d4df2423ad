"""Do the methods agree: ranks with intervals by question, how alike rankings are, how stable, and why they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...plots import matrix, rank_intervals
from ...plots.words import number
from ..blocks import TOP, intervals_caption, left_out, make_figure, make_table, notes_of
from ..document import Block, Bullets, Column, Paragraph, Section
from ..evidence import Evidence
from ..text import clean, joined, name
from .extras import extras
from .rankings import METHODS, QUESTIONS, Ranked, first_words, rankings

TITLE = "Agreement between methods"
KNOWN = ("agreement", "agreement.pairs", "agreement.stability")
COLUMNS = 10
LEADERS = 3
ALIKE = 12
SENTENCES = 8
LEAD = (
    "Every importance in this report, as a ranking. The interval of a rank holds the ranks that new test rows could "
    "give, for all features of a method at once: features whose rank intervals overlap have no certain order. Methods "
    "that answer different questions may disagree and both be right."
)


def agreement(e: Evidence) -> Section:
    """Return what drives the mean, the loss and the uncertainty by every method, and where the methods part."""
    result = e.find("agreement")
    if result is None or not len(result.estimates):
        text = e.why_missing("agreement") if result is None else "No ranking could be made."
        return Section(id="agreement", title=TITLE, blocks=(Paragraph(text=text), *left_out(result)))
    ranked = rankings(result)
    blocks: list[Block] = [
        Paragraph(text=LEAD),
        *e.warning([one.measure for one in ranked]),
        Bullets(items=tuple(_answers(ranked))),
        _drivers_table(result, ranked),
        *left_out(result, most=3),
    ]
    sections = [
        *_questions(result, ranked),
        *_alike(e, ranked),
        *_reasons(result),
        *extras(e, "agreement", KNOWN),
    ]
    return Section(id="agreement", title=TITLE, blocks=tuple(blocks), sections=tuple(sections))


def _by_question(ranked: Sequence[Ranked]) -> dict[str, list[Ranked]]:
    """Return the rankings of each question, those with intervals first."""
    held: dict[str, list[Ranked]] = {}
    for role in (*QUESTIONS, *(one.role for one in ranked)):
        found = [one for one in ranked if one.role == role]
        if found:
            held[role] = sorted(found, key=lambda one: not one.sure)
    return held


def _answers(ranked: Sequence[Ranked]) -> list[str]:
    """Say for each question which features can be first, by the methods that know."""
    told = []
    for role, found in _by_question(ranked).items():
        question = QUESTIONS.get(role, "another question")
        sure = [one for one in found if one.sure]
        if not sure:
            told.append(f"{question[0].upper()}{question[1:]}: no method has intervals on its ranks.")
            continue
        groups: dict[str, list[str]] = {}
        for one in sure:
            groups.setdefault(first_words(one), []).append(one.label)
        parts = [f"{words} by {joined(labels, 6)}" for words, labels in groups.items()]
        told.append(f"{question[0].upper()}{question[1:]}: {'; '.join(parts)}.")
    return told


def _drivers_table(result: Result, ranked: Sequence[Ranked]) -> Block:
    """Return one row per ranking: the question, the method, who can be first, and the leaders."""
    rows = []
    for role, found in _by_question(ranked).items():
        for one in found:
            leaders = joined([one.place(str(f)) for f in one.table.index[:LEADERS]], LEADERS)
            first = first_words(one) if one.sure else "no rank intervals"
            rows.append((role or "other", one.label, first, leaders))
    columns = [Column("what"), Column("by"), Column("first"), Column("leading features (rank interval)")]
    caption = (
        f"What drives the mean, the loss and the uncertainty, by every method. {intervals_caption(result.estimates)}"
    )
    return make_table("agreement-table", caption, columns, rows, evidence=result.id, note=notes_of(result))


def _questions(result: Result, ranked: Sequence[Ranked]) -> list[Section]:
    """Return the matrix of ranks of each question; ranks without any interval stand in the table alone."""
    held = _by_question(ranked)
    known = {role: found for role, found in held.items() if any(one.sure for one in found)} or held
    return [_question(result, role, found, k) for k, (role, found) in enumerate(known.items(), 1)]


def _question(result: Result, role: str, found: Sequence[Ranked], number_of: int) -> Section:
    shown = [one.column() for one in found[:COLUMNS]]
    features = rank_intervals.order(shown)
    more = f" In the evidence: {count(len(found) - COLUMNS, 'further ranking')}." if len(found) > COLUMNS else ""
    capped = f", the first {TOP} of {len(features)} features by mean rank" if len(features) > TOP else ""
    kept = pd.concat([one.table for one in found[:COLUMNS]])
    question = QUESTIONS.get(role, "another question")
    some = any(len(column.table) < len(features) for column in shown)
    gaps = " A column with empty cells ranks only the features it holds." if some else ""
    caption = f"Ranks for {question}{capped}: the estimate, and its interval below it where there is one.{gaps} "
    alt = f"Matrix of ranks, a row per feature and a column per method. {' '.join(_answers(found))}"
    figure = make_figure(
        f"agreement-{number_of}-figure",
        f"{caption}{intervals_caption(kept)}{more}",
        alt,
        lambda: rank_intervals.draw(shown, features[:TOP], role),
        result.id,
    )
    return Section(id=f"agreement-{number_of}", title=f"Ranks for {question}", blocks=(figure,))


def _alike(e: Evidence, ranked: Sequence[Ranked]) -> list[Section]:
    """Return Kendall's tau-b of every two rankings, and the pairs of one question with their overlap."""
    result = e.find("agreement.pairs")
    if result is None or not len(result.estimates):
        return []
    table = result.estimates
    tau = table[table["item"] == "Kendall tau-b"]
    known = {one.key: one for one in ranked}
    order = sorted(
        known.values(), key=lambda one: (not one.sure, list(QUESTIONS).index(one.role) if one.role in QUESTIONS else 9)
    )
    held = set(tau["first"]) | set(tau["second"])
    whole = max(len(one.table) for one in ranked)
    shown = [one for one in order if one.key in held and len(one.table) == whole][:ALIKE]
    blocks: list[Block] = []
    if len(shown) > 2:
        blocks.append(_tau_figure(result, tau, shown, len(known)))
    blocks.append(_pair_table(result, table, known))
    return [Section(id="agreement-alike", title="How alike the rankings are", blocks=tuple(blocks))]


def _tau_figure(result: Result, tau: pd.DataFrame, shown: Sequence[Ranked], total: int) -> Block:
    keys, labels = [one.key for one in shown], [one.label for one in shown]
    square = pd.DataFrame(float("nan"), index=keys, columns=keys)
    inside = tau[tau["first"].isin(keys) & tau["second"].isin(keys)]
    for a, b, value in inside[["first", "second", "estimate"]].itertuples(index=False):
        square.loc[a, b] = square.loc[b, a] = value
    label = dict(zip(keys, labels, strict=True))
    told = [
        f"Least alike: {label[row['first']]} and {label[row['second']]}, {number(row['estimate'], 2)}."
        for row in inside.sort_values("estimate", kind="stable").head(1).to_dict("records")
    ]
    low = -1.0 if (inside["estimate"] < 0).any() else 0.0
    square.index = square.columns = pd.Index(labels)
    capped = (
        f" {len(shown)} of {total} rankings, of all features and with rank intervals first."
        if total > len(shown)
        else ""
    )
    caption = f"Kendall's τ-b of every two rankings: 1 for one order, 0 for unrelated ones. It has no interval.{capped}"
    alt = f"Symmetric matrix of Kendall's tau-b. {' '.join(told)}"
    return make_figure(
        "agreement-alike-figure",
        caption,
        alt,
        lambda: matrix.draw(square, matrix.Scale("Kendall's τ-b", low, 1.0)),
        result.id,
    )


def _pair_table(result: Result, table: pd.DataFrame, known: Mapping[str, Ranked]) -> Block:
    """Return pairs that answer one question, least alike first; the others stand in the evidence."""
    values: dict[tuple[str, str], dict[str, Any]] = {}
    for row in table.to_dict("records"):
        values.setdefault((str(row["first"]), str(row["second"])), {})[str(row["item"])] = row
    rows = []
    for (a, b), items in values.items():
        one, two = known.get(a), known.get(b)
        if one is None or two is None or one.role != two.role:
            continue
        tau, overlap = items.get("Kendall tau-b"), items.get("top-k overlap")
        value = float(tau["estimate"]) if tau else float("nan")
        rows.append((one.role or "other", one.label, two.label, value, _overlap(overlap)))
    rows.sort(key=lambda row: (np.isnan(row[3]), row[3]))
    columns = [Column("what"), Column("one"), Column("other"), Column("τ-b", "number")]
    columns.append(Column("leaders in common (by chance)"))
    caption = "Rankings that answer the same question, least alike first. There are no intervals."
    kept = rows[:TOP]
    if len(rows) > len(kept):
        caption = f"{caption} {len(kept)} of {len(rows)} pairs."
    return make_table("agreement-alike-table", caption, columns, kept, evidence=result.id, note=notes_of(result))


def _overlap(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    return f"{100 * row['estimate']:.0f} % of the first {row['top_k']} ({100 * row['by_chance']:.0f} %)"


def stability(e: Evidence) -> Section:
    """Return how much each method's ranks move over bootstrap samples of the rows."""
    title, result = "Stability of the ranks", e.find("agreement.stability")
    if result is None or not len(result.estimates):
        text = e.why_missing("agreement") if result is None else "No ranking could be drawn again."
        return Section(id="agreement-stability", title=title, blocks=(Paragraph(text=text), *left_out(result)))
    rows: list[tuple[str, str, float, float | None, str, str]] = []
    for (method, measure), part in result.estimates.groupby(["item", "measure"], sort=False):
        mean = part[part["feature"] == ""]
        single = part[part["feature"] != ""].sort_values("estimate", kind="stable")
        if mean.empty or single.empty:
            continue
        value, most = float(mean["estimate"].iloc[0]), float(mean["largest"].iloc[0])
        share = value / most if most > 0 else None
        ends = name(single["feature"].iloc[0]), name(single["feature"].iloc[-1])
        rows.append((METHODS.get(str(method), clean(method, 60)), e.words(str(measure)).title, value, share, *ends))
    rows.sort(key=lambda row: row[2])
    columns = [Column("method"), Column("measure"), Column("mean rank entropy", "number", "nats")]
    columns += [Column("of the largest", "percent"), Column("steadiest"), Column("least steady")]
    caption = "How much the ranks move over bootstrap samples of the rows, steadiest first. It is no interval."
    table = make_table("agreement-stability-table", caption, columns, rows, evidence=result.id, note=notes_of(result))
    sides = [one if one == measure else f"{one} ({measure})" for one, measure, *_ in (rows[:1] + rows[-1:])]
    text = (
        f"Steadiest ranks: {sides[0]}; least steady: {sides[-1]}. At an entropy of 0 ranks never move." if sides else ""
    )
    told = (Paragraph(text=text),) if text else ()
    return Section(id="agreement-stability", title=title, blocks=(*told, table, *left_out(result, most=3)))


def _reasons(result: Result) -> list[Section]:
    """Return the leading disagreements in sentences, each with the evidence it rests on."""
    told = [one for one in result.meta.get("disagreements", ()) if isinstance(one, Mapping)]
    total = int(result.meta.get("n_disagreements", len(told)))
    if not told:
        text = "No feature is ranked differently by methods that can be compared, as far as the intervals tell."
        return [Section(id="agreement-reasons", title="Where methods part", blocks=(Paragraph(text=text),))]
    sure, explained = (sum(bool(one.get(key)) for one in told) for key in ("sure", "explained"))
    lead = (
        f"{count(total, 'disagreement')} between rankings that can be compared; of the {len(told)} clearest, {sure} "
        f"between ranks whose intervals are apart, {explained} with an explanation in another result. An explanation "
        "is what another result shows, not a proof of the cause."
    )
    telling = [one for one in told if one.get("sure") or one.get("explained")]
    telling.sort(key=lambda one: (not one.get("sure"), not one.get("explained")))
    items = [_sentence(one) for one in telling[:SENTENCES]]
    if total > len(items):
        items.append(f"{count(total - len(items), 'further disagreement')}: see the evidence agreement.")
    blocks = (Paragraph(text=lead), Bullets(items=tuple(items)))
    return [Section(id="agreement-reasons", title="Where methods part", blocks=blocks)]


def _sentence(one: Mapping[str, Any]) -> str:
    ids = [clean(key, 60) for key in one.get("evidence", ())]
    return f"{clean(one.get('sentence', ''))}{f' Evidence: {joined(ids)}.' if ids else ''}"
