"""Blocks of rows in order of time: their codes, their lengths by the rule, shuffles of whole blocks."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import lfilter

import uq_report as uq
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject
from uq_report.core.statistics.time_blocks import Blocks, _bandwidth, _run, shortest_length, stationary_length
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal


def ar(rho: float, n: int, rng: np.random.Generator) -> FloatArray:
    """Return a stationary AR(1) series of variance 1."""
    steps = rng.normal(size=n) * np.sqrt(1 - rho**2)
    steps[0] /= np.sqrt(1 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], steps))


def persistent(rho: float, n: int = 400, **options: Any) -> Subject:
    """Return a model that misses an error of autocorrelation `rho`."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=n), "clock": np.arange(n) // 3})
    y = X["x"].to_numpy() + ar(rho, n, rng)
    return uq.explain(lambda X: Normal(X[:, 0], np.ones(len(X))), X.to_numpy(), y, **{"time": "x1"} | options)


@pytest.mark.parametrize(("n", "length", "sizes"), [(12, 4, [4, 4, 4]), (13, 4, [4, 4, 5]), (14, 4, [4, 4, 4, 2])])
def test_blocks_are_successive_and_a_short_rest_joins_the_last(n: int, length: int, sizes: list[int]) -> None:
    moments = np.random.default_rng(0).permutation(n)
    blocks = Blocks(moments, length)
    assert np.bincount(blocks.codes).tolist() == sizes
    assert (np.diff(blocks.codes[blocks.order]) >= 0).all()


def test_rows_of_one_time_stay_together() -> None:
    blocks = Blocks(np.repeat(np.arange(10), 3), 4)
    codes = blocks.codes.reshape(10, 3)
    assert (codes == codes[:, :1]).all()
    assert codes[:, 0].tolist() == [0, 0, 1, 2, 3, 3, 4, 5, 6, 6]


def test_a_shuffle_moves_whole_blocks_and_gives_every_row_every_value_equally_often() -> None:
    n, length, times = 12, 4, 6000
    rng = np.random.default_rng(3)
    blocks = Blocks(np.random.default_rng(0).permutation(n), length)
    rank = np.argsort(blocks.order)
    pairs = np.zeros((n, n))
    for _ in range(times):
        donors = blocks.donors(rng)
        pairs[np.arange(n), donors] += 1
        ranks = rank[donors[blocks.order]]  # in order of time: the rank of each donor
        follows = (np.diff(np.r_[ranks, ranks[0]]) % n) == 1
        assert follows.sum() >= n - 3  # three blocks on the circle have three seams
    expected = times / n
    assert ((pairs - expected) ** 2 / expected).sum() < 121 + 6 * np.sqrt(2 * 121)  # chi squared, (n - 1)² degrees


def test_taken_rows_keep_their_order_and_shorten_their_blocks() -> None:
    blocks = Blocks(np.arange(100), 10).take(np.arange(0, 100, 2))
    assert blocks.length == 5
    assert blocks.moments.tolist() == list(range(0, 100, 2))
    assert sorted(blocks.donors(np.random.default_rng(0))) == list(range(50))


def test_the_length_is_that_of_a_first_order_autoregression() -> None:
    """Politis & White (2004), section 3: for AR(1), G = 2ρ/(1-ρ)², g(0) = (1+ρ)/(1-ρ), D = 4/3 g(0)²."""
    rng, n = np.random.default_rng(5), 20_000
    for rho in (0.3, 0.6):
        G, g = 2 * rho / (1 - rho) ** 2, (1 + rho) / (1 - rho)
        theory = (2 * G**2 / (4 / 3 * g**2)) ** (1 / 3) * n ** (1 / 3)
        assert stationary_length(ar(rho, n, rng)) == pytest.approx(theory, rel=0.2)


def test_lengths_of_special_series() -> None:
    assert stationary_length(np.full(50, 3.0)) == 1
    assert stationary_length(np.arange(5.0)) == 1
    series = ar(0.7, 300, np.random.default_rng(0))
    assert stationary_length(-4 * series + 1e3) == stationary_length(series) == stationary_length(series[::-1])
    differences = np.diff(np.random.default_rng(0).normal(size=901))  # whose mean hardly varies
    assert stationary_length(differences) == 90  # 3√n at most
    assert [shortest_length(n) for n in (1, 27, 28, 1000)] == [1, 3, 4, 10]


@pytest.mark.parametrize(("n", "longer"), [(7, False), (8, True)])
def test_a_trend_asks_for_longer_blocks_from_eight_rows_on(n: int, longer: bool) -> None:
    assert (stationary_length(np.arange(float(n))) > 1) is longer
    assert stationary_length(np.arange(10.0**6, 10.0**6 + n)) == stationary_length(np.arange(float(n)))


def test_a_series_that_is_constant_but_for_rounding_asks_for_one() -> None:
    trend = np.arange(30.0)
    for height, length in ((1e3, 1), (1.0, 1), (1e-6, 1)):
        assert stationary_length(height + 1e-14 * max(1.0, height) * trend) == length
    assert stationary_length(1 + 1e-11 * trend) == stationary_length(trend) > 1


@pytest.mark.parametrize(("small", "bandwidth"), [(0.2828, 4), (0.2829, 6), (-0.2829, 6)])
def test_the_bandwidth_is_twice_the_last_lag_of_weight(small: float, bandwidth: int) -> None:
    """Of 100 rows autocorrelations count beyond 2 √(2/100) = 0.28284, and five small ones in a row end them."""
    correlations = np.array([1.0, 0.9, 0.9, small, *[0.0] * 9])
    assert _bandwidth(correlations, 100, 12) == bandwidth
    assert _bandwidth(correlations, 100, 3) == 3  # no run of five is left: the last that counts, cut


def test_the_bandwidth_of_no_and_of_all_correlations() -> None:
    assert _bandwidth(np.array([1.0, *[0.0] * 12]), 100, 12) == 2
    assert _bandwidth(np.full(13, 0.9), 100, 12) == 12
    assert _bandwidth(np.array([1.0, 0.0, 0.0]), 100, 2) == 2
    assert [_run(n) for n in (10, 10**25, 10**26)] == [5, 5, 6]


def test_the_longest_series_decides_within_bounds_and_says_so() -> None:
    white, red = persistent(0.0), persistent(0.7)
    assert white.blocks is not None
    assert red.blocks is not None
    assert (white.blocks.length, white.blocks.rule) == (8, "n^(1/3); nothing asks for more")
    assert 8 < red.blocks.length <= 20
    assert red.blocks.rule == "by the autocorrelation of negative log-likelihood"
    assert red.clusters is not None
    assert len(np.unique(red.clusters)) >= 20
    redder = persistent(0.98).blocks
    assert redder is not None
    assert redder.length == 20
    assert "to leave 20 blocks, so intervals may be too narrow" in redder.rule


@pytest.mark.parametrize(("rho", "alone"), [(0.0, "; losses and uncertainties alone ask for 8"), (0.98, "")])
def test_what_losses_alone_ask_for_is_said_where_a_feature_lengthens_the_blocks(rho: float, alone: str) -> None:
    """Blocks of 400 rows have at most 20, which the second losses ask for without the wave."""
    rng, n = np.random.default_rng(1), 400
    X = np.column_stack([rng.normal(size=n), np.arange(n), np.sin(np.arange(n) / 60)])
    y = X[:, 0] + ar(rho, n, rng)
    blocks = uq.explain(lambda X: Normal(X[:, 0], np.ones(len(X))), X, y, time="x1").blocks
    assert blocks is not None
    assert blocks.length == 20
    assert blocks.rule.partition("; cut from")[0] == f"by the autocorrelation of feature x2{alone}"


def test_a_given_size_stays() -> None:
    blocks = persistent(0.9, block_size=5).blocks
    assert blocks is not None
    assert (blocks.length, blocks.rule) == (5, "as given")


def test_order_alone_counts_not_rows_nor_units_of_time() -> None:
    n, rng = 60, np.random.default_rng(2)
    order = rng.permutation(n)
    X, days = rng.normal(size=(n, 2)), pd.date_range("2026-01-01", periods=n)
    model = lambda X: Normal(X[:, 0], np.ones(len(X)))  # noqa: E731 - a model in a word
    given = {
        "numbers": np.arange(n) * 2.5,
        "dates": days,
        "text": days.strftime("%Y-%m-%d"),
        "periods": days.to_period("D"),
        "zones": days.tz_localize("Europe/Vienna"),
    }
    codes = {
        name: uq.explain(model, X[order], X[order, 1], time=pd.Series(time)[order], block_size=3).clusters
        for name, time in given.items()
    }
    for name, found in codes.items():
        np.testing.assert_array_equal(found, order // 3, err_msg=name)


def test_a_row_limit_keeps_the_order() -> None:
    few = persistent(0.5, max_rows=90)
    assert few.blocks is not None
    assert len(few.blocks.moments) == few.n == 90
    np.testing.assert_array_equal(few.blocks.order, np.argsort(few.X[:, 1], kind="stable"))


def test_clusters_may_be_named_as_a_column() -> None:
    X = pd.DataFrame({"x": np.arange(6.0), "home": list("aabbcc")})
    subject = uq.explain(lambda X: Normal(X["x"].to_numpy(), np.ones(len(X))), X, clusters="home")
    assert subject.clusters is not None
    assert subject.clusters.tolist() == [0, 0, 1, 1, 2, 2]
    assert subject.blocks is None


def test_means_are_over_blocks_and_say_so() -> None:
    subject = persistent(0.5, block_size=8, time=np.arange(400))
    sampling = Sampling.of(subject)
    values = np.asarray(subject.y, dtype=float)
    blocks = sliding_window_view(values, 8)[::8].sum(axis=1)
    assert sampling.units == 50
    assert sampling.mean(values)[1] == pytest.approx(np.sqrt(50 / 49 * ((blocks - blocks.mean()) ** 2).sum()) / 400)
    assert sampling.notes() == (
        "Standard errors are over 50 blocks of about 8 successive observations, not single observations.",
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"time": "when"}, r"subject.time must list features of X, or hold one time per row; got \['when'\]"),
        ({"clusters": "home"}, r"subject.clusters must list features of X, or hold one label per row; got \['home'\]"),
        ({"time": np.arange(3)}, r"subject.time must have shape \(6,\); got \(3,\)"),
        ({"time": [1, None, 3, 4, None, 6]}, r"no missing times; got 2 of 6 \(rows 1, 4\)"),
        ({"time": [True, False] * 3}, "must be numbers or dates; got booleans"),
        ({"time": ["31.1.2026"] * 6}, "ISO 8601 such as 2026-01-31; got '31.1.2026'"),
        ({"time": np.arange(6), "clusters": np.arange(6)}, "must be None where clusters are given; got both"),
        ({"block_size": 2}, "subject.block_size must come with time; got 2 without"),
        ({"time": np.arange(6), "block_size": 7}, "a number of rows from 1 to 6; got 7"),
        ({"time": np.arange(6), "block_size": 2.0}, "a number of rows from 1 to 6; got 2.0"),
    ],
)
def test_bad_times_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        uq.explain(lambda X: Normal(X[:, 0], np.ones(len(X))), np.eye(6), **options)
