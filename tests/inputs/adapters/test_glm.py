"""Gamma and Tweedie regressions: a density only with a dispersion, which is given or asked for."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, poisson
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report.core.support.errors import InputError, ModelError
from uq_report.distributions import Gamma, Poisson, Tweedie
from uq_report.inputs.adapters.glm import GlmAdapter

from .small_data import AMOUNTS, AMOUNTS_OR_0, AUDIT, COUNTS, FIT, X
from .test_rowwise import SCORE, X as RANDOM, assert_same_bits
from .typed_lines import typed

ROWS = X[AUDIT]
BOOSTED = HistGradientBoostingRegressor(loss="gamma", max_iter=5)


def fitted(model: Any, y: Any = AMOUNTS) -> Any:
    return model.fit(X[FIT], y[FIT])


@pytest.mark.parametrize("model", [GammaRegressor(), BOOSTED, TweedieRegressor(power=2), make_pipeline(BOOSTED)])
def test_gamma_has_the_models_mean_and_the_given_dispersion(model: Any) -> None:
    dist = GlmAdapter(dispersion=0.4).predict(fitted(model), ROWS)
    mean, y = model.predict(ROWS), AMOUNTS[AUDIT]
    assert isinstance(dist, Gamma)
    np.testing.assert_allclose(dist.mean(), mean, rtol=1e-12)
    np.testing.assert_allclose(dist.variance(), 0.4 * mean**2, rtol=1e-12)
    np.testing.assert_allclose(dist.log_prob(y), gamma(2.5, scale=mean * 0.4).logpdf(y), rtol=1e-9)
    np.testing.assert_allclose(dist.entropy(), gamma(2.5, scale=mean * 0.4).entropy(), rtol=1e-9)


def test_tweedie_has_the_models_power() -> None:
    model = fitted(TweedieRegressor(power=1.3), AMOUNTS_OR_0)
    dist = GlmAdapter(dispersion=0.8).predict(model, ROWS)
    assert isinstance(dist, Tweedie)
    assert dist.power == 1.3
    np.testing.assert_allclose(dist.variance(), 0.8 * model.predict(ROWS) ** 1.3, rtol=1e-12)


def test_power_1_is_poisson_without_a_dispersion() -> None:
    model = fitted(TweedieRegressor(power=1), COUNTS)
    dist = GlmAdapter().predict(model, ROWS)
    assert isinstance(dist, Poisson)
    expected = poisson(model.predict(ROWS)).logpmf(COUNTS[AUDIT])
    np.testing.assert_allclose(dist.log_prob(COUNTS[AUDIT]), expected, rtol=1e-10)
    with pytest.raises(InputError, match=r"glm\.dispersion must be None or 1 for the Poisson likelihood; got 0\.4"):
        GlmAdapter(dispersion=0.4).predict(model, ROWS)


@pytest.mark.parametrize(
    ("model", "y", "family"),
    [
        (GammaRegressor(), AMOUNTS, Gamma),
        (make_pipeline(StandardScaler(), TweedieRegressor(power=1.5)), AMOUNTS_OR_0, Tweedie),
        (BOOSTED, AMOUNTS, Gamma),
    ],
)
def test_the_line_of_the_refusal_works_when_typed(model: Any, y: Any, family: type) -> None:
    model = fitted(model, y)
    with pytest.raises(InputError, match=r"glm\.dispersion must be a number > 0 .* got None") as error:
        uq.explain(model, ROWS, y[AUDIT])
    rows = {"X_train": X[FIT], "y_train": y[FIT], "X_calibration": X[380:], "y_calibration": y[380:]}
    subject = typed(str(error.value), model=model, X=ROWS, y=y[AUDIT], **rows)
    assert isinstance(subject.adapter.predict(model, ROWS), family)
    assert 0.05 < subject.adapter.dispersion < 2


def test_power_3_is_the_inverse_gaussian() -> None:
    model = fitted(TweedieRegressor(power=3))
    dist = GlmAdapter(dispersion=0.2).predict(model, ROWS)
    mean, y = model.predict(ROWS), AMOUNTS[AUDIT]
    np.testing.assert_allclose(dist.mean(), mean, rtol=1e-9)
    np.testing.assert_allclose(dist.variance(), 0.2 * mean**3, rtol=1e-9)
    expected = -0.5 * np.log(2 * np.pi * 0.2 * y**3) - (y - mean) ** 2 / (2 * 0.2 * mean**2 * y)
    np.testing.assert_allclose(dist.log_prob(y), expected, rtol=1e-9)


@pytest.mark.parametrize("power", [2.5, 3.5])
def test_other_powers_are_refused(power: float) -> None:
    model = fitted(TweedieRegressor(power=power))
    with pytest.raises(InputError, match=rf"glm\.power must be from 1 to 2 or 3, .* got {power:g}\. Fit another"):
        GlmAdapter(dispersion=1.0).predict(model, ROWS)


def test_power_0_and_other_losses_match_nothing() -> None:
    others = [TweedieRegressor(power=0), HistGradientBoostingRegressor(), GammaRegressor]
    assert [GlmAdapter().matches(model) for model in others] == [None, None, None]


def test_a_mean_below_0_is_refused_by_row() -> None:
    model = fitted(TweedieRegressor(power=1.5, link="identity", alpha=0))
    far = ROWS.copy()
    far.iloc[3] = -9.0
    with pytest.raises(ModelError, match=r"mean > 0 in every row; got something else in 1 of 80: rows 3\. .*log link"):
        GlmAdapter(dispersion=1.0).predict(model, far)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, "auto", True])
def test_a_dispersion_is_a_number_above_0(value: Any) -> None:
    with pytest.raises(InputError, match=r"glm\.dispersion must be None or a finite number > 0; got"):
        GlmAdapter(dispersion=value)


def test_a_given_dispersion_is_a_remark_on_the_subject() -> None:
    subject = uq.explain(fitted(GammaRegressor()), ROWS, AMOUNTS[AUDIT], adapter=GlmAdapter(dispersion=0.25))
    assert "The dispersion 0.25 was given, not fitted by the model" in subject.notes[0]
    assert GlmAdapter().remarks(GammaRegressor()) == ()


def test_boosted_amounts_have_the_same_bits_in_any_batch() -> None:
    model = HistGradientBoostingRegressor(loss="gamma", max_iter=50).fit(RANDOM, np.exp(SCORE))
    adapter = GlmAdapter(dispersion=0.3)
    assert_same_bits(adapter, model, lambda dist: np.column_stack([dist.mean(), dist.variance(), dist.entropy()]))


def test_only_trees_take_large_calls() -> None:
    assert GlmAdapter().batch_rows(GammaRegressor()) is None
    assert GlmAdapter().batch_rows(BOOSTED) == 80_000
