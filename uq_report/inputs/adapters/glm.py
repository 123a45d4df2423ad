"""Models that fit a mean: Poisson, gamma and Tweedie likelihoods, whose dispersion must be given where it is free."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

from ...core.model.adapter import Match
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import Gamma, Poisson, Scipy, Tweedie
from .outputs import point_prediction, refuse_rows
from .sklearn_ import SklearnAdapter, is_a, transform, unwrap

_ESTIMATE = """\
from {module} import {adapter}

mean = {mean}  # of {rows}
dispersion = float(((y_{suffix} - mean) ** 2 / mean**{power:g}).sum() / {divisor})
uq.explain(model, X, y, adapter={adapter}(dispersion=dispersion))"""


class DispersionEstimate(NamedTuple):
    """How a user gets the dispersion: `mean` is the expression of the means of `rows`, `X_suffix`; over `divisor`.

    Parameters
    ----------
    adapter, module : str
        Where the dispersion is given.
    mean, suffix, rows, divisor : str
    """

    adapter: str
    module: str
    mean: str
    suffix: str = "calibration"
    rows: str = "rows that were neither fitted nor audited"
    divisor: str = "len(mean)"


def check_dispersion(who: str, value: Any) -> None:
    """Refuse a dispersion that is neither None nor a finite number > 0."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise InputError(f"{who}.dispersion must be None or a finite number > 0; got {value!r}.")


def remarks_on(dispersion: float | None) -> tuple[str, ...]:
    """Return what a reader must know of a dispersion that was given; nothing of none.

    Examples
    --------
    >>> remarks_on(0.5)[0].partition(":")[0]
    'The dispersion 0.5 was given, not fitted by the model'
    """
    if dispersion is None:
        return ()
    measure = (
        "Where outcomes may be 0 (Tweedie), entropy and nll count the probability of 0 beside the density above it."
    )
    given = f"The dispersion {dispersion:g} was given, not fitted by the model: all uncertainty rests on it."
    return (f"{given} {measure}",)


def dispersed(
    who: str, what: str, mean: FloatArray, power: float, dispersion: float | None, estimate: DispersionEstimate
) -> Distribution:
    """Return the distribution with these means and the variance dispersion * mean^power.

    Parameters
    ----------
    who, what : str
        The adapter and the model, for messages.
    mean : array of shape (n,)
    power : float
        1 is Poisson, whose dispersion is 1; 2 is gamma, between them Tweedie; 3 is the inverse Gaussian.
    dispersion : float, optional
    estimate : Estimate
        What a user is told to type where the dispersion is missing.

    Raises
    ------
    InputError
        If the dispersion is missing, is not 1 for a Poisson, or the power is another.
    """
    if not 1 <= power <= 2 and power != 3:
        raise InputError(
            f"{who}.power must be from 1 to 2 or 3, where a likelihood is known; got {power:g}. Fit another power, or "
            "pass a function of the rows that returns a distribution."
        )
    refuse_rows(f"{what} must predict a mean > 0", ~(mean > 0), "Fit it with a log link.")
    if power == 1:
        if dispersion not in (None, 1):
            raise InputError(
                f"{who}.dispersion must be None or 1 for the Poisson likelihood; got {dispersion}. "
                "Other counts are no Poisson: pass a function of the rows that returns NegativeBinomial(mean, size)."
            )
        return Poisson(mean)
    if dispersion is None:
        code = _ESTIMATE.format(power=power, **estimate._asdict())
        raise InputError(
            f"{who}.dispersion must be a number > 0 for {what}, which fits the mean alone; got None. {to_type(code)}"
        )
    if power == 2:
        return Gamma(1 / dispersion, mean * dispersion)
    if power == 3:
        return Scipy.named("invgauss", mean * dispersion, scale=1 / dispersion)
    return Tweedie(mean, dispersion, power)


@dataclass(frozen=True)
class PoissonAdapter(SklearnAdapter):
    """PoissonRegressor, and HistGradientBoostingRegressor with ``loss="poisson"``.

    Alone, last in a pipeline, or in a search object. ``predict`` gives the rate. y must hold
    counts: a model of rates per exposure (y divided by an exposure) is no Poisson distribution of
    its y; wrap it in a function that returns ``Poisson(rate * exposure)`` and audit the counts.
    """

    name: ClassVar[str] = "poisson"

    def matches(self, model: Any) -> Match | None:
        """Match the two by name."""
        final = unwrap(model)[1]
        boosted = is_a(final, ("HistGradientBoostingRegressor",)) and getattr(final, "loss", None) == "poisson"
        poisson = boosted or is_a(final, ("PoissonRegressor",))
        return Match(1, f"{type(final).__name__} with the Poisson loss") if poisson else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the predicted rates as Poisson distributions."""
        steps, final = unwrap(model)
        return Poisson(point_prediction(final, transform(steps, X)))


_FITTED = DispersionEstimate(
    "GlmAdapter",
    __name__,
    "model.predict(X_train)",
    "train",
    "the training sample (Pearson's chi-square over the degrees of freedom)",
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
