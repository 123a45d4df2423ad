"""Generalised linear models of scikit-learn with a gamma or Tweedie likelihood, and boosted gamma trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.model.adapter import Match
from ...core.predictive import Distribution
from ...core.support.arrays import Table
from .dispersion import DispersionEstimate, check_dispersion, dispersed, remarks_on
from .outputs import point_prediction
from .sklearn_ import SklearnAdapter, is_a, transform, unwrap

_FITTED = DispersionEstimate(
    "GlmAdapter",
    __name__,
    "model.predict(X_train)",
    "train",
    "the training rows (Pearson's chi-square over the degrees of freedom)",
    "(len(mean) - X_train.shape[1] - 1)",
)
_HELD = DispersionEstimate("GlmAdapter", __name__, "model.predict(X_calibration)")


@dataclass(frozen=True)
class GlmAdapter(SklearnAdapter):
    """GammaRegressor, TweedieRegressor with a power from 1, HistGradientBoostingRegressor with ``loss="gamma"``.

    Alone, last in a pipeline, or in a search object. They fit the mean; the variance is dispersion times
    mean^power, and the dispersion must be given (it is 1 for power 1, the Poisson). Power 3 is the inverse
    Gaussian; between 2 and 3 no likelihood is known here. A TweedieRegressor of power 0 is a point regressor, and
    matches nothing here.

    Parameters
    ----------
    dispersion : float, optional
        The variance is dispersion * mean^2 (gamma) or dispersion * mean^power (Tweedie).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import GammaRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 2.0, 4.0])
    >>> model = GammaRegressor(alpha=0).fit(X, y)
    >>> GlmAdapter(dispersion=0.25).predict(model, X).variance().round(2)
    array([0.25, 1.  , 4.  ])
    """

    dispersion: float | None = None

    name: ClassVar[str] = "glm"

    def __post_init__(self) -> None:
        check_dispersion(self.name, self.dispersion)

    def matches(self, model: Any) -> Match | None:
        """Match the three by name."""
        if isinstance(model, type):
            return None
        final = unwrap(model)[1]
        power = _power(final)
        return None if power in (None, 0) else Match(1, f"{type(final).__name__}: variance dispersion * mean^{power:g}")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return a gamma, Tweedie, Poisson or inverse Gaussian distribution per row."""
        steps, final = unwrap(model)
        power, what = _power(final), type(final).__name__
        mean = point_prediction(final, transform(steps, X))
        estimate = _HELD if is_a(final, ("HistGradientBoostingRegressor",)) else _FITTED
        return dispersed(self.name, what, mean, float(power or 0), self.dispersion, estimate)

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that a dispersion was given."""
        return remarks_on(self.dispersion)


def _power(final: Any) -> float | None:
    """Return the power of the mean that the variance is proportional to; None for other models."""
    if is_a(final, ("GammaRegressor",)):
        return 2
    if is_a(final, ("HistGradientBoostingRegressor",)):
        return 2 if getattr(final, "loss", None) == "gamma" else None
    return float(final.power) if is_a(final, ("TweedieRegressor",)) else None
