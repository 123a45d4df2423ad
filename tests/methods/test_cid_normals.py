"""Fitted normals and fields of covered information against densities and sums worked out another way."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from uq_report.core.model.sampling import Sampling
from uq_report.core.support.arrays import FloatArray, IntArray
from uq_report.methods.cid import cid as textbook, precision
from uq_report.methods.cid.cid import Field, Greedy, normal_log_p
from uq_report.methods.cid.estimate import with_indicators


def log_normal(rows: FloatArray, covariance: FloatArray, at: list[int], mean: FloatArray | None = None) -> FloatArray:
    """Return the log density of some columns, 0 of none."""
    if not at:
        return np.zeros(len(rows))
    centre = np.zeros(len(at)) if mean is None else mean[at]
    return np.atleast_1d(multivariate_normal(centre, covariance[np.ix_(at, at)]).logpdf(rows[:, at]))


COVARIANCE = np.array([[2.0, 0.9, 0.3, 0.8], [0.9, 1.0, 0.2, 0.5], [0.3, 0.2, 0.5, -0.1], [0.8, 0.5, -0.1, 3.0]])
ROWS = np.random.default_rng(5).multivariate_normal(np.zeros(4), COVARIANCE, 6)


@pytest.mark.parametrize("chosen", [(), (1,), (2, 0), (0, 1, 2)])
def test_log_p_of_a_normal_is_the_ratio_of_two_densities(chosen: tuple[int, ...]) -> None:
    found = textbook.gaussian_log_p(ROWS, np.linalg.inv(COVARIANCE))(chosen)
    at = list(chosen)
    np.testing.assert_allclose(found, log_normal(ROWS, COVARIANCE, [*at, 3]) - log_normal(ROWS, COVARIANCE, at))


def test_terms_of_columns_of_any_scale_are_ratios_of_densities() -> None:
    terms = textbook.gaussian_terms(ROWS, np.linalg.inv(COVARIANCE))
    for i in range(3):
        rest = [k for k in range(3) if k != i]
        y, x, both = (log_normal(ROWS, COVARIANCE, at) for at in ([3], [i], [i, 3]))
        np.testing.assert_allclose(terms.mutual[:, i], both - x - y)
        all_, u, xu, yu = (log_normal(ROWS, COVARIANCE, at) for at in ([*rest, i, 3], rest, [*rest, i], [*rest, 3]))
        np.testing.assert_allclose(terms.conditional[:, i], all_ + u - xu - yu)


def test_half_potentials_halve_the_precision_beside_its_diagonal() -> None:
    T = np.array([[2.0, -0.8], [-0.8, 1.0]])
    found, whole = (make(ROWS[:, :2], T) for make in (textbook.half_potential_terms, textbook.gaussian_terms))
    np.testing.assert_allclose(found.mutual, whole.mutual)
    weak = np.array([[1.0, 0.4], [0.4, 2.0]]) / 1.84  # the inverse of the halved one
    y, x, both = (log_normal(ROWS[:, :2], weak, at) for at in ([1], [0], [0, 1]))
    np.testing.assert_allclose(found.conditional[:, 0], both - x - y)


MEANS = np.array([[0.0, 0.0, 0.0], [1.0, -0.5, 0.2], [-1.0, 0.4, 2.0]])
PRIOR = np.array([0.5, 0.3, 0.2])
CLASSES = np.array([0, 1, 2, 0, 1, 2])


def posterior(covariances: FloatArray, at: list[int]) -> FloatArray:
    """Return log p(class | x_S) of each row's own class by Bayes' rule."""
    parts = [np.log(p) + log_normal(ROWS[:, :3], S, at, m) for p, S, m in zip(PRIOR, covariances, MEANS, strict=True)]
    joint = np.stack(parts)
    return np.asarray(joint[CLASSES, np.arange(6)] - np.log(np.exp(joint).sum(axis=0)))


def test_terms_of_normals_with_a_covariance_per_class_follow_bayes_rule() -> None:
    S = np.stack([COVARIANCE[:3, :3], np.diag([0.5, 2.0, 1.0]), COVARIANCE[:3, :3] * 0.7])
    terms = textbook.mixed_terms(ROWS[:, :3], CLASSES, np.log(PRIOR), MEANS, np.linalg.inv(S))
    for i in range(3):
        rest = [k for k in range(3) if k != i]
        np.testing.assert_allclose(terms.mutual[:, i], posterior(S, [i]) - np.log(PRIOR)[CLASSES])
        np.testing.assert_allclose(terms.conditional[:, i], posterior(S, [0, 1, 2]) - posterior(S, rest))


@pytest.mark.parametrize("chosen", [(), (1,), (2, 0), (0, 1, 2)])
def test_log_p_of_a_class_follows_bayes_rule(chosen: tuple[int, ...]) -> None:
    S = COVARIANCE[:3, :3]
    found = textbook.mixed_log_p(ROWS[:, :3], CLASSES, np.log(PRIOR), MEANS, np.linalg.inv(S))(chosen)
    np.testing.assert_allclose(found, posterior(np.stack([S] * 3), list(chosen)))


def test_normal_scores_have_variance_1_and_are_quantiles_of_mid_ranks() -> None:
    scores = textbook.normal_scores(np.array([[3.0, 1.0], [1.0, 1.0], [2.0, 5.0], [9.0, 7.0]]))
    np.testing.assert_allclose(scores.std(axis=0), 1)
    assert scores[0, 0] == -scores[2, 0] > 0
    assert scores[3, 0] == -scores[1, 0]
    assert scores[0, 1] == scores[1, 1]
    three = textbook.normal_scores(np.array([[1.0], [2.0], [3.0]]))
    assert three[1, 0] == 0
    ratio = scores[3, 0] / scores[0, 0]
    assert ratio == pytest.approx(1.1503493803760083 / 0.3186393639643752), "quantiles 7/8 and 5/8 of the normal"


def test_the_mean_of_log_p_is_half_the_log_variance_that_is_left() -> None:
    """Of a target of one column: -log(variance of y given x_S) / 2; of one of two, the log determinant."""
    mean = normal_log_p(COVARIANCE, np.arange(5))
    for at in ([0], [2, 1], [0, 1, 2]):
        left = COVARIANCE[3, 3] - COVARIANCE[3, at] @ np.linalg.inv(COVARIANCE[np.ix_(at, at)]) @ COVARIANCE[at, 3]
        assert mean(tuple(at)) == pytest.approx(-0.5 * np.log(left), rel=1e-6)
    S = COVARIANCE
    left = S[2:, 2:] - S[2:, :2] @ np.linalg.inv(S[:2, :2]) @ S[:2, 2:]
    assert normal_log_p(S, np.array([0, 2, 4]))((0,)) == pytest.approx(-0.5 * np.log(np.linalg.det(left)), rel=1e-6)
    copies = np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])
    assert np.isfinite(normal_log_p(copies, np.arange(4))((0, 1))), "columns may repeat each other"


def test_indicators_are_of_all_cells_but_the_first() -> None:
    """Column a, then cells of three levels, then a class of two: starts 0, 1, 3, 4."""
    rng = np.random.default_rng(2)
    a, codes = rng.normal(size=(40, 1)), np.column_stack([np.arange(40) % 3, rng.integers(2, size=40)])
    codes[:4] = [[0, 0], [1, 1], [2, 0], [2, 1]]
    shown = np.column_stack([a, codes[:, 0] == 1, codes[:, 0] == 2, codes[:, 1] == 1])
    expected = normal_log_p(np.cov(shown, rowvar=False), np.array([0, 1, 3, 4]))
    found = with_indicators(a, codes)
    for chosen in ((0,), (1,), (0, 1)):
        assert found(chosen) == pytest.approx(expected(chosen))


def greedy(gains: dict[tuple[int, ...], float], **options: float) -> list[tuple[int | None, float]]:
    """Return the steps for feature 0 where log p(y | x_S) is the same in all of 4 rows."""
    n = 4
    search = Greedy(
        lambda chosen: np.full(n, gains[tuple(sorted(chosen))]),
        lambda chosen: gains[tuple(sorted(chosen))],
        np.ones((3, 3), dtype=bool),
        Sampling(np.full(n, 1 / n), n),
        options.get("min_gain", 0.25),
        int(options.get("max_cover", 2)),
    )
    return [(step.partner, float(step.information.mean())) for step in search.steps(0)]


def test_a_step_that_gains_the_least_gain_is_taken_and_none_beyond_the_largest_set() -> None:
    """1 nat alone, 0.5 given the second feature, 0.25 given both."""
    gains = {(): 0.0, (0,): 1.0, (1,): 0.25, (2,): 0.5, (0, 1): 1.125, (0, 2): 1.0, (1, 2): 0.75, (0, 1, 2): 1.0}
    assert greedy(gains) == [(None, 1.0), (2, 0.5), (1, 0.25)]
    assert greedy(gains, max_cover=1) == [(None, 1.0), (2, 0.5)]
    assert greedy(gains, min_gain=0.26) == [(None, 1.0), (2, 0.5)]
    assert greedy(gains, min_gain=0.5) == [(None, 1.0), (2, 0.5)]
    assert greedy(gains, min_gain=0.51) == [(None, 1.0)]
    assert greedy({**gains, (0,): 0.25, (0, 2): 0.5}, min_gain=0.25) == [(None, 0.25), (2, 0.0)]


def small_field() -> tuple[Field, IntArray, FloatArray]:
    """Return a field of nodes of 2, 3 and 2 states, all its states and their probabilities."""
    starts, rng = np.array([0, 2, 5, 7]), np.random.default_rng(4)
    node = np.repeat(np.arange(3), [2, 3, 2])
    pair = np.triu(rng.normal(size=(7, 7)) * (node[:, None] != node))
    field = Field(starts, rng.normal(size=7), pair + pair.T)
    states = np.array(list(product(range(2), range(3), range(2))))
    at = states + starts[:-1]
    energy = [sum(field.unary[r]) + sum(field.pair[r[i], r[j]] for i in range(3) for j in range(i)) for r in at]
    return field, states, np.exp(energy) / np.exp(energy).sum()


def test_a_field_has_each_pair_once() -> None:
    field, states, p = small_field()
    log_p = textbook.log_probabilities(states, field)
    np.testing.assert_allclose(np.exp(log_p) / np.exp(log_p).sum(), p)
    assert field.block(1) == slice(2, 5)


def test_terms_of_a_field_hold_no_array_of_rows_and_nodes_and_states() -> None:
    nodes, n = 60, 400
    field = Field(np.arange(nodes + 1) * 2, np.zeros(2 * nodes), np.zeros((2 * nodes, 2 * nodes)))
    codes = np.random.default_rng(0).integers(0, 2, (n, nodes))
    tracemalloc.start()
    textbook.discrete_terms(codes, field)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n * nodes * 8 < peak < n * nodes * 2 * nodes * 8 / 4


def test_terms_of_a_field_are_ratios_of_its_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    field, states, p = small_field()
    table = p.reshape(2, 3, 2)
    terms = textbook.discrete_terms(states, field)
    for (a, b, y), mutual, conditional in zip(states, terms.mutual, terms.conditional, strict=True):
        assert mutual[0] == pytest.approx(np.log(table[a, :, y].sum() / (table[a].sum() * table[:, :, y].sum())))
        assert mutual[1] == pytest.approx(np.log(table[:, b, y].sum() / (table[:, b].sum() * table[:, :, y].sum())))
        given_b, given_a = table[:, b] / table[:, b].sum(), table[a] / table[a].sum()
        assert conditional[0] == pytest.approx(np.log(given_b[a, y] / (given_b[a].sum() * given_b[:, y].sum())))
        assert conditional[1] == pytest.approx(np.log(given_a[b, y] / (given_a[b].sum() * given_a[:, y].sum())))
    few = states[[0, 0, 3, 11]]
    observed = np.array([[0.5, 0.25], [0.0, 0.25]]), np.array([[0.5, 0.0], [0.0, 0.25], [0.0, 0.25]])
    for most, expected in ((12, (table.sum(axis=1), table.sum(axis=0))), (11, observed)):
        monkeypatch.setattr(textbook, "MAX_ENUMERATED", most)
        for found, own in zip(textbook.pair_marginals(few, field), expected, strict=True):
            np.testing.assert_allclose(found, own)


def test_a_fitted_field_balances_potentials_and_data() -> None:
    """At the least of the penalised pseudo-likelihood of two binary nodes, by numbers of its own.

    -sum log p(a | b) - sum log p(b | a) + penalty/2 sum of squares of the pair potentials, each pair once.
    """
    codes, penalty = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [5, 2, 1, 4], axis=0), 0.7
    fitted = precision.fit_field(codes, penalty=penalty)
    assert fitted.starts.tolist() == [0, 2, 4]
    block = np.ix_([0, 1], [2, 3])

    def loss(unary: FloatArray, pair: FloatArray) -> float:
        logits = unary[:2, None] + unary[2:] * 0 + pair, unary[2:] + unary[:2, None] * 0 + pair
        a, b = logits[0] - np.log(np.exp(logits[0]).sum(axis=0)), logits[1].T - np.log(np.exp(logits[1]).sum(axis=1))
        counts = np.array([[5, 2], [1, 4]])
        return float(-(counts * (a + b.T)).sum() + penalty / 2 * np.square(pair).sum())

    least = loss(fitted.unary, fitted.pair[block])
    for k, step in product(range(8), (1e-3, -1e-3)):
        move = np.where(np.arange(8) == k, step, 0.0)
        assert loss(fitted.unary + move[:4], fitted.pair[block] + move[4:].reshape(2, 2)) >= least - 1e-8
    assert (fitted.pair == fitted.pair.T).all()
    assert not fitted.pair[:2, :2].any()
    unlinked = precision.fit_field(codes, np.eye(2, dtype=bool), penalty)
    assert not unlinked.pair.any()
    assert np.diff(unlinked.unary[:2]).item() == pytest.approx(np.log(5 / 7), abs=1e-4)


def test_log_p_of_cells_is_the_share_of_y_alone_and_nearly_that_of_each_cell_without_a_penalty() -> None:
    codes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [5, 2, 1, 4], axis=0)
    log_p = textbook.discrete_log_p(codes, 1e-6)
    np.testing.assert_allclose(np.exp(log_p(())), 0.5)
    np.testing.assert_allclose(np.exp(log_p((0,))), np.repeat([5 / 7, 2 / 7, 1 / 5, 4 / 5], [5, 2, 1, 4]), atol=1e-4)
    shrunk = np.exp(textbook.discrete_log_p(codes, 10.0)((0,)))
    assert 0.5 < shrunk[0] < 0.6
