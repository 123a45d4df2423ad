"""Where accumulated local effects and partial dependence tell different stories."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

# The share of the larger range below which curves are not called different: more than interpolation makes up.
LEAST = 0.1


class CurveGap(NamedTuple):
    """The point where two curves part most, the point both start from, and their changes between the two."""

    x: float
    start: float
    accumulated: float
    partial: float


class LargestGap(NamedTuple):
    """Where two curves part most beyond their errors, by which share of the range, and the error of that.

    Both are adjusted for the number of points: `reach`, half the interval of the difference, and `p_value`.
    """

    at: CurveGap
    share: float
    error: float
    points: int

    def reach(self, confidence: float) -> float:
        """Return half the width of the interval of the difference."""
        return float(-ndtri((1 - confidence) / 2 / self.points)) * self.error

    @property
    def p_value(self) -> float:
        """The two-sided p-value of the difference."""
        apart = abs(self.at.accumulated - self.at.partial)
        return min(2 * self.points * float(ndtr(-apart / self.error)), 1.0) if self.error else float(not apart)


def parting(accumulated: pd.DataFrame, partial: pd.DataFrame, confidence: float) -> CurveGap | None:
    """Return where an ALE and a PDP part most beyond their errors, or None if that is not shown.

    The difference must exceed a tenth of the larger range, and what their errors allow.

    Examples
    --------
    >>> x = [0.0, 1.0, 2.0]
    >>> local = pd.DataFrame({"x": x, "estimate": [0.0, 2.0, 4.0], "std_error_change": 0.1})
    >>> mean = pd.DataFrame({"x": x, "estimate": [5.0, 6.0, 7.0], "std_error": 0.1})
    >>> parting(local, mean, 0.95)
    CurveGap(x=2.0, start=0.0, accumulated=4.0, partial=2.0)
    """
    widest = widest_parting(accumulated, partial, confidence)
    if widest is None or not (widest.share > LEAST and widest.p_value < 1 - confidence):
        return None
    return widest.at


def widest_parting(
    accumulated: pd.DataFrame, partial: pd.DataFrame, confidence: float, least: float = LEAST, scale: float = 0.0
) -> LargestGap | None:
    """Return where an ALE and a PDP part most beyond their errors and the share `least` of the larger range.

    The range is at least `scale`, so that flat curves part by nothing that matters on it.

    Estimates of one measure along one numeric feature, in order of x. Compared are the changes from
    the first point that both have, the PDP interpolated between its points; None where they have fewer than
    two. The error of their difference is at most the sum of the standard errors, whatever their dependence;
    points are Bonferroni-corrected.
    """
    x, at = (curve["x"].to_numpy(dtype=float) for curve in (accumulated, partial))
    inside = (x >= at.min()) & (x <= at.max())
    if inside.sum() < 2:
        return None
    power = -np.frexp(np.abs(at).max())[1]  # no bit of a result changes, and no slope over tiny numbers overflows
    points = np.ldexp(x[inside], power), np.ldexp(at, power)
    level, error = (np.interp(*points, partial[c].to_numpy(dtype=float)) for c in ("estimate", "std_error"))
    value, moved = (accumulated[c].to_numpy(dtype=float)[inside] for c in ("estimate", "std_error_change"))
    value, level = value - value[0], level - level[0]
    apart, error, tests = np.abs(value - level), moved + moved[0] + error + error[0], len(value) - 1
    span = max(float(np.ptp(value)), float(np.ptp(level)), scale)
    excess = apart - np.maximum(-ndtri((1 - confidence) / 2 / tests) * error, least * span)
    k = int(np.argmax(excess[1:])) + 1
    where = CurveGap(float(x[inside][k]), float(x[inside][0]), float(value[k]), float(level[k]))
    return LargestGap(where, float(apart[k]) / span if span else 0.0, float(error[k]), tests)
