"""Covered information against exact enumeration and closed forms (METHODS of Pereira et al., definition 2.3)."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from uq_report.core.support.arrays import FloatArray, IntArray
from uq_report.core.support.errors import InputError
from uq_report.methods.cid.cid import (
    Field,
    covered_share,
    discrete_terms,
    gaussian_terms,
    importance_map,
    log_probabilities,
    mixed_terms,
    normal_scores,
    regressors,
)
from uq_report.methods.cid.precision import fit_field, graph_precision


def inverse(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.inv(matrix), dtype=float)


def random_field(sizes: list[int], seed: int) -> tuple[Field, IntArray, FloatArray]:
    """A field with random potentials, all its states, and their exact probabilities as a table."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    nodes = np.repeat(np.arange(len(sizes)), sizes)
    pair = np.triu(rng.normal(size=(starts[-1],) * 2) * (nodes[:, None] != nodes))
    field = Field(starts, rng.normal(size=starts[-1]), pair + pair.T)
    states = np.array(list(product(*map(range, sizes))))
    p = np.exp(log_probabilities(states, field))
    return field, states, (p / p.sum()).reshape(sizes)


@pytest.mark.parametrize("sizes", [[2, 2, 2], [2, 3, 2, 3], [3, 2, 2, 2, 2]])
@pytest.mark.parametrize("seed", [0, 1])
def test_discrete_terms_equal_enumeration(sizes: list[int], seed: int) -> None:
    field, states, joint = random_field(sizes, seed)
    terms = discrete_terms(states, field)
    y = len(sizes) - 1
    mutual, conditional = np.empty_like(terms.mutual), np.empty_like(terms.mutual)
    for i in range(y):
        margin = joint.sum(axis=tuple(a for a in range(y) if a != i))
        for r, state in enumerate(states):
            own, outcome = state[i], state[y]
            mutual[r, i] = np.log(margin[own, outcome] / (margin[own].sum() * margin[:, outcome].sum()))
            where: list[int | slice] = list(state)
            where[i] = where[y] = slice(None)
            given = joint[tuple(where)]
            given = given / given.sum()
            conditional[r, i] = np.log(given[own, outcome] / (given[own].sum() * given[:, outcome].sum()))
    np.testing.assert_allclose(terms.mutual, mutual, atol=1e-10)
    np.testing.assert_allclose(terms.conditional, conditional, atol=1e-10)
    p = joint.ravel()
    parts = regressors(terms, p)
    np.testing.assert_allclose(parts[:, 0] - parts[:, 2], p @ (mutual - conditional), atol=1e-10)
    np.testing.assert_allclose(parts[:, 0], p @ np.maximum(mutual - conditional, 0), atol=1e-10)


def test_the_fitted_field_finds_the_information_of_its_own_draws() -> None:
    field, states, joint = random_field([2, 3, 2, 3], 0)
    rng = np.random.default_rng(0)
    n = 100_000
    codes = states[rng.choice(len(states), size=n, p=joint.ravel())]
    found = discrete_terms(codes, fit_field(codes)).covered.mean(axis=0)
    truth = discrete_terms(states, field).covered
    # Three standard errors of a mean over n rows, and the same again for the fitted potentials.
    error = np.sqrt(joint.ravel() @ truth**2 / n)
    np.testing.assert_array_less(np.abs(found - joint.ravel() @ truth), 6 * error)


def test_a_graph_precision_leaves_absent_pairs_at_zero() -> None:
    _, states, joint = random_field([2, 2, 3], 1)
    codes = states[np.random.default_rng(0).choice(len(states), size=500, p=joint.ravel())]
    edges = np.array([[True, False, True], [False, True, True], [True, True, True]])
    field = fit_field(codes, edges)
    assert (field.pair[field.block(0), field.block(1)] == 0).all()
    assert (field.pair[field.block(0), field.block(2)] != 0).any()


def conditional_information(S: FloatArray, z: FloatArray, i: int) -> tuple[float, float]:
    """i(x_i; y) and i(x_i; y | u) of one row from scipy's normal densities."""
    y = len(S) - 1
    u = [a for a in range(y) if a != i]

    def log_density(columns: list[int]) -> float:
        part = multivariate_normal(np.zeros(len(columns)), S[np.ix_(columns, columns)])
        return float(part.logpdf(z[columns]))

    mutual = log_density([i, y]) - log_density([i]) - log_density([y])
    return mutual, log_density([i, y, *u]) + log_density(u) - log_density([i, *u]) - log_density([y, *u])


def test_gaussian_terms_equal_the_densities_row_by_row() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    S = A @ A.T + np.eye(5)
    Z = rng.multivariate_normal(np.zeros(5), S, size=6)
    terms = gaussian_terms(Z, inverse(S))
    expected = np.array([[conditional_information(S, z, i) for i in range(4)] for z in Z])
    np.testing.assert_allclose(terms.mutual, expected[..., 0], atol=1e-10)
    np.testing.assert_allclose(terms.conditional, expected[..., 1], atol=1e-10)


def test_gaussian_averages_have_the_closed_form() -> None:
    """Y = X1 + X2 + e: MI = log(3/2)/2, conditional MI = log(2)/2, so CI = -0.144 although X1, X2 are independent."""
    S = np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 3]])
    Z = np.random.default_rng(0).multivariate_normal(np.zeros(3), S, size=200_000)
    terms = gaussian_terms(Z, inverse(S))
    error = terms.covered.std() / np.sqrt(len(Z))
    np.testing.assert_allclose(terms.covered.mean(axis=0), 0.5 * np.log(1.5) - 0.5 * np.log(2), atol=4 * error)
    redundant = regressors(terms)[:, 0]
    assert (redundant > 0.1).all(), "the redundant part alone is positive even for independent features"
    assert covered_share(terms.covered.mean(axis=0), terms.mutual.mean(axis=0)).tolist() == [0, 0]


def test_a_copy_with_little_noise_is_nearly_all_covered() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    Z = normal_scores(np.column_stack([x, x + 0.1 * rng.normal(size=4000), x + rng.normal(size=4000)]))
    terms = gaussian_terms(Z, inverse(np.cov(Z.T)))
    share = covered_share(terms.covered.mean(axis=0), terms.mutual.mean(axis=0))
    assert (share > 0.9).all()


def test_mixed_terms_equal_bayes_rule() -> None:
    rng = np.random.default_rng(0)
    k, d = 3, 4
    means = rng.normal(size=(k, d))
    roots = rng.normal(size=(k, d, d))
    S = roots @ roots.transpose(0, 2, 1) + np.eye(d)
    prior = np.array([0.2, 0.3, 0.5])
    X, y = rng.normal(size=(6, d)), np.array([0, 1, 2, 2, 1, 0])
    terms = mixed_terms(X, y, np.log(prior), means, inverse(S))

    def posterior(row: FloatArray, columns: list[int]) -> FloatArray:
        parts = [
            prior[c] * multivariate_normal(means[c][columns], S[c][np.ix_(columns, columns)]).pdf(row[columns])
            for c in range(k)
        ]
        return np.array(parts) / np.sum(parts)

    for r, row in enumerate(X):
        for i in range(d):
            rest = [a for a in range(d) if a != i]
            one, every, others = posterior(row, [i]), posterior(row, list(range(d))), posterior(row, rest)
            assert terms.mutual[r, i] == pytest.approx(np.log(one[y[r]] / prior[y[r]]), abs=1e-10)
            assert terms.conditional[r, i] == pytest.approx(np.log(every[y[r]] / others[y[r]]), abs=1e-10)


def test_normal_scores_give_ties_one_value_and_keep_order() -> None:
    scores = normal_scores(np.array([[3.0], [1.0], [3.0], [2.0]]))[:, 0]
    raw = norm.ppf((np.array([3.5, 1, 3.5, 2]) - 0.5) / 4)
    np.testing.assert_allclose(scores, raw / raw.std())


def test_the_precision_of_a_given_graph_matches_moments_on_edges_and_zeros_elsewhere() -> None:
    rng = np.random.default_rng(0)
    S = np.cov(rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)), rowvar=False)
    edges = np.eye(4, dtype=bool)
    edges[0, 1] = edges[1, 0] = edges[2, 3] = edges[3, 2] = edges[1, 2] = edges[2, 1] = True
    T = graph_precision(S, edges)
    assert (T[~edges] == 0).all()
    np.testing.assert_allclose(np.linalg.inv(T)[edges], S[edges], rtol=1e-8)


def test_a_matrix_that_is_no_precision_is_refused() -> None:
    with pytest.raises(InputError, match="symmetric positive definite"):
        gaussian_terms(np.zeros((2, 2)), np.array([[1.0, 2], [2, 1]]))


def linear_sets(d: int, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    terms = np.abs(rng.normal(size=(1, d, 4))) + 0.02 * rng.random((30, d, 4))
    return terms @ np.array([-1.0, 2.0, -0.3, 0.2]), terms


def test_the_map_recovers_a_linear_law_and_removes_the_redundant_part() -> None:
    importance, terms = linear_sets(12, 0)
    fitted = importance_map(importance, terms)
    assert fitted.refusals == ()
    np.testing.assert_allclose(fitted.coefficients, [-1, 2, -0.3, 0.2], atol=1e-3)
    np.testing.assert_allclose(fitted.corrected, importance + terms[..., 0], atol=1e-2)


def test_the_gate_names_every_reason() -> None:
    rng = np.random.default_rng(1)
    few = importance_map(*linear_sets(5, 0))
    assert "5 features" in few.refusals[0]
    importance, terms = linear_sets(10, 0)
    noise = importance_map(np.abs(rng.normal(size=(1, 10))) + 0.01 * rng.normal(size=(30, 10)), terms)
    assert any("R²" in reason for reason in noise.refusals)
    positive = importance_map(importance + 3 * terms[..., 0], terms)
    assert any("not negative in 10 of 10" in reason for reason in positive.refusals)


def test_unrelated_importances_rarely_pass_the_gate() -> None:
    """At d = 10 none of 40 random laws may pass: the leave-one-feature-out R² does not reach 0.5 by chance."""
    rng = np.random.default_rng(2)
    passed = 0
    for _ in range(40):
        terms = np.abs(rng.normal(size=(1, 10, 4)) + 0.05 * rng.normal(size=(20, 10, 4)))
        importance = np.abs(rng.normal(size=(1, 10))) + 0.05 * rng.normal(size=(20, 10))
        passed += not importance_map(importance, terms).refusals
    assert passed <= 1
