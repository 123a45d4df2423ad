"""lifelines: curves equal to the library's own, strata and formulas, refusals with the line to type, a whole audit."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.support.errors import UQReportError
from uq_report.core.validation.lifetimes import lifetimes
from uq_report.distributions import Censored, Survival
from uq_report.inputs.adapters.survival_curves import LifelinesAdapter

from .typed_lines import typed
from .whole_audit import whole_audit

pytest.importorskip("lifelines", reason="these tests use lifelines")
from lifelines import (
    AalenAdditiveFitter,
    CoxPHFitter,
    CoxTimeVaryingFitter,
    KaplanMeierFitter,
    LogLogisticAFTFitter,
    LogNormalAFTFitter,
    PiecewiseExponentialRegressionFitter,
    WeibullAFTFitter,
)
from lifelines.datasets import load_rossi
from lifelines.exceptions import ApproximationWarning

FRAME = load_rossi().sample(frac=1.0, random_state=0).reset_index(drop=True)
FEATURES, OUTCOMES = ["fin", "age", "race", "prio"], ["week", "arrest"]
TRAIN, TEST = FRAME[:300], FRAME[300:380]
ADAPTER = LifelinesAdapter()


def fitted(model: Any, **how: Any) -> Any:
    with warnings.catch_warnings():  # a piecewise fit ends with a median that the library approximates
        warnings.simplefilter("ignore", ApproximationWarning)
        return model.fit(TRAIN[[*FEATURES, *OUTCOMES]], *OUTCOMES, **how)


CURVES: dict[str, Any] = {
    "cox": lambda: fitted(CoxPHFitter()),
    "cox, strata": lambda: fitted(CoxPHFitter(strata=["race"])),
    "cox, formula": lambda: fitted(CoxPHFitter(), formula="age * fin + prio"),
    "cox, spline": lambda: fitted(CoxPHFitter(baseline_estimation_method="spline", n_baseline_knots=2)),
    "piecewise": lambda: fitted(PiecewiseExponentialRegressionFitter([20, 40])),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_the_librarys_own_whatever_the_index_of_the_rows(name: str) -> None:
    model = CURVES[name]()
    match = ADAPTER.matches(model)
    assert match is not None
    assert match.distance == 1
    rows = TEST[FEATURES].set_axis(np.arange(len(TEST))[::-1])
    dist = ADAPTER.predict(model, rows)
    assert isinstance(dist, Survival)
    for row in (0, 7, 79):
        own = model.predict_survival_function(TEST[FEATURES].iloc[[row]].reset_index(drop=True))[0]
        np.testing.assert_allclose(dist.survival[row], own, atol=1e-12)
        np.testing.assert_array_equal(dist.times, own.index)
    assert list(rows.index[:2]) == [79, 78]


ACCELERATED = (WeibullAFTFitter, LogNormalAFTFitter, LogLogisticAFTFitter)


@pytest.mark.parametrize("ancillary", [None, True], ids=["one shape", "shape by row"])
@pytest.mark.parametrize("fitter", ACCELERATED)
def test_the_likelihood_of_accelerated_times_is_the_librarys_own(fitter: Any, ancillary: bool | None) -> None:
    model = fitted(fitter(), ancillary=ancillary)
    y = lifetimes(TRAIN[OUTCOMES], len(TRAIN), "y")
    assert y is not None
    dist = ADAPTER.predict(model, TRAIN[FEATURES])
    assert isinstance(dist, Censored)
    np.testing.assert_allclose(dist.log_prob(y).sum(), model.log_likelihood_, rtol=1e-10)
    own = model.predict_survival_function(TRAIN[FEATURES], times=[30.0]).to_numpy()[0]
    np.testing.assert_allclose(1 - dist.cdf(np.full(len(TRAIN), 30.0)), own, rtol=1e-10)
    assert dist.horizon == TRAIN["week"].max()
    assert LifelinesAdapter(ends=(10.0, 26.0)).predict(model, TRAIN[FEATURES]).mean().max() <= 26.0


def test_the_match_says_what_the_loss_is_of() -> None:
    for model, says in ((WeibullAFTFitter(), "with its likelihood"), (CoxPHFitter(), "cells of the time axis")):
        match = ADAPTER.matches(model)
        assert match is not None
        assert says in match.reason


def test_cells_end_at_times_of_events() -> None:
    dist = ADAPTER.predict(CURVES["cox"](), TEST[FEATURES])
    assert isinstance(dist, Survival)
    ends = dist.times[dist.cells]
    assert len(ends) == 5
    assert set(ends[:-1]) <= set(TRAIN["week"][TRAIN["arrest"] == 1])
    assert ends[-1] == TRAIN["week"].max()


REFUSED: dict[str, tuple[Any, str]] = {
    "no features": (KaplanMeierFitter, "KaplanMeierFitter must predict a survival function"),
    "intervals": (CoxTimeVaryingFitter, "rows that are intervals"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_curve_per_row_is_refused_with_the_line_to_type(name: str) -> None:
    model, says = REFUSED[name]
    with pytest.raises(UQReportError, match=says) as error:
        uq.explain(model(), TEST[FEATURES], TEST[OUTCOMES])
    fit = {"X_train": TRAIN[FEATURES], "y_train": TRAIN[OUTCOMES]}
    assert isinstance(typed(str(error.value), X=TEST[FEATURES], y=TEST[OUTCOMES], **fit).model, WeibullAFTFitter)


def test_negative_hazards_are_refused_by_row() -> None:
    """The additive model may predict probabilities above 1."""
    model = fitted(AalenAdditiveFitter(coef_penalizer=1.0))
    with pytest.raises(UQReportError, match=r"survival.survival must .* in row \d+ \(\d+ of 80 rows\).* hazards are"):
        uq.explain(model, TEST[FEATURES], TEST[OUTCOMES])


def test_an_array_has_no_columns_of_the_fit() -> None:
    with pytest.raises(
        UQReportError, match=r"DataFrame with the columns CoxPHFitter was fitted on; got an array"
    ) as error:
        uq.explain(CURVES["cox"](), TEST[FEATURES].to_numpy(), TEST[OUTCOMES])
    rows = {"X": TEST[FEATURES].to_numpy(), "y": TEST[OUTCOMES], "X_train": TRAIN[FEATURES]}
    assert typed(str(error.value), model=CURVES["cox"](), **rows).features == tuple(FEATURES)


@pytest.mark.parametrize("name", ["cox", "cox, strata", "piecewise"])
def test_columns_beside_those_of_the_fit_are_refused(name: str) -> None:
    model, more = CURVES[name](), TEST[FEATURES].assign(extra=1.0)
    with pytest.raises(UQReportError, match=r"explain\.X must have the columns .* was fitted on, .* got \['extra'\]"):
        uq.explain(model, more, TEST[OUTCOMES])
    assert uq.explain(model, TEST[FEATURES], TEST[OUTCOMES]).features == tuple(FEATURES)


def test_other_models_are_not_matched() -> None:
    assert ADAPTER.matches(pd.DataFrame()) is None
    assert ADAPTER.matches(CoxPHFitter) is None


def test_swapped_flags_are_told() -> None:
    swapped = TEST.assign(arrest=1 - TEST["arrest"])
    right, wrong = (
        " ".join(uq.calibration(uq.explain(CURVES["cox"](), frame[FEATURES], frame[OUTCOMES])).result.notes)
        for frame in (TEST, swapped)
    )
    assert "check the sign of the flags" not in right
    assert "If 1 stood for censored" in wrong


def test_accelerated_times_are_audited_end_to_end() -> None:
    subject = uq.explain(fitted(LogLogisticAFTFitter()), TEST[FEATURES][:60], TEST[OUTCOMES][:60])
    run = whole_audit(subject)
    assert {entry.name for entry in run.not_run} == {"cid", "cover", "groups", "support", "segments", "selective"}
    assert run.subject["family"] == "log-logistic"


def test_a_cox_model_is_audited_end_to_end() -> None:
    subject = uq.explain(
        CURVES["cox"](), TEST[FEATURES], TEST[OUTCOMES], train=(TRAIN[FEATURES], TRAIN[OUTCOMES]), protected=["race"]
    )
    run = whole_audit(subject)
    assert {entry.name for entry in run.not_run} == {"cid", "cover", "selective"}
    results = {result.id: result for result in run.results}
    scores = results["calibration"].estimates.set_index("item")
    assert {"log_score", "confidence_gap", "pit_distance", "coverage_gap"} <= set(scores.index)
    assert {"outcome", "residual"}.isdisjoint(results["groups"].estimates["measure"])
