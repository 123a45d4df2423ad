"""How residuals spread around predictions: a part that is the same in every row, one by members, and tails."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
from scipy import optimize

from ...core.support.arrays import FloatArray
from ...distributions.families.student_t import log_density_of_t

DF_LIMITS = (2.1, 200.0)  # a finite variance, and what is hardly told from a normal
_LIMITS = (-14.0, 5.0)  # of the logarithms of a and b, in units of the mean square
_STARTS = ((0.5, 0.5), (0.05, 0.95), (0.95, 0.05))


class SpreadFit(NamedTuple):
    """A centred Student-t of `df` degrees of freedom and squared scale a + b s², where s² is the members' variance."""

    df: float
    a: float
    b: float

    def square(self, members: FloatArray) -> FloatArray:
        """Return the squared scale of rows whose members have this variance."""
        return np.asarray(self.a + self.b * members)

    def share(self, members: FloatArray) -> FloatArray:
        """Return the members' share b s²/(a + b s²) of the variance of each row.

        Examples
        --------
        >>> SpreadFit(5.0, 1.0, 2.0).share(np.array([0.0, 0.5])).tolist()
        [0.0, 0.5]
        """
        return np.asarray(self.b * members / self.square(members))


def fitted_spread(residual: FloatArray, members: FloatArray) -> SpreadFit:
    """Return the spread of residuals by likelihood, given the variance of the members in each row; both shape (n,).

    First ``(a, b) >= 0`` maximise the normal likelihood of variances a + b s²; b is 0 where that is no better than one
    variance, their mean square. Then degrees of freedom and scale of a centred Student-t of the residuals divided by
    ``√(a + b s²)`` maximise its likelihood.
    """
    mean_square, mean_members = float(np.square(residual).mean()), float(members.mean())
    e = residual / mean_square**0.5
    a, b = _variances(np.square(e), members / mean_members) if mean_members > 0 else (1.0, 0.0)
    df, scale = _tails(e / np.sqrt(a + b * members / (mean_members or 1.0)))
    whole = scale**2 * mean_square
    return SpreadFit(df, whole * a, whole * b / (mean_members or 1.0))


def _variances(squares: FloatArray, members: FloatArray) -> tuple[float, float]:
    """Return (a, b) for squares and variances of mean 1."""

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        a, b = np.exp(logs)
        v = a + b * members
        slope = (1 / v - squares / v**2) / 2
        return float((np.log(v) + squares / v).mean() / 2), np.array([a * slope.mean(), b * (slope * members).mean()])

    found = [
        optimize.minimize(loss, np.log(start), jac=True, method="L-BFGS-B", bounds=[_LIMITS] * 2) for start in _STARTS
    ]
    best = min(found, key=lambda fit: float(fit.fun))
    if not best.fun < 0.5 - 1e-9:  # that of one variance for all
        return 1.0, 0.0
    return exp(best.x[0]), exp(best.x[1])


def _tails(z: FloatArray) -> tuple[float, float]:
    """Return degrees of freedom and scale of a centred Student-t."""

    def loss(logs: FloatArray) -> float:
        df, scale = np.exp(logs)
        return float(logs[1] - log_density_of_t(z / scale, df).mean())

    bounds = [tuple(np.log(DF_LIMITS)), (-10.0, 10.0)]
    found = [optimize.minimize(loss, np.log([df, 1.0]), method="L-BFGS-B", bounds=bounds) for df in (4.0, 100.0)]
    df, scale = np.exp(min(found, key=lambda fit: float(fit.fun)).x)
    return float(df), float(scale)
