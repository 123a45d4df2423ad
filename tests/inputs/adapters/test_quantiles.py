"""Quantile regressors of scikit-learn, and dictionaries of models: the table is what each model predicts."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import Lasso, QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.core.support.errors import InputError
from uq_report.distributions import Quantiles
from uq_report.inputs.adapters.quantiles import QuantilesAdapter

from .typed_lines import typed
from .whole_audit import whole_audit

FRAME, TARGET = load_diabetes(return_X_y=True, as_frame=True)
FRAME = FRAME[["bmi", "s5"]]
X, Y, ROWS, OUTCOMES = FRAME[:300], TARGET[:300], FRAME[300:370], TARGET[300:370]
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
ADAPTER = QuantilesAdapter()


def linear(level: float) -> Any:
    return make_pipeline(StandardScaler(), QuantileRegressor(quantile=level, alpha=0.0)).fit(X, Y)


def boosted(level: float) -> Any:
    return GradientBoostingRegressor(loss="quantile", alpha=level, n_estimators=20, max_depth=2, random_state=0).fit(
        X, Y
    )


def binned(level: float) -> Any:
    return HistGradientBoostingRegressor(loss="quantile", quantile=level, max_iter=15).fit(X, Y)


LINEAR = {level: linear(level) for level in LEVELS}


@pytest.mark.parametrize("fit", [linear, boosted, binned])
def test_the_table_holds_the_predictions_of_every_model(fit: Any) -> None:
    models = {level: fit(level) for level in reversed(LEVELS)}
    dist = ADAPTER.predict(models, ROWS)
    assert isinstance(dist, Quantiles)
    predicted = np.sort(np.stack([models[level].predict(ROWS) for level in LEVELS], axis=1), axis=1)
    np.testing.assert_array_equal(dist.edges, predicted)
    free = (dist.masses > 0).all(axis=1)
    np.testing.assert_allclose(dist.quantile(np.array(LEVELS))[free], predicted[free])
    assert ADAPTER.batch_rows(models) == (None if fit is linear else 25_000)
    assert ADAPTER.rows_together(models) == 25_000


def test_models_of_several_kinds_and_libraries_need_only_predict() -> None:
    class Shifted:
        def __init__(self, by: float) -> None:
            self.by = by

        def predict(self, X: pd.DataFrame) -> Any:
            return X["bmi"].to_numpy() + self.by

    dist = ADAPTER.predict({0.1: Shifted(-1.0), 0.5: Shifted(0.0), 0.9: Shifted(1.0)}, ROWS)
    np.testing.assert_allclose(dist.quantile(np.array([0.3]))[:, 0], ROWS["bmi"] - 0.5)
    assert ADAPTER.rows_together({0.5: Shifted(0.0)}) is None


def test_a_dictionary_is_audited_whole_and_named_by_its_size() -> None:
    subject = uq.explain(LINEAR, ROWS, OUTCOMES)
    assert subject.label == "5 models"
    assert subject.adapter_reason == "a dictionary of 5 models, one for each level"
    assert subject.notes == ("Predicted quantiles cross in 1 of 70 rows (row 58) and are sorted there.",)
    run = whole_audit(subject)
    assert run.subject["family"] == "quantile table"


def test_a_single_quantile_is_refused_with_the_line_to_type() -> None:
    with pytest.raises(InputError, match=r"got QuantileRegressor for \[0\.5\] alone\. Type:") as error:
        uq.explain(LINEAR[0.5], ROWS, OUTCOMES)
    names = {"model": LINEAR[0.5], "X": ROWS, "y": OUTCOMES, "X_train": ROWS, "y_train": OUTCOMES}
    assert len(typed(str(error.value), **names).model) == 5
    for model in (boosted(0.9), binned(0.9)):
        with pytest.raises(InputError, match=r"for \[0\.9\] alone"):
            ADAPTER.predict(model, ROWS)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({0.05: LINEAR[0.05], 0.95: LINEAR[0.95]}, r"at least 3 levels strictly between 0 and 1; got \[0\.05, 0\.95\]"),
        ({5: 1, 50: 2, 95: 3}, r"strictly between 0 and 1; got \[5, 50, 95\]\. Fit one model for each level"),
        (
            {0.05: LINEAR[0.95], 0.5: LINEAR[0.5], 0.95: 1},
            r"model\[0\.05\] must be the model of .* for 0\.95\.",
        ),
        ({0.1: 1, 0.5: 2, 0.9: 3}, r"model\[0\.1\] must be a fitted regressor; got int without predict"),
    ],
)
def test_other_dictionaries_are_refused(models: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ADAPTER.predict(models, ROWS)


def test_other_models_do_not_match() -> None:
    others: tuple[Any, ...] = (
        Lasso(),
        GradientBoostingRegressor(),
        HistGradientBoostingRegressor(),
        {},
        {"a": 1},
        {True: 1},
        dict,
        object(),
    )
    assert not any(ADAPTER.matches(model) for model in others)


def test_constant_predictions_are_refused_unless_they_are_atoms() -> None:
    class Flat:
        def predict(self, X: Any) -> Any:
            return np.ones(len(X))

    models = dict.fromkeys(LEVELS, Flat())
    with pytest.raises(InputError, match=r"one value at all levels in 70 of 70 rows.*ties='atoms'"):
        ADAPTER.predict(models, ROWS)
    assert (QuantilesAdapter(ties="atoms").predict(models, ROWS).variance() == 0).all()
