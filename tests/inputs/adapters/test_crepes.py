"""crepes' wrapped regressors and classifiers: their own numbers, whole audits, refusals."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import uq_report as uq
from tests.inputs.adapters.typed_lines import typed
from tests.inputs.adapters.whole_audit import whole_audit
from uq_report.core.support.errors import InputError
from uq_report.distributions import Draws, Intervals, LabelSets
from uq_report.evidence.run import Run
from uq_report.inputs.adapters.conformal import CrepesAdapter

pytest.importorskip("crepes", reason="these tests use crepes")
from crepes import WrapClassifier, WrapRegressor
from crepes.extras import DifficultyEstimator

X, Y = load_diabetes(return_X_y=True)
X = X[:, :4]
WINE, LABELS = load_wine(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(WINE))
WINE, LABELS = WINE[ORDER, :4], LABELS[ORDER]


def table(run: Run, id: str) -> Any:
    result = run.find(id)
    assert result is not None
    return result


def regressor(cps: bool = False, calibration: int = 150) -> WrapRegressor:
    model = WrapRegressor(RandomForestRegressor(15, min_samples_leaf=5, random_state=0))
    model.fit(X[:150], Y[:150])
    rows = slice(150, 150 + calibration)
    model.calibrate(X[rows], Y[rows], de=DifficultyEstimator().fit(X=X[:150], scaler=True), cps=cps, seed=0)
    return model


def classifier() -> WrapClassifier:
    model = WrapClassifier(RandomForestClassifier(20, min_samples_leaf=3, random_state=0))
    model.fit(WINE[:60], LABELS[:60])
    model.calibrate(WINE[60:110], LABELS[60:110])
    return model


@pytest.mark.parametrize("cps", [False, True])
def test_intervals_are_the_library_s_own(cps: bool) -> None:
    model = regressor(cps)
    q = CrepesAdapter(levels=(0.9, 0.5), intervals=True).predict(model, X[300:340])
    assert isinstance(q, Intervals)
    own = model.predict_int(X[300:340], confidence=0.9)
    np.testing.assert_array_equal(np.column_stack([q.lower[:, 0], q.upper[:, 0]]), own)
    np.testing.assert_array_equal(q.mean(), model.predict(X[300:340]))


def test_a_predictive_system_is_read_as_the_draws_of_its_thresholds() -> None:
    """Its percentiles are thresholds; ours interpolate between the same ones."""
    model = regressor(cps=True)
    q = CrepesAdapter().predict(model, X[300:340])
    assert isinstance(q, Draws)
    np.testing.assert_allclose(np.sort(model.predict_cpds(X[300:340]), axis=1), q.values)
    lower, upper = (
        model.predict_percentiles(X[300:340], **{f"{side}_percentiles": [90]}).ravel() for side in ("lower", "higher")
    )
    median = q.quantile(np.array([0.9]))[:, 0]
    gaps = np.diff(q.values, axis=1).max(axis=1)
    assert (lower - gaps <= median).all()
    assert (median <= upper + gaps).all()
    assert {"crps", "entropy", "cdf"} <= q.supports


def test_categories_of_unequal_size_are_refused_with_the_line_to_type() -> None:
    model = WrapRegressor(RandomForestRegressor(5, min_samples_leaf=5, random_state=0))
    model.fit(X[:150], Y[:150])
    model.calibrate(X[150:300], Y[150:300], mc=lambda rows: rows[:, 2] > 0.02, cps=True)
    with pytest.raises(InputError, match="equally many thresholds") as error:
        uq.explain(model, X[300:340], Y[300:340])
    subject = typed(str(error.value), model=model, X=X[300:340], y=Y[300:340])
    assert isinstance(subject.adapter.predict(subject.model, X[300:340]), Intervals)


def test_label_sets_repeat_and_hold_at_least_the_smoothed_ones() -> None:
    model = classifier()
    q = CrepesAdapter().predict(model, WINE[110:])
    assert isinstance(q, LabelSets)
    again = CrepesAdapter().predict(model, WINE[110:])
    assert isinstance(again, LabelSets)
    np.testing.assert_array_equal(q.sets, again.sets)
    np.testing.assert_array_equal(q.probabilities, model.predict_proba(WINE[110:]))
    smoothed = np.asarray(model.predict_set(WINE[110:], labels=False, confidence=0.9), dtype=bool)
    assert (q.sets[:, :, q.main] >= smoothed).all()


def test_audit_of_a_regressor() -> None:
    model = WrapRegressor(RandomForestRegressor(15, min_samples_leaf=5, random_state=0))
    model.fit(X[:150], Y[:150])
    model.calibrate(X[150:300], Y[150:300], mc=lambda rows: rows[:, 2] > 0)
    subject = uq.explain(model, X[340:420], Y[340:420])
    assert not any("is not read" in note for note in subject.notes)
    run = whole_audit(subject)
    assert "width" in set(table(run, "pfi").frame["measure"])


def test_audit_of_a_classifier() -> None:
    subject = uq.explain(classifier(), WINE[110:], LABELS[110:])
    run = whole_audit(subject, explainers=["pfi", "pdp", "calibration"])
    assert {"miscoverage", "confidence_gap"} <= set(table(run, "calibration").estimates["item"])


def test_a_model_that_is_not_calibrated_is_refused() -> None:
    model, audited = WrapRegressor(RandomForestRegressor(5).fit(X[:50], Y[:50])), {"X": X[:20], "y": Y[:20]}
    with pytest.raises(InputError, match="must be calibrated; got a WrapRegressor") as error:
        uq.explain(model, **audited)
    typed(str(error.value), model=model, X_calibration=X[50:150], y_calibration=Y[50:150], **audited)
    assert model.calibrated


def test_too_few_calibration_rows_are_refused_by_row() -> None:
    with pytest.raises(InputError, match=r"got minus infinity in row 0.*\(9 of 9 rows\).*lower coverage level"):
        CrepesAdapter(levels=(0.95,)).predict(regressor(calibration=10), X[300:309])
    assert len(CrepesAdapter(levels=(0.8,)).predict(regressor(calibration=10), X[300:309])) == 9
