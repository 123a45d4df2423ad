"""scikit-survival: curves equal to the library's own, rows alone, refusals with the line to type, a whole audit."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Survival
from uq_report.inputs.adapters.survival_curves import SksurvAdapter

from .typed_lines import typed
from .whole_audit import whole_audit

pytest.importorskip("sksurv", reason="these tests use scikit-survival")
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.datasets import load_whas500
from sksurv.ensemble import (
    ComponentwiseGradientBoostingSurvivalAnalysis,
    ExtraSurvivalTrees,
    GradientBoostingSurvivalAnalysis,
    RandomSurvivalForest,
)
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis, IPCRidge
from sksurv.svm import FastSurvivalSVM, NaiveSurvivalSVM
from sksurv.tree import SurvivalTree

ALL, ALL_Y = load_whas500()
ORDER = np.random.default_rng(0).permutation(len(ALL))
COLUMNS = ["age", "bmi", "sysbp", "chf"]
X, Y = ALL[COLUMNS].astype(float).iloc[ORDER].reset_index(drop=True), ALL_Y[ORDER]
TRAIN, TEST = slice(0, 250), slice(250, 350)

MODELS: dict[str, Any] = {
    "cox": CoxPHSurvivalAnalysis(alpha=0.1),
    "coxnet": CoxnetSurvivalAnalysis(fit_baseline_model=True, alphas=[0.1, 0.01]),
    "forest": RandomSurvivalForest(15, min_samples_leaf=15, random_state=0, n_jobs=2),
    "extra trees": ExtraSurvivalTrees(10, min_samples_leaf=15, random_state=0),
    "boosted": GradientBoostingSurvivalAnalysis(n_estimators=10, random_state=0),
    "componentwise": ComponentwiseGradientBoostingSurvivalAnalysis(n_estimators=10),
    "tree": SurvivalTree(min_samples_leaf=20, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), CoxPHSurvivalAnalysis(alpha=0.1)),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param].fit(X[TRAIN], Y[TRAIN])


def curves(adapter: SksurvAdapter, fitted: Any, rows: Any) -> Survival:
    dist = adapter.predict(fitted, rows)
    assert isinstance(dist, Survival)
    return dist


def test_curves_are_the_librarys_own(model: Any) -> None:
    adapter = SksurvAdapter()
    match = adapter.matches(model)
    assert match is not None
    assert match.distance == 1
    dist = curves(adapter, model, X[TEST])
    for row, curve in enumerate(model.predict_survival_function(X[TEST])[:20]):
        at = np.linspace(curve.x[0], curve.x[-1], 50)
        for time, own in zip(at, curve(at), strict=True):
            assert abs(1 - dist.take(np.array([row])).cdf(np.array([time]))[0] - own) < 1e-12
        restricted = curve.x[0] + np.sum(np.diff(curve.x) * curve(curve.x)[:-1])
        np.testing.assert_allclose(dist.mean()[row], restricted, rtol=1e-12)


def test_cells_are_five_by_default_and_the_stated_ones_on_request(model: Any) -> None:
    assert curves(SksurvAdapter(), model, X[TEST]).mass.shape == (100, 6)
    dist = curves(SksurvAdapter(ends=(365.0, 730.0)), model, X[TEST])
    assert dist.mass.shape == (100, 3)
    assert dist.horizon == 730.0
    whole = curves(SksurvAdapter(), model, X[TEST])
    np.testing.assert_allclose(dist.mass[:, 0], whole.cdf(np.full(100, 365.0)), atol=1e-12)
    np.testing.assert_allclose(dist.mass[:, 2], 1 - whole.cdf(np.full(100, 730.0)), atol=1e-12)


def test_a_frame_of_times_and_events_is_one_outcome() -> None:
    frame = pd.DataFrame({"time": Y["lenfol"], "event": Y["fstat"]})
    fitted = MODELS["cox"].fit(X[TRAIN], Y[TRAIN])
    own = uq.explain(fitted, X[TEST], frame[TEST], train=(X[TRAIN], frame[TRAIN]))
    plain = uq.explain(fitted, X[TEST], Y[TEST], train=(X[TRAIN], Y[TRAIN]))
    np.testing.assert_array_equal(own.y, plain.y)
    with pytest.raises(InputError, match=r"events that are True or False|output must name"):
        uq.explain(fitted, X[TEST], frame[["event", "time"]][TEST])


def test_two_models_on_the_same_cells_have_comparable_losses() -> None:
    ends = (200.0, 500.0, 1000.0, 1500.0)
    adapter = SksurvAdapter(ends=ends)
    losses = []
    for name in ("cox", "forest"):
        fitted = MODELS[name].fit(X[TRAIN], Y[TRAIN])
        subject = uq.explain(fitted, X[TEST], Y[TEST], adapter=adapter)
        losses.append(uq.calibration(subject).estimates.set_index("item")["estimate"]["log_score"])
    assert all(0.5 < loss < np.log(5) for loss in losses)


@pytest.mark.parametrize("name", ["forest", "extra trees", "tree"])
def test_a_row_of_trees_is_the_same_bit_by_bit_alone(name: str) -> None:
    fitted, adapter = MODELS[name].fit(X[TRAIN], Y[TRAIN]), SksurvAdapter()
    rows = adapter.batch_rows(fitted)
    assert rows is not None
    assert rows >= 1000
    whole = curves(adapter, fitted, X[TEST])
    for part in (slice(0, 1), slice(3, 20), slice(20, 100)):
        some = curves(adapter, fitted, X[TEST].iloc[part])
        np.testing.assert_array_equal(some.survival, whole.survival[part])
        np.testing.assert_array_equal(some.entropy(), whole.entropy()[part])


def test_models_that_multiply_matrices_get_no_batch_size() -> None:
    assert SksurvAdapter().batch_rows(MODELS["cox"]) is None
    assert SksurvAdapter().batch_rows(MODELS["pipeline"]) is None


REFUSED = {
    "svm": (FastSurvivalSVM(random_state=0), "none: it ranks rows"),
    "ridge": (IPCRidge(), "none: it ranks rows or predicts a time"),
    "coxnet": (CoxnetSurvivalAnalysis(alphas=[0.1]), "with fit_baseline_model=True"),
    "boosted": (GradientBoostingSurvivalAnalysis(loss="squared", n_estimators=2), "with loss='coxph' .* got 'squared'"),
    "behind a step": (make_pipeline(StandardScaler(), CoxnetSurvivalAnalysis(alphas=[0.1])), "fit_baseline_model=True"),
    "low memory": (RandomSurvivalForest(2, low_memory=True), "with low_memory=False"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_survival_function_is_refused_with_the_line_to_type(name: str) -> None:
    estimator, says = REFUSED[name]
    model = estimator.fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(UnsupportedError, match=says) as error:
        uq.explain(model, X[TEST], Y[TEST])
    rows = {"X": X[TEST], "y": Y[TEST], "X_train": X[TRAIN], "y_train": Y[TRAIN]}
    assert typed(str(error.value), model=model, **rows).adapter.name == "sksurv"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_cells": 1}, "n_cells must be an integer >= 2; got 1"),
        ({"n_cells": True}, "n_cells must be an integer"),
        ({"ends": (2.0, 1.0)}, r"ends must be increasing times > 0; got \(2.0, 1.0\)"),
        ({"ends": (0.0, 1.0)}, "ends must be increasing times > 0"),
    ],
)
def test_cells_that_cannot_be_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        SksurvAdapter(**options)


def test_other_models_are_not_matched() -> None:
    assert SksurvAdapter().matches(StandardScaler()) is None
    assert SksurvAdapter().matches(RandomSurvivalForest) is None
    assert SksurvAdapter().matches(NaiveSurvivalSVM()) is not None


def test_a_forest_is_audited_end_to_end() -> None:
    fitted = MODELS["forest"].fit(X[TRAIN], Y[TRAIN])
    subject = uq.explain(fitted, X[TEST][:60], Y[TEST][:60], train=(X[TRAIN], Y[TRAIN]))
    run = whole_audit(subject)
    assert run.subject["task"] == "survival"
    assert {entry.name for entry in run.not_run} == {"cid", "cover", "groups", "segments", "selective"}
    results = {result.id: result for result in run.results}
    scores = results["calibration"].estimates.set_index("item")
    assert {"log_score", "confidence_gap", "pit_distance", "coverage_gap"} <= set(scores.index)
    assert {"crps", "mean_error", "squared_error"}.isdisjoint(scores.index)
    assert not {"squared_error", "absolute_error"} & set(results["pfi"].frame["measure"])
