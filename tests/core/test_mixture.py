"""Mixtures of any families, and the other distributions made of distributions."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from uq_report.core.predictive import Distribution
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.core.traits.stochastic import mixture
from uq_report.distributions import (
    Categorical,
    CategoricalMixture,
    Discretised,
    Gamma,
    Laplace,
    LogNormal,
    Mixture,
    NegativeBinomial,
    Normal,
    NormalMixture,
    Poisson,
    Scipy,
    StudentT,
    Truncated,
    Weibull,
    ZeroInflated,
)

RNG = np.random.default_rng(0)
MEANS, STDS = 3 * RNG.normal(size=(9, 4)), np.exp(RNG.normal(size=(9, 4)))
WEIGHTS = np.array([1.0, 2.0, 0.0, 3.0])
ONE = Mixture([Normal(MEANS[:, k], STDS[:, k]) for k in range(4)], WEIGHTS)
FAST = NormalMixture(MEANS, STDS, WEIGHTS)
Y = RNG.normal(size=9)


@pytest.mark.parametrize("name", sorted(FAST.supports - {"sample", "quantile", "kl", "members", "leave_one_out"}))
def test_normals_are_mixed_as_by_the_normal_mixture(name: str) -> None:
    arguments = (Y,) if name in ("log_prob", "cdf", "crps") else ()
    np.testing.assert_allclose(getattr(ONE, name)(*arguments), getattr(FAST, name)(*arguments), atol=1e-6, rtol=1e-7)


def test_members_of_normals_are_those_of_the_normal_mixture() -> None:
    for (weight, member), (fast_weight, fast) in zip(ONE.members(), FAST.members(), strict=True):
        assert weight == pytest.approx(fast_weight)
        np.testing.assert_allclose(member.log_prob(Y), fast.log_prob(Y))


def test_quantiles_and_divergences_of_normals_are_those_of_the_normal_mixture() -> None:
    p = np.array([0.01, 0.5, 0.9])
    np.testing.assert_allclose(ONE.quantile(p), FAST.quantile(p), rtol=1e-9)
    moved = Mixture([Normal(part.mean() + 0.3, np.sqrt(part.variance())) for part in ONE.components], ONE.weights)
    np.testing.assert_allclose(ONE.kl(moved), FAST.kl(NormalMixture(MEANS + 0.3, STDS, WEIGHTS)), atol=1e-6)


def test_equal_components_share_all_and_distant_ones_nothing() -> None:
    """The information of outcome and component is 0, or the entropy of the weights."""
    same, apart = (Mixture([Laplace([0.0], 1.0), Laplace([far], 1.0)], [1, 3]) for far in (0.0, 1e6))
    np.testing.assert_allclose(same.epistemic(), 0.0, atol=1e-12)
    np.testing.assert_allclose(apart.epistemic(), -0.25 * np.log(0.25) - 0.75 * np.log(0.75), rtol=1e-9)
    np.testing.assert_allclose(apart.entropy(), apart.aleatoric() + apart.epistemic())
    np.testing.assert_allclose(apart.variance(), 2.0 + 0.25 * 0.75 * 1e12)


def test_a_narrow_component_between_wide_ones_is_found() -> None:
    wide, narrow = Gamma([4.0], 100.0), Normal([333.0], 1e-4)
    information = Mixture([wide, narrow]).epistemic()[0]
    density = np.exp(wide.log_prob(np.array([333.0])))[0]
    assert information == pytest.approx(np.log(2), abs=20 * density * 1e-4 * np.log(1e4))


def test_mixtures_of_chosen_kinds() -> None:
    assert isinstance(mixture([Normal([0.0], 1.0), Laplace([0.0], 1.0)]), Mixture)
    assert isinstance(mixture([Normal([0.0], 1.0), Normal([0.0], 1.0)]), NormalMixture)
    assert isinstance(mixture([Categorical([[0.5, 0.5]])] * 2), CategoricalMixture)
    assert mixture([Poisson([1.0]), NegativeBinomial([1.0], 2.0)]).discrete


def test_what_a_component_lacks_the_mixture_says() -> None:
    points = NormalMixture([[0.0, 1.0]], [[0.0, 0.0]], points=True)
    q = Mixture([points, Normal([0.0], 1.0)])
    assert "crps" in q.supports
    assert "entropy" not in q.supports
    assert "of every component: entropy needs a density" in q.why_not("entropy")
    for method in ("epistemic", "kl"):
        with pytest.raises(UnsupportedError, match=r"of every component"):
            getattr(q, method)(*([q] if method == "kl" else []))
    assert "Fisher norm is that of its density" in q.why_not("fisher_information")


NOTHING: Any = None
NORMAL, COUNTS = Normal([0.0, 1.0], 1.0), Poisson([1.0, 2.0])
REFUSED: list[tuple[Any, str]] = [
    (lambda: Mixture([]), r"mixture.components must be distributions of the same rows; got none"),
    (lambda: Mixture([NORMAL, Normal([0.0], 1.0)]), r"must be of the same rows; got \[1, 2\]"),
    (lambda: Mixture([NORMAL, COUNTS]), r"all continuous or all discrete; got Poisson, normal"),
    (lambda: Mixture([NORMAL, NOTHING]), r"components\[1\] must be a distribution; got NoneType"),
    (lambda: Mixture([Categorical([[0.5, 0.5]])]), r"must be a distribution of numbers; got a categorical one"),
    (lambda: Mixture([NORMAL], [-1.0]), r"mixture.weights must be finite, not negative"),
    (lambda: Truncated(NORMAL, 2.0, 1.0), r"truncated.lower must be less than upper; got 2 in row 0 \(2 of 2 rows\)"),
    (lambda: Truncated(NORMAL, 9.0), r"truncated.of must be within the limits with probability >= 1e-08; got .* row 0"),
    (lambda: Truncated(NORMAL, np.nan), r"truncated.lower must be a number; got no number in row 0"),
    (lambda: Truncated(NORMAL, [1.0, 2.0, 3.0]), r"one value per row, 2, or be one number; got \(3,\)"),
    (lambda: Discretised(COUNTS), r"discretised.of must be continuous; got a Poisson one"),
    (lambda: ZeroInflated(1.0, COUNTS), r"zero_inflated.p_zero must be probabilities, .*; got 1 in row 0"),
    (lambda: ZeroInflated(0.5, NOTHING), r"zero_inflated.of must be a distribution; got NoneType"),
    (lambda: Scipy(stats.norm), r"must be a frozen distribution, .*; got norm_gen"),
    (
        lambda: Scipy(stats.norm(scale=[1.0, -1.0])),
        r"norm must be defined; got no number in row 1 \(1 of 2 rows\)",
    ),
    (lambda: Scipy(stats.norm(loc=np.zeros((2, 2)))), r"parameters of shape \(n,\); got \(2, 2\)"),
    (lambda: Gamma([1.0, -1.0], 1.0), r"gamma.shape must be greater than 0; got -1 in row 1 \(1 of 2 rows\)"),
    (lambda: LogNormal([1.0, np.nan], 1.0), r"log_normal.mu must be finite; got no number in row 1"),
    (lambda: Weibull([1.0, 2.0], [1.0]), r"weibull.scale must have one value per row, 2; got 1"),
    (lambda: Gamma(2.0, 1.0).encode([0.0, 1.0]), r"gamma.y must be greater than 0; got 0 in row 0 \(1 of 2 rows\)"),
    (lambda: NegativeBinomial(2.0, 1.0).encode([1.0, -1.0]), r"must be whole numbers >= 0; got -1 in row 1"),
    (lambda: NegativeBinomial(2.0, 1.0).encode([0.5]), r"negative_binomial.y must be whole numbers; got 0.5 in row 0"),
    (lambda: ZeroInflated(0.5, Gamma([1.0], 1.0)).kl(ZeroInflated(0.5, NORMAL)), r"must be of one family"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_such_distribution_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(("limit", "accepted"), [(5.61, True), (5.62, False)])
def test_the_least_probability_within_limits(limit: float, accepted: bool) -> None:
    """P(Z > 5.612) = 1e-8."""
    if accepted:
        assert Truncated(Normal([0.0], 1.0), limit).mean() > limit
    else:
        with pytest.raises(InputError, match="1e-08"):
            Truncated(Normal([0.0], 1.0), limit)


def test_zeros_fit_an_inflated_family_that_holds_none() -> None:
    np.testing.assert_array_equal(ZeroInflated(0.5, Gamma([1.0, 1.0], 1.0)).encode([0.0, 2.0]), [0.0, 2.0])


@pytest.mark.parametrize(
    ("q", "frozen"),
    [
        (Gamma([2.0], 3.0), stats.gamma(2.0, scale=[3.0])),
        (StudentT(5, [1.0], 2.0), stats.t(5, loc=[1.0], scale=2.0)),
        (Poisson([4.0]), stats.poisson([4.0])),
    ],
)
def test_scipys_families_are_ours(q: Distribution, frozen: Any) -> None:
    other, y = Scipy(frozen), np.array([3.0])
    for name in ("mean", "variance", "entropy"):
        np.testing.assert_allclose(getattr(other, name)(), getattr(q, name)(), rtol=1e-8)
    for name in ("log_prob", "cdf", "crps"):
        np.testing.assert_allclose(getattr(other, name)(y), getattr(q, name)(y), rtol=1e-7)


def test_a_mean_that_scipy_has_not_is_infinite() -> None:
    assert np.isposinf(Scipy(stats.cauchy(loc=[0.0])).mean()).all()
    assert len(Scipy(stats.norm())) == 1


def test_members_as_tables_of_few_kinds_are_those_row_by_row() -> None:
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(3), kinds) for kinds in (2, 5)]
    places = [rng.integers(0, len(table), 9) for table in tables]
    rows = [table[at] for table, at in zip(tables, places, strict=True)]
    mean, weights = 0.25 * rows[0] + 0.75 * rows[1], [1.0, 3.0]
    pairs, arrays = (
        CategoricalMixture(lambda given=given: iter(given), weights=weights, probabilities=mean)
        for given in (list(zip(tables, places, strict=True)), rows)
    )
    for part in ("aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance"):
        np.testing.assert_array_equal(getattr(pairs, part)(), getattr(arrays, part)())
    some = pairs.take(np.array([7, 2]))
    assert isinstance(some, CategoricalMixture)
    for (_, member), own in zip(some.members(), rows, strict=True):
        np.testing.assert_array_equal(member.probabilities, own[[7, 2]])
    short = CategoricalMixture(lambda: [(tables[0], places[0][1:])], probabilities=rows[0])
    with pytest.raises(InputError, match=r"members must each have the shape \(9, 3\); got \(8, 3\)"):
        short.aleatoric()
