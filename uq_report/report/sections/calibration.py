"""How good the model is, and whether what it says of its uncertainty is calibrated: scores, claims, who is affected.

The claims: what the model says its features are worth, next to what unseen rows confirm.
"""

from __future__ import annotations

from math import isfinite

from ...document.blocks import make_table, paragraphs
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.plots.frames import interval_words
from ...document.text import clean, joined, mentions, name, value_words
from ...evidence import ids
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims
from ...evidence.segments import SegmentFeatures, SegmentLine, SegmentsView
from ...evidence.view import by_feature, largest_first
from ...reading.run_reader import RunReader
from ...reading.sentences import mark, unreliable_words
from .groups import affected
from .outcomes import scores
from .uncertainty import believed

TITLE = "How good, how sure"
MOST = 5  # features in the table of claims
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
    parts = (scores(e), believed(e), claimed(e), unsure(e), affected(e))
    return Section(id="sure", title=TITLE, blocks=_intervals(e), sections=tuple(filter(None, parts)))


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
    return Section(id="sure-claims", title="Does the model know what it claims to know?", blocks=blocks)


def _apart(view: Claims) -> str:
    """Name the features that are shown to be worth less, or more, than the model claims."""
    decisive = [x for x in view.part(DIFFERENCE) if x.feature != ALL_FEATURES and x.has_interval and not x.unreliable]
    less = [x.feature for x in largest_first(decisive) if x.lower > view.margin]
    more = [x.feature for x in largest_first(decisive, -1) if x.upper < -view.margin]
    sides = (("less", less), ("more", more))
    texts = [f"{word} than claimed of {joined(mentions(features), MOST)}" for word, features in sides if features]
    return f" They confirm {joined(texts)}." if texts else ""


def _table(e: RunReader, view: Claims) -> Table:
    """Return the largest claims and that of all features together."""
    confirmed, difference = (by_feature(view.part(item)) for item in (DELIVERED, DIFFERENCE))
    unit = e.words(view.measures[0], view.result).unit
    ordered = largest_first(view.part(CLAIMED))
    lines = [x for x in ordered if x.feature != ALL_FEATURES][:MOST]
    lines += [x for x in ordered if x.feature == ALL_FEATURES]
    rows = [
        (name(x.feature), _words(x), _words(confirmed.get(x.feature)), _share(view, x, difference.get(x.feature)))
        for x in lines
    ]
    columns = [Column("feature"), Column("claimed", unit=unit), Column("confirmed", unit=unit), Column("share of it")]
    pairs = (x for line in lines for x in (line, confirmed.get(line.feature)) if x is not None)
    note = unreliable_words(line.unreliable for line in pairs)
    return make_table("sure-claims-table", "The largest claims.", columns, rows, evidence=view.id, note=note)


def _words(line: ClaimLine | None) -> str:
    return "" if line is None else value_words(line.estimate, line.lower, line.upper) + mark(line)


def _share(view: Claims, claim: ClaimLine, difference: ClaimLine | None) -> str:
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
    return Section(id="sure-segments", title=SEGMENTS_TITLE, blocks=blocks)


def _segment(view: SegmentsView, key: str, features: SegmentFeatures | None) -> tuple[str | int, ...]:
    lines = view.of(key)
    first = next(iter(lines.values()))
    closest = None if features is None else features.leading(key, first.grown)
    means = (_mean(lines.get(measure)) for measure in view.measures)
    return (clean(first.item), first.n, *means, "" if closest is None else name(closest.feature))


def _mean(line: SegmentLine | None) -> str:
    return "" if line is None else value_words(line.estimate, line.lower, line.upper)
