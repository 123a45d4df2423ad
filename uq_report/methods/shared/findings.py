"""The numbers of a line of evidence in a finding, and in its words."""

from __future__ import annotations

from typing import Any

from ...core.numbers import value_words
from ...evidence.view import Estimate


def numbers_of(line: Estimate) -> dict[str, Any]:
    """Return the fields of a finding that hold what was observed."""
    return {"observed": line.estimate, "lower": line.lower, "upper": line.upper}


def line_words(line: Estimate, unit: str = "", confidence: float | None = None) -> str:
    """Return an estimate with its interval."""
    return value_words(line.estimate, line.lower, line.upper, unit, confidence=confidence)
