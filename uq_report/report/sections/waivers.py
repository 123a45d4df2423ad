"""Waived findings with who answers for them, and every waiver that no longer holds or never did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Badge, Block, Paragraph, Section
from ...document.evidence import Evidence, severity_badge
from ...document.text import clean, items, joined, name, sentence

TITLE = "Waived findings and waivers"


def waivers(e: Evidence) -> Section | None:
    """Return what is waived and each waiver's state, or None where no waiver was given."""
    given = e.listed("waivers")
    if not given and not e.waived:
        return None
    blocks: list[Block] = [_waived(e)] if e.waived else [Paragraph(text="No finding is waived on this date.")]
    return Section(id="findings-waived", title=TITLE, blocks=(*blocks, *_given(e, given)))


def _waived(e: Evidence) -> Block:
    columns = ("code", "severity", "finding", "owner", "reason", "until")
    rows = [
        (
            one.finding.code,
            severity_badge(one.finding.severity),
            f"{sentence(one.finding.title)} {sentence(one.finding.statement)}",
            name(one.waiver.owner),
            sentence(one.waiver.reason),
            clean(one.waiver.expires, 20),
        )
        for one in e.waived
    ]
    caption = f"{count(len(rows), 'finding')} that somebody answers for until a day; none of them is open."
    return make_table("findings-waived-table", caption, columns, rows)


def _given(e: Evidence, given: tuple[Mapping[str, Any], ...]) -> list[Block]:
    """Return every waiver of the settings, expired ones said so."""
    if not given:
        return []
    columns = ("code", "feature", "owner", "until", "state")
    rows = [
        (
            clean(one.get("code", ""), 20),
            name(one.get("feature") or "all"),
            name(one.get("owner", "")),
            clean(one.get("expires", ""), 20),
            _state(e, one),
        )
        for one in given
    ]
    expired = [str(row[0]) for row, one in zip(rows, given, strict=True) if _is_expired(e, one)]
    text = f"Expired: {count(len(expired), 'waiver')}, of {joined(items(expired))}." if expired else ""
    table = make_table("findings-waivers", f"Waivers in the settings, on {clean(e.run.as_of, 20)}.", columns, rows)
    return [*([Paragraph(text=text)] if text else []), table]


def _is_expired(e: Evidence, waiver: Mapping[str, Any]) -> bool:
    return e.run.as_of > str(waiver.get("expires", ""))


def _state(e: Evidence, waiver: Mapping[str, Any]) -> Badge:
    """Say whether a waiver holds, and for how many findings; dates compare as text, ``YYYY-MM-DD``."""
    code, feature = waiver.get("code"), waiver.get("feature")
    key = (code, feature or "", waiver.get("expires"))
    holds = sum((one.waiver.code, one.waiver.feature, one.waiver.expires) == key for one in e.waived)
    if holds:
        return Badge(f"holds for {count(holds, 'finding')}", "neutral")
    still_open = sum(f.code == code and (not feature or f.features == (feature,)) for f in e.findings)
    if _is_expired(e, waiver):
        return Badge(f"expired; {count(still_open, 'finding')} open again" if still_open else "expired", "warning")
    return Badge("nothing to waive", "neutral")
