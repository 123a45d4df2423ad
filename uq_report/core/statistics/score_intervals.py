"""Confidence intervals of scores that stay inside the score's range: shares, ROC areas, losses, R², differences.

Numbers go in and two limits come out; a standard error carries weights and clusters. `t` is the quantile of the
level: of Student's t, or of a band.
"""

from collections.abc import Callable
from math import exp, isfinite, nan, sqrt

import numpy as np
from scipy.special import expit, logit, ndtri

from ..support.arrays import BoolArray, FloatArray

Ends = tuple[float, float]
UNKNOWN: Ends = (nan, nan)
_HALVINGS = 100
_LARGEST = 300.0  # exponent beyond which a limit is no number


def normal_quantile(confidence: float) -> float:
    """Return the quantile of a two-sided interval of the normal distribution.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return float(ndtri(0.5 + confidence / 2))


def wilson(share: float, n: float, z: float) -> Ends:
    """Return Wilson's score interval of a share of `n` draws; `n` need not be whole.

    Examples
    --------
    >>> low, high = wilson(0.25, 7.03125, 1.96)
    >>> round(low, 6), round(high, 6)
    (0.066209, 0.610451)
    """
    if not n > 0:
        return UNKNOWN
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    reach = z * sqrt(max(share * (1 - share), 0.0) / n + z * z / (4 * n * n)) / scale
    lower = 0.0 if share <= 0 else centre - reach
    upper = 1.0 if share >= 1 else centre + reach
    return max(lower, 0.0), min(upper, 1.0)


def on_log_scale(mean: float, std_error: float, t: float) -> Ends:
    """Return ``mean exp(± t se/mean)``, the interval of the mean of a quantity that is never below 0.

    Examples
    --------
    >>> low, high = on_log_scale(2.0, 0.2, 2.0)
    >>> round(low, 4), round(high, 4)
    (1.6375, 2.4428)
    """
    if not mean > 0:
        return (mean, mean) if mean == 0 and std_error == 0 else UNKNOWN
    reach = t * std_error / mean
    return (mean * exp(-reach), mean * exp(reach)) if reach < _LARGEST else UNKNOWN


def explained_interval(r2: float, std_error: float, t: float) -> Ends:
    """Return the interval of R² on the scale of log(1 − R²); never above 1.

    Examples
    --------
    >>> low, high = explained_interval(0.975429, 0.010890, 2.570582)
    >>> round(low, 3), round(high, 3)
    (0.923, 0.992)
    """
    lower, upper = on_log_scale(1 - r2, std_error, t)
    return 1 - upper, 1 - lower


def area_interval(area: float, std_error: float, counts: tuple[int, int], t: float, design: float = 1.0) -> Ends:
    """Return the wider, at each end, of the logit interval with DeLong's error and Newcombe's (2006) interval.

    Parameters
    ----------
    area : float
        Area under the ROC curve.
    std_error : float
    counts : pair of int
        Rows with and without the event.
    t : float
    design : float
        Variance over that of independent rows of equal weight; Newcombe's interval is widened by it.

    Notes
    -----
    Of an area of 0 or 1, or without an error, Newcombe's method 5 decides alone. Newcombe (2006),
    doi:10.1002/sim.2324.

    Examples
    --------
    >>> low, high = area_interval(0.9, 0.06, (10, 20), 2.0452296)
    >>> round(low, 4), round(high, 4)
    (0.6877, 0.9724)
    >>> low, high = area_interval(1.0, 0.0, (10, 20), 2.0452296)
    >>> round(low, 4), high
    (0.8365, 1.0)
    """
    if not (min(counts) > 0 and isfinite(t)):
        return UNKNOWN
    lower, upper = _of_area(area, counts, t, design)
    if 0 < area < 1 and std_error > 0:
        reach = t * std_error / (area * (1 - area))
        lower, upper = (min(lower, float(expit(logit(area) - reach))), max(upper, float(expit(logit(area) + reach))))
    return lower, upper


def _of_area(area: float, counts: tuple[int, int], t: float, design: float) -> Ends:
    """Return the θ on both sides of the area where (A − θ)² is t² times the variance that θ has."""
    events, others = counts
    half = (events + others) / 2 - 1

    def beyond(theta: float) -> bool:
        spread = theta * (1 - theta) * (1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta))
        return (area - theta) ** 2 > t * t * design * spread / (events * others)

    return _edge(beyond, 0.0, area), _edge(beyond, 1.0, area)


def _edge(beyond: Callable[[float], bool], outer: float, inner: float) -> float:
    """Return where the interval ends between the area and an end of the range, by bisection."""
    if inner == outer:
        return outer
    for _ in range(_HALVINGS):
        middle = (outer + inner) / 2
        outer, inner = (middle, inner) if beyond(middle) else (outer, middle)
    return (outer + inner) / 2


def difference_interval(first: float, first_ends: Ends, second: float, second_ends: Ends, correlation: float) -> Ends:
    """Return the interval of ``first − second`` from the limits of both (MOVER; Zou & Donner 2008).

    Examples
    --------
    >>> hits, alarms, z = 0.10, 0.05, 1.96
    >>> ends = [tuple(0.25 * end for end in wilson(alarms, 100, z)), wilson(hits, 100, z)]
    >>> low, high = difference_interval(hits, ends[1], 0.25 * alarms, ends[0], exclusive(hits, alarms))
    >>> round(low, 6), round(high, 6)
    (0.039038, 0.162746)
    """

    def reach(own: float, other: float) -> float:
        return sqrt(max(own**2 - 2 * correlation * own * other + other**2, 0.0))

    lower = reach(first - first_ends[0], second_ends[1] - second)
    upper = reach(first_ends[1] - first, second - second_ends[0])
    return first - second - lower, first - second + upper


def newcombe(first: float, n_first: float, second: float, n_second: float, z: float) -> Ends:
    """Return the interval of ``first - second``, shares of independent draws (Newcombe 1998, method 10).

    Numbers of draws need not be whole; `z` is the normal quantile of a two-sided interval. It has a width also where
    both shares are 0 or 1.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    Examples
    --------
    >>> low, high = newcombe(56 / 70, 70, 48 / 80, 80, 1.96)  # Newcombe's example (a)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    >>> low, high = newcombe(0.0, 10, 0.0, 10, 1.96)  # (f)
    >>> round(low, 4), round(high, 4)
    (-0.2775, 0.2775)
    """
    return difference_interval(first, wilson(first, n_first, z), second, wilson(second, n_second, z), 0.0)


def exclusive(first: float, second: float) -> float:
    """Return the correlation of two shares of the same rows that exclude each other, −√(ab/((1 − a)(1 − b))).

    Examples
    --------
    >>> round(exclusive(0.1, 0.05), 4), exclusive(0.0, 1.0), exclusive(0.5, 0.5)
    (-0.0765, 0.0, -1.0)
    """
    rest = (1 - first) * (1 - second)
    return -min(sqrt(first * second / rest), 1.0) if rest > 0 else 0.0


def paired_share_interval(won: float, lost: float, n: float, z: float) -> Ends:
    """Return the interval of a difference of paired shares, `won` and `lost` among `n` rows (Agresti & Min 2005).

    Examples
    --------
    >>> low, high = paired_share_interval(12, 5, 100, 1.96)
    >>> round(low, 6), round(high, 6)
    (-0.011803, 0.149057)
    """
    if not n > 0:
        return UNKNOWN
    centre, parted = (won - lost) / (n + 2), (won + lost + 1) / (n + 2)
    reach = z * sqrt(max(parted - centre**2, 0.0) / (n + 2))
    return max(centre - reach, -1.0), min(centre + reach, 1.0)


def auc_rows(score: FloatArray, event: BoolArray, weights: FloatArray) -> FloatArray:
    """Return row values whose weighted mean is the area under the ROC curve A, and whose spread is its sampling error.

    A plus the influence (F₀(s) - A)/π for an event and (1 - F₁(s) - A)/(1 - π) otherwise, with F the
    mid-point empirical cdfs of the other class and π the share of events (DeLong et al. 1988).

    Examples
    --------
    >>> event = np.array([False, False, True, True])
    >>> auc_rows(np.array([0.1, 0.4, 0.35, 0.8]), event, np.full(4, 0.25)).mean()
    np.float64(0.75)
    """
    share = weights @ event
    below = mid_cdf(score, weights * ~event / (1 - share))
    above = 1 - mid_cdf(score, weights * event / share)
    area = below @ (weights * event) / share
    return np.asarray(area + np.where(event, (below - area) / share, (above - area) / (1 - share)))


def mid_cdf(score: FloatArray, mass: FloatArray, at: FloatArray | None = None) -> FloatArray:
    """Return the mass below each score, or each number `at`, plus half of that at it, of that shape.

    Examples
    --------
    >>> mid_cdf(np.array([1.0, 3.0, 3.0]), np.array([0.5, 0.25, 0.25])).tolist()
    [0.25, 0.75, 0.75]
    """
    order = np.argsort(score)
    ordered, reached = score[order], np.concatenate([[0.0], np.cumsum(mass[order])])
    below, to = (
        reached[np.searchsorted(ordered, score if at is None else at, side=side)] for side in ("left", "right")
    )
    return np.asarray(0.5 * (below + to))
