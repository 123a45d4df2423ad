"""Results of a known explainer that no section has a place for: shown by their kind, so that nothing is lost."""

from __future__ import annotations

from collections.abc import Collection

from ..document import Section
from ..evidence import Evidence
from .by_kind import part


def extras(e: Evidence, explainer: str, known: Collection[str]) -> tuple[Section, ...]:
    """Return a part for each result of `explainer` whose id is not `known`."""
    return tuple(part(e, result) for result in e.of(explainer) if result.id not in known)
