"""Quantile regressors: one model of several quantiles, or a dictionary of models of one each.

Regressors that predict probabilities on a grid of bars, as TabPFN does.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray, Table
from ...core.support.errors import InputError, ModelError, to_type
from ...distributions import Histogram, Quantiles
from ...distributions.tables.quantiles import Ties
from . import sklearn_
from .boosted import Objective, XGBoostAdapter
from .outputs import point_prediction, refuse_unfitted
from .sklearn_ import ROWWISE_BATCH, SklearnAdapter, batch_rows, in_order, transform, unwrap


def levels_of(model: Any) -> tuple[float, ...]:
    """Return the levels of the quantiles that a fitted final estimator predicts; none for another model."""
    name = next((name for name in class_names(model) if name in _READERS), None)
    return () if name is None else tuple(float(level) for level in _READERS[name](model))


def levels_words(levels: tuple[float, ...]) -> str:
    """Return the levels in levels_words.

    Examples
    --------
    >>> levels_words((0.05, 0.5, 0.95))
    'quantiles at 3 levels, 0.05 to 0.95'
    """
    return f"quantiles at {len(levels)} levels, {levels[0]:g} to {levels[-1]:g}"


def _lightgbm(model: Any) -> tuple[float, ...]:
    parameters = model.get_params() if hasattr(model, "get_params") else model.params
    names = {parameters.get(name) for name in ("objective", "application", "objective_type")}
    return (parameters.get("alpha", 0.9),) if "quantile" in names else ()


def _xgboost(model: Any) -> tuple[float, ...]:
    """Read the configuration of the booster, which a model that was saved and loaded has too."""
    name, options = XGBoostAdapter().objective(model) if XGBoostAdapter().is_fitted(model) else Objective("")
    return tuple(np.atleast_1d(json.loads(options["quantile_alpha"]))) if name == "reg:quantileerror" else ()


def _catboost(model: Any) -> tuple[float, ...]:
    parameters = model.get_all_params() if model.is_fitted() else model.get_params()
    loss, _, options = str(parameters.get("loss_function", "")).partition(":")
    if loss not in ("Quantile", "MultiQuantile"):
        return ()
    alphas = dict(option.split("=") for option in options.split(";") if "=" in option).get("alpha", "0.5")
    return tuple(float(alpha) for alpha in alphas.split(","))


_READERS: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "sklearn.QuantileRegressor": lambda model: (model.quantile,),
    "sklearn.GradientBoostingRegressor": lambda model: (model.alpha,) if model.loss == "quantile" else (),
    "sklearn.HistGradientBoostingRegressor": lambda model: (model.quantile,) if model.loss == "quantile" else (),
    "lightgbm.LGBMModel": _lightgbm,
    "lightgbm.Booster": _lightgbm,
    "xgboost.XGBModel": _xgboost,
    "xgboost.Booster": _xgboost,
    "catboost.CatBoost": _catboost,
}


_FOREST = "quantile_forest.BaseForestQuantileRegressor"
_FIRST = """\
import numpy as np
from sklearn.base import clone

model = clone(model).fit(X_train, np.asarray(y_train)[:, 0])
uq.explain(model, X, np.asarray(y)[:, 0])"""
LEVELS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)


@dataclass(frozen=True)
class QuantileForestAdapter(SklearnAdapter):
    """RandomForestQuantileRegressor and ExtraTreesQuantileRegressor, alone, last in a pipeline, or in a search object.

    The levels are the model's own ``default_quantiles`` where these are three or more, else `levels`. A forest weighs
    a few training outcomes for each row, as many as it has trees by default, and predicts these: finer levels read
    their gaps as detail. In a simulation with 100 trees the negative log-likelihood was 1.9 nats with the seven
    levels, 2.6 with 39 and 62 with 99, where that of the truth is 1.4.

    Parameters
    ----------
    levels : tuple of float
        Strictly increasing; seven by default, between which and beyond which lie equal shares, 0.15 and 0.05.
    ties : {"joined", "atoms", "refused"}
        What is made of equal quantiles; see `Quantiles`.

    Examples
    --------
    >>> QuantileForestAdapter().matches(object()) is None
    True
    """

    levels: tuple[float, ...] = LEVELS
    ties: Ties = "joined"

    name: ClassVar[str] = "quantile_forest"
    libraries: ClassVar[tuple[str, ...]] = ("quantile_forest",)

    def matches(self, model: Any) -> Match | None:
        """Match the two by the name of their base class."""
        final = unwrap(model)[1]
        forest = _FOREST in class_names(final)
        return Match(0, f"{type(final).__name__}: {levels_words(self._of(final))}") if forest else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return a quantile table per row."""
        steps, final = unwrap(model)
        who, levels = type(final).__name__, self._of(final)
        refuse_unfitted(final, hasattr(final, "estimators_"), "without trees")
        if final.n_outputs_ != 1:
            raise InputError(
                f"{who}.n_outputs_ must be 1; got {final.n_outputs_}. Fit one forest for each, here for the first. "
                f"{to_type(_FIRST)}"
            )
        with in_order():
            values = final.predict(transform(steps, X), quantiles=list(levels))
        return Quantiles(levels, np.reshape(values, (-1, len(levels))), ties=self.ties)

    def batch_rows(self, model: Any) -> int | None:
        """Return 25 000 where the steps in front treat each number by itself, else None."""
        return ROWWISE_BATCH if sklearn_.each_alone(unwrap(model)[0]) else None

    def _of(self, forest: Any) -> tuple[float, ...]:
        own = np.ravel(np.asarray(forest.default_quantiles, dtype=object)).tolist()
        numbers = sorted({float(level) for level in own if isinstance(level, int | float)})
        return tuple(numbers) if len(numbers) >= 3 else self.levels


_LINE = "uq.explain({0.05: low, 0.5: middle, 0.95: high}, X, y)"
# the names of the level, and how one is set
_LEVELS = {
    "quantile": "level",
    "quantile_alpha": "level",
    "loss_function": "f'Quantile:alpha={level}'",
    "alpha": "level",
}
_TREES = ("xgboost.", "lightgbm.", "catboost.")


@dataclass(frozen=True)
class QuantilesAdapter(SklearnAdapter):
    """``{level: fitted model}``, or a boosted model of several quantiles: XGBoost's or CatBoost's.

    The models of a dictionary are any regressors whose ``predict`` returns one number per row: QuantileRegressor,
    gradient boosting with a quantile loss, LightGBM, statsmodels, alone or in pipelines, no two need be of a kind. The
    level that a model itself names must be its key. XGBoost: ``reg:quantileerror`` with several ``quantile_alpha``;
    CatBoost: ``MultiQuantile``; both alone or last in a pipeline.

    Parameters
    ----------
    ties : {"joined", "atoms", "refused"}
        What is made of equal quantiles, which models of trees predict; see `Quantiles`.

    Examples
    --------
    >>> class Constant:
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def predict(self, X):
    ...         return np.full(len(X), self.value)
    >>> models = {0.1: Constant(-1.0), 0.5: Constant(0.0), 0.9: Constant(1.0)}
    >>> QuantilesAdapter().predict(models, np.zeros((1, 2))).quantile([0.3])
    array([[-0.5]])
    """

    ties: Ties = "joined"

    name: ClassVar[str] = "quantiles"

    def matches(self, model: Any) -> Match | None:
        """Match dictionaries with numbers as keys, and models that were fitted to a quantile loss."""
        if isinstance(model, Mapping):
            if not model or not all(isinstance(key, Real) and not isinstance(key, bool) for key in model):
                return None
            return Match(0, f"a dictionary of {len(model)} models, one for each level")
        final = unwrap(model)[1]
        levels = levels_of(final)
        if not levels:
            return None
        kind = levels_words(levels) if len(levels) > 1 else f"the quantile at level {levels[0]:g} alone"
        return Match(0, f"{type(final).__name__}: {kind}")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return a quantile table per row."""
        if isinstance(model, Mapping):
            keys = _checked_keys(model)
            columns = [_column(model[level], X, level) for level in keys]
            return Quantiles(keys, np.stack(columns, axis=1), ties=self.ties)
        steps, final = unwrap(model)
        levels = np.array(levels_of(final))
        if len(levels) < 3:
            raise InputError(
                f"model must predict at least 3 quantiles; got {type(final).__name__} for {levels.tolist()} alone. "
                f"{to_type(_more(model))}"
            )
        values = _table(final, transform(steps, X), len(levels))
        order = np.argsort(levels)
        return Quantiles(levels[order], values[:, order], ties=self.ties)

    def batch_rows(self, model: Any) -> int | None:
        """Return 25 000 for trees, all of them in a dictionary, else None."""
        parts = model.values() if isinstance(model, Mapping) else [model]
        return ROWWISE_BATCH if all(map(_rowwise, parts)) else None

    def rows_together(self, model: Any) -> int | None:
        """Return what all models of a dictionary allow; None for a boosted model."""
        if not isinstance(model, Mapping):
            return None
        parts = [super(QuantilesAdapter, self).rows_together(part) for part in model.values()]
        known = [rows for rows in parts if rows is not None]
        return min(known) if len(known) == len(parts) else None


def _more(model: Any) -> str:
    """Return how models of further levels are fitted, and passed with each other."""
    own = next((item for item in _LEVELS.items() if sklearn_.named_parameter(model, item[0])), None)
    if own is None:
        return _LINE
    fit, clone = sklearn_.fitted_anew(model, *own)
    return (
        f"{clone}levels = (0.05, 0.25, 0.5, 0.75, 0.95)\n"
        f"models = {{level: {fit} for level in levels}}\nuq.explain(models, X, y)"
    )


def _checked_keys(models: Mapping[Any, Any]) -> list[Any]:
    """Return the levels in order; refuse those that are none, too few, or not those of their models."""
    levels = sorted(models)
    if len(levels) < 3 or not 0 < levels[0] <= levels[-1] < 1:
        raise InputError(
            f"model must be a dictionary of at least 3 levels strictly between 0 and 1; got {levels}. "
            f"Fit one model for each level and pass all: {_LINE}."
        )
    for level in levels:
        own = levels_of(unwrap(models[level])[1])
        if own and not np.allclose(own, level):
            raise InputError(
                f"model[{level:g}] must be the model of that level; got a {type(models[level]).__name__} "
                f"for {', '.join(f'{value:g}' for value in own)}. Give each model the level it was fitted for."
            )
    return levels


def _column(model: Any, X: Table, level: Any) -> FloatArray:
    if not callable(getattr(model, "predict", None)):
        raise InputError(f"model[{level:g}] must be a fitted regressor; got {type(model).__name__} without predict.")
    steps, final = unwrap(model)
    rows = transform(steps, X)
    if "xgboost.Booster" in class_names(final):
        return np.asarray(final.inplace_predict(rows), dtype=float)
    return point_prediction(final, rows)


def _table(model: Any, X: Any, size: int) -> FloatArray:
    values = model.inplace_predict(X) if "xgboost.Booster" in class_names(model) else model.predict(X)
    return np.asarray(values, dtype=float).reshape(-1, size)


def _rowwise(model: Any) -> bool:
    """Say whether a model predicts every row alone, bit for bit: trees, here or in another library."""
    if batch_rows(model) is not None:
        return True
    steps, final = unwrap(model)
    name = class_names(final)[0]
    linear = "gblinear" in (getattr(final, "booster", None), getattr(final, "boosting_type", None))
    return name.startswith(_TREES) and not linear and "Booster" not in name and sklearn_.each_alone(steps)


_NEEDED = ("criterion", "logits")
_FULL_SUPPORT = "FullSupportBarDistribution"


@dataclass(frozen=True)
class GridsAdapter(Adapter):
    """Regressors whose ``predict(X, output_type="full")`` returns logits and a bar distribution, as TabPFN's.

    The probability of a bar is the softmax of its logit; its edges are ``criterion.borders``, in units of y. The
    outermost bars of a ``FullSupportBarDistribution`` are half-normal tails; see `Histogram`. TabPFN's classifier is
    read by its ``predict_proba`` like any other.

    Examples
    --------
    >>> GridsAdapter().matches(object()) is None
    True
    """

    name: ClassVar[str] = "grids"

    def matches(self, model: Any) -> Match | None:
        """Match TabPFN's regressor by name, others by ``output_type`` among the arguments of ``predict``."""
        if isinstance(model, type) or callable(getattr(model, "predict_proba", None)):
            return None
        if "tabpfn.TabPFNRegressor" in class_names(model):
            return Match(0, "TabPFNRegressor: its bar distribution")
        taken = sklearn_.predict_takes(model, "output_type")
        return Match(1, "predict takes output_type: a bar distribution") if taken else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the bar distributions as histograms."""
        who, output = type(model).__name__, model.predict(X, output_type="full")
        missing = [name for name in _NEEDED if not isinstance(output, Mapping) or name not in output]
        if missing:
            raise ModelError(
                f"{who}.predict(X, output_type='full') must return a mapping with criterion and logits; got "
                f"{type(output).__name__} without {' and '.join(missing)}. Pass a function that returns a Histogram."
            )
        edges, logits = _floats(output["criterion"].borders), _floats(output["logits"])
        if logits.shape != (len(X), len(edges) - 1):
            raise ModelError(
                f"{who}.predict(X, output_type='full') must return logits of shape ({len(X)}, {len(edges) - 1}), one "
                f"for each bar; got {logits.shape}. Audit one output, with the edges of the same fit."
            )
        ends = any(name.endswith(f".{_FULL_SUPPORT}") for name in class_names(output["criterion"]))
        return Histogram(edges, softmax(logits, axis=1), half_normal_ends=ends)


def _floats(values: Any) -> FloatArray:
    """Return a tensor of any device, or an array, as floats."""
    return np.asarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values, dtype=float)
