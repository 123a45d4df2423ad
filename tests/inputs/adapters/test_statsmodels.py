"""Fitted models of statsmodels: its own likelihoods, its intervals for new outcomes, whole audits, refusals."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from packaging.version import Version
from sklearn.datasets import load_diabetes

import uq_report as uq
from tests.inputs.adapters.typed_lines import typed
from tests.inputs.adapters.whole_audit import whole_audit
from uq_report.core.support.errors import InputError, ModelError
from uq_report.distributions import Categorical, Normal, Ordinal, StudentT
from uq_report.inputs.adapters.statsmodels_ import StatsmodelsAdapter

pytest.importorskip("statsmodels", reason="these tests use statsmodels")
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.miscmodels.ordinal_model import OrderedModel

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X = X[["age", "bmi", "bp"]]
C = sm.add_constant(X)
COUNTS = pd.Series(np.random.default_rng(0).negative_binomial(2, 2 / (2 + Y / 50)), name="visits")
HIGH = (Y > 140).astype(int)
THREE = pd.qcut(Y, 3, labels=["low", "mid", "high"])
DATA = X.assign(y=Y, visits=COUNTS, high=HIGH, grade=THREE.cat.codes + 1)
ADAPTER = StatsmodelsAdapter()

Fit = Callable[[], Any]
GLMS: dict[str, tuple[Any, pd.Series]] = {
    "gaussian": (sm.families.Gaussian(), Y),
    "gamma": (sm.families.Gamma(sm.families.links.Log()), Y),
    "inverse gaussian": (sm.families.InverseGaussian(sm.families.links.Log()), Y),
    "poisson": (sm.families.Poisson(), COUNTS),
    "tweedie": (sm.families.Tweedie(sm.families.links.Log(), var_power=1.5), COUNTS),
    "negative binomial": (sm.families.NegativeBinomial(alpha=0.7), COUNTS),
    "binomial": (sm.families.Binomial(), HIGH),
}
DISCRETE: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "logit": (sm.Logit, HIGH, {}),
    "probit": (sm.Probit, HIGH, {}),
    "mnlogit": (sm.MNLogit, THREE, {}),
    "poisson": (sm.Poisson, COUNTS, {}),
    "nb1": (sm.NegativeBinomial, COUNTS, {"loglike_method": "nb1"}),
    "nb2": (sm.NegativeBinomial, COUNTS, {}),
    "geometric": (sm.NegativeBinomial, COUNTS, {"loglike_method": "geometric"}),
    "nbp": (sm.NegativeBinomialP, COUNTS, {"p": 1.5}),
    "zip": (sm.ZeroInflatedPoisson, COUNTS, {}),
    "zinb": (sm.ZeroInflatedNegativeBinomialP, COUNTS, {}),
}


def fitted(model: Any) -> Any:
    """Return the fit; what statsmodels' optimisers say of their steps does not matter here."""
    with warnings.catch_warnings(action="ignore"):
        return model.fit(disp=0, maxiter=300)


class TestLinear:
    """A new outcome of OLS is Student-t: noise and parameters, as ``obs_ci`` of statsmodels."""

    def test_quantiles_are_the_bounds_for_new_outcomes(self) -> None:
        fit = sm.OLS(Y[:200], C[:200]).fit()
        q = ADAPTER.predict(fit, C[200:260])
        bounds = fit.get_prediction(C[200:260]).summary_frame(alpha=0.1)[["obs_ci_lower", "obs_ci_upper"]]
        assert isinstance(q, StudentT)
        np.testing.assert_allclose(q.quantile(np.array([0.05, 0.95])), bounds, rtol=1e-9)
        np.testing.assert_allclose(q.mean(), fit.predict(C[200:260]), rtol=1e-9)

    def test_the_constant_is_added_to_rows_that_lack_it_alone(self) -> None:
        fit = sm.OLS(Y, C).fit()
        whole = ADAPTER.predict(fit, C[:9])
        for rows in (X[:9], X[:9].to_numpy(), C[:9].to_numpy()):
            np.testing.assert_allclose(ADAPTER.predict(fit, rows).mean(), whole.mean(), rtol=1e-12)
        assert any("column const is added" in note for note in uq.explain(fit, X[:50], Y[:50]).notes)

    def test_a_formula_takes_the_raw_columns(self) -> None:
        fit = smf.ols("y ~ np.exp(age) + bmi * bp", DATA).fit()
        q = ADAPTER.predict(fit, X[:9])
        np.testing.assert_allclose(q.mean(), fit.fittedvalues[:9], rtol=1e-9)

    def test_weighted_rows_are_predicted_at_weight_1(self) -> None:
        fit = sm.WLS(Y, C, weights=np.linspace(0.5, 2, len(Y))).fit()
        std = fit.get_prediction(C[:9], weights=1).se_obs
        q = ADAPTER.predict(fit, X[:9])
        assert isinstance(q, StudentT)
        np.testing.assert_allclose(q.scale, std, rtol=1e-12)

    def test_a_robust_covariance_gives_a_normal(self) -> None:
        fit = sm.OLS(Y, C).fit(cov_type="HC3")
        q = ADAPTER.predict(fit, X[:9])
        assert isinstance(q, Normal)
        np.testing.assert_allclose(q.scale, fit.get_prediction(C[:9]).se_obs, rtol=1e-12)


@pytest.mark.parametrize("name", GLMS)
def test_log_likelihood_of_a_glm_is_the_library_s(name: str) -> None:
    if name == "tweedie" and Version(scipy.__version__) < Version("1.15"):
        pytest.skip("statsmodels takes log_wright_bessel of scipy, which is wrong before 1.15")
    family, y = GLMS[name]
    fit = sm.GLM(y, C, family=family).fit()
    q = ADAPTER.predict(fit, X)
    own = fit.family.loglike_obs(y.to_numpy(dtype=float), np.asarray(fit.mu), scale=fit.scale)
    np.testing.assert_allclose(q.log_prob(q.encode(y)), own, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", DISCRETE)
def test_log_likelihood_of_a_discrete_model_is_the_library_s(name: str) -> None:
    make, y, options = DISCRETE[name]
    fit = fitted(make(y, C, **options))
    q = ADAPTER.predict(fit, X)
    ours = q.log_prob(q.encode(y))
    assert ours.sum() == pytest.approx(float(fit.llf), abs=1e-6)
    if name not in ("geometric", "mnlogit"):  # which give no row alone
        np.testing.assert_allclose(ours, fit.model.loglikeobs(np.asarray(fit.params)), rtol=1e-6, atol=1e-6)


def test_classes_have_their_labels() -> None:
    q = ADAPTER.predict(fitted(sm.MNLogit(THREE, C)), X[:5])
    assert isinstance(q, Categorical)
    assert q.classes.tolist() == ["low", "mid", "high"]


def test_ordered_classes_that_are_numbers_are_ordinal() -> None:
    fit = fitted(OrderedModel(DATA["grade"], X, distr="logit"))
    q = ADAPTER.predict(fit, X)
    assert isinstance(q, Ordinal)
    assert q.log_prob(q.encode(DATA["grade"])).sum() == pytest.approx(fit.llf, abs=1e-6)
    assert not isinstance(ADAPTER.predict(fitted(OrderedModel(THREE, X)), X[:5]), Ordinal)


@pytest.mark.parametrize("keyword", ["exposure", "offset"])
@pytest.mark.parametrize("glm", [True, False])
def test_exposure_and_offset_come_from_a_column(keyword: str, glm: bool) -> None:
    given = pd.Series(np.linspace(1, 3, len(Y)), name=keyword)
    make = sm.GLM(COUNTS, C, family=sm.families.Poisson(), **{keyword: given}) if glm else None
    fit = fitted(sm.Poisson(COUNTS, C, **{keyword: given})) if make is None else make.fit()
    rows = X.assign(**{keyword: given})
    q = StatsmodelsAdapter(**{keyword: keyword}).predict(fit, rows)
    np.testing.assert_allclose(q.mean(), fit.predict(), rtol=1e-9)
    with pytest.raises(InputError, match=rf"{keyword} must be known of new rows") as error:
        uq.explain(fit, rows, COUNTS)
    subject = typed(str(error.value), model=fit, X=rows, y=COUNTS)
    assert subject.adapter == StatsmodelsAdapter(**{keyword: keyword})


TWEEDIE = sm.families.Tweedie(sm.families.links.Log(), var_power=2.0)
FAR = sm.families.Tweedie(sm.families.links.Log(), var_power=2.5)
POISSON = sm.families.Poisson()
REFUSED: dict[str, tuple[Fit, str, str]] = {
    "quantiles": (lambda: sm.QuantReg(Y, C).fit(), "got QuantReg of", "quantiles"),
    "robust": (lambda: sm.RLM(Y, C).fit(), "got RLM of", "residuals"),
    "generalised": (lambda: sm.GLS(Y, C).fit(), "got GLS of", "residuals"),
    "formula": (lambda: smf.gls("y ~ bmi", DATA).fit(), "got GLS of", "residuals"),
    "regularised": (lambda: sm.OLS(Y, C).fit_regularized(alpha=0.1), "got a regularised OLS", "residuals"),
    "counts": (lambda: fitted(sm.GeneralizedPoisson(COUNTS, C)), "got GeneralizedPoisson of", "statsmodels"),
    "quasi": (lambda: sm.GLM(COUNTS, C, family=POISSON).fit(scale="X2"), "scale must be 1.*quasi", "statsmodels"),
    "gamma": (lambda: sm.GLM(Y, C, family=TWEEDIE).fit(), "between 1 and 2; got 2", "statsmodels"),
    "power": (lambda: sm.GLM(Y, C, family=FAR).fit(), r"between 1 and 2; got 2\.5", "residuals"),
    "inflation": (lambda: fitted(sm.ZeroInflatedPoisson(COUNTS, C, exog_infl=C)), "constant alone", "statsmodels"),
}


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")  # short fits are enough
@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")  # as above
@pytest.mark.parametrize("rows", [X, C], ids=["without the constant", "with it"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_states_no_distribution_is_refused_with_lines_that_work(name: str, rows: pd.DataFrame) -> None:
    fit, words, adapter = REFUSED[name]
    model, y = fit(), COUNTS if name in ("counts", "quasi", "inflation") else Y
    with pytest.raises(InputError, match=words) as error:
        uq.explain(model, rows[:30], y[:30])
    held = {"X_calibration": rows[300:], "y_calibration": y[300:]}
    assert typed(str(error.value), model=model, X=rows[:30], y=y[:30], **held).adapter.name == adapter


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda: sm.OLS(Y, C), "must be fitted; got a OLS of statsmodels. Pass what its fit"),
        (lambda: sm.GLM(np.c_[COUNTS, 99 + 0 * COUNTS], C, family=sm.families.Binomial()).fit(), "one trial per row"),
        (lambda: sm.tsa.AutoReg(Y, 1).fit(), "got AutoReg of .* Pass a function of the rows"),
    ],
)
def test_where_there_is_nothing_to_type_a_sentence_says_what_to_do(fit: Fit, words: str) -> None:
    with pytest.raises(InputError, match=words):
        uq.explain(fit(), X[:30], Y[:30])


def test_other_columns_are_refused_which_statsmodels_would_take() -> None:
    fit = sm.OLS(Y, C).fit()
    with pytest.raises(InputError, match=r"\['const', 'age', 'bmi', 'bp'\]; got \['bmi', 'age', 'bp'\]"):
        ADAPTER.predict(fit, X[["bmi", "age", "bp"]])
    with pytest.raises(InputError, match="got 2 columns"):
        ADAPTER.predict(fit, X.to_numpy()[:, :2])


def test_missing_values_that_a_formula_would_drop_are_refused_by_row() -> None:
    rows = X[:9].copy()
    rows.loc[4, "bmi"] = np.nan
    with pytest.raises(ModelError, match=r"no missing values in every row; .*rows 4\. statsmodels would drop"):
        ADAPTER.predict(smf.ols("y ~ bmi", DATA).fit(), rows)


LAST, SHORT = slice(340, 410), ["pfi", "pdp", "calibration"]


def test_audit_of_a_formula_of_classes() -> None:
    fit = smf.logit("high ~ bmi + bp", DATA[:300]).fit(disp=0)
    whole_audit(uq.explain(fit, X[["bmi", "bp"]][LAST], HIGH[LAST]), explainers=SHORT)
