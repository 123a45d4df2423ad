"""What lies beyond the outermost edge of a piecewise density: an exponential or a half-normal tail."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from scipy.special import erf, ndtr, ndtri

from ...core.support.arrays import FloatArray

_HALF_NORMAL_MEAN = float(np.sqrt(2 / np.pi))


class Tail(Protocol):
    """The distance T >= 0 from the edge, in units of the tail's scale."""

    mean: ClassVar[float]
    variance: ClassVar[float]
    entropy: ClassVar[float]
    square: ClassVar[float]  # the integral of the squared survival function

    def log_density(self, t: FloatArray) -> FloatArray:
        """Return the log density of T at t >= 0."""

    def beyond(self, t: FloatArray) -> FloatArray:
        """Return P(T > t)."""

    def at(self, share: FloatArray) -> FloatArray:
        """Return the distance beyond which `share` of the tail lies."""

    def distance(self, d: FloatArray) -> FloatArray:
        """Return the mean absolute value of T - d, for d >= 0."""


class Exponential:
    """exp(-t)."""

    mean: ClassVar[float] = 1.0
    variance: ClassVar[float] = 1.0
    entropy: ClassVar[float] = 1.0
    square: ClassVar[float] = 0.5

    def log_density(self, t: FloatArray) -> FloatArray:
        """Return -t."""
        return -t

    def beyond(self, t: FloatArray) -> FloatArray:
        """Return exp(-t)."""
        return np.exp(-t)

    def at(self, share: FloatArray) -> FloatArray:
        """Return -log(share)."""
        return -np.log(share)

    def distance(self, d: FloatArray) -> FloatArray:
        """Return d - 1 + 2 exp(-d)."""
        return np.asarray(d - 1 + 2 * np.exp(-d))


class HalfNormalTail:
    """2 phi(t)."""

    mean: ClassVar[float] = _HALF_NORMAL_MEAN
    variance: ClassVar[float] = 1 - 2 / np.pi
    entropy: ClassVar[float] = float(0.5 + 0.5 * np.log(np.pi / 2))
    square: ClassVar[float] = float((2 - np.sqrt(2)) * _HALF_NORMAL_MEAN)

    def log_density(self, t: FloatArray) -> FloatArray:
        """Return log(2 phi(t))."""
        return np.asarray(-0.5 * np.square(t) + np.log(_HALF_NORMAL_MEAN))

    def beyond(self, t: FloatArray) -> FloatArray:
        """Return 2 Phi(-t)."""
        return np.asarray(2 * ndtr(-t))

    def at(self, share: FloatArray) -> FloatArray:
        """Return -Phi^-1(share / 2)."""
        return np.asarray(-ndtri(share / 2))

    def distance(self, d: FloatArray) -> FloatArray:
        """Return E T - d + 2 * the integral of P(T <= t) from 0 to d."""
        below = d * erf(d / np.sqrt(2)) + self.mean * np.expm1(-0.5 * np.square(d))
        return np.asarray(self.mean - d + 2 * below)
