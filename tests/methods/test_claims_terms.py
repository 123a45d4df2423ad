"""Short cuts of claimed and delivered importance against what they stand for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from uq_report.core.model.measures import KL, NLL
from uq_report.core.statistics.inference import PairTerms, shuffled_pairs, standard_error
from uq_report.core.statistics.verdicts import Distrust, effective_units, variance_freedom
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, Intervals, Quantiles, Survival
from uq_report.methods.pfi.claims import (
    SQUARED_DISTANCE,
    _class_draws,
    _less,
    claim_terms,
    score_of,
    why_no_score,
)
from uq_report.methods.shared.terms import ChangedMeasures, ShuffledRows


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_of_the_share_is_that_of_its_own_shuffles(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n, m = 40, 6
    donors = np.stack([rng.permutation(n) for _ in range(m)])
    b = np.stack([np.zeros(n), rng.random(n)])
    T = rng.random((2, m, n)) + b[:, None]
    weights = rng.random(n) + 0.5 if weighted else np.ones(n)
    rows = ShuffledRows((), np.zeros((0, n)), np.zeros(n), weights, None)
    changes = ChangedMeasures(T, donors)
    claim = claim_terms(changes, b, rows, np.zeros((1, n)))
    s = claim.share
    direct = shuffled_pairs((T[1] - s * T[0])[None], (b[1] - s * b[0])[None], donors, weights)
    assert s == pytest.approx(claim.estimate[1] / claim.estimate[0])
    assert claim.estimate[2] == pytest.approx(claim.estimate[0] - claim.estimate[1])
    assert claim.share_se == pytest.approx(standard_error(direct, weights)[0] / claim.estimate[0], rel=1e-9)


def judged(unreliable: Callable[[bool], str]) -> ShuffledRows:
    """Return nine rows whose intervals are unreliable for given reasons, by whether they depend on outcomes."""

    class Judged(ShuffledRows):
        """Rows of which the test says whether an interval is reliable."""

        def unreliable(self, g: FloatArray, error: float, *, outcomes: bool) -> Distrust:
            return Distrust(unreliable(outcomes))

    return Judged((), np.zeros((0, 9)), np.zeros(9), np.ones(9), None)


def test_delivered_and_difference_depend_on_outcomes_and_the_claim_does_not() -> None:
    asked: list[bool] = []

    def reason(outcomes: bool) -> str:
        asked.append(outcomes)
        return f"reason {len(asked)}"

    rng, rows = np.random.default_rng(0), judged(reason)
    changes = ChangedMeasures(rng.random((2, 4, 9)), np.stack([rng.permutation(9) for _ in range(4)]))
    claim = claim_terms(changes, np.zeros((2, 9)), rows, np.zeros((1, 9)))
    assert asked == [False, True, True]
    assert claim.unreliable == ("reason 1", "reason 2", "reason 3")
    assert claim.freedom == variance_freedom(effective_units(claim_rows(changes, rows), np.ones(9)), 9)
    alone = claim_terms(ChangedMeasures(-changes.T[:1], changes.donors), np.zeros((1, 9)), rows, np.zeros((0, 9)))
    assert alone.estimate.shape == (1,)
    assert np.isnan([alone.share, alone.share_se]).all()
    negative = claim_terms(ChangedMeasures(-changes.T, changes.donors), np.zeros((2, 9)), rows, np.zeros((1, 9)))
    assert np.isnan([negative.share, negative.share_se]).all()


@pytest.mark.parametrize(
    ("sides", "difference"), [(("", ""), ""), (("a", ""), "a"), (("", "b"), "b"), (("a", "b"), "a")]
)
def test_a_difference_is_no_more_reliable_than_its_sides(sides: tuple[str, str], difference: str) -> None:
    reasons = iter((*sides, ""))
    rng, rows = np.random.default_rng(0), judged(lambda outcomes: next(reasons))
    changes = ChangedMeasures(rng.random((2, 4, 9)), np.stack([rng.permutation(9) for _ in range(4)]))
    claim = claim_terms(changes, np.zeros((2, 9)), rows, np.zeros((1, 9)))
    assert claim.unreliable == (*sides, difference)


def claim_rows(changes: ChangedMeasures, rows: ShuffledRows) -> FloatArray:
    """Return the row terms of the claim."""
    return shuffled_pairs(changes.T[:1], np.zeros((1, 9)), changes.donors, rows.weights).rows[0]


@pytest.mark.parametrize("s", [-0.5, 0.25, 2.0])
def test_the_noise_of_less_a_share_follows_from_the_noise_of_the_three(s: float) -> None:
    """Var(L - sK) = Var L - 2 s Cov + s² Var K, the covariance being that of Var(K - L)."""
    k, el, both = 2.0, 3.0, -0.5
    three = np.array([k, el, k + el - 2 * both])
    values = np.array([4.0, 5.0, -1.0])
    pairs = PairTerms(values, values[:, None], values[:, None], three, three / 10)
    found = _less(pairs, s)
    noise = el - 2 * s * both + s**2 * k
    assert (found.estimate[0], found.repeats[0, 0], found.rows[0, 0]) == (5 - 4 * s,) * 3
    assert (found.row_noise[0], found.mean_noise[0]) == pytest.approx((noise, noise / 10))


class Bits:
    """Gives chosen 32 random bits, two at a time."""

    def __init__(self, *bits: int) -> None:
        self.bits, self.asked = np.array([*bits, 0], dtype=np.uint32), 0

    def integers(self, high: int, size: int, dtype: Any) -> Any:
        self.asked = size
        return self.bits[: 2 * size].view(np.uint64)


def drawn_classes(p: list[float], *bits: int) -> list[int]:
    source: Any = Bits(*bits)
    (indicators,) = _class_draws(Categorical(np.array([p])), source, len(bits))
    assert source.asked == (len(bits) + 1) // 2
    classes = np.arange(1, len(p)) @ indicators[:, :, 0]
    return [int(c) for c in classes]


def test_classes_are_met_to_the_last_of_32_bits() -> None:
    half, quarter = 2**31, 2**30
    assert drawn_classes([0.5, 0.25, 0.25], 0, half - 1, half, 3 * quarter - 1, 3 * quarter) == [0, 0, 1, 1, 2]
    third = 2**32 // 3  # the third lies between this and the next
    assert drawn_classes([1 / 3, 2 / 3], third, third + 1) == [0, 1]
    assert drawn_classes([0.5, 0.5, 0.0], 2**32 - 2, half - 1) == [1, 0]


def test_the_distance_of_classes_is_the_sum_of_squares() -> None:
    p, q = Categorical(np.array([[0.5, 0.5], [0.2, 0.8]])), Categorical(np.array([[0.5, 0.5], [0.6, 0.4]]))
    assert SQUARED_DISTANCE.rows(q, None, p) == pytest.approx([0.0, 0.32])


def test_why_nothing_is_claimed() -> None:
    survival = Survival([1.0, 2.0], [[0.5, 0.2]])
    intervals = Intervals([0.9], [[0.0]], [[1.0]], [0.5])
    assert (score_of(survival), score_of(intervals)) == (None, None)
    assert why_no_score(survival).startswith("outcomes may be censored")
    assert why_no_score(intervals) == intervals.why_not("kl")


def test_quantiles_are_compared_in_pinball_loss_from_five_levels() -> None:
    values = np.array([[-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 2.0, 3.0, 5.0]])
    q, few = Quantiles([0.1, 0.3, 0.5, 0.7, 0.9], values), Quantiles([0.1, 0.3, 0.7, 0.9], values[:, :4])
    score, y = score_of(q), np.array([0.5, 9.0])
    assert score is not None
    assert score.loss.rows(q, y, None).tolist() == q.pinball(y).tolist()
    other = q.take(np.array([1, 0]))
    assert score.divergence.rows(other, None, q).tolist() == q.pinball_divergence(other).tolist()
    assert score_of(few) is None
    assert why_no_score(few) == (
        "quantiles at 4 levels are too few to compare model-implied with realised importance; at least 5 are needed"
    )
    assert score_of(Quantiles(q.levels, values.round(-1), "atoms")) == score


def test_drawn_classes_follow_the_probabilities() -> None:
    p = np.array([[0.2, 0.5, 0.3], [0.0, 0.25, 0.75], [0.9, 0.1, 0.0], [1.0, 0.0, 0.0]])
    score = score_of(Categorical(p))
    assert score is not None
    assert score.draws is not None
    blocks = list(score.draws(Categorical(p), np.random.default_rng(0), 40_001))
    drawn = np.concatenate(blocks, axis=1)
    assert len(blocks) > 1
    assert drawn.shape == (2, 40_001, 4)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert drawn.sum(axis=0).max() == 1
    np.testing.assert_allclose(drawn.mean(axis=1), p.T[1:], atol=4 * 0.5 / np.sqrt(40_000))
    assert not drawn[1, :, 2:].any()
    assert drawn[:, :, 1].sum(axis=0).min() == 1


@pytest.mark.parametrize(("size", "counts"), [(1.9e-12, False), (2.3e-12, True)])
def test_what_is_claimed_and_delivered_by_rounding_is_nothing(size: float, counts: bool) -> None:
    """A loss of 1, with and without the change, that every shuffle moves by less, or more, than 1e-12 of both."""
    rng, n = np.random.default_rng(0), 40
    b = np.stack([np.zeros(n), np.ones(n)])
    T = b[:, None] + size * rng.choice([0.9, 1.0], (2, 5, n))
    rows = ShuffledRows((KL, NLL), b, np.zeros(n), np.ones(n), None)
    donors = np.stack([rng.permutation(n) for _ in range(5)])
    claim = claim_terms(ChangedMeasures(T, donors), b, rows, np.zeros((1, n)))
    assert [bool(claim.estimate[0]), bool(claim.se[0]), bool(claim.repeats[0].any())] == [counts] * 3
