"""Fisher information against the second derivatives of the Kullback-Leibler divergence.

KL(q_a, q_b) = (b - a)' I(a) (b - a) / 2 + O(|b - a|^3), so central second differences in b give I.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, Normal, Poisson, StudentT

# y = sinh(sinh(u)): a trapezoid that converges exponentially, tails included
U = np.linspace(-3.2, 3.2, 4001)
GRID = np.sinh(np.sinh(U))
STEP = np.cosh(np.sinh(U)) * np.cosh(U) * (U[1] - U[0])


def kl_by_grid(make: Callable[[FloatArray], Distribution]) -> Callable[[FloatArray, FloatArray], float]:
    def kl(a: FloatArray, b: FloatArray) -> float:
        log_a, log_b = (make(np.tile(x, (len(GRID), 1))).log_prob(GRID) for x in (a, b))
        return float(np.sum(STEP * np.exp(log_a) * (log_a - log_b)))

    return kl


def second_differences(kl: Callable[[FloatArray, FloatArray], float], at: FloatArray, step: FloatArray) -> FloatArray:
    size = len(at)
    information = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            e, f = np.eye(size)[i] * step, np.eye(size)[j] * step
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            total = sum(s * t * kl(at, at + s * e + t * f) for s, t in signs)
            information[i, j] = total / (4 * step[i] * step[j])
    return information


NORMAL: Callable[[FloatArray], Distribution] = lambda x: Normal(x[:, 0], np.sqrt(x[:, 1]))  # noqa: E731
T5: Callable[[FloatArray], Distribution] = lambda x: StudentT(5, x[:, 0], np.sqrt(x[:, 1]))  # noqa: E731
T: Callable[[FloatArray], Distribution] = lambda x: StudentT(x[:, 2], x[:, 0], np.sqrt(x[:, 1]))  # noqa: E731


@pytest.mark.parametrize(
    ("make", "at"),
    [
        (NORMAL, [0.3, 0.5]),
        (NORMAL, [-1.0, 4.0]),
        (T5, [0.3, 0.5]),
        (T, [0.3, 0.5, 2.5]),
        (T, [0.0, 2.0, 9.0]),
        (T, [0.1, 1.0, 40.0]),
    ],
)
def test_location_scale_families(make: Callable[[FloatArray], Distribution], at: list[float]) -> None:
    point = np.array(at)
    dist = make(point[None])
    np.testing.assert_allclose(dist.parameters[0], point, rtol=1e-14)
    assert len(dist.parametrisation) == len(point)
    step = 0.01 * np.array([np.sqrt(point[1]), point[1], *point[2:]])
    expected = second_differences(kl_by_grid(make), point, step)
    scale = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(
        dist.fisher_information()[0] / np.outer(scale, scale), expected / np.outer(scale, scale), atol=2e-3
    )


def test_poisson() -> None:
    rate = np.array([0.05, 1.0, 30.0])
    np.testing.assert_allclose(Poisson(rate).fisher_information()[:, 0, 0], 1 / rate, rtol=1e-15)
    for x in rate:
        kl = lambda a, b: float(special.xlogy(a, a / b)[0] - a[0] + b[0])  # noqa: E731
        np.testing.assert_allclose(second_differences(kl, np.array([x]), np.array([0.01 * x]))[0, 0], 1 / x, rtol=1e-3)


def test_categorical_along_directions_that_sum_to_0() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2.0, 3.0, 5.0, 1.0], 10)
    direction = rng.normal(size=p.shape)
    direction -= direction.mean(axis=1, keepdims=True)
    dist, h = Categorical(p), 1e-3 * p.min(axis=1, keepdims=True)
    curvature = (stats.entropy(p, p + h * direction, axis=1) + stats.entropy(p, p - h * direction, axis=1)) / h[
        :, 0
    ] ** 2
    np.testing.assert_allclose(dist.fisher_norm(direction) ** 2, curvature, rtol=1e-3)
    by_matrix = np.einsum("ni,nij,nj->n", direction, dist.fisher_information(), direction)
    np.testing.assert_allclose(dist.fisher_norm(direction) ** 2, by_matrix, rtol=1e-12)


def test_two_classes_are_the_bernoulli() -> None:
    p = np.array([[0.3, 0.7]])
    np.testing.assert_allclose(Categorical(p).fisher_norm(np.array([[-2.0, 2.0]])), 2 / np.sqrt(0.3 * 0.7), rtol=1e-14)


def test_a_class_of_probability_0() -> None:
    dist = Categorical([[0.0, 0.5, 0.5], [0.0, 0.5, 0.5]])
    norm = dist.fisher_norm(np.array([[0.0, 1.0, -1.0], [1.0, -1.0, 0.0]]))
    np.testing.assert_allclose(norm, [2.0, np.inf], rtol=1e-14)
    assert np.isinf(dist.fisher_information()[0, 0, 0])
    np.testing.assert_array_equal(Poisson([0.0, 0.0]).fisher_norm(np.array([[0.0], [1.0]])), [0, np.inf])


def test_the_norm_of_the_authors() -> None:
    """Paananen et al.: sqrt(mu'^2 / s^2 + (s^2)'^2 / (2 s^4)), and eq. 6 for Student-t."""
    mu, v = np.array([0.7]), np.array([-0.4])
    derivatives, tau2, df = np.stack([mu, v], axis=1), 2.5, 7.0
    normal = Normal([0.0], np.sqrt(tau2)).fisher_norm(derivatives)
    np.testing.assert_allclose(normal, np.sqrt(mu**2 / tau2 + v**2 / (2 * tau2**2)), rtol=1e-14)
    # with v = 2 s^2 V the paper's ((df+1) b^2 + 2 df s^4 V^2 / tau2) / ((df+3) tau2)
    expected = np.sqrt(((df + 1) * mu**2 + 2 * df * (v / 2) ** 2 / tau2) / ((df + 3) * tau2))
    np.testing.assert_allclose(StudentT(df, [0.0], np.sqrt(tau2)).fisher_norm(derivatives), expected, rtol=1e-14)


@pytest.mark.parametrize("df", [199.0, 200.0, 1e3, 1e5])
def test_the_information_of_df_far_out(df: float) -> None:
    """7/2 v^-4 (1 - 26/7 v^-1 + ...): the direct form loses all digits by v = 1e5."""
    found = StudentT([df], [0.0], 1.0).fisher_information()[0, 2, 2]
    assert found * df**4 == pytest.approx(7 / 2 - 13 / df + 79 / 2 / df**2 - 119 / df**3, rel=1e-6)


@pytest.mark.parametrize("df", [200, 250, 1000])
def test_the_information_of_neighbouring_df_adds_up(df: int) -> None:
    """As psi'(v/2) - psi'(v/2 + 1) = 4 / v² is a fraction, so is I_vv(v) + I_vv(v + 1)."""
    v = Fraction(df)
    exact = 1 / v**2 - sum((w + 5) / (2 * w * (w + 1) * (w + 3)) for w in (v, v + 1))
    found = StudentT([df, df + 1.0], np.zeros(2), 1.0).fisher_information()[:, 2, 2].sum()
    assert found / float(exact) == pytest.approx(1, rel=1e-9)


def test_student_t_scores_have_the_information_as_covariance() -> None:
    """A second oracle, by simulation: 400 000 draws, numerical scores, 5 standard errors."""
    rng, df, h = np.random.default_rng(2), 4.0, 1e-4
    y = rng.standard_t(df, 400_000)

    def log_prob(mu: float, tau2: float, nu: float) -> Any:
        return stats.t.logpdf(y, nu, mu, np.sqrt(tau2))

    base = np.array([0.0, 1.0, df])
    scores = np.stack([(log_prob(*(base + h * e)) - log_prob(*(base - h * e))) / (2 * h) for e in np.eye(3)])
    products = scores[:, None] * scores[None]
    error = products.std(axis=2) / np.sqrt(len(y))
    information = StudentT([df], [0.0], 1.0).fisher_information()[0]
    assert (np.abs(products.mean(axis=2) - information) < 5 * error + 1e-9).all()
