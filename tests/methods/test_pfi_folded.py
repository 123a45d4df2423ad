"""Permutation importance of many rows, whose shuffles are folded: the numbers of shuffles that are all held."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.statistics.two_way_variance import LEAST, ShuffleSums
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical
from uq_report.methods.pfi import shuffling

from .pfi_cases import MEASURES, explained, rows, subject, three_features

N = 150


def same(one: dict[str, Result], other: dict[str, Result]) -> None:
    assert list(one) == list(other)
    for a, b in zip(one.values(), other.values(), strict=True):
        for x, y in ((a.frame, b.frame), (a.estimates, b.estimates)):
            pd.testing.assert_frame_equal(x, y, rtol=1e-9, atol=1e-12)
        assert a.omissions == b.omissions
        assert (a.rows is None) == (b.rows is None)
        if a.rows is not None and b.rows is not None:
            np.testing.assert_allclose(a.rows.values, b.rows.values, rtol=0, atol=1e-12)


def folds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have all rows count as many; return where the number of shuffles of each fold is noted."""
    noted: list[int] = []
    own = ShuffleSums.added

    def added(sums: Any, T: FloatArray, *more: Any) -> Any:
        noted.append(T.shape[1])
        return own(sums, T, *more)

    monkeypatch.setattr(shuffling, "_MANY", 0)
    monkeypatch.setattr("uq_report.core.statistics.two_way_variance._SPARSE", 0)
    monkeypatch.setattr(ShuffleSums, "added", added)
    return noted


@pytest.mark.parametrize(
    "options", [{}, {"max_shuffle_variance": 0.0}, {"n_repeats": 12, "features": ("a", "both")}], ids=str
)
def test_the_numbers_are_those_of_shuffles_that_are_held(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows(N)
    of = subject(three_features, X, y, train=(pd.DataFrame(X[::-1], columns=list("abc")), y[::-1]))
    of = replace(of, groups={"both": ("a", "b")})
    whole = explained(of, **options)
    noted = folds(monkeypatch)
    same(explained(of, **options), whole)
    assert set(noted) == {1, LEAST}


def test_infinite_values_in_folded_shuffles_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsure(X: FloatArray) -> Categorical:
        p = np.where(X[:, 0] + X[:, 1] > 3, 1.0, three_features(X).probabilities[:, 1])
        return Categorical(np.column_stack([1 - p, p]))

    X, _ = rows(N)
    of = subject(unsure, X, (three_features(X).mean() > 0.5).astype(int))
    whole = explained(of, n_repeats=20)
    assert {gap.measure for gap in whole["pfi"].omissions} >= {"nll"}
    folds(monkeypatch)
    same(explained(of, n_repeats=20), whole)


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"sample_weight": np.linspace(0.5, 2, N)}, {}),
        ({"clusters": np.arange(N) // 3}, {"within_clusters": True}),
        ({}, {"measures": ("one_minus_auc", "nll")}),
    ],
    ids=["weights", "within clusters", "a statistic"],
)
def test_what_needs_every_value_holds_them(
    more: dict[str, Any], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows(N)
    of = subject(three_features, X, y, **more)
    whole = explained(of, n_repeats=8, **options)
    noted = folds(monkeypatch)
    same(explained(of, n_repeats=8, **options), whole)
    assert not noted


def test_what_is_held_of_a_row_does_not_grow_with_the_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 5000
    X, y = rows(n)
    of = subject(three_features, X, y)
    folds(monkeypatch)
    held = []
    for n_repeats in (10, 40):
        engine = Engine(of, MEASURES)
        _ = engine.baseline
        tracemalloc.start()
        explained(of, engine, features=("a",), n_repeats=n_repeats, max_shuffle_variance=0.0)
        held.append(tracemalloc.get_traced_memory()[1] / n)
        tracemalloc.stop()
    assert held[1] - held[0] < 30 * 4 + 60  # a donor of each shuffle has 4 bytes, a value of a measure would have 8
