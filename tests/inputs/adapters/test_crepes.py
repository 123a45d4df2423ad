"""crepes' wrapped regressors and classifiers: their own numbers, whole audits, refusals."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import uq_report as uq
from tests.inputs.adapters.whole_audit import whole_audit
from uq_report.core.distributions import Intervals, LabelSets
from uq_report.core.errors import InputError
from uq_report.inputs.adapters.crepes_ import CrepesAdapter

pytest.importorskip("crepes", reason="these tests use crepes")
from crepes import WrapClassifier, WrapRegressor
from crepes.extras import DifficultyEstimator

X, Y = load_diabetes(return_X_y=True)
X = X[:, :4]
WINE, LABELS = load_wine(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(WINE))
WINE, LABELS = WINE[ORDER, :4], LABELS[ORDER]


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
    q = CrepesAdapter(levels=(0.9, 0.5)).predict(model, X[300:340])
    assert isinstance(q, Intervals)
    own = model.predict_int(X[300:340], confidence=0.9)
    np.testing.assert_array_equal(np.column_stack([q.lower[:, 0], q.upper[:, 0]]), own)
    np.testing.assert_array_equal(q.mean(), model.predict(X[300:340]))


def test_label_sets_repeat_and_hold_at_least_the_smoothed_ones() -> None:
    model = classifier()
    q = CrepesAdapter().predict(model, WINE[110:])
    assert isinstance(q, LabelSets)
    np.testing.assert_array_equal(q.sets, CrepesAdapter().predict(model, WINE[110:]).sets)
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
    assert "width" in set(run.find("pfi").frame["measure"])


def test_audit_of_a_classifier() -> None:
    run = whole_audit(uq.explain(classifier(), WINE[110:], LABELS[110:]))
    assert {"miscoverage", "confidence_gap"} <= set(run.find("calibration").estimates["item"])


def test_a_model_that_is_not_calibrated_is_refused() -> None:
    with pytest.raises(InputError, match=r"must be calibrated; got a WrapRegressor.*Call model.calibrate"):
        uq.explain(WrapRegressor(RandomForestRegressor(5).fit(X[:50], Y[:50])), X[:20], Y[:20])


def test_too_few_calibration_rows_are_refused_by_row() -> None:
    with pytest.raises(InputError, match=r"got -inf in row 0.*\(9 of 9 rows\).*lower coverage level"):
        CrepesAdapter(levels=(0.95,)).predict(regressor(calibration=10), X[300:309])
    assert len(CrepesAdapter(levels=(0.8,)).predict(regressor(calibration=10), X[300:309])) == 9
