"""Shuffles whose values are no longer held: their sums against the values."""

from typing import Any

import numpy as np
import pytest

from uq_report.core.statistics.inference import PairTerms, shuffled_pairs, standard_error
from uq_report.core.statistics.two_way_variance import LEAST, ShuffleSums, fit, two_way
from uq_report.core.support.arrays import FloatArray, IntArray

N, M = 40, 9


def shuffles(m: int = M, seed: int = 1) -> IntArray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(N) for _ in range(m)]).astype(np.int32)


def values(joint: float = 0.7) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return T (2, M, n), b (2, n) and donors of measures with row, donor and, unless 0, joint parts."""
    rng, donors = np.random.default_rng(0), shuffles()
    full = rng.normal(size=(2, N, 1)) + 2 * rng.normal(size=(2, 1, N)) + joint * rng.normal(size=(2, N, N))
    return full[:, np.arange(N), donors], full[:, np.arange(N), np.arange(N)], donors


def folded(T: FloatArray, b: FloatArray, donors: IntArray, held: int = 1) -> ShuffleSums:
    """Return all but the last `held` shuffles folded, the first `LEAST` together and the others one by one."""
    sums = ShuffleSums.about(T[:, :LEAST], donors[:LEAST])
    for part in (slice(LEAST), *(slice(r, r + 1) for r in range(LEAST, M - held))):
        sums = sums.added(T[:, part], donors[part], b)
    return sums


def few(T: FloatArray, b: FloatArray, donors: IntArray, held: int = 1) -> PairTerms:
    return shuffled_pairs(T[:, M - held :], b, donors, np.ones(N), folded=folded(T, b, donors, held))


@pytest.fixture(params=[0, 2**21], ids=["looked up", "sparse"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uq_report.core.statistics.two_way_variance._SPARSE", request.param)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("held", [1, 3])
def test_folded_shuffles_give_the_terms_of_held_ones(held: int) -> None:
    T, b, donors = values()
    for one, other in zip(few(T, b, donors, held), shuffled_pairs(T, b, donors, np.ones(N)), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


@pytest.mark.usefixtures("sizes")
def test_a_fit_of_sums_is_the_fit_of_values() -> None:
    T, b, donors = values()
    for one, other in zip(fit(T[:, -2:], donors, folded(T, b, donors, 2)), two_way(T, donors), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


def test_squares_about_a_fit_lose_no_digits_where_nothing_is_joint() -> None:
    """Of sums of plain squares, 1e-16 of them would be left: an error of 1e-8, not of 1e-12."""
    T, b, donors = values(joint=0.0)
    terms = few(1e3 + T, 1e3 + b, donors)
    assert terms.mean_noise.max() < 1e-24 * 1e6
    assert standard_error(terms, np.ones(N)).max() < 1e-12 * 1e3


def test_combinations_and_parts_of_measures_are_those_of_their_values() -> None:
    T, b, donors = values()
    C, sums = np.array([[1.0, -1.0], [0.5, 0.0]]), folded(T, b, donors)
    combined = np.einsum("cm,mri->cri", C, T)
    one = shuffled_pairs(combined[:, -1:], C @ b, donors, np.ones(N), folded=sums.combined(C))
    other = shuffled_pairs(combined, C @ b, donors, np.ones(N))
    for a, expected in zip(one, other, strict=True):
        np.testing.assert_allclose(a, expected, rtol=0, atol=1e-13)
    second = sums.of(slice(1, 2))
    np.testing.assert_array_equal(second.rows, sums.rows[1:])
    np.testing.assert_array_equal(second.squares, sums.squares[1:, 1:])
    lost = sums.without(np.array([True, False]))
    assert not lost.rows[0].any()
    assert not lost.means[0].any()
    assert lost.squares[0].tolist() == [0, 0]
    np.testing.assert_array_equal(lost.rows[1], sums.rows[1])


def test_infinite_values_are_counted_and_summed_as_zero() -> None:
    T, b, donors = values()
    T[0, 2, 5], T[0, 6, 5], T[1, 3, 7] = np.inf, -np.inf, np.inf
    sums: Any = folded(T, b, donors)
    assert sums.infinite.tolist() == [2, 1]
    assert np.argwhere(sums.hit).tolist() == [[0, 5], [1, 7]]
    np.testing.assert_allclose(sums.rows, np.where(np.isfinite(T), T, 0.0)[:, :-1].sum(axis=1), rtol=1e-13)
    assert np.isfinite(sums.squares).all()
