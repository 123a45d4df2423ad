"""From an estimate and its standard error to an interval and one of four words.

Sample sizes at which an undecided rule would be decided, from a true value that is stated and never estimated.

An estimate that left a rule undecided lies near its limit by selection: a size computed from it is wrong by orders of
magnitude. So the true value is stated: 0 for equivalence, a difference from the limit otherwise. Only the variance is
taken from the sample, or from the model.
"""

import math
from collections.abc import Iterable
from math import ceil, floor, inf, isfinite, log10, nan, sqrt
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from ..support.arrays import AnyArray, FloatArray, IntArray
from .inference import CONFIDENCE, unit_sums

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


Verdict = Literal["positive", "negative", "about 0", "undetermined"]


class Judgement(NamedTuple):
    """An estimate judged: its interval, the verdict, and the sample size that would decide (NaN if it is decided)."""

    lower: float
    upper: float
    verdict: Verdict
    n_needed: float


def judge(estimate: float, se: float, df: float, margin: float, *, n: int, confidence: float = CONFIDENCE) -> Judgement:
    """Judge whether an estimate is positive, negative, about 0 or undetermined.

    *About 0* if the t interval of 90% lies inside (-margin, margin), that is, if two one-sided tests at
    level 0.05 say so (Schuirmann 1987, doi:10.1007/BF01068419); else *positive* or *negative* if the interval
    of level `confidence` excludes 0; else *undetermined*, with the n at which a true 0 is called "about 0" in
    80% of samples, ``n (z_{0.95} + z_{0.9})² se² / margin²``.
    An unknown `se` (NaN) leaves everything undetermined.

    Examples
    --------
    >>> judge(0.002, 0.003, 999, 0.01, n=1000).verdict
    'about 0'
    >>> judge(0.002, 0.008, 199, 0.01, n=200)
    Judgement(lower=-0.013..., upper=0.017..., verdict='undetermined', n_needed=1097.0)
    """
    if math.isnan(se):
        return Judgement(math.nan, math.nan, "undetermined", math.nan)
    outer, inner = (float(stdtrit(df, 1 - tail)) * se for tail in ((1 - confidence) / 2, EQUIVALENCE))
    lower, upper = estimate - outer, estimate + outer
    if abs(estimate) + inner < margin:
        return Judgement(lower, upper, "about 0", math.nan)
    if lower > 0 or upper < 0:
        return Judgement(lower, upper, "positive" if lower > 0 else "negative", math.nan)
    needed = float(math.ceil(equivalence(n * se**2, margin))) if margin > 0 else math.nan
    return Judgement(lower, upper, "undetermined", needed)


def permutation_p_value(values: FloatArray) -> float:
    """Return the one-sided p-value ``(1 + #{values <= 0}) / (m + 1)`` of m shuffles against a positive importance.

    Exact where the unshuffled mean is exchangeable with the shuffled ones, that is, where the feature is
    independent of everything the measure looks at.

    Examples
    --------
    >>> import numpy as np
    >>> permutation_p_value(np.array([0.2, 0.1, 0.3]))
    0.25
    """
    return float((1 + (values <= 0).sum()) / (len(values) + 1))


def one_sided(excess: float, std_error: float, df: float) -> float:
    """Return the p-value of a t test that the excess is positive; 0 or 1 where it is exact."""
    return float(not excess > 0) if std_error == 0 else float(stdtr(df, -excess / std_error))


def holm(p_values: Any) -> FloatArray:
    """Return p-values adjusted for their number (Holm 1979); NaN takes no part and stays.

    Examples
    --------
    >>> holm([0.01, math.nan, 0.04, 0.03]).tolist()
    [0.03, nan, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    adjusted, present = np.full(p.shape, np.nan), np.flatnonzero(~np.isnan(p))
    order = present[np.argsort(p[present], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


LEAST_EVENTS: Final = 20  # rows outside the most frequent class
LEAST_EFFECTIVE: Final = 10.0  # rows that carry the variance
LEAST_PART: Final = 1 / 6  # of few rows: half of the part that carries the variance of normal terms


class Distrust(NamedTuple):
    """Why an interval is not to be trusted, and how many rows would do if shares and tails stay as they are.

    An empty reason is trust; `rows` is NaN where no number of rows can be told.
    """

    reason: str = ""
    rows: float = nan


def events(y: AnyArray) -> int:
    """Return the rows outside the most frequent of the classes `y`, of two classes those of the rarer one.

    Examples
    --------
    >>> events(np.array([0, 0, 0, 1]))
    1
    """
    return len(y) - int(np.unique(y, return_counts=True)[1].max())


def few_events(n_events: int, n: int) -> Distrust:
    """Return the distrust in an interval from outcomes of which so few are not of the most frequent class.

    Examples
    --------
    >>> few_events(7, 800)
    Distrust(reason='few events (7 of 800 observations)', rows=2286.0)
    >>> few_events(40, 800), few_events(0, 800)
    (Distrust(reason='', rows=nan), Distrust(reason='no events (0 of 800 observations)', rows=nan))
    """
    if n_events >= LEAST_EVENTS:
        return Distrust()
    if not n_events:
        return Distrust(f"no events (0 of {n} observations)")
    return Distrust(f"few events ({n_events} of {n} observations)", float(ceil(LEAST_EVENTS * n / n_events)))


def effective_units(g: FloatArray, weights: FloatArray, clusters: IntArray | None = None) -> float:
    """Return how many rows, or clusters, carry the variance of a mean: (Σ d²)²/Σ d⁴ of their parts d.

    All of them if their parts are equal in size, a third if they are normal, one if one row has it all;
    infinite where nothing varies.

    Examples
    --------
    >>> effective_units(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4)), effective_units(np.zeros(4), np.ones(4))
    (4.0, inf)
    """
    return carrying(np.square(unit_sums(g, weights, clusters)))


def carrying(squares: FloatArray) -> float:
    """Return how many units carry the sum of the squares of their parts, shape (units,); see `effective_units`."""
    largest = squares.max()
    if not largest > 0:
        return inf
    squares = squares / largest
    return float(squares.sum() ** 2 / np.square(squares).sum())


def variance_freedom(effective: float, units: int) -> float:
    """Return the degrees of freedom of a variance that `effective` of the `units` carry, at most units - 1.

    A variance of parts of kurtosis κ = units/effective has the relative error √((κ - 1)/units), as one of normal parts
    with 2 units/(κ - 1) degrees of freedom.

    Examples
    --------
    >>> variance_freedom(25.0, 100), variance_freedom(90.0, 100), variance_freedom(inf, 100)
    (66.66666666666667, 99.0, 99.0)
    """
    if effective >= units:
        return float(units - 1)
    return min(units - 1.0, 2 * units * effective / (units - effective))


def heavy_tails(effective: float, n: int, unit: str = "observations") -> Distrust:
    """Return the distrust in an interval whose variance so few of `n` rows or other units carry.

    Examples
    --------
    >>> heavy_tails(3.2, 200)
    Distrust(reason='heavy tails (the variance rests on about 3 of 200 observations)', rows=625.0)
    >>> heavy_tails(12.0, 200), heavy_tails(8.0, 24)
    (Distrust(reason='', rows=nan), Distrust(reason='', rows=nan))
    """
    if effective >= min(LEAST_EFFECTIVE, LEAST_PART * n):
        return Distrust()
    carried = f"heavy tails (the variance rests on about {effective:.0f} of {n} {unit})"
    return Distrust(carried, float(ceil(LEAST_EFFECTIVE * n / effective)))
