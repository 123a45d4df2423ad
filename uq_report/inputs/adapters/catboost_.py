"""CatBoost: classifiers, counts, amounts, means with variances, and its virtual ensembles as members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from ...core.model.adapter import Match
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import CategoricalMixture, Mixture, Normal, NormalMixture, Poisson
from .boosted import BoostedAdapter, classes_of, comes_from, numbers_of, softmax_of
from .glm import DispersionEstimate, dispersed
from .outputs import predicted_labels
from .sklearn_ import refitted, transform, unwrap

_MODELS, _CLASSIFIER = frozenset({"catboost.CatBoost"}), frozenset({"catboost.CatBoostClassifier"})
_GAUSSIAN = "RMSEWithUncertainty"
_CLASSES = ("Logloss", "CrossEntropy", "MultiClass")
_POWERS = {"Poisson": 1.0, "Tweedie": 1.5}
_APART = "MultiClassOneVsAll"
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
    row_alone: ClassVar[frozenset[str]] = frozenset(
        {"catboost.CatBoost", "catboost.CatBoostClassifier", "catboost.CatBoostRegressor"}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        count: Any = self.virtual_ensembles
        if isinstance(count, bool) or not isinstance(count, int) or count < 2:
            raise InputError(f"catboost.virtual_ensembles must be a whole number >= 2; got {count!r}.")

    def matches(self, model: Any) -> Match | None:
        """Match CatBoost's models by name, with a loss that is a likelihood."""
        final = unwrap(model)[1]
        if not comes_from(final, _MODELS):
            return None
        if not final.is_fitted():
            return Match(1, f"{type(final).__name__}, not fitted")
        name = _loss(final)[0]
        known = name in (_GAUSSIAN, _APART, *_CLASSES, *_POWERS)
        return Match(1, f"{type(final).__name__} with the loss {name}") if known else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the distribution that belongs to the loss, or the mixture of the virtual ensembles."""
        steps, final = unwrap(model)
        if not final.is_fitted():
            raise InputError(f"model must be fitted; got a {type(final).__name__} without trees. Call fit first.")
        rows, n, what = transform(steps, X), X.shape[0], type(final).__name__
        name = _loss(final)[0]
        if name != "Tweedie":
            self.refuse_dispersion(name)
        if name == _APART:
            raise InputError(
                "catboost.loss_function must be MultiClass; got MultiClassOneVsAll, whose probabilities do not sum "
                f"to 1. {to_type(refitted(model, 'loss_function', repr('MultiClass')))}"
            )
        if _sampled(final):
            return self._mixture(final, rows, n, name)
        if name == _GAUSSIAN:
            moments = final.predict(rows, prediction_type=_GAUSSIAN)
            return Normal(moments[:, 0], np.sqrt(moments[:, 1]))
        if name in _CLASSES:
            return classes_of(final.predict(rows, prediction_type="Probability"), n, what, final.classes_)
        return self._amounts(final, final.predict(rows, prediction_type="Exponent"))

    def _amounts(self, final: Any, values: AnyArray) -> Distribution:
        """Return the distributions of counts or amounts with these means."""
        what, (name, options) = type(final).__name__, _loss(final)
        mean = numbers_of(values, len(values), what)
        estimate = DispersionEstimate(
            "CatBoostAdapter", __name__, "model.predict(X_calibration, prediction_type='Exponent')"
        )
        power = float(options.get("variance_power", _POWERS[name]))
        return dispersed(self.name, f"{what} with {name}", mean, power, self.dispersion, estimate)

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of a classifier's own ``predict``; None for others, and for virtual ensembles."""
        final = unwrap(model)[1]
        if not comes_from(final, _CLASSIFIER) or _sampled(final):
            return None
        labels = predicted_labels(model, X)
        return None if labels is None else np.ravel(labels)  # a column where there are more than two classes

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that a dispersion was given, or what is read of a model with posterior sampling."""
        final = unwrap(model)[1]
        if not (final.is_fitted() and _sampled(final)):
            return super().remarks(model)
        members = f"the mixture of {self.virtual_ensembles} virtual ensembles"
        return (f"Trained with posterior_sampling: read is {members}, whose mean is not exactly that of its predict.",)

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
            return NormalMixture(raw[:, :, 0], np.sqrt(raw[:, :, 1]))
        if name == "Poisson":
            return Mixture([Poisson(np.exp(member)) for member in raw[:, :, 0].T])
        return CategoricalMixture(_members(raw), final.classes_)


def _members(raw: FloatArray) -> FloatArray:
    """Return raw scores as probabilities, shape (n, members, classes)."""
    if raw.shape[2] > 1:
        return softmax_of(raw)
    return np.concatenate([expit(-raw), expit(raw)], axis=2)


def _loss(final: Any) -> tuple[str, dict[str, str]]:
    """Return the loss and its options, as the trained model keeps them."""
    name, _, options = str(final.get_all_params()["loss_function"]).partition(":")
    return name, dict(option.split("=", 1) for option in options.split(";") if "=" in option)


def _sampled(final: Any) -> bool:
    """Say whether the model was trained so that its virtual ensembles are samples, of a loss that is read so."""
    read = (_GAUSSIAN, "Poisson", *_CLASSES)
    return bool(final.get_all_params().get("posterior_sampling")) and _loss(final)[0] in read
