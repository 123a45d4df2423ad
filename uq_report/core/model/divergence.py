"""Divergences between two predictive distributions of one family, row by row, in nats.

``kl`` is the Kullback-Leibler divergence, the Rényi divergence of order 1; ``half`` that of order 1/2,
D = -2 log ∫ √(p q), which stays finite where KL is infinite. For a small change of the parameters by v,
KL -> v'Iv / 2 and D -> v'Iv / 4 with I the Fisher information (van Erven & Harremoës 2014,
doi:10.1109/TIT.2014.2320500).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from ...distributions import Categorical, CategoricalMixture
from ...distributions.numerics.totals import half_from
from ..predictive import Distribution
from ..support.arrays import FloatArray
from ..support.errors import UnsupportedError

Order = Literal["kl", "half"]
Members: TypeAlias = Iterable[tuple[float, Distribution]]  # as `Distribution.members` yields them


def divergence(p: Distribution, q: Distribution, order: Order) -> FloatArray:
    """Return the divergence of each row's p from its q, shape (n,): the family's own; it may be infinite.

    Examples
    --------
    >>> from uq_report.distributions import Normal
    >>> divergence(Normal([0.0], 1.0), Normal([0.1], 1.0), "kl").round(6)
    array([0.005])
    >>> divergence(Categorical([[0.5, 0.5]]), Categorical([[1.0, 0.0]]), "kl")
    array([inf])
    """
    if not (isinstance(q, type(p)) or isinstance(p, type(q))):
        raise UnsupportedError(
            f"divergence must get two distributions of one family; got a {p.family} and a {q.family} one. "
            "The model must predict the same family for all rows."
        )
    return p.kl(q) if order == "kl" else p.renyi_half(q)


def sensitivity(divergences: FloatArray, order: Order) -> FloatArray:
    """Return √(2 KL) or √(4 D_half): the Fisher length of the change, to first order (Paananen et al., section 2.5)."""
    return np.sqrt((2.0 if order == "kl" else 4.0) * divergences)


def divergences_of_members(p: Members, q: Members) -> tuple[FloatArray, FloatArray]:
    """Return both divergences of outcome and member together, ``kl`` and ``half``, of p from q, each of shape (n,).

    Members of p and q are in one order. Of the joint distribution w_m p_m(y), KL is the mean of the members' own; of
    order 1/2 it is -2 log of the mean of their affinities ∫ √(p_m q_m) = exp(-D_m / 2). Never less than the divergence
    of the mixtures: the rest is what the posterior over the members, given the outcome, diverges (chain rule, Cover &
    Thomas 2006, theorem 2.5.3; of order 1/2 -2 log of its mean affinity under √(p q) of the mixtures, normalised).

    Examples
    --------
    >>> from uq_report.distributions import NormalMixture
    >>> p, q = NormalMixture([[0.0, 9.0]], [[1.0, 1.0]]), NormalMixture([[1.0, 9.0]], [[1.0, 1.0]])
    >>> divergences_of_members(p.members(), q.members())[0]
    array([0.25])
    """
    total, kl, gap = 0.0, np.zeros(1), np.zeros(1)
    for (weight, one), (_, other) in zip(p, q, strict=True):
        kl = kl + weight * divergence(one, other, "kl")
        gap = gap - weight * np.expm1(-divergence(one, other, "half") / 2)
        total += weight
    return kl / total, half_from(gap / total)


def in_cells(dist: Distribution, edges: FloatArray) -> Categorical:
    """Return the probabilities of the cells between the edges and beyond them, and those of its members if it has any.

    Divergences of cells can only be lower than those of the distributions, which need a ``cdf``.
    """
    if "members" not in dist.supports:
        return Categorical(_cells(dist, edges))
    weights = np.array([weight for weight, _ in dist.members()])
    return CategoricalMixture(
        lambda: (_cells(member, edges) for _, member in dist.members()),
        weights=weights,
        probabilities=_cells(dist, edges),
    )


def _cells(dist: Distribution, edges: FloatArray) -> FloatArray:
    """Return the probabilities of the cells between the edges and beyond them, shape (n, L + 1)."""
    n = len(dist)
    below = np.column_stack([np.zeros(n), *(dist.cdf(np.full(n, edge)) for edge in edges), np.ones(n)])
    return np.maximum(np.diff(below, axis=1), 0.0)
