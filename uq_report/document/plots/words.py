"""How measures are written on axes and in sentences; numbers are those of `core.numbers`."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.model.results import MeasureFacts
from ...core.support.numbers import number, signed

__all__ = ["axis_label", "number", "signed", "words"]


def words(measure: str, measures: Mapping[str, MeasureFacts]) -> MeasureFacts:
    """Return what the result records of a measure, else its name without a unit.

    Examples
    --------
    >>> words("rank_loss", {})
    MeasureFacts(title='rank loss', unit='', role='', direction='larger')
    """
    return measures.get(measure) or MeasureFacts(measure.replace("_", " "), "", "")


def axis_label(measure: str, measures: Mapping[str, MeasureFacts]) -> str:
    """Return ``"title (unit)"`` for an axis, ``"title (of it), unit"`` where the title has brackets of its own."""
    facts = words(measure, measures)
    if not facts.unit:
        return facts.title
    return f"{facts.title}, {facts.unit}" if facts.title.endswith(")") else f"{facts.title} ({facts.unit})"
