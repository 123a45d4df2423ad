"""Decisions are the model's own: thresholds are named or read off, and zero-one error and recall follow them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.decisions import MOST_PROBABLE, OWN, roundest, rule_of
from uq_report.core.model.measures import ZERO_ONE
from uq_report.core.model.variants import Variant
from uq_report.core.support.errors import UnsupportedError
from uq_report.distributions import Categorical


def rows(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(1.5 - 2 * X["a"])), "bad", "good")


def engine(model: Any, X: Any, y: Any) -> Engine:
    return Engine(uq.explain(model, X, y), {"zero_one": ZERO_ONE})


def fixed(threshold: float, **more: Any) -> Any:
    X, y = rows()
    return FixedThresholdClassifier(LogisticRegression(), threshold=threshold, pos_label="bad", **more).fit(X, y)


@pytest.mark.parametrize("model", [fixed(0.2), make_pipeline(StandardScaler(), fixed(0.2)).fit(*rows())])
def test_a_stated_threshold_decides(model: Any) -> None:
    X, y = rows(seed=1)
    found = engine(model, X, y)
    rule = found.baseline.rule
    assert rule is not None
    assert (rule.position, rule.threshold) == (0, 0.2)
    assert rule.words == "'bad' from a probability of 0.2 on, the model's threshold"
    wrong = (model.predict(X) != y).astype(float)
    assert np.array_equal(found.unchanged([ZERO_ONE])[0], wrong)


def test_decisions_of_changed_rows_follow_the_threshold() -> None:
    X, y = rows(seed=1)
    model = fixed(0.2)
    order = np.random.default_rng(2).permutation(len(X))
    values = X["a"].to_numpy()[order]
    found = engine(model, X, y)
    group = next(iter(found.evaluate([Variant((0,), (values,))], [ZERO_ONE])))
    assert np.array_equal(group.values[0, 0], model.predict(X.assign(a=values)) != y)


def test_a_threshold_tuned_on_another_scale_is_read_off() -> None:
    X, y = rows(1000, 1)
    model = fixed(-1.0, response_method="decision_function")  # log-odds of -1: a probability of 0.269
    rule = engine(model, X, y).baseline.rule
    assert rule is not None
    assert rule.threshold == pytest.approx(1 / (1 + np.exp(1)), abs=0.01)
    assert "read off the decisions" in rule.words
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring="balanced_accuracy").fit(*rows(1000, 0))
    rule = engine(tuned, X, y).baseline.rule
    assert rule is not None
    assert rule.threshold == pytest.approx(tuned.best_threshold_)


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(10, random_state=0), fixed(0.5)])
def test_the_most_probable_class_is_the_rule_of_plain_models(model: Any) -> None:
    assert engine(model.fit(*rows()), *rows(seed=1)).baseline.rule == MOST_PROBABLE


def test_a_rule_that_probabilities_do_not_tell_leaves_changed_rows_out() -> None:
    class Odd:
        classes_ = np.array([0, 1, 2])

        def predict_proba(self, X: Any) -> Any:
            return np.tile([0.5, 0.3, 0.2], (len(X), 1))

        def predict(self, X: Any) -> Any:
            return np.arange(len(X)) % 3

    X = np.zeros((30, 1))
    found = engine(Odd(), X, np.arange(30) % 3)
    assert found.baseline.rule == OWN
    chosen, omitted = found.select(["zero_one"])
    assert not chosen
    assert "a rule of its own" in omitted[0].reason
    assert np.array_equal(found.baseline.decisions(), np.arange(30) % 3)  # type: ignore[attr-defined]
    assert np.array_equal(found.baseline.take(np.array([4, 5])).decisions(), [1, 2])  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedError, match="a rule of its own"):
        found.call_model(X).decisions()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("predict", "words"),
    [
        (lambda X: X[:, 0] / 0, "it failed"),
        (lambda X: np.full(len(X), "neither"), "must hold the model's classes"),
        (lambda X: np.zeros(3, dtype=int), "it gave 3 decisions"),
    ],
)
def test_a_predict_that_gives_no_classes_is_told(predict: Any, words: str) -> None:
    class Model:
        classes_ = np.array([0, 1])

        def predict_proba(self, X: Any) -> Any:
            return np.tile([0.4, 0.6], (len(X), 1))

    model = Model()
    model.predict = predict if words != "it failed" else lambda X: 1 / 0  # type: ignore[attr-defined]
    rule = engine(model, np.zeros((20, 1)), np.ones(20, dtype=int)).baseline.rule
    assert rule is not None
    assert rule.words.startswith("the most probable class, as the model's predict gives no class for each row")
    assert words.replace("it failed", "it failed: division") in rule.words


def test_predict_is_called_once_on_the_unchanged_rows() -> None:
    calls = []

    class Counted(LogisticRegression):  # type: ignore[misc] # scikit-learn is Any to mypy
        def predict(self, X: Any) -> Any:
            calls.append(len(X))
            return super().predict(X)

    X, y = rows()
    subject = uq.explain(Counted().fit(X, y), X, y)
    calls.clear()
    uq.audit(subject, explainers=["calibration", "pfi"], options={"pfi": {"n_repeats": 3}}, progress=False)
    assert calls == [300]


def test_overlap_of_two_classes_is_no_threshold() -> None:
    q = Categorical([[0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    assert rule_of(q, np.array([1, 0, 1])) == OWN
    assert rule_of(q, np.array([0, 0, 0])) == MOST_PROBABLE


def test_the_roundest_number_lies_between() -> None:
    rng = np.random.default_rng(0)
    for low, high in np.sort(rng.random((200, 2)), axis=1):
        assert low < roundest(low, high) <= high
    assert roundest(0.3, np.nextafter(0.3, 1)) == np.nextafter(0.3, 1)


def test_recall_and_precision_are_those_of_predict() -> None:
    X, y = rows(seed=1)
    model = fixed(0.2)
    run = uq.audit(uq.explain(model, X, y), explainers=["calibration"], progress=False).run
    result = run.result("calibration.decisions")
    called = model.predict(X)
    counts = [[int(((y == a) & (called == b)).sum()) for b in ("bad", "good")] for a in ("bad", "good")]
    assert result.meta["counts"] == counts
    found = {(row.item, row.label): row.estimate for row in result.estimates.itertuples()}
    assert found["recall", "bad"] == pytest.approx((called[y == "bad"] == "bad").mean())
    assert found["precision", "bad"] == pytest.approx((y[called == "bad"] == "bad").mean())
    assert run.subject["decisions"] == "'bad' from a probability of 0.2 on, the model's threshold"
    accuracy = run.result("calibration").estimates.set_index("item").loc["accuracy", "estimate"]
    assert accuracy == pytest.approx((called == y).mean())
