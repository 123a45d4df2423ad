"""Waived findings with who answers for them, and every waiver that no longer holds or never did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Badge, Cell, Section
from ...document.evidence import Evidence, severity_badge
from ...document.text import clean, joined, name, sentence
from .rules import about

TITLE = "Waived findings and waivers"


def waivers(e: Evidence) -> Section | None:
    """Return what is waived and each waiver's state, or None where no waiver was given."""
    rows = [*_waived(e), *_idle(e)]
    if not rows:
        return None
    number = len(e.waived)
    caption = f"{count(number, 'finding')} waived on {clean(e.run.as_of, 20)}: somebody answers for it until a day."
    table = make_table("waivers-table", caption, ("finding", "severity", "feature", "waiver", "state"), rows)
    return Section(id="findings-waived", title=TITLE, blocks=(table,))


def _waived(e: Evidence) -> Iterator[tuple[Cell, ...]]:
    """Yield the findings under a waiver, with who answers for them, why and until when."""
    for one in e.waived:
        found = one.finding
        words = f"{name(one.waiver.owner)}, until {clean(one.waiver.expires, 20)}: {sentence(one.waiver.reason)}"
        title = f"{clean(found.code, 20)} {clean(found.title)}"
        state = Badge("holds", "neutral")
        yield title, severity_badge(found.severity), about(found.features), words, state


def _idle(e: Evidence) -> Iterator[tuple[Cell, ...]]:
    """Yield the waivers of the settings that hold for nothing, and why."""
    held = {(one.waiver.code, one.waiver.feature, one.waiver.expires) for one in e.waived}
    for given in e.listed("waivers"):
        if (given.get("code"), given.get("feature") or "", given.get("expires")) in held:
            continue
        until = f"{name(given.get('owner', ''))}, until {clean(given.get('expires', ''), 20)}"
        yield clean(given.get("code", ""), 20), "", name(given.get("feature") or "all"), until, _state(e, given)


def _state(e: Evidence, waiver: Mapping[str, Any]) -> Badge:
    """Say why a waiver holds for nothing; dates compare as text, ``YYYY-MM-DD``."""
    code, feature = waiver.get("code"), waiver.get("feature")
    if e.run.as_of <= str(waiver.get("expires", "")):
        return Badge("nothing to waive", "neutral")
    again = [f for f in e.findings if f.code == code and (not feature or f.features == (feature,))]
    words = ["expired", *([f"{count(len(again), 'finding')} open again"] if again else [])]
    return Badge(joined(words), "warning")
