"""Size, power and coverage of selective prediction and of score intervals, by small simulations with fixed seeds."""

from collections import Counter
from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np
import pytest

from uq_report.core.model.sampling import Sampling
from uq_report.core.statistics.score_intervals import auc_rows
from uq_report.distributions import Categorical, Normal
from uq_report.evidence.selective import GAIN, IMPLIED_GAIN, IMPLIED_LOSS
from uq_report.methods.selective.check import SelectiveCheck
from uq_report.methods.selective.explain import Assessed, class_losses, number_losses
from uq_report.methods.shared.estimates import area_of, mean_of

Draw = Callable[[np.random.Generator, int], tuple[Any, Any]]
(RULE,) = SelectiveCheck().rules


def two(p: Any) -> Categorical:
    return Categorical(np.column_stack([1 - p, p]))


def sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def logistic(rng: np.random.Generator, n: int, spread: float = 1.5, level: float = 0.0) -> tuple[Any, Any]:
    p = sigmoid(level + spread * rng.normal(size=n))
    return two(p), (rng.random(n) < p).astype(int)


def noisy(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """A model that states more than it knows, and still orders."""
    z = 1.5 * rng.normal(size=n)
    return two(sigmoid(z + 0.8 * rng.normal(size=n))), (rng.random(n) < sigmoid(z)).astype(int)


def without_signal(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """A model that is sure, of outcomes by the toss of a coin."""
    return two(sigmoid(2 * rng.normal(size=n))), rng.integers(0, 2, n)


def uneven(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    sd = np.exp(0.5 * rng.normal(size=n))
    return Normal(np.zeros(n), sd), sd * rng.normal(size=n)


def permuted(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """The spread of another observation."""
    q, y = uneven(rng, n)
    return Normal(np.zeros(n), rng.permutation(np.sqrt(q.variance()))), y


def assessed(draw: Draw, rng: np.random.Generator, n: int) -> Assessed:
    q, y = draw(rng, n)
    losses = class_losses(q, y) if isinstance(q, Categorical) else number_losses(q, y, rng, 20)
    return Assessed(losses, Sampling(np.full(n, 1 / n), n), 0.95)


def verdict(one: Assessed) -> str:
    """Return the severity, the state, or that it is not judged, as the check does from the same numbers."""
    lines = {line["item"]: line for line in one.numbers()}
    gain, implied = lines[GAIN], lines[IMPLIED_GAIN]["estimate"]
    share = implied / (lines[IMPLIED_LOSS]["estimate"] / 2)
    if one.errors < RULE.thresholds["errors"] or share < RULE.thresholds["constant"]:
        return "not judged"
    numbers = {"lower": gain["lower_90"], "upper": gain["upper_90"] / implied, "implied": share}
    found = RULE.judge(**numbers, power=implied / gain["std_error"], errors=float(one.errors))
    return found or ("passed" if gain["lower_90"] > 0 else "open")


@pytest.mark.parametrize("draw", [logistic, noisy, uneven])
def test_uncertainty_that_orders_raises_next_to_nothing(draw: Draw) -> None:
    rng = np.random.default_rng(1)
    ends = Counter(verdict(assessed(draw, rng, 200)) for _ in range(100))
    assert ends["low"] == 0
    assert ends["observation"] <= 3
    assert ends["passed"] >= 90


@pytest.mark.parametrize(("draw", "low"), [(without_signal, 45), (permuted, 80)])
def test_uncertainty_without_order_is_found(draw: Draw, low: int) -> None:
    """Bounded by 95: one in twenty 90% intervals lies above 0."""
    rng = np.random.default_rng(2)
    ends = Counter(verdict(assessed(draw, rng, 200)) for _ in range(100))
    assert ends["low"] >= low
    assert ends["low"] + ends["observation"] >= 88


def test_limits_of_the_curve_hold_what_is_true() -> None:
    large = assessed(logistic, np.random.default_rng(3), 300_000).curve
    risks, captured = [large.risk(k / 20) for k in range(10, 21)], large.captured(0.9)
    rng = np.random.default_rng(4)
    hits = np.zeros(3)
    for _ in range(200):
        one = assessed(logistic, rng, 200)
        band = one.band(rng, 200)
        ends = [(one.risk_ends(0.9, 1.96), risks[8]), (one.captured_ends(0.9), captured)]
        hits[:2] += [lower <= value <= upper for (lower, upper), value in ends]
        points = [(one.risk_ends(k / 20, band), risks[k - 10]) for k in range(10, 21)]
        hits[2] += all(lower <= value <= upper for (lower, upper), value in points)
    assert (hits / 200 >= 0.91).all()


@pytest.mark.parametrize(("events", "shift"), [(15, 2.7), (5, 2.7), (15, 0.8)])
def test_the_area_is_held_near_one_and_with_few_events(events: int, shift: float) -> None:
    """Binormal scores of an area of 0.97 and of 0.71; the t interval is short near 1."""
    area = 0.5 * (1 + erf(shift / 2))
    rng, n = np.random.default_rng(5), 20 * events
    event, sampling = np.arange(n) < events, Sampling(np.full(n, 1 / n), n)
    held, plain = 0, 0
    for _ in range(300):
        score = rng.normal(size=n) + shift * event
        rows = auc_rows(score, event, sampling.weights)
        found, wald = area_of(rows, sampling, 0.95, score=score, event=event), mean_of(rows, sampling, 0.95)
        held += found["lower"] <= area <= found["upper"]
        plain += wald["lower"] <= area <= wald["upper"]
    assert held / 300 >= 0.92
    assert held >= plain
