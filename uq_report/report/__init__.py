"""A run becomes a document."""

AUDIT, BRIEF, MODEL_CARD = "audit", "brief", "model-card"
NAMES = (AUDIT, BRIEF, MODEL_CARD)
NONE, SHORT, FULL = "none", "short", "full"
EXTENTS = (NONE, SHORT, FULL)
