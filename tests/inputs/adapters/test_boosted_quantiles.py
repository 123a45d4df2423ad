"""Quantiles of XGBoost, LightGBM and CatBoost: one model of several, or a dictionary of models of one."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.core.support.errors import InputError
from uq_report.inputs.adapters.quantiles import QuantilesAdapter, levels_of

from .typed_lines import typed
from .whole_audit import whole_audit

xgboost = pytest.importorskip("xgboost", reason="these tests use XGBoost")
lightgbm = pytest.importorskip("lightgbm", reason="these tests use LightGBM")
catboost = pytest.importorskip("catboost", reason="these tests use CatBoost")

FRAME, TARGET = load_diabetes(return_X_y=True, as_frame=True)
FRAME = FRAME[["bmi", "s5"]]
X, Y, ROWS, OUTCOMES = FRAME[:300], TARGET[:300], FRAME[300:360], TARGET[300:360]
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
ADAPTER = QuantilesAdapter()
SHORT = ["pfi", "pdp", "calibration"]


def edges(model: Any, rows: Any) -> Any:
    """Return the quantiles predicted, in order."""
    dist: Any = ADAPTER.predict(model, rows)
    return dist.edges


def of_xgboost(levels: Any, **more: Any) -> Any:
    few = {"n_estimators": 15, "max_depth": 2, "n_jobs": 1} | more
    return xgboost.XGBRegressor(objective="reg:quantileerror", quantile_alpha=levels, **few)


def of_catboost(loss: str) -> Any:
    few: dict[str, Any] = {"iterations": 15, "depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return catboost.CatBoostRegressor(loss_function=loss, **few)


def of_lightgbm(level: float) -> Any:
    few: dict[str, Any] = {"n_estimators": 15, "num_leaves": 4, "verbose": -1, "n_jobs": 1}
    return lightgbm.LGBMRegressor(objective="quantile", alpha=level, **few).fit(X, Y)


MULTI = {
    "XGBoost": of_xgboost(LEVELS).fit(X, Y),
    "XGBoost in a pipeline": make_pipeline(StandardScaler(), of_xgboost(LEVELS)).fit(X, Y),
    "CatBoost": of_catboost("MultiQuantile:alpha=0.05,0.25,0.5,0.75,0.95").fit(X, Y),
}
multi = pytest.mark.parametrize("model", MULTI.values(), ids=MULTI)


@multi
def test_the_table_holds_the_models_own_columns(model: Any) -> None:
    dist: Any = ADAPTER.predict(model, ROWS)
    np.testing.assert_array_equal(dist.edges, np.sort(model.predict(ROWS).astype(float), axis=1))
    match = ADAPTER.matches(model)
    assert match is not None
    assert match.reason.endswith("quantiles at 5 levels, 0.05 to 0.95")


@multi
def test_every_row_has_the_same_bits_alone_and_in_company(model: Any) -> None:
    assert ADAPTER.batch_rows(model) == 25_000
    whole = edges(model, ROWS)
    for index in (np.arange(7, 8), np.arange(10, 13), np.random.default_rng(0).permutation(60), np.arange(120) // 2):
        np.testing.assert_array_equal(edges(model, ROWS.iloc[index]), whole[index])


def test_linear_boosters_get_the_subjects_rows() -> None:
    assert ADAPTER.batch_rows(of_xgboost(LEVELS, booster="gblinear")) is None


def test_a_native_booster_keeps_its_levels_when_saved() -> None:
    booster = MULTI["XGBoost"].get_booster()
    assert levels_of(booster) == pytest.approx(LEVELS)
    dist: Any = ADAPTER.predict(xgboost.Booster(model_file=booster.save_raw("json")), ROWS)
    np.testing.assert_array_equal(dist.edges, edges(MULTI["XGBoost"], ROWS))


@pytest.mark.parametrize(("name", "explainers"), [("XGBoost", None), ("CatBoost", SHORT)])
def test_a_model_of_several_quantiles_is_audited_whole(name: str, explainers: Any) -> None:
    run = whole_audit(uq.explain(MULTI[name], ROWS, OUTCOMES), explainers=explainers)
    assert run.subject["adapter"] == "quantiles"


def test_lightgbm_models_of_one_quantile_each_are_audited_whole() -> None:
    models = {level: of_lightgbm(level) for level in LEVELS}
    assert ADAPTER.batch_rows(models) == 25_000
    run = whole_audit(uq.explain(models, ROWS, OUTCOMES), explainers=SHORT)
    assert run.subject["adapter"] == "quantiles"
    assert levels_of(models[0.25].booster_) == (0.25,)


def test_boosters_of_one_quantile_each_make_a_table() -> None:
    models = {level: of_xgboost(level).fit(X, Y).get_booster() for level in (0.1, 0.5, 0.9)}
    predicted = [models[level].inplace_predict(ROWS) for level in (0.1, 0.5, 0.9)]
    np.testing.assert_array_equal(edges(models, ROWS), np.sort(np.stack(predicted, axis=1), axis=1))


@pytest.mark.parametrize(
    "model",
    [
        of_xgboost(0.5).fit(X, Y),
        of_catboost("Quantile:alpha=0.5").fit(X, Y),
        of_catboost("Quantile").fit(X, Y),
        of_lightgbm(0.5),
    ],
    ids=["XGBoost", "CatBoost", "CatBoost by default", "LightGBM"],
)
def test_a_single_quantile_is_refused_with_the_line_to_type(model: Any) -> None:
    with pytest.raises(InputError, match=r"for \[0\.5\] alone\. Type:") as error:
        ADAPTER.predict(model, ROWS)
    subject = typed(str(error.value), model=model, X=ROWS, y=None, X_train=X, y_train=Y)
    assert sorted(subject.model) == [0.05, 0.25, 0.5, 0.75, 0.95]


def test_other_losses_do_not_match() -> None:
    others = (
        xgboost.XGBRegressor(),
        xgboost.XGBRegressor(n_estimators=1).fit(X, Y),
        catboost.CatBoostRegressor(),
        lightgbm.LGBMRegressor(),
    )
    assert not any(ADAPTER.matches(model) for model in others)
