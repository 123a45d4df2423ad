"""NGBoost: every family's entropy and log-likelihood are those of its own scipy objects."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import gumbel_r, norm
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import uq_report as uq
from uq_report.core.support.errors import InputError
from uq_report.distributions import Beta, Categorical, Normal, StudentT
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ngboost_ import NGBoostAdapter

from .small_data import AMOUNTS, AUDIT, BINARY, COUNTS, FIT, NUMBERS, THREE, X
from .test_rowwise import MANY, SCORE, X as RANDOM, assert_same_bits, of_classes
from .typed_lines import typed

ngboost = pytest.importorskip("ngboost", reason="these tests use NGBoost")
from ngboost import distns  # noqa: E402 - only where it is installed

ADAPTER = NGBoostAdapter()
ROWS = X[AUDIT]
FAMILIES = {
    "Normal": AMOUNTS,
    "NormalFixedVar": AMOUNTS,
    "NormalFixedMean": AMOUNTS - AMOUNTS.mean(),
    "LogNormal": AMOUNTS,
    "Exponential": AMOUNTS,
    "Gamma": AMOUNTS,
    "Weibull": AMOUNTS,
    "Laplace": AMOUNTS,
    "HalfNormal": AMOUNTS,
    "T": AMOUNTS,
    "TFixedDf": AMOUNTS,
    "TFixedDfFixedVar": AMOUNTS,
    "Cauchy": AMOUNTS,
    "Beta": AMOUNTS / 5,
    "Poisson": COUNTS,
}


def regressor(family: str, y: Any) -> Any:
    natural = family not in ("T",)  # whose score has no metric
    model = ngboost.NGBRegressor(
        Dist=getattr(distns, family),
        n_estimators=8,
        learning_rate=0.1,
        verbose=False,
        natural_gradient=natural,
    )
    return model.fit(X[FIT], y[FIT])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_its_own_scipy_object(family: str) -> None:
    y = FAMILIES[family]
    model = regressor(family, y)
    dist, own = ADAPTER.predict(model, ROWS), model.pred_dist(ROWS).dist
    log_prob = own.logpmf if family == "Poisson" else own.logpdf
    np.testing.assert_allclose(dist.log_prob(dist.encode(y[AUDIT])), log_prob(y[AUDIT]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(dist.entropy(), own.entropy(), rtol=1e-8, atol=1e-8)
    low, high = dist.quantile(np.array([0.1, 0.8])).T
    np.testing.assert_allclose(np.array([low, high]), np.array([own.ppf(0.1), own.ppf(0.8)]), rtol=1e-8)
    if "mean" in dist.supports:
        np.testing.assert_allclose(dist.mean(), own.mean(), rtol=1e-9, atol=1e-12)
    assert len(dist) == 80


def test_a_fixed_df_is_no_parameter_and_a_boosted_one_is() -> None:
    fixed, boosted = (ADAPTER.predict(regressor(family, AMOUNTS), ROWS) for family in ("TFixedDf", "T"))
    assert isinstance(fixed, StudentT)
    assert fixed.parametrisation == ("mu", "tau2")
    assert boosted.parametrisation == ("mu", "tau2", "nu")
    assert "mean" not in ADAPTER.predict(regressor("Cauchy", AMOUNTS), ROWS).supports


def test_a_users_subclass_is_read_as_its_family() -> None:
    class MyNormal(distns.Normal):  # type: ignore[misc] # NGBoost is untyped
        pass

    model = ngboost.NGBRegressor(Dist=MyNormal, n_estimators=3, verbose=False).fit(X[FIT], NUMBERS[FIT])
    assert isinstance(ADAPTER.predict(model, ROWS), Normal)


@pytest.mark.parametrize(("classes", "y"), [(2, BINARY), (3, THREE)])
def test_classes_are_its_probabilities_and_closer_than_predict_proba(classes: int, y: Any) -> None:
    model = ngboost.NGBClassifier(Dist=distns.k_categorical(classes), n_estimators=5, verbose=False)
    model.fit(X[FIT], y[FIT])
    dist = ADAPTER.predict(model, ROWS)
    assert isinstance(dist, Categorical)
    np.testing.assert_allclose(dist.probabilities, model.predict_proba(ROWS), rtol=1e-12)
    np.testing.assert_array_equal(ADAPTER.decide(model, ROWS), model.predict(ROWS))
    ours, general = ADAPTER.matches(model), ClassifierAdapter().matches(model)
    assert ours is not None
    assert general is not None
    assert ours.distance < general.distance


def test_survival_gives_the_time_itself_and_says_so() -> None:
    model = ngboost.NGBSurvival(n_estimators=5, verbose=False)
    model.fit(X[FIT], AMOUNTS[FIT], np.ones(300))
    dist = ADAPTER.predict(model, ROWS)
    own = model.pred_dist(ROWS).dist
    np.testing.assert_allclose(dist.log_prob(AMOUNTS[AUDIT]), own.logpdf(AMOUNTS[AUDIT]), rtol=1e-9)
    assert "none censored" in ADAPTER.remarks(model)[0]
    assert ADAPTER.remarks(regressor("Normal", AMOUNTS)) == ()


def test_several_outputs_are_refused_with_a_line_that_works() -> None:
    y = np.column_stack([AMOUNTS, 10 * X["age"]])
    model = ngboost.NGBRegressor(Dist=distns.MultivariateNormal(2), n_estimators=3, verbose=False)
    model.fit(X[FIT], y[FIT])
    with pytest.raises(InputError, match=r"ngboost\.Dist must have one output; got MVN") as error:
        ADAPTER.predict(model, ROWS)
    subject = typed(str(error.value), model=model, X=ROWS, y=y[AUDIT])
    own = model.pred_dist(ROWS)
    np.testing.assert_allclose(subject.adapter.predict(subject.model, ROWS).variance(), own.cov[:, 0, 0], rtol=1e-12)


def test_another_family_is_refused_by_name() -> None:
    model = ngboost.NGBRegressor(Dist=distns.LogitNormal, n_estimators=2, verbose=False)
    model.fit(X[FIT], AMOUNTS[FIT] / 5)  # the one family without a scipy object
    with pytest.raises(InputError, match=r"ngboost\.Dist must be one of Beta, .*; got LogitNormal") as error:
        ADAPTER.predict(model, ROWS)
    rows = {"X": ROWS, "y": AMOUNTS[AUDIT] / 5, "X_train": X[FIT], "y_train": AMOUNTS[FIT] / 5}
    subject = typed(str(error.value), model=model, **rows)
    assert isinstance(ADAPTER.predict(subject.model, ROWS), Beta)


def test_a_family_of_the_users_is_read_by_its_scipy_object() -> None:
    class Gumbel(distns.RegressionDistn):  # type: ignore[misc] # NGBoost is untyped
        n_params = 2
        scores = distns.Normal.scores

        def __init__(self, params: Any) -> None:
            super().__init__(params)
            self.loc, self.scale = params[0], np.exp(params[1])
            self.var, self.dist = self.scale**2, gumbel_r(self.loc, self.scale)

        fit = staticmethod(distns.Normal.fit)

    model = ngboost.NGBRegressor(Dist=Gumbel, n_estimators=3, verbose=False).fit(X[FIT], AMOUNTS[FIT])
    dist, own = ADAPTER.predict(model, ROWS), model.pred_dist(ROWS).dist
    np.testing.assert_allclose(dist.log_prob(AMOUNTS[AUDIT]), own.logpdf(AMOUNTS[AUDIT]), rtol=1e-9)
    np.testing.assert_allclose(dist.entropy(), own.entropy(), atol=1e-6)


def test_a_family_of_the_users_without_a_scipy_object_is_refused_with_a_line_that_works() -> None:
    class Bare(distns.RegressionDistn):  # type: ignore[misc] # NGBoost is untyped
        n_params = 2
        scores = distns.Normal.scores

        def __init__(self, params: Any) -> None:
            super().__init__(params)
            self.loc, self.scale = params[0], np.exp(params[1])
            self.var, self.dist = self.scale**2, SimpleNamespace(logpdf=norm(self.loc, self.scale).logpdf)

        fit = staticmethod(distns.Normal.fit)

        def mean(self) -> Any:
            return self.loc

    natural = {"natural_gradient": False}
    model = ngboost.NGBRegressor(Dist=Bare, n_estimators=3, verbose=False, **natural).fit(X[FIT], NUMBERS[FIT])
    with pytest.raises(InputError, match="got Bare") as error:
        ADAPTER.predict(model, ROWS)
    held = {"X_calibration": X[380:], "y_calibration": NUMBERS[380:]}
    subject = typed(str(error.value), model=model, X=ROWS, y=NUMBERS[AUDIT], **held)
    assert subject.assumption.form == "normal"


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(InputError, match=r"model must be fitted; got a NGBRegressor without trees"):
        ADAPTER.predict(ngboost.NGBRegressor(), ROWS)


def test_classes_and_other_models_do_not_match() -> None:
    assert ADAPTER.matches(ngboost.NGBRegressor) is None
    assert ADAPTER.matches(Ridge()) is None


@pytest.mark.parametrize("family", ["Normal", "Gamma", "T"])
def test_trees_give_the_same_bits_in_any_batch(family: str) -> None:
    model = ngboost.NGBRegressor(
        Dist=getattr(distns, family), n_estimators=5, verbose=False, natural_gradient=family != "T"
    ).fit(RANDOM, np.exp(SCORE / 4))
    assert ADAPTER.batch_rows(model) == 25_000
    assert_same_bits(ADAPTER, model, lambda dist: np.column_stack([dist.mean(), dist.variance(), dist.entropy()]))


def test_eleven_classes_give_the_same_bits_in_any_batch() -> None:
    model = ngboost.NGBClassifier(Dist=distns.k_categorical(11), n_estimators=3, verbose=False).fit(RANDOM, MANY)
    assert_same_bits(ADAPTER, model, of_classes)


def test_other_base_learners_and_steps_keep_the_subjects_rows() -> None:
    linear = ngboost.NGBRegressor(Base=Ridge(), n_estimators=2, verbose=False).fit(RANDOM, SCORE)
    mixed = ngboost.NGBRegressor(Base=[DecisionTreeRegressor(), Ridge()], n_estimators=2, verbose=False)
    trees = ngboost.NGBRegressor(n_estimators=2, verbose=False)
    assert ADAPTER.batch_rows(linear) is None
    assert ADAPTER.batch_rows(mixed.fit(RANDOM, SCORE)) is None
    assert ADAPTER.batch_rows(make_pipeline(StandardScaler(), trees).fit(RANDOM, SCORE)) == 25_000
    assert ADAPTER.batch_rows(make_pipeline(PolynomialFeatures(), trees).fit(RANDOM, SCORE)) is None


def test_its_models_are_explained_by_it() -> None:
    assert uq.explain(regressor("Gamma", AMOUNTS), ROWS, AMOUNTS[AUDIT]).adapter.name == "ngboost"
