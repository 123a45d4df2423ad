"""How rows count in permutation importance: weights, clusters, influence, training rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from uq_report import testing
from uq_report.core.model.results import Importance
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, Normal

from .pfi_cases import Direct, explained, line, rows, subject, three_features

LOGISTIC = testing.logistic_subject(60)
ALL = ("loss", "nll", "entropy")


# ---------------------------------------------------------------------- weights, clusters, statistics


@pytest.mark.parametrize("measures", [ALL, ("one_minus_auc",)])
def test_integer_weights_equal_repeated_rows(measures: Sequence[str]) -> None:
    X, y = rows(14)
    counts = np.array([1, 3, 1, 2, 1, 1, 4, 1, 2, 1, 1, 1, 2, 1])
    copies = np.repeat(np.arange(14), counts)
    few = explained(subject(three_features, X, y, sample_weight=counts), exact=True, measures=measures)["pfi"]
    many = explained(subject(three_features, X[copies], y[copies]), exact=True, measures=measures)["pfi"]
    np.testing.assert_allclose(few.estimates["estimate"], many.estimates["estimate"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(few.estimates["unpermuted"], many.estimates["unpermuted"], rtol=0, atol=1e-12)
    assert few.estimates["p_value"].isna().all()
    assert any("not exchangeable" in note for note in few.notes)


def test_copies_of_rows_add_nothing_when_they_are_named_as_clusters() -> None:
    X, y = rows(24)
    copies = np.tile(np.arange(24), 3)
    once = explained(subject(three_features, X, y), exact=True)["pfi"]
    thrice = explained(subject(three_features, X[copies], y[copies], clusters=copies), exact=True)["pfi"]
    for column in ("estimate", "std_error", "lower", "upper"):
        np.testing.assert_allclose(thrice.estimates[column], once.estimates[column], rtol=0, atol=1e-12)
    assert thrice.meta["degrees_of_freedom"] == 23


def test_too_few_clusters_give_no_interval_and_say_so() -> None:
    X, y = rows(40)
    result = explained(subject(three_features, X, y, clusters=np.arange(40) % 19))["pfi"]
    assert result.estimates[["std_error", "lower", "upper", "confidence"]].isna().all(axis=None)
    assert set(result.estimates["covers"]) == {"none"}
    assert any("19 clusters" in note and "20" in note for note in result.notes)


def test_auc_terms_give_the_error_of_delong() -> None:
    """Shuffling the only feature makes the score noise: 1 - AUC rises to 0.5, with DeLong's variance of the AUC."""
    rng = np.random.default_rng(4)
    score = rng.normal(size=400)
    y = (score + rng.normal(size=400) > 0).astype(int)

    def model(X: FloatArray) -> Categorical:
        p = 1 / (1 + np.exp(-X[:, 0]))
        return Categorical(np.column_stack([1 - p, p]))

    said = line(explained(subject(model, score[:, None], y), measures=("one_minus_auc",))["pfi"], "one_minus_auc", "a")
    auc = roc_auc_score(y, score)
    assert said["unpermuted"] == pytest.approx(1 - auc)
    assert said["estimate"] == pytest.approx(auc - 0.5, abs=4 * 0.03 / np.sqrt(30))
    ones, zeros = score[y == 1], score[y == 0]
    wins = (ones[:, None] > zeros).astype(float)
    delong = np.sqrt(wins.mean(axis=1).var(ddof=1) / len(ones) + wins.mean(axis=0).var(ddof=1) / len(zeros))
    assert said["std_error"] == pytest.approx(delong, rel=0.15)


def test_auc_of_one_class_is_left_out_with_its_reason() -> None:
    X, _ = rows(20)
    result = explained(subject(three_features, X, np.ones(20, dtype=int)), measures=("nll", "one_minus_auc"))["pfi"]
    assert set(result.estimates["measure"]) == {"nll"}
    assert [o.measure for o in result.omissions] == ["one_minus_auc"]
    assert "both classes" in result.omissions[0].reason


# ---------------------------------------------------------------------- training rows


def overfitted(n: int = 60, train: int = 60, **more: Any) -> Subject:
    """A model that knows its training rows by heart through feature b, which is noise."""
    rng = np.random.default_rng(6)
    X, X_train = rng.normal(size=(n, 2)), rng.normal(size=(train, 2))
    y, y_train = X[:, 0] + rng.normal(size=n), X_train[:, 0] + rng.normal(size=train)
    known = dict(zip(X_train[:, 1], y_train - X_train[:, 0], strict=True))

    def model(rows: FloatArray) -> Normal:
        return Normal(rows[:, 0] + np.array([known.get(b, 0.0) for b in rows[:, 1]]), 1.0)

    frame, own = (pd.DataFrame(part, columns=["a", "b"]) for part in (X, X_train))
    return make_subject(model, Direct(), frame, y, train=(own, more.get("y_train", y_train)))


def test_importance_on_training_rows_has_no_interval() -> None:
    result = explained(overfitted())
    train = result["pfi.train"]
    assert isinstance(train, Importance)
    assert train.estimates[["std_error", "lower", "upper", "p_value"]].isna().all(axis=None)
    assert set(train.estimates["covers"]) == {"none"}
    assert "was fitted to these observations" in train.notes[0]


def test_many_training_rows_are_sampled_and_counted() -> None:
    result = explained(overfitted(n=30, train=1500), n_repeats=3)["pfi.train"]
    assert any("1000 of 1500 training observations" in note for note in result.notes)
    exact = explained(overfitted(n=30, train=1500), exact=True)["pfi.train"]
    assert any("30 of 1500 training observations" in note for note in exact.notes)
    again = explained(overfitted(n=30, train=1500), n_repeats=3)["pfi.train"]
    assert result.estimates.equals(again.estimates)


def test_training_rows_without_y_are_explained_where_no_y_is_needed() -> None:
    train = explained(overfitted(y_train=None), n_repeats=3)["pfi.train"]
    assert set(train.estimates["measure"]) == {"entropy"}
    assert {o.measure for o in train.omissions} == {"squared_error", "nll"}
    assert "pfi.train" not in explained(overfitted(), n_repeats=3, train=False)
    nothing = explained(overfitted(y_train=None), n_repeats=3, measures=("nll",))["pfi.train"]
    assert nothing.frame.empty
    assert [o.measure for o in nothing.omissions] == ["nll"]


def test_row_changes_and_their_summary_agree() -> None:
    result = explained(LOGISTIC, n_repeats=6)
    delta, frame = result["pfi.delta"].rows, result["pfi.delta"].frame
    assert delta is not None
    for feature in "abcd":
        own = delta.of("nll", feature)
        assert own.mean() == pytest.approx(line(result["pfi"], "nll", feature)["estimate"], abs=1e-12)
        part = frame[(frame["measure"] == "nll") & (frame["feature"] == feature)]
        assert part[part["item"] == "quantile"]["value"].tolist() == pytest.approx(
            np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95]), abs=1e-14
        )
        share = part[part["item"] == "share of observations unchanged"]["value"].item()
        assert share == (1.0 if feature == "d" else 0.0)
