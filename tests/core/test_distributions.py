"""What every family of predictive distributions promises."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaincc

from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import AnyArray, FloatArray
from uq_report.core.support.errors import UnsupportedError
from uq_report.distributions import (
    Beta,
    Categorical,
    CategoricalMixture,
    CountDraws,
    Discretised,
    Draws,
    Gamma,
    HalfNormal,
    Histogram,
    Intervals,
    LabelSets,
    Laplace,
    Logistic,
    LogLogistic,
    LogNormal,
    Mixture,
    NegativeBinomial,
    Normal,
    NormalMixture,
    Ordinal,
    Poisson,
    Quantiles,
    Scipy,
    Smoothed,
    StudentT,
    Truncated,
    Tweedie,
    Weibull,
    ZeroInflated,
)
from uq_report.distributions.families import poisson
from uq_report.distributions.numerics.numeric import Numeric, Parametric
from uq_report.distributions.tables.piecewise import Piecewise

N = 37
RNG = np.random.default_rng(0)
LOC, SCALE, DF = RNG.normal(size=N), np.exp(RNG.normal(size=N)), RNG.uniform(2.5, 300, N)
MEMBERS = RNG.dirichlet([0.5, 1.0, 2.0], (N, 5))
MEANS, STDS = RNG.normal(size=(N, 6)), np.exp(RNG.normal(size=(N, 6)))
PAIRS = RNG.dirichlet([1.0, 1.0], N)
MANY_CLASSES, MANY_MEANS = RNG.dirichlet(np.ones(45), N), RNG.normal(size=(N, 45))
TABLE_LEVELS, TABLE = np.array([0.04, 0.1, 0.3, 0.5, 0.6, 0.97]), np.sort(2 * RNG.normal(size=(N, 6)), axis=1)
BARS, EDGES = RNG.dirichlet(np.ones(5), N), np.cumsum(RNG.uniform(0.1, 1.0, 46)) - 10
DRAWS = RNG.normal(size=(60, N))
WEIGHTS = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0])

FAMILIES: dict[str, Callable[[Any], Distribution]] = {
    "categorical": lambda rows: Categorical(MEMBERS[rows, 0]),
    "two classes": lambda rows: Categorical(PAIRS[rows], classes=["no", "yes"]),
    "categorical mixture": lambda rows: CategoricalMixture(MEMBERS[rows]),
    "lazy mixture": lambda rows: CategoricalMixture(lambda: MEMBERS[rows], probabilities=MEMBERS[rows].mean(axis=1)),
    "normal": lambda rows: Normal(LOC[rows], SCALE[rows]),
    "t": lambda rows: StudentT(5, LOC[rows], SCALE[rows]),
    "cauchy": lambda rows: StudentT(1, LOC[rows], SCALE[rows]),
    "t, df varies": lambda rows: StudentT(DF[rows], LOC[rows], SCALE[rows]),
    "poisson": lambda rows: Poisson(np.exp(4 * LOC[rows])),
    "tweedie": lambda rows: Tweedie(np.exp(LOC[rows]), 0.1, 1.5),
    "normal mixture": lambda rows: NormalMixture(MEANS[rows], STDS[rows], WEIGHTS),
    "many classes": lambda rows: Categorical(MANY_CLASSES[rows]),
    "many members": lambda rows: NormalMixture(MANY_MEANS[rows], 1 + MANY_MEANS[rows] ** 2),
    "intervals": lambda rows: Intervals([0.5, 0.9], MEANS[rows, :2] - 1, MEANS[rows, :2] + STDS[rows, :2], LOC[rows]),
    "label sets": lambda rows: LabelSets(MEMBERS[rows, 0], [0.8, 0.95], MEMBERS[rows, :2].swapaxes(1, 2) > 0.2),
    "smoothed": lambda rows: Smoothed(LOC[rows], SCALE[rows], MEANS.ravel()[:60], 0.3),
    "points": lambda rows: NormalMixture(MEANS[rows], 0 * STDS[rows], points=True),
    "quantile table": lambda rows: Quantiles(TABLE_LEVELS, TABLE[rows]),
    "joined quantiles": lambda rows: Quantiles(TABLE_LEVELS, TABLE[rows].round(), ties="joined"),
    "quantiles with atoms": lambda rows: Quantiles(TABLE_LEVELS, TABLE[rows].round(), ties="atoms"),
    "many quantiles": lambda rows: Quantiles(np.arange(1, 46) / 46, np.cumsum(MANY_CLASSES[rows], axis=1)),
    "histogram": lambda rows: Histogram(EDGES, MANY_CLASSES[rows]),
    "histogram by row": lambda rows: Histogram(TABLE[rows], BARS[rows]),
    "histogram with tails": lambda rows: Histogram(EDGES, MANY_CLASSES[rows], half_normal_ends=True),
    "draws": lambda rows: Draws(DRAWS[:, rows]),
    "draws of counts": lambda rows: CountDraws(np.round(DRAWS[:, rows])),
    "ordinal": lambda rows: Ordinal(MEMBERS[rows, 0], classes=[1, 2, 5]),
    "log-logistic": lambda rows: LogLogistic(np.exp(LOC[rows]), 2.2 + SCALE[rows]),
    "log-normal": lambda rows: LogNormal(LOC[rows], SCALE[rows] / 3),
    "gamma": lambda rows: Gamma(SCALE[rows], np.exp(LOC[rows])),
    "weibull": lambda rows: Weibull(0.5 + SCALE[rows], np.exp(LOC[rows])),
    "laplace": lambda rows: Laplace(LOC[rows], SCALE[rows]),
    "logistic": lambda rows: Logistic(LOC[rows], SCALE[rows]),
    "beta": lambda rows: Beta(1 + SCALE[rows], 1 + np.exp(LOC[rows])),
    "half-normal": lambda rows: HalfNormal(SCALE[rows]),
    "negative binomial": lambda rows: NegativeBinomial(np.exp(2 * LOC[rows]), SCALE[rows]),
    "truncated": lambda rows: Truncated(Normal(LOC[rows], SCALE[rows]), lower=-1.0, upper=LOC[rows] + 2),
    "truncated counts": lambda rows: Truncated(Poisson(0.1 + SCALE[rows]), lower=1.0),
    "discretised": lambda rows: Discretised(Logistic(LOC[rows], 0.2 + SCALE[rows])),
    "zero-inflated counts": lambda rows: ZeroInflated(PAIRS[rows, 0], NegativeBinomial(1.0, SCALE[rows])),
    "zero-inflated": lambda rows: ZeroInflated(PAIRS[rows, 0], Gamma(SCALE[rows] + 0.5, 1.0)),
    "mixture": lambda rows: Mixture([Laplace(LOC[rows], SCALE[rows]), Normal(1.0 - LOC[rows], 0.5)], [1.0, 2.0]),
    "mixture of counts": lambda rows: Mixture([Poisson(1.0 + SCALE[rows]), NegativeBinomial(np.exp(LOC[rows]), 2.0)]),
    "scipy": lambda rows: Scipy(stats.gumbel_r(loc=LOC[rows], scale=SCALE[rows])),
    "scipy counts": lambda rows: Scipy(stats.binom(12, PAIRS[rows, 0])),
}
ALL = np.arange(N)
MARKERS = {"proba", "intervals", "label_sets", "members", "leave_one_out"}
LEVELS = np.array([0.05, 0.5, 0.975])

families = pytest.mark.parametrize("make", FAMILIES.values(), ids=FAMILIES.keys())


@pytest.mark.parametrize("make", [FAMILIES["categorical"], FAMILIES["categorical mixture"]])
def test_rows_taken_have_logarithms_of_their_own(make: Any) -> None:
    dist, few = make(ALL), np.array([3, 0])
    assert np.array_equal(dist.logs, np.log(dist.probabilities.T))
    taken = dist.take(few)
    assert np.array_equal(taken.logs, dist.logs[:, few])
    assert np.array_equal(taken.entropy(), dist.entropy()[few])


def outcomes(dist: Distribution) -> AnyArray:
    y: AnyArray = np.arange(len(dist)) % 2 if "proba" in dist.supports else np.floor(np.linspace(0, 5, len(dist)))
    return y


def answers(dist: Distribution, y: AnyArray) -> Iterator[tuple[str, AnyArray]]:
    """Yield everything a distribution supports, evaluated, rows first."""
    for name in sorted(dist.supports - MARKERS):
        yield name, ask(dist, name, y)


def numeric_moved(dist: Distribution) -> Any:
    other = copy(dist)
    match other:
        case Parametric():
            for name in other.by_row:
                setattr(other, name, 1.2 * getattr(other, name))
        case Mixture():
            other.components, other.information = [moved(part) for part in other.components], None
        case Discretised():
            other.of = moved(other.of)
        case Truncated():
            return Truncated(moved(other.of), other.lower, other.upper)
        case ZeroInflated():
            return ZeroInflated(other.p_zero / 2 + 0.1, moved(other.of))
        case Scipy():
            other.args = [*other.args[:-1], 0.9 * other.args[-1]]
    return other


def moved(dist: Distribution) -> Any:
    """Return another distribution of the same family for each row."""
    if isinstance(dist, Categorical):
        p = dist.probabilities**2
        return Categorical(p / p.sum(axis=1, keepdims=True), classes=dist.classes)
    if isinstance(dist, StudentT):
        return StudentT(dist.df + 0.5 if dist.varies else 2.0, dist.loc + 0.3, 1.7 * dist.scale)
    if isinstance(dist, Normal):
        return Normal(dist.loc + 0.3, 1.7 * dist.scale)
    return moved_table(dist)


def moved_counts(dist: CountDraws) -> CountDraws:
    spare = np.tile([-4, -3, -2, -1, 0, 1, 2, 3, 4], (len(dist), 1))
    return CountDraws(np.concatenate([dist.values, spare], axis=1).T)


def moved_table(dist: Distribution) -> Any:
    if isinstance(dist, NormalMixture):
        return NormalMixture(dist.means + 0.3, 1.7 * dist.stds, dist.weights, points=dist.points)
    moves: dict[type, Callable[[Any], Any]] = {
        Piecewise: moved_pieces,
        CountDraws: moved_counts,
        Tweedie: lambda dist: Tweedie(0.8 * dist.mean() + 0.1, dist.dispersion, dist.power),
        Numeric: numeric_moved,
        Smoothed: lambda dist: dist.moved(dist.loc + 0.3, 1.7 * dist.scale),
    }
    for family, move in moves.items():
        if isinstance(dist, family):
            return move(dist)
    return Poisson(0.8 * dist.mean() + 0.1)


def moved_pieces(dist: Piecewise) -> Any:
    """Return the same with other masses, and other edges where these may differ."""
    other = copy(dist)
    if isinstance(dist, Quantiles):
        other.edges, other.scales = 1.2 * dist.edges - 0.1, 1.7 * dist.scales
    else:
        other.masses, other.beyond = dist.masses[:, ::-1], 0.5 * (dist.beyond + dist.beyond[:, ::-1])
    return other


def ask(dist: Distribution, name: str, y: AnyArray) -> AnyArray:
    if name == "parameters":
        return dist.parameters
    if name == "sample":
        return dist.sample(np.random.default_rng(1), 3).T
    if name == "fisher_norm":
        derivatives: FloatArray = np.repeat(np.linspace(-1, 1, len(dist.parametrisation))[None], len(dist), axis=0)
        return dist.fisher_norm(derivatives)
    if name in ("kl", "renyi_half"):
        compared: AnyArray = getattr(dist, name)(moved(dist) if name in dist.supports else dist)
        return compared
    arguments = {"log_prob": (y,), "cdf": (y,), "crps": (y,), "covered": (y,), "quantile": (LEVELS,)}.get(name, ())
    answer: AnyArray = getattr(dist, name)(*arguments)
    return answer


METHODS = [name for name in vars(Distribution) if not name.startswith("_")]
NOT_METHODS = {
    "atoms",
    "family",
    "discrete",
    "censored",
    "expected_nll",
    "log_survival",
    "pit_bounds",
    "parametrisation",
    "supports",
    "take",
    "encode",
    "default_focus",
    "focus",
    "rule",
    "stand_ins",
    "members",
    "leave_one_out",
    "deciding",
    "why_not",
}
ANSWERS = sorted(set(METHODS) - NOT_METHODS - {"usual_loss"})


def test_the_methods_are_those_of_the_contract() -> None:
    assert len(ANSWERS) == 18
    known = set(ANSWERS) | {"log_odds", "decisions", "class_mean"} | MARKERS
    assert all(make(ALL).supports <= known for make in FAMILIES.values())


@families
@pytest.mark.parametrize("name", ANSWERS)
def test_a_method_answers_exactly_if_it_is_supported(make: Callable[[Any], Distribution], name: str) -> None:
    dist = make(ALL)
    if name in dist.supports:
        answer = ask(dist, name, outcomes(dist))
        assert answer.shape[0] == N
        assert not np.isnan(answer).any()
    else:
        with pytest.raises(UnsupportedError, match=name.replace("fisher_norm", "fisher_")):
            ask(dist, name, outcomes(dist))
        assert dist.why_not(name)


@families
def test_stacks_of_derivatives_have_the_norms_of_each(make: Callable[[Any], Distribution]) -> None:
    dist = make(ALL)
    if "fisher_norm" in dist.supports:
        stack = np.random.default_rng(0).normal(size=(2, 3, len(dist), len(dist.parametrisation)))
        alone = [[dist.fisher_norm(each) for each in part] for part in stack]
        np.testing.assert_array_equal(dist.fisher_norm(stack), alone)


class Bare(Distribution):
    """A stranger's family that can do nothing yet."""

    family = "bare"

    @property
    def supports(self) -> frozenset[str]:
        return frozenset()

    def __len__(self) -> int:
        return 2

    def take(self, index: AnyArray) -> "Bare":
        return self


@pytest.mark.parametrize("name", ANSWERS)
def test_a_family_need_not_define_what_it_cannot_do(name: str) -> None:
    with pytest.raises(UnsupportedError, match=r"bare predictive distribution"):
        ask(Bare(), name, np.zeros(2))


def test_the_defaults_of_a_family() -> None:
    assert Bare().usual_loss == "squared_error"
    assert Bare().default_focus(np.zeros(2)) is None
    assert len(Bare().focus("a").take(np.arange(2))) == 2
    np.testing.assert_array_equal(Bare().encode([1, 2]), [1.0, 2.0])


@families
def test_shapes(make: Callable[[Any], Distribution]) -> None:
    dist, size = make(ALL), len(make(ALL).parametrisation)
    extra = {
        "quantile": (3,),
        "sample": (3,),
        "covered": (2,),
        "parameters": (size,),
        "fisher_information": (size, size),
    }
    for name, answer in answers(dist, outcomes(dist)):
        assert answer.shape == (N, *extra.get(name, ())), name


@families
def test_take_is_the_same_rows_bit_by_bit(make: Callable[[Any], Distribution]) -> None:
    dist = make(ALL)
    y = outcomes(dist)
    for index in (RNG.permutation(N), np.arange(0, N, 5), np.array([3, 3, 3]), np.arange(N) == 7):
        some = dist.take(index)
        assert len(some) == len(ALL[index])
        whole = dict(answers(dist, y))
        for name, answer in answers(some, y[index]):
            if name != "sample":
                np.testing.assert_array_equal(answer, whole[name][index], err_msg=name)


@families
def test_a_row_does_not_depend_on_its_neighbours_in_any_bit(make: Callable[[Any], Distribution]) -> None:
    whole_y = outcomes(make(ALL))
    whole = dict(answers(make(ALL), whole_y))
    ways = [[np.arange(start, min(start + step, N)) for start in range(0, N, step)] for step in (1, 2, 3, 8)]
    if isinstance(make(ALL), Numeric) and not isinstance(make(ALL), Parametric):  # slower: one way to part the rows
        ways = [[ALL[:1], ALL[1:2], ALL[2:5], ALL[5:13], ALL[13:]]]
    for parts in ways:
        found = [dict(answers(make(rows), whole_y[rows])) for rows in parts]
        for name, answer in whole.items():
            if name != "sample":
                joined = np.concatenate([part[name] for part in found])
                np.testing.assert_array_equal(joined, answer, err_msg=name)


@families
def test_supports_and_parametrisation_do_not_depend_on_the_rows(make: Callable[[Any], Distribution]) -> None:
    for rows in (np.arange(1), np.arange(0), ALL):
        assert make(rows).supports == make(ALL).supports
        assert make(rows).parametrisation == make(ALL).parametrisation
        assert make(ALL).take(rows).supports == make(ALL).supports


@families
def test_no_rows_give_empty_answers(make: Callable[[Any], Distribution]) -> None:
    dist = make(np.arange(0))
    for name, answer in answers(dist, outcomes(dist)):
        assert answer.shape[0] == 0, name


@families
def test_samples_repeat_by_seed_and_follow_the_mean_and_variance(make: Callable[[Any], Distribution]) -> None:
    dist, size = make(ALL), 20_000
    if "sample" not in dist.supports:
        return
    draws = dist.sample(np.random.default_rng(3), size)
    assert draws.shape == (size, N)
    np.testing.assert_array_equal(draws, dist.sample(np.random.default_rng(3), size))
    if "mean" not in dist.supports:
        return
    numbers = (draws == dist.positive).astype(float) if isinstance(dist, Categorical) else draws
    z = (numbers.mean(axis=0) - dist.mean()) / np.sqrt(dist.variance() / size)
    assert np.abs(z).max() < 5  # 37 means within 5 standard errors


@pytest.mark.parametrize("name", [name for name, make in FAMILIES.items() if "cdf" in make(ALL).supports])
def test_quantile_is_the_inverse_of_cdf(name: str) -> None:
    dist = FAMILIES[name](ALL)
    for level, y in zip(LEVELS, dist.quantile(LEVELS).T, strict=True):
        if dist.discrete or "log_prob" not in dist.supports or isinstance(dist, ZeroInflated):
            assert (dist.cdf(y) >= level * (1 - 1e-12)).all()
            assert (dist.cdf(np.nextafter(y, -np.inf)) < level * (1 + 1e-12)).all()
        else:
            np.testing.assert_allclose(dist.cdf(y), level, rtol=1e-9)


PIT = [
    "normal", "t", "poisson", "normal mixture", "points", "quantile table", "histogram with tails", "draws of counts",
    "zero-inflated counts", "mixture", "mixture of counts",
]  # fmt: skip


@pytest.mark.parametrize("name", PIT)
def test_the_randomised_pit_is_uniform(name: str) -> None:
    dist = FAMILIES[name](ALL).take(np.repeat(ALL, 200))
    rng = np.random.default_rng(5)
    y = dist.sample(rng, 1)[0].astype(float)
    lower, upper = dist.cdf(np.nextafter(y, -np.inf)), dist.cdf(y)
    u = np.sort(lower + rng.random(len(y)) * (upper - lower))
    gap = np.abs(u - (np.arange(len(u)) + 0.5) / len(u)).max()
    assert gap < 1.95 / np.sqrt(len(u))  # Kolmogorov-Smirnov at 0.1%
    if dist.discrete:
        np.testing.assert_allclose(upper - lower, np.exp(dist.log_prob(y)), atol=1e-12)


DIVERGENCES = [
    (case, name) for case in FAMILIES for name in ("kl", "renyi_half") if name in FAMILIES[case](ALL).supports
]


@pytest.mark.parametrize(("case", "name"), DIVERGENCES)
def test_a_divergence_is_positive_and_exactly_0_from_itself(case: str, name: str) -> None:
    """D(p, q) >= 0, and D(p, p) = 0."""
    dist = FAMILIES[case](ALL)
    assert (ask(dist, name, ALL) > 0).all()
    again = FAMILIES[case](ALL)
    np.testing.assert_array_equal(getattr(dist, name)(again), 0.0)


def test_every_family_with_a_density_or_probabilities_has_a_kl() -> None:
    assert all(("kl" in make(ALL).supports) == ("log_prob" in make(ALL).supports) for make in FAMILIES.values())


@pytest.mark.parametrize("case", [case for case, name in DIVERGENCES if name == "kl"])
def test_kl_is_the_mean_rise_of_the_nll_of_its_own_draws(case: str) -> None:
    """KL(p, q) = E_{y ~ p}[log p(y) - log q(y)]."""
    dist, size = FAMILIES[case](ALL), 4000
    many, rows = moved(dist).take(np.repeat(ALL, size)), np.repeat(ALL, size)
    y = dist.take(rows).sample(np.random.default_rng(2), 1)[0]
    rise = (dist.take(rows).log_prob(y) - many.log_prob(y)).reshape(N, size)
    off = np.abs(rise.mean(axis=1) - dist.kl(moved(dist)))
    assert (off < 5 * rise.std(axis=1) / np.sqrt(size) + 10 / size).all()  # rare counts may not be drawn at all


def test_no_version_is_asked_for_a_beta_function_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before scipy 1.16 the incomplete beta function of a = 0 is NaN, which the score of y = 0 does not need."""
    exact = betaincc
    dist, y = FAMILIES["negative binomial"](ALL), np.zeros(N)
    expected = dist.crps(y)
    monkeypatch.setattr(poisson, "betaincc", lambda a, b, x: np.where(a > 0, exact(np.maximum(a, 0.5), b, x), np.nan))
    np.testing.assert_array_equal(dist.crps(y), expected)
