"""Divergences of tables of probabilities, in nats (van Erven & Harremoës 2014, doi:10.1109/TIT.2014.2320500)."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from ...core.support.arrays import FloatArray
from .rowwise import row_sum


def kl_terms(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return p log(p / q) - p + q >= 0 of numbers >= 0: q where p is 0, infinite where only q is 0.

    Over a table of probabilities the terms add up to the Kullback-Leibler divergence, and none cancels
    another.
    """
    return np.maximum(rel_entr(p, q) + (q - p), 0.0)


def kl_terms_of_logs(log_p: FloatArray, log_q: FloatArray) -> FloatArray:
    """Return `kl_terms` of two densities given by their logarithms, where the densities themselves may underflow."""
    gap, p = log_q - log_p, np.exp(log_p)
    below, above = np.minimum(gap, 1.0), np.maximum(gap, 1.0)  # so that the term not taken cannot overflow
    return np.where(gap < 1, p * (np.expm1(below) - below), np.exp(log_q) - p - p * above)


def kl_of(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence of each row of p from its row of q, shape (n, k) to (n,)."""
    return row_sum(kl_terms(p, q))


def half_of(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the Rényi divergence of order 1/2 of each row of p from its row of q, shape (n, k) to (n,)."""
    return half_from(row_sum(np.square(np.sqrt(p) - np.sqrt(q))) / 2)


def half_from(gap: FloatArray) -> FloatArray:
    """Return -2 log(1 - gap), where gap = 1 - ∫ √(p q) = ∫ (√p - √q)² / 2; infinite where p and q share nothing."""
    with np.errstate(divide="ignore"):
        return np.asarray(-2 * np.log1p(-np.minimum(gap, 1.0)))
