"""CatBoost: a distribution by loss, its variance, and its virtual ensembles as members."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, poisson
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, CategoricalMixture, Normal, NormalMixture, Poisson, Tweedie
from uq_report.inputs.adapters.boosted import CatBoostAdapter
from uq_report.inputs.adapters.classifier import ClassifierAdapter

from .small_data import AMOUNTS_OR_0, AUDIT, BINARY, COUNTS, FIT, NUMBERS, THREE, X
from .test_rowwise import (
    BINARY as TWO,
    MANY,
    SCORE,
    X as RANDOM,
    assert_same_bits,
    of_classes,
    of_mixtures,
    rows_of_calls,
)
from .typed_lines import typed

catboost = pytest.importorskip("catboost", reason="these tests use CatBoost")
from catboost.utils import eval_metric  # noqa: E402 - only where it is installed

ADAPTER = CatBoostAdapter()
ROWS = X[AUDIT]
FEW: dict[str, Any] = {"iterations": 40, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}


def regressor(loss: str, y: Any, **options: Any) -> Any:
    return catboost.CatBoostRegressor(loss_function=loss, **FEW, **options).fit(X[FIT], y[FIT])


def native(loss: str, y: Any, **options: Any) -> Any:
    return catboost.CatBoost({"loss_function": loss, **FEW, **options}).fit(X[FIT], y[FIT])


def classifier(y: Any, **options: Any) -> Any:
    return catboost.CatBoostClassifier(**FEW, **options).fit(X[FIT], y[FIT])


both = pytest.mark.parametrize("interface", [regressor, native])


def test_residuals_are_laid_over_a_regressor() -> None:
    """A regressor of CatBoost has ``classes_`` too: none."""
    model, train = regressor("RMSE", NUMBERS), (X[FIT], NUMBERS[FIT])
    subject = uq.explain(model, ROWS, NUMBERS[AUDIT], train=train, residuals="normal")
    assert subject.assumption is not None
    assert subject.assumption.source == "cross_validation"


@both
def test_the_variance_is_a_variance_by_both_interfaces(interface: Any) -> None:
    """A native model's predict gives the logarithm of the standard deviation."""
    model = interface("RMSEWithUncertainty", NUMBERS)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, Normal)
    raw = model.predict(ROWS, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(dist.variance(), np.exp(2 * raw[:, 1]), rtol=1e-10)
    expected = norm(raw[:, 0], np.exp(raw[:, 1])).logpdf(NUMBERS[AUDIT])
    np.testing.assert_allclose(dist.log_prob(NUMBERS[AUDIT]), expected, rtol=1e-9)
    (own,) = eval_metric(NUMBERS[AUDIT], raw, "RMSEWithUncertainty")
    assert -dist.log_prob(NUMBERS[AUDIT]).mean() == pytest.approx(own, abs=1e-6)


@both
def test_virtual_ensembles_are_members_with_its_own_split(interface: Any) -> None:
    model = interface("RMSEWithUncertainty", NUMBERS, posterior_sampling=True, random_seed=1)
    dist = CatBoostAdapter(virtual_ensembles=5).predict(model, ROWS)
    assert isinstance(dist, NormalMixture)
    assert dist.means.shape == (80, 5)
    own = model.virtual_ensembles_predict(ROWS, prediction_type="TotalUncertainty", virtual_ensembles_count=5)
    np.testing.assert_allclose(dist.mean(), own[:, 0], rtol=1e-9)
    np.testing.assert_allclose(dist.epistemic_variance(), own[:, 1], rtol=1e-6)
    np.testing.assert_allclose(dist.aleatoric_variance(), own[:, 2], rtol=1e-9)
    np.testing.assert_allclose(dist.entropy(), dist.aleatoric() + dist.epistemic(), rtol=1e-12)
    assert "mixture of 10 virtual ensembles" in ADAPTER.remarks(model)[0]


@pytest.mark.parametrize("y", [BINARY, THREE], ids=["two", "three"])
def test_virtual_ensembles_of_classes_have_its_own_entropies(y: Any) -> None:
    model = classifier(y, posterior_sampling=True)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, CategoricalMixture)
    data, total = model.virtual_ensembles_predict(ROWS, prediction_type="TotalUncertainty").T
    np.testing.assert_allclose(dist.aleatoric(), data, atol=1e-6)
    np.testing.assert_allclose(dist.entropy(), total, atol=1e-6)
    np.testing.assert_array_equal(dist.classes, model.classes_)
    assert ADAPTER.decide(model, ROWS) is None


@pytest.mark.parametrize("y", [BINARY, THREE], ids=["two", "three"])
def test_classes_are_its_probabilities(y: Any) -> None:
    names = np.array(["low", "middle", "high"])[y]
    model = classifier(names)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, Categorical)
    assert not isinstance(dist, CategoricalMixture)
    np.testing.assert_allclose(dist.probabilities, model.predict_proba(ROWS), rtol=1e-12)
    np.testing.assert_array_equal(dist.classes, model.classes_)
    decided = ADAPTER.decide(model, ROWS)
    np.testing.assert_array_equal(decided, np.ravel(model.predict(ROWS)))
    ours, general = ADAPTER.matches(model), ClassifierAdapter().matches(model)
    assert ours is not None
    assert general is not None
    assert ours.distance < general.distance
    assert ADAPTER.remarks(model) == ()


@both
def test_counts_are_poisson_with_the_mean_and_not_its_logarithm(interface: Any) -> None:
    model = interface("Poisson", COUNTS)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, Poisson)
    rate = np.exp(model.predict(ROWS, prediction_type="RawFormulaVal"))
    np.testing.assert_allclose(dist.log_prob(COUNTS[AUDIT]), poisson(rate).logpmf(COUNTS[AUDIT]), rtol=1e-9)


@both
def test_tweedie_asks_for_its_dispersion_with_a_line_that_works(interface: Any) -> None:
    model, y = interface("Tweedie:variance_power=1.3", AMOUNTS_OR_0), AMOUNTS_OR_0
    with pytest.raises(InputError, match=r"catboost\.dispersion must be a number > 0 for .* got None") as error:
        uq.explain(model, ROWS, y[AUDIT])
    subject = typed(str(error.value), model=model, X=ROWS, y=y[AUDIT], X_calibration=X[380:], y_calibration=y[380:])
    dist = subject.adapter.predict(model, ROWS)
    assert isinstance(dist, Tweedie)
    assert dist.power == 1.3
    np.testing.assert_allclose(dist.mean(), model.predict(ROWS, prediction_type="Exponent"), rtol=1e-12)


def test_virtual_ensembles_of_counts_are_poissons() -> None:
    model = regressor("Poisson", COUNTS, posterior_sampling=True)
    dist = CatBoostAdapter(virtual_ensembles=4).predict(model, ROWS)
    rates = np.exp(model.virtual_ensembles_predict(ROWS, virtual_ensembles_count=4)[:, :, 0])
    np.testing.assert_allclose(dist.mean(), rates.mean(axis=1), rtol=1e-9)
    expected = np.log(poisson.pmf(COUNTS[AUDIT, None], rates).mean(axis=1))
    np.testing.assert_allclose(dist.log_prob(COUNTS[AUDIT]), expected, rtol=1e-9)
    np.testing.assert_allclose(dist.epistemic_variance(), rates.var(axis=1), rtol=1e-9)
    np.testing.assert_allclose(dist.entropy(), dist.aleatoric() + dist.epistemic(), rtol=1e-9)


def test_cross_entropy_gives_classes() -> None:
    model = native("CrossEntropy", BINARY)
    dist = ADAPTER.predict(model, ROWS)
    np.testing.assert_allclose(dist.mean(), model.predict(ROWS, prediction_type="Probability")[:, 1], rtol=1e-12)
    assert ADAPTER.decide(model, ROWS) is None


def test_classes_that_do_not_sum_to_1_are_refused() -> None:
    model = native("MultiClassOneVsAll", THREE)
    with pytest.raises(InputError, match=r"must be MultiClass; got MultiClassOneVsAll, .* do not sum to 1") as error:
        ADAPTER.predict(model, ROWS)
    fit = {"X_train": X[FIT], "y_train": THREE[FIT]}
    subject = typed(str(error.value), model=model, X=ROWS, y=THREE[AUDIT], **fit)
    assert subject.adapter.predict(subject.model, ROWS).probabilities.shape == (80, 3)


def test_point_and_quantile_losses_match_nothing() -> None:
    models = [
        regressor("RMSE", NUMBERS),
        regressor("RMSE", NUMBERS, posterior_sampling=True),
        native("Quantile:alpha=0.9", NUMBERS),
        native("MultiQuantile:alpha=0.1,0.9", NUMBERS),
        catboost.CatBoostRegressor,
    ]
    assert [ADAPTER.matches(model) for model in models] == [None] * len(models)


@both
def test_one_quantile_is_refused_with_lines_that_fit_more(interface: Any) -> None:
    model = interface("Quantile:alpha=0.9", NUMBERS)
    with pytest.raises(InputError, match=r"for \[0\.9\] alone") as error:
        uq.explain(model, ROWS, NUMBERS[AUDIT])
    fit = {"X_train": X[FIT], "y_train": NUMBERS[FIT]}
    assert len(typed(str(error.value), model=model, X=ROWS, y=NUMBERS[AUDIT], **fit).model) == 5


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(InputError, match=r"model must be fitted; got a CatBoostClassifier without trees"):
        uq.explain(catboost.CatBoostClassifier(), ROWS, BINARY[AUDIT])


@pytest.mark.parametrize("count", [1, 2.5, True, None])
def test_virtual_ensembles_are_a_whole_number(count: Any) -> None:
    with pytest.raises(InputError, match=r"catboost\.virtual_ensembles must be a whole number >= 2; got"):
        CatBoostAdapter(virtual_ensembles=count)


def test_too_few_trees_for_the_virtual_ensembles_are_refused() -> None:
    model = classifier(BINARY, posterior_sampling=True)
    with pytest.raises(
        InputError, match=r"catboost\.virtual_ensembles must be at most half the trees, 20; got 30"
    ) as error:
        CatBoostAdapter(virtual_ensembles=30).predict(model, ROWS)
    subject = typed(str(error.value), model=model, X=ROWS, y=BINARY[AUDIT])
    assert subject.adapter == CatBoostAdapter(virtual_ensembles=20)


def test_a_model_from_a_file_is_the_same(tmp_path: Path) -> None:
    model = regressor("RMSEWithUncertainty", NUMBERS, posterior_sampling=True)
    model.save_model(tmp_path / "model.cbm")
    again = catboost.CatBoost().load_model(tmp_path / "model.cbm")
    first, second = ADAPTER.predict(model, ROWS), ADAPTER.predict(again, ROWS)
    assert isinstance(second, NormalMixture)
    np.testing.assert_array_equal(first.mean(), second.mean())


def test_categories_are_its_own() -> None:
    frame = X.assign(age=np.where(X["age"] > 0, "old", "young"))
    pool = catboost.Pool(frame[FIT], COUNTS[FIT], cat_features=["age"])
    model = catboost.CatBoost({"loss_function": "Poisson", **FEW}).fit(pool)
    before: pd.DataFrame = frame[AUDIT].copy()
    expected = model.predict(frame[AUDIT], prediction_type="Exponent")
    np.testing.assert_array_equal(ADAPTER.predict(model, frame[AUDIT]).mean(), expected)
    pd.testing.assert_frame_equal(frame[AUDIT], before)


SMALL: dict[str, Any] = {**FEW, "iterations": 24, "thread_count": 2}
MODELS: dict[str, Any] = {
    "eleven classes": (catboost.CatBoostClassifier(**SMALL), MANY, of_classes),
    "two classes": (catboost.CatBoostClassifier(**SMALL), TWO, of_classes),
    "members": (catboost.CatBoostClassifier(posterior_sampling=True, **SMALL), MANY, of_classes),
    "two, members": (catboost.CatBoostClassifier(posterior_sampling=True, **SMALL), TWO, of_classes),
    "normal members": (
        catboost.CatBoostRegressor(loss_function="RMSEWithUncertainty", posterior_sampling=True, **SMALL),
        SCORE,
        of_mixtures,
    ),
    "count members": (
        catboost.CatBoostRegressor(loss_function="Poisson", posterior_sampling=True, **SMALL),
        MANY,
        lambda dist: np.column_stack([dist.mean(), dist.entropy(), dist.aleatoric()]),
    ),
    "counts": (catboost.CatBoostRegressor(loss_function="Poisson", **SMALL), MANY, lambda dist: dist.mean()[:, None]),
}


@pytest.mark.parametrize(("model", "y", "parts"), MODELS.values(), ids=MODELS)
def test_rows_have_the_same_bits_in_any_batch(model: Any, y: Any, parts: Any) -> None:
    model = make_pipeline(StandardScaler(), model).fit(RANDOM, y)
    assert ADAPTER.batch_rows(model) == rows_of_calls(model)
    assert_same_bits(ADAPTER, model, parts)


def test_posterior_samples_are_explained_as_members() -> None:
    model = classifier(THREE, posterior_sampling=True)
    subject = uq.explain(model, ROWS, THREE[AUDIT])
    assert subject.adapter.name == "catboost"
    assert {"epistemic", "aleatoric"} <= subject.adapter.predict(model, ROWS).supports


def test_a_dispersion_that_has_no_use_is_refused_and_one_that_has_is_a_remark() -> None:
    adapter = CatBoostAdapter(dispersion=0.4)
    with pytest.raises(InputError, match=r"catboost\.dispersion must be None for .*; got 0\.4"):
        adapter.predict(native("Poisson", COUNTS), ROWS)
    assert "The dispersion 0.4 was given, not fitted" in adapter.remarks(native("Poisson", COUNTS))[0]
    assert ADAPTER.remarks(native("Poisson", COUNTS)) == ()
