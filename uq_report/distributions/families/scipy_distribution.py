"""Any family of scipy.stats."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ..numerics.validate import levels, refuse
from ..wrappers.wrapping import Unparametrised


class Scipy(Unparametrised):
    """n distributions of a family of scipy.stats: the door for those that have no class of their own.

    Parameters
    ----------
    frozen : scipy.stats frozen distribution
        With parameters that are numbers or arrays of shape (n,).

    Notes
    -----
    Density, cdf and quantiles are scipy's; entropy, divergences and scores follow by quadrature. The variance, and
    the mean, are infinite where scipy has none.

    Examples
    --------
    >>> from scipy import stats
    >>> Scipy(stats.gumbel_r(loc=[0.0, 1.0], scale=2.0)).entropy().round(4)
    array([2.2704, 2.2704])
    """

    def __init__(self, frozen: Any) -> None:
        base = getattr(frozen, "dist", None)
        if not all(hasattr(frozen, name) for name in ("args", "kwds", "ppf", "cdf")) or base is None:
            raise InputError(
                f"scipy.frozen must be a frozen distribution, as in stats.gumbel_r(loc=a, scale=b); "
                f"got {type(frozen).__name__}. Call the family with its parameters."
            )
        self.base, self.discrete = base, hasattr(base, "logpmf")
        self.family = f"scipy {base.name}"
        values = np.broadcast_arrays(*frozen.args, *frozen.kwds.values(), np.zeros(1))[:-1]
        if any(value.ndim > 1 for value in values):
            raise InputError(f"scipy.frozen must have parameters of shape (n,); got {values[0].shape}.")
        self.args = [np.array(value) for value in values]
        self.names = [None] * len(frozen.args) + list(frozen.kwds)
        self.length = len(values[0]) if values else 1
        middle = self._call("ppf", 0.5)
        refuse(f"scipy.{base.name}", "defined", middle, ~np.isfinite(middle), "Look at these rows' parameters.")

    @classmethod
    def named(cls, family: str, *args: Any, **named: Any) -> Self:
        """Return a family of scipy.stats by its name there, which is loaded here: it is heavy, and few models need it.

        Examples
        --------
        >>> Scipy.named("gumbel_r", loc=[0.0, 1.0], scale=2.0).mean().round(4)
        array([1.1544, 2.1544])
        """
        from scipy import stats

        return cls(getattr(stats, family)(*args, **named))

    def __len__(self) -> int:
        return len(self.args[0]) if self.args else self.length

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = copy(self)
        other.args = [value[index] for value in self.args]
        other.length = len(np.arange(self.length)[index]) if not self.args else 0
        return other

    def mean(self) -> FloatArray:
        """Return scipy's mean."""
        return self._moment("mean")

    def variance(self) -> FloatArray:
        """Return scipy's variance."""
        return self._moment("var")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return scipy's log density or log probability."""
        return self._call("logpmf" if self.discrete else "logpdf", y)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return scipy's cdf."""
        return self._call("cdf", y)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return scipy's quantiles, shape (n, L)."""
        level = levels("scipy.quantile.p", p)
        return np.stack([self._call("ppf", p) for p in level], axis=1)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray | IntArray:
        """Draw `size` values from each by scipy, shape (size, n)."""
        positional, named = self._parameters()
        return np.asarray(self.base.rvs(*positional, **named, size=(size, len(self)), random_state=rng))

    def _moment(self, name: str) -> FloatArray:
        value = self._call(name)
        return np.where(np.isnan(value), np.inf, value)

    def _call(self, method: str, *first: Any) -> FloatArray:
        positional, named = self._parameters()
        with np.errstate(all="ignore"):  # what scipy's formulas meet on the way to a value that is right
            value = np.asarray(getattr(self.base, method)(*first, *positional, **named), dtype=float)
        return np.broadcast_to(value, (len(self),)).copy()

    def _parameters(self) -> tuple[list[FloatArray], dict[str, FloatArray]]:
        both = list(zip(self.names, self.args, strict=True))
        return [v for name, v in both if name is None], {name: v for name, v in both if name is not None}
