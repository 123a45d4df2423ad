"""Terms of pairs: against brute force, repeated rows and the formulas of the methods page."""

from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from uq_report.core.statistics.inference import (
    CONVERGED,
    EXACT,
    PairTerms,
    all_pairs,
    as_extreme,
    by_donor,
    n_units,
    shuffled_pairs,
    solved_to,
    standard_error,
    two_way,
)
from uq_report.core.support.arrays import FloatArray, IntArray


def pairs(n: int, seed: int = 0) -> FloatArray:
    """Return two measures of all pairs, shape (2, n receivers, n donors), with row, donor and joint parts."""
    rng = np.random.default_rng(seed)
    a, f, joint = rng.normal(size=(2, n, 1)), rng.normal(size=(2, 1, n)), rng.normal(size=(2, n, n))
    return np.asarray(a + 2 * f + 0.7 * joint)


def at(full: FloatArray, donors: IntArray) -> FloatArray:
    """Return T[:, r, i] for row i carrying the value of row donors[r, i]."""
    return np.asarray(full[:, np.arange(full.shape[1]), donors])


def unchanged(full: FloatArray) -> FloatArray:
    return np.asarray(np.diagonal(full, axis1=1, axis2=2))


def shuffles(m: int, n: int, seed: int = 1) -> IntArray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(n) for _ in range(m)])


def every(full: FloatArray, weights: FloatArray) -> PairTerms:
    """Return the terms of all pairs, each row with a value of its own, and of two shuffles."""
    n = len(weights)
    return all_pairs(full.swapaxes(1, 2), unchanged(full), np.arange(n), shuffles(2, n), weights)


def brute(full: FloatArray, weights: FloatArray) -> FloatArray:
    omega = weights / weights.sum()
    return np.asarray(np.einsum("mik,i,k->m", full, omega, omega) - unchanged(full) @ omega)


@pytest.mark.parametrize(("m", "n"), [(3, 12), (4, 9), (30, 8)])
def test_two_way_is_least_squares(m: int, n: int) -> None:
    donors = shuffles(m, n)
    T = at(pairs(n), donors)
    design = np.zeros((m * n, 2 * n))
    design[np.arange(m * n), np.tile(np.arange(n), m)] = 1
    design[np.arange(m * n), n + donors.ravel()] = 1
    v, u = two_way(T, donors)
    for k in range(2):
        solution = np.linalg.lstsq(design, T[k].ravel(), rcond=None)[0]
        np.testing.assert_allclose(v[k] + u[k][donors], (design @ solution).reshape(m, n), atol=1e-11)
        assert abs(u[k].sum()) < 1e-11


def test_each_measure_is_solved_to_its_own_size_whatever_stands_beside_it() -> None:
    donors, sizes = shuffles(4, 40), np.array([1e-9, 0.0, 1e6])[:, None]
    T = at(pairs(40), donors)[:1]
    alone = np.stack(two_way(T, donors))
    together = np.stack(two_way(T * sizes[:, None], donors))
    assert (np.abs(together - alone * sizes) <= 1e-10 * sizes).all()


@pytest.fixture
def converged(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return what says how close a fit has to come."""
    return partial(monkeypatch.setattr, "uq_report.core.statistics.inference.CONVERGED")


@pytest.mark.parametrize("m", [3, 5, 30])
def test_a_fit_of_nine_digits_gives_the_bounds_of_an_exact_one(m: int, converged: Callable[[float], None]) -> None:
    full, donors, weights = pairs(300), shuffles(m, 300), np.ones(300)
    T, b = at(full, donors), unchanged(full)
    fits = []
    for tolerance in (CONVERGED, EXACT, 1e-2):
        converged(tolerance)
        fits.append(shuffled_pairs(T, b, donors, weights))
    bounds = [np.stack([fit.estimate + z * standard_error(fit, weights) for z in (-2, 2)]) for fit in fits]
    np.testing.assert_allclose(bounds[0], bounds[1], rtol=1e-7)
    assert np.abs(bounds[2] / bounds[1] - 1).max() > 1e-6
    assert np.abs(np.stack(two_way(T, donors)) - two_way(T, donors, EXACT)).max() < 2e-8


def test_unequal_rows_are_solved_to_rounding() -> None:
    """Their residuals are part of the importance of each shuffle: an additive measure's would not be exactly 0."""
    assert [solved_to(np.full(3, 2.0)), solved_to(np.array([1.0, 1.0, 1.0 + 1e-9]))] == [CONVERGED, EXACT]


def test_two_way_is_finite_where_rows_and_donors_are_not_connected() -> None:
    donors = np.tile(np.arange(5), (3, 1))
    v, u = two_way(at(pairs(5), donors), donors)
    np.testing.assert_allclose(v + u, unchanged(pairs(5)), atol=1e-12)


@pytest.mark.parametrize("weights", [np.ones(7), np.array([1.0, 3, 2, 1, 1, 5, 2])])
def test_all_pairs_is_the_weighted_double_sum(weights: FloatArray) -> None:
    full = pairs(7)
    terms = every(full, weights)
    np.testing.assert_allclose(terms.estimate, brute(full, weights), atol=1e-14)
    np.testing.assert_allclose(terms.rows @ (weights / weights.sum()), brute(full, weights), atol=1e-14)


def test_all_pairs_terms_are_those_of_the_methods_page_with_a_rows_own_pair_included() -> None:
    """With h1, h2 over k != i as printed there, g = (n-1)/n (h1 + h2) + b/n up to a constant."""
    n, full = 9, pairs(9)
    b = unchanged(full)
    others = full * (1 - np.eye(n))
    h = others.sum(axis=2) / (n - 1) - b + others.sum(axis=1) / (n - 1)
    expected = (n - 1) / n * h + b / n
    rows = every(full, np.ones(n)).rows
    np.testing.assert_allclose(rows - rows.mean(axis=1, keepdims=True), expected - expected.mean(axis=1, keepdims=True))


def test_integer_weights_equal_repeated_rows_known_to_be_copies() -> None:
    full, counts = pairs(8), np.array([1, 2, 3, 1, 4, 1, 2, 1])
    copies = np.repeat(np.arange(8), counts)
    again = full[:, copies][:, :, copies]
    few = every(full, counts.astype(float))
    many = every(again, np.ones(len(copies)))
    np.testing.assert_allclose(few.estimate, many.estimate, atol=1e-12)
    np.testing.assert_allclose(few.rows[:, copies], many.rows, atol=1e-12)
    np.testing.assert_allclose(
        standard_error(few, counts.astype(float)), standard_error(many, np.ones(len(copies)), copies), atol=1e-12
    )


@pytest.mark.parametrize("weights", [np.ones(9), np.array([1.0, 3, 0, 2, 1, 5, 2, 1, 1])])
def test_distinct_values_are_all_pairs_of_rows(weights: FloatArray) -> None:
    """Rows of one value donate alike: n G numbers give the terms of n² pairs, with both parts of their variance."""
    values, codes = pairs(9)[:, :, :3], np.array([0, 2, 1, 0, 0, 2, 1, 2, 0])
    donors = shuffles(4, 9)
    full = values[:, :, codes]
    few = all_pairs(values.swapaxes(1, 2), unchanged(full), codes, donors, weights)
    many = all_pairs(full.swapaxes(1, 2), unchanged(full), np.arange(9), donors, weights)
    for a, b in zip(few, many, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    clusters = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
    for codes_of in (None, clusters):
        np.testing.assert_allclose(
            standard_error(few, weights, codes_of), standard_error(many, weights, codes_of), rtol=0, atol=1e-12
        )


def test_the_repeats_of_all_pairs_are_those_of_the_shuffles() -> None:
    full, donors = pairs(11), shuffles(5, 11)
    plain = shuffled_pairs(at(full, donors), unchanged(full), donors, np.ones(11))
    known = all_pairs(full.swapaxes(1, 2), unchanged(full), np.arange(11), donors, np.ones(11))
    np.testing.assert_allclose(known.repeats, plain.repeats, rtol=0, atol=1e-13)


def test_shuffles_looked_up_one_by_one_are_those_looked_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    full, donors, weights = pairs(11), shuffles(5, 11), np.linspace(0.5, 2, 11)
    arguments = full.swapaxes(1, 2), unchanged(full), np.arange(11), donors, weights
    together = all_pairs(*arguments).repeats
    for cells in (1, 22):
        monkeypatch.setattr("uq_report.core.statistics.inference._CELLS", cells)
        np.testing.assert_array_equal(all_pairs(*arguments).repeats, together)


def test_weighted_repeats_of_all_pairs_have_the_estimate_as_their_mean() -> None:
    """Over all shuffles of four rows."""
    full, weights, donors = pairs(4), np.array([1.0, 3, 2, 5]), np.array(list(permutations(range(4))))
    known = all_pairs(full.swapaxes(1, 2), unchanged(full), np.arange(4), donors, weights)
    np.testing.assert_allclose(known.repeats.mean(axis=1), brute(full, weights), atol=1e-13)
    assert known.repeats.std(axis=1).min() > 0.01


def test_rows_of_weight_zero_do_not_count() -> None:
    full, weights = pairs(8), np.array([1.0, 0, 2, 1, 0, 1, 2, 1])
    kept = np.flatnonzero(weights)
    part = full[:, kept][:, :, kept]
    with_zeros = every(full, weights)
    without = every(part, weights[kept])
    np.testing.assert_allclose(standard_error(with_zeros, weights), standard_error(without, weights[kept]), atol=1e-12)
    assert n_units(weights) == 6


def test_unweighted_shuffles_give_their_own_means_and_the_printed_standard_error() -> None:
    n, m = 40, 5
    full, donors = pairs(n), shuffles(m, n)
    T, b, ones = at(full, donors), unchanged(full), np.ones(n)
    terms = shuffled_pairs(T, b, donors, ones)
    np.testing.assert_allclose(terms.repeats, T.mean(axis=2) - b.mean(axis=1, keepdims=True), atol=1e-13)
    v, u = two_way(T, donors)
    sigma2 = ((T - v[:, None] - u[:, donors]) ** 2).sum(axis=(1, 2)) / (n * m - 2 * n + 1)
    spread = np.var(v + u - b, axis=1, ddof=1) - 2 * sigma2 * (m - 1) / (m * (m - 2))
    expected = np.sqrt(np.maximum(spread, 0) / n + sigma2 / (n * m))
    np.testing.assert_allclose(standard_error(terms, ones), expected, rtol=1e-12)


def test_all_shuffles_of_a_latin_square_agree_with_all_pairs() -> None:
    """The n cyclic shifts hold every pair once, so the fit is the exact decomposition."""
    full, weights = pairs(8), np.arange(1.0, 9)
    donors = (np.arange(8) + np.arange(8)[:, None]) % 8
    fitted = two_way(at(full, donors), donors)
    exact = full.mean(axis=2), full.mean(axis=1) - full.mean(axis=(1, 2))[:, None]
    np.testing.assert_allclose(fitted, exact, atol=1e-12)
    plain = shuffled_pairs(at(full, donors), unchanged(full), donors, np.ones(8))
    np.testing.assert_allclose(plain.rows, every(full, np.ones(8)).rows, atol=1e-12)
    assert not np.allclose(brute(full, weights), brute(full, np.ones(8)), atol=0.01)


@pytest.mark.parametrize("m", [3, 6])
def test_weighted_shuffles_are_right_on_average(m: int) -> None:
    """Over 1500 designs the mean estimate is the weighted double sum, within four Monte-Carlo errors."""
    n, rng = 20, np.random.default_rng(5)
    full, weights = pairs(n), np.exp(0.6 * rng.normal(size=n))
    full += 3 * np.outer(weights, weights) / weights.mean() ** 2  # a joint part that the weights bring out
    estimates = []
    for _ in range(1500):
        donors = np.stack([rng.permutation(n) for _ in range(m)])
        estimates.append(shuffled_pairs(at(full, donors), unchanged(full), donors, weights).repeats.mean(axis=1))
    error = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    shift = np.mean(estimates, axis=0) - brute(full, weights)
    assert (np.abs(shift) < 4 * error + 0.02 * np.std(estimates, axis=0)).all()


@pytest.mark.parametrize("weights", [np.ones(30), np.linspace(0.2, 2, 30)])
def test_an_additive_measure_has_no_importance_and_no_error(
    weights: FloatArray, converged: Callable[[float], None]
) -> None:
    converged(EXACT)
    rng = np.random.default_rng(3)
    a, f = rng.normal(size=(2, 30, 1)), rng.normal(size=(2, 1, 30))
    donors = shuffles(4, 30)
    terms = shuffled_pairs(at(a + f, donors), unchanged(a + f), donors, weights)
    assert np.abs(terms.repeats).max() < 1e-12
    assert standard_error(terms, weights).max() < 1e-12


def test_clusters_of_copies_count_once() -> None:
    full = pairs(25)
    copies = np.tile(np.arange(25), 3)
    again = full[:, copies][:, :, copies]
    few = standard_error(every(full, np.ones(25)), np.ones(25))
    terms = every(again, np.ones(75))
    np.testing.assert_allclose(standard_error(terms, np.ones(75), copies), few, rtol=1e-12)
    np.testing.assert_allclose(standard_error(terms, np.ones(75)), few * np.sqrt(24 / 74), rtol=1e-12)
    assert n_units(np.ones(75), copies) == 25


@pytest.mark.parametrize("m", [1, 2])
def test_one_or_two_shuffles_have_no_standard_error(m: int) -> None:
    full, donors = pairs(10), shuffles(m, 10)
    terms = shuffled_pairs(at(full, donors), unchanged(full), donors, np.ones(10))
    assert np.isnan(standard_error(terms, np.ones(10))).all()
    np.testing.assert_allclose(terms.repeats, (at(full, donors) - unchanged(full)[:, None]).mean(axis=2), atol=1e-13)


def test_by_donor_averages_what_each_row_gave() -> None:
    donors: Any = np.array([[1, 2, 0], [1, 0, 2]])
    np.testing.assert_allclose(by_donor(np.array([[[1.0, 2, 3], [5, 6, 7]]]), donors), [[4.5, 3, 4.5]])


def test_ties_are_those_to_rounding_of_the_largest_draw() -> None:
    """Also where another draw is 0, or infinite."""
    draws = np.array([0.0, 0.1 + 0.2, 0.3, np.inf])
    assert [int(count) for count in as_extreme(draws, 0.3)] == [3, 3]
    assert [int(count) for count in as_extreme(draws, 0.3, np.array(0.0))] == [3, 2]
    apart = np.array([0.0, 0.3 + 1e-11, 0.3])
    assert [int(count) for count in as_extreme(apart, 0.3)] == [2, 2]
    columns = as_extreme(np.column_stack([draws, 1e6 * draws]), np.array([0.3, 3e5]))
    assert [count.tolist() for count in columns] == [[3, 3], [3, 3]]
