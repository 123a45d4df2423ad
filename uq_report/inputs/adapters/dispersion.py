"""Models that fit a mean under a gamma or Tweedie likelihood: the dispersion they leave open must be given."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError, to_type
from ...distributions import Gamma, Poisson, Scipy, Tweedie
from .outputs import refuse_rows

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
