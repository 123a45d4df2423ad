"""The normal distribution."""

from typing import Any, Self

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import WHOLE
from ..numerics.quadrature import kl_terms
from ..numerics.validate import Rowwise, levels, positive, same_length, vector

LOG_2PI = float(np.log(2 * np.pi))


class Normal(Rowwise):
    """n normal distributions.

    Parameters
    ----------
    mean : array of shape (n,)
    std : float or array of shape (n,)
        Standard deviations, greater than 0.

    Raises
    ------
    InputError
        If a mean or standard deviation is not finite, or a standard deviation is not positive.

    Examples
    --------
    >>> Normal([0.0, 5.0], [1.0, 2.0]).entropy().round(4)
    array([1.4189, 2.1121])
    """

    family = "normal"
    supports = WHOLE
    parametrisation = ("mu", "sigma2")
    by_row = ("loc", "scale")

    def __init__(self, mean: Any, std: Any) -> None:
        self.loc = vector("normal.mean", mean)
        self.scale = same_length("normal.std", std, len(self.loc))
        remedy = "Give the model a noise term, or a lower bound for its standard deviation."
        positive("normal.std", self.scale, remedy)

    def mean(self) -> FloatArray:
        """Return mu."""
        return self.loc

    def variance(self) -> FloatArray:
        """Return sigma^2."""
        return np.square(self.scale)

    def entropy(self) -> FloatArray:
        """Return 1/2 + log(2 pi sigma^2) / 2."""
        return 0.5 + 0.5 * LOG_2PI + np.log(self.scale)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y."""
        return log_density((y - self.loc) / self.scale, self.scale)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return Phi((y - mu) / sigma)."""
        return np.asarray(ndtr((y - self.loc) / self.scale))

    def log_survival(self, y: AnyArray) -> FloatArray:
        """Return log Phi((mu - y) / sigma)."""
        return np.asarray(log_ndtr((self.loc - y) / self.scale))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return mu + sigma * Phi^-1(p), shape (n, L)."""
        return np.asarray(self.loc[:, None] + self.scale[:, None] * ndtri(levels("normal.quantile.p", p)))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return self.loc + self.scale * rng.standard_normal((size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return sigma [z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)] (Gneiting & Raftery 2007, eq. 21)."""
        return np.asarray(absolute_moment(y - self.loc, self.variance()) - self.scale / np.sqrt(np.pi))

    def kl(self, other: Self) -> FloatArray:
        """Return log(s_q / s_p) + (s_p^2 + (mu_p - mu_q)^2) / (2 s_q^2) - 1/2, as a sum of terms >= 0."""
        with np.errstate(over="ignore"):  # then it is beyond the largest float
            ratio, z = self.scale / other.scale, (self.loc - other.loc) / other.scale
            narrower = kl_terms(other.scale, self.scale) / other.scale
            return np.asarray(narrower + (np.square(ratio - 1) + np.square(z)) / 2)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return log((s_p^2 + s_q^2) / (2 s_p s_q)) + (mu_p - mu_q)^2 / (2 (s_p^2 + s_q^2))."""
        wider = np.square(self.scale - other.scale) / (2 * self.scale * other.scale)
        apart = np.square(self.loc - other.loc) / (2 * (self.variance() + other.variance()))
        return np.asarray(np.log1p(wider) + apart)

    @property
    def parameters(self) -> FloatArray:
        """(mu, sigma^2), shape (n, 2)."""
        return np.stack([self.loc, np.square(self.scale)], axis=1)

    def fisher_information(self) -> FloatArray:
        """Return diag(1 / sigma^2, 1 / (2 sigma^4)), shape (n, 2, 2)."""
        precision = 1 / self.variance()
        return diagonal(precision, 0.5 * precision**2)


def log_density(z: FloatArray, std: FloatArray) -> FloatArray:
    """Return the log density of a normal at standardised values z."""
    return np.asarray(-0.5 * np.square(z) - np.log(std) - 0.5 * LOG_2PI)


def absolute_moment(d: FloatArray, v: FloatArray) -> FloatArray:
    """Return A(d, v), the mean absolute value of a normal with mean d and variance v.

    A = d (2 Phi(d / s) - 1) + 2 s phi(d / s) with s = sqrt(v), and the absolute value of d where v = 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = d / np.sqrt(v)
    spread = d * (2 * ndtr(z) - 1) + 2 * np.sqrt(v) * np.exp(-0.5 * np.square(z) - 0.5 * LOG_2PI)
    return np.where(v > 0, spread, np.abs(d))


def diagonal(*entries: FloatArray) -> FloatArray:
    """Return n diagonal matrices, shape (n, M, M), of M arrays of shape (n,)."""
    matrices = np.zeros((len(entries[0]), len(entries), len(entries)))
    for i, entry in enumerate(entries):
        matrices[:, i, i] = entry
    return matrices
