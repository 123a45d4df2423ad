"""One smoothed shape, moved to each row's place and stretched to its scale."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr

from ..arrays import AnyArray, FloatArray
from ..errors import InputError
from .normal import FISHER, absolute_moment, log_density
from .normal_mixture import NormalMixture
from .rowwise import Rowwise, row_sum
from .validate import levels, refuse, same_length, vector

_CELLS = 1 << 18  # numbers in one array of (row, centre)
_REACH, _STEPS = 10.0, 4  # of the grid that expectations are taken on, in bandwidths and steps per bandwidth
_ALWAYS = frozenset({"mean", "variance", "entropy", "log_prob", "cdf", "quantile", "sample", "crps"})


class Smoothed(Rowwise):
    """n distributions of loc + scale Z, where Z is one of the centres plus a normal of the bandwidth.

    Parameters
    ----------
    loc : array of shape (n,)
    scale : float or array of shape (n,)
        Greater than 0.
    centres : array of shape (m,)
    bandwidth : float
        Greater than 0, in units of the centres.

    Raises
    ------
    InputError
        If a value is not finite, or a scale or the bandwidth not positive.

    Examples
    --------
    >>> Smoothed([0.0, 5.0], [1.0, 2.0], [-1.0, 1.0], 0.5).variance()
    array([1.25, 5.  ])
    """

    family = "smoothed empirical"
    supports = _ALWAYS | FISHER
    parametrisation = ("loc", "scale")
    by_row = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, centres: Any, bandwidth: float) -> None:
        self.loc = vector("smoothed.loc", loc)
        self.scale = same_length("smoothed.scale", scale, len(self.loc))
        refuse("smoothed.scale", "greater than 0", self.scale, self.scale <= 0, "Give each row a positive scale.")
        self.centres = vector("smoothed.centres", centres)
        if not (len(self.centres) and np.isfinite(bandwidth) and bandwidth > 0):
            raise InputError(
                f"smoothed must have centres and a bandwidth > 0; got {len(self.centres)} and {bandwidth!r}."
            )
        self.bandwidth = float(bandwidth)

    @cached_property
    def shape(self) -> NormalMixture:
        """The distribution of Z."""
        return NormalMixture(self.centres[None], np.full((1, len(self.centres)), self.bandwidth))

    def moved(self, loc: Any, scale: Any) -> Smoothed:
        """Return distributions of the same shape at other places and scales."""
        _ = self.constants
        other = Smoothed(loc, scale, self.centres, self.bandwidth)
        other.__dict__.update(shape=self.shape, constants=self.constants)
        return other

    @cached_property
    def constants(self) -> tuple[float, FloatArray, float]:
        """The entropy of Z, its Fisher information in (loc, scale), and half its mean distance from its like."""
        reach = _REACH * self.bandwidth
        n = int(np.ceil((np.ptp(self.centres) + 2 * reach) / self.bandwidth * _STEPS)) + 1
        # a density that vanishes at both ends: the trapezoid rule is exact to rounding
        z = np.linspace(self.centres.min() - reach, self.centres.max() + reach, n)
        blocks = map(self._log_density_and_slope, _blocks(z, self))
        log_f, slope = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        weight = np.exp(log_f) * (z[1] - z[0])
        terms = slope, 1 + z * slope
        information = np.array([[float(np.sum(weight * a * b)) for a in terms] for b in terms])
        at = self.centres.mean(keepdims=True)
        apart = row_sum(absolute_moment(at[:, None] - self.centres, np.float64(self.bandwidth**2)), self._shares)
        return float(-np.sum(weight * log_f)), information, float((apart - self.shape.crps(at))[0])

    @property
    def _shares(self) -> FloatArray:
        return np.full(len(self.centres), 1 / len(self.centres))

    def _log_density_and_slope(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log f and its derivative at z, shape (n,)."""
        apart = (z[:, None] - self.centres) / self.bandwidth
        member = log_density(apart, np.float64(self.bandwidth))
        total = logsumexp(member, axis=1)
        slope = -row_sum(np.exp(member - total[:, None]) * apart) / self.bandwidth
        return np.asarray(total - np.log(len(self.centres))), slope

    def _by_block(self, y: AnyArray, of: Any) -> FloatArray:
        """Return a function of the standardised outcomes, by blocks that stay in the processor's cache."""
        z = (np.asarray(y, dtype=float) - self.loc) / self.scale
        return np.concatenate([of(block) for block in _blocks(z, self)]) if len(z) else z

    def mean(self) -> FloatArray:
        """Return loc + scale E[Z]."""
        return np.asarray(self.loc + self.scale * self.centres.mean())

    def variance(self) -> FloatArray:
        """Return scale² (variance of the centres + bandwidth²)."""
        return np.asarray(np.square(self.scale) * (self.centres.var() + self.bandwidth**2))

    def entropy(self) -> FloatArray:
        """Return the entropy of Z + log scale."""
        return self.constants[0] + np.log(self.scale)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y."""
        return self._by_block(y, lambda z: self._log_density_and_slope(z)[0]) - np.log(self.scale)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return self._by_block(y, lambda z: row_sum(ndtr((z[:, None] - self.centres) / self.bandwidth), self._shares))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return loc + scale times the quantiles of Z, shape (n, L)."""
        z = self.shape.quantile(levels("smoothed.quantile.p", p))
        return np.asarray(self.loc[:, None] + self.scale[:, None] * z)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        z = rng.normal(rng.choice(self.centres, (size, len(self))), self.bandwidth)
        return np.asarray(self.loc + self.scale * z)

    def crps(self, y: AnyArray) -> FloatArray:
        """Return scale (E|Z - z| - E|Z - Z'| / 2) (Gneiting & Raftery 2007, eq. 21)."""
        variance = np.float64(self.bandwidth**2)
        return self.scale * (
            self._by_block(y, lambda z: row_sum(absolute_moment(z[:, None] - self.centres, variance), self._shares))
            - self.constants[2]
        )

    @property
    def parameters(self) -> FloatArray:
        """(loc, scale), shape (n, 2)."""
        return np.stack([self.loc, self.scale], axis=1)

    def fisher_information(self) -> FloatArray:
        """Return the information of Z / scale², shape (n, 2, 2)."""
        return np.asarray(self.constants[1] / np.square(self.scale)[:, None, None])


def _blocks(z: FloatArray, of: Smoothed) -> list[FloatArray]:
    step = max(1, _CELLS // len(of.centres))
    return [z[start : start + step] for start in range(0, len(z), step)]
