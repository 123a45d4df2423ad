"""Prediction intervals and label sets: what they answer, and what they refuse."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from uq_report.core.model.measures import INTERVAL_SCORE, MISCOVERAGE, SET_SIZE, WIDTH
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Intervals, LabelSets

Q = Intervals([0.5, 0.9], [[1.0, 0.0], [2.0, 1.0]], [[2.0, 4.0], [3.0, 5.0]], [1.5, 2.5])
SETS = LabelSets([[0.7, 0.3], [0.5, 0.5]], [0.95, 0.8], [[[1, 0], [1, 0]], [[1, 1], [1, 1]]], classes=["no", "yes"])


def test_measures_are_those_of_the_level_nearest_to_90_percent() -> None:
    assert Q.main == 1
    assert SETS.main == 0
    np.testing.assert_array_equal(WIDTH.rows(Q, None, None), [4, 4])
    np.testing.assert_array_equal(SET_SIZE.rows(SETS, None, None), [2, 2])
    np.testing.assert_array_equal(MISCOVERAGE.rows(Q, np.array([4.0, 0.5]), None), [0, 1])


def test_interval_score_by_hand() -> None:
    """u - l inside; 2 / alpha = 20 for each unit outside, on either side."""
    np.testing.assert_allclose(INTERVAL_SCORE.rows(Q, np.array([-0.5, 5.5]), None), [4 + 10, 4 + 10])
    np.testing.assert_allclose(INTERVAL_SCORE.rows(Q, np.array([0.0, 5.0]), None), [4, 4])


def test_interval_score_is_proper() -> None:
    """Its mean over draws of y is least at the true quantiles (Gneiting & Raftery 2007)."""
    y = norm.ppf((np.arange(4000) + 0.5) / 4000)
    true = norm.ppf(0.95)

    def mean(lower: float, upper: float) -> float:
        ones = np.ones(len(y))
        return float(INTERVAL_SCORE.rows(Intervals([0.9], lower * ones, upper * ones, 0 * ones), y, None).mean())

    best = mean(-true, true)
    assert all(mean(-true + a, true + b) > best for a, b in ((0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1), (0.1, -0.1)))


def test_bounds_belong_to_the_interval_and_rows_can_be_taken() -> None:
    np.testing.assert_array_equal(Q.covered(np.array([1.0, 5.0])), [[True, True], [False, True]])
    np.testing.assert_array_equal(Q.take(np.array([1])).covered(np.array([5.0])), [[False, True]])
    np.testing.assert_array_equal(SETS.take(np.array([0])).covered(np.array([1])), [[True, False]])


def test_no_entropy_is_invented() -> None:
    with pytest.raises(UnsupportedError, match="entropy needs a density, which prediction intervals do not give"):
        Q.entropy()
    assert Q.stand_ins == {"entropy": "width", "nll": "interval_score"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([0.9], [0.0, 3.0], [1.0, 2.0], [0.0, 0.0]),
            r"lower must be at most .*got 3 above 2 at level 0.9 in row 1 \(1 of 2",
        ),
        (
            ([0.9], [0.0, -np.inf], [1.0, 2.0], [0.0, 0.0]),
            r"lower must be finite; got minus infinity in row 1, level 0 \(1 of 2 rows",
        ),
        (([0.9], [0.0], [1.0], [0.0, 0.0]), r"lower must have the shape \(rows, levels\), \(2, 1\); got \(1, 1\)"),
        (([0.9, 0.9], [[0, 0]], [[1, 1]], [0]), r"levels must be different levels"),
        (([1.0], [0.0], [1.0], [0.0]), r"levels must be levels strictly between 0 and 1"),
    ],
)
def test_refused_intervals(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Intervals(*arguments)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([[[1, 0]], [[1, 0]]], r"\(1, 2, 1\); got \(2, 1, 2\)"),
        ([[1, 0, 1]], r"shape \(rows, classes, levels\), \(1, 2, 1\); got"),
        ([[0.3, 0.7]], "must be true or false; got float64"),
    ],
)
def test_refused_sets(sets: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LabelSets([[0.5, 0.5]], [0.9], sets)


def test_sets_of_one_level_need_no_axis_of_levels() -> None:
    sets = np.array([[True, False], [True, True]])
    for given in (sets, sets[..., None], sets.astype(int)):
        np.testing.assert_array_equal(LabelSets(np.full((2, 2), 0.5), [0.9], given).sets, sets[..., None])
    with pytest.raises(InputError, match=r"\(2, 2, 2\); got \(2, 2\)"):
        LabelSets(np.full((2, 2), 0.5), [0.8, 0.9], sets)
