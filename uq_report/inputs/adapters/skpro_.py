"""Probabilistic regressors of skpro: whatever distribution their ``predict_proba`` returns."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ... import distributions as families
from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray, Table
from ...core.support.errors import InputError, to_type
from .outputs import POINTS, refuse_unfitted

Parameters = Mapping[str, FloatArray]

LEVELS = np.arange(1, 100) / 100  # at which a distribution without an exact density is read
_FIRST = """\
import numpy as np

model = model.clone().fit(X_train, np.asarray(y_train)[:, 0])
uq.explain(model, X, np.asarray(y)[:, 0])"""
_TABLE = """\
levels = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95]
uq.explain(lambda X: uq.dist.Quantiles(levels, model.predict_quantiles(X, alpha=levels)), X, y)"""

FAMILIES: Mapping[str, Callable[[Parameters], Distribution]] = MappingProxyType(
    {
        "Normal": lambda p: families.Normal(p["mu"], p["sigma"]),
        "Laplace": lambda p: families.Laplace(p["mu"], p["scale"]),
        "TDistribution": lambda p: families.StudentT(p["df"], p["mu"], p["sigma"]),
        "Cauchy": lambda p: families.StudentT(1.0, p["mu"], p["scale"]),
        "LogNormal": lambda p: families.LogNormal(p["mu"], p["sigma"]),
        "Gamma": lambda p: families.Gamma(p["alpha"], 1 / p["beta"]),
        "Exponential": lambda p: families.Gamma(1.0, 1 / p["rate"]),
        "Weibull": lambda p: families.Weibull(p["k"], p["scale"]),
        "Logistic": lambda p: families.Logistic(p["mu"], p["scale"]),
        "Beta": lambda p: families.Beta(p["alpha"], p["beta"]),
        "HalfNormal": lambda p: families.HalfNormal(p["sigma"]),
        "Poisson": lambda p: families.Poisson(p["mu"]),
        "NegativeBinomial": lambda p: families.NegativeBinomial(p["mu"], p["alpha"]),
        "ChiSquared": lambda p: families.Gamma(p["dof"] / 2, 2.0),
        "Erlang": lambda p: families.Gamma(p["k"], 1 / p["rate"]),
        "Pareto": lambda p: families.Scipy.named("pareto", p["alpha"], scale=p["scale"]),
        "Rayleigh": lambda p: families.Weibull(2.0, np.sqrt(2) * p["scale"]),
        "Uniform": lambda p: families.Scipy.named("uniform", p["lower"], p["upper"] - p["lower"]),
    }
)


def from_skpro(dist: Any) -> Distribution:
    """Return a distribution of skpro, of shape (n, 1) and any of its kinds, as one of ours.

    A named family by its parameters, a mixture by its parts, a scipy-backed family through scipy, an empirical
    one as its draws, a histogram as one. What has no exact density is read at 99 quantiles.

    Raises
    ------
    InputError
        If it has several columns, or its draws differ in number or weight.
    """
    who, n = type(dist).__name__, len(dist)
    if dist.shape[1:] != (1,):
        raise InputError(
            f"skpro.predict_proba must give one outcome per row; got shape {dist.shape}. "
            f"Fit one model for each, here for the first. {to_type(_FIRST)}"
        )
    if who in FAMILIES:
        return FAMILIES[who](_parameters(dist))
    if who in _PARTS:
        return _PARTS[who](dist)
    if "skpro._ScipyAdapter" in class_names(dist):
        args, named = dist._get_scipy_param()  # noqa: SLF001 - skpro has no public name for its scipy object
        args, named = [_column(a, n) for a in args], {key: _column(a, n) for key, a in named.items()}
        return families.Scipy(dist._get_scipy_object()(*args, **named))  # noqa: SLF001 - as above
    return _by_quantiles(dist)


def _parameters(dist: Any) -> Parameters:
    given = {key: value for key, value in dist.get_params(deep=False).items() if key not in ("index", "columns")}
    return {key: _column(value, len(dist)) for key, value in given.items()}


def _column(value: Any, n: int) -> FloatArray:
    """Return a parameter, one or one a row, as n floats."""
    return np.array(np.broadcast_to(np.asarray(value, dtype=float).reshape(-1), (n,)))


def _mixture(dist: Any) -> Distribution:
    parts = [part[1] if isinstance(part, tuple) else part for part in dist.distributions]
    return families.Mixture([from_skpro(part) for part in parts], dist.weights)


def _normal_mixture(dist: Any) -> Distribution:
    weights, means, stds = (np.asarray(getattr(dist, key), dtype=float) for key in ("pi", "mu", "sigma"))
    shape = len(dist), weights.shape[-1]
    if np.ptp(weights.reshape(-1, shape[1]), axis=0).any():
        return _by_quantiles(dist)
    means, stds = (np.broadcast_to(part, shape) for part in (means, stds))
    return families.NormalMixture(means, stds, weights.reshape(-1, shape[1])[0])


def _empirical(dist: Any) -> Distribution:
    counts, weights = dist.spl.groupby(level=-1, sort=False).size(), dist.weights
    unequal = weights is not None and np.ptp(np.asarray(weights, dtype=float)) > 0
    if counts.min() < counts.max() or unequal:
        raise InputError(
            f"skpro.{type(dist).__name__} must hold equally many draws of equal weight in every row; got "
            f"{counts.min()} to {counts.max()} draws{', weighted' if unequal else ''}. Read its quantiles. "
            f"{to_type(_TABLE)}"
        )
    table = dist.spl.iloc[:, 0].unstack(level=0).loc[dist.index]  # noqa: PD010 - one column, no aggregation
    return families.Draws(table.to_numpy(dtype=float).T)


def _quantile_table(dist: Any) -> Distribution:
    with warnings.catch_warnings(action="ignore"):  # of pandas and skpro, on how they compute
        table = dist.quantiles.iloc[:, 0].unstack(level=0).loc[dist.index]  # noqa: PD010 - as above
    return families.Quantiles(table.columns.to_numpy(dtype=float), table.to_numpy(dtype=float))


def _histogram(dist: Any) -> Distribution:
    return families.Histogram(np.asarray(dist.bins, dtype=float), np.asarray(dist.bin_mass, dtype=float))


def _by_quantiles(dist: Any) -> Distribution:
    if "continuous" not in str(dist.get_tag("distr:measuretype")) and type(dist).__name__ != "TransformedDistribution":
        raise InputError(
            f"skpro.predict_proba must give a distribution with a density or quantiles; got {type(dist).__name__}. "
            f"Lay residuals over its predictions. {to_type(POINTS.replace('model', 'model.predict'))}"
        )
    with warnings.catch_warnings(action="ignore"):  # of pandas and skpro, on how they compute
        table = [np.asarray(dist.ppf(pd.DataFrame(level, dist.index, dist.columns)), float)[:, 0] for level in LEVELS]
    return families.Quantiles(LEVELS, np.stack(table, axis=1))


_PARTS: Mapping[str, Callable[[Any], Distribution]] = MappingProxyType(
    {
        "Mixture": _mixture,
        "NormalMixture": _normal_mixture,
        "Empirical": _empirical,
        "QPD_Empirical": _quantile_table,
        "Histogram": _histogram,
    }
)


_REGRESSOR = "skpro.BaseProbaRegressor"
_RESAMPLED = ("skpro.BootstrapRegressor",)


@dataclass(frozen=True)
class SkproAdapter(Adapter):
    """Regressors that inherit from skpro's ``BaseProbaRegressor``, pipelines and searches of skpro included.

    Families, mixtures, histograms and draws are read exactly; a distribution without an exact density is
    read at 99 quantiles, with the tails of `Quantiles`.

    Examples
    --------
    >>> BaseProbaRegressor = type("BaseProbaRegressor", (), {"__module__": "skpro.regression.base"})
    >>> SkproAdapter().matches(BaseProbaRegressor()).distance
    1
    """

    name: ClassVar[str] = "skpro"
    libraries: ClassVar[tuple[str, ...]] = ("skpro",)

    def matches(self, model: Any) -> Match | None:
        """Match by inheritance from skpro's base of probabilistic regressors."""
        if _REGRESSOR not in class_names(model):
            return None
        return Match(1, f"{type(model).__name__} of skpro: the distribution its predict_proba returns")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the model's predictive distributions."""
        refuse_unfitted(model, getattr(model, "is_fitted", True), "of skpro that is not")
        with warnings.catch_warnings():  # pandas, on how skpro stacks its tables
            warnings.filterwarnings("ignore", "The previous implementation of stack", FutureWarning)
            dist = model.predict_proba(X.copy() if isinstance(X, pd.DataFrame) else X)
        return from_skpro(dist)

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say what of skpro's distributions is not read exactly, and what draws of predictions leave out."""
        exact = f"A distribution of skpro without an exact density is read at {len(LEVELS)} quantiles."
        if set(_RESAMPLED) & set(class_names(model)):
            return (exact, "Its draws are predictions of refitted models: the noise of the outcome is not in them.")
        return (exact,)
