"""Any distribution of numbers, limited to a range."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError
from ..numerics.numeric import Numeric
from ..numerics.validate import numbers, refuse
from .wrapping import DENSITY, SHAPE, no_parameters, require, taken

_ROUNDS = 20
_LEAST = 1e-8  # of the probability within the limits: of less, differences of a cdf keep too few digits


class Truncated(Numeric):
    """n distributions given that their outcome lies within limits.

    Parameters
    ----------
    of : Distribution
        Of numbers, continuous or discrete, with ``log_prob`` and ``cdf``.
    lower, upper : float or array of shape (n,), optional
        The limits, themselves included; at least 1e-8 of the probability of each row lies within them.

    Notes
    -----
    Probability beyond the limits is spread over what is within; it does not pile up at the limits. All but the
    density and the cdf are found by quadrature, or by sums.

    Examples
    --------
    >>> from uq_report.distributions import Normal
    >>> Truncated(Normal([0.0], 1.0), lower=0.0).mean().round(4)
    array([0.7979])
    """

    def __init__(self, of: Distribution, lower: Any = None, upper: Any = None) -> None:
        require("truncated.of", of, "log_prob", "cdf", "quantile", "sample")
        self.of, self.discrete, self.family = of, of.discrete, f"truncated {of.family}"
        self.lower, self.upper = _limit("lower", lower, -np.inf, len(of)), _limit("upper", upper, np.inf, len(of))
        bad, remedy = ~(self.lower < self.upper), "Give two limits in order."
        refuse("truncated.lower", "less than upper", self.lower, bad, remedy)
        below = np.nextafter(np.ceil(self.lower), -np.inf) if of.discrete else self.lower
        self.before = np.where(np.isfinite(below), of.cdf(np.where(np.isfinite(below), below, 0.0)), 0.0)
        top = np.where(np.isfinite(self.upper), of.cdf(np.where(np.isfinite(self.upper), self.upper, 0.0)), 1.0)
        self.mass = top - self.before
        remedy = "Move the limits to where the model predicts, or limit a family with heavier tails."
        refuse(
            "truncated.of", f"within the limits with probability >= {_LEAST:g}", self.mass, self.mass < _LEAST, remedy
        )

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
        return taken(self, index, "of", "lower", "upper", "before", "mass")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log q(y) less the logarithm of the probability within the limits; -inf outside."""
        y = np.asarray(y, dtype=float)
        inside = (y >= self.lower) & (y <= self.upper)
        return np.where(inside, self.of.log_prob(np.clip(y, self.lower, self.upper)) - np.log(self.mass), -np.inf)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        within = np.clip(y, self.lower, self.upper)
        reached = np.clip((self.of.cdf(within) - self.before) / self.mass, 0.0, 1.0)
        return np.where(np.asarray(y) < self.lower, 0.0, np.where(np.asarray(y) >= self.upper, 1.0, reached))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n): draws within the limits; what 20 rounds leave by inversion."""
        drawn = np.full(size * len(self), np.nan)
        row, left = np.tile(np.arange(len(self)), size), np.arange(size * len(self))
        for _ in range(_ROUNDS):
            values, at = self.of.take(row[left]).sample(rng, 1)[0], row[left]
            inside = (values >= self.lower[at]) & (values <= self.upper[at])
            drawn[left[inside]], left = values[inside], left[~inside]
        if len(left):
            p = np.maximum(rng.random(len(left)), np.finfo(float).tiny)
            drawn[left] = self.take(row[left]).inverted(p)
        return drawn.reshape(size, len(self))

    def inverted(self, p: FloatArray) -> FloatArray:
        """Return the quantile of each row at its own level, both of shape (n,)."""
        return np.clip(super().inverted(p), self.lower, self.upper)

    def about(self) -> tuple[FloatArray, FloatArray]:
        """Return the median of the whole, moved within the limits, and its spread."""
        low, middle, high = np.asarray(self.of.quantile(np.array([0.1, 0.5, 0.9])), dtype=float).T
        return np.clip(middle, self.lower, self.upper), np.maximum(high - low, 1.0 if self.discrete else 1e-300)


def _limit(name: str, value: Any, default: float, n: int) -> FloatArray:
    """Return a limit of each row, which may be infinite."""
    limits = numbers(f"truncated.{name}", default if value is None else value)
    if limits.shape not in ((), (n,)):
        raise InputError(f"truncated.{name} must have one value per row, {n}, or be one number; got {limits.shape}.")
    limits = np.broadcast_to(limits, (n,)).copy()
    refuse(f"truncated.{name}", "a number", limits, np.isnan(limits), "Leave it out for no limit.")
    return limits
