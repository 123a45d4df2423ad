"""The graphical lasso: scikit-learn at a tight tolerance, the conditions of an optimum, and closed forms."""

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso

from uq_report.core.support.arrays import FloatArray
from uq_report.methods.cid.precision import (
    PROVEN,
    Solved,
    diagonal_start,
    graphical_lassos,
    largest_covariance,
    start_from_afar as afar,
)


def covariance(n: int, d: int, seed: int = 0, factors: int = 3) -> FloatArray:
    """Return the correlations of n rows of d columns that share factors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, factors)) @ rng.normal(size=(factors, d)) + rng.normal(size=(n, d))
    return np.asarray(np.corrcoef(X, rowvar=False))


def sine(n: int = 500) -> FloatArray:
    """Return correlations close to singular: a column is the sine of another."""
    X = np.random.default_rng(1).normal(size=(n, 6)) * 0.3
    X[:, 5] = np.sin(X[:, 4])
    return np.asarray(np.corrcoef(X, rowvar=False))


def solved(S: FloatArray, penalty: float) -> Solved:
    return graphical_lassos(S[None], np.array([penalty]), afar(S[None], penalty))


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("S", [covariance(200, 6), covariance(400, 15), covariance(16, 20), sine()])
class TestConditions:
    """At the optimum (T^-1 - S)_ij is penalty * sign(T_ij) where T_ij is not 0, at most the penalty elsewhere."""

    def test_of_an_optimum(self, S: FloatArray, share: float) -> None:
        penalty = share * float(largest_covariance(S))
        found = solved(S, penalty)
        T = found.precision[0]
        pull = np.linalg.inv(T) - S
        edges = (T != 0) & ~np.eye(len(S), dtype=bool)
        assert found.proven.all()
        assert 0 <= found.gap[0] + 1e-9 <= PROVEN
        assert (T == T.T).all() or np.allclose(T, T.T, rtol=1e-9)
        np.testing.assert_allclose(np.diag(pull), 0, atol=1e-6)
        np.testing.assert_allclose(pull[edges], (penalty * np.sign(T))[edges], atol=1e-6)
        assert np.abs(pull).max() <= penalty + 1e-6

    def test_scikit_learn_finds_no_lower_objective(self, S: FloatArray, share: float) -> None:
        penalty = share * float(largest_covariance(S))

        def objective(T: FloatArray) -> float:
            off = np.abs(T).sum() - np.abs(np.diag(T)).sum()
            return float((S * T).sum() - np.linalg.slogdet(T)[1] + penalty * off)

        try:
            peer = graphical_lasso(S, penalty, tol=1e-6, enet_tol=1e-8, max_iter=200)[1]
        except FloatingPointError:
            peer = diagonal_start(S[None])[0]  # the peer gives up on this one; the conditions stand above
        found = solved(S, penalty)
        assert objective(found.precision[0]) <= objective(peer) + found.gap[0] + 1e-12


def test_agrees_with_scikit_learn() -> None:
    S = covariance(400, 8)
    for penalty in (0.4, 0.1, 0.01):
        peer = graphical_lasso(S, penalty, tol=1e-10, enet_tol=1e-10, max_iter=2000)[1]
        np.testing.assert_allclose(solved(S, penalty).precision[0], peer, atol=2e-5)


@pytest.mark.parametrize(("r", "penalty"), [(0.5, 0.2), (-0.9, 0.3), (0.3, 0.4), (0.999, 1e-3)])
def test_two_columns(r: float, penalty: float) -> None:
    """The covariance of a pair is r drawn to 0 by the penalty."""
    shrunk = np.sign(r) * max(abs(r) - penalty, 0)
    T = solved(np.array([[1, r], [r, 1.0]]), penalty).precision[0]
    np.testing.assert_allclose(T, np.linalg.inv([[1, shrunk], [shrunk, 1]]), rtol=1e-7)
    assert (T[0, 1] == 0) == (shrunk == 0)


def test_a_penalty_above_every_covariance_leaves_no_edge() -> None:
    S = 3 * covariance(100, 5)
    for penalty, edges in ((1.0001, False), (0.9999, True)):
        T = solved(S, penalty * float(largest_covariance(S))).precision[0]
        assert bool((T[~np.eye(5, dtype=bool)] != 0).any()) == edges
        np.testing.assert_allclose(np.diag(np.linalg.inv(T)), np.diag(S))


def test_columns_that_no_covariance_above_the_penalty_joins_are_solved_apart() -> None:
    S = covariance(300, 8)
    penalty = 0.15
    S[:4, 4:] = np.clip(S[:4, 4:], -0.99 * penalty, 0.99 * penalty)
    S[4:, :4] = S[:4, 4:].T
    T = solved(S, penalty).precision[0]
    assert (T[:4, 4:] == 0).all()
    np.testing.assert_allclose(T[:4, :4], solved(S[:4, :4], penalty).precision[0], atol=1e-6)


def test_problems_together_are_those_alone() -> None:
    S = np.stack([covariance(100, 6, seed) for seed in range(4)])
    penalties = np.array([0.3, 0.1, 0.03, 0.01])
    together = graphical_lassos(S, penalties, diagonal_start(S)).precision
    for T, one, penalty in zip(together, S, penalties, strict=True):
        np.testing.assert_allclose(T, solved(one, penalty).precision[0], atol=1e-5)
