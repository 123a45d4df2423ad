"""Permutation importance through its public path: the lecture's numbers, scikit-learn's, and how they add up."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.support.arrays import FloatArray, IntArray
from uq_report.distributions import Categorical, Normal
from uq_report.evidence.importance import HARMLESS

from .pfi_cases import MEASURES, explained, give, line, repeats, rows, subject, three_features

LOGISTIC = testing.logistic_subject(60)
ALL = ("loss", "nll", "entropy")


# ---------------------------------------------------------------------- the lecture and the peers


def lecture(X: FloatArray) -> Normal:
    """Return means whose squared error (y = 0) is the lecture's loss of row b with value a."""
    losses = np.array([[0.25, 0.9, 1.1], [0.5, 0.35, 0.35], [0.45, 0.2, 0.1]])  # row, value
    return Normal(np.sqrt(losses[X[:, 1].astype(int) - 1, X[:, 0].astype(int) - 1]), 1.0)


def test_the_numbers_of_the_lecture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses .9 .5 .1 against .25 .35 .1 give .65 .15 0, mean .267; a second shuffle .85 0 .35, mean .4."""
    of = subject(lecture, [[1, 1], [2, 2], [3, 3]], [0.0, 0, 0])
    give(monkeypatch, lambda _: [[1, 0, 2], [2, 1, 0]])
    once = explained(of, measures=("loss",), features=("a",), n_repeats=1, exact=False)
    assert once["pfi.delta"].rows is not None
    np.testing.assert_allclose(once["pfi.delta"].rows.of("squared_error", "a"), [0.65, 0.15, 0], atol=1e-12)
    assert line(once["pfi"], "squared_error", "a")["estimate"] == pytest.approx(0.8 / 3)
    twice = explained(of, measures=("loss",), features=("a",), n_repeats=2, exact=False)
    np.testing.assert_allclose(repeats(twice["pfi"], "squared_error", "a"), [0.8 / 3, 1.2 / 3], atol=1e-12)
    assert line(twice["pfi"], "squared_error", "a")["estimate"] == pytest.approx((0.267 + 0.4) / 2, abs=2e-4)


def sklearn_shuffles(n: int, n_repeats: int, seed: int) -> list[IntArray]:
    """Return the shuffles scikit-learn makes of every feature: each shuffles the column the last one left."""
    start = np.random.RandomState(seed).randint(np.iinfo(np.int32).max + 1)
    stream, index, made = np.random.RandomState(start), np.arange(n), [np.arange(n)]
    for _ in range(n_repeats):
        stream.shuffle(index)
        made.append(made[-1][index])
    return made[1:]


def test_equal_to_scikit_learn_given_its_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(80)
    model = LogisticRegression().fit(X, y)

    def p(model: Any, X: Any) -> FloatArray:
        return np.asarray(model.predict_proba(X))

    scoring = {
        "nll": lambda m, X, y: np.log(p(m, X)[np.arange(len(y)), y]).mean(),
        "entropy": lambda m, X, _: (p(m, X) * np.log(p(m, X))).sum(axis=1).mean(),
        "brier": lambda m, X, y: -((p(m, X) - np.eye(2)[y]) ** 2).sum(axis=1).mean(),
        "one_minus_auc": lambda m, X, y: roc_auc_score(y, p(m, X)[:, 1]),
    }
    peer = permutation_importance(model, X, y, scoring=scoring, n_repeats=6, random_state=3)
    shuffles = sklearn_shuffles(len(X), 6, 3)
    give(monkeypatch, lambda _: shuffles)
    of = subject(lambda rows: Categorical(p(model, rows)), X, y)
    ours = explained(of, measures=(*ALL, "one_minus_auc"), n_repeats=6)["pfi"]
    for name, theirs in peer.items():
        for j, feature in enumerate("abc"):
            np.testing.assert_allclose(repeats(ours, name, feature), theirs.importances[j], rtol=0, atol=1e-10)
            assert line(ours, name, feature)["estimate"] == pytest.approx(theirs.importances_mean[j], abs=1e-10)


# ---------------------------------------------------------------------- the same numbers however computed


def same(a: dict[str, Any], b: dict[str, Any], atol: float = 0.0) -> None:
    """Check that two runs agree, to the last bit by default."""
    assert list(a) == list(b)
    for one, other in zip(a.values(), b.values(), strict=True):
        for part in ("frame", "estimates"):
            pd.testing.assert_frame_equal(
                getattr(one, part), getattr(other, part), check_exact=atol == 0, rtol=0, atol=atol
            )
        if one.rows is not None:
            np.testing.assert_allclose(one.rows.values, other.rows.values, rtol=0, atol=atol)


@pytest.mark.parametrize("exact", [False, True])
def test_bytes_are_equal_for_any_number_of_workers(exact: bool) -> None:
    X, y = rows(30)
    of = subject(three_features, X, y, rows=100)
    one, two = (
        explained(of, Engine(of, MEASURES, n_jobs=n, backend="threading"), n_repeats=5, exact=exact) for n in (1, 2)
    )
    same(one, two)


@pytest.mark.parametrize("batch_rows", [7, 90, 10_000])
def test_block_size_changes_rounding_only(batch_rows: int) -> None:
    X, y = rows(30)
    of = subject(three_features, X, y)
    same(explained(of), explained(of, Engine(of, MEASURES, batch_rows=batch_rows)), atol=1e-12)


def test_a_feature_does_not_move_with_the_order_or_number_of_others() -> None:
    X, y = rows(30)
    of = subject(three_features, X, y)
    a = explained(of, n_repeats=5)["pfi"]
    b = explained(of, n_repeats=5, features=("c", "a"))["pfi"]
    for measure in ("brier", "nll", "entropy"):
        for feature in "ac":
            assert repeats(a, measure, feature).tolist() == repeats(b, measure, feature).tolist()
            pd.testing.assert_series_equal(
                line(a, measure, feature), line(b, measure, feature), check_names=False, check_exact=True
            )


def test_measures_asked_for_together_or_alone_agree() -> None:
    together = explained(LOGISTIC, n_repeats=4)["pfi"]
    alone = explained(LOGISTIC, n_repeats=4, measures=("entropy",))["pfi"]
    for feature in "abcd":
        pd.testing.assert_series_equal(
            line(together, "entropy", feature), line(alone, "entropy", feature), check_names=False, check_exact=True
        )


# ---------------------------------------------------------------------- the terms


def test_the_row_terms_reproduce_estimate_and_error_where_all_pairs_are_known() -> None:
    result = explained(LOGISTIC, exact=True)["pfi"]
    assert result.rows is not None
    for measure in ("brier", "nll", "entropy"):
        for feature in "abc":
            g, said = result.rows.of(measure, feature), line(result, measure, feature)
            assert g.mean() == pytest.approx(said["estimate"], abs=1e-14)
            assert g.std(ddof=1) / np.sqrt(len(g)) == pytest.approx(said["std_error"], rel=1e-12)
            assert said["shuffling_error"] == 0
    assert sorted(set(result.frame["repeat"])) == list(range(30))


def test_shuffles_estimate_what_all_pairs_give() -> None:
    X, y = rows(150)
    of = subject(three_features, X, y)
    exact, shuffled = (
        explained(of, exact=True)["pfi"],
        explained(of, n_repeats=60, max_shuffle_variance=0)["pfi"],
    )
    for measure in ("brier", "nll", "entropy"):
        for feature in "abc":
            a, b = line(exact, measure, feature), line(shuffled, measure, feature)
            spread = np.std(repeats(shuffled, measure, feature)) / np.sqrt(60)
            assert abs(a["estimate"] - b["estimate"]) < 4 * spread
            assert b["std_error"] == pytest.approx(a["std_error"], rel=0.1)


def test_an_unused_feature_is_exactly_zero() -> None:
    result = explained(LOGISTIC)
    for measure in ("brier", "nll", "entropy"):
        said = line(result["pfi"], measure, "d")
        assert said[["estimate", "std_error", "lower", "upper"]].tolist() == [0, 0, 0, 0]
        assert (said["verdict"], said["remark"], said["p_value"]) == ("about 0", "exact", 1.0)
        assert not repeats(result["pfi"], measure, "d").any()
    reading = result["pfi.reading"].estimates.set_index("feature")["item"]
    assert reading["d"] == HARMLESS


def test_zeros_of_a_coarse_loss_are_not_called_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rows get worse as better in every shuffle: the mean is 0, but the feature is used."""
    x, y = np.repeat([1.0, -1.0], 10), np.tile([0, 1], 10)
    of = subject(lambda X: Categorical(np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float)), x[:, None], y)
    rng, even = np.random.default_rng(0), list[IntArray]()
    while len(even) < 4:
        order = rng.permutation(20)
        if ((x[order] > 0) != y).sum() == ((x > 0) != y).sum():
            even.append(order)
    give(monkeypatch, lambda _: even)
    said = line(explained(of, measures=("zero_one",), n_repeats=4)["pfi"], "zero_one", "a")
    assert said["estimate"] == 0
    assert not said["exact_zero"]
    assert said["std_error"] > 0


def test_a_group_takes_all_its_values_from_one_row() -> None:
    X, y = rows(25)
    of = subject(three_features, X, y, groups={"pair": ["a", "c"]})
    result = explained(of, features=("pair", "b"), exact=True, measures=("nll",))["pfi"]
    base = -three_features(X).log_prob(y)
    changes = []
    for values in X:
        changed = X.copy()
        changed[:, [0, 2]] = values[[0, 2]]
        changes.append((-three_features(changed).log_prob(y) - base).mean())
    assert line(result, "nll", "pair")["estimate"] == pytest.approx(np.mean(changes), abs=1e-12)
    assert result.estimates["feature"].tolist() == ["pair", "b"]
