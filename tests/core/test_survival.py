"""Survival curves: algebra of steps and cells, and what holds under any independent censoring."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from uq_report.core.model.measures import divergence
from uq_report.core.support.arrays import AnyArray, FloatArray
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.core.validation.lifetimes import recorded
from uq_report.distributions import Survival
from uq_report.distributions.tables.survival import ROUNDING

RNG = np.random.default_rng(0)
N, TIMES = 25, np.array([1.0, 2.0, 4.0, 5.0, 7.0, 11.0])
HAZARDS = RNG.uniform(0.02, 0.6, (N, len(TIMES)))
CURVES = np.cumprod(1 - HAZARDS, axis=1)
COARSE = [1, 3, 5]
GRIDS = pytest.mark.parametrize("cells", [None, COARSE], ids=["every time", "three cells"])


def events(times: Any) -> AnyArray:
    return recorded(np.asarray(times, dtype=float), np.ones(len(times), dtype=bool))


def censored(times: Any) -> AnyArray:
    return recorded(np.asarray(times, dtype=float), np.zeros(len(times), dtype=bool))


def test_a_curve_of_two_steps_by_hand() -> None:
    curve = Survival([1.0, 3.0], [[0.5, 0.2]])
    np.testing.assert_allclose(curve.mass, [[0.5, 0.3, 0.2]])
    np.testing.assert_allclose(curve.mean(), [1 + 0.5 * 2])
    np.testing.assert_allclose(curve.variance(), [1 + 0.5 * 8 - 4])  # E min(T, 3)² = 0.5 + 0.5 * 9
    np.testing.assert_allclose(curve.entropy(), stats.entropy([0.5, 0.3, 0.2]))
    np.testing.assert_array_equal(curve.quantile(np.array([0.4, 0.6, 0.9])), [[1.0, 3.0, 3.0]])


def test_a_quantile_at_the_level_of_a_step_is_its_time() -> None:
    """Also where 1 - p and the curve differ by rounding, as 1 - 0.9 and 0.1."""
    curve = Survival([1.0, 2.0, 3.0, 4.0], [[0.7, 0.4, 0.1, 0.05]])
    np.testing.assert_array_equal(curve.quantile(np.array([0.3, 0.6, 0.9])), [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(curve.quantile(np.array([0.29, 0.31, 0.61, 0.91, 0.99])), [[1.0, 2.0, 3.0, 4.0, 4.0]])


@pytest.mark.parametrize(
    ("y", "probability"),
    [
        (events([0.3]), 0.5),
        (events([1.0]), 0.5),
        (events([1.1]), 0.3),
        (events([3.0]), 0.3),
        (events([3.1]), 0.2),
        (censored([0.9]), 1.0),
        (censored([1.0]), 0.5),
        (censored([2.9]), 0.5),
        (censored([3.0]), 0.2),
        (censored([99.0]), 0.2),
    ],
    ids=str,
)
def test_the_likelihood_on_both_sides_of_every_step(y: AnyArray, probability: float) -> None:
    """An event has the mass of its cell (t_{k-1}, t_k], a censored row S(t), which is right-continuous."""
    np.testing.assert_allclose(Survival([1.0, 3.0], [[0.5, 0.2]]).log_prob(y), np.log([probability]))


def test_cells_add_up_the_mass_of_their_steps() -> None:
    fine, coarse = Survival(TIMES, CURVES), Survival(TIMES, CURVES, COARSE)
    np.testing.assert_allclose(coarse.mass, np.add.reduceat(fine.mass, [0, 2, 4, 6], axis=1), atol=1e-15)
    np.testing.assert_array_equal(coarse.mean(), fine.mean())
    assert (coarse.entropy() < fine.entropy()).all()
    np.testing.assert_allclose(fine.mass.sum(axis=1), 1)


def test_a_cell_without_mass_makes_the_loss_infinite_and_no_nan() -> None:
    curve = Survival([1.0, 2.0, 3.0], [[0.5, 0.5, 0.0]])
    np.testing.assert_array_equal(np.isneginf(curve.take(np.array([0, 0])).log_prob(events([1.5, 9.0]))), True)
    assert np.isfinite(curve.entropy()).all()
    for y in (events([1.5]), events([3.0]), events([9.0]), censored([9.0])):
        assert np.isfinite(curve.expected_nll(y)).all()


def test_the_likelihood_of_discrete_hazards_is_the_binary_cross_entropy_of_its_steps() -> None:
    """-log L = -Σ_{k < j} log(1 - h_k) - d log h_j - (1 - d) log(1 - h_j) (Kvamme & Borgan 2021, eq. 2)."""
    at = RNG.integers(0, len(TIMES), N)
    alive = np.where(np.arange(len(TIMES)) < at[:, None], np.log1p(-HAZARDS), 0).sum(axis=1)
    own = HAZARDS[np.arange(N), at]
    curves = Survival(TIMES, CURVES)
    np.testing.assert_allclose(curves.log_prob(events(TIMES[at])), alive + np.log(own), rtol=1e-10)
    np.testing.assert_allclose(curves.log_prob(censored(TIMES[at])), alive + np.log1p(-own), rtol=1e-10)


def test_without_censoring_the_expected_loss_has_the_entropy_as_its_mean() -> None:
    """Σ_k P(cell k) e(k) = H, for the sum e of what is expected while the row is at risk."""
    for cells in (None, COARSE):
        curves = Survival(TIMES, CURVES, cells)
        ends = [*TIMES, 99.0]
        expected = np.stack([curves.expected_nll(events([end] * N)) for end in ends], axis=1)
        mass = Survival(TIMES, CURVES).mass
        np.testing.assert_allclose((mass * expected).sum(axis=1), curves.entropy(), rtol=1e-12)


def _seen(cells: Any, censoring: FloatArray, last: float = 99.0) -> tuple[Survival, AnyArray]:
    """Return curves of one shape many times, and outcomes drawn from them and censored at the given times."""
    curves = Survival(TIMES, np.tile(CURVES[0], (len(censoring), 1)), cells)
    uniform = np.random.default_rng(7).random(len(censoring))
    times = np.append(TIMES, last)[np.searchsorted(-CURVES[0], -uniform)]
    return curves, recorded(np.minimum(times, censoring), times <= censoring)


CENSORING = {
    "none": np.full(40_000, 1e3),
    "any time": np.random.default_rng(1).uniform(0, 13, 40_000),
    "times of the curve": np.random.default_rng(2).choice(TIMES, 40_000),
    "early": np.random.default_rng(3).uniform(0, 3, 40_000),
}


@GRIDS
@pytest.mark.parametrize("scheme", CENSORING)
def test_gap_pit_and_hazards_are_right_under_any_independent_censoring(cells: Any, scheme: str) -> None:
    """Loss less expected loss has mean 0, the randomised PIT is uniform, and events match their summed hazards."""
    curves, y = _seen(cells, CENSORING[scheme])
    gap = -curves.log_prob(y) - curves.expected_nll(y)
    assert abs(gap.mean()) < 4.5 * gap.std() / np.sqrt(len(gap))
    lower, upper = curves.pit_bounds(y)
    pit = lower + np.random.default_rng(4).random(len(y)) * (upper - lower)
    assert stats.kstest(pit, "uniform").pvalue > 1e-4
    within = (y["event"] & (y["time"] <= curves.horizon)).sum()
    expected = curves.cumulative_hazard(y["time"]).sum()
    assert abs(within - expected) < 4.5 * np.sqrt(expected)


@GRIDS
def test_swapped_flags_are_seen_by_the_gap(cells: Any) -> None:
    curves, y = _seen(cells, CENSORING["any time"])
    swapped = recorded(y["time"], ~y["event"])
    gap = -curves.log_prob(swapped) - curves.expected_nll(swapped)
    assert abs(gap.mean()) > 8 * gap.std() / np.sqrt(len(gap))


def test_moments_are_those_of_the_draws() -> None:
    curves, size = Survival(TIMES, CURVES), 20_000
    draws = curves.sample(np.random.default_rng(3), size)
    assert draws.shape == (size, N)
    assert (np.abs(draws.mean(axis=0) - curves.mean()) < 5 * np.sqrt(curves.variance() / size)).all()
    np.testing.assert_allclose(draws.var(axis=0), curves.variance(), rtol=0.1)
    np.testing.assert_allclose((draws <= 4.5).mean(axis=0), curves.cdf(np.full(N, 4.5)), atol=0.02)


def test_the_first_time_may_be_0() -> None:
    curve = Survival([0.0, 2.0], [[0.9, 0.4]])
    np.testing.assert_allclose(curve.mean(), [1.8])
    np.testing.assert_allclose(curve.log_prob(events([0.0])), np.log([0.1]))


@GRIDS
def test_divergences_are_those_of_the_cells(cells: Any) -> None:
    p, q = Survival(TIMES, CURVES, cells), Survival(TIMES, CURVES**1.5, cells)
    np.testing.assert_allclose(divergence(p, q, "kl"), stats.entropy(p.mass, q.mass, axis=1), rtol=1e-10)
    half = -2 * np.log(np.sqrt(p.mass * q.mass).sum(axis=1))
    np.testing.assert_allclose(divergence(p, q, "half"), half, rtol=1e-9)
    np.testing.assert_array_equal(p.kl(p), 0)


@GRIDS
def test_a_row_is_the_same_bit_by_bit_alone_and_among_others(cells: Any) -> None:
    curves, y = Survival(TIMES, CURVES, cells), events(RNG.uniform(0, 12, N))
    for at in range(0, N, 7):
        one, rows = curves.take(np.array([at])), [at]
        for name in ("mean", "variance", "entropy"):
            assert getattr(one, name)() == getattr(curves, name)()[rows]
        for name in ("log_prob", "expected_nll"):
            assert getattr(one, name)(y[rows]) == getattr(curves, name)(y)[rows]
    empty = curves.take(np.arange(0))
    assert len(empty.entropy()) == len(empty.log_prob(y[:0])) == len(empty.mean()) == 0


def test_rounding_is_taken_out_and_what_is_more_is_refused() -> None:
    np.testing.assert_array_equal(Survival([1.0, 2.0], [[0.5, 0.5 + 1e-12]]).survival, [[0.5, 0.5]])
    with pytest.raises(InputError, match=r"not rise; got 0.6 at time number 1 in row 1 \(1 of 2 rows\)"):
        Survival([1.0, 2.0], [[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(InputError, match=r"lie in \[0, 1\]; got 1.01 at time number 0 in row 0 \(2 of 2 rows\)"):
        Survival([1.0], [[1.01], [-0.1]])
    with pytest.raises(InputError, match=r"lie in \[0, 1\]; got no number"):
        Survival([1.0], [[np.nan]])


@pytest.mark.parametrize(
    ("times", "curves", "cells", "says"),
    [
        ([2.0, 1.0], [[0.5, 0.4]], None, "times must be increasing"),
        ([-1.0, 1.0], [[0.5, 0.4]], None, "times must be increasing and at least 0"),
        ([], np.ones((1, 0)), None, "times must be increasing"),
        ([1.0, 2.0], [[0.5]], None, r"shape \(rows, 2\), one column per time; got \(1, 1\)"),
        ([1.0, 2.0], [[0.5, 0.4]], [0], r"positions in times, the last 1; got \[0\]"),
        ([1.0, 2.0], [[0.5, 0.4]], [1, 1], r"cells must increase; got \[1, 1\]"),
    ],
)
def test_what_is_no_curve_is_refused(times: Any, curves: Any, cells: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Survival(times, curves, cells)


def test_what_a_curve_cannot_do_has_its_reason() -> None:
    curves = Survival(TIMES, CURVES)
    with pytest.raises(UnsupportedError, match=r"no proper score of censored outcomes .* use nll"):
        curves.crps(events(np.ones(N)))
    with pytest.raises(InputError, match="both curves that are compared"):
        curves.kl(Survival(TIMES, CURVES, COARSE))
    with pytest.raises(InputError, match=r"survival.y must be times with events; got float64"):
        curves.encode(np.ones(N))


def test_curves_may_leave_the_unit_interval_and_rise_by_rounding_alone() -> None:
    near, times = 0.5 * ROUNDING, [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(Survival(times, [[1 + near, 0.5, -near]]).survival, [[1.0, 0.5, 0.0]])
    np.testing.assert_array_equal(Survival(times, [[0.5, 0.5 + near, 0.25]]).survival, [[0.5, 0.5, 0.25]])
    for curve, words in (
        ([1 + 4 * near, 0.5, 0.0], r"must lie in \[0, 1\]; got 1 at time number 0"),
        ([0.5, 0.2, -4 * near], r"must lie in \[0, 1\]"),
        ([0.5, 0.5 + 4 * near, 0.0], "must not rise; got 0.5 at time number 1"),
    ):
        with pytest.raises(InputError, match=words):
            Survival(times, [curve])
