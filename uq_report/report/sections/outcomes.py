"""How good the model is on unseen rows: scores, decisions, claims against what is confirmed, segments that differ."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ...core.support.numbers import unit_phrase
from ...core.support.text import count
from ...document.blocks import intervals_caption, left_out, make_section, make_table, notes_of, paragraphs
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.plots.frames import interval_words
from ...document.text import clean, joined, mentions, name, value_words
from ...evidence import ids
from ...evidence.comparisons import Comparisons
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims
from ...evidence.outcomes import LOG_SCORE, CalibrationView, DecisionLine, Decisions, ScoreLine
from ...evidence.segments import SegmentFeatures, SegmentsView
from ...evidence.view import by_feature, largest_first
from ...reading.run_reader import RunReader
from ...reading.sentences import amount, estimate_words, is_share, mark, share, unreliable_words
from ...reading.tables import plain_table
from ..placing import PluginSections
from .comparisons import comparison_words
from .groups import affected
from .uncertainty import believed, item_words, scores_table
from .usefulness import useful

COUNTED = 6  # classes up to which the table counts every pair
MOST = 8  # classes in the table of the front part
BASELINE, SKILL = "_baseline", "_skill"
# the first with a skill is shown on page 1
SCORE_NAMES = {LOG_SCORE: "log score", "brier": "Brier score", "crps": "CRPS", "interval_score": "interval score"}
TITLES = {
    "log_score": "log score (surprise at the outcome; lower is better)",
    "brier": "Brier score (lower is better)",
    "accuracy": "right decisions",
    "roc_auc": "area under the ROC curve (how well it orders rows)",
    "crps": "CRPS (distance to the outcome; lower is better)",
    "interval_score": "interval score (width and misses; lower is better)",
    "mean_error": "outcome less prediction, mean",
    "squared_error": "mean squared error (lower is better)",
    "r2": "coefficient of determination, R² (share of the variance explained)",
}
RATES = {"recall": "found", "precision": "right where decided so"}
SHORT = {**SCORE_NAMES, "nll": SCORE_NAMES[LOG_SCORE]}


def scores(e: RunReader) -> Section:
    """Return what the model's predictions are worth on unseen rows, and what it decides."""
    view = CalibrationView.find(e.run)
    blocks: tuple[Block, ...] = paragraphs(e.why_missing(CalibrationView.id))
    if view is not None:
        blocks = (*paragraphs(_skill(e, view.lines)), _scores(view), *_decisions(e), *paragraphs(*comparison_words(e)))
    return make_section("sure-scores", "How good is it?", blocks)


def _scores(view: CalibrationView) -> Table:
    """Return a line for each score of the prediction, beside that of the forecast without features."""
    lines = {line.item: line for line in view.lines if not line.judges_uncertainty}
    own = [item for item in lines if not item.endswith((BASELINE, SKILL))]
    heads = {"": "model", BASELINE: "without features", SKILL: "better by"}
    ends = [*heads] if any(f"{item}{SKILL}" in lines for item in own) else [""]
    rows = [(_score(lines[item]), *(_cell(lines.get(f"{item}{end}")) for end in ends)) for item in own]
    columns = ["score", *(heads[end] for end in ends)]
    return make_table("sure-scores-table", f"Scores on {count(view.n, 'unseen row')}.", columns, rows, evidence=view.id)


def _score(line: ScoreLine) -> str:
    """Return a score's name, with the unit that a cell leaves out."""
    title = TITLES.get(line.item, item_words(line))
    left_out = " " in line.unit and not unit_phrase(line.unit) and not is_share(line.unit)
    return f"{title}, {name(line.unit)}" if left_out else title


def _cell(line: ScoreLine | None) -> str:
    if line is None:
        return ""
    if line.item in ("roc_auc", "r2"):  # shares that nobody reads in percent
        return estimate_words(line)
    return amount(line)


def _skill(e: RunReader, lines: Sequence[ScoreLine]) -> str:
    """Say whether the model beats the forecast without features, as far as the intervals tell."""
    sides: dict[str, list[str]] = {}
    for line in lines:
        if line.is_skill:
            side = "better than" if line.lower > 0 else "worse than" if line.upper < 0 else "not told apart from"
            item = line.item.removesuffix(SKILL)
            sides.setdefault(side, []).append(f"the {SHORT.get(item, item.replace('_', ' '))}")
    if not sides:
        return ""
    other = "the class frequencies" if e.subject.classes is not None else "the distribution of past outcomes"
    parts = [f"{side} {other} by {joined(items)}" for side, items in sides.items()]
    return f"Its predictions are {joined(parts)}."


def _decisions(e: RunReader) -> tuple[Block, ...]:
    """Return each class with its counts, the share found, and how often the decision for it is right."""
    view = Decisions.find(e.run)
    if view is None:
        return ()
    labels = [str(label) for label in view.classes]
    counted = labels if len(labels) <= COUNTED and view.counts else []
    by_decision = {k: row[: len(labels)] for k, row in enumerate(view.counts)}
    counts = by_decision if counted else {k: (_rows(view, label),) for k, label in enumerate(labels)}
    rows = [
        (name(label), *counts.get(k, ()), *(_share(view.of_class(label).get(x)) for x in RATES))
        for k, label in _least_recalled(view, labels)
    ]
    heads = [f"decided {name(label)}" for label in counted] or ["rows"]
    columns: list[Column | str] = ["class", *(Column(head, "integer") for head in heads), *RATES.values()]
    least = f" The {len(rows)} of {len(labels)} classes that are found least, by the upper end."
    which = "" if len(rows) == len(labels) else least
    caption = f"Rows of each class by decision: {clean(view.rule)}.{which}"
    return (make_table("sure-decisions", caption, columns, rows, evidence=view.id),)


def _least_recalled(view: Decisions, labels: Sequence[str]) -> list[tuple[int, str]]:
    """Return the classes with their places; of many those that are found least, by the upper end of the interval."""
    placed = [*enumerate(labels)]
    recalls = {line.label: (line.upper, line.estimate) for line in view.lines if line.item == "recall"}
    return placed if len(placed) <= MOST else sorted(placed, key=lambda place: recalls.get(place[1], (1.0, 1.0)))[:MOST]


def _rows(view: Decisions, label: str) -> int:
    """Return the rows of a class."""
    line = view.of_class(label).get("recall")
    return 0 if line is None else line.n


def _share(line: DecisionLine | None) -> str:
    return "" if line is None else share(line)


def outcomes_in_full(e: RunReader, placed: PluginSections) -> Section:
    """Return every score as recorded, and what stands in the chapters on outcomes and on the uncertainty's quality."""
    view = CalibrationView.find(e.run)
    blocks: tuple[Block, ...] = paragraphs(e.why_missing(CalibrationView.id))
    if view is not None:
        lines = [line for line in view.lines if not line.judges_uncertainty]
        table = scores_table(view, lines, "scores-table", "Scores on the audited rows.")
        blocks = (table, *left_out(view.result), *_compared(e))
    sections = (*placed.chapter("outcomes"), *placed.chapter("uncertainty-quality"))
    return make_section("outcomes", "Outcomes in full", blocks, sections)


def _compared(e: RunReader) -> tuple[Block, ...]:
    """Return the comparisons with simple references as numbers."""
    view = Comparisons.find(e.run)
    if view is None or not view.lines:
        return ()
    caption = f"The predictions against simple references. {intervals_caption(view.result.estimates)}"
    note = notes_of(view.result)
    table = plain_table(view.result.estimates, "comparisons-table", caption, view.id, note)
    return (table, *left_out(view.result))


CLAIMS_SHOWN = 5  # features in the table of claims
CLAIMS = (
    "If a feature's values were wrong, the model expects its loss to rise by what it claims; the outcomes of unseen "
    "rows confirm that or not."
)
SEGMENTS_TITLE = "Where is it unsure or wrong?"
SEGMENTS_SHOWN = 4  # segments in the front part
NO_SEGMENT = (
    "No segment of rows that a small tree sets apart is shown to be less sure, or more wrong, than the others on rows "
    "that the tree has not seen."
)


def sure(e: RunReader) -> Section:
    """Return scores and decisions, reliability, claims, segments of high uncertainty, and who is affected."""
    parts = (scores(e), believed(e), useful(e), claimed(e), unsure(e), affected(e))
    return make_section("sure", "How good, how sure", _intervals(e), tuple(filter(None, parts)))


def _intervals(e: RunReader) -> tuple[Paragraph, ...]:
    """Say once which intervals stand in brackets."""
    results = map(e.find, (ids.CALIBRATION, ids.CALIBRATION_DECISIONS, ids.PFI_CLAIMS, ids.SEGMENTS, ids.GROUPS))
    kinds = [*filter(None, dict.fromkeys(interval_words(r.estimates) for r in results if r is not None))]
    return paragraphs(f"In brackets stands the {joined(kinds)}." if kinds else "")


def claimed(e: RunReader) -> Section | None:
    """Return the leading claims beside what is confirmed, or that nothing shows it; None where none was computed."""
    view = Claims.find(e.run)
    if view is None or not view.part(CLAIMED):
        return None
    blocks: tuple[Block, ...] = (*paragraphs(f"{CLAIMS}{_apart(view)}"), _table(e, view))
    if not view.part(DELIVERED):
        blocks = paragraphs("Without outcomes nothing shows whether unseen rows confirm what the model claims.")
    return make_section("sure-claims", "Does the model know what it claims to know?", blocks)


def _apart(view: Claims) -> str:
    """Name the features that are shown to be worth less, or more, than the model claims."""
    decisive = [x for x in view.part(DIFFERENCE) if x.feature != ALL_FEATURES and x.has_interval and not x.unreliable]
    less = [x.feature for x in largest_first(decisive) if x.lower > view.margin]
    more = [x.feature for x in largest_first(decisive, -1) if x.upper < -view.margin]
    sides = (("less", less), ("more", more))
    texts = [
        f"{word} than claimed of {joined(mentions(features), CLAIMS_SHOWN)}" for word, features in sides if features
    ]
    return f" They confirm {joined(texts)}." if texts else ""


def _table(e: RunReader, view: Claims) -> Table:
    """Return the largest claims and that of all features together."""
    confirmed, difference = (by_feature(view.part(item)) for item in (DELIVERED, DIFFERENCE))
    unit = e.words(view.measures[0], view.result).unit
    ordered = largest_first(view.part(CLAIMED))
    lines = [x for x in ordered if x.feature != ALL_FEATURES][:CLAIMS_SHOWN]
    lines += [x for x in ordered if x.feature == ALL_FEATURES]
    rows = []
    for x in lines:
        amounts = [estimate_words(each) + mark(each) for each in (x, confirmed.get(x.feature))]
        rows.append((name(x.feature), *amounts, _confirmed_share(view, x, difference.get(x.feature))))
    columns = [Column("feature"), Column("claimed", unit=unit), Column("confirmed", unit=unit), Column("share of it")]
    pairs = (x for line in lines for x in (line, confirmed.get(line.feature)) if x is not None)
    note = unreliable_words(line.unreliable for line in pairs)
    return make_table("sure-claims-table", "The largest claims.", columns, rows, evidence=view.id, note=note)


def _confirmed_share(view: Claims, claim: ClaimLine, difference: ClaimLine | None) -> str:
    """Return the confirmed share; none of next to nothing, or where its interval is in doubt."""
    tiny = claim.estimate < view.margin
    if tiny or difference is None or difference.unreliable or not isfinite(difference.share_lower):
        return ""
    share, lower, upper = (100 * x for x in (difference.share, difference.share_lower, difference.share_upper))
    return value_words(share, lower, upper, "%")


def unsure(e: RunReader) -> Section | None:
    """Return the leading segments with their uncertainty and loss; None where none were looked for."""
    view = SegmentsView.find(e.run)
    if view is None or not view.lines:
        return None
    keys = view.raised(1)[:SEGMENTS_SHOWN]
    blocks: tuple[Block, ...] = paragraphs(NO_SEGMENT)
    if keys:
        titles = [e.words(measure, view.result).title for measure in view.measures]
        columns: list[Column | str] = ["rows where", Column("rows", "integer"), *titles]
        columns.append("brought closest by exchanging")
        rows = [_segment(view, key, SegmentFeatures.find(e.run)) for key in keys]
        caption = "Segments of rows that stand out, on rows that did not make them."
        blocks = (make_table("sure-segments-table", caption, columns, rows, evidence=view.id),)
    return make_section("sure-segments", SEGMENTS_TITLE, blocks)


def _segment(view: SegmentsView, key: str, features: SegmentFeatures | None) -> tuple[str | int, ...]:
    lines = view.of(key)
    first = next(iter(lines.values()))
    closest = None if features is None else features.leading(key, first.grown)
    means = (estimate_words(lines.get(measure)) for measure in view.measures)
    return (clean(first.item), first.n, *means, "" if closest is None else name(closest.feature))
