"""Covering sets: the few other features that repeat most of what a feature says about y."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, ndtri, xlogy

from ...core.model.sampling import Sampling
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from .terms import LogProbability, MeanLogProbability

LEVEL = 0.05
CHOSEN = (
    "Partners are tried in the order of a normal model of the same columns. Sets are chosen on the rows they are "
    "measured on, so what they leave tends to be too small."
)


class CoverStep(NamedTuple):
    """A partner (position; None before the first) and i(x_j; y | x_C) of each row once it is in C."""

    partner: int | None
    information: FloatArray


@dataclass(frozen=True)
class Greedy:
    """Grows a feature's covering set until a step gains too little.

    Parameters
    ----------
    log_p : callable
        log p(y | x_S) of each row.
    mean_log_p : callable
        Its mean by a normal of the same columns: cheap, and used only to say which partner to try.
    related : ndarray of bool (d, d)
        Which features depend on each other. I(x_j; y | x_k) is at least I(x_j; y) where x_k is independent of x_j:
        such a feature covers nothing of it, whatever a sample suggests, and is not tried.
    sampling : Sampling
    min_gain : float
        Nats by which a step must lower I(x_j; y | x_C), beside one standard error of the change.
    max_cover : int
        Largest number of partners.
    """

    log_p: LogProbability
    mean_log_p: MeanLogProbability
    related: BoolArray
    sampling: Sampling
    min_gain: float
    max_cover: int

    def steps(self, j: int) -> Iterator[CoverStep]:
        """Yield i(x_j; y), then each step that gains enough."""
        chosen: tuple[int, ...] = ()
        rest = self._information(j, chosen)
        yield CoverStep(None, rest)
        left = [int(k) for k in np.flatnonzero(self.related[j]) if k != j]
        while left and len(chosen) < self.max_cover and self.sampling.weights @ rest >= self.min_gain:
            best = min(left, key=lambda k: self.mean_log_p((*chosen, k, j)) - self.mean_log_p((*chosen, k)))
            before, rest = rest, self._information(j, (*chosen, best))
            gain, error = map(float, self.sampling.mean(before - rest))
            if not gain >= max(self.min_gain, error):
                return
            chosen = (*chosen, best)
            left.remove(best)
            yield CoverStep(best, rest)

    def _information(self, j: int, others: tuple[int, ...]) -> FloatArray:
        return self.log_p((*others, j)) - self.log_p(others)


def normal_log_p(covariance: FloatArray, starts: IntArray) -> MeanLogProbability:
    """Return the mean of log p(y | x_S), up to a constant, by the normal of a covariance, for any features S.

    Parameters
    ----------
    covariance : ndarray (k, k)
    starts : ndarray of int (d + 2,)
        Feature j has the columns ``starts[j] .. starts[j + 1]``, then y the last ones.
    """
    columns = [np.arange(a, b) for a, b in pairwise(starts)]
    y = columns[-1]
    steady = covariance + 1e-9 * np.diag(np.diag(covariance))  # cells may repeat each other

    def mean_log_p(chosen: tuple[int, ...]) -> float:
        at = np.concatenate([columns[k] for k in chosen])
        shared = steady[np.ix_(at, y)]
        left = steady[np.ix_(y, y)] - shared.T @ np.linalg.solve(steady[np.ix_(at, at)], shared)
        return -0.5 * float(np.linalg.slogdet(left)[1])

    return mean_log_p


def with_indicators(numbers: FloatArray, codes: IntArray) -> MeanLogProbability:
    """Return `normal_log_p` of numbers, and of indicators of the cells of each code, all but the first cell."""
    hot = [codes[:, [a]] == np.arange(1, top + 1) for a, top in enumerate(codes.max(axis=0))]
    starts = np.cumsum([0, *[1] * numbers.shape[1], *codes.max(axis=0)])
    return normal_log_p(np.cov(np.column_stack([numbers, *hot]), rowvar=False), starts)


def related_by_correlation(Z: FloatArray, units: int) -> BoolArray:
    """Say which columns are correlated, at the level `LEVEL` shared out over the other columns (Fisher's z)."""
    d = Z.shape[1]
    r = np.corrcoef(Z, rowvar=False).reshape(d, d)
    with np.errstate(divide="ignore", invalid="ignore"):  # with at most three units nothing is related
        z = np.abs(np.arctanh(r)) * np.sqrt(max(units - 3, 0))
    related: BoolArray = z > ndtri(1 - LEVEL / (2 * max(d - 1, 1)))
    return related | np.eye(d, dtype=bool)


def related_by_cells(codes: IntArray, units: int) -> BoolArray:
    """Say which columns of cells depend on each other, at the level `LEVEL` shared out over the others (G-test)."""
    states = [np.unique(column, return_inverse=True)[1] for column in codes.T]
    sizes = np.array([column.max() + 1 for column in states])
    starts, d = np.cumsum(sizes) - sizes, len(sizes)
    hot = np.hstack([column[:, None] == np.arange(size) for column, size in zip(states, sizes, strict=True)])
    counts = hot.T.astype(float) @ hot
    cells, alone = xlogy(counts, counts), np.diag(xlogy(counts, counts))
    joint = np.add.reduceat(np.add.reduceat(cells, starts, axis=0), starts, axis=1)
    single = np.add.reduceat(alone, starts)
    n = len(codes)
    g = 2 * units / n * (joint - np.add.outer(single, single) + n * np.log(n))
    freedom = np.multiply.outer(sizes - 1, sizes - 1)
    related: BoolArray = (freedom > 0) & (gammaincc(freedom / 2, np.maximum(g, 0) / 2) < LEVEL / max(d - 1, 1))
    return related | np.eye(d, dtype=bool)
