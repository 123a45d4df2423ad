"""Integrals over mixtures of normals by evenly spaced nodes, where one step suits a row.

The trapezoidal rule of a smooth function that vanishes at both ends converges exponentially: a third of the step takes
the error to its third power (Trefethen & Weideman 2014, SIAM Review 56, doi:10.1137/130932132). So how far the three
rules of every third node lie apart bounds the error of all nodes from far above. (Two rules of every other node may
happen to have the same error; not three.) Densities of a normal at such nodes follow from each other by two products,
in place of an exponential each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from .rowwise import row_sum

REACH = 7.0  # standard deviations; 2.6e-12 of a member lies beyond
_STEPS = (0.45, 0.25)  # tried in turn, in standard deviations of a row's narrowest member
_NEAR = 1e-5  # nats by which the rules of every third node may differ: the rule itself then has a tenth of it at most
_RUN = 15  # nodes that follow from one exponential, a multiple of 3: further ones would from an underflow
_RUNS = 128  # the most of a row; where its range asks for more, its members are of too many scales for one step
_NONE = 39.0  # standard deviations from which on a density is 0 in floats
_CELLS = 20_000  # runs times members worked on at once, so that they stay in the processor's cache


class Mixtures(NamedTuple):
    """Means and standard deviations (n, m), and weights (m,)."""

    means: FloatArray
    stds: FloatArray
    weights: FloatArray

    def used(self) -> Mixtures:
        """Return the mixtures without members of weight 0."""
        positive = self.weights > 0
        means, stds = (np.compress(positive, values, axis=1) for values in (self.means, self.stds))
        return Mixtures(means, stds, self.weights[positive])

    def at(self, rows: BoolArray | IntArray) -> Mixtures:
        """Return the mixtures of some rows."""
        return Mixtures(self.means[rows], self.stds[rows], self.weights)


# of the densities of each mixture at a row's nodes (rows, nodes): the integrand there, NaN where floats lose it
Integrand = Callable[..., FloatArray]


def even_integral(mixtures: Sequence[Mixtures], integrand: Integrand) -> tuple[FloatArray, BoolArray]:
    """Return the integral over the members' reach of each row, and of which rows this is settled, each of shape (n,).

    Rows that are not are those whose members are of very different widths, and those whose integrand has a kink.
    """
    means, stds = (np.hstack([getattr(q, name) for q in mixtures]) for name in ("means", "stds"))
    lower, upper = (means - REACH * stds).min(axis=1), (means + REACH * stds).max(axis=1)
    values, settled = np.zeros(len(means)), np.zeros(len(means), dtype=bool)
    for step in _STEPS:
        runs = np.ceil((upper - lower) / (step * stds.min(axis=1)) / _RUN)
        runs[settled | (runs > _RUNS)] = 0
        for count in np.unique(runs[runs > 0]).astype(int):
            rows = np.flatnonzero(runs == count)
            parts = min(len(rows), -(-len(rows) * count * means.shape[1] // _CELLS))
            for some in np.array_split(rows, parts):
                h = (upper - lower)[some] / (_RUN * count - 1)
                f = integrand(*(_densities(q.at(some), lower[some], h, count) for q in mixtures))
                thirds = 3 * h * np.stack([row_sum(f[:, k::3]) for k in range(3)])
                values[some] = thirds.sum(axis=0) / 3
                settled[some] = np.ptp(thirds, axis=0) <= _NEAR * np.maximum(1.0, np.abs(values[some]))
    return values, settled


def _densities(q: Mixtures, first: FloatArray, step: FloatArray, runs: int) -> FloatArray:
    """Return q at nodes from `first` on, `step` apart, shape (rows, nodes), node after node in each run of 32.

    For z_j = z + j a, exp(-z_j²/2) is the one before it times exp(-z a - (j - 1/2) a²), which itself falls by exp(-a²).
    """
    begins = first[:, None] + (_RUN * step)[:, None] * np.arange(runs)
    z = np.clip((begins[:, :, None] - q.means[:, None, :]) / q.stds[:, None, :], -_NONE, _NONE)
    a = (step[:, None] / q.stds)[:, None, :]
    density = np.exp(-0.5 * np.square(z)) * (q.weights / (np.sqrt(2 * np.pi) * q.stds))[:, None, :]
    growth, fall = np.exp(-a * (z + 0.5 * a)), np.exp(-np.square(a))
    out = np.empty((*begins.shape, _RUN))
    for node in range(_RUN):
        out[:, :, node] = density.sum(axis=-1)
        density *= growth
        growth *= fall
    return out.reshape(len(first), -1)
