"""LightGBM: a distribution by objective, from its scikit-learn interface and from native Boosters alike."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma, poisson
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Gamma, Poisson, Tweedie
from uq_report.inputs.adapters.boosted import LightGBMAdapter
from uq_report.inputs.adapters.classifier import ClassifierAdapter

from .small_data import AMOUNTS, AMOUNTS_OR_0, AUDIT, BINARY, COUNTS, FIT, NUMBERS, THREE, X
from .test_rowwise import MANY, X as RANDOM, assert_same_bits, of_classes, rows_of_calls
from .typed_lines import typed

lightgbm = pytest.importorskip("lightgbm", reason="these tests use LightGBM")

ADAPTER = LightGBMAdapter()
ROWS = X[AUDIT]
FEW: dict[str, Any] = {"n_estimators": 8, "num_leaves": 4, "n_jobs": 1, "verbose": -1}


def regressor(objective: Any, y: Any, **options: Any) -> Any:
    return lightgbm.LGBMRegressor(objective=objective, **FEW, **options).fit(X[FIT], y[FIT])


def classifier(y: Any, **options: Any) -> Any:
    return lightgbm.LGBMClassifier(**FEW, **options).fit(X[FIT], y[FIT])


def native(objective: Any, y: Any, **options: Any) -> Any:
    rows = lightgbm.Dataset(X[FIT], y[FIT])
    few = {"num_leaves": 4, "num_threads": 1, "verbose": -1}
    return lightgbm.train({"objective": objective, **few, **options}, rows, 8)


@pytest.mark.parametrize("y", [BINARY, THREE], ids=["two", "three"])
def test_classes_are_its_probabilities_by_both_interfaces(y: Any) -> None:
    names = np.array(["low", "middle", "high"])[y]
    model = classifier(names)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, Categorical)
    np.testing.assert_array_equal(dist.probabilities, model.predict_proba(ROWS))
    np.testing.assert_array_equal(dist.classes, model.classes_)
    np.testing.assert_array_equal(ADAPTER.decide(model, ROWS), model.predict(ROWS))
    own = ADAPTER.predict(model.booster_, ROWS)
    assert isinstance(own, Categorical)
    np.testing.assert_allclose(own.probabilities, dist.probabilities, rtol=1e-12)
    assert ADAPTER.decide(model.booster_, ROWS) is None
    ours, general = ADAPTER.matches(model), ClassifierAdapter().matches(model)
    assert ours is not None
    assert general is not None
    assert ours.distance < general.distance


@pytest.mark.parametrize("objective", ["cross_entropy", "xentropy", "binary"])
def test_a_boosters_single_column_is_that_of_class_1(objective: str) -> None:
    model = native(objective, BINARY)
    dist = ADAPTER.predict(model, ROWS)
    np.testing.assert_allclose(dist.mean(), model.predict(ROWS), rtol=1e-12)
    with pytest.raises(InputError, match=r"0\.5"):
        dist.encode(np.full(80, 0.5))


@pytest.mark.parametrize(("interface", "objective"), [(regressor, "poisson"), (native, "poisson")])
def test_counts_are_poisson_with_its_mean(interface: Any, objective: str) -> None:
    model = interface(objective, COUNTS)
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, Poisson)
    expected = poisson(model.predict(ROWS)).logpmf(COUNTS[AUDIT])
    np.testing.assert_allclose(dist.log_prob(COUNTS[AUDIT]), expected, rtol=1e-9)


@pytest.mark.parametrize("interface", [regressor, native])
def test_amounts_have_its_mean_and_the_given_dispersion(interface: Any) -> None:
    adapter, model = LightGBMAdapter(dispersion=0.3), interface("gamma", AMOUNTS)
    positive = adapter.predict(model, ROWS)
    assert isinstance(positive, Gamma)
    expected = gamma(1 / 0.3, scale=0.3 * model.predict(ROWS)).logpdf(AMOUNTS[AUDIT])
    np.testing.assert_allclose(positive.log_prob(AMOUNTS[AUDIT]), expected, rtol=1e-9)
    mixed = adapter.predict(interface("tweedie", AMOUNTS_OR_0, tweedie_variance_power=1.3), ROWS)
    assert isinstance(mixed, Tweedie)
    assert mixed.power == 1.3
    assert adapter.predict(interface("tweedie", AMOUNTS_OR_0), ROWS).power == 1.5  # type: ignore[attr-defined]


@pytest.mark.parametrize("interface", [regressor, native])
def test_the_line_of_the_refusal_works_when_typed(interface: Any) -> None:
    model = interface("tweedie", AMOUNTS_OR_0)
    with pytest.raises(InputError, match=r"lightgbm\.dispersion must be a number > 0 for .* got None") as error:
        uq.explain(model, ROWS, AMOUNTS_OR_0[AUDIT])
    held = {"X_calibration": X[380:], "y_calibration": AMOUNTS_OR_0[380:]}
    subject = typed(str(error.value), model=model, X=ROWS, y=AMOUNTS_OR_0[AUDIT], **held)
    assert 0.05 < subject.adapter.dispersion < 2


def test_classes_that_do_not_sum_to_1_are_refused() -> None:
    for model in (native("multiclassova", THREE, num_class=3), classifier(THREE, objective="multiclassova")):
        with pytest.raises(
            InputError, match=r"must be multiclass; got multiclassova, whose probabilities do not sum"
        ) as e:
            ADAPTER.predict(model, ROWS)
        fit = {"X_train": X[FIT], "y_train": THREE[FIT]}
        subject = typed(str(e.value), model=model, X=ROWS, y=THREE[AUDIT], **fit)
        assert subject.adapter.predict(subject.model, ROWS).probabilities.shape == (80, 3)


def test_point_regressors_and_rankers_match_nothing() -> None:
    def custom(y: Any, p: Any) -> Any:
        return p - y, np.ones_like(p)

    models = [
        regressor("regression", NUMBERS),
        regressor("quantile", NUMBERS, alpha=0.9),
        regressor(custom, NUMBERS),
        native("l1", NUMBERS),
        native("cross_entropy_lambda", BINARY),
        lightgbm.LGBMRegressor,
    ]
    assert [ADAPTER.matches(model) for model in models] == [None] * len(models)


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(InputError, match=r"model must be fitted; got a LGBMClassifier without trees"):
        uq.explain(lightgbm.LGBMClassifier(), ROWS, BINARY[AUDIT], adapter=ADAPTER)


def test_a_booster_from_a_file_is_the_same(tmp_path: Path) -> None:
    model = native("tweedie", AMOUNTS_OR_0, tweedie_variance_power=1.7)
    model.save_model(tmp_path / "model.txt")
    again = lightgbm.Booster(model_file=tmp_path / "model.txt")
    adapter = LightGBMAdapter(dispersion=0.5)
    first, second = adapter.predict(model, ROWS), adapter.predict(again, ROWS)
    assert isinstance(second, Tweedie)
    assert second.power == 1.7
    np.testing.assert_array_equal(first.mean(), second.mean())


def test_categories_are_its_own() -> None:
    frame = X.assign(age=pd.Categorical(np.where(X["age"] > 0, "old", "young")))
    model = native("poisson", COUNTS)
    with_levels = lightgbm.train({"objective": "poisson", "verbose": -1}, lightgbm.Dataset(frame[FIT], COUNTS[FIT]), 4)
    np.testing.assert_array_equal(ADAPTER.predict(with_levels, frame[AUDIT]).mean(), with_levels.predict(frame[AUDIT]))
    np.testing.assert_array_equal(ADAPTER.predict(model, ROWS.to_numpy()).mean(), model.predict(ROWS))


OPTIONS: dict[str, Any] = {"n_estimators": 4, "n_jobs": 2, "verbose": -1, "min_child_samples": 3}
MODELS: dict[str, Any] = {
    "classifier": lambda: lightgbm.LGBMClassifier(**OPTIONS).fit(RANDOM, MANY),
    "dart": lambda: lightgbm.LGBMClassifier(boosting_type="dart", **OPTIONS).fit(RANDOM, MANY),
    "linear leaves": lambda: lightgbm.LGBMClassifier(linear_tree=True, **OPTIONS).fit(RANDOM, MANY),
    "booster": lambda: lightgbm.LGBMClassifier(**OPTIONS).fit(RANDOM, MANY).booster_,
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_rows_have_the_same_bits_in_any_batch(make: Any) -> None:
    model = make()
    assert ADAPTER.batch_rows(model) == rows_of_calls(model)
    assert_same_bits(ADAPTER, model, of_classes)


def test_counts_have_the_same_bits_in_any_batch() -> None:
    model = lightgbm.LGBMRegressor(objective="poisson", **OPTIONS).fit(RANDOM, MANY)
    assert_same_bits(ADAPTER, model, lambda dist: dist.mean()[:, None])


def test_a_pipeline_is_explained_by_it() -> None:
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), lightgbm.LGBMClassifier(**FEW))
    subject = uq.explain(scaled.fit(X[FIT], BINARY[FIT]), ROWS, BINARY[AUDIT])
    assert subject.adapter.name == "lightgbm"


def test_a_dispersion_that_has_no_use_is_refused_and_one_that_has_is_a_remark() -> None:
    adapter = LightGBMAdapter(dispersion=0.4)
    with pytest.raises(InputError, match=r"lightgbm\.dispersion must be None for .*; got 0\.4"):
        adapter.predict(classifier(BINARY), ROWS)
    assert "The dispersion 0.4 was given, not fitted" in adapter.remarks(classifier(BINARY))[0]
    assert ADAPTER.remarks(classifier(BINARY)) == ()
