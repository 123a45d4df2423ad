"""Do the methods agree: ranks with intervals by question, how alike rankings are, how stable, and why they part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any, ClassVar

import pandas as pd

from ...core.support.text import count
from ...document import slots
from ...document.blocks import TOP, intervals_caption, left_out, make_figure, make_table, paragraphs
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.plots import matrix
from ...document.plots.frames import number, places_words, tied
from ...document.plots.matrix import DrawnRanks
from ...document.text import clean, joined, name
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.information import (
    KENDALL,
    OVERLAP,
    AgreementPairs,
    AgreementStability,
    AgreementView,
    PairLine,
    RankLine,
)
from ...evidence.view import by_feature, largest_first, table_of
from ...reading.run_reader import RunReader
from ..shared.estimates import grouped
from ..shared.wording import SHORT, ResultSection
from .rankings import Ranking, read_rankings

METHODS = {
    ids.PFI: "PFI",
    ids.PFI_UNCERTAINTY: "permuted, size",
    ids.PFI_TRAIN: "PFI, training sample",
    ids.SHAP_IMPORTANCE: "SHAP",
    ids.DALEX_PARTS: "DALEX",
    ids.RSENS: "R-sens",
    ids.RSENS_COMPARATORS: "comparator",
    ids.H_STATISTIC: "H², total",
    ids.COVER: "PFI, adjusted for redundancy",
    ids.CID_CORRECTED: "PFI, corrected by CID",
}
QUESTIONS = {
    "prediction": "the prediction (the mean)",
    "loss": "the loss",
    "uncertainty": "the uncertainty",
    "interaction": "interaction",
}
FEW = 3


class Ranked(Ranking):
    """A ranking in words."""

    @property
    def method(self) -> str:
        """The method, as short as columns need."""
        return METHODS.get(self.id, clean(self.id, 60))

    @property
    def key(self) -> str:
        """What the result calls this ranking."""
        return f"{self.id}: {self.measure}" if self.measure else self.id

    @property
    def label(self) -> str:
        """What a reader calls it; a method's only measure is not repeated."""
        return self.method if self.measure in ("", self.id) else f"{self.method} {self.short}"

    @property
    def short(self) -> str:
        """The measure, as short as columns need."""
        return SHORT.get(self.measure, clean(self.measure, 40))

    def column(self) -> DrawnRanks:
        """Return it as a column of a figure."""
        measure = "" if self.measure == self.id else self.short
        return DrawnRanks(self.method, measure, table_of(self.lines).set_index(col.FEATURE), self.role)

    def leaders(self, most: int) -> str:
        """Name its first features, with the intervals of their ranks or their ties: ``"age (1 to 3)"``."""
        return joined([self._place(line) for line in self.lines[:most]], most)

    def places(self, feature: str) -> str:
        """Return the ranks that a feature may have."""
        line = by_feature(self.lines)[feature]
        return places_words(line.lower, line.upper) if self.sure else places_words(line.estimate, line.estimate)

    def _place(self, line: RankLine) -> str:
        if self.sure:
            return f"{name(line.feature)} ({self.places(line.feature)})"
        first, last = tied({other.feature: other.estimate for other in self.lines})[line.feature]
        return name(line.feature) + (f" (tied, {places_words(first, last)})" if last > first else "")

    @property
    def first_words(self) -> str:
        """Which features can be first: one by name, a few by name, more as a count."""
        able = sorted(line.feature for line in self.lines if line.lower == 1)
        if len(able) == 1:
            return f"only {name(able[0])} can be first"
        if len(able) <= FEW:
            return f"{joined([name(f) for f in able])} can be first"
        return f"{count(len(able), 'feature')} can be first"


def by_question(ranked: Sequence[Ranked]) -> dict[str, list[Ranked]]:
    """Return the rankings of each question, those with intervals first."""
    roles = dict.fromkeys([*QUESTIONS, *(r.role for r in ranked)])
    by_role = {role: sorted((r for r in ranked if r.role == role), key=lambda r: not r.sure) for role in roles}
    return {role: several for role, several in by_role.items() if several}


COLUMNS = 10
LEADERS = 3
ALIKE = 12
Steadiness = tuple[str, str, float, float | None, str, str]
LEAD = (
    "Every importance in this report, as a ranking. The interval of a rank is simultaneous for all features of a "
    "method and covers new test samples: features whose rank intervals overlap are not statistically distinguishable. "
    "Methods that answer different questions may disagree and both be correct."
)


class AgreementSection(ResultSection[AgreementView]):
    """Drivers of the prediction, the loss and the uncertainty by every method, and where the methods disagree."""

    name: ClassVar[str] = AgreementView.id
    slot: ClassVar[str] = slots.AGREEMENT
    shows: ClassVar[tuple[str, ...]] = (AgreementView.id, AgreementPairs.id)
    of = AgreementView
    title = "Agreement between methods"
    empty = "No ranking could be made."

    def blocks(self, e: RunReader, view: AgreementView) -> Iterable[Block]:
        """Return the leaders by every method."""
        return (Paragraph(text=LEAD), _drivers_table(view, read_rankings(view, Ranked)), *left_out(view.result, most=3))

    def parts(self, e: RunReader, view: AgreementView) -> Iterable[Section]:
        """Return parts on the ranks, their likeness and their disagreements."""
        ranked = read_rankings(view, Ranked)
        return (*_questions(view, ranked), *_alike(e, ranked), _reasons(view, ranked))


def _question(role: str) -> str:
    return QUESTIONS.get(role, "another question")


def _answer(role: str, ranked: Sequence[Ranked]) -> str:
    """Say of one question which features can be first, by the methods that know."""
    question = _question(role)
    lead = f"{question[0].upper()}{question[1:]}: "
    by_words = grouped((ranking for ranking in ranked if ranking.sure), lambda ranking: ranking.first_words)
    words = [f"{first} by {joined([ranking.label for ranking in several], 6)}" for first, several in by_words.items()]
    return f"{lead}{'; '.join(words) or 'no method has intervals on its ranks'}."


def _drivers_table(view: AgreementView, ranked: Sequence[Ranked]) -> Table:
    """Return one row per ranking: the question, the method, who can be first, and the leaders."""
    rows = [
        (role or "other", x.label, x.first_words if x.sure else "no rank intervals", x.leaders(LEADERS))
        for role, several in by_question(ranked).items()
        for x in several
    ]
    columns = ("what", "by", "first", "leading features (rank interval)")
    intervals = intervals_caption(view.result.estimates)
    caption = f"Drivers of the prediction, the loss and the uncertainty by every method. {intervals}"
    return make_table("agreement-table", caption, columns, rows, of=view.result)


def _questions(view: AgreementView, ranked: Sequence[Ranked]) -> list[Section]:
    """Return the matrix of ranks of each question; ranks without any interval stand in the table alone."""
    questions = by_question(ranked)
    sure = {role: several for role, several in questions.items() if any(x.sure for x in several)} or questions
    return [_ranks(view, role, several, f"agreement-{k}") for k, (role, several) in enumerate(sure.items(), 1)]


def _ranks(view: AgreementView, role: str, ranked: Sequence[Ranked], key: str) -> Section:
    """Return the matrix of ranks of one question."""
    figured, rest = ranked[:COLUMNS], len(ranked) - COLUMNS
    columns = [ranking.column() for ranking in figured]
    features = matrix.rank_order(columns)
    more = f" In the evidence: {count(rest, 'further ranking')}." if rest > 0 else ""
    capped = f", the first {TOP} of {len(features)} features by mean rank" if len(features) > TOP else ""
    some = any(len(ranking.lines) < len(features) for ranking in figured)
    gaps = " A panel with gaps ranks only part of the features." if some else ""
    intervals = intervals_caption(table_of([line for ranking in figured for line in ranking.lines]))
    figure = make_figure(
        f"{key}-figure",
        f"Ranks for {_question(role)}{capped}: a dot with its interval, hollow where there is "
        f"none.{gaps} {intervals}{more}",
        f"Dots of ranks, a line per feature and a panel per method. {_answer(role, ranked)}",
        lambda: matrix.draw_ranks(columns, features[:TOP]),
        view.id,
    )
    return Section(id=key, title=f"Ranks for {_question(role)}", blocks=(figure,))


def _alike(e: RunReader, ranked: Sequence[Ranked]) -> list[Section]:
    """Return Kendall's tau-b of every two rankings, and the pairs of one question with their overlap."""
    view = AgreementPairs.find(e.run)
    if view is None or not view.lines:
        return []
    tau = [line for line in view.lines if line.item == KENDALL]
    paired = {key for line in tau for key in (line.first, line.second)}
    whole = max(len(ranking.lines) for ranking in ranked)
    places = {role: place for place, role in enumerate(QUESTIONS)}
    order = sorted(ranked, key=lambda ranking: (not ranking.sure, places.get(ranking.role, len(places))))
    square = [ranking for ranking in order if ranking.key in paired and len(ranking.lines) == whole][:ALIKE]
    blocks = (_tau_figure(tau, square, len(ranked)),) if len(square) > 2 else ()
    table = _pair_table(view, {ranking.key: ranking for ranking in ranked})
    return [Section(id="agreement-alike", title="Similarity of the rankings", blocks=(*blocks, table))]


def _tau_figure(tau: Sequence[PairLine], ranked: Sequence[Ranked], total: int) -> Block:
    """Return the matrix of Kendall's tau-b."""
    label = {ranking.key: ranking.label for ranking in ranked}
    inside = [line for line in tau if line.first in label and line.second in label]
    square = pd.DataFrame(nan, index=list(label), columns=list(label))
    for line in inside:
        square.loc[line.first, line.second] = square.loc[line.second, line.first] = line.estimate
    square.index = square.columns = pd.Index(label.values())
    scale = matrix.ColourScale("Kendall's τ-b", -1.0 if any(line.estimate < 0 for line in inside) else 0.0, 1.0)
    least = [
        f"Least similar: {label[line.first]} and {label[line.second]}, {number(line.estimate, 2)}."
        for line in largest_first(inside, sign=-1)[:1]
    ]
    capped = (
        f" {len(label)} of {total} rankings are drawn, starting with rankings of all features that have rank intervals."
    )
    return make_figure(
        "agreement-alike-figure",
        "Kendall's τ-b of every two rankings: 1 for the same order, 0 for unrelated ones. It has no interval."
        f"{capped if total > len(label) else ''}",
        f"Symmetric matrix of Kendall's tau-b. {' '.join(least)}",
        lambda: matrix.draw(square, scale),
        AgreementPairs.id,
    )


def _pair_table(view: AgreementPairs, ranked: Mapping[str, Ranked]) -> Table:
    """Return pairs that answer one question, least alike first; the others stand in the evidence."""
    rows = []
    for keys, lines in grouped(view.lines, lambda line: (line.first, line.second)).items():
        first, second = (ranked.get(key) for key in keys)
        if first is None or second is None or first.role != second.role:
            continue
        items = {line.item: line for line in lines}
        tau = items[KENDALL].estimate if KENDALL in items else nan
        rows.append((first.role or "other", first.label, second.label, tau, _overlap(items.get(OVERLAP))))
    rows.sort(key=lambda row: (isnan(row[3]), row[3]))
    columns = ("what", "one", "other", Column("τ-b", "number"), "leaders in common (expected by chance)")
    capped = f" {TOP} of {len(rows)} pairs." if len(rows) > TOP else ""
    caption = f"Rankings that answer the same question, least similar first. There are no intervals.{capped}"
    return make_table("agreement-alike-table", caption, columns, rows[:TOP], of=view.result)


def _overlap(line: PairLine | None) -> str:
    if line is None:
        return ""
    return f"{100 * line.estimate:.0f}% of the first {line.top_k} ({100 * line.by_chance:.0f}%)"


def _reasons(view: AgreementView, ranked: Sequence[Ranked]) -> Section:
    """Return the disagreements between ranks whose intervals are apart, and what another result shows of each."""
    key, title = "agreement-reasons", "Disagreements between methods"
    by_key = {(ranking.id, ranking.measure): ranking for ranking in ranked}
    rows = [_parting(case, by_key) for case in view.disagreements if case["sure"]]
    total = max(view.n_disagreements, len(view.disagreements))
    if not rows:
        text = "No rank intervals of comparable methods contradict each other."
        return Section(id=key, title=title, blocks=(Paragraph(text=text),))
    caption = (
        f"{count(total, 'disagreement')} between comparable rankings; listed are the clearest ones with disjoint rank "
        "intervals. An explanation is a result of this run, no proof of the cause."
    )
    columns = ("feature", "higher by", "lower by", "explained by")
    table = make_table(f"{key}-table", caption, columns, rows, evidence=view.id)
    return Section(id=key, title=title, blocks=(table,))


def _parting(case: Mapping[str, Any], ranked: Mapping[tuple[str, str], Ranked]) -> tuple[str, ...]:
    feature = str(case["feature"])
    sides = [ranked.get(pair) for pair in zip(case["methods"], case["measures"], strict=True)]
    words = ["" if side is None else f"{side.label}: {side.places(feature)}" for side in sides]
    why = joined([METHODS.get(key, clean(key, 60)) for key in case["evidence"]])
    return (name(feature), *words, why or "not explained")


class StabilitySection(ResultSection[AgreementStability]):
    """Variation of each method's ranks over bootstrap samples, or why it is unknown."""

    name: ClassVar[str] = "stability"
    slot: ClassVar[str] = slots.STABILITY
    shows: ClassVar[tuple[str, ...]] = (AgreementStability.id,)
    of = AgreementStability
    key = "agreement-stability"
    title = "Stability of the ranks"
    empty = "No ranking could be resampled."

    def blocks(self, e: RunReader, view: AgreementStability) -> Iterable[Block]:
        """Return the most and the least stable ranks in words, and a row per ranking."""
        rows = _steadiest_first(e, view)
        numbers = Column("mean rank entropy", "number", "nats"), Column("of the largest", "percent")
        columns = ("method", "measure", *numbers, "most stable", "least stable")
        caption = "Variation of the ranks over bootstrap samples, most stable first. It is no interval."
        table = make_table("agreement-stability-table", caption, columns, rows, of=view.result)
        return (*paragraphs(_steady_words(rows) if rows else ""), table, *left_out(view.result, most=3))


def _steadiest_first(e: RunReader, view: AgreementStability) -> list[Steadiness]:
    """Return a row per ranking: its mean entropy, also as a share of the largest, and its extreme features."""
    rows: list[Steadiness] = []
    for (method, measure), lines in grouped(view.lines, lambda line: (line.item, line.measure)).items():
        means = [line for line in lines if not line.feature]
        single = largest_first((line for line in lines if line.feature), sign=-1)
        if means and single:
            value, most = means[0].estimate, means[0].largest
            words = METHODS.get(method, clean(method, 60)), e.words(measure).title
            ends = name(single[0].feature), name(single[-1].feature)
            rows.append((*words, value, value / most if most > 0 else None, *ends))
    return sorted(rows, key=lambda row: row[2])


def _steady_words(rows: Sequence[Steadiness]) -> str:
    ends = ((method, measure) for method, measure, *_ in (rows[0], rows[-1]))
    first, last = (method if method == measure else f"{method} ({measure})" for method, measure in ends)
    return f"Most stable ranks: {first}; least stable: {last}. An entropy of 0 means that ranks never change."
