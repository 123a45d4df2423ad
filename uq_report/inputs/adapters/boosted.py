"""LightGBM, XGBoost and CatBoost: a distribution by objective, by the scikit-learn interface or of a native model."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from ... import distributions as families
from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, Table
from ...core.support.errors import InputError, ModelError, to_type
from ...distributions.numerics.validate import row_sum
from .glm import DispersionEstimate, check_dispersion, dispersed, remarks_on
from .outputs import class_labels, predicted_labels, probabilities, refuse_unfitted
from .sklearn_ import each_alone, refitted, rows_of_trees, transform, unwrap


class Objective(NamedTuple):
    """What a model was trained for, and the options of it, as the trained model keeps them."""

    name: str
    options: Mapping[str, Any] = {}


@dataclass(frozen=True)
class BoostedAdapter(Adapter):
    """Base of the adapters of XGBoost, LightGBM and CatBoost.

    Parameters
    ----------
    dispersion : float, optional
        Of gamma and Tweedie objectives, which fit the mean alone: the variance is dispersion * mean^power.
    """

    dispersion: float | None = None

    family: ClassVar[frozenset[str]]
    classifier: ClassVar[frozenset[str]]
    row_alone: ClassVar[frozenset[str]]  # classes whose predictions of a row never depend on other rows, to the bit
    word: ClassVar[str] = "objective"  # what the library calls it
    objectives: ClassVar[tuple[str, ...]]  # the objectives that are likelihoods, or are refused with what to do
    powers: ClassVar[Mapping[str, float]]  # of the mean that the variance is proportional to
    power_option: ClassVar[str] = "tweedie_variance_power"
    with_dispersion: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        check_dispersion(self.name, self.dispersion)

    def is_fitted(self, final: Any) -> bool:
        """Say whether there are trees."""
        return comes_from(final, self.native()) or bool(final.__sklearn_is_fitted__())

    def native(self) -> frozenset[str]:
        """Return the names of the library's own model."""
        return frozenset({f"{self.name}.Booster"})

    @abstractmethod
    def objective(self, final: Any) -> Objective:
        """Return the objective of a fitted model."""

    def objective_name(self, final: Any) -> str | None:
        """Return the objective's name; None of a model that must be fitted to have one."""
        return self.objective(final).name if self.is_fitted(final) else None

    def matches(self, model: Any) -> Match | None:
        """Match the library's models by name, with an objective that is a likelihood."""
        final = unwrap(model)[1]
        if not comes_from(final, self.family):
            return None
        name = self.objective_name(final)
        if name is None:
            return Match(1, f"{type(final).__name__}, not fitted")
        return Match(1, f"{type(final).__name__} with the {self.word} {name}") if name in self.objectives else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the distribution that belongs to the objective."""
        steps, final = unwrap(model)
        refuse_unfitted(final, self.is_fitted(final), "without trees")
        objective = self.objective(final)
        if self.dispersion is not None and objective.name not in self.with_dispersion:
            raise InputError(
                f"{self.name}.dispersion must be None for {objective.name}, which has no dispersion; "
                f"got {self.dispersion}."
            )
        return self.read(model, final, objective, transform(steps, X))

    @abstractmethod
    def read(self, model: Any, final: Any, objective: Objective, rows: Any) -> Distribution:
        """Return the distribution of rows behind the transformers."""

    def amounts(
        self, final: Any, objective: Objective, values: AnyArray, mean: str = "model.predict(X_calibration)"
    ) -> Distribution:
        """Return the distributions of counts or amounts with these means, of which `mean` is the expression."""
        what = type(final).__name__
        power = float(objective.options.get(self.power_option, self.powers[objective.name]))
        estimate = DispersionEstimate(type(self).__name__, __name__, mean)
        means = numbers_of(values, len(values), what)
        return dispersed(self.name, f"{what} with {objective.name}", means, power, self.dispersion, estimate)

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of a classifier's own ``predict``; None for others."""
        return predicted_labels(model, X) if comes_from(unwrap(model)[1], self.classifier) else None

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that a dispersion was given."""
        return remarks_on(self.dispersion)

    def batch_rows(self, model: Any) -> int | None:
        """Return 25 000 to 80 000 for the library's own classes, behind steps that treat values alone; else None."""
        steps, final = unwrap(model)
        return rows_of_trees(final) if class_names(final)[0] in self.row_alone and each_alone(steps) else None


def comes_from(model: Any, names: frozenset[str]) -> bool:
    """Say whether any class of `model`, nearest or inherited, is one of ``library.Class`` names."""
    return not names.isdisjoint(class_names(model))


def classes_of(p: Any, n: int, what: str, labels: Any = None) -> families.Categorical:
    """Return the classes' distribution of native output: probabilities (n, k), or (n,) of the second of two classes."""
    p = np.asarray(p, dtype=float)
    table = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
    if table.shape[0] != n or table.ndim != 2:
        raise ModelError(f"{what} must predict probabilities of shape ({n},) or ({n}, classes); got {p.shape}.")
    return families.Categorical(table, classes=labels)


def softmax_of(scores: FloatArray) -> FloatArray:
    """Return exp(s) / sum exp(s) over the last axis, with the same bits whatever the other rows are."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / row_sum(powers)[..., None])


def numbers_of(values: Any, n: int, what: str) -> FloatArray:
    """Return native output as floats of shape (n,)."""
    floats = np.asarray(values, dtype=float)
    if floats.shape != (n,):
        raise ModelError(
            f"{what} must predict one number per row, shape ({n},); got {floats.shape}. "
            "A model with several outputs is audited one output at a time: fit or wrap one model per output."
        )
    return floats


_LIGHTGBM_CLASSES = ("binary", "multiclass", "cross_entropy")
_LIGHTGBM_POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
_TRAINED = """\
import lightgbm

options = {**model.params, "objective": "multiclass"}
model = lightgbm.train(options, lightgbm.Dataset(X_train, y_train), model.current_iteration())
uq.explain(model, X, y)"""


class LightGBMAdapter(BoostedAdapter):
    """LGBMClassifier, LGBMRegressor with a likelihood, and native Boosters, alone or last in a pipeline.

    By objective: ``binary``, ``multiclass`` and ``cross_entropy`` give classes (of a Booster 0 .. k-1); ``poisson`` a
    Poisson; ``gamma`` and ``tweedie`` need a `dispersion`. Squared and other errors are of point regressors, and match
    nothing here.

    Parameters
    ----------
    dispersion : float, optional
        The variance is dispersion * mean^2 (gamma) or dispersion * mean^power (Tweedie).

    Examples
    --------
    >>> LightGBMAdapter(dispersion=0.0)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: lightgbm.dispersion must be None or a finite number > 0; got 0.0.
    """

    name: ClassVar[str] = "lightgbm"
    libraries: ClassVar[tuple[str, ...]] = ("lightgbm",)
    family: ClassVar[frozenset[str]] = frozenset({"lightgbm.Booster", "lightgbm.LGBMModel"})
    classifier: ClassVar[frozenset[str]] = frozenset({"lightgbm.LGBMClassifier"})
    row_alone: ClassVar[frozenset[str]] = classifier | {"lightgbm.Booster", "lightgbm.LGBMRegressor"}
    objectives: ClassVar[tuple[str, ...]] = (*_LIGHTGBM_CLASSES, *_LIGHTGBM_POWERS, "multiclassova")
    powers: ClassVar[Mapping[str, float]] = _LIGHTGBM_POWERS
    with_dispersion: ClassVar[tuple[str, ...]] = tuple(_LIGHTGBM_POWERS)

    def objective(self, final: Any) -> Objective:
        """Return the objective by its own name, whatever alias it was asked by; empty for a function of the user's."""
        booster = final if comes_from(final, self.native()) else final.booster_
        lines = booster.model_to_string(num_iteration=1).split("\n", 40)
        line = next((line for line in lines if line.startswith("objective=")), "objective= ")
        name, *options = line.removeprefix("objective=").split(" ")
        given = dict(option.split(":", 1) for option in options if ":" in option)
        return Objective(name, {**given, **booster.params} if name == "tweedie" else given)

    def read(self, model: Any, final: Any, objective: Objective, rows: Any) -> Distribution:
        """Return the distribution of rows behind the transformers."""
        if objective.name == "multiclassova":
            native = comes_from(model, self.native())
            code = _TRAINED if native else refitted(model, "objective", "'multiclass'")
            raise InputError(
                "lightgbm.objective must be multiclass; got multiclassova, whose probabilities do not sum to 1. "
                f"{to_type(code)}"
            )
        if comes_from(final, self.classifier):
            p = probabilities(final, rows)
            return families.Categorical(p, classes=class_labels(final, p.shape[1]))
        values = final.predict(rows)
        if objective.name in _LIGHTGBM_CLASSES:
            return classes_of(values, rows.shape[0], type(final).__name__)
        return self.amounts(final, objective, values)

    def score(self, model: Any, X: Any) -> FloatArray | None:
        """Return the raw scores of rows, shape (n, k)."""
        steps, final = unwrap(model)
        return np.asarray(final.predict(transform(steps, X), raw_score=True), dtype=float).reshape(X.shape[0], -1)

    def from_score(self, model: Any, scores: FloatArray) -> Distribution:
        """Return what `predict` makes of these scores, by the objective's link."""
        final = unwrap(model)[1]
        name, options = objective = self.objective(final)
        if name in self.powers:
            return self.amounts(final, objective, np.exp(scores[:, 0]))
        steepness = float(options.get("sigmoid", 1.0))
        p = softmax_of(scores) if name == "multiclass" else expit(steepness * scores[:, 0])
        labels = final.classes_ if comes_from(final, self.classifier) else None
        return classes_of(p, len(scores), type(final).__name__, labels)


_MARGINS, _XGBOOST_CLASSES = "binary:logitraw", ("binary:logistic", "reg:logistic", "multi:softprob")
_XGBOOST_POWERS = {"count:poisson": 1.0, "reg:gamma": 2.0, "reg:tweedie": 1.5}
_NO_PROBABILITY = {
    "binary:hinge": "It fits no probabilities: fit it again with objective='binary:logistic'.",
    "multi:softmax": "Type: model.set_param({'objective': 'multi:softprob'})",
}
_AFT = "survival:aft"


class XGBoostAdapter(BoostedAdapter):
    """XGBClassifier, XGBRegressor with a likelihood, and native Boosters, alone or last in a pipeline.

    By objective: ``binary:logistic``, ``binary:logitraw`` (its margin through the logistic function),
    ``reg:logistic`` and ``multi:softprob`` give classes (of a Booster 0 .. k-1); ``count:poisson`` a Poisson;
    ``reg:gamma`` and ``reg:tweedie`` need a `dispersion`; ``survival:aft`` gives the
    distribution of the time itself (log-normal, log-logistic or Weibull). Squared and other errors are of point
    regressors, and match nothing here. A Booster gets a DMatrix with the columns' names and categories.

    Parameters
    ----------
    dispersion : float, optional
        The variance is dispersion * mean^2 (gamma) or dispersion * mean^power (Tweedie).

    Examples
    --------
    >>> XGBoostAdapter(dispersion=-1.0)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: xgboost.dispersion must be None or a finite number > 0; got -1.0.
    """

    name: ClassVar[str] = "xgboost"
    libraries: ClassVar[tuple[str, ...]] = ("xgboost",)
    family: ClassVar[frozenset[str]] = frozenset({"xgboost.Booster", "xgboost.XGBModel"})
    classifier: ClassVar[frozenset[str]] = frozenset({"xgboost.XGBClassifier"})
    row_alone: ClassVar[frozenset[str]] = frozenset(
        f"xgboost.{name}" for name in ("Booster", "XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
    )
    objectives: ClassVar[tuple[str, ...]] = (_MARGINS, *_XGBOOST_CLASSES, *_XGBOOST_POWERS, *_NO_PROBABILITY, _AFT)
    powers: ClassVar[Mapping[str, float]] = _XGBOOST_POWERS
    with_dispersion: ClassVar[tuple[str, ...]] = tuple(_XGBOOST_POWERS)

    def objective(self, final: Any) -> Objective:
        """Return the objective and its options, as the booster keeps them whichever way it was made."""
        booster = final if comes_from(final, self.native()) else final.get_booster()
        kept = json.loads(booster.save_config())["learner"]["objective"]
        options = {name: value for part in kept.values() if isinstance(part, dict) for name, value in part.items()}
        if self.power_option in options:
            options[self.power_option] = round(float(options[self.power_option]), 6)  # kept in single precision
        return Objective(kept["name"], options)

    def objective_name(self, final: Any) -> str:
        """Return the objective's name, also of an unfitted model; empty for a function of the user's."""
        if comes_from(final, self.native()):
            return self.objective(final).name
        name = getattr(final, "objective", None)
        if name is None and comes_from(final, self.classifier):
            return "binary:logistic"
        return name if isinstance(name, str) else ""

    def read(self, model: Any, final: Any, objective: Objective, rows: Any) -> Distribution:
        """Return the distribution of rows behind the transformers."""
        name, options = objective
        native, classifier = comes_from(final, self.native()), comes_from(final, self.classifier)
        if name in _NO_PROBABILITY and not (classifier and name == "multi:softmax"):
            raise InputError(f"xgboost.objective must give probabilities; got {name}. {_NO_PROBABILITY[name]}")
        if classifier and name != _MARGINS:
            p = probabilities(final, rows)
            return families.Categorical(p, classes=class_labels(final, p.shape[1]))
        raw = {"output_margin": True} if name == _MARGINS else {}
        values = final.predict(_matrix(final, rows) if native else rows, **raw)
        if name in (_MARGINS, *_XGBOOST_CLASSES):
            labels = final.classes_ if classifier else None
            return classes_of(expit(values) if raw else values, rows.shape[0], type(final).__name__, labels)
        if name == _AFT:
            return _failure_time(numbers_of(values, len(values), type(final).__name__), options)
        mean = "model.inplace_predict(X_calibration)" if native else "model.predict(X_calibration)"
        return self.amounts(final, objective, values, mean)

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that a dispersion was given, and what is read of a survival model and of a Booster that stopped early."""
        final = unwrap(model)[1]
        remarks = list(super().remarks(model))
        if self.objective_name(final) == _AFT:
            remarks.append("survival:aft gives the distribution of the time itself: y is read as times of events.")
        best = final.attr("best_iteration") if comes_from(final, self.native()) else None
        if best is not None and int(best) + 1 < final.num_boosted_rounds():
            remarks.append(
                f"The Booster's predict uses all {final.num_boosted_rounds()} rounds, though its best was {best}; "
                f"model[: {int(best) + 1}] keeps the best."
            )
        return tuple(remarks)


def _matrix(booster: Any, rows: Any) -> Any:
    """Return rows as the DMatrix a Booster takes, with its own columns' names where the rows have none."""
    import xgboost

    names = None if isinstance(rows, pd.DataFrame) else booster.feature_names
    return xgboost.DMatrix(rows, enable_categorical=True, feature_names=names)


def _failure_time(median: FloatArray, options: Mapping[str, Any]) -> Distribution:
    """Return the distribution of T where log T = log(predicted) + scale Z."""
    kind, scale = options["aft_loss_distribution"], float(options["aft_loss_distribution_scale"])
    if kind == "normal":
        return families.LogNormal(np.log(median), scale)
    if kind == "extreme":
        return families.Weibull(1 / scale, median)
    return families.Scipy.named("fisk", np.full(len(median), 1 / scale), scale=median)


_GAUSSIAN = "RMSEWithUncertainty"
_CATBOOST_CLASSES = ("Logloss", "CrossEntropy", "MultiClass")
_CATBOOST_POWERS = {"Poisson": 1.0, "Tweedie": 1.5}
_FEWER = f"""\
from {__name__} import CatBoostAdapter

uq.explain(model, X, y, adapter=CatBoostAdapter(virtual_ensembles={{}}))"""


@dataclass(frozen=True)
class CatBoostAdapter(BoostedAdapter):
    """CatBoostClassifier, CatBoostRegressor with a likelihood, and native CatBoost, alone or last in a pipeline.

    By loss: ``Logloss``, ``CrossEntropy`` and ``MultiClass`` give classes; ``RMSEWithUncertainty`` a normal with its
    variance (the second raw column is the logarithm of a standard deviation); ``Poisson`` a Poisson; ``Tweedie``
    needs a `dispersion`. RMSE and other errors are of point regressors, and match nothing here.

    A model trained with ``posterior_sampling=True`` is read as the mixture of its virtual ensembles
    (Malinin, Prokhorenkova & Ustimenko 2021, arXiv:2006.10562): normals of RMSEWithUncertainty, Poissons,
    classes. Its mean is then theirs, which is not exactly that of ``predict``.

    Parameters
    ----------
    dispersion : float, optional
        The variance is dispersion * mean^power.
    virtual_ensembles : int
        Members of a model trained with ``posterior_sampling=True``; there must be 2 trees per member.

    Examples
    --------
    >>> CatBoostAdapter(virtual_ensembles=1)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: catboost.virtual_ensembles must be a whole number >= 2; got 1.
    """

    virtual_ensembles: int = 10

    name: ClassVar[str] = "catboost"
    libraries: ClassVar[tuple[str, ...]] = ("catboost",)
    family: ClassVar[frozenset[str]] = frozenset({"catboost.CatBoost"})
    classifier: ClassVar[frozenset[str]] = frozenset({"catboost.CatBoostClassifier"})
    row_alone: ClassVar[frozenset[str]] = family | classifier | {"catboost.CatBoostRegressor"}
    word: ClassVar[str] = "loss"
    objectives: ClassVar[tuple[str, ...]] = (_GAUSSIAN, "MultiClassOneVsAll", *_CATBOOST_CLASSES, *_CATBOOST_POWERS)
    powers: ClassVar[Mapping[str, float]] = _CATBOOST_POWERS
    power_option: ClassVar[str] = "variance_power"
    with_dispersion: ClassVar[tuple[str, ...]] = ("Tweedie",)

    def __post_init__(self) -> None:
        super().__post_init__()
        count: Any = self.virtual_ensembles
        if isinstance(count, bool) or not isinstance(count, int) or count < 2:
            raise InputError(f"catboost.virtual_ensembles must be a whole number >= 2; got {count!r}.")

    def is_fitted(self, final: Any) -> bool:
        """Say whether there are trees."""
        return bool(final.is_fitted())

    def objective(self, final: Any) -> Objective:
        """Return the loss and its options, as the trained model keeps them."""
        name, _, options = str(final.get_all_params()["loss_function"]).partition(":")
        return Objective(name, dict(option.split("=", 1) for option in options.split(";") if "=" in option))

    def read(self, model: Any, final: Any, objective: Objective, rows: Any) -> Distribution:
        """Return the distribution that belongs to the loss, or the mixture of the virtual ensembles."""
        n, name = rows.shape[0], objective.name
        if name == "MultiClassOneVsAll":
            raise InputError(
                "catboost.loss_function must be MultiClass; got MultiClassOneVsAll, whose probabilities do not sum "
                f"to 1. {to_type(refitted(model, 'loss_function', repr('MultiClass')))}"
            )
        if self._is_sampled(final):
            return self._mixture(final, rows, n, name)
        if name == _GAUSSIAN:
            moments = final.predict(rows, prediction_type=_GAUSSIAN)
            return families.Normal(moments[:, 0], np.sqrt(moments[:, 1]))
        if name in _CATBOOST_CLASSES:
            p = final.predict(rows, prediction_type="Probability")
            return classes_of(p, n, type(final).__name__, final.classes_)
        values, mean = final.predict(rows, prediction_type="Exponent"), "X_calibration, prediction_type='Exponent'"
        return self.amounts(final, objective, values, f"model.predict({mean})")

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of a classifier's own ``predict``; None for others, and for virtual ensembles."""
        labels = None if self._is_sampled(unwrap(model)[1]) else super().decide(model, X)
        return None if labels is None else np.ravel(labels)  # a column where there are more than two classes

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that a dispersion was given, or what is read of a model with posterior sampling."""
        final = unwrap(model)[1]
        if not (final.is_fitted() and self._is_sampled(final)):
            return super().remarks(model)
        members = f"the mixture of {self.virtual_ensembles} virtual ensembles"
        return (f"Trained with posterior_sampling: read is {members}, whose mean is not exactly that of its predict.",)

    def _is_sampled(self, final: Any) -> bool:
        """Say whether the model was trained so that its virtual ensembles are samples, of a loss that is read so."""
        sampled = bool(final.get_all_params().get("posterior_sampling"))
        return sampled and self.objective(final).name in (_GAUSSIAN, "Poisson", *_CATBOOST_CLASSES)

    def _mixture(self, final: Any, rows: Any, n: int, name: str) -> Distribution:
        most = final.tree_count_ // 2
        if self.virtual_ensembles > most:
            raise InputError(
                f"catboost.virtual_ensembles must be at most half the trees, {most}; got {self.virtual_ensembles}. "
                f"{to_type(_FEWER.format(most)) if most > 1 else 'Fit more trees.'}"
            )
        raw = np.asarray(final.virtual_ensembles_predict(rows, virtual_ensembles_count=self.virtual_ensembles))
        raw = raw.reshape(n, self.virtual_ensembles, -1)
        if name == _GAUSSIAN:
            return families.NormalMixture(raw[:, :, 0], np.sqrt(raw[:, :, 1]))
        if name == "Poisson":
            return families.Mixture([families.Poisson(np.exp(member)) for member in raw[:, :, 0].T])
        members = softmax_of(raw) if raw.shape[2] > 1 else np.concatenate([expit(-raw), expit(raw)], axis=2)
        return families.CategoricalMixture(members, final.classes_)
