"""Bayesian ridges from products, against scikit-learn's of the rows."""

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

from uq_report.core.arrays import FloatArray
from uq_report.methods.cid.corrected import importance_map
from uq_report.methods.cid.ridge import Products, bayesian_ridges


def theirs(X: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(BayesianRidge(tol=1e-6, fit_intercept=False).fit(X, y).coef_)


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1.0, 30.0])
def test_coefficients_are_those_of_scikit_learn_for_each_problem(noise: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 60, 3)) @ np.diag([1.0, 0.01, 10.0])
    y = X @ [1.0, -5.0, 0.2] + noise * rng.normal(size=(5, 60)) + 0.3
    products = Products(
        X.transpose(0, 2, 1) @ X,
        np.einsum("mnk,mn->mk", X, y),
        (y**2).sum(axis=1),
        y.sum(axis=1),
        np.full(5, 60.0),
    )
    expected = [theirs(*one) for one in zip(X, y, strict=True)]
    np.testing.assert_allclose(bayesian_ridges(products), expected, rtol=1e-8, atol=1e-10)


def test_no_importance_at_all_has_no_coefficients() -> None:
    assert not bayesian_ridges(Products(np.eye(2)[None], np.zeros((1, 2)), *np.array([[0.0], [0.0], [9.0]]))).any()


def test_the_map_leaves_out_each_feature_and_has_a_row_of_zeros_per_set() -> None:
    rng = np.random.default_rng(1)
    sets, d = 12, 9
    terms = rng.random((sets, d, 4))
    importance = terms @ [-0.5, 1.0, 0.2, 0.1] + 0.05 * rng.normal(size=(sets, d))
    fitted = importance_map(importance, terms)

    def rows(kept: list[int]) -> FloatArray:
        X = np.vstack([terms[:, kept].reshape(-1, 4), np.zeros((sets, 4))])
        return theirs(X, np.concatenate([importance[:, kept].ravel(), np.zeros(sets)]))

    np.testing.assert_allclose(fitted.coefficients, rows(list(range(d))), rtol=1e-8)
    for j in range(d):
        np.testing.assert_allclose(fitted.left_out[j], rows([k for k in range(d) if k != j]), rtol=1e-8)
    predicted = np.einsum("sjk,jk->sj", terms, fitted.left_out)
    left = ((importance - predicted) ** 2).sum() / ((importance - importance.mean()) ** 2).sum()
    assert fitted.r2_left_out == pytest.approx(1 - left)
    assert importance_map(importance[:, :1], terms[:, :1]).left_out.tolist() == [[0.0] * 4], "nothing is left to fit"
