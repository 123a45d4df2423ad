"""Fitted models of statsmodels: linear regression, generalised linear, discrete-choice and count models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ... import distributions as families
from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, Table
from ...core.support.errors import InputError, to_type
from .outputs import POINTS, refuse_rows


@dataclass(frozen=True)
class StatsmodelsAdapter(Adapter):
    """Results that ``fit`` of statsmodels returned, also of formulas, whose X holds the raw columns.

    OLS and WLS give a Student-t with the residual degrees of freedom and the standard error of a new outcome (noise
    and parameters; a normal where the covariance was asked for robustly), WLS at weight 1. GLM gives
    its family at the estimated dispersion; Logit, Probit, MNLogit, OrderedModel and the count models give their
    likelihood's distribution at the estimated parameters, without those parameters' uncertainty.

    A constant that ``add_constant`` put in front is added to rows that lack it alone. Columns must have the names
    and order of the fit, which statsmodels itself does not check.

    Parameters
    ----------
    exposure, offset : str, optional
        Column of X that holds it, for models fitted with one.

    Examples
    --------
    >>> RegressionResultsWrapper = type("RegressionResultsWrapper", (), {"__module__": "statsmodels.regression"})
    >>> StatsmodelsAdapter().matches(RegressionResultsWrapper()).distance
    1
    """

    exposure: str | None = None
    offset: str | None = None

    name: ClassVar[str] = "statsmodels"
    libraries: ClassVar[tuple[str, ...]] = ("statsmodels",)

    def matches(self, model: Any) -> Match | None:
        """Match results by name; a model that was not fitted too, to be refused with the line to type."""
        if not class_names(model)[0].startswith("statsmodels."):
            return None
        return Match(1, f"{_kind(model)} of statsmodels: the distribution of its likelihood")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the distribution of new outcomes; refuse models that state none."""
        kind = _kind(model)
        if getattr(model, "params", None) is None or not hasattr(model, "model"):
            raise InputError(f"model must be fitted; got a {kind} of statsmodels. Pass what its fit() returns.")
        if kind in ("OLS", "WLS") and not hasattr(model, "get_prediction"):
            raise InputError(
                f"model must know the error of its prediction; got a regularised {kind}. {of_residuals(model, X)}"
            )
        if kind not in _FAMILIES:
            raise InputError(
                f"model must state a distribution of new outcomes that does not depend on other rows; got {kind} of "
                f"statsmodels. {instead(model, X)}"
            )
        return _FAMILIES[kind](model, rows_of(model, X, self.exposure, self.offset))

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say which uncertainty is in the distribution, and what is added to the rows."""
        kind = _kind(model)
        spread = (
            "Its distribution holds the noise and the uncertainty of the parameters."
            if kind in ("OLS", "WLS")
            else "Its distribution is at the estimated parameters, whose own uncertainty is not in it."
        )
        weight = " New observations have weight 1." if kind == "WLS" else ""
        constant = added_constant(model)
        filled = f" The column {constant} is added where it is missing." if constant else ""
        return (f"{kind} of statsmodels. {spread}{weight}{filled}",)


def _kind(model: Any) -> str:
    """Return the name of the class that was fitted; a subclass may predict in another way."""
    return class_names(getattr(model, "model", model))[0].partition(".")[2]


def _linear(model: Any, rows: StatsmodelsRows) -> Distribution:
    prediction = model.get_prediction(rows.exog)
    mean, std = np.asarray(prediction.predicted_mean), np.asarray(prediction.se_obs)
    return families.StudentT(float(model.df_resid), mean, std) if model.use_t else families.Normal(mean, std)


def _generalised(model: Any, rows: StatsmodelsRows) -> Distribution:
    family, mean, scale = type(model.family).__name__, rows.predicted(model), float(model.scale)
    if family in ("Poisson", "Binomial", "NegativeBinomial") and scale != 1:
        raise InputError(
            f"GLM.scale must be 1 for the family {family}; got {scale:g}: a quasi-likelihood, which is no "
            f"distribution. Fit without scale=. {to_type('model = model.model.fit()' + EXPLAIN)}"
        )
    if family not in _GLM:
        raise InputError(
            f"GLM.family must be one of {', '.join(_GLM)}; got {family}. {of_residuals(model, rows.given)}"
        )
    if family == "Tweedie":
        _refuse_power(model, rows)
    if family == "Binomial" and np.any(np.asarray(model.model.n_trials) != 1):
        raise InputError(
            "GLM.endog must be one trial per row; got counts of successes out of several trials. "
            "Fit it on one row per trial."
        )
    return _GLM[family](model, mean, scale)


def _refuse_power(model: Any, rows: StatsmodelsRows) -> None:
    """Refuse the powers of Tweedie's variance outside of (1, 2), which have families of their own, or none."""
    power = float(model.family.var_power)
    if 1 < power < 2:
        return
    name = _POWERS.get(power)
    family = f", family=sm.families.{name}(model.family.link)"
    remedy = of_residuals(model, rows.given) if name is None else refitted(model, "GLM", family)
    raise InputError(f"GLM.family Tweedie must have a var_power between 1 and 2; got {power:g}. {remedy}")


def _two_classes(model: Any, p: Any) -> Distribution:
    return families.Categorical(np.column_stack([1 - p, p]), labels(model, 2))


def _negative_binomial(model: Any, rows: StatsmodelsRows) -> Distribution:
    """Return that of variance m (1 + alpha) for NB1, m (1 + alpha m) for NB2, where the geometric has alpha = 1."""
    mean, method = rows.predicted(model), model.model.loglike_method
    alpha = 1.0 if method == "geometric" else float(np.asarray(model.params)[-1])
    return families.NegativeBinomial(mean, mean / alpha if method == "nb1" else 1 / alpha)


def _negative_binomial_p(model: Any, rows: StatsmodelsRows) -> Distribution:
    """Return the negative binomial with the variance m + alpha m^p."""
    mean, p = rows.predicted(model), model.model.parameterization
    return families.NegativeBinomial(mean, mean ** (2 - p) / float(np.asarray(model.params)[-1]))


def _zero_inflated(model: Any, rows: StatsmodelsRows) -> Distribution:
    inner, params = model.model, np.asarray(model.params, dtype=float)
    if inner.k_inflate != 1 or np.ptp(inner.exog_infl) > 0:
        raise InputError(
            f"{type(inner).__name__}.exog_infl must be a constant alone; got {inner.k_inflate} columns, which new rows "
            f"do not hold. {refitted(model, type(inner).__name__)}"
        )
    p_zero = float(np.ravel(inner.model_infl.predict(params[:1], np.ones((1, 1))))[0])
    mean = np.asarray(inner.model_main.predict(params[1:], rows.exog, **rows.keywords), dtype=float)
    if type(inner).__name__ == "ZeroInflatedPoisson":
        return families.ZeroInflated(np.full(len(mean), p_zero), families.Poisson(mean))
    size = mean ** (2 - inner.model_main.parameterization) / params[-1]
    return families.ZeroInflated(np.full(len(mean), p_zero), families.NegativeBinomial(mean, size))


def _multinomial(model: Any, rows: StatsmodelsRows) -> Distribution:
    p = rows.predicted(model)
    return families.Categorical(p, labels(model, p.shape[1]))


def _ordered(model: Any, rows: StatsmodelsRows) -> Distribution:
    p, names = rows.predicted(model), np.asarray(model.model.labels)
    return families.Ordinal(p, classes=names) if names.dtype.kind in "iuf" else families.Categorical(p, classes=names)


_POWERS = MappingProxyType({0.0: "Gaussian", 1.0: "Poisson", 2.0: "Gamma", 3.0: "InverseGaussian"})
_GLM: Mapping[str, Callable[[Any, Any, float], Distribution]] = MappingProxyType(
    {
        "Gaussian": lambda _, mean, scale: families.Normal(mean, np.sqrt(scale)),
        "Gamma": lambda _, mean, scale: families.Gamma(1 / scale, mean * scale),
        "InverseGaussian": lambda _, mean, scale: families.Scipy.named("invgauss", mean * scale, scale=1 / scale),
        "Poisson": lambda _, mean, __: families.Poisson(mean),
        "Tweedie": lambda model, mean, scale: families.Tweedie(mean, scale, float(model.family.var_power)),
        "NegativeBinomial": lambda model, mean, _: families.NegativeBinomial(mean, 1 / float(model.family.alpha)),
        "Binomial": lambda model, mean, _: _two_classes(model, mean),
    }
)
_FAMILIES: Mapping[str, Callable[[Any, StatsmodelsRows], Distribution]] = MappingProxyType(
    {
        "OLS": _linear,
        "WLS": _linear,
        "GLM": _generalised,
        "Logit": lambda model, rows: _two_classes(model, rows.predicted(model)),
        "Probit": lambda model, rows: _two_classes(model, rows.predicted(model)),
        "MNLogit": _multinomial,
        "OrderedModel": _ordered,
        "Poisson": lambda model, rows: families.Poisson(rows.predicted(model)),
        "NegativeBinomial": _negative_binomial,
        "NegativeBinomialP": _negative_binomial_p,
        "ZeroInflatedPoisson": _zero_inflated,
        "ZeroInflatedNegativeBinomialP": _zero_inflated,
    }
)


_NAMED = """\
from uq_report.inputs.adapters.statsmodels_ import StatsmodelsAdapter

uq.explain(model, X, y, adapter=StatsmodelsAdapter({name}="{name}"))"""


@dataclass(frozen=True)
class StatsmodelsRows:
    """`exog` as the model's ``predict`` takes it, raw rows for a formula, and exposure and offset by keyword.

    `given` are the rows that may lack the constant.
    """

    exog: Any
    given: Table
    keywords: dict[str, FloatArray] = field(default_factory=dict)

    def predicted(self, model: Any) -> FloatArray:
        """Return the mean of each row, shape (n,), or the probabilities of the classes, shape (n, k)."""
        return np.asarray(model.predict(self.exog, **self.keywords), dtype=float)


def rows_of(results: Any, X: Table, exposure: str | None, offset: str | None) -> StatsmodelsRows:
    """Return the rows as the model of `results` takes them; refuse other columns, and an exposure left out."""
    own = results.model
    keywords: dict[str, FloatArray] = {}
    for name, column in (("exposure", exposure), ("offset", offset)):
        if _has(own, name) != (column is not None):
            raise InputError(_which(own, name, column))
        if column is not None:
            X, keywords[name] = _without(X, column, name)
    if getattr(own.data, "model_spec", None) is not None:
        if not isinstance(X, pd.DataFrame):
            raise InputError(f"X must be a DataFrame with the columns of the formula {own.formula!r}; got an array.")
        missing = X.isna().any(axis=1).to_numpy()
        refuse_rows("X of a formula must have no missing values", missing, "statsmodels would drop these rows.")
        return StatsmodelsRows(X, X, keywords)
    return StatsmodelsRows(_exog(own, X), X, keywords)


def added_constant(results: Any) -> str:
    """Return the name of the constant that new rows may lack; empty for a formula and for a model without one."""
    own = getattr(results, "model", None)
    formula = getattr(getattr(own, "data", None), "model_spec", None) is not None
    return "const" if "const" in getattr(own, "exog_names", ()) and not formula else ""


def labels(results: Any, k: int) -> AnyArray:
    """Return the k class labels in the order of the probabilities."""
    outcomes = results.model.data.orig_endog
    column = outcomes.iloc[:, 0] if isinstance(outcomes, pd.DataFrame) else pd.Series(outcomes)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.categories)
    found = np.unique(column.to_numpy())
    return found if len(found) == k else np.arange(k)


def _exog(own: Any, X: Table) -> FloatArray:
    """Return the numbers of the model's columns, with the constant where only that is lacking."""
    names = [str(name) for name in own.exog_names][getattr(own, "k_inflate", 0) :][: own.exog.shape[1]]
    place = names.index("const") if "const" in names else None
    rest = [name for position, name in enumerate(names) if position != place]
    given = [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else None
    trained = type(own.data).__name__ == "PandasData" and given is not None
    whole = given == names if trained else X.shape[1] == len(names)
    lacking = place is not None and (given == rest if trained else X.shape[1] == len(rest))
    if not (whole or lacking):
        raise InputError(
            f"X must have the columns the model was fitted on, in their order, {names}; got "
            f"{given if given is not None else f'{X.shape[1]} columns'}. statsmodels itself goes by position alone: "
            f"pass X[{rest}]."
        )
    values = np.asarray(X, dtype=float)
    return values if whole or place is None else np.insert(values, place, 1.0, axis=1)


def _has(own: Any, name: str) -> bool:
    """Say whether a model was fitted with an exposure or offset; a GLM keeps the attribute even without one."""
    given = getattr(own, f"_has_{name}", None)
    return bool(given) if given is not None else getattr(own, name, None) is not None


def _which(own: Any, name: str, column: str | None) -> str:
    if column is None:
        return (
            f"{type(own).__name__}.{name} must be known of new rows; the model was fitted with one. Keep it as a "
            f"column of X and name it. {to_type(_NAMED.format(name=name))}"
        )
    return f"statsmodels.{name} must be None for a model fitted without one; got {column!r}."


def _without(X: Table, column: str, name: str) -> tuple[Table, FloatArray]:
    """Return the table without a column, and that column."""
    if not isinstance(X, pd.DataFrame) or column not in X.columns:
        got = list(X.columns) if isinstance(X, pd.DataFrame) else "an array"
        raise InputError(f"statsmodels.{name} must be a column of X, a DataFrame; got {column!r}, not in {got}.")
    return X.drop(columns=column), X[column].to_numpy(dtype=float)


EXPLAIN = "\nuq.explain(model, X, y)"
_POINTS = ("GEE", "GLM", "GLS", "GLSAR", "MixedLM", "OLS", "RLM", "WLS")
_QUANTILES = """\
models = {level: model.model.fit(q=level) for level in (0.05, 0.25, 0.5, 0.75, 0.95)}
uq.explain(models, X, y)"""
_CONSTANT = """\
from statsmodels.tools import add_constant

X, X_calibration = (add_constant(rows, prepend={}, has_constant="add") for rows in (X, X_calibration))
"""


def instead(results: Any, X: Table) -> str:
    """Return the remedy for a model whose likelihood is not one of this package's."""
    kind = type(results.model).__name__
    if kind == "QuantReg":
        return f"Fit it at several levels. {to_type(_with_constant(results, X) + _QUANTILES)}"
    if kind == "GeneralizedPoisson":
        return f"Fit a negative binomial. {refitted(results, 'NegativeBinomialP')}"
    if kind in _POINTS:
        return of_residuals(results, X)
    return "Pass a function of the rows that returns a distribution."


def of_residuals(results: Any, X: Table) -> str:
    """Return how residuals are laid over the predictions, of rows that lack the constant after adding it."""
    return f"Lay residuals over its predictions. {to_type(_with_constant(results, X) + POINTS)}"


def refitted(results: Any, kind: str, options: str = "") -> str:
    """Return how another model is fitted to the same rows."""
    own = results.model
    formula = getattr(own.data, "model_spec", None) is not None
    data = (
        "model.model.formula, model.model.data.frame"
        if formula
        else "model.model.data.orig_endog, model.model.data.orig_exog"
    )
    make = f"{kind}.from_formula" if formula else kind
    return to_type(f"import statsmodels.api as sm\n\nmodel = sm.{make}({data}{options}).fit(){EXPLAIN}")


def _with_constant(results: Any, X: Table) -> str:
    """Return the line that adds the constant to rows that lack it alone; empty for others."""
    names = list(getattr(results.model, "exog_names", ()))
    formula = getattr(results.model.data, "model_spec", None) is not None
    lacking = "const" in names and not formula and X.shape[1] == results.model.exog.shape[1] - 1
    return _CONSTANT.format(names[0] == "const") if lacking else ""
