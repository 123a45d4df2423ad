"""Information given any features, against closed forms and enumeration; covering sets against known ones."""

from itertools import product

import numpy as np
import pytest

from uq_report.core.model.sampling import Sampling
from uq_report.core.support.arrays import FloatArray
from uq_report.methods.cid.cid import (
    Greedy,
    discrete_log_p,
    gaussian_log_p,
    gaussian_terms,
    mixed_log_p,
    mixed_terms,
    normal_log_p,
)
from uq_report.methods.cid.estimate import related_by_cells, related_by_correlation, with_indicators


def rows_with(covariance: FloatArray, n: int = 400) -> FloatArray:
    """Rows whose covariance is exactly the given one."""
    raw = np.random.default_rng(0).normal(size=(n, len(covariance)))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(raw.T @ raw / n)).T
    return np.asarray(white @ np.linalg.cholesky(covariance).T)


def test_three_normals_have_the_known_conditional_information() -> None:
    """I(X; Y | Z) = -log(1 - r²)/2 with the partial correlation r of X and Y given Z."""
    xz, yz, xy = 0.6, 0.5, 0.7
    S = np.array([[1, xz, xy], [xz, 1, yz], [xy, yz, 1]])
    given = gaussian_log_p(rows_with(S), np.asarray(np.linalg.inv(S)))
    partial = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    assert (given((0, 1)) - given((1,))).mean() == pytest.approx(-0.5 * np.log(1 - partial**2), abs=1e-12)
    assert (given((0,)) - given(())).mean() == pytest.approx(-0.5 * np.log(1 - xy**2), abs=1e-12)
    mean = normal_log_p(S, np.arange(4))
    assert mean((0, 1)) - mean((1,)) == pytest.approx(-0.5 * np.log(1 - partial**2), abs=1e-6)


def test_information_given_all_others_is_that_of_the_terms() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    S = A @ A.T + np.eye(4)
    T = np.asarray(np.linalg.inv(S))
    Z = rng.multivariate_normal(np.zeros(4), S, size=20)
    terms, given = gaussian_terms(Z, T), gaussian_log_p(Z, T)
    np.testing.assert_allclose(given((0, 1, 2)) - given((0, 2)), terms.conditional[:, 1], atol=1e-10)
    np.testing.assert_allclose(given((1,)) - given(()), terms.mutual[:, 1], atol=1e-10)
    y, means, prior = rng.integers(3, size=20), rng.normal(size=(3, 4)), np.log([0.2, 0.3, 0.5])
    classes = mixed_terms(Z, y, prior, means, np.repeat(T[None], 3, axis=0))
    of_class = mixed_log_p(Z, y, prior, means, T)
    np.testing.assert_allclose(of_class((0, 1, 2, 3)) - of_class((0, 2, 3)), classes.conditional[:, 1], atol=1e-10)
    np.testing.assert_allclose(of_class((1,)) - of_class(()), classes.mutual[:, 1], atol=1e-10)


def test_cells_have_the_information_of_their_field_by_enumeration() -> None:
    """x1 -> x2 -> y is a pairwise field, so log-odds of y are additive; every state as often as its probability."""
    states = np.array(list(product(range(2), range(2), range(2))))
    kept, other = 0.8, 0.2
    p = 0.5 * np.where(states[:, 0] == states[:, 1], kept, other) * np.where(states[:, 1] == states[:, 2], kept, other)
    codes = np.repeat(states, np.round(p * 10_000).astype(int), axis=0)
    given = discrete_log_p(codes, 1e-6)
    entropy = -(kept * np.log(kept) + other * np.log(other))
    far = kept**2 + other**2
    second = np.log(2) - entropy
    first = np.log(2) + far * np.log(far) + (1 - far) * np.log(1 - far)
    assert (given((0,)) - given(())).mean() == pytest.approx(first, abs=1e-6)
    assert (given((1,)) - given(())).mean() == pytest.approx(second, abs=1e-6)
    assert (given((0, 1)) - given((1,))).mean() == pytest.approx(0, abs=1e-6)
    assert (given((0, 1)) - given((0,))).mean() == pytest.approx(second - first, abs=1e-6)
    related = related_by_cells(codes[:, :-1], len(codes))
    sampling = Sampling(np.full(len(codes), 1 / len(codes)), len(codes))
    greedy = Greedy(given, with_indicators(np.empty((len(codes), 0)), codes), related, sampling, 0.005, 5)
    assert [[step.partner for step in greedy.steps(j)] for j in range(2)] == [[None, 1], [None, 0]]


def test_the_partner_that_covers_most_comes_first() -> None:
    """y follows x0; x1 and x2 repeat it with noise, x2 with more: x0 covers both, x1 most of x0."""
    x, n = 1.0, 2000
    S = np.array([[x, x, x, x], [x, x + 0.2, x, x], [x, x, x + 1.0, x], [x, x, x, x + 1.0]])
    Z, T = rows_with(S, n), np.asarray(np.linalg.inv(S))
    sampling = Sampling(np.full(n, 1 / n), n)
    related = related_by_correlation(Z[:, :-1], n)
    greedy = Greedy(gaussian_log_p(Z, T), normal_log_p(S, np.arange(5)), related, sampling, 0.005, 5)
    partners = [[step.partner for step in greedy.steps(j)][1:] for j in range(3)]
    assert [one[0] for one in partners] == [1, 0, 0]
    assert partners[1] == partners[2] == [0], "given x0 nothing is left of what the others say about y"


def test_independent_columns_are_not_tried() -> None:
    rng = np.random.default_rng(0)
    tried = [related_by_correlation(rng.normal(size=(200, 10)), 200) for _ in range(100)]
    rate = np.mean([(one.sum(axis=1) > 1).mean() for one in tried])
    assert rate < 0.08, "5% of the features have one that chance relates to them"
    cells = [related_by_cells(rng.integers(3, size=(300, 5)), 300) for _ in range(100)]
    assert np.mean([(one.sum(axis=1) > 1).mean() for one in cells]) < 0.08


@pytest.mark.parametrize(
    ("z", "columns", "units", "related"),
    [
        (1.961, 2, 28, True),  # the normal quantiles of 97.5% and, of three columns, 98.75%
        (1.959, 2, 28, False),
        (1.961, 3, 28, False),
        (2.242, 3, 28, True),
        (2.240, 3, 28, False),
        (1.961, 2, 27, False),
    ],
)
def test_columns_are_related_by_fishers_z(z: float, columns: int, units: int, related: bool) -> None:
    """28 rows, arctanh r = z / 5, whatever the sign; the third column is uncorrelated with both."""
    base = np.linalg.qr(np.column_stack([np.ones(28), np.random.default_rng(0).normal(size=(28, 3))]))[0][:, 1:]
    r = np.tanh(z / 5)
    Z = np.column_stack([base[:, 0], -r * base[:, 0] + np.sqrt(1 - r**2) * base[:, 1], base[:, 2]])[:, :columns]
    expected = np.eye(columns, dtype=bool)
    expected[:2, :2] |= related
    np.testing.assert_array_equal(related_by_correlation(Z, units), expected)


def test_three_units_relate_nothing_and_a_column_itself() -> None:
    Z = np.random.default_rng(0).normal(size=(3, 1)) @ np.ones((1, 2))
    assert related_by_correlation(Z, 3).tolist() == np.eye(2).tolist()
    assert related_by_correlation(Z[:, :1], 3).tolist() == [[True]]


@pytest.mark.parametrize(
    ("same", "columns", "units", "related"),
    [(30, 2, 100, True), (29, 2, 100, False), (30, 2, 50, False), (30, 3, 100, False), (32, 3, 100, True)],
)
def test_cells_are_related_by_the_likelihood_ratio(same: int, columns: int, units: int, related: bool) -> None:
    """G = 4 (a log(a/25) + b log(b/25)) for a and b = 50 - a of each kind: 4.03 of 30, 2.57 of 29, 7.95 of 32.

    The quantile of 95% is 3.84, of 97.5% 5.02; half as many units have half the G.
    """
    a = np.repeat([0, 1], 50)
    b = np.where(np.arange(100) % 50 < same, a, 1 - a)
    codes = np.column_stack([a, b, np.arange(100) % 2])[:, :columns]
    found = related_by_cells(codes, units)
    assert found[0, 1] == found[1, 0] == related
    assert found.diagonal().all()
    assert not found[0, 2:].any()
