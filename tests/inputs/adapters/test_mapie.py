"""MAPIE's conformal regressors and classifiers: their own numbers, whole audits, refusals."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor
from sklearn.tree import DecisionTreeRegressor

import uq_report as uq
from tests.inputs.adapters.typed_lines import typed
from tests.inputs.adapters.whole_audit import whole_audit
from uq_report.core.support.errors import InputError
from uq_report.distributions import Intervals, LabelSets
from uq_report.evidence.run import Run
from uq_report.inputs.adapters.conformal import MapieAdapter

pytest.importorskip("mapie", reason="these tests use MAPIE")
from mapie.classification import CrossConformalClassifier, SplitConformalClassifier
from mapie.regression import (
    ConformalizedQuantileRegressor,
    CrossConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    SplitConformalRegressor,
    TimeSeriesRegressor,
)

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X = X.iloc[:, :4]
LEVELS = [0.5, 0.9]
FOREST = RandomForestRegressor(15, min_samples_leaf=5, random_state=0)


def table(run: Run, id: str) -> Any:
    result = run.find(id)
    assert result is not None
    return result


def split(score: str = "absolute") -> SplitConformalRegressor:
    fitted = FOREST.fit(X[:150], Y[:150])
    model = SplitConformalRegressor(fitted, confidence_level=LEVELS, conformity_score=score, prefit=True)
    with warnings.catch_warnings():  # MAPIE tries a fitted model on an array of zeros
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model.conformalize(X[150:300], Y[150:300])


def split_classifier() -> tuple[SplitConformalClassifier, RandomForestClassifier, np.ndarray, np.ndarray]:
    rows, labels = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))
    rows, labels = rows[order, :4], np.array(["a", "b", "c"])[labels[order]]
    inner = RandomForestClassifier(20, min_samples_leaf=3, random_state=0).fit(rows[:60], labels[:60])
    model = SplitConformalClassifier(inner, confidence_level=[0.8, 0.9], prefit=True)
    return model.conformalize(rows[60:110], labels[60:110]), inner, rows[110:], labels[110:]


def test_intervals_are_the_library_s_own_in_its_order_of_levels() -> None:
    model = split("gamma")
    q = MapieAdapter().predict(model, X[300:340])
    point, bounds = model.predict_interval(X[300:340])
    assert isinstance(q, Intervals)
    np.testing.assert_allclose(q.levels, LEVELS)
    np.testing.assert_array_equal(np.stack([q.lower, q.upper], axis=1), bounds)
    np.testing.assert_array_equal(q.mean(), point)


@pytest.mark.parametrize(
    "model",
    [
        CrossConformalRegressor(LinearRegression(), confidence_level=LEVELS, cv=3),
        JackknifeAfterBootstrapRegressor(
            DecisionTreeRegressor(max_depth=3), confidence_level=0.9, resampling=20, random_state=0
        ),
    ],
    ids=["cross", "jackknife"],
)
def test_models_that_conformalise_as_they_fit(model: CrossConformalRegressor) -> None:
    q = MapieAdapter().predict(model.fit_conformalize(X[:150], Y[:150]), X[300:340])
    assert isinstance(q, Intervals)
    np.testing.assert_array_equal(q.lower, model.predict_interval(X[300:340])[1][:, 0])


def test_conformalised_quantiles_have_one_level() -> None:
    quantiles = QuantileRegressor(alpha=0, solver="highs")
    model = ConformalizedQuantileRegressor(quantiles, confidence_level=0.8)
    model.fit(X[:150], Y[:150]).conformalize(X[150:300], Y[150:300])
    q = MapieAdapter().predict(model, X[300:340])
    assert isinstance(q, Intervals)
    np.testing.assert_allclose(q.levels, [0.8])
    np.testing.assert_array_equal(q.upper[:, 0], model.predict_interval(X[300:340])[1][:, 1, 0])


def test_label_sets_stand_beside_the_probabilities_of_the_classifier() -> None:
    model, inner, rows, _ = split_classifier()
    q = MapieAdapter().predict(model, rows)
    assert isinstance(q, LabelSets)
    np.testing.assert_array_equal(q.sets, model.predict_set(rows)[1])
    np.testing.assert_array_equal(q.probabilities, inner.predict_proba(rows))
    assert q.classes.tolist() == ["a", "b", "c"]
    assert MapieAdapter().decide(model, rows) is not None


def test_cross_conformal_classifier() -> None:
    _, _, rows, labels = split_classifier()
    model = CrossConformalClassifier(LogisticRegression(max_iter=5000), cv=3).fit_conformalize(rows, labels)
    q = MapieAdapter().predict(model, rows[:9])
    assert isinstance(q, LabelSets)
    np.testing.assert_array_equal(q.sets, model.predict_set(rows[:9])[1])


def test_audit_of_a_regressor_judges_its_coverage() -> None:
    """The width stands in for the entropy, and the gate reads what the intervals promise."""
    run = whole_audit(uq.explain(split("gamma"), X[340:420], Y[340:420]))
    assert set(table(run, "pfi").frame["measure"]) == {"squared_error", "interval_score", "width"}
    scores = table(run, "calibration").estimates.set_index("item")
    coverage = table(run, "calibration.coverage").estimates
    assert scores.loc["miscoverage", "estimate"] == pytest.approx(1 - coverage["estimate"].iloc[1])
    skill = scores["estimate"]["interval_score_baseline"] - scores["estimate"]["interval_score"]
    assert scores["estimate"]["interval_score_skill"] == pytest.approx(skill)
    assert not scores["p_value"].drop("miscoverage").notna().any()


def test_audit_of_a_classifier_does_not_ignore_its_sets() -> None:
    model, _, rows, labels = split_classifier()
    subject = uq.explain(model, rows, labels)
    assert any("label sets" in note or "90%" in note for note in subject.notes)
    run = whole_audit(subject, explainers=["pfi", "pdp", "calibration"])
    scores = table(run, "calibration").estimates.set_index("item")
    assert {"confidence_gap", "miscoverage", "sharpness_set_size"} <= set(scores.index)
    sizes = uq.importance(subject, measures=["set_size", "entropy"], n_repeats=3)
    assert set(sizes.frame["measure"]) == {"set_size", "entropy"}


def test_a_series_is_refused_with_the_line_to_type() -> None:
    model = TimeSeriesRegressor(LinearRegression(), cv=3).fit(X[:100], Y[:100])
    with pytest.raises(InputError, match="got a TimeSeriesRegressor of MAPIE") as error:
        uq.explain(model, X[:20], Y[:20])
    held = {"X_calibration": X[100:200], "y_calibration": Y[100:200]}
    subject = typed(str(error.value), model=model, X=X[200:220], y=Y[200:220], **held)
    np.testing.assert_array_equal(subject.adapter.predict(model, X[200:220]).mean(), model.predict(X[200:220]))
