"""Permutation importance of rows in order of time: whole blocks are shuffled, intervals are over blocks."""

from typing import Any

import numpy as np
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.subject import Subject
from uq_report.core.statistics.inference import shuffled_pairs, standard_error
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Normal
from uq_report.methods.shared.terms import ChangedMeasures, ShuffledRows, pair_terms

from .pfi_cases import MEASURES, explained, line, repeats, rows, subject, three_features

N, LENGTH = 120, 5


def timed(**options: Any) -> Subject:
    """Return rows that stand in no order, with their times."""
    X, y = rows(N, 2)
    times = np.random.default_rng(1).permutation(N)
    return subject(three_features, X, y, **{"time": times, "block_size": LENGTH} | options)


def test_values_move_in_blocks_of_the_order_of_time() -> None:
    seen: list[FloatArray] = []

    def spy(X: FloatArray) -> Normal:
        seen.append(X)
        return Normal(X[:, 0], np.ones(len(X)))

    of = subject(spy, np.column_stack([np.arange(N), np.zeros(N)]), time=np.arange(N), block_size=LENGTH, rows=N)
    explained(of, n_repeats=4, features=("a",), measures=("entropy",))
    shuffled = [X[:, 0] for X in seen if len(X) == N and (X[:, 0] != np.arange(N)).any()]
    assert len(shuffled) == 4
    for values in shuffled:
        assert sorted(values) == list(range(N))
        seams = (np.diff(np.r_[values, values[0]]) % N != 1).sum()
        assert N // LENGTH - 5 <= seams <= N // LENGTH


def test_the_estimate_is_the_mean_over_all_pairs() -> None:
    """Shuffles of blocks estimate what all pairs give, within four of their own errors."""
    pairs, blocks = explained(timed(), exact=True)["pfi"], explained(timed(), n_repeats=60)["pfi"]
    for measure in ("brier", "nll", "entropy"):
        for feature in "abc":
            values = repeats(blocks, measure, feature)
            error = values.std(ddof=1) / np.sqrt(len(values))
            assert abs(values.mean() - line(pairs, measure, feature)["estimate"]) < 4 * error


def test_of_all_pairs_blocks_are_clusters() -> None:
    of, X_y = timed(), rows(N, 2)
    assert of.clusters is not None
    pairs, clustered = (
        explained(s, exact=True)["pfi"].estimates for s in (of, subject(three_features, *X_y, clusters=of.clusters))
    )
    for column in ("estimate", "std_error", "lower", "upper"):
        np.testing.assert_allclose(pairs[column], clustered[column], rtol=1e-12)


def test_a_block_of_one_row_is_a_row() -> None:
    """The noise of shuffles is then read off the repeats, otherwise all is as without time."""
    X, y = rows(N, 2)
    single, plain = (
        explained(subject(three_features, X, y, **more), n_repeats=40)["pfi"]
        for more in ({"time": np.arange(N), "block_size": 1}, {})
    )
    np.testing.assert_allclose(single.estimates["std_error"], plain.estimates["std_error"], rtol=0.2)
    assert single.meta["degrees_of_freedom"] == N - 1


def test_the_noise_of_shuffles_is_that_of_the_repeats() -> None:
    of = timed()
    engine = Engine(of, MEASURES)
    own = ShuffledRows.of(engine, [MEASURES["nll"]])
    assert of.blocks is not None
    rng = np.random.default_rng(0)
    donors = np.stack([of.blocks.donors(rng) for _ in range(6)])
    T, b = rng.normal(size=(1, 6, N)), own.b
    pairs, plain = pair_terms(ChangedMeasures(T, donors), b, own), shuffled_pairs(T, b, donors, own.weights)
    np.testing.assert_array_equal(pairs.rows, plain.rows)
    np.testing.assert_allclose(pairs.mean_noise, pairs.repeats.var(axis=1, ddof=1) / 6)
    assert (pairs.mean_noise != plain.mean_noise).all()
    assert np.isfinite(standard_error(pairs, own.weights, own.clusters)).all()


def test_two_shuffles_give_no_interval() -> None:
    result = explained(timed(), n_repeats=2)["pfi"]
    assert result.estimates["std_error"].isna().all()


def test_what_a_reader_is_told() -> None:
    notes = " ".join(explained(timed())["pfi"].notes)
    assert "whole blocks are permuted" in notes
    assert "p-values are nearly exact" in notes
    assert "not exchangeable" not in notes
    few = " ".join(explained(timed(block_size=10))["pfi"].notes)
    assert "12 blocks cannot show how blocks vary; at least 20 are needed" in few


@pytest.mark.parametrize(
    ("options", "tested"),
    [({}, True), ({"sample_weight": np.r_[2.0, np.ones(N - 1)]}, False)],
    ids=["blocks", "blocks with weights"],
)
def test_blocks_give_a_p_value_and_weighted_rows_none(options: dict[str, Any], tested: bool) -> None:
    for exact in (None, True):
        assert explained(timed(**options), exact=exact)["pfi"].estimates["p_value"].notna().all() == tested


def test_claims_have_no_exact_test_of_independent_outcomes() -> None:
    claims = explained(timed())["pfi.claims"].estimates
    assert claims["p_value"].isna().all()
    assert claims["std_error"].notna().all()


def test_training_rows_are_shuffled_one_by_one() -> None:
    X, y = rows(40, 2)
    plain = subject(three_features, X, y)
    trained = explained(timed(train=(plain.X, y)), n_repeats=3)["pfi.train"]
    np.testing.assert_array_equal(
        repeats(trained, "nll", "b"), repeats(explained(plain, n_repeats=3)["pfi"], "nll", "b")
    )


def test_numbers_do_not_depend_on_the_order_of_the_other_features() -> None:
    alone = explained(timed(), features=("b",))["pfi"]
    among = explained(timed(), features=("c", "b"))["pfi"]
    np.testing.assert_array_equal(repeats(alone, "nll", "b"), repeats(among, "nll", "b"))
