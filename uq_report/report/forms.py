"""The names of the forms of a report: kinds of document, and how much stands behind an audit's front part."""

from __future__ import annotations

AUDIT, BRIEF, MODEL_CARD = "audit", "brief", "model-card"
NAMES = (AUDIT, BRIEF, MODEL_CARD)
NONE, SHORT, FULL = "none", "short", "full"
EXTENTS = (NONE, SHORT, FULL)
