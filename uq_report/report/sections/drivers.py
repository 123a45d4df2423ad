"""Drivers of the prediction, the loss and the uncertainty: one ranking of methods, the map, covered information."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import floor, isfinite, log10, nan
from typing import Any, NamedTuple

import pandas as pd

from ...core.statistics.ranking import ranks
from ...core.support.numbers import fixed, places as places_of
from ...core.support.text import count
from ...document.blocks import bullets, make_figure, make_section, make_table, paragraphs
from ...document.document import Block, Bullets, Callout, Column, Figure, Section, Table
from ...document.plots.attribution import draw, draw_swarm
from ...document.plots.matrix import DrawnRanks, draw_ranks
from ...document.text import clean, joined, mention, mentions, name, sentence, spaced
from ...evidence import columns as col, ids, importance as views
from ...evidence.importance import RSENS, CoverCorrected, CoverCorrectedLine
from ...evidence.information import CONVENTIONS, COVERED, SHARE, SIZE, AgreementView, Cid
from ...evidence.rows import Shap
from ...evidence.view import by_feature, by_key, largest_first, of_measure
from ...reading import rank_ranges
from ...reading.run_reader import RunReader
from ...reading.sentences import NUMBERS
from ..plots import draw_map

ROWS = 15  # features that are printed, the leading ones
CORRECTED = "adjusted for redundancy"
DASH = "\u2011"  # a hyphen at which no line breaks


class Source(NamedTuple):
    """Where a column comes from: the result, the question, and the role of its measures."""

    id: str
    question: str
    role: str
    head: str
    words: str


# The columns in their order, grouped by question. R-sens is about the whole distribution, not the uncertainty alone.
SOURCES = (
    Source(ids.SHAP_IMPORTANCE, "prediction", "prediction", "Shapley", "the prediction"),
    Source(ids.PFI, "loss", "loss", "alone", "the loss"),
    Source(ids.COVER, "loss", "loss", CORRECTED, f"the loss {CORRECTED}"),
    Source(ids.DALEX_PARTS, "loss", "prediction", "drop-out", "the drop-out loss"),
    Source(ids.PFI_UNCERTAINTY, "uncertainty", "uncertainty", "permuted", "the uncertainty"),
    Source(ids.SHAP_IMPORTANCE, "uncertainty", "uncertainty", "Shapley", "the uncertainty (Shapley)"),
    Source(ids.RSENS, "distribution", "uncertainty", "R-sens", "the whole distribution"),
)


@dataclass(frozen=True)
class RankingColumn(rank_ranges.FeatureRanking):
    """One column: a method's numbers for one question, largest first, with each single feature's rank and places."""

    source: Source
    ranks: Mapping[str, int]
    together: bool

    @property
    def is_size(self) -> bool:
        """Whether its numbers are mean sizes, which have no sign, and not mean changes."""
        return CONVENTIONS[self.source.id] == SIZE

    def column(self) -> Column:
        """Return the head: question, method, and whether sizes or changes are averaged."""
        kind = "mean size" if self.is_size else "mean change"
        return Column(f"{self.source.question}: {self.source.head}, {kind}", unit=self.facts.unit)

    def place(self, feature: str) -> str:
        """Return a rank with the ranks it may have: ``"2 (1 to 3)"``; without intervals ``"≈ 2"``."""
        place, rank = self.features[feature], self.ranks[feature]
        if not place.by_intervals:
            return f"≈ {rank}"
        return str(rank) if place.first == place.last else f"{rank} ({place.first} to {place.last})"

    @property
    def drawn(self) -> DrawnRanks:
        """The ranks as a figure draws them."""
        places = {feature: self.features[feature] for feature in self.ranks}
        ends = {feature: (p.first, p.last) if p.by_intervals else (nan, nan) for feature, p in places.items()}
        rows = {feature: (rank, *ends[feature]) for feature, rank in self.ranks.items()}
        table = pd.DataFrame.from_dict(rows, orient="index", columns=[col.ESTIMATE, col.LOWER, col.UPPER], dtype=float)
        question = self.source.question
        role = "uncertainty" if question == "distribution" else question
        return DrawnRanks(question, self.source.head.partition(" for ")[0], table, role)

    def cells(self) -> dict[str, str]:
        """Return each feature's number, rounded to its error, with its ranks on one line: ``"0.041 · 2 (1-3)"``."""
        rows = self.table[[col.FEATURE, *NUMBERS]].itertuples(index=False)
        largest = self.table[col.ESTIMATE].abs().max()
        cells = {str(feature): _rounded(largest, *numbers) for feature, *numbers in rows}
        rank_ranges = {feature: f" · {self.place(feature).replace(' to ', DASH)}" for feature in self.features}
        return {feature: f"{number}{rank_ranges.get(feature, '')}" for feature, number in cells.items()}


def _rounded(largest: float, estimate: float, lower: float, upper: float) -> str:
    """Return a number to its interval's error, else two digits, but not finer than three digits of the largest."""
    own = places_of(lower, upper) if isfinite(lower) and isfinite(upper) else None
    return fixed(estimate, min(_decimals(estimate, 2) if own is None else own, _decimals(largest, 3)))


def _decimals(value: float, digits: int) -> int:
    """Return the decimals of a number's leading digits; none of 0."""
    return digits - 1 - floor(log10(abs(value))) if value and isfinite(value) else 0


def rankings(e: RunReader) -> list[RankingColumn]:
    """Return the columns that the run can fill, in their order."""
    every = [ranking for source in SOURCES if (ranking := _ranking(e, source)) is not None]
    alone, view = {ranking.measure for ranking in every if ranking.source.id == ids.PFI}, CoverCorrected.find(e.run)
    covered = view is not None and any(view.partners.values())
    return [x for x in every if x.source.id != ids.COVER or (covered and x.measure in alone)]


def changed(view: CoverCorrected, measure: str) -> list[CoverCorrectedLine]:
    """Return the lines whose importance correction changes by more than what matters, largest change first.

    The whole interval of the change lies beyond the margin, and is reliable.
    """
    lines = [line for line in of_measure(view.lines, measure) if not line.unreliable]
    beyond = [line for line in lines if line.change_lower > line.margin or line.change_upper < -line.margin]
    return sorted(beyond, key=lambda line: -abs(line.change))


def _ranking(e: RunReader, source: Source) -> RankingColumn | None:
    """Return one column: by the measure of its role; R-sens has a measure of its own."""
    result = e.find(source.id)
    present = [] if result is None else result.estimates[col.MEASURE].tolist()
    measure = RSENS if RSENS in present else e.measure_of(source.role, present)
    if result is None or not measure:
        return None
    plain = rank_ranges.FeatureRanking.of(e, result, measure)
    table = plain.table[plain.table[col.ESTIMATE].notna()].drop_duplicates(col.FEATURE)
    single, facts = table[table[col.FEATURE].isin(list(plain.features))], plain.facts
    order = ranks(facts.sign * single[col.ESTIMATE].to_numpy(dtype=float)).tolist() if len(single) else []
    rank = dict(zip(single[col.FEATURE].astype(str), order, strict=True))
    together = set(rank_ranges.simultaneous(e.run, source.id, measure)) >= set(rank)
    if result.id == ids.DALEX_PARTS:  # the unit of a drop-out loss is that of its loss
        losses = result.meta.get("losses", {})
        unit = clean(losses.get("prediction", ""), 20).replace(" - ", " − ")
        shown = f" of {name(e.subject.positive_class)}" if len(e.subject.classes or ()) > 2 and "AUC" in unit else ""
        facts = replace(facts, unit=unit + shown)
    return RankingColumn(result, measure, facts, table, plain.features, plain.n, source, rank, together)


def features(e: RunReader, columns: Sequence[RankingColumn]) -> list[str]:
    """Return the features, those to print first: the first of any column, blocks of features, then the others.

    Either part is in the order of the loss, or else of the first column.
    """
    lead = next((column for column in columns if column.source.question == "loss"), columns[0])
    order = list(dict.fromkeys(f for column in (lead, *columns) for f in column.table[col.FEATURE].astype(str)))
    blocks = [feature for feature in order if feature in e.subject.groups]
    best = {f: min(column.ranks.get(f, len(order)) for column in columns) for f in order if f not in blocks}
    top = sorted(best, key=lambda feature: best[feature])[: max(0, ROWS - len(blocks))]
    return [*(f for f in best if f in top), *blocks, *(f for f in best if f not in top)]


def ranking_table(e: RunReader, columns: Sequence[RankingColumn]) -> Table:
    """Return a row per feature, the leading first, and a column per method, grouped by question."""
    order, cells = features(e, columns), [column.cells() for column in columns]
    single = len(set(order) - set(e.subject.groups))
    rows = [(name(feature), *(column.get(feature) for column in cells)) for feature in order]
    whole = make_table(
        "drives-table",
        f"{count(single, 'feature')} by every method: number, rank and in brackets the ranks it may have.",
        [Column("feature"), *(column.column() for column in columns)],
        rows[:ROWS],
        evidence=AgreementView.id if e.find(AgreementView.id) is not None else columns[0].result.id,
        note=spaced(_kinds(columns), _intervals(e, columns), e.group_words),
    )
    return replace(whole, rest=tuple(rows[ROWS:]), total_rows=len(rows))


def ranking_figure(e: RunReader, columns: Sequence[RankingColumn]) -> Figure | Callout:
    """Return the ranks of the leading features by every method, with the ranks that each may have."""
    order = [feature for feature in features(e, columns) if feature not in e.subject.groups][:ROWS]
    ranked = [column for column in columns if column.ranks]
    firsts = joined([f"{name(next(iter(column.ranks)))} in {column.source.words}" for column in ranked], len(ranked))
    bare = [column.source.words for column in ranked if not column.has_intervals]
    without = f"; hollow, without interval: {joined(bare)}" if bare else ""
    return make_figure(
        "drives-ranks",
        f"Ranks of the features by every method. A dot is the rank, its line the ranks it may have{without}.",
        f"A panel per method, a line per feature. First: {firsts}.",
        lambda: draw_ranks([column.drawn for column in ranked], order),
        columns[0].result.id,
    )


def _kinds(columns: Sequence[RankingColumn]) -> str:
    """Say what mean changes and mean sizes are, where there are some."""
    sources, sizes = {column.source.id for column in columns}, {column.is_size for column in columns}
    more = " (adjusted for redundancy: its partner features are permuted as well)" * (ids.COVER in sources)
    change = (
        f"Mean change: the mean increase when the feature is permuted{more}; increases and decreases of single "
        "observations cancel."
    )
    size = "Mean size: the mean absolute change of an observation; not comparable with a mean change."
    whole = "R-sens describes the whole predictive distribution." * (ids.RSENS in sources)
    return spaced(change * (False in sizes), spaced(size, whole) * (True in sizes))


def _intervals(e: RunReader, columns: Sequence[RankingColumn]) -> str:
    """Say for which columns rank intervals are simultaneous over all features, and which ranks have none."""
    joint, single = (
        [x.source.words for x in columns if x.has_intervals and x.together is together] for together in (True, False)
    )
    bare, view = [x.source.words for x in columns if not x.has_intervals], AgreementView.find(e.run)
    levels = [f" ({100 * line.confidence:.0f}%)" for line in view.lines if line.has_interval] if view else []
    return spaced(
        f"Rank intervals are simultaneous within a column{''.join(levels[:1])}." * bool(joint),
        f"{'Those' if joint else 'Rank intervals'} of {joined(single)} are per feature." * bool(single),
        f"≈: the method gives no interval ({joined(bare)})." * bool(bare),
    )


NAMED = 3  # features that a sentence names, of more it gives the number
PARTNERS = 2
# what other results show where two methods disagree, by the result that shows it
CAUSES: Mapping[str, str] = {
    ids.CID: "Partner features carry part of the same information, and one of the two methods leaves them unchanged",
    ids.H_STATISTIC: "The feature interacts with others, and one of the two methods counts the interaction whole",
    ids.RSENS_INTERACTION: "The feature interacts with others, and one of the two methods counts the interaction whole",
    ids.PFI: "The model is more confident on permuted values, which only one of the two methods uses",
    ids.ALE: "Partial dependence and accumulated local effect differ, and only one of the two methods extrapolates",
}
WHOLE = "R-sens describes the whole predictive distribution, not the uncertainty alone"
UNMOVED = "Adjustment for redundancy is not shown to change the importance of any feature."
MOVES = (
    (True, "Adjusted importance is larger, since partner features carry part of the same information"),
    (False, "Adjusted importance is smaller, since the effects of partner features overlap"),
)
UNKNOWN = "Rankings disagree without an explanation in this run; neither order is established"


def leads(columns: Sequence[RankingColumn]) -> str:
    """Say which features certainly lead which ranking, and which cannot be distinguished at its head.

    Ranks after adjustment for redundancy have their own sentence; what no feature changes has no leader, and an
    unreliable interval makes none.
    """
    ranked = [column for column in columns if column.has_intervals and column.ranks and column.source.id != ids.COVER]
    tested = [column for column in ranked if column.table[col.ESTIMATE].any()]
    if not tested:
        return "No method here has intervals on its ranks: their order is not tested."
    # the rankings, by the features that can be first in them
    heads: dict[str, list[str]] = {}
    ties: dict[str, dict[str, list[str]]] = {}  # by the size of the sample and what may lead: rankings without leader
    for column in tested:
        first = [line.feature for line in column.leaders]
        unreliable = any(line.unreliable for line in column.leaders)
        if len(first) == 1 and not unreliable:
            heads.setdefault(first[0], []).append(column.source.words)
        else:
            able = "an unreliable interval" if unreliable else _able(first)
            ties.setdefault(column.n, {}).setdefault(able, []).append(column.source.words)
    every = f"all {len(tested)} rankings that have intervals"
    texts = [
        f"{mention(first)} leads {every if len(words) == len(tested) > 1 else joined(words)}."
        for first, words in heads.items()
    ]
    for n, rankings in ties.items():
        words = [f"{joined(names)} ({able})" for able, names in rankings.items()]
        texts.append(f"Which feature leads {joined(words)} is inconclusive ({n}).")
    return spaced(*texts)


def _able(features: Sequence[str]) -> str:
    if len(features) > NAMED:
        return f"any of {len(features)}"
    return f"{', '.join(mentions(features[:-1]))} or {mention(features[-1])}"


class RankGap(NamedTuple):
    """A feature that one ranking places above where the other can: both have intervals, and these are apart."""

    feature: str
    high: RankingColumn
    low: RankingColumn


def partings(columns: Sequence[RankingColumn]) -> list[RankGap]:
    """Return where rankings of one question disagree beyond their intervals, widest first, adjusted ones left out."""
    tested = [column for column in columns if column.has_intervals and column.source.id != ids.COVER]
    cases = [
        RankGap(feature, high, low)
        for pair in combinations(tested, 2)
        if _question(pair[0]) == _question(pair[1]) and set(pair[0].features) == set(pair[1].features)
        for feature in pair[0].features
        for high, low in (pair, pair[::-1])
        if high.features[feature].last < low.features[feature].first
    ]
    # by the places between the two intervals
    return sorted(cases, key=lambda case: case.high.features[case.feature].last - case.low.features[case.feature].first)


def _question(column: RankingColumn) -> str:
    """Return the question of a ranking; one of the whole distribution is compared with the uncertainty."""
    return "uncertainty" if column.source.question == "distribution" else column.source.question


def contradictions(e: RunReader, columns: Sequence[RankingColumn]) -> list[str]:
    """Say where rankings of one question disagree, a sentence for each cause, widest first."""
    reasons, texts = _explained(e), []
    for cause, cases in by_key((_cause(case, reasons), case) for case in partings(columns)).items():
        parts = [_parted(feature, own) for feature, own in by_key((case.feature, case) for case in cases).items()]
        parts[NAMED:] = [f"{len(parts) - NAMED} more"] if len(parts) > NAMED else []
        texts.append(f"{cause}: {'; '.join(parts)}.")
    return texts


def _parted(feature: str, cases: Sequence[RankGap]) -> str:
    """Return the higher and the lower ranks of one feature."""
    sides = ([case.high for case in cases], [case.low for case in cases])
    high, low = (dict.fromkeys(f"{x.place(feature)} in {x.source.words}" for x in side) for side in sides)
    return f"{mention(feature)} ranks {joined(list(high))}, but {joined(list(low))}"


def _cause(case: RankGap, reasons: Mapping[tuple[str, frozenset[tuple[str, str]]], Sequence[str]]) -> str:
    """Return why two rankings disagree: another result shows it, or their objects differ, or it is unknown."""
    pair = frozenset((column.source.id, column.measure) for column in (case.high, case.low))
    unexplained = WHOLE if ids.RSENS in {case.high.source.id, case.low.source.id} else UNKNOWN
    return next((CAUSES[key] for key in reasons.get((case.feature, pair), ()) if key in CAUSES), unexplained)


def _explained(e: RunReader) -> dict[tuple[str, frozenset[tuple[str, str]]], Sequence[str]]:
    """Return the results that explain a disagreement, by its feature and its two rankings."""
    view = AgreementView.find(e.run)
    cases: Sequence[Mapping[str, Any]] = () if view is None else view.disagreements
    return {
        (str(case["feature"]), frozenset(zip(case["methods"], case["measures"], strict=True))): case["evidence"]
        for case in cases
        if case["explained"]
    }


def corrections(e: RunReader, columns: Sequence[RankingColumn]) -> str:
    """Say which ranks adjustment for redundancy changes, and because of which partner; or that it changes none."""
    view = CoverCorrected.find(e.run)
    if view is None or not view.lines:
        return ""
    if not any(view.partners.values()):
        return "No feature has partner features, so no importance is adjusted for redundancy."
    corrected = [column for column in columns if column.source.id == ids.COVER]
    texts = [f"{words}: {'; '.join(parts)}." for more, words in MOVES if (parts := _moves(view, corrected, more=more))]
    return " ".join(texts) or UNMOVED


def _moves(view: CoverCorrected, corrected: Sequence[RankingColumn], *, more: bool) -> list[str]:
    """Return by question the features whose importance adjustment increases, or decreases."""
    parts = []
    for column in corrected:
        here = [line for line in changed(view, column.measure) if (column.facts.sign * line.change > 0) is more]
        question = column.source.words.removesuffix(f" {CORRECTED}")
        parts += [f"in {question} {joined([_move(view, line) for line in here], NAMED + 1)}"] if here else []
    return parts


def _move(view: CoverCorrected, line: CoverCorrectedLine) -> str:
    partners = joined(mentions(view.partners.get(line.feature, ())), PARTNERS)
    rank = f"still rank {line.rank}" if line.rank == line.plain_rank else f"rank {line.plain_rank} to {line.rank}"
    return f"{mention(line.feature)} ({rank}, partner {partners})"


TITLE = "Drivers"
PAIR = ("nll", "entropy")
UNREPEATED = "No feature is shown to share information about the outcome with the others."
SENTENCES = 4
CASE = 5  # features with a bar of their own, of a single observation
SHARED = 6  # features with shared information, named
# readings of loss and stated uncertainty, in the order in which they are stated
READINGS: Mapping[str, str] = {
    views.HIDDEN: "Permuting increases the {loss} without increasing the stated uncertainty",
    views.LESS: "Permuting increases the {loss}, and the stated uncertainty by less",
    views.ALIKE: "Permuting increases the {loss} and the stated uncertainty alike",
    views.MORE: "Permuting increases the {loss}, and the stated uncertainty by more",
    views.CONFIDENT: "Permuting increases the {loss}, and the model becomes more confident",
    views.OPEN_RISE: "Permuting increases the {loss}; the change of the stated uncertainty is inconclusive",
    views.BETTER: "Permuting decreases the {loss}",
    views.CAREFUL: "Permuting increases the stated uncertainty, not the {loss}",
    views.BOLD: "Permuting makes the model more confident, without increasing the {loss}",
    views.INCONCLUSIVE: "Inconclusive",
    views.HARMLESS: "Permuting changes neither",
}
# the log loss rises, with the uncertainty in the first three
RISING = (views.ALIKE, views.LESS, views.MORE, views.HIDDEN, views.CONFIDENT, views.OPEN_RISE)


def drives(e: RunReader) -> Section:
    """Return the ranking of all features by all methods, what they agree on, the map and covered information."""
    columns = rankings(e)
    if not columns:
        return make_section("drives", TITLE, paragraphs("No importance was computed in this run."))
    words: tuple[Block, ...] = (*paragraphs(leads(columns)), *bullets(contradictions(e, columns)))
    blocks = (ranking_figure(e, columns), *words, *_swarm(e))
    return make_section("drives", TITLE, blocks, (_map(e), *_cover(e, columns)), (ids.AGREEMENT,))


def _swarm(e: RunReader) -> tuple[Block, ...]:
    """Return the Shapley values of single observations by feature; none without several of them."""
    view = Shap.find(e.run)
    if view is None or len(view.rows_used) < 2 or not len(view.result.frame):
        return ()
    measure = e.measure_of("prediction", view.result.frame[col.MEASURE]) or str(view.result.frame[col.MEASURE].iloc[0])
    background = view.background.get("rows")
    beside = f" against {background} background observations" if isinstance(background, int) else ""
    n = f"{len(view.rows_used)} of {e.subject.n} observations{beside}"
    caption = f"Shapley values of the prediction, a dot per observation ({n})."
    alt = (
        "A line per feature, those with the largest mean absolute Shapley value first; colour: the feature's own value."
    )
    figure = make_figure("drives-swarm", caption, alt, lambda: draw_swarm(view.result, measure), view.id)
    most = next(iter(view.rows.get("most uncertain", ())), None)
    uncertainty = e.measure_of("uncertainty", [line.measure for line in view.lines if line.row == most])
    if not uncertainty:
        return (figure,)
    caption = f"Shapley values of the {e.words(uncertainty).title} of the most uncertain observation ({most})."
    alt = "Contributions of the features to one observation, from the mean of the background sample to its own value."
    case = make_figure("drives-case", caption, alt, lambda: draw(view.result, uncertainty, most, top=CASE), view.id)
    return (figure, case)


def _map(e: RunReader) -> Section:
    """Return the likelihood-entropy map and its readings; without both measures, why there is none."""
    view, title = views.Pfi.find(e.run), "Loss and stated uncertainty"
    if view is None or not set(PAIR) <= set(view.measures):
        text = e.why_missing(views.Pfi.id) if view is None else _unmapped(e, view)
        return make_section("drives-map", title, paragraphs(text))
    axes = {measure: by_feature(of_measure(view.lines, measure)) for measure in PAIR}
    lacking = [feature for feature in axes["entropy"] if feature not in axes["nll"]]
    if lacking:
        names = joined(mentions(lacking))
        text = f"There is no map of loss and stated uncertainty: the log loss has no importance of {names}."
        return make_section("drives-map", title, paragraphs(text))
    readings = _readings(e, [line.feature for line in largest_first(axes["nll"].values())])
    finding = _finding(e, readings)
    up, across = (name(largest_first(axes[measure].values())[0].feature) for measure in PAIR)
    figure = make_figure(
        "drives-map-figure",
        finding,
        f"Scatter of {count(len(axes['nll']), 'feature')}. {finding} Farthest up {up}, farthest across {across}.",
        lambda: draw_map(view.result),
        view.id,
    )
    return make_section("drives-map", title, (figure, *_read(e, readings)))


def _unmapped(e: RunReader, view: views.Pfi) -> str:
    """Say which of the two importances is missing."""
    lacking = [words for words, x in zip(("the loss", "the uncertainty"), PAIR, strict=True) if x not in view.measures]
    why = "" if e.subject.has_y else ": no outcomes were given"
    return f"There is no map of loss and stated uncertainty: no importance for {joined(lacking)} was computed{why}."


def _readings(e: RunReader, order: Sequence[str]) -> dict[str, list[str]]:
    """Return the features of each reading, those that matter most for the loss first."""
    view = views.PfiReading.find(e.run)
    readings = {} if view is None else view.readings
    features = by_key((readings[feature], feature) for feature in order if feature in readings)
    return {reading: features[reading] for reading in dict.fromkeys((*READINGS, *features)) if reading in features}


def _finding(e: RunReader, readings: Mapping[str, Sequence[str]]) -> str:
    """Say of how many features permuting increases the log loss, and of how many of them the stated uncertainty."""
    single = {reading: set(features) - set(e.subject.groups) for reading, features in readings.items()}
    worse, seen = (sum(len(single.get(reading, ())) for reading in some) for some in (RISING, RISING[:3]))
    if not worse:
        return f"No feature is shown to increase the {e.log_score}." if readings else ""
    total = count(sum(map(len, single.values())), "feature")
    return (
        f"Permuting {worse} of {total} increases the {e.log_score}; for {seen or 'none'} of them the stated "
        "uncertainty is shown to increase too."
    )


def _read(e: RunReader, readings: Mapping[str, Sequence[str]]) -> tuple[Bullets, ...]:
    """Return at most four items, a sentence for each reading; the last readings share one."""
    texts = []
    for reading, features in readings.items():
        names = [f"{mention(feature)}{' (together)' * (feature in e.subject.groups)}" for feature in features]
        lead = READINGS.get(reading, sentence(reading).rstrip(".")).format(loss=e.log_score)
        texts.append(f"{lead}: {joined(names)}.")
    texts[SENTENCES - 1 :] = [" ".join(texts[SENTENCES - 1 :])] if len(texts) >= SENTENCES else []
    return bullets(texts)


def _cover(e: RunReader, columns: Sequence[RankingColumn]) -> tuple[Section, ...]:
    """Return what adjustment for redundancy changes, and which features share information."""
    moves, repeated = corrections(e, columns), _repeated(e)
    text = f"{moves} {repeated}".strip()
    behind = (ids.COVER, ids.CID)
    return (make_section("drives-cover", "Redundancy of features", paragraphs(text), (), behind),) if text else ()


def _repeated(e: RunReader) -> str:
    """Say which features share information with others, where the interval of covered information is above 0."""
    view = Cid.find(e.run)
    if view is None or not view.lines:
        return ""
    above = [line for line in view.lines if line.item == COVERED and line.lower > 0]
    if not above:
        return UNREPEATED
    shares = {line.feature: line.estimate for line in view.lines if line.item == SHARE}
    parts = [
        f"{mention(line.feature)}{f' {100 * share:.0f}%' if (share := shares.get(line.feature, 0.0)) > 0 else ''}"
        for line in largest_first(above)
    ]
    return (
        f"Share of a feature's information about the outcome that other features also carry: {joined(parts, SHARED)}."
    )
