"""The graphical lasso and the search of its penalty: optimality conditions, the duality gap, grids by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from uq_report.core.support.arrays import FloatArray
from uq_report.methods.cid import precision
from uq_report.methods.cid.cid import UnfitError
from uq_report.methods.cid.precision import graphical_lassos


def covariances(m: int = 3, d: int = 5, n: int = 60) -> FloatArray:
    """Return covariances of different scales, with some large entries."""
    rng = np.random.default_rng(3)
    mixed = rng.normal(size=(m, n, d)) @ (np.eye(d) + 0.6 * np.triu(rng.normal(size=(d, d)), 1))
    return np.stack([np.cov((0.5 + k) * mixed[k], rowvar=False, bias=True) for k in range(m)])


def objective(T: FloatArray, S: FloatArray, penalty: float) -> float:
    beside = np.abs(T).sum() - np.abs(np.diag(T)).sum()
    return float(np.trace(S @ T) - np.linalg.slogdet(T)[1] + penalty * beside)


def test_answers_meet_the_optimality_conditions() -> None:
    """S - inv(T) is -penalty times the sign of an edge, within the penalty elsewhere, and 0 on the diagonal."""
    S, penalties = covariances(), np.array([0.05, 0.3, 1.2])
    found = graphical_lassos(S, penalties, precision.diagonal_start(S))
    assert found.proven.all()
    for T, s, penalty in zip(found.precision, S, penalties, strict=True):
        gradient, edge = s - np.linalg.inv(T), (T != 0) & ~np.eye(5, dtype=bool)
        assert 0 < edge.sum() < 20, "some edges, not all"
        np.testing.assert_allclose(np.diag(gradient), 0, atol=2e-4)
        np.testing.assert_allclose(gradient[edge], -penalty * np.sign(T)[edge], atol=2e-4)
        assert (np.abs(gradient[~edge]) <= penalty + 2e-4).all()


def test_the_gap_is_the_objective_less_its_dual() -> None:
    """Without a proof it is infinite; at the start without edges it has the closed form."""
    S = np.array([[[2.0, 0.6], [0.6, 1.0]]])
    problems = precision._Problems(S, 0.2 * (1 - np.eye(2))[None])
    T = precision.diagonal_start(S)
    assert T.tolist() == [[[0.5, 0.0], [0.0, 1.0]]]
    dual = np.array([[2.0, 0.4], [0.4, 1.0]])  # the inverse of T is 0.6 away, 0.2 of which are allowed
    assert precision._gaps(T, problems)[0] == pytest.approx(objective(T[0], S[0], 0.2) - np.linalg.slogdet(dual)[1] - 2)
    unproven = precision._gaps(
        np.array([[[1.0, 0.5], [0.5, 1.0]]]), precision._Problems(np.ones((1, 2, 2)), np.zeros((1, 2, 2)))
    )
    assert unproven.tolist() == [np.inf]
    assert precision.Solved(T, np.array([1e-5])).proven.all()
    assert not precision.Solved(T, np.array([1.01e-5])).proven.any()


def test_the_objective_is_infinite_where_a_matrix_is_not_positive_definite() -> None:
    good, bad = np.diag([2.0, 3.0]), np.diag([1.0, -1.0])
    assert precision._log_determinants(np.stack([good, bad, good])).tolist() == pytest.approx(
        [np.log(6), -np.inf, np.log(6)]
    )
    problems = precision._Problems(np.stack([np.eye(2)] * 2), np.stack([0.3 * (1 - np.eye(2))] * 2))
    T = np.array([[2.0, -0.5], [-0.5, 1.0]])
    expected = [objective(T, np.eye(2), 0.3), np.inf]
    assert problems.objective(np.stack([T, bad])).tolist() == pytest.approx(expected)


def test_signs_of_zeros_are_those_to_which_the_gradient_pulls() -> None:
    T = np.array([[[1.0, 0.0], [0.0, -2.0]]])
    for pull, sign in ((0.3, -1.0), (-0.3, 1.0), (0.2, 0.0), (0.1, 0.0)):
        G = np.array([[[5.0, pull], [pull, 5.0]]])
        assert precision._signs(T, G, np.full((1, 2, 2), 0.2)).tolist() == [[[1.0, sign], [sign, -1.0]]]


def test_the_bound_of_the_error_is_in_units_of_the_precision() -> None:
    """sqrt(4) sqrt(9) |G_01 + a| twice, and 4 |G_00|, 9 |G_11|, where there are signs."""
    T, G = np.diag([4.0, 9.0])[None], np.array([[[0.1, 0.3], [0.3, -0.2]]])
    a = np.array([[[0.0, 0.5], [0.5, 0.0]]])
    signs = np.array([[[1.0, -1.0], [-1.0, 1.0]]])
    assert precision._error(T, G, a, signs)[0] == pytest.approx(4 * 0.1 + 9 * 0.2 + 2 * 6 * 0.2)
    assert precision._error(T, G, a, np.eye(2)[None])[0] == pytest.approx(4 * 0.1 + 9 * 0.2)


def test_a_step_that_rises_is_halved_until_it_falls() -> None:
    """One step to the middle is enough for the first; the second may go all the way."""
    problems = precision._Problems(np.ones((2, 1, 1)), np.zeros((2, 1, 1)))  # least at T = 1
    T, aim = np.full((2, 1, 1), 2.0), np.array([[[-0.5]], [[1.5]]])
    value = problems.objective(T)
    reached, now = precision._towards(aim, T, value, problems)
    assert reached.ravel().tolist() == [0.75, 1.5]
    np.testing.assert_allclose(now, problems.objective(reached))
    assert T.ravel().tolist() == [2.0, 2.0], "the start is not written to"
    flat, same = precision._towards(
        np.full((1, 1, 1), -1.0), np.ones((1, 1, 1)), np.ones(1), problems.of(np.array([0]))
    )
    assert flat.item() == pytest.approx(1.0, abs=1e-5)
    assert same.item() == pytest.approx(1.0)


def test_linear_equations_on_the_free_entries_are_solved() -> None:
    W = covariances(2, 4)
    T = np.asarray(np.linalg.inv(W), dtype=float)
    free = np.broadcast_to(np.eye(4) + (np.add.outer(np.arange(4), np.arange(4)) == 3), W.shape).astype(float)
    right = covariances(4, 4)[2:]
    X = precision._solution(W, T, free, right)
    np.testing.assert_allclose((W @ X @ W) * free, right * free, atol=1e-5 * np.abs(right).max())
    assert (X[free == 0] == 0).all()


def test_a_system_that_is_solved_at_once_leaves_the_others_to_be_solved() -> None:
    W = precision._inverses(covariances(4, 4)[:2])
    T, free = precision._inverses(W), np.ones_like(W)
    right = covariances(4, 4)[2:] * np.array([0.0, 1.0])[:, None, None]
    X = precision._solution(W, T, free, right)
    assert not X[0].any()
    np.testing.assert_allclose((W @ X @ W)[1], right[1], atol=1e-5 * np.abs(right).max())


@pytest.mark.parametrize("edges", ["those of the estimate", "none"])
def test_the_least_of_the_model_meets_its_own_conditions(edges: str) -> None:
    """The gradient S - 2 W + W X W is -a sign(X) on edges, also on those that were none, and within a elsewhere."""
    S = covariances(2)
    a = np.array([0.1, 0.6])[:, None, None] * ~np.eye(5, dtype=bool)
    T = precision.diagonal_start(S)
    W = precision._inverses(T)
    signs = np.broadcast_to(np.eye(5), S.shape) if edges == "none" else precision._signs(T, S - W, a)
    X = precision._least_of_model(precision._Problems(S, a), T, W, signs)
    gradient, edge = S - 2 * W + W @ X @ W, X != 0
    np.testing.assert_allclose(gradient[edge], -(a * np.sign(X))[edge], atol=1e-4)
    assert (np.abs(gradient) <= a + 1e-4)[~edge].all()
    assert (~edge).any()
    assert (edge.sum(axis=(1, 2)) > 5).any()


def test_a_path_begins_below_the_largest_covariance_and_ends_above_the_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    S = np.array([[[1.0, -0.5], [-0.5, 4.0]]])
    assert float(precision.largest_covariance(S)) == 0.5
    asked: list[float] = []

    def solved(S: Any, penalties: FloatArray, start: FloatArray) -> Any:
        asked.extend(penalties)
        return SimpleNamespace(precision=start)

    monkeypatch.setattr(precision, "graphical_lassos", solved)
    precision.start_from_afar(S, 0.004)
    assert asked == pytest.approx([0.1, 0.02])
    asked.clear()
    precision.start_from_afar(S, 0.1)
    assert asked == []


def test_an_ill_conditioned_precision_is_refused_from_ten_billion_on() -> None:
    fine, facts = precision._checked(np.diag([1.0, 0.9e10]), 0.1, "lasso")
    assert (fine[1, 1], facts) == (0.9e10, {"penalty": 0.1, "graph": "lasso", "condition": pytest.approx(0.9e10)})
    for value in (1e10, 1.05e10, np.inf):
        with pytest.raises(UnfitError, match="must not be collinear"):
            precision._checked(np.diag([1.0, value]), 0.1, "lasso")


def test_partial_correlations_of_a_chain() -> None:
    """-T_ij / sqrt(T_ii T_jj), 0 on the diagonal."""
    T = np.array([[4.0, -1.0, 0.0], [-1.0, 1.0, 0.3], [0.0, 0.3, 9.0]])
    np.testing.assert_allclose(
        precision.partial_correlations(T), [[0, 0.5, 0], [0.5, 0, -0.1], [0, -0.1, 0]], atol=1e-15
    )
