"""Whole numbers from a continuous distribution, by rounding."""

from __future__ import annotations

from typing import Self

import numpy as np

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ..numerics.numeric import Numeric
from ..numerics.quadrature import KRONROD, NODES
from ..numerics.rowwise import row_sum
from ..numerics.validate import levels
from .wrapping import DENSITY, SHAPE, no_parameters, require, taken

_CANCELS = 1e-3  # of a difference of two values of a cdf above one half, from where on the density is integrated


class Discretised(Numeric):
    """n distributions of a continuous outcome rounded to whole numbers: P(k) = F(k + 1/2) - F(k - 1/2).

    Parameters
    ----------
    of : Distribution
        Continuous, with ``log_prob``, ``cdf`` and ``quantile``. For counts truncate it first:
        ``Discretised(Truncated(of, lower=-0.5))``.

    Examples
    --------
    >>> from uq_report.distributions import Normal
    >>> np.exp(Discretised(Normal([0.0], 1.0)).log_prob(np.array([0.0]))).round(4)
    array([0.3829])
    """

    discrete = True

    def __init__(self, of: Distribution) -> None:
        require("discretised.of", of, "log_prob", "cdf", "quantile", "sample")
        if of.discrete:
            raise InputError(
                f"discretised.of must be continuous; got a {of.family} one, which is discrete. Use it as it is."
            )
        self.of, self.family = of, f"discretised {of.family}"

    @property
    def supports(self) -> frozenset[str]:
        """All that needs no parameters."""
        return SHAPE | DENSITY

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        return no_parameters(self, method) or super().why_not(method)

    def __len__(self) -> int:
        return len(self.of)

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        return taken(self, index, "of")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log probability of whole numbers y; far in the upper tail by Kronrod's rule over the density."""
        y = np.asarray(y, dtype=float)
        before, after = self.of.cdf(y - 0.5), self.of.cdf(y + 0.5)
        mass = np.maximum(after - before, 0.0)
        tail = np.flatnonzero((before > 0.5) & (mass < _CANCELS))
        with np.errstate(divide="ignore"):
            value = np.log(mass)
        if len(tail):
            value[tail] = self._by_density(tail, y[tail])
        return value

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y), also for y that are no whole numbers."""
        return self.of.cdf(np.floor(y) + 0.5)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest whole numbers with P(Y <= k) >= p, shape (n, L)."""
        guess = np.ceil(self.of.quantile(levels("discretised.quantile.p", p)) - 0.5)
        return np.asarray(guess + 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, rounded, shape (size, n)."""
        return np.floor(self.of.sample(rng, size) + 0.5)

    def _by_density(self, rows: IntArray, y: FloatArray) -> FloatArray:
        flat = self.of.take(np.repeat(rows, len(NODES)))
        log_density = flat.log_prob((y[:, None] + NODES / 2).ravel()).reshape(-1, len(NODES))
        largest = log_density.max(axis=1)
        largest = np.where(np.isfinite(largest), largest, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(largest + np.log(row_sum(np.exp(log_density - largest[:, None]), KRONROD / 2)))
