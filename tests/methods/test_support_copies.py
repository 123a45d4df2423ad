"""Near copies of training observations: ratios by hand, planted copies, and samples that hold none."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from uq_report.core.statistics.score_intervals import newcombe
from uq_report.evidence.rows import CopiesLine, SupportCopies
from uq_report.methods.support.explain import Paired, RowsInSpace, Space, distance_ratios

from .test_support import explain, normal, subject


def copies(train: pd.DataFrame, test: pd.DataFrame, **more: Any) -> CopiesLine:
    return SupportCopies.from_result(explain(subject(train, test, **more))[SupportCopies.id]).lines[0]


def jittered(rows: pd.DataFrame, size: float, seed: int = 5) -> pd.DataFrame:
    return rows + size * np.random.default_rng(seed).normal(size=rows.shape)


def plain(train: Any, test: Any) -> Space:
    """Return one column in units of its standard deviation, which is that of the training rows."""
    pair = Paired("a", True, np.asarray(train, dtype=float), np.asarray(test, dtype=float))
    return Space([pair], np.arange(len(train)), whiten=False)


def test_ratios_by_hand() -> None:
    """Neighbours of 1, 4, 6 and 10 at 0, 3 and 9: 1/2, 1/4, 3/3 and 1/7; of a copy 0."""
    space = plain([0.0, 3.0, 9.0], [1.0, 4.0, 6.0, 10.0, 3.0])
    found = distance_ratios(space, space.test)
    np.testing.assert_allclose(found, [1 / 2, 1 / 4, 1, 1 / 7, 0])


def test_training_rows_are_no_neighbours_of_themselves() -> None:
    """Of 0, 3 and 9 the distances to the others are 3 and 9, 3 and 6, 6 and 9; other rows of the same value count."""
    space = plain([0.0, 3.0, 9.0], [1.0])
    np.testing.assert_allclose(distance_ratios(space, space.train, np.arange(3)), [1 / 3, 1 / 2, 2 / 3])
    last = RowsInSpace(space.train.numbers[2:], space.train.codes[2:])
    np.testing.assert_allclose(distance_ratios(space, last, np.array([2])), [2 / 3])
    twice = plain([0.0, 0.0, 9.0, 9.0, 9.0], [1.0])
    np.testing.assert_allclose(distance_ratios(twice, twice.train, np.arange(5)), [0, 0, 1, 1, 1])


def test_a_level_that_differs_counts_one() -> None:
    codes = Paired("w", False, np.array([0.0, 1.0, 1.0]), np.array([0.0]), ("u", "v"))
    numbers = Paired("a", True, np.array([0.0, 3.0, 9.0]), np.array([0.0]))
    space = Space([numbers, codes], np.arange(3), whiten=False)
    sd = np.std([0.0, 3.0, 9.0])
    squared = space.squared(space.test)[0]
    np.testing.assert_allclose(squared, np.array([0, (3 / sd) ** 2 + 1, (9 / sd) ** 2 + 1]), atol=1e-9)


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.01])
def test_copies_with_small_changes_are_found(size: float) -> None:
    train, test = normal(800, 0), normal(400, 1)
    test.iloc[:120] = jittered(train.iloc[:120], size).to_numpy()
    found = copies(train, test)
    assert found.estimate == pytest.approx(0.3, abs=0.08)
    assert found.least > 0.2
    assert (found.n, found.n_train) == (400, 800)


def test_the_interval_is_newcombes() -> None:
    train, test = normal(300, 0), normal(200, 1)
    test.iloc[:20] = train.iloc[:20].to_numpy()
    found = copies(train, test)
    assert found.share_train == pytest.approx(0.01)  # the limit is the third smallest of 300 ratios
    shares = found.share, 200, found.share_train, 300
    assert (found.lower, found.upper) == pytest.approx(newcombe(*shares, norm.ppf(0.975)))
    assert found.least == pytest.approx(newcombe(*shares, norm.ppf(0.995))[0])
    assert found.estimate == found.share - found.share_train


def test_a_shift_to_the_dense_part_makes_no_copies() -> None:
    train, many = normal(800, 0), normal(4000, 1)
    dense = many.iloc[np.argsort(np.square(many).sum(axis=1))[:400]].reset_index(drop=True)
    assert copies(train, dense).least < 0.02


def test_training_rows_that_are_doubled_hide_copies() -> None:
    """A copy of a doubled row is as close to the next one: it cannot be told from a row of its own."""
    once = normal(400, 0)
    train = pd.concat([once, once], ignore_index=True)
    test = normal(300, 1)
    test.iloc[:100] = once.iloc[:100].to_numpy()
    assert copies(train, test).least < 0.02


def test_clusters_count_once() -> None:
    train, test = normal(800, 0), normal(400, 1)
    test.iloc[:80] = train.iloc[:80].to_numpy()
    single = copies(train, test)
    together = copies(train, test, clusters=np.repeat(np.arange(20), 20))
    assert together.share == single.share
    assert together.lower < single.lower
