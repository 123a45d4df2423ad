"""Importances that are exact over all permutations: against brute force, the shuffles, and where they are chosen."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.support.arrays import FloatArray, IntArray
from uq_report.distributions import Categorical
from uq_report.evidence.importance import CLAIMED, DELIVERED
from uq_report.methods.shared.terms import Distinct

from .pfi_cases import MEASURES, explained, line, repeats, subject, three_features

N = 60
MEANS = ("brier", "nll", "entropy")


def counted(n: int = N, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Return rows with two, five and n distinct values, the first two of unequal frequency."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(n) < 0.3, rng.integers(0, 5, n) ** 2 / 8, rng.normal(size=n)]).astype(float)
    return X, (rng.random(n) < 0.5).astype(int)


def predicted(engine: Engine) -> int:
    return engine.rows_predicted["pfi"]


def brute(X: FloatArray, y: IntArray, columns: list[int], weights: FloatArray) -> FloatArray:
    """Return the rise of nll over all pairs of rows."""
    pairs = np.empty((len(X), len(X)))
    for k, values in enumerate(X):
        changed = X.copy()
        changed[:, columns] = values[columns]
        pairs[:, k] = -three_features(changed).log_prob(y)
    omega = weights / weights.sum()
    return np.asarray(omega @ pairs @ omega + omega @ three_features(X).log_prob(y))


# ---------------------------------------------------------------------- the numbers


@pytest.mark.parametrize("weights", [np.ones(N), np.random.default_rng(1).random(N) + 0.2], ids=["even", "weighted"])
def test_the_estimate_is_the_mean_over_all_pairs(weights: FloatArray) -> None:
    X, y = counted()
    of = subject(three_features, X, y, sample_weight=weights, groups={"both": ["a", "b"]})
    result = explained(of, measures=("nll",))["pfi"]
    for feature, columns in {"a": [0], "b": [1], "both": [0, 1]}.items():
        said = line(result, "nll", feature)
        assert said["estimate"] == pytest.approx(brute(X, y, columns, weights), abs=1e-12)
        assert said["shuffling_error"] == 0
    assert line(result, "nll", "c")["shuffling_error"] > 0


@pytest.mark.parametrize("more", [{}, {"clusters": np.arange(N) // 3}, {"time": np.arange(N), "block_size": 3}])
def test_chosen_by_default_or_asked_for_it_is_the_same(more: dict[str, Any]) -> None:
    """And the repeats, their spread and their p-value are those of the shuffles, predicted or looked up."""
    of = subject(three_features, *counted(), **more)
    default, asked, plain = (explained(of, exact=exact, max_shuffle_variance=0) for exact in (None, True, False))
    for measure in MEANS:
        for feature in "abc":
            known, shuffled = line(asked["pfi"], measure, feature), line(plain["pfi"], measure, feature)
            chosen = line(default["pfi"], measure, feature)
            expected = shuffled if feature == "c" else known
            pd.testing.assert_series_equal(chosen, expected, check_names=False, rtol=0, atol=1e-12)
            columns = ["spread_low", "spread_high", "p_value", "unpermuted", "margin"]
            np.testing.assert_allclose(known[columns].tolist(), shuffled[columns].tolist(), rtol=0, atol=1e-12)
            for result in (default, asked):
                np.testing.assert_allclose(
                    repeats(result["pfi"], measure, feature), repeats(plain["pfi"], measure, feature), atol=1e-12
                )


def test_many_shuffles_come_near_and_have_no_smaller_error() -> None:
    of = subject(three_features, *counted())
    exact, shuffled = explained(of)["pfi"], explained(of, n_repeats=300, exact=False, max_shuffle_variance=0)["pfi"]
    for measure in MEANS:
        for feature in "ab":
            a, b = line(exact, measure, feature), line(shuffled, measure, feature)
            assert 0 < abs(a["estimate"] - b["estimate"]) < 4 * b["shuffling_error"]
            assert b["std_error"] == pytest.approx(a["std_error"], rel=0.05)


def test_a_statistic_is_that_of_all_pairs_together() -> None:
    X, y = counted()
    values, changed = [], []
    for value in X[:, 1]:
        other = X.copy()
        other[:, 1] = value
        values.append(three_features(other).probabilities[:, 1])
    scores, outcomes = np.concatenate(values), np.tile(y, N)
    own = three_features(X).probabilities[:, 1]
    for s, o in ((scores, outcomes), (own, y)):
        gap = s[o == 1][:, None] - s[o == 0]
        changed.append(1 - (gap > 0).mean() - (gap == 0).mean() / 2)
    said = line(explained(subject(three_features, X, y), measures=("one_minus_auc",))["pfi"], "one_minus_auc", "b")
    assert said["estimate"] == pytest.approx(changed[0] - changed[1], abs=1e-12)
    assert said["std_error"] > 0


def test_claimed_and_delivered_are_exact_too() -> None:
    X, y = counted()
    results = explained(subject(three_features, X, y))
    own, claimed = three_features(X).probabilities, np.empty((N, N))
    for k, value in enumerate(X[:, 1]):
        other = X.copy()
        other[:, 1] = value
        claimed[k] = (own * np.log(own / three_features(other).probabilities)).sum(axis=1)
    table = results["pfi.claims"].estimates.set_index(["feature", "item"])["estimate"]
    assert table["b", CLAIMED] == pytest.approx(claimed.mean(), abs=1e-12)
    assert table["b", DELIVERED] == pytest.approx(line(results["pfi"], "nll", "b")["estimate"], abs=1e-12)


def test_a_rows_change_is_its_mean_over_the_values_of_all_rows() -> None:
    X, y = counted()
    result = explained(subject(three_features, X, y, sample_weight=np.linspace(1, 2, N)), measures=("nll",))[
        "pfi.delta"
    ]
    changes = np.zeros(N)
    for value in X[:, 1]:
        other = X.copy()
        other[:, 1] = value
        changes += (three_features(X).log_prob(y) - three_features(other).log_prob(y)) / N
    assert result.rows is not None
    np.testing.assert_allclose(result.rows.of("nll", "b"), changes, atol=1e-13)


# ---------------------------------------------------------------------- where it is chosen


@pytest.mark.parametrize(("n_repeats", "chosen"), [(5, "ab"), (4, "ab"), (3, "a")])
def test_all_pairs_are_taken_where_they_need_no_more_predictions(n_repeats: int, chosen: str) -> None:
    """Features a and b have two and five distinct values: one and four predictions a row, its own value given."""
    of = subject(three_features, *counted())
    engine = Engine(of, MEASURES)
    result = explained(of, engine, n_repeats=n_repeats)["pfi"]
    exact = result.estimates[result.estimates["shuffling_error"] == 0]
    assert sorted(set(exact["feature"])) == list(chosen)
    steps = {"a": 1, "b": 4}
    assert predicted(engine) == N * (1 + sum(steps[f] if f in chosen else n_repeats for f in "abc"))


def test_shuffles_alone_where_they_are_asked_for_or_are_of_clusters() -> None:
    of = subject(three_features, *counted(), clusters=np.arange(N) // 3)
    for options in ({"exact": False}, {"within_clusters": True}):
        engine = Engine(of, MEASURES)
        explained(of, engine, n_repeats=5, **options)
        assert predicted(engine) == N + 15 * N


def test_a_constant_is_not_predicted() -> None:
    X, y = counted()
    X[:, 2] = 1.5
    of = subject(three_features, X, y)
    engine = Engine(of, MEASURES)
    result = explained(of, engine, features=("c",))
    assert predicted(engine) == N
    assert line(result["pfi"], "nll", "c")[["estimate", "std_error"]].tolist() == [0, 0]
    assert line(result["pfi"], "nll", "c")["exact_zero"]


@pytest.mark.parametrize(
    ("X", "codes"),
    [
        (np.array([[2.0], [np.nan], [2.0], [np.nan], [-1.0]]), [0, 1, 0, 1, 2]),
        (pd.DataFrame({"x": pd.Series(["u", None, np.nan, "u", None], dtype=object)}), [0, 1, 2, 0, 1]),
        (pd.DataFrame({"x": pd.Series([1, "1", True, 1, "1"], dtype=object)}), [0, 1, 2, 0, 1]),
        (pd.DataFrame({"x": pd.Categorical(["u", None, "v", "u", None])}), [0, 1, 2, 0, 1]),
        (pd.DataFrame({"x": pd.array([3, None, 3, None, 1], dtype="Int64")}), [0, 1, 0, 1, 2]),
        (
            pd.DataFrame({"x": pd.Series([3, None, 3, None, 1], dtype="datetime64[s]")}),
            [0, 1, 0, 1, 2],
        ),
    ],
    ids=["numbers", "None and NaN", "types", "categories", "nullable", "times"],
)
def test_a_missing_value_is_a_value(X: Any, codes: list[int]) -> None:
    own = Distinct.of(X, (0,))
    assert own.codes.tolist() == codes
    assert own.first.tolist() == [0, codes.index(1), codes.index(2)]


def test_values_of_a_set_are_those_that_occur_together() -> None:
    own = Distinct.of(np.array([[0, 1], [1, 0], [0, 1], [1, 1], [1, 0]]), (0, 1))
    assert own.codes.tolist() == [0, 1, 0, 2, 1]
    taken = np.stack([own.codes[own.donors(step)] for step in range(3)])
    assert (np.sort(taken, axis=0) == np.arange(3)[:, None]).all()
    assert taken[0].tolist() == own.codes.tolist()


def test_a_value_that_makes_a_measure_infinite_is_counted_whichever_shuffle_would_meet_it() -> None:
    """Of 60 rows one has the value that the model takes to be impossible together with the others."""
    X, y = np.column_stack([np.arange(N) == 7, np.arange(N) % 2]).astype(float), np.arange(N) % 2

    def sure(X: FloatArray) -> Categorical:
        p = np.where(X[:, 0] == 1, X[:, 1], 0.5)
        return Categorical(np.column_stack([1 - p, p]))

    result: Result = explained(subject(sure, X, (y == 1) & (np.arange(N) != 9)), n_repeats=1, features=("a",))["pfi"]
    gap = next(gap for gap in result.omissions if gap.feature == "a" and gap.measure == "nll")
    assert "infinite for 1 permuted values, in 1 of 60 observations" in gap.reason


# ---------------------------------------------------------------------- what a reader is told


def test_the_notes_name_what_is_exact() -> None:
    of = subject(three_features, *counted())
    some, every = (explained(of, exact=exact)["pfi"].notes for exact in (None, True))
    assert some[0].startswith("Importances of a and b are exact over all permutations")
    assert every[0].startswith("All importances are exact over all permutations")
    assert not any("exact over" in note for note in explained(of, exact=False)["pfi"].notes)


def test_all_pairs_have_an_interval_whatever_the_shuffles() -> None:
    of = subject(three_features, *counted())
    result = explained(of, n_repeats=1)["pfi"]
    assert line(result, "nll", "a")["std_error"] > 0
    assert np.isnan(line(result, "nll", "c")["std_error"])
    assert any("No interval of the other importances: 1 permutations cannot" in note for note in result.notes)
    assert any(note.startswith("Intervals cover new test samples") for note in result.notes)
    assert result.rows is None
    assert explained(of, n_repeats=1, features=("a",))["pfi"].rows is not None
