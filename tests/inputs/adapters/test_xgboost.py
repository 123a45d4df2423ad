"""XGBoost: a distribution by objective, from its scikit-learn interface and from native Boosters alike."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma, poisson
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.core.support.errors import InputError, ModelError
from uq_report.distributions import Categorical, Gamma, LogNormal, Poisson, Scipy, Tweedie, Weibull
from uq_report.inputs.adapters.boosted import XGBoostAdapter
from uq_report.inputs.adapters.classifier import ClassifierAdapter

from .small_data import AMOUNTS, AMOUNTS_OR_0, AUDIT, BINARY, COUNTS, FIT, NUMBERS, THREE, X
from .test_rowwise import MANY, X as RANDOM, assert_same_bits, of_classes, rows_of_calls
from .typed_lines import typed
from .whole_audit import whole_audit

xgboost = pytest.importorskip("xgboost", reason="these tests use XGBoost")

ADAPTER = XGBoostAdapter()
ROWS = X[AUDIT]
FEW: dict[str, Any] = {"n_estimators": 8, "max_depth": 2, "n_jobs": 1}


def regressor(objective: str, y: Any, **options: Any) -> Any:
    return xgboost.XGBRegressor(objective=objective, **FEW, **options).fit(X[FIT], y[FIT])


def classifier(y: Any, **options: Any) -> Any:
    return xgboost.XGBClassifier(**FEW, **options).fit(X[FIT], y[FIT])


def native(objective: str, y: Any, **options: Any) -> Any:
    rows = xgboost.DMatrix(X[FIT], y[FIT])
    return xgboost.train({"objective": objective, "max_depth": 2, "nthread": 1, **options}, rows, 8)


@pytest.mark.parametrize("y", [BINARY, THREE], ids=["two", "three"])
def test_classes_are_its_probabilities_by_both_interfaces(y: Any) -> None:
    model = classifier(y)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, Categorical)
    np.testing.assert_array_equal(dist.probabilities, model.predict_proba(ROWS))
    np.testing.assert_array_equal(ADAPTER.decide(model, ROWS), model.predict(ROWS))
    own = ADAPTER.predict(model.get_booster(), ROWS)
    assert isinstance(own, Categorical)
    np.testing.assert_allclose(own.probabilities, dist.probabilities, atol=1e-7)
    np.testing.assert_allclose(own.entropy(), dist.entropy(), atol=1e-6)
    assert ADAPTER.decide(model.get_booster(), ROWS) is None


def test_it_is_closer_than_predict_proba_and_return_std() -> None:
    model = classifier(BINARY)
    ours, general = ADAPTER.matches(model), ClassifierAdapter().matches(model)
    assert ours is not None
    assert general is not None
    assert ours.distance < general.distance
    search = GridSearchCV(make_pipeline(StandardScaler(), xgboost.XGBClassifier(**FEW)), {}, cv=2)
    assert ADAPTER.matches(search.fit(X[FIT], BINARY[FIT]))


@pytest.mark.parametrize("interface", [regressor, native])
def test_counts_are_poisson_with_its_mean(interface: Any) -> None:
    model = interface("count:poisson", COUNTS)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, Poisson)
    rate = regressor("count:poisson", COUNTS).predict(ROWS).astype(float)
    np.testing.assert_allclose(dist.log_prob(COUNTS[AUDIT]), poisson(rate).logpmf(COUNTS[AUDIT]), rtol=1e-6)


@pytest.mark.parametrize("interface", [regressor, native])
def test_amounts_have_its_mean_and_the_given_dispersion(interface: Any) -> None:
    adapter = XGBoostAdapter(dispersion=0.3)
    positive = adapter.predict(interface("reg:gamma", AMOUNTS), ROWS)
    mean = regressor("reg:gamma", AMOUNTS).predict(ROWS).astype(float)
    assert isinstance(positive, Gamma)
    expected = gamma(1 / 0.3, scale=0.3 * mean).logpdf(AMOUNTS[AUDIT])
    np.testing.assert_allclose(positive.log_prob(AMOUNTS[AUDIT]), expected, atol=1e-5)
    mixed = adapter.predict(interface("reg:tweedie", AMOUNTS_OR_0, tweedie_variance_power=1.3), ROWS)
    assert isinstance(mixed, Tweedie)
    assert mixed.power == 1.3
    np.testing.assert_allclose(mixed.variance(), 0.3 * mixed.mean() ** 1.3, rtol=1e-12)


@pytest.mark.parametrize("interface", [regressor, native])
def test_the_line_of_the_refusal_works_when_typed(interface: Any) -> None:
    model = interface("reg:gamma", AMOUNTS)
    with pytest.raises(InputError, match=r"xgboost\.dispersion must be a number > 0 for .* got None") as error:
        uq.explain(model, ROWS, AMOUNTS[AUDIT])
    subject = typed(
        str(error.value), model=model, X=ROWS, y=AMOUNTS[AUDIT], X_calibration=X[380:], y_calibration=AMOUNTS[380:]
    )
    assert 0.05 < subject.adapter.dispersion < 2


@pytest.mark.parametrize(("kind", "family"), [("normal", LogNormal), ("extreme", Weibull), ("logistic", Scipy)])
def test_failure_times_have_its_own_likelihood(kind: str, family: type) -> None:
    """The library's metric is that of scale 1, whatever scale was trained."""
    options = {"aft_loss_distribution": kind, "aft_loss_distribution_scale": 1.0, "eval_metric": "aft-nloglik"}
    rows = xgboost.DMatrix(X[FIT])
    for bound in ("label_lower_bound", "label_upper_bound"):
        rows.set_float_info(bound, AMOUNTS[FIT])
    model = xgboost.train({"objective": "survival:aft", **options}, rows, 8)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, family)
    held = xgboost.DMatrix(ROWS)
    for bound in ("label_lower_bound", "label_upper_bound"):
        held.set_float_info(bound, AMOUNTS[AUDIT])
    own = float(model.eval(held).split(":")[1])
    assert -dist.log_prob(AMOUNTS[AUDIT]).mean() == pytest.approx(own, abs=1e-5)
    assert "times of events" in ADAPTER.remarks(model)[0]
    model.set_param({"aft_loss_distribution_scale": 0.5})
    levels = np.array([0.2, 0.7])
    narrow, wide = (np.ptp(np.log(q.quantile(levels)), axis=1) for q in (ADAPTER.predict(model, ROWS), dist))
    np.testing.assert_allclose(2 * narrow, wide, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "got"),
    [
        (lambda: native("multi:softmax", THREE, num_class=3), "multi:softmax"),
        (lambda: classifier(BINARY, objective="binary:hinge"), "binary:hinge"),
    ],
)
def test_output_that_is_no_probability_is_refused(model: Any, got: str) -> None:
    with pytest.raises(InputError, match=rf"xgboost\.objective must give probabilities; got {got}\. "):
        ADAPTER.predict(model(), ROWS)


def test_the_line_for_labels_instead_of_probabilities_works() -> None:
    model = native("multi:softmax", THREE, num_class=3)
    model.set_param({"objective": "multi:softprob"})
    assert isinstance(ADAPTER.predict(model, ROWS), Categorical)
    by_classifier = classifier(THREE, objective="multi:softmax")
    dist = ADAPTER.predict(by_classifier, ROWS)
    assert isinstance(dist, Categorical)
    np.testing.assert_array_equal(dist.probabilities, by_classifier.predict_proba(ROWS))


@pytest.mark.parametrize(
    "model", [lambda: native("binary:logitraw", BINARY), lambda: classifier(BINARY, objective="binary:logitraw")]
)
def test_raw_margins_become_probabilities(model: Any) -> None:
    """The interface's predict_proba would give 1 - margin and the margin itself."""
    booster = model().get_booster() if hasattr(model(), "get_booster") else model()
    margin = booster.predict(xgboost.DMatrix(ROWS))
    assert margin.max() > 1
    np.testing.assert_allclose(ADAPTER.predict(model(), ROWS).mean(), 1 / (1 + np.exp(-margin)), rtol=1e-5)


def test_point_regressors_and_rankers_match_nothing() -> None:
    def custom(y: Any, p: Any) -> Any:
        return p - y, np.ones_like(p)

    models = [
        regressor("reg:squarederror", NUMBERS),
        regressor("reg:quantileerror", NUMBERS, quantile_alpha=[0.1, 0.9]),
        native("reg:absoluteerror", NUMBERS),
        xgboost.XGBRegressor(objective=custom),
        xgboost.XGBRegressor(),
        xgboost.XGBRanker(),
        xgboost.XGBRegressor,
    ]
    assert [ADAPTER.matches(model) for model in models] == [None] * len(models)


def test_an_unfitted_model_is_refused() -> None:
    assert ADAPTER.matches(xgboost.XGBClassifier())
    with pytest.raises(InputError, match=r"model must be fitted; got a XGBClassifier without trees"):
        ADAPTER.predict(xgboost.XGBClassifier(), ROWS)


def test_a_booster_from_a_file_is_the_same(tmp_path: Path) -> None:
    model = native("reg:tweedie", AMOUNTS_OR_0, tweedie_variance_power=1.7)
    model.save_model(tmp_path / "model.json")
    again = xgboost.Booster(model_file=tmp_path / "model.json")
    adapter = XGBoostAdapter(dispersion=0.5)
    first, second = adapter.predict(model, ROWS), adapter.predict(again, ROWS)
    assert isinstance(second, Tweedie)
    assert second.power == 1.7
    np.testing.assert_array_equal(first.mean(), second.mean())


def test_a_booster_takes_arrays_and_categories() -> None:
    model = native("count:poisson", COUNTS)
    np.testing.assert_array_equal(ADAPTER.predict(model, ROWS.to_numpy()).mean(), ADAPTER.predict(model, ROWS).mean())
    frame = X.assign(age=pd.Categorical(np.where(X["age"] > 0, "old", "young")))
    rows = xgboost.DMatrix(frame[FIT], COUNTS[FIT], enable_categorical=True)
    with_levels = xgboost.train({"objective": "count:poisson"}, rows, 4)
    before = frame[AUDIT].copy()
    rate = ADAPTER.predict(with_levels, frame[AUDIT]).mean()
    np.testing.assert_array_equal(rate, with_levels.predict(xgboost.DMatrix(frame[AUDIT], enable_categorical=True)))
    pd.testing.assert_frame_equal(frame[AUDIT], before)


def test_a_booster_that_stopped_early_says_that_it_uses_all_rounds() -> None:
    rows, held = (xgboost.DMatrix(X[part], COUNTS[part]) for part in (FIT, AUDIT))
    options = {"objective": "count:poisson", "eta": 1.0}
    model = xgboost.train(options, rows, 60, evals=[(held, "held")], early_stopping_rounds=5, verbose_eval=False)
    assert f"all {model.num_boosted_rounds()} rounds, though its best was" in ADAPTER.remarks(model)[0]
    assert ADAPTER.remarks(model[: model.best_iteration + 1]) == ()
    assert ADAPTER.remarks(native("count:poisson", COUNTS)) == ()


MODELS: dict[str, Any] = {
    "classifier": lambda: xgboost.XGBClassifier(n_estimators=4, n_jobs=2).fit(RANDOM, MANY),
    "dart": lambda: xgboost.XGBClassifier(n_estimators=4, booster="dart", n_jobs=2).fit(RANDOM, MANY),
    "linear": lambda: xgboost.XGBClassifier(n_estimators=4, booster="gblinear", n_jobs=2).fit(RANDOM, MANY),
    "booster": lambda: xgboost.train(
        {"objective": "multi:softprob", "num_class": 11, "nthread": 2}, xgboost.DMatrix(RANDOM, MANY), 4
    ),
    "in a pipeline": lambda: make_pipeline(StandardScaler(), xgboost.XGBClassifier(n_estimators=4)).fit(RANDOM, MANY),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_rows_have_the_same_bits_in_any_batch(make: Any) -> None:
    model = make()
    assert ADAPTER.batch_rows(model) == rows_of_calls(model)
    assert_same_bits(ADAPTER, model, of_classes)


def test_counts_have_the_same_bits_in_any_batch() -> None:
    model = xgboost.XGBRegressor(objective="count:poisson", n_estimators=20, n_jobs=2).fit(RANDOM, MANY)
    assert_same_bits(ADAPTER, model, lambda dist: dist.mean()[:, None])


def test_a_users_subclass_keeps_the_subjects_rows() -> None:
    mine = type("Mine", (xgboost.XGBClassifier,), {})()  # may predict in any way
    assert ADAPTER.matches(mine)
    assert ADAPTER.batch_rows(mine) is None


def test_its_models_are_explained_by_it() -> None:
    assert uq.explain(native("count:poisson", COUNTS), ROWS, COUNTS[AUDIT]).adapter.name == "xgboost"


def test_a_parameter_that_is_no_number_is_printed_as_words() -> None:
    """XGBoost's own default of ``missing``."""
    subject = uq.explain(classifier(BINARY, missing=np.nan), ROWS, BINARY[AUDIT])
    whole_audit(subject, explainers=["pfi"])


def test_several_outputs_are_refused() -> None:
    y = np.column_stack([COUNTS, AMOUNTS])
    model = xgboost.XGBRegressor(objective="count:poisson", **FEW).fit(X[FIT], y[FIT])
    with pytest.raises(ModelError, match=r"XGBRegressor must predict one number per row, shape \(80,\); got \(80, 2\)"):
        ADAPTER.predict(model, ROWS)


def test_a_dispersion_that_has_no_use_is_refused_and_one_that_has_is_a_remark() -> None:
    adapter = XGBoostAdapter(dispersion=0.4)
    with pytest.raises(InputError, match=r"xgboost\.dispersion must be None for .*; got 0\.4"):
        adapter.predict(classifier(BINARY), ROWS)
    assert "The dispersion 0.4 was given, not fitted" in adapter.remarks(classifier(BINARY))[0]
    assert ADAPTER.remarks(classifier(BINARY)) == ()
