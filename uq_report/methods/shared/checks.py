"""What checks of several methods share: events of a class, and lines of evidence in words."""

from collections.abc import Sequence
from math import ceil, inf, isnan
from typing import Any, Final

from ...core.support.numbers import value_words
from ...core.support.text import count
from ...evidence.comparisons import ComparisonLine, Comparisons
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import EstimateLine

LEAST_UNITS: Final = 20  # observations, clusters or blocks, from which calibration is judged
LEAST: Final = 10.0  # rows outside the most frequent class; with fewer no interval on a class is to be trusted


def class_counts(run: Run) -> tuple[int, ...]:
    """Return the audited rows of each class; none where the outcomes are no classes."""
    return SubjectFacts.of(run).class_counts


def events(counts: Sequence[int]) -> float:
    """Return the rows outside the most frequent class, of two classes those of the rarer; infinite without classes."""
    return float(sum(counts) - max(counts)) if counts else inf


def too_few(counts: Sequence[int], least: float = LEAST) -> str:
    """Say that there are fewer than `least` events and how many rows would do; empty if there are enough.

    Examples
    --------
    >>> too_few([196, 4])
    '4 observations outside the most frequent class are too few: 10 are needed, in about 500 similar observations'
    >>> too_few([200, 0]), too_few([190, 10])
    ('the test sample has one class only: 10 observations of another are needed', '')
    """
    n = events(counts)
    if n >= least:
        return ""
    if not n:
        return f"the test sample has one class only: {least:g} observations of another are needed"
    verb = "is" if n == 1 else "are"
    rows = f"{ceil(least * sum(counts) / n)} similar observations"
    few = f"{count(int(n), 'observation')} outside the most frequent class {verb} too few"
    return f"{few}: {least:g} are needed, in about {rows}"


def wrong_level(run: Run) -> ComparisonLine | None:
    """Return the class whose probabilities are wrong on average, which explains errors of segments and features."""
    view = Comparisons.find(run)
    return None if view is None else view.wrong_level


def about(of: EstimateLine | tuple[float, float, float], *evidence: str, **fields: Any) -> dict[str, Any]:
    """Return what a finding records of a line, or of an estimate and its interval: evidence, numbers, further fields.

    Examples
    --------
    >>> about((0.2, float("nan"), float("nan")), "demo", threshold=0.1)
    {'evidence': ('demo',), 'observed': 0.2, 'lower': None, 'upper': None, 'threshold': 0.1}
    """
    numbers = of if isinstance(of, tuple) else (of.estimate, of.lower, of.upper)
    return {"evidence": evidence, **span(*numbers), **fields}


def span(estimate: float, lower: float, upper: float) -> dict[str, float | None]:
    """Return an observed value and the ends of its interval, None where there is none."""
    return {"observed": estimate, "lower": None if isnan(lower) else lower, "upper": None if isnan(upper) else upper}


def line_words(line: EstimateLine, unit: str = "", confidence: float | None = None) -> str:
    """Return an estimate with its interval."""
    return value_words(line.estimate, line.lower, line.upper, unit, confidence=confidence)
