"""The annex: rules, methods, settings and mapping for those who check, and in full every table beyond the front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..document.document import Section
from ..document.evidence import Evidence
from .placing import Placed
from .sections.data import data
from .sections.drivers import prediction, uncertainty_drivers
from .sections.mapping import mapping
from .sections.methods import methods
from .sections.model import model
from .sections.monitoring import monitoring
from .sections.references import references
from .sections.relations import relations
from .sections.reproducibility import reproducibility
from .sections.robustness import robustness
from .sections.soundness import soundness

NONE, SHORT, FULL = "none", "short", "full"
EXTENTS = (NONE, SHORT, FULL)


def annex(e: Evidence, placed: Placed, front: Sequence[Section], digest: str, extent: str) -> tuple[Section, ...]:
    """Return the annex of an extent: nothing, what a check of the document needs, or everything."""
    if extent == NONE:
        return ()
    by_method = _by_method(e, placed) if extent == FULL else ()
    again, cards = reproducibility(e, digest), methods(e)
    parts = (model(e), data(e, placed), *by_method, again, mapping(e, (*front, *by_method, again, cards)), cards)
    return tuple(replace(section, appendix=True) for section in (*parts, references((*front, *parts))))


def _by_method(e: Evidence, placed: Placed) -> tuple[Section, ...]:
    """Return the tables and figures of every method."""
    return (
        soundness(e, placed),
        prediction(e, placed),
        uncertainty_drivers(e, placed),
        relations(e, placed),
        robustness(placed),
        monitoring(e),
    )
