"""Draws, draws of counts, and ordered classes: enumeration, closed forms, and refusals."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import differential_entropy, norm

from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Categorical, CountDraws, Draws, Normal, NormalMixture, Ordinal

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(200, 4))
COUNTS = RNG.poisson(3.0, size=(200, 4))
P = RNG.dirichlet(np.ones(4), 5)


def test_the_entropy_is_vasiceks_with_the_bias_of_a_uniform_taken_off() -> None:
    """The same spacings as scipy's, shifted by a constant of m alone, whose mean over uniform samples is 0."""
    vasicek = differential_entropy(NORMAL, axis=0, method="vasicek")
    shift = Draws(NORMAL).entropy() - vasicek
    np.testing.assert_allclose(shift, shift[0], rtol=1e-10)
    assert shift[0] > 0
    for m in (20, 100):
        uniform = Draws(np.random.default_rng(m).random((m, 4000))).entropy()
        assert abs(uniform.mean()) < 5 * uniform.std() / np.sqrt(4000)


@pytest.mark.parametrize(("m", "bias"), [(20, -0.07), (100, 0.01), (1000, 0.02)])
def test_the_stated_bias_of_a_normal(m: int, bias: float) -> None:
    estimates = Draws(np.random.default_rng(m).normal(size=(m, 2000))).entropy()
    assert estimates.mean() - norm.entropy() == pytest.approx(bias, abs=0.01)


def test_moments_quantiles_and_crps_are_those_of_the_draws() -> None:
    q, y = Draws(NORMAL), np.array([0.0, 1.0, -9.0, 9.0])
    np.testing.assert_allclose(q.mean(), NORMAL.mean(axis=0))
    np.testing.assert_allclose(q.variance(), NORMAL.var(axis=0))
    np.testing.assert_array_equal(q.cdf(y), (y >= NORMAL).mean(axis=0))
    inverted = np.quantile(NORMAL, [0.05, 0.5, 0.9], axis=0, method="inverted_cdf").T
    np.testing.assert_array_equal(q.quantile(np.array([0.05, 0.5, 0.9])), inverted)
    apart = np.abs(NORMAL[:, None] - NORMAL).sum(axis=(0, 1)) / (200 * 199)  # no draw with itself
    np.testing.assert_allclose(q.crps(y), np.abs(NORMAL - y).mean(axis=0) - apart / 2)


def test_crps_of_few_draws_is_that_of_their_distribution_on_average() -> None:
    """Pairs of a draw with itself would add E|X - X'| / (2 m), 0.028 of a standard normal at m = 20."""
    rng = np.random.default_rng(5)
    q, y = Draws(rng.normal(size=(20, 40_000))), rng.normal(size=40_000)
    difference = q.crps(y) - Normal(np.zeros(40_000), 1.0).crps(y)
    assert difference.mean() == pytest.approx(0.0, abs=4 * difference.std() / 200)
    assert difference.std() / 50 < 0.02  # so that the pairs with themselves would be noticed


def test_crps_keeps_its_digits_far_from_0() -> None:
    np.testing.assert_allclose(
        Draws(NORMAL + 2.0**30).crps(np.full(4, 2.0**30)), Draws(NORMAL).crps(np.zeros(4)), rtol=1e-5
    )


def test_draws_have_no_density_but_a_smoothed_form_has() -> None:
    q = Draws(NORMAL)
    with pytest.raises(UnsupportedError, match=r"log_prob needs a density, which draws have not; Draws"):
        q.log_prob(np.zeros(4))
    smooth = q.smoothed()
    assert isinstance(smooth, NormalMixture)
    iqr = np.diff(np.quantile(NORMAL, [0.25, 0.75], axis=0), axis=0)[0]
    width = 0.9 * np.minimum(NORMAL.std(axis=0, ddof=1), iqr / 1.34) * 200**-0.2
    np.testing.assert_allclose(smooth.variance(), q.variance() + width**2)
    np.testing.assert_allclose(smooth.mean(), q.mean())


def test_shares_of_counts_are_their_probabilities() -> None:
    q, y = CountDraws(COUNTS), np.array([2.0, 3.0, 2.5, 99.0])
    share = (y == COUNTS).mean(axis=0)
    np.testing.assert_allclose(np.exp(q.log_prob(y)), share)
    values = np.arange(COUNTS.max() + 1)
    table = (COUNTS[:, :, None] == values).mean(axis=0)
    reference = Categorical(table)
    np.testing.assert_allclose(q.entropy(), reference.entropy())
    other = CountDraws(np.concatenate([COUNTS[:100], np.tile(values[:, None], (1, 4))]))
    moved = Categorical((other.values.T[:, :, None] == values).mean(axis=0))
    np.testing.assert_allclose(q.kl(other), reference.kl(moved))
    np.testing.assert_allclose(q.renyi_half(other), reference.renyi_half(moved))
    assert np.isinf(q.kl(CountDraws(COUNTS + 50))).all()
    assert np.isinf(q.renyi_half(CountDraws(COUNTS + 50))).all()


def test_ordinal_scores_are_those_of_numbers() -> None:
    """With the distances of the classes, the ranked probability score is E|X - y| - E|X - X'| / 2."""
    numbers = np.array([1.0, 2.0, 4.0, 7.0])
    q = Ordinal(P, classes=numbers)
    np.testing.assert_allclose(q.class_mean(), P @ numbers)
    y = np.array([0, 1, 2, 3, 0])
    apart = np.abs(numbers[:, None] - numbers)
    expected = (P * apart[y]).sum(axis=1) - np.einsum("ni,nj,ij->n", P, P, apart) / 2
    np.testing.assert_allclose(q.crps(y), expected)
    np.testing.assert_allclose(q.cdf(y), [P[i, : k + 1].sum() for i, k in enumerate(y)])
    assert (q.cdf(np.full(5, -1)) == 0).all()
    np.testing.assert_array_equal(q.quantile(np.array([0.5]))[:, 0], (np.cumsum(P, axis=1) < 0.5).sum(axis=1))
    np.testing.assert_allclose(q.entropy(), Categorical(P).entropy())
    assert q.encode([7, 1]).tolist() == [3, 0]


@pytest.mark.parametrize("classes", [["low", "mid", "high", "top"], [1, 2, 4, 3], [1, 2, 3, np.inf]])
def test_classes_that_are_no_increasing_numbers_have_no_order(classes: list[object]) -> None:
    with pytest.raises(InputError, match=r"ordinal\.classes must be increasing numbers in the order of the columns"):
        Ordinal(P, classes=classes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Draws(NORMAL[:19]), r"at least 20 draws; got \(19, 4\)\. Join the chains, draw more, or transpose"),
        (lambda: Draws(np.zeros((2, 50, 3))), r"\(draws, rows\) .*; got \(2, 50, 3\)"),
        (lambda: Draws([[1.0, 2.0], [1.0]]), r"as many rows in every draw; got between 1 and 2 of them"),
        (lambda: Draws([["a"]]), r"draws\.draws must be numbers"),
        (
            lambda: Draws(NORMAL + np.array([0, 0, np.nan, 0])),
            r"finite; got other values in 1 of 4 rows, first in row 2",
        ),
        (lambda: Draws(COUNTS), r"must not repeat a value 15 times or more in a row; got that in 4 of 4 rows"),
        (lambda: CountDraws(NORMAL), r"whole numbers; got others in 4 of 4 rows, first in row 0\. Use Draws"),
    ],
)
def test_bad_draws_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_as_few_as_20_draws_do() -> None:
    assert np.isfinite(Draws(NORMAL[:20]).entropy()).all()
