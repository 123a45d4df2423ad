"""Integrals over mixtures of normals by evenly spaced nodes, where one step suits a row.

The trapezoidal rule of a smooth function that vanishes at both ends converges exponentially (Trefethen & Weideman 2014,
SIAM Review 56, doi:10.1137/130932132): its error is what the function's Fourier transform has at one turn per node. So
what the nodes hear of it at less than half a turn bounds their error from above: even where a kink lets the transform
fall only with the square of the frequency, it is less. (A wave of half a turn could hide, its zeros at the
nodes.) Densities of a normal at such nodes follow from each other by one product, in place of an exponential.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from ..numerics.rowwise import row_sum

REACH = 7.0  # standard deviations; 2.6e-12 of a member lies beyond
_STEPS = (0.56, 0.3)  # tried in turn, in standard deviations of a row's narrowest member
_TURN = 2 / 5  # of a turn per node: the frequency at which the nodes are heard
_NEAR = 2e-6  # nats that may be heard there, and a hundredth of it per nat of a large integral
_RUN = 20  # nodes that follow from one exponential: further ones would from an underflow
_RUNS = 96  # the most of a row; where its range asks for more, its members are of too many scales for one step
_NONE = 39.0  # standard deviations from which on a density is 0 in floats
_CELLS = 20_000  # runs times members worked on at once, so that they stay in the processor's cache


class NormalMixtureParameters(NamedTuple):
    """Means and standard deviations (n, m), and weights (m,)."""

    means: FloatArray
    stds: FloatArray
    weights: FloatArray

    def used(self) -> NormalMixtureParameters:
        """Return the mixtures without members of weight 0."""
        positive = self.weights > 0
        means, stds = (np.compress(positive, values, axis=1) for values in (self.means, self.stds))
        return NormalMixtureParameters(means, stds, self.weights[positive])

    def at(self, rows: BoolArray | IntArray) -> NormalMixtureParameters:
        """Return the mixtures of some rows."""
        return NormalMixtureParameters(self.means[rows], self.stds[rows], self.weights)


# of the densities of each mixture at a row's nodes (rows, nodes): the integrand there, NaN where floats lose it
Integrand = Callable[..., FloatArray]


def even_integral(
    mixtures: Sequence[NormalMixtureParameters], integrand: Integrand, reach: float = REACH
) -> tuple[FloatArray, BoolArray]:
    """Return the integral over the members' reach of each row, and of which rows this is settled, each of shape (n,).

    Rows that are not are those whose members are of very different widths, and those whose integrand has a kink.
    """
    means, stds = (np.hstack([getattr(q, name) for q in mixtures]) for name in ("means", "stds"))
    lower, upper = (means - reach * stds).min(axis=1), (means + reach * stds).max(axis=1)
    values, settled = np.zeros(len(means)), np.zeros(len(means), dtype=bool)
    for step in _STEPS:
        runs = np.ceil((upper - lower) / (step * stds.min(axis=1)) / _RUN)
        runs[settled | (runs > _RUNS)] = 0
        for count in np.unique(runs[runs > 0]).astype(int):
            rows, waves = np.flatnonzero(runs == count), _waves(_RUN * count)
            parts = min(len(rows), -(-len(rows) * count * means.shape[1] // _CELLS))
            for some in np.array_split(rows, parts):
                check_limits()
                h = (upper - lower)[some] / (_RUN * count - 1)
                f = integrand(*(_densities(q.at(some), lower[some], h, count) for q in mixtures))
                values[some] = h * row_sum(f)
                heard = h * np.hypot(*(row_sum(f, wave) for wave in waves))
                settled[some] = heard <= _NEAR * np.maximum(1.0, 0.01 * np.abs(values[some]))
    return values, settled


def _waves(nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return a cosine and a sine at the nodes."""
    turns = 2 * np.pi * _TURN * np.arange(nodes)
    return np.cos(turns), np.sin(turns)


def _densities(q: NormalMixtureParameters, first: FloatArray, step: FloatArray, runs: int) -> FloatArray:
    """Return q at nodes from `first` on, `step` apart, shape (rows, nodes), node after node in each run.

    For z_j = z + j a, exp(-z_j²/2) is exp(-z²/2) exp(-z a)^j exp(-(j a)²/2), of which the last is the same in all runs.
    """
    begins = first[:, None] + (_RUN * step)[:, None] * np.arange(runs)
    z = np.clip((begins[:, :, None] - q.means[:, None, :]) / q.stds[:, None, :], -_NONE, _NONE)
    a = step[:, None] / q.stds
    density, growth = np.exp(-0.5 * np.square(z)), np.exp(-z * a[:, None, :])
    shares = np.exp(-0.5 * np.square(np.arange(_RUN)[:, None, None] * a)) * (q.weights / (np.sqrt(2 * np.pi) * q.stds))
    out = np.empty((*begins.shape, _RUN))
    for node in range(_RUN):
        out[:, :, node] = np.einsum("rkm,rm->rk", density, shares[node])
        density *= growth
    return out.reshape(len(first), -1)
