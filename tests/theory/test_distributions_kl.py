"""The Kullback-Leibler divergence of every family against its definition, KL(p, q) = int p log(p / q)."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, CategoricalMixture, Normal, NormalMixture, Poisson, StudentT

RNG = np.random.default_rng(6)


def integrated(p: Distribution, q: Distribution, knots: FloatArray) -> float:
    """Return int p log(p / q) between the knots with scipy's quad."""

    def integrand(y: float) -> float:
        at = np.array([y])
        log_p = float(p.log_prob(at)[0])
        return float(np.exp(log_p) * (log_p - q.log_prob(at)[0]))

    return sum(integrate.quad(integrand, a, b, epsabs=1e-12, epsrel=1e-11, limit=200)[0] for a, b in pairwise(knots))


def around(*parts: tuple[float, float]) -> FloatArray:
    """Return points around each (centre, scale)."""
    steps = np.array([-12, -7, -4, -2, -1, 0, 1, 2, 4, 7, 12])
    return np.unique(np.concatenate([centre + scale * steps for centre, scale in parts]))


class TestNormal:
    """KL = log(s_q / s_p) + (s_p^2 + (mu_p - mu_q)^2) / (2 s_q^2) - 1/2."""

    @pytest.mark.parametrize("scale", [1e-2, 0.3, 1.0, 2.0, 30.0])
    @pytest.mark.parametrize("shift", [0.0, 0.4, 5.0])
    def test_by_quadrature(self, scale: float, shift: float) -> None:
        p, q = Normal([1.0], 0.7), Normal([1.0 + shift], 0.7 * scale)
        expected = integrated(p, q, around((1.0, 0.7)))
        assert p.kl(q)[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_a_shift_of_the_mean_alone(self) -> None:
        shift = np.array([1e-9, 1e-3, 1.0, 1e3])
        np.testing.assert_allclose(Normal(shift, 0.5).kl(Normal(0 * shift, 0.5)), 2 * shift**2, rtol=1e-14)

    def test_no_scale_is_too_small_or_too_near(self) -> None:
        p = Normal(np.zeros(4), [1e-30, 1.0, 1.0, 1.0])
        q = Normal(np.zeros(4), [1.0, 1e30, 1 + 1e-7, 2e-75])
        expected = [np.log(1e30) - 0.5, np.log(1e30) - 0.5, 1e-14, 0.5 / 2e-75**2]
        np.testing.assert_allclose(p.kl(q), expected, rtol=1e-6)


class TestStudentT:
    @pytest.mark.parametrize(
        ("p", "q"),
        [
            (StudentT(4.0, [0.0], [1.0]), StudentT(4.0, [0.7], [1.4])),
            (StudentT(3.0, [0.2], [1.0]), StudentT(9.0, [0.0], [0.1])),
            (StudentT([30.0], [0.2], [2.0]), StudentT([2.5], [0.0], [1.0])),
            (StudentT(2.0, [5.0], [0.01]), StudentT(6.0, [0.0], [1.0])),
        ],
    )
    def test_by_quadrature(self, p: StudentT, q: StudentT) -> None:
        near = around((p.loc[0], p.scale[0]), (q.loc[0], q.scale[0]))
        expected = integrated(p, q, np.concatenate([[-np.inf], near, [np.inf]]))
        assert p.kl(q)[0] == pytest.approx(expected, rel=1e-8)

    def test_of_one_degree_of_freedom(self) -> None:
        """For Cauchy distributions KL = log(((t_p + t_q)^2 + (m_p - m_q)^2) / (4 t_p t_q)) (Chyzak & Nielsen 2019)."""
        centres, scales = 3 * RNG.normal(size=(2, 200)), np.exp(3 * RNG.normal(size=(2, 200)))
        apart, together = np.diff(centres, axis=0)[0], scales.sum(axis=0)
        expected = np.log((together**2 + apart**2) / (4 * scales.prod(axis=0)))
        p, q = (StudentT(1.0, *pair) for pair in zip(centres, scales, strict=True))
        np.testing.assert_allclose(p.kl(q), expected, rtol=1e-8, atol=1e-9)
        narrow = StudentT(1.0, [0.3, 100.0], [1e-6, 1e-3])
        values = StudentT(1.0, [0.0, 0.0], 1.0).kl(narrow)
        np.testing.assert_allclose(values, np.log([(1.000001**2 + 0.09) / 4e-6, (1.001**2 + 1e4) / 4e-3]), rtol=1e-8)

    def test_many_degrees_give_the_normal(self) -> None:
        p, q = StudentT(1e9, [0.0, 1.0], [1.0, 2.0]), StudentT(1e9, [0.5, 1.0], [1.5, 1.0])
        expected = Normal([0.0, 1.0], [1.0, 2.0]).kl(Normal([0.5, 1.0], [1.5, 1.0]))
        np.testing.assert_allclose(p.kl(q), expected, rtol=1e-7)


class TestNormalMixture:
    @pytest.mark.parametrize(
        ("means", "stds", "others", "widths"),
        [
            ([0.0, 1.0], [1.0, 0.5], [0.5, 1.0], [1.0, 0.7]),
            ([-4.0, 4.0], [1.0, 1.0], [-4.0, 3.0], [0.2, 2.0]),
            ([0.0, 0.137], [5.0, 1e-3], [0.1, 0.2], [4.0, 1e-2]),
            ([-1e2, 1e2], [1.0, 0.1], [-1e2, 1e2], [2.0, 0.3]),
        ],
    )
    def test_by_quadrature(
        self, means: list[float], stds: list[float], others: list[float], widths: list[float]
    ) -> None:
        p, q = NormalMixture([means], [stds], [1, 3]), NormalMixture([others], [widths], [2, 1])
        knots = around(*zip(means, stds, strict=True), *zip(others, widths, strict=True))
        assert p.kl(q)[0] == pytest.approx(integrated(p, q, knots), rel=1e-7, abs=1e-6)

    def test_equal_members_are_the_normal(self) -> None:
        centres, scales = 3 * RNG.normal(size=(2, 50)), np.exp(2 * RNG.normal(size=(2, 50)))
        normals = [Normal(*pair) for pair in zip(centres, scales, strict=True)]
        p, q = (
            NormalMixture(*(np.tile(v[:, None], (1, m)) for v in (n.loc, n.scale)))
            for n, m in zip(normals, (3, 5), strict=True)
        )
        np.testing.assert_allclose(p.kl(q), normals[0].kl(normals[1]), rtol=1e-7, atol=1e-6)

    def test_members_far_apart_compare_their_weights(self) -> None:
        """Where members share nothing, KL of the mixtures is that of the weights."""
        means, stds = np.array([[0.0, 1e4, 1e9]]), np.array([[1.0, 1e-3, 5.0]])
        one, two = RNG.dirichlet(np.ones(3), 2)
        values = NormalMixture(means, stds, one).kl(NormalMixture(means, stds, two))
        assert values[0] == pytest.approx((one * np.log(one / two)).sum(), abs=1e-6)

    def test_densities_that_underflow(self) -> None:
        p, q = NormalMixture([[0.0, 1.0]], [[1.0, 1.0]]), NormalMixture([[900.0, 901.0]], [[0.5, 0.5]])
        knots = around((0.0, 1.0), (1.0, 1.0))
        assert p.kl(q)[0] == pytest.approx(integrated(p, q, knots), rel=1e-8)

    def test_a_member_of_weight_0_is_none(self) -> None:
        p, q = NormalMixture([[0.0, 1e5]], [[1.0, 1e-9]], [1, 0]), NormalMixture([[0.5]], [[2.0]])
        assert p.kl(q)[0] == pytest.approx(Normal([0.0], 1.0).kl(Normal([0.5], 2.0))[0], abs=1e-6)


class TestCountsAndClasses:
    """KL = sum p log(p / q)."""

    @pytest.mark.parametrize("rates", [(3.0, 5.5), (0.02, 4.0), (80.0, 80.001), (200.0, 60.0)])
    def test_counts(self, rates: tuple[float, float]) -> None:
        y = np.arange(600)
        p, q = (Poisson(np.full(600, rate)) for rate in rates)
        log_p, log_q = p.log_prob(y), q.log_prob(y)
        assert p.kl(q)[0] == pytest.approx((np.exp(log_p) * (log_p - log_q)).sum(), rel=1e-7, abs=1e-12)

    def test_the_mean_of_the_members_counts(self) -> None:
        members, others = RNG.dirichlet(np.ones(3), (20, 4)), RNG.dirichlet(np.ones(3), (20, 6))
        weights = RNG.dirichlet(np.ones(4))
        p, q = np.einsum("m,nmk->nk", weights, members), others.mean(axis=1)
        values = CategoricalMixture(members, weights=weights).kl(CategoricalMixture(others))
        np.testing.assert_allclose(values, (p * np.log(p / q)).sum(axis=1), rtol=1e-10)

    def test_only_the_impossible_is_infinite(self) -> None:
        split = np.full((4, 2), 0.5)
        q = np.array([[1.0, 0.0], [1.0, 1e-300], [0.5, 0.5], [0.0, 1.0]])
        expected = [np.inf, -np.log(2) + 150 * np.log(10), 0.0, np.inf]
        np.testing.assert_allclose(Categorical(split).kl(Categorical(q)), expected, rtol=1e-12)
        np.testing.assert_allclose(Categorical(q).kl(Categorical(split))[[0, 3]], np.log(2), rtol=1e-12)
        np.testing.assert_array_equal(Poisson([0.0, 2.0, 0.0]).kl(Poisson([2.0, 0.0, 0.0])), [2.0, np.inf, 0.0])
