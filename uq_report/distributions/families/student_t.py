"""Student's t distribution with location and scale."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.special import betaln, digamma, polygamma, stdtr, stdtrit

from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import UnsupportedError
from ..numerics.numeric import WHOLE
from ..numerics.quadrature import Panels, even_panels, half_from, integral
from ..numerics.validate import Rowwise, levels, positive, refuse, same_length, vector

_MOMENTS = frozenset({"mean", "variance", "crps"})

_EDGES = np.linspace(-5.0, 5.0, 21)  # of y = sinh(sinh(u)): out to 8e31 scales


class StudentT(Rowwise):
    """n Student-t distributions of y = loc + scale * T.

    Parameters
    ----------
    df : float or array of shape (n,)
        Degrees of freedom nu, greater than 0. Give one number where it is the same for all rows
        whatever their features: it is then no parameter of the Fisher information.
    loc : array of shape (n,)
    scale : float or array of shape (n,)
        The scale tau, greater than 0; not the standard deviation, which is tau sqrt(nu / (nu - 2)).

    Notes
    -----
    The mean exists for nu > 1. One df of at most 1 leaves `mean`, `variance` and `crps` out of
    `supports`; where df varies, mean and variance are infinite on such rows and `crps` refuses them.
    The variance is infinite for nu <= 2.

    Examples
    --------
    >>> StudentT(4, [0.0], [1.0]).variance()
    array([2.])
    """

    family = "Student-t"
    by_row = ("loc", "scale", "df")

    def __init__(self, df: Any, loc: Any, scale: Any) -> None:
        self.loc = vector("student_t.loc", loc)
        n = len(self.loc)
        self.scale = same_length("student_t.scale", scale, n)
        self.varies = np.ndim(df) > 0
        self.df = same_length("student_t.df", df, n)
        positive("student_t.scale", self.scale, "Give the model a noise term.")
        refuse("student_t.df", "greater than 0", self.df, self.df <= 0, "Use Normal for infinitely many.")
        self.parametrisation = ("mu", "tau2", "nu") if self.varies else ("mu", "tau2")
        self.moments = self.varies or float(df) > 1

    @property
    def supports(self) -> frozenset[str]:
        """All but the split into parts; no moments if the one df is at most 1."""
        return WHOLE if self.moments else WHOLE - _MOMENTS

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method in _MOMENTS:
            return f"{method} is not defined for a Student-t distribution with at most 1 degree of freedom"
        return super().why_not(method)

    def mean(self) -> FloatArray:
        """Return mu; infinite where a varying df is at most 1 and there is no mean."""
        self._need("mean")
        return np.where(self.df > 1, self.loc, np.inf)

    def variance(self) -> FloatArray:
        """Return tau^2 nu / (nu - 2); infinite where nu <= 2."""
        self._need("variance")
        heavy = self.df <= 2
        excess = np.where(heavy, 1.0, self.df - 2)
        return np.where(heavy, np.inf, np.square(self.scale) * self.df / excess)

    def entropy(self) -> FloatArray:
        """Return the differential entropy in nats."""
        return entropy_of_t(self.df) + np.log(self.scale)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y."""
        return log_density_of_t(self._z(y), self.df) - np.log(self.scale)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return np.asarray(stdtr(self.df, self._z(y)))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        level = levels("student_t.quantile.p", p)
        return self.loc[:, None] + self.scale[:, None] * stdtrit(self.df[:, None], level)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return self.loc + self.scale * rng.standard_t(self.df, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score of Jordan, Krueger & Lerch 2019, appendix A; needs nu > 1 on every row."""
        self._need("crps")
        few = int((self.df <= 1).sum())
        if few:
            raise UnsupportedError(f"student_t.crps needs more than 1 degree of freedom; got fewer on {few} rows.")
        z, df = self._z(y), self.df
        density = np.exp(log_density_of_t(z, df))
        spread = 2 * np.sqrt(df) / (df - 1) * np.exp(betaln(0.5, df - 0.5) - 2 * betaln(0.5, df / 2))
        score = z * (2 * stdtr(df, z) - 1) + 2 * density * (df + np.square(z)) / (df - 1) - spread
        return np.asarray(self.scale * score)

    def kl(self, other: Self) -> FloatArray:
        """Return the integral of p log(p / q) by quadrature, to 1e-9 nats or of its value."""
        values = over_the_line(self, other, self.loc, self.scale, lambda p, q: np.exp(p) * (p - q))
        return np.maximum(values, 0.0)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return -2 log of the integral of √(p q) by quadrature."""
        loc, scale = (self.loc + other.loc) / 2, np.sqrt(self.scale * other.scale)
        return half_from(
            over_the_line(self, other, loc, scale, lambda p, q: np.square(np.exp(p / 2) - np.exp(q / 2)) / 2)
        )

    @property
    def parameters(self) -> FloatArray:
        """(mu, tau^2), and nu where it varies, shape (n, 2) or (n, 3)."""
        columns = [self.loc, np.square(self.scale), self.df]
        return np.stack(columns[: len(self.parametrisation)], axis=1)

    def fisher_information(self) -> FloatArray:
        """Return the information of (mu, tau^2), and of nu where it varies (Lange, Little & Taylor 1989)."""
        df, precision = self.df, self.scale**-2.0
        information = np.zeros((len(self), 3, 3))
        information[:, 0, 0] = (df + 1) / (df + 3) * precision
        information[:, 1, 1] = df / (2 * (df + 3)) * precision**2
        information[:, 2, 2] = information_of_df(df)
        information[:, 1, 2] = information[:, 2, 1] = -precision / ((df + 1) * (df + 3))
        size = len(self.parametrisation)
        return information[:, :size, :size]

    def _z(self, y: AnyArray) -> FloatArray:
        return np.asarray((y - self.loc) / self.scale)

    def _need(self, method: str) -> None:
        if not self.moments:
            self._cannot(method)


def over_the_line(
    p: StudentT, q: StudentT, loc: FloatArray, scale: FloatArray, terms: Callable[[FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """Return the integral of ``terms(log p, log q)`` over y = loc + scale * sinh(sinh(u)), shape (n,).

    The logarithms are those of densities in units of `scale`; heavy tails end within a few units of u.
    """

    def integrand(panels: Panels) -> FloatArray:
        u = panels.nodes()
        y, width = np.sinh(np.sinh(u)), np.cosh(np.sinh(u)) * np.cosh(u)
        log_p, log_q = (_log_density_within(t, loc, scale, panels, y) for t in (p, q))
        return np.asarray(width * terms(log_p, log_q))

    return integral(len(p), even_panels(len(p), _EDGES), integrand, tolerance=1e-9, relative=1e-9, halvings=30)


def _log_density_within(t: StudentT, loc: FloatArray, scale: FloatArray, panels: Panels, y: FloatArray) -> FloatArray:
    """Return the log density of (Y - loc) / scale at y, shape (panels, 15)."""
    ratio = (scale / t.scale)[panels.row, None]
    z = ((loc - t.loc) / t.scale)[panels.row, None] + ratio * y
    return log_density_of_t(z, t.df[panels.row, None]) + np.log(ratio)


def log_density_of_t(z: FloatArray, df: FloatArray) -> FloatArray:
    """Return the log density of the standard t at z."""
    tail = 0.5 * (df + 1) * np.log1p(np.square(z) / df)
    return np.asarray(-betaln(0.5, df / 2) - 0.5 * np.log(df) - tail)


def entropy_of_t(df: FloatArray) -> FloatArray:
    """Return the entropy of the standard t: ((v+1)/2) [psi((v+1)/2) - psi(v/2)] + log(sqrt(v) B(v/2, 1/2)).

    From v = 100 on its expansion in 1/v, whose next term is below 2e-14, where the form above cancels.
    """
    u = 1 / np.maximum(df, 100.0)
    series = 0.5 + 0.5 * np.log(2 * np.pi) + u * (1 + u * (1 / 4 + u * (-1 / 6 + u * (-1 / 8 + u * (3 / 10 + u / 4)))))
    v = np.minimum(df, 100.0)
    form = (v + 1) / 2 * (digamma((v + 1) / 2) - digamma(v / 2)) + 0.5 * np.log(v) + betaln(v / 2, 0.5)
    return np.where(df >= 100, series, form)


def information_of_df(df: FloatArray) -> FloatArray:
    """Return I_vv = [psi'(v/2) - psi'((v+1)/2)] / 4 - (v+5) / (2v (v+1)(v+3)).

    From v = 200 on its expansion in 1/v, good to 2e-11 of the value, where the form above cancels.
    """
    u = 1 / np.maximum(df, 200.0)
    series = u**4 * (7 / 2 + u * (-13 + u * (79 / 2 + u * (-119 + u * (727 / 2 - 1101 * u)))))
    v = np.minimum(df, 200.0)
    form = (polygamma(1, v / 2) - polygamma(1, (v + 1) / 2)) / 4 - (v + 5) / (2 * v * (v + 1) * (v + 3))
    return np.where(df >= 200, series, form)
