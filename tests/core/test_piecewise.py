"""Quantile tables and histograms: every closed form against quadrature."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import expon, halfnorm, logistic, norm, uniform

from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Histogram, Quantiles
from uq_report.distributions.tables.piecewise import Piecewise

RNG = np.random.default_rng(0)
LEVELS = np.array([0.1, 0.2, 0.4, 0.7, 0.95])
TABLE = np.sort(RNG.normal(size=(3, 5)), axis=1)
OTHER = np.sort(1 + 2 * RNG.normal(size=(3, 5)), axis=1)
OTHER_WORD: Any = "kept"
EDGES, BARS = np.sort(RNG.normal(size=7)), RNG.dirichlet(np.ones(6), (2, 3))

PAIRS: dict[str, tuple[Piecewise, Piecewise]] = {
    "quantiles": (Quantiles(LEVELS, TABLE), Quantiles(LEVELS, OTHER)),
    "other levels": (Quantiles(LEVELS, TABLE), Quantiles(LEVELS[1:], OTHER[:, 1:])),
    "joined": (Quantiles(LEVELS, TABLE.round(), "joined"), Quantiles(LEVELS, OTHER.round(), "joined")),
    "far apart": (Quantiles(LEVELS, TABLE), Quantiles(LEVELS, 0.1 * TABLE + 2)),
    "histogram": (Histogram(EDGES, BARS[0]), Histogram(EDGES, BARS[1])),
    "half-normal ends": (
        Histogram(EDGES, BARS[0], half_normal_ends=True),
        Histogram(EDGES, BARS[1], half_normal_ends=True),
    ),
}
pairs = pytest.mark.parametrize(("p", "q"), PAIRS.values(), ids=PAIRS)


def integral(f: Callable[[FloatArray], Any], *dists: Piecewise, at: tuple[float, ...] = ()) -> float:
    """Return the integral of a function of one-row arrays, between all edges and 60 scales beyond them."""
    places = np.unique([*np.concatenate([d.edges[0] for d in dists]), *at])
    reach = 60 * max(float(d.scales.max()) for d in dists)
    ends = [places[0] - reach, *places, places[-1] + reach]
    return sum(
        quad(lambda t: float(f(np.array([t]))[0]), a, b, epsabs=1e-12, epsrel=1e-11, limit=200)[0]
        for a, b in pairwise(ends)
    )


def density(dist: Piecewise) -> Callable[[FloatArray], FloatArray]:
    return lambda t: np.exp(dist.log_prob(t))


@pairs
@pytest.mark.parametrize("row", range(3))
def test_moments_entropy_and_divergences_are_those_of_the_density(p: Piecewise, q: Piecewise, row: int) -> None:
    p, q = p.take(np.array([row])), q.take(np.array([row]))
    f, g = density(p), density(q)
    mean = integral(lambda t: t * f(t), p)
    assert integral(f, p) == pytest.approx(1, abs=1e-10)
    assert p.mean()[0] == pytest.approx(mean, abs=1e-9)
    assert p.variance()[0] == pytest.approx(integral(lambda t: (t - mean) ** 2 * f(t), p), abs=1e-9)
    with np.errstate(invalid="ignore"):
        assert p.entropy()[0] == pytest.approx(integral(lambda t: np.nan_to_num(-f(t) * p.log_prob(t)), p), abs=1e-8)
        rise = integral(lambda t: np.nan_to_num(f(t) * (p.log_prob(t) - q.log_prob(t))), p, q)
    assert p.kl(q)[0] == pytest.approx(rise, abs=1e-7)
    overlap = integral(lambda t: np.sqrt(f(t) * g(t)), p, q)
    assert p.renyi_half(q)[0] == pytest.approx(-2 * np.log(overlap), rel=1e-7)


def mass_to(p: Piecewise, y: float, t: FloatArray) -> FloatArray:
    return density(p)(t) * (t <= y)


def gap_at(p: Piecewise, y: float, t: FloatArray) -> FloatArray:
    return np.square(p.cdf(t) - (t >= y))


@pairs
def test_cdf_is_the_integral_of_the_density_and_crps_that_of_its_square(p: Piecewise, q: Piecewise) -> None:
    p = p.take(np.array([0]))
    for y in (p.edges[0, 0] - 0.7, float(p.edges[0, 2]), p.mean()[0], p.edges[0, -1] + 0.3):
        assert p.cdf(np.array([y]))[0] == pytest.approx(integral(partial(mass_to, p, y), p, at=(y,)), abs=1e-9)
        assert p.crps(np.array([y]))[0] == pytest.approx(integral(partial(gap_at, p, y), p, at=(y,)), abs=1e-8)
    assert len(q) == 3


def test_quantiles_of_a_uniform_inside_and_of_an_exponential_outside() -> None:
    """Between the levels it is the uniform; beyond them lies 0.2, with the mean distance of a logistic's tail."""
    q = Quantiles([0.2, 0.5, 0.8], [[0.2, 0.5, 0.8]])
    inside = np.array([0.3, 0.6])
    np.testing.assert_allclose(q.take(np.array([0, 0])).cdf(inside), uniform.cdf(inside))
    scale = 0.3 / np.log(4) * -np.log(0.8) / 0.2  # logit 0.8 = log 4, logit 0.5 = 0
    tail = np.array([0.9])
    np.testing.assert_allclose(q.log_prob(tail), np.log(0.2) + expon.logpdf(0.9, 0.8, scale))
    np.testing.assert_allclose(q.entropy(), 0.4 * (1 + np.log(scale / 0.2)))  # 0.6 log(1) + 2 * 0.2 (1 - log density)
    low = 0.2 + scale * np.log(0.25)
    np.testing.assert_allclose(q.quantile(np.array([0.05, 0.35, 0.95])), [[low, 0.35, 1 - low]])


@pytest.mark.parametrize("levels", [(0.05, 0.5, 0.95), (0.1, 0.2, 0.3, 0.6, 0.8), tuple(np.arange(1, 20) / 20)])
def test_beyond_the_outermost_quantiles_a_logistic_is_as_far_off_as_stated(levels: tuple[float, ...]) -> None:
    values = np.asarray(logistic.ppf(levels))
    scales = Quantiles(levels, values[None]).scales[0]
    for edge, scale, side in zip((-values[0], values[-1]), scales, (levels[0], 1 - levels[-1]), strict=True):
        far = quad(lambda y, edge=edge: (y - edge) * logistic.pdf(y), edge, np.inf)[0]
        assert far / side == pytest.approx(scale, rel=1e-6)


def test_a_table_states_the_levels_around_an_outcome() -> None:
    """In a cell both its levels, at one quantile those of both cells, at a value of several levels the levels of it."""
    q = Quantiles([0.1, 0.2, 0.5, 0.9], [[0.0, 1.0, 1.0, 3.0]], "joined")
    y = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
    lower, upper = q.take(np.zeros(7, dtype=int)).pit_bounds(y)
    assert lower.tolist() == [0.0, 0.0, 0.1, 0.2, 0.5, 0.5, 0.9]
    assert upper.tolist() == [0.1, 0.2, 0.2, 0.5, 0.9, 1.0, 1.0]


@pytest.mark.parametrize("ties", ["refused", "joined"])
def test_an_outcome_in_a_tail_counts_with_the_mean_loss_of_the_tail(ties: Any) -> None:
    """Hence the mean of loss less expected loss is 0 for every law that has these quantiles."""
    q = Quantiles(LEVELS, TABLE if ties == "refused" else TABLE.round(), ties).take(np.array([0]))
    places = np.array([q.edges[0, 0] - 9, q.edges[0, 0] - 1e-3, *(q.edges[0, 1:] + q.edges[0, :-1]) / 2, 50.0])
    gap = np.array([float((-q.log_prob(y[None]) - q.expected_nll(y[None]))[0]) for y in places])
    assert gap[0] == pytest.approx(gap[1])
    masses = np.array([q.beyond[0, 0], *q.masses[0], q.beyond[0, 1]])
    full = masses > 0
    assert masses[full] @ gap[1:][full] == pytest.approx(0, abs=1e-12)


def test_the_pinball_divergence_is_the_mean_difference_of_the_pinball_losses() -> None:
    p, q = (d.take(np.array([1])) for d in PAIRS["quantiles"])
    assert isinstance(p, Quantiles)
    assert isinstance(q, Quantiles)

    def loss(d: Any, y: FloatArray) -> FloatArray:
        error = y[:, None] - d.edges
        return np.asarray(np.maximum(LEVELS * error, (LEVELS - 1) * error).mean(axis=1))

    assert q.pinball(np.array([0.3]))[0] == pytest.approx(loss(q, np.array([0.3]))[0])
    expected = integral(lambda y: density(p)(y) * (loss(q, y) - loss(p, y)), p, q)
    assert p.pinball_divergence(q)[0] == pytest.approx(expected, abs=1e-8)
    assert p.pinball_divergence(p).tolist() == [0.0]


def test_many_quantiles_of_a_normal_give_the_normal() -> None:
    """As the grid of levels grows finer, entropy, crps and log density go to those of the normal."""
    levels = np.arange(1, 2000) / 2000
    q = Quantiles(levels, norm.ppf(levels)[None])
    assert q.entropy()[0] == pytest.approx(norm.entropy(), abs=1e-3)
    assert q.variance()[0] == pytest.approx(1, abs=2e-3)
    assert q.log_prob(np.array([0.4]))[0] == pytest.approx(norm.logpdf(0.4), abs=2e-3)
    assert q.crps(np.array([0.0]))[0] == pytest.approx((np.sqrt(2) - 1) / np.sqrt(np.pi), abs=1e-5)


@pytest.mark.parametrize(("shift", "scale"), [(3.0, 1.0), (-1e6, 1.0), (0.0, 1e-9), (2.0, 1e9)])
def test_shift_and_scale(shift: float, scale: float) -> None:
    """H(a Y + b) = H(Y) + log a; crps and quantiles move with the values; divergences stay."""
    q, moved = Quantiles(LEVELS, TABLE), Quantiles(LEVELS, shift + scale * TABLE)
    np.testing.assert_allclose(moved.entropy(), q.entropy() + np.log(scale), atol=1e-7)
    np.testing.assert_allclose(moved.crps(shift + scale * np.ones(3)), scale * q.crps(np.ones(3)), rtol=1e-7)
    np.testing.assert_allclose(moved.variance(), scale**2 * q.variance(), rtol=1e-7)
    np.testing.assert_allclose(
        moved.kl(Quantiles(LEVELS, shift + scale * OTHER)), q.kl(Quantiles(LEVELS, OTHER)), rtol=1e-6
    )


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_units_as_small_or_large_as_floats_go(scale: float) -> None:
    """Nothing overflows or vanishes, whose value is a float."""
    q, moved = Quantiles(LEVELS, TABLE), Quantiles(LEVELS, scale * TABLE)
    np.testing.assert_allclose(moved.entropy(), q.entropy() + np.log(scale))
    np.testing.assert_allclose(moved.crps(np.zeros(3)), scale * q.crps(np.zeros(3)))
    np.testing.assert_allclose(moved.kl(Quantiles(LEVELS, scale * OTHER)), q.kl(Quantiles(LEVELS, OTHER)))
    bars = Histogram(scale * EDGES, BARS[0], half_normal_ends=True)
    np.testing.assert_allclose(bars.crps(np.ones(3)), np.abs(1 - bars.mean()) if scale < 1 else bars.crps(np.zeros(3)))


def test_a_tail_far_inside_cells_of_the_other_keeps_its_mass() -> None:
    """KL of a narrow table from a wide one is their difference of log densities: no tail is lost by underflow."""
    narrow = Quantiles([0.3, 0.5, 0.7], [[0.5, 0.5 + 1e-6, 0.5 + 2e-6]])
    wide = Quantiles([0.001, 0.5, 0.999], [[-1.0, 0.0, 1.0]])
    expected = -narrow.entropy() - np.log(0.499)
    np.testing.assert_allclose(narrow.kl(wide), expected, rtol=1e-9)


def test_rows_that_cross_are_sorted_and_named() -> None:
    crossed = TABLE.copy()
    crossed[[0, 2]] = crossed[[0, 2]][:, [0, 2, 1, 3, 4]]
    q = Quantiles(LEVELS, crossed)
    np.testing.assert_array_equal(q.edges, TABLE)
    assert q.row_remarks() == ("Predicted quantiles cross in 2 of 3 rows (rows 0, 2) and are sorted there.",)
    assert q.take(np.array([1])).row_remarks() == Quantiles(LEVELS, TABLE).row_remarks() == ()
    many = Quantiles([0.2, 0.5, 0.8], np.tile([1.0, 0.0, 2.0], (9, 1)))
    assert many.row_remarks()[0].endswith("(rows 0, 1, 2, 3, 4 ...) and are sorted there.")


def test_rows_whose_quantiles_are_joined_are_named() -> None:
    table = [[0.0, 1.0, 2.0], [0.0, 1.0, 1.0]]
    words = "Neighbouring quantiles are equal in 1 of 2 rows (row 1): there a value keeps the middle of its levels."
    assert Quantiles([0.2, 0.5, 0.8], table, ties="joined").row_remarks() == (words,)
    assert Quantiles([0.2, 0.5, 0.8], table, ties="atoms").row_remarks() == ()


def test_a_joined_value_keeps_the_middle_of_its_levels() -> None:
    q = Quantiles([0.1, 0.2, 0.3, 0.4, 0.5, 0.9], [[0.0, 1.0, 1.0, 1.0, 2.0, 2.0]], "joined")
    np.testing.assert_allclose(q.cdf(np.array([1.0])), 0.3)
    np.testing.assert_allclose(q.cdf(np.array([2.0])), 0.7)
    np.testing.assert_allclose(q.quantile(np.array([0.3, 0.5, 0.7])), [[1.0, 1.5, 2.0]])
    assert np.isfinite(q.log_prob(np.array([1.0]))).all()


def test_atoms_keep_all_but_what_needs_a_density() -> None:
    q = Quantiles([0.25, 0.5, 0.75], [[0.0, 1.0, 1.0], [3.0, 3.0, 3.0]], "atoms")
    np.testing.assert_allclose(q.cdf(np.array([1.0, 3.0])), [0.75, 1.0])
    np.testing.assert_allclose(q.cdf(np.array([1 - 1e-12, 2.9])), [0.5, 0.0])
    np.testing.assert_allclose(q.crps(np.array([1.0, 5.0]))[1], 2.0)
    with pytest.raises(UnsupportedError, match="equal quantiles are read as atoms; give ties='joined'"):
        q.entropy()


def test_half_normal_ends_have_half_their_mass_inside_their_bar() -> None:
    """TabPFN's full-support bars: the median of a half-normal end lies at the outer edge of its bar."""
    q = Histogram(EDGES, BARS[0], half_normal_ends=True)
    np.testing.assert_allclose(q.cdf(np.full(3, EDGES[0])), BARS[0][:, 0] / 2)
    np.testing.assert_allclose(1 - q.cdf(np.full(3, EDGES[-1])), BARS[0][:, -1] / 2)
    scale = (EDGES[-1] - EDGES[-2]) / halfnorm.ppf(0.5)
    y = EDGES[-1] + 0.2
    expected = np.log(BARS[0][:, -1]) + halfnorm.logpdf(y, EDGES[-2], scale)
    np.testing.assert_allclose(q.log_prob(np.full(3, y)), expected)


def test_bars_without_tails_give_nothing_outside() -> None:
    q = Histogram(EDGES, BARS[0])
    assert (q.log_prob(np.full(3, EDGES[0] - 0.1)) == -np.inf).all()
    assert np.isfinite(q.log_prob(np.full(3, EDGES[-1]))).all()
    assert np.isinf(q.kl(Histogram(EDGES, np.eye(6)[:3]))).all()
    np.testing.assert_array_equal(q.quantile(np.array([1e-300]))[:, 0], EDGES[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quantiles([0.5, 0.1, 0.9], TABLE[:, :3]), r"at least 3 strictly increasing levels; got \[0\.5, 0\.1"),
        (lambda: Quantiles([0.1, 0.9], TABLE[:, :2]), r"at least 3 strictly increasing levels"),
        (
            lambda: Quantiles([0.0, 0.5, 0.9], TABLE[:, :3]),
            r"levels must be levels strictly between 0 and 1",
        ),
        (lambda: Quantiles(LEVELS, TABLE.T), r"shape \(rows, 5\), one column per level; got \(5, 3\)"),
        (
            lambda: Quantiles(LEVELS, TABLE + np.array([[0], [np.nan], [0]])),
            r"finite; got other values in 1 of 3 rows, first in row 1",
        ),
        (
            lambda: Quantiles(LEVELS, TABLE, OTHER_WORD),
            r"ties must be one of \['refused', 'joined', 'atoms'\]; got",
        ),
        (
            lambda: Quantiles([0.2, 0.5, 0.8], [[0.0, 1.0, 2.0], [0.0, 1.0, 1.0]]),
            r"differ between neighbouring levels; got 1 at 0\.5 and 0\.8 in row 1 \(1 of 2 rows\)\. Give ties='joined'",
        ),
        (
            lambda: Quantiles([0.2, 0.5, 0.8], [[0.0, 1.0, 2.0], [7.0, 7.0, 7.0]], "joined"),
            r"one value at all levels in 1 of 2 rows, first 7 in row 1\. .* give ties='atoms'",
        ),
        (lambda: Histogram(EDGES, BARS[0] * 1.1), r"histogram\.probabilities must sum to 1 within 1e-05 in every row"),
        (lambda: Histogram(EDGES, BARS[0] - 0.5), r"histogram\.probabilities must be finite and >= 0; got -"),
        (lambda: Histogram(EDGES[:-1], BARS[0]), r"one more than the 6 bars, shape \(7,\) or \(3, 7\); got \(6,\)"),
        (
            lambda: Histogram(EDGES[::-1], BARS[0]),
            r"histogram\.edges must be finite and strictly increase; got others\.",
        ),
        (
            lambda: Histogram(np.stack([EDGES, EDGES, EDGES[::-1]]), BARS[0]),
            r"strictly increase; got others in row 2 \(1 of 3 rows\)",
        ),
        (
            lambda: Histogram([0.0, 1.0, 2.0], [[0.5, 0.5]], half_normal_ends=True),
            r"at least 3 bars with half-normal ends; got 2",
        ),
    ],
)
def test_bad_tables_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_half_normal_ends_of_other_edges_have_no_divergence() -> None:
    p, q = (Histogram(EDGES + shift, BARS[0], half_normal_ends=True) for shift in (0.0, 0.1))
    with pytest.raises(UnsupportedError, match="half-normal tails must be between equal edges"):
        p.kl(q)


@pytest.mark.parametrize("ends", [False, True])
def test_bars_that_sum_to_nearly_one_are_shares(ends: bool) -> None:
    exact, near = (Histogram(EDGES, BARS[0] * share, half_normal_ends=ends) for share in (1.0, 1 + 8e-6))
    np.testing.assert_allclose(near.entropy(), exact.entropy(), rtol=1e-13)
    levels = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(near.quantile(levels), exact.quantile(levels), rtol=1e-12)
