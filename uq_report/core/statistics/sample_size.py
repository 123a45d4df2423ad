"""Sample sizes at which an undecided rule would be decided, from a true value that is stated and never estimated.

An estimate that left a rule undecided lies near its limit by selection: a size computed from it is wrong by orders of
magnitude. So the true value is stated: 0 for equivalence, a difference from the limit otherwise. Only the variance is
taken from the sample, or from the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, inf, isfinite, log10, sqrt
from typing import NamedTuple

from scipy.special import ndtr, ndtri

from .inference import CONFIDENCE

POWER = 0.8
EQUIVALENCE = 0.05  # level of each of the two one-sided tests of equivalence, whatever the level of the intervals
DIGITS = 2  # of an advised size
RARE = 0.1  # below, a chance is named as such: the formula is exact for none so small


class SampleSize(NamedTuple):
    """How many observations decide a rule with 80% probability, and the chance that the present ones had.

    `given` is the stated true value, as a clause.

    Examples
    --------
    >>> SampleSize(280, equivalence(0.482**2, 0.05), equivalence_chance(280, 0.482**2, 0.05), "the model is calibrated")
    SampleSize(present=280, needed=795.8..., chance=0.072..., given='the model is calibrated')
    """

    present: int
    needed: float
    chance: float
    given: str = ""

    @property
    def rounded(self) -> int:
        """The advised size, rounded up to two digits."""
        unit = 10.0 ** max(floor(log10(self.needed)) + 1 - DIGITS, 0)
        return round(ceil(round(self.needed / unit, 6)) * unit)

    @property
    def words(self) -> str:
        """The advice as a phrase; a sample that was large enough is not asked for again.

        Examples
        --------
        >>> SampleSize(280, 795.8, 0.0725, "the model is calibrated").words
        'inconclusive (n = 280; about 800 observations give 80% power if the model is calibrated; the present sample
        had a chance below 10%)'
        >>> SampleSize(900, 795.8, 0.85).words
        'inconclusive (n = 900; the present sample had a chance of 85%)'
        """
        given = f" if {self.given}" if self.given else ""
        more = f"about {self.rounded:,} observations give {POWER:.0%} power{given}; " if self.is_larger else ""
        chance = f"below {RARE:.0%}" if self.chance < RARE else f"of {self.chance:.0%}"
        return f"inconclusive (n = {self.present:,}; {more}the present sample had a chance {chance})"

    @property
    def sentence(self) -> str:
        """The advice as a sentence."""
        words = self.words
        return f"{words[0].upper()}{words[1:]}."

    @property
    def is_larger(self) -> bool:
        """Whether more observations than the present ones are advised."""
        return self.needed > self.present


def equivalence(variance: float, tolerance: float, true: float = 0.0) -> float:
    """Return the n at which an estimate of this `variance` per observation is shown to lie within ±`tolerance`.

    For a `true` value of 0 both tests must succeed, ``(z_0.95 + z_0.90)² s²/δ²``; for another one the nearer end
    decides, ``(z_0.95 + z_0.80)² s²/(δ - |true|)²``.

    Examples
    --------
    >>> ceil(equivalence(0.482**2, 0.05)), ceil(equivalence(0.482**2, 0.05, 0.025))
    (796, 2299)
    """
    tail = 1 - (1 - POWER) / (1 if true else 2)
    return float(ndtri(1 - EQUIVALENCE) + ndtri(tail)) ** 2 * variance / (tolerance - abs(true)) ** 2


def equivalence_chance(n: int, variance: float, tolerance: float) -> float:
    """Return the probability that `n` observations show a true 0 to lie within ±`tolerance`.

    Examples
    --------
    >>> round(equivalence_chance(280, 0.482**2, 0.05), 4), equivalence_chance(250, 0.482**2, 0.05)
    (0.0725, 0.0)
    """
    return max(0.0, 2 * float(ndtr(tolerance * sqrt(n / variance) + ndtri(EQUIVALENCE))) - 1)


def within(n: int, variance: float, tolerance: float, given: str = "") -> SampleSize | None:
    """Return the size for equivalence at a true 0; None where there is no variance or tolerance to compute it from.

    Examples
    --------
    >>> within(250, 0.0, 0.05), within(250, float("nan"), 0.05)
    (None, None)
    """
    if not (n > 0 and 0 < variance < inf and 0 < tolerance < inf):
        return None
    return SampleSize(n, equivalence(variance, tolerance), equivalence_chance(n, variance, tolerance), given)


def beyond(
    n: int, std_error: float, difference: float, given: str = "", *, confidence: float = CONFIDENCE, tests: int = 1
) -> SampleSize | None:
    """Return the size at which a limit that the truth differs from by `difference` is excluded by the interval.

    ``N = (z_{1 - α/(2 tests)} + z_0.80)² n se²/Δ²``; `tests` are those of a family that Holm's method adjusts. None
    where there is no error to compute it from.

    Examples
    --------
    >>> round(beyond(100, 1.0, 1.0).needed / 100, 6)
    7.84888
    >>> beyond(100, 0.0, 1.0)
    """
    if not (n > 0 and 0 < std_error < inf and 0 < difference < inf):
        return None
    level = float(ndtri(1 - (1 - confidence) / (2 * tests)))
    needed = float(level + ndtri(POWER)) ** 2 * n * (std_error / difference) ** 2
    return SampleSize(n, needed, float(ndtr(difference / std_error - level)), given)


def largest(sizes: Iterable[SampleSize | None]) -> SampleSize | None:
    """Return the largest of the known sizes; None for none."""
    known = [size for size in sizes if size is not None and isfinite(size.needed)]
    return max(known, key=lambda size: size.needed, default=None)
