"""Mixtures: entropy by quadrature, the split into aleatoric and epistemic, and the law of total variance."""

from itertools import pairwise
from time import process_time

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy import integrate, special, stats

from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, CategoricalMixture, Normal, NormalMixture
from uq_report.distributions.numerics.quadrature import GAUSS, KRONROD, NODES

RNG = np.random.default_rng(4)


def entropy_by_quad(means: FloatArray, stds: FloatArray, weights: FloatArray) -> float:
    """Return -int q log q with scipy's quad between many points around every member."""

    def integrand(y: float) -> float:
        log_q = special.logsumexp(stats.norm.logpdf(y, means, stds), b=weights)
        return float(-np.exp(log_q) * log_q)

    knots = np.unique(np.concatenate([means + k * stds for k in (-10, -7, -5, -3, -1, 0, 1, 3, 5, 7, 10)]))
    return sum(integrate.quad(integrand, a, b, epsabs=1e-11)[0] for a, b in pairwise(knots))


HOSTILE: dict[str, tuple[list[float], list[float], list[float]]] = {
    "narrow and far apart": ([-1e3, 0.0, 2e3], [1e-3, 2e-3, 1e-3], [1, 1, 1]),
    "narrow inside wide": ([0.0, 0.137], [50.0, 1e-4], [1, 1]),
    "narrow with little weight": ([0.0, 3.3], [10.0, 1e-3], [0.999, 0.001]),
    "narrow in the tail": ([0.0, 60.0], [10.0, 0.01], [0.9, 0.1]),
    "nearly equal": ([0.0, 1e-5], [1.0, 1.0], [1, 1]),
    "touching": ([-4.0, 4.0], [1.0, 1.0], [1, 3]),
    "ladder of scales": ([0.0, 0.1, 0.2, 0.3, 0.4], [1e-4, 1e-2, 1.0, 1e2, 1e4], [1, 2, 3, 2, 1]),
    "a weight of 0": ([0.0, 1.0, 1e6], [1.0, 2.0, 1e-6], [1, 1, 0]),
    "one member": ([3.0], [2.0], [1]),
    "large numbers": ([1e8, 1e8 + 3], [1.0, 2.0], [1, 1]),
    "tiny numbers": ([1e-9, 3e-9], [1e-9, 2e-9], [1, 1]),
}


class TestEntropyOfNormals:
    """H = -sum_m w_m E_{q_m}[log q]."""

    @pytest.mark.parametrize(("means", "stds", "weights"), HOSTILE.values(), ids=HOSTILE.keys())
    def test_hostile(self, means: list[float], stds: list[float], weights: list[float]) -> None:
        mixture = NormalMixture([means], [stds], weights)
        used = mixture.weights > 0
        expected = entropy_by_quad(mixture.means[0, used], mixture.stds[0, used], mixture.weights[used])
        assert mixture.entropy()[0] == pytest.approx(expected, abs=1e-6)

    def test_random(self) -> None:
        for spread in (0.1, 1.0, 3.0):
            means, stds = RNG.normal(size=(2, 4)), np.exp(spread * RNG.normal(size=(2, 4)))
            weights = RNG.dirichlet(np.ones(4))
            found = NormalMixture(means, stds, weights).entropy()
            expected = [entropy_by_quad(means[i], stds[i], weights) for i in range(2)]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)

    def test_equal_members_are_exactly_the_normal(self) -> None:
        loc, scale = RNG.normal(size=(20, 1)), np.exp(3 * RNG.normal(size=(20, 1)))
        mixture = NormalMixture(np.repeat(loc, 9, axis=1), np.repeat(scale, 9, axis=1))
        np.testing.assert_allclose(mixture.entropy(), Normal(loc[:, 0], scale[:, 0]).entropy(), rtol=0, atol=1e-13)
        np.testing.assert_allclose(mixture.epistemic(), 0, atol=1e-14)

    def test_disjoint_members_add_the_entropy_of_the_weights(self) -> None:
        weights = RNG.dirichlet(np.ones(12), 1)[0]
        mixture = NormalMixture(np.arange(12.0)[None] * 1e4, np.exp(2 * RNG.normal(size=(1, 12))), weights)
        assert mixture.epistemic()[0] == pytest.approx(stats.entropy(weights), abs=1e-9)

    @pytest.mark.parametrize(
        ("means", "stds"),
        [
            ([0.0, 1e6], [1e-12, 1e-12]),
            ([0.0, 1.0], [1e-100, 1.0]),
            ([0.0, 0.0], [1e-200, 1.0]),
            ([1e8, -1e8], [1.0, 1e-9]),
        ],
    )
    def test_members_narrower_than_floats_resolve_are_told_apart(self, means: list[float], stds: list[float]) -> None:
        mixture = NormalMixture([means], [stds], [1, 3])
        assert mixture.epistemic()[0] == pytest.approx(stats.entropy([1, 3]), abs=1e-6)

    def test_narrow_members_close_together_far_from_another(self) -> None:
        """Two members a standard deviation apart share what they share, wherever the third lies."""
        for far in (1e3, 1e9, 1e15, 1e30):
            near = NormalMixture([[0.0, 1.0]], [[1.0, 1.0]]).epistemic()[0]
            mixture = NormalMixture([[far, 0.0, 1.0]], [[1.0, 1.0, 1.0]], [2, 1, 1])
            assert mixture.epistemic()[0] == pytest.approx(np.log(2) + near / 2, abs=1e-6)

    def test_shift_and_scale(self) -> None:
        means, stds = RNG.normal(size=(8, 5)), np.exp(RNG.normal(size=(8, 5)))
        one, other = NormalMixture(means, stds), NormalMixture(1e6 + 1e-3 * means, 1e-3 * stds)
        np.testing.assert_allclose(other.entropy(), one.entropy() + np.log(1e-3), rtol=0, atol=1e-6)

    def test_it_is_the_mean_log_score_of_its_own_draws(self) -> None:
        mixture, size = NormalMixture(RNG.normal(size=(6, 4)), np.exp(RNG.normal(size=(6, 4)))), 20_000
        draws = mixture.take(np.repeat(np.arange(6), size)).sample(np.random.default_rng(0), 1)[0]
        scores = -mixture.take(np.repeat(np.arange(6), size)).log_prob(draws).reshape(6, size)
        z = (scores.mean(axis=1) - mixture.entropy()) / (scores.std(axis=1) / np.sqrt(size))
        assert np.abs(z).max() < 4.5

    @pytest.mark.parametrize("m", [20, 100])
    def test_a_thousand_rows_take_less_than_two_seconds(self, m: int) -> None:
        mixture = NormalMixture(RNG.normal(size=(1000, m)), np.exp(0.7 * RNG.normal(size=(1000, m))))
        start = process_time()
        mixture.entropy()
        assert process_time() - start < 2

    def test_the_rules(self) -> None:
        x, w = leggauss(7)
        np.testing.assert_allclose(NODES[1::2], x, atol=1e-15)
        np.testing.assert_allclose(GAUSS[1::2], w, atol=1e-15)
        for degree in range(23):
            exact = (1 + (-1) ** degree) / (degree + 1)
            assert NODES**degree @ KRONROD == pytest.approx(exact, abs=1e-14)


def test_a_row_of_another_scale_leaves_the_entropy_of_a_row_alone() -> None:
    """Members of 1e-150 beside a row of 1e10: the floor of the widths is of each row's own extent."""
    small, large = ([0.0, 2e-150], [1e-150, 1e-150]), ([0.0, 2e10], [1e10, 1e10])
    both = NormalMixture([small[0], large[0]], [small[1], large[1]]).entropy()
    np.testing.assert_array_equal(both, [NormalMixture([m], [s]).entropy()[0] for m, s in (small, large)])
    assert both[1] - both[0] == pytest.approx(160 * np.log(10), rel=1e-9)


class TestSplit:
    """entropy = aleatoric + epistemic, 0 <= epistemic <= H(weights); variance likewise, by total variance."""

    @pytest.mark.parametrize("seed", range(20))
    def test_of_classes(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        m, k = int(rng.integers(1, 12)), int(rng.integers(2, 6))
        members = rng.dirichlet(np.full(k, rng.choice([0.02, 0.3, 5.0])), (50, m))
        members[:10] = members[:10, :1]  # agreeing members
        weights = rng.dirichlet(np.full(m, rng.choice([0.1, 1.0])))
        mixture = CategoricalMixture(members, weights=weights)
        bound = stats.entropy(weights)
        epistemic = mixture.epistemic()
        assert (epistemic >= 0).all()
        assert (epistemic <= bound + 1e-12).all()
        np.testing.assert_allclose(epistemic[:10], 0, atol=1e-14)
        np.testing.assert_allclose(mixture.aleatoric() + epistemic, mixture.entropy(), atol=1e-12)
        np.testing.assert_allclose(mixture.aleatoric(), stats.entropy(members, axis=2) @ weights, atol=1e-12)
        np.testing.assert_allclose(mixture.probabilities, np.einsum("m,nmk->nk", weights, members), atol=1e-14)
        np.testing.assert_array_equal(mixture.entropy(), Categorical(mixture.probabilities).entropy())

    def test_members_that_are_certain_and_disagree_are_all_epistemic(self) -> None:
        mixture = CategoricalMixture(np.eye(3)[None], weights=[1, 1, 2])
        assert mixture.aleatoric()[0] == 0
        assert mixture.epistemic()[0] == pytest.approx(1.5 * np.log(2), rel=1e-14)

    @pytest.mark.parametrize("positive", [0, 1, 2])
    def test_variance_of_a_class(self, positive: int) -> None:
        members, weights = RNG.dirichlet(np.ones(3), (30, 7)), RNG.dirichlet(np.ones(7))
        mixture = CategoricalMixture(members, positive=positive, weights=weights)
        p = members[:, :, positive]
        mean = p @ weights
        np.testing.assert_allclose(mixture.aleatoric_variance(), (p * (1 - p)) @ weights, atol=1e-14)
        np.testing.assert_allclose(mixture.epistemic_variance(), (p - mean[:, None]) ** 2 @ weights, atol=1e-14)
        total = mixture.aleatoric_variance() + mixture.epistemic_variance()
        np.testing.assert_allclose(total, mixture.variance(), atol=1e-14)
        assert (CategoricalMixture(members[:, :1]).epistemic_variance() >= 0).all()

    @pytest.mark.parametrize("points", [False, True])
    def test_variance_of_normals(self, points: bool) -> None:
        means, weights = RNG.normal(size=(30, 7)), RNG.dirichlet(np.ones(7))
        stds = np.exp(RNG.normal(size=(30, 7))) * (RNG.random((30, 7)) < 0.5 if points else 1.0)
        mixture = NormalMixture(means, stds, weights)
        second_moment = (stds**2 + means**2) @ weights
        np.testing.assert_allclose(mixture.mean(), means @ weights, atol=1e-13)
        np.testing.assert_allclose(mixture.variance(), second_moment - (means @ weights) ** 2, atol=1e-12)
        np.testing.assert_allclose(mixture.aleatoric_variance(), stds**2 @ weights, atol=1e-12)

    @pytest.mark.parametrize("seed", range(5))
    def test_of_normals(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        m = int(rng.integers(1, 9))
        means, stds = rng.normal(size=(40, m)) * 10, np.exp(2 * rng.normal(size=(40, m)))
        mixture = NormalMixture(means, stds, weights := rng.dirichlet(np.ones(m)))
        epistemic = mixture.epistemic()
        assert ((epistemic >= 0) & (epistemic <= stats.entropy(weights) + 1e-15)).all()
        np.testing.assert_allclose(mixture.aleatoric(), stats.norm.entropy(means, stds) @ weights, atol=1e-12)
        np.testing.assert_array_equal(mixture.entropy(), mixture.aleatoric() + epistemic)

    def test_weights_are_relative(self) -> None:
        means, stds = RNG.normal(size=(5, 3)), np.exp(RNG.normal(size=(5, 3)))
        repeated = NormalMixture(means[:, [0, 0, 1, 2]], stds[:, [0, 0, 1, 2]])
        weighted = NormalMixture(means, stds, [2, 1, 1])
        np.testing.assert_allclose(weighted.entropy(), repeated.entropy(), atol=1e-9)
        np.testing.assert_allclose(weighted.crps(means[:, 0]), repeated.crps(means[:, 0]), rtol=1e-12)


class TestQuantiles:
    @pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
    def test_invert_the_cdf(self, spread: float) -> None:
        p = np.array([1e-6, 0.01, 0.5, 0.9, 1 - 1e-6])
        mixture = NormalMixture(10 * RNG.normal(size=(50, 8)), np.exp(spread * RNG.normal(size=(50, 8))))
        for level, y in zip(p, mixture.quantile(p).T, strict=True):
            np.testing.assert_allclose(mixture.cdf(y), level, rtol=1e-9)

    def test_equal_members_are_the_normal_s(self) -> None:
        p = np.array([0.025, 0.5, 0.975])
        found = NormalMixture(np.full((1, 4), 3.0), np.full((1, 4), 2.0)).quantile(p)
        np.testing.assert_allclose(found, Normal([3.0], [2.0]).quantile(p), rtol=1e-12)

    def test_points_are_the_inverse_of_the_empirical_distribution(self) -> None:
        draws, p = RNG.integers(0, 9, (20, 31)).astype(float), np.linspace(0.01, 0.99, 23)
        found = NormalMixture(draws, np.zeros_like(draws)).quantile(p)
        np.testing.assert_array_equal(found, np.quantile(draws, p, axis=1, method="inverted_cdf").T)

    def test_levels_that_sums_of_weights_miss_by_rounding(self) -> None:
        assert np.cumsum([0.1] * 10)[7] < 0.8
        draws = np.arange(1.0, 11.0)[None]
        for stds in (np.zeros((1, 10)), np.where(draws < 10, 0.0, 1e-9)):
            found = NormalMixture(draws, stds).quantile(np.arange(1, 10) / 10)
            np.testing.assert_array_equal(found, draws[:, :9])

    def test_points_among_normals_are_hit_exactly(self) -> None:
        mixture = NormalMixture([[0.0, 1.0, 1.0, 5.0]], [[1.0, 0.0, 0.0, 1.0]])
        below = mixture.cdf(np.nextafter([1.0], 0))[0]
        np.testing.assert_array_equal(mixture.quantile(np.array([below + 0.01, 0.5, below + 0.49])), [[1.0, 1.0, 1.0]])
        assert mixture.quantile(np.array([below - 0.01]))[0, 0] < 1 < mixture.quantile(np.array([below + 0.51]))[0, 0]
