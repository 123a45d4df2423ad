"""Divergences between two predictive distributions of one family, row by row, in nats.

``kl`` is the Kullback-Leibler divergence, the Rényi divergence of order 1; ``half`` that of order 1/2,
D = -2 log ∫ √(p q), which stays finite where KL is infinite. For a small change of the parameters by v,
KL -> v'Iv / 2 and D -> v'Iv / 4 with I the Fisher information (van Erven & Harremoës 2014,
doi:10.1109/TIT.2014.2320500).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...distributions import Categorical
from ..predictive import Distribution
from ..support.arrays import FloatArray
from ..support.errors import UnsupportedError

Order = Literal["kl", "half"]


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


def in_cells(dist: Distribution, edges: FloatArray) -> Categorical:
    """Return the probabilities of the cells between the edges and beyond them.

    Divergences of cells can only be lower than those of the distributions, which need a ``cdf``.
    """
    n = len(dist)
    below = np.column_stack([np.zeros(n), *(dist.cdf(np.full(n, edge)) for edge in edges), np.ones(n)])
    return Categorical(np.maximum(np.diff(below, axis=1), 0.0))
