"""How many outcomes lie outside intervals or label sets, against the share that may."""

from __future__ import annotations

from math import isnan, nan
from typing import NamedTuple

from ...core.numbers import share_words
from ...evidence.outcomes import ScoreLine

MISCOVERAGE = "miscoverage"


class Missed(NamedTuple):
    """By how much more rows than `stated` lie outside, with its 90 % interval; NaN without intervals or sets."""

    stated: float = nan
    excess: float = nan
    lower: float = nan
    upper: float = nan
    p_adjusted: float = nan

    @classmethod
    def of(cls, line: ScoreLine | None) -> Missed:
        """Return what a line of the calibration result says; nothing is known without one."""
        if line is None:
            return cls()
        may = line.null_mean
        return cls(may, line.estimate - may, line.lower_90 - may, line.upper_90 - may, line.p_adjusted)

    @property
    def known(self) -> bool:
        """Whether the model promises to hold outcomes at all."""
        return not isnan(self.excess)

    @property
    def words(self) -> str:
        """What is missed, and what may be."""
        share, lower, upper = (self.stated + part for part in (self.excess, self.lower, self.upper))
        return (
            f"{share_words(share, lower, upper, confidence=0.9)} of the outcomes lie outside what should hold all but "
            f"{share_words(self.stated)}"
        )
