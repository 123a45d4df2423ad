"""What the model claims its features to be worth, beside what unseen rows confirm."""

from __future__ import annotations

from math import isfinite

from ...document.blocks import make_table
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.evidence import Evidence
from ...document.telling import distrusted, mark
from ...document.text import joined, mentions, name, value_words
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims
from ...evidence.view import by_feature, largest_first

TITLE = "Does the model know what it claims to know?"
MOST = 5  # features in the table
LEAD = (
    "If a feature's values were wrong, the model expects its loss to rise by what it claims; the outcomes of unseen "
    "rows confirm that or not."
)


def claimed(e: Evidence) -> Section | None:
    """Return the leading claims beside what is confirmed, or that nothing shows it; None where none was computed."""
    view = Claims.find(e.run)
    if view is None or not view.part(CLAIMED):
        return None
    blocks: tuple[Block, ...] = (Paragraph(text=f"{LEAD}{_apart(view)}"), _table(e, view))
    if not view.part(DELIVERED):
        blocks = (Paragraph(text="Without outcomes nothing shows whether unseen rows confirm what the model claims."),)
    return Section(id="sure-claims", title=TITLE, blocks=blocks)


def _apart(view: Claims) -> str:
    """Name the features that are shown to be worth less, or more, than the model claims."""
    judged = [x for x in view.part(DIFFERENCE) if x.feature != ALL_FEATURES and x.has_interval and not x.distrust]
    less = [x.feature for x in largest_first(judged) if x.lower > view.margin]
    more = [x.feature for x in largest_first(judged, -1) if x.upper < -view.margin]
    told = [f"less than claimed of {joined(mentions(less), MOST)}"] * bool(less)
    told += [f"more than claimed of {joined(mentions(more), MOST)}"] * bool(more)
    return f" They confirm {joined(told)}." if told else ""


def _table(e: Evidence, view: Claims) -> Table:
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
    shown = [x for one in lines for x in (one, confirmed.get(one.feature)) if x is not None]
    note = distrusted(line.distrust for line in shown)
    return make_table("sure-claims-table", "The largest claims.", columns, rows, evidence=view.id, note=note)


def _words(line: ClaimLine | None) -> str:
    return "" if line is None else value_words(line.estimate, line.lower, line.upper) + mark(line)


def _share(view: Claims, claim: ClaimLine, difference: ClaimLine | None) -> str:
    """Return the confirmed share; none of next to nothing, or where its interval is in doubt."""
    if (
        difference is None
        or claim.estimate < view.margin
        or difference.distrust
        or not isfinite(difference.share_lower)
    ):
        return ""
    share, lower, upper = (100 * x for x in (difference.share, difference.share_lower, difference.share_upper))
    return value_words(share, lower, upper, "%")
