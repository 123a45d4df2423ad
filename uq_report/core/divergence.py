"""Divergences between two predictive distributions of one family, row by row, in nats.

``kl`` is the Kullback-Leibler divergence, the Rényi divergence of order 1; ``half`` that of order 1/2,
D = -2 log ∫ √(p q), which stays finite where KL is infinite. For a small change of the parameters by v,
KL -> v'Iv / 2 and D -> v'Iv / 4 with I the Fisher information (van Erven & Harremoës 2014,
doi:10.1109/TIT.2014.2320500).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.special import xlogy

from .arrays import FloatArray
from .distributions import Categorical, Normal, Poisson, StudentT
from .distributions.rowwise import row_sum
from .errors import UnsupportedError
from .predictive import Distribution

Order = Literal["kl", "half"]

_U = np.linspace(-3.4, 3.4, 401)  # y = sinh(sinh(u)): a trapezoid that converges exponentially, heavy tails included
_NODES = np.sinh(np.sinh(_U))
_WEIGHTS = np.cosh(np.sinh(_U)) * np.cosh(_U) * (_U[1] - _U[0])


def divergence(p: Distribution, q: Distribution, order: Order, edges: FloatArray | None = None) -> FloatArray:
    """Return the divergence of each row's p from its q, shape (n,); it may be infinite.

    Normal, Student-t (by quadrature), Poisson and categorical distributions have their own form. With
    `edges`, shape (L,), any other that has a ``cdf`` is compared by the probabilities of the cells
    between the edges, which can only lower a divergence.

    Examples
    --------
    >>> divergence(Normal([0.0], 1.0), Normal([0.1], 1.0), "kl").round(6)
    array([0.005])
    >>> divergence(Categorical([[0.5, 0.5]]), Categorical([[1.0, 0.0]]), "kl")
    array([inf])
    """
    for family, form in _FORMS:
        if isinstance(p, family) and isinstance(q, family):
            return np.maximum(form(p, q, order), 0.0)
    if edges is None or "cdf" not in p.supports:
        raise UnsupportedError(
            f"divergence has no rule for a {p.family} predictive distribution. It needs a normal, Student-t, Poisson "
            "or categorical one, or one with a cdf."
        )
    return np.maximum(_between(_cells(p, edges), _cells(q, edges), order), 0.0)


def sensitivity(divergences: FloatArray, order: Order) -> FloatArray:
    """Return √(2 KL) or √(4 D_half): the Fisher length of the change, to first order (Paananen et al., section 2.5)."""
    return np.sqrt((2.0 if order == "kl" else 4.0) * divergences)


def _normal(p: Normal, q: Normal, order: Order) -> FloatArray:
    apart, v, w = np.square(p.loc - q.loc), p.variance(), q.variance()
    if order == "kl":
        ratio = (v - w) / w
        return np.asarray((ratio - np.log1p(ratio) + apart / w) / 2)
    return np.asarray(np.log1p(np.square(p.scale - q.scale) / (2 * p.scale * q.scale)) + apart / (2 * (v + w)))


def _poisson(p: Poisson, q: Poisson, order: Order) -> FloatArray:
    if order == "half":
        return np.asarray(np.square(np.sqrt(p.rate) - np.sqrt(q.rate)))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = xlogy(p.rate, p.rate / q.rate) - p.rate + q.rate
    return np.where(p.rate == 0, q.rate, np.where(q.rate == 0, np.inf, found))


def _categorical(p: Categorical, q: Categorical, order: Order) -> FloatArray:
    return _between(p.probabilities, q.probabilities, order)


def _between(p: FloatArray, q: FloatArray, order: Order) -> FloatArray:
    """Return the divergence of two tables of probabilities, shape (n, k)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if order == "half":
            gap = row_sum(np.square(np.sqrt(p) - np.sqrt(q))) / 2
            return np.asarray(-2 * np.log1p(-np.minimum(gap, 1.0)))
        terms = np.where(p == 0, q, p * np.log(p / q) - p + q)  # each term >= 0: no cancellation between classes
    return row_sum(terms)


def _student_t(p: StudentT, q: StudentT, order: Order) -> FloatArray:
    """Return the integral over y = loc + scale sinh(sinh(u)), centred on p (KL) or between both (order 1/2)."""
    loc, scale = (p.loc, p.scale) if order == "kl" else ((p.loc + q.loc) / 2, np.sqrt(p.scale * q.scale))
    total = np.zeros(len(p))
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        y = loc + scale * node
        log_p, log_q = p.log_prob(y), q.log_prob(y)
        if order == "kl":
            gap = log_q - log_p
            with np.errstate(over="ignore"):
                term = np.exp(log_p) * (np.expm1(gap) - gap)
        else:
            term = np.square(np.exp(log_p / 2) - np.exp(log_q / 2)) / 2
        total += weight * scale * term
    return total if order == "kl" else -2 * np.log1p(-np.minimum(total, 1.0))


_FORMS: tuple[tuple[type[Distribution], Callable[..., FloatArray]], ...] = (
    (Normal, _normal),
    (StudentT, _student_t),
    (Poisson, _poisson),
    (Categorical, _categorical),
)


def _cells(dist: Distribution, edges: FloatArray) -> FloatArray:
    """Return the probabilities of the cells between the edges and beyond them, shape (n, L + 1)."""
    n = len(dist)
    below = np.column_stack([np.zeros(n), *(dist.cdf(np.full(n, edge)) for edge in edges), np.ones(n)])
    return np.maximum(np.diff(below, axis=1), 0.0)
