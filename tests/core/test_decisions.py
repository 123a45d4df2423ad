"""Decisions are the model's own: thresholds are named or read off, and zero-one error and recall follow them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.decisions import ASKED, MOST_PROBABLE, OWN, roundest, rule_of
from uq_report.core.model.measures import ZERO_ONE
from uq_report.core.model.variants import Variant
from uq_report.core.support.errors import UnsupportedError
from uq_report.distributions import Categorical
from uq_report.inputs.adapters.sklearn_ import takes_largest


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


def trees(kind: str) -> Any:
    """Return a model of few trees, whose classes tie in many rows."""
    options = {"n_estimators": 2, "max_depth": 2, "random_state": 0}
    if kind == "xgboost":
        return pytest.importorskip("xgboost").XGBClassifier(n_jobs=1, **options)
    if kind == "lightgbm":
        return pytest.importorskip("lightgbm").LGBMClassifier(n_jobs=1, verbose=-1, **options)
    if kind == "histogram":
        return HistGradientBoostingClassifier(max_iter=3)
    if kind == "bag":
        return BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2, random_state=0)
    classes = {"forest": RandomForestClassifier, "boosting": GradientBoostingClassifier}
    model = classes[kind](**options)
    return make_pipeline(StandardScaler(), model) if kind == "boosting" else model


@pytest.mark.parametrize("kind", ["forest", "bag", "boosting", "histogram", "xgboost", "lightgbm"])
@pytest.mark.parametrize("classes", [2, 3])
def test_decisions_of_trees_are_those_of_the_model_for_few_of_its_rows(kind: str, classes: int) -> None:
    X = np.random.default_rng(1).normal(size=(2000, 2)).round(1)
    y = np.digitize(X[:, 0] + X[:, 1], [0, 1][: classes - 1])
    model = trees(kind).fit(X[:60], y[:60])
    subject = uq.explain(model, X, y)
    expected, asked = model.predict(X), []
    final = type(model[-1] if kind == "boosting" else model)
    name = "predict_proba" if kind in ("forest", "bag") else "predict"
    own = getattr(final, name)

    def counted(self: Any, rows: Any, *given: Any, **more: Any) -> Any:
        asked.append(len(rows))
        return own(self, rows, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(final, name, counted)
        found = Engine(subject, {"zero_one": ZERO_ONE}).baseline
    assert np.array_equal(found.decisions(), found.encode(expected))  # type: ignore[attr-defined]
    assert found.rule == MOST_PROBABLE
    tied = np.ptp(np.sort(found.probabilities, axis=1)[:, -2:], axis=1) <= 1e-9  # type: ignore[attr-defined]
    assert asked[0] <= (len(X) if name == "predict_proba" else ASKED + tied.sum())
    assert len(asked) == 1


def test_trees_that_decide_otherwise_are_asked_for_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(1000)
    model = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
    subject = uq.explain(model, X, y)

    def low(self: Any, rows: Any) -> Any:
        return np.where(self.predict_proba(rows)[:, 0] >= 0.2, "bad", "good")

    monkeypatch.setattr(RandomForestClassifier, "predict", low)
    found = Engine(subject, {"zero_one": ZERO_ONE}).baseline
    assert "read off the decisions" in str(found.rule)
    assert np.array_equal(found.decisions(), found.encode(model.predict(X)))  # type: ignore[attr-defined]


def test_only_classes_that_are_known_take_the_largest_probability() -> None:
    X, y = rows(60)
    forest = RandomForestClassifier(3, random_state=0)
    own = type("Own", (RandomForestClassifier,), {})
    known = [forest, make_pipeline(StandardScaler(), forest), GridSearchCV(forest, {"max_depth": [2]}, cv=2)]
    for model, largest in [
        *((model, True) for model in known),
        (own(3), False),
        (FixedThresholdClassifier(forest), False),
    ]:
        assert takes_largest(model.fit(X, y)) is largest
    assert not takes_largest(fixed(0.5))
    assert not takes_largest(pytest.importorskip("catboost").CatBoostClassifier())
    assert not takes_largest(pytest.importorskip("lightgbm").LGBMClassifier(objective=lambda *_: None))
    assert takes_largest(pytest.importorskip("lightgbm").LGBMClassifier())


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
