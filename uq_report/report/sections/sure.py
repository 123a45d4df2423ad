"""How good the model is, and whether what it says of its uncertainty can be believed: scores, reliability, groups."""

from __future__ import annotations

from ...document.document import Section
from ...document.evidence import Evidence
from ..placing import Placed
from .outcomes import outcomes
from .uncertainty import uncertainty

TITLE = "How good, how sure"


def sure(e: Evidence, placed: Placed) -> Section:
    """Return scores, reliability and groups."""
    return Section(id="sure", title=TITLE, sections=(outcomes(e, placed), uncertainty(e, placed)))
