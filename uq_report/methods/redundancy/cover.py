"""By how much a feature costs more once its partners are lost too, from `evidence.importance.CoverCorrected`."""

from __future__ import annotations

from math import nan
from typing import NamedTuple

import numpy as np

from ...core.measures import NLL, NLL_CLIPPED
from ...core.numbers import number, spoken, value_words
from ...core.text import short
from ...core.verdicts import holm
from ...evidence.importance import CoverCorrected, CoverCorrectedLine
from ...evidence.view import of_measure
from ...rules.reading import listed, two_sided


class Covered(NamedTuple):
    """A feature with partners, and the adjusted p-value of corrected less plain importance beyond the margin."""

    line: CoverCorrectedLine
    partners: str
    p_value: float

    @property
    def observed(self) -> dict[str, float]:
        """What the rule judges."""
        line = self.line
        return {"p_adjusted": self.p_value, "beyond": line.change_lower - line.margin}

    @property
    def cleared(self) -> bool:
        """Whether the interval stays within the margin."""
        return not self.line.distrust and self.line.change_upper <= self.line.margin

    def numbers(self) -> str:
        """Return the feature with both importances, in short."""
        line = self.line
        return f"{short(line.feature)} ({number(line.plain, 2)} alone, {number(line.estimate, 2)} with {self.partners})"

    def sentences(self, unit: str) -> str:
        """Return what its wrong values cost alone, with its partners lost too, and the difference."""
        line = self.line
        more = value_words(line.change, line.change_lower, line.change_upper, unit, confidence=line.confidence)
        told = f" {spoken(unit)}".rstrip()
        return (
            f"Wrong values of {short(line.feature)} alone cost {number(line.plain, 2)}{told}; with those of "
            f"{self.partners} wrong too they cost {number(line.estimate, 2)}{told}, more by {more}"
        )


def judged_measure(view: CoverCorrected) -> str:
    """Return the likelihood measure, else the first loss, else the empty string."""
    losses = [
        name for name in view.measures if name in view.result.measures and view.result.measures[name].role == "loss"
    ]
    return next((one for one in (NLL.name, NLL_CLIPPED.name, *losses) if one in view.measures), "")


def covered(view: CoverCorrected, measure: str) -> list[Covered]:
    """Test every feature with partners: two-sided, Holm-adjusted over these features, largest change first."""
    lines = [line for line in of_measure(view.lines, measure) if view.partners.get(line.feature)]
    excess = np.array([line.change - line.margin for line in lines])
    errors = np.array([nan if line.distrust else line.change_std_error for line in lines])
    tested = two_sided(excess, errors, view.degrees_of_freedom)
    p_values = holm(np.where(excess > 0, tested, np.where(np.isnan(errors), np.nan, 1.0)))
    table = [
        Covered(line, listed(view.partners[line.feature]), p) for line, p in zip(lines, p_values.tolist(), strict=True)
    ]
    return sorted(table, key=lambda one: -one.line.change)
