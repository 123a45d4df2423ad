"""skpro: each of its distributions against its own density, three regressors audited, refusals."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from tests.inputs.adapters.typed_lines import typed
from tests.inputs.adapters.whole_audit import whole_audit
from uq_report.core.support.errors import InputError
from uq_report.distributions import Draws, Mixture, Normal, NormalMixture, Quantiles
from uq_report.inputs.adapters.skpro_ import FAMILIES, SkproAdapter, from_skpro

pytest.importorskip("skpro", reason="these tests use skpro")
from skpro import distributions
from skpro.regression.bootstrap import BootstrapRegressor
from skpro.regression.compose import TransformedTargetRegressor
from skpro.regression.ensemble import BaggingRegressor
from skpro.regression.linear import GLMRegressor
from skpro.regression.multiquantile import MultipleQuantileRegressor
from skpro.regression.residual import ResidualDouble

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, TABLE = X.iloc[:, :3], Y.to_frame()
A, B = np.array([[0.7], [1.9], [4.0]]), np.array([[1.3], [0.4], [2.5]])
BOTH: dict[str, tuple[str, str]] = {
    "Normal": ("mu", "sigma"),
    "Laplace": ("mu", "scale"),
    "Cauchy": ("mu", "scale"),
    "LogNormal": ("mu", "sigma"),
    "Gamma": ("alpha", "beta"),
    "Weibull": ("scale", "k"),
    "Logistic": ("mu", "scale"),
    "Beta": ("alpha", "beta"),
    "NegativeBinomial": ("mu", "alpha"),
    "Pareto": ("scale", "alpha"),
    "InverseGamma": ("alpha", "beta"),
    "Fisk": ("alpha", "beta"),
    "GumbelR": ("mu", "sigma"),
}
ONE = {"Exponential": "rate", "HalfNormal": "sigma", "Poisson": "mu", "Rayleigh": "scale", "ChiSquared": "dof"}
MAKE: dict[str, Callable[[], Any]] = {
    **{name: partial(getattr(distributions, name), **{a: A, b: B}) for name, (a, b) in BOTH.items()},
    **{name: partial(getattr(distributions, name), **{a: A}) for name, a in ONE.items()},
    "TDistribution": lambda: distributions.TDistribution(mu=A, sigma=B, df=3 + A),
    "Erlang": lambda: distributions.Erlang(rate=B, k=np.array([[1], [2], [4]])),
    "Uniform": lambda: distributions.Uniform(lower=-A, upper=B),
    "Binomial": lambda: distributions.Binomial(n=np.array([[9], [4], [6]]), p=A / 5),
}


def own_log_prob(dist: Any, y: np.ndarray) -> np.ndarray:
    table = pd.DataFrame(y[:, None], dist.index, dist.columns)
    discrete = dist.get_tag("distr:measuretype") == "discrete"
    return np.asarray(dist.log_pmf(table) if discrete else dist.log_pdf(table), dtype=float)[:, 0]


@pytest.mark.parametrize("name", MAKE)
def test_log_prob_is_the_library_s_and_entropy_that_of_its_density(name: str) -> None:
    dist = MAKE[name]()
    q = from_skpro(dist)
    whole = q.quantile(np.array([0.2, 0.5, 0.9]))
    for y in whole.T:
        np.testing.assert_allclose(q.log_prob(y), own_log_prob(dist, y), atol=1e-6, rtol=1e-6)
    if q.discrete:
        values = np.arange(400.0)
        log_p = np.stack([own_log_prob(dist, np.full(3, v)) for v in values])
        entropy = -np.where(np.isfinite(log_p), np.exp(log_p) * np.where(np.isfinite(log_p), log_p, 0), 0).sum(axis=0)
        np.testing.assert_allclose(q.entropy(), entropy, atol=1e-6)


@pytest.mark.parametrize("name", ["Laplace", "LogNormal", "TDistribution", "Weibull", "GumbelR"])
def test_entropy_against_quadrature_of_the_library_s_density(name: str) -> None:
    dist = MAKE[name]()
    q = from_skpro(dist)
    ends = q.quantile(np.array([1e-12, 0.01, 0.5, 0.99, 1 - 1e-12]))
    for row in range(2):
        one = MAKE[name]().iloc[[row]]

        def surprise(y: float, one: Any = one) -> float:
            log_p = own_log_prob(one, np.array([y]))[0]
            return float(-np.exp(log_p) * log_p)

        parts = [quad(surprise, a, b, limit=60)[0] for a, b in zip(ends[row], ends[row, 1:], strict=False)]
        assert q.entropy()[row] == pytest.approx(sum(parts), abs=1e-6)


def test_every_family_is_tested() -> None:
    assert set(FAMILIES) <= set(MAKE)


class TestRegressors:
    def fit(self, model: Any) -> Any:
        return model.fit(X[:300], TABLE[:300])

    def test_normals_are_its_own(self) -> None:
        model = self.fit(ResidualDouble(LinearRegression()))
        own, q = model.predict_proba(X[300:340]), SkproAdapter().predict(model, X[300:340])
        assert isinstance(q, Normal)
        np.testing.assert_allclose(q.mean(), own.mean().iloc[:, 0], rtol=1e-12)
        np.testing.assert_allclose(q.variance(), own.var().iloc[:, 0], rtol=1e-12)
        np.testing.assert_allclose(q.log_prob(Y[300:340]), own.log_pdf(TABLE[300:340]).iloc[:, 0], rtol=1e-9)

    def test_a_bag_is_a_mixture_whose_density_is_its_own(self) -> None:
        model = self.fit(BaggingRegressor(ResidualDouble(LinearRegression()), n_estimators=4, random_state=0))
        own, q = model.predict_proba(X[300:340]), SkproAdapter().predict(model, X[300:340])
        assert isinstance(q, Mixture | NormalMixture)
        np.testing.assert_allclose(
            q.log_prob(Y[300:340].to_numpy()), np.log(own.pdf(TABLE[300:340])).iloc[:, 0], rtol=1e-9
        )
        assert {"epistemic", "aleatoric"} <= q.supports

    def test_draws_keep_their_rows(self) -> None:
        model = self.fit(BootstrapRegressor(LinearRegression(), n_bootstrap_samples=25, random_state=0))
        q = SkproAdapter().predict(model, X[300:340])
        assert isinstance(q, Draws)
        np.testing.assert_allclose(q.mean(), model.predict_proba(X[300:340]).mean().iloc[:, 0], rtol=1e-12)
        assert any("noise of the outcome is not in them" in note for note in SkproAdapter().remarks(model))

    def test_quantiles_are_its_own(self) -> None:
        levels = [0.1, 0.3, 0.5, 0.7, 0.9]
        model = self.fit(MultipleQuantileRegressor(QuantileRegressor(alpha=0, solver="highs"), "quantile", levels))
        q = SkproAdapter().predict(model, X[300:340])
        assert isinstance(q, Quantiles)
        np.testing.assert_allclose(q.quantile(np.array([0.3])), model.predict_quantiles(X[300:340], alpha=[0.3]))

    def test_a_transformed_target_is_read_at_quantiles(self) -> None:
        inner = self.fit(ResidualDouble(LinearRegression()))
        model = self.fit(TransformedTargetRegressor(ResidualDouble(LinearRegression()), StandardScaler()))
        q, plain = (SkproAdapter().predict(m, X[300:340]) for m in (model, inner))
        assert isinstance(q, Quantiles)
        np.testing.assert_allclose(q.quantile(np.array([0.25, 0.9])), plain.quantile(np.array([0.25, 0.9])), rtol=1e-6)

    def test_residuals_are_laid_over_its_points(self) -> None:
        model, train = self.fit(GLMRegressor()), (X[:300], Y[:300])
        subject = uq.explain(model, X[340:400], Y[340:400], train=train, residuals="normal")
        assert subject.assumption is not None
        assert subject.assumption.replaces == "skpro"

    @pytest.mark.parametrize(
        "model",
        [
            BaggingRegressor(ResidualDouble(LinearRegression()), n_estimators=3, random_state=0),
            BootstrapRegressor(LinearRegression(), n_bootstrap_samples=25, random_state=0),
        ],
        ids=["bagging", "bootstrap"],
    )
    def test_shorter_audits(self, model: Any) -> None:
        subject = uq.explain(self.fit(model), X[340:400], Y[340:400])
        whole_audit(subject, explainers=["pfi", "pdp", "calibration"])


def test_what_is_not_fitted_or_has_two_outcomes_is_refused() -> None:
    with pytest.raises(InputError, match="must be fitted; got a ResidualDouble of skpro"):
        uq.explain(ResidualDouble(LinearRegression()), X[:9], Y[:9])
    with pytest.raises(InputError, match=r"one outcome per row; got shape \(2, 2\)") as error:
        from_skpro(distributions.Normal(mu=np.zeros((2, 2)), sigma=1.0))
    both, rows = np.column_stack([Y, Y]), {"X": X[300:340], "X_train": X[:200]}
    model = ResidualDouble(LinearRegression())
    subject = typed(str(error.value), model=model, y=both[300:340], y_train=both[:200], **rows)
    assert subject.model.is_fitted


def test_draws_of_unequal_number_are_refused() -> None:
    index = pd.MultiIndex.from_tuples([(0, "a"), (1, "a"), (0, "b")])
    with pytest.raises(InputError, match="equally many draws of equal weight in every row; got 1 to 2 draws") as error:
        from_skpro(distributions.Empirical(pd.DataFrame({"y": [1.0, 2.0, 3.0]}, index)))
    model = BootstrapRegressor(LinearRegression(), n_bootstrap_samples=9, random_state=0).fit(X[:200], TABLE[:200])
    subject = typed(str(error.value), model=model, X=X[300:340], y=Y[300:340])
    expected = model.predict_quantiles(X[300:340], alpha=[0.5]).to_numpy()
    np.testing.assert_allclose(subject.model(X[300:340]).quantile(np.array([0.5])), expected)


def test_a_point_is_refused_with_the_line_to_type() -> None:
    with pytest.raises(InputError, match=r"got Delta\.") as error:
        from_skpro(distributions.Delta(c=A))
    model, rows = ResidualDouble(LinearRegression()).fit(X[:200], TABLE[:200]), {"X": X[300:340], "y": Y[300:340]}
    subject = typed(str(error.value), model=model, X_calibration=X[200:300], y_calibration=Y[200:300], **rows)
    assert subject.assumption.form == "normal"
