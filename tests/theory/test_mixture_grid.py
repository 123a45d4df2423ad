"""Evenly spaced nodes give the integrals of mixtures of normals that panels give, and say where they do not."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from uq_report.core.support.arrays import BoolArray, FloatArray
from uq_report.distributions import NormalMixture
from uq_report.distributions.mixtures import normal_mixture
from uq_report.distributions.mixtures.normal_mixture import NormalMixtureParameters, _densities, even_integral

RNG = np.random.default_rng(12)


def mixtures(n: int, m: int, spread: float = 0.5, apart: float = 2.0) -> NormalMixtureParameters:
    return NormalMixtureParameters(
        apart * RNG.normal(size=(n, m)), np.exp(spread * RNG.normal(size=(n, m))), RNG.dirichlet(np.ones(m))
    )


def test_densities_at_nodes_that_follow_from_each_other_are_those_of_normals() -> None:
    q = NormalMixtureParameters(
        np.array([[0.0, 3.0], [-20.0, 20.0]]), np.array([[1.0, 2.0], [1.0, 1.5]]), np.array([0.25, 0.75])
    )
    first, step = np.array([-12.0, -30.0]), np.array([0.25, 0.7])
    nodes = first[:, None] + step[:, None] * np.arange(100)
    members = stats.norm.pdf(nodes[:, :, None], q.means[:, None], q.stds[:, None])
    np.testing.assert_allclose(_densities(q, first, step, 5), members @ q.weights, rtol=1e-11, atol=1e-150)


def test_a_density_has_the_integral_one_and_a_row_the_same_bits_whatever_rows_are_beside_it() -> None:
    q = mixtures(50, 30)
    values, settled = even_integral([q], lambda density: density)
    assert settled.all()
    np.testing.assert_allclose(values, 1, atol=1e-11)
    for row in (0, 17, 49):
        alone, _ = even_integral([q.at(np.array([row]))], lambda density: density)
        assert alone[0] == values[row]


@pytest.mark.parametrize(("extent", "settled"), [(561.0, True), (563.0, False)])
def test_a_range_of_more_than_1920_nodes_is_left(extent: float, settled: bool) -> None:
    """Two of width 1 reach seven further to either side, and need the shorter step: 1920 of 0.3 are 576."""
    q = NormalMixtureParameters(np.array([[0.0, extent]]), np.ones((1, 2)), np.array([0.9, 0.1]))
    values, found = even_integral([q], lambda density: density)
    assert found.tolist() == [settled]
    assert values[0] == pytest.approx(1.0)


@pytest.mark.parametrize(("fine", "settled"), [(3.7e-6, True), (4.4e-6, False)])
def test_an_integrand_in_which_the_nodes_hear_more_than_two_millionths_is_left(fine: float, settled: bool) -> None:
    """Half the height of a wave on a density is heard, and up to 0.07 of that more or less, by the phase."""

    def rough(density: FloatArray, phase: float) -> FloatArray:
        return density * (1 + fine * np.cos(2 * np.pi * 2 / 5 * np.arange(density.shape[1]) + phase))

    q = NormalMixtureParameters(np.zeros((1, 2)), np.ones((1, 2)), np.full(2, 0.5))
    for phase in (0.0, 0.25 * np.pi, 0.5 * np.pi):
        assert even_integral([q], partial(rough, phase=phase))[1].tolist() == [settled]


@pytest.mark.parametrize(("m", "spread", "apart"), [(2, 0.0, 3.0), (5, 1.0, 1.0), (40, 0.5, 2.0), (100, 0.2, 0.1)])
def test_both_rules_agree(m: int, spread: float, apart: float, monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = mixtures(40, m, spread, apart), mixtures(40, m, spread, apart)
    pair = [NormalMixture(*of) for of in (p, q)]
    entropy, divergence = pair[0].entropy(), pair[0].kl(pair[1])

    def none(
        given: list[NormalMixtureParameters], integrand: object, reach: float = 0.0
    ) -> tuple[FloatArray, BoolArray]:
        assert callable(integrand)
        return np.zeros(len(given[0].means)), np.zeros(len(given[0].means), dtype=bool)

    monkeypatch.setattr(normal_mixture, "even_integral", none)
    adaptive = [NormalMixture(*of) for of in (p, q)]
    np.testing.assert_allclose(entropy, adaptive[0].entropy(), rtol=0, atol=1e-6)
    np.testing.assert_allclose(divergence, adaptive[0].kl(adaptive[1]), rtol=1e-7, atol=1e-6)


def test_two_members_apart_are_told_within_the_tolerance_at_every_distance() -> None:
    """The logarithm of two equal normals has its zeros nearest the reals; two halves of the nodes agree at some."""
    apart, half = np.linspace(3, 16, 700), np.full(2, 0.5)
    q = NormalMixtureParameters(np.stack([np.full(700, 0.137), 0.137 + apart], axis=1), np.ones((700, 2)), half)
    nodes, step = np.linspace(-8, 25, 6001), 33 / 6000
    density = 0.5 * (stats.norm.pdf(nodes - 0.137) + stats.norm.pdf(nodes - 0.137 - apart[:, None]))
    expected = -(density * np.log(density)).sum(axis=1) * step
    np.testing.assert_allclose(NormalMixture(*q).entropy(), expected, rtol=0, atol=1e-6)


def test_a_divergence_whose_denominator_underflows_is_still_that_of_the_normals() -> None:
    """KL of N(0, 1) from N(d, 1) is d² / 2, whatever q is where p is."""
    for shift in (5.0, 25.0, 45.0, 90.0):
        p, q = (NormalMixture([[at, at + 1e-9]], [[1.0, 1.0]]) for at in (0.0, shift))
        assert p.kl(q)[0] == pytest.approx(shift**2 / 2, rel=1e-7)


def test_equal_members_share_exactly_nothing() -> None:
    mixture = NormalMixture(np.full((3, 7), 0.1), np.full((3, 7), 0.3))
    assert mixture.epistemic().tolist() == [0.0] * 3
