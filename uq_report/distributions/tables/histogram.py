"""Histograms: bar distributions and densities on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError
from ..families.categorical import checked_probabilities
from ..numerics.validate import numbers
from .piecewise import DENSITY, WITHOUT_DENSITY, HalfNormalTail, Piecewise

_MEDIAN = float(HalfNormalTail().at(np.array(0.5)))


class Histogram(Piecewise):
    """n distributions over K bars, of constant density inside a bar.

    Parameters
    ----------
    edges : array of shape (K + 1,) or (n, K + 1)
        Strictly increasing; the same for all rows, or a row of them for each.
    probabilities : array of shape (n, K)
        Of the bars; not negative; each row sums to 1 within 1e-5 and is divided by its sum.
    half_normal_ends : bool
        Whether the first and the last bar are half-normal tails that start at their inner edge and have half their
        probability inside the bar, as in TabPFN's full-support bar distribution. They need K >= 3, and a divergence
        then needs two histograms with equal edges.

    Raises
    ------
    InputError
        If edges do not increase, or probabilities are none; it names the row.

    Notes
    -----
    The entropy is -sum p_k log(p_k / w_k) with w the widths of the bars.

    Examples
    --------
    >>> q = Histogram([0.0, 1.0, 3.0], [[0.5, 0.5], [1.0, 0.0]])
    >>> q.entropy().round(4), q.mean()
    (array([1.0397, 0.    ]), array([1.25, 0.5 ]))
    >>> Histogram([0.0, 1.0, 2.0, 3.0], [[0.25, 0.5, 0.25]], half_normal_ends=True).cdf([0.0]).round(4)
    array([0.125])
    """

    family = "histogram"
    supports = WITHOUT_DENSITY | DENSITY

    def __init__(self, edges: Any, probabilities: Any, *, half_normal_ends: bool = False) -> None:
        p = checked_probabilities("histogram.probabilities", probabilities)
        self.edges = _checked_edges(edges, p.shape)
        self.masses = p / p.sum(axis=1, keepdims=True)
        self.beyond, self.scales = np.zeros((len(p), 2)), np.ones((len(p), 2))
        if half_normal_ends:
            self._end_half_normal()

    def _end_half_normal(self) -> None:
        """Turn the first and the last bar into tails."""
        if self.masses.shape[1] < 3:
            raise InputError(
                f"histogram.probabilities must have at least 3 bars with half-normal ends; got {self.masses.shape[1]}."
            )
        self.tail = HalfNormalTail()
        self.scales = np.diff(self.edges, axis=1)[:, [0, -1]] / _MEDIAN
        self.beyond = self.masses[:, [0, -1]]
        self.edges, self.masses = self.edges[:, 1:-1], self.masses[:, 1:-1]


def _checked_edges(edges: Any, shape: tuple[int, ...]) -> FloatArray:
    floats = numbers("histogram.edges", edges)
    n, k = shape
    if floats.shape not in ((k + 1,), (n, k + 1)):
        raise InputError(
            f"histogram.edges must be one more than the {k} bars, shape ({k + 1},) or ({n}, {k + 1}); "
            f"got {floats.shape}."
        )
    bad = np.atleast_1d(~(np.isfinite(floats).all(axis=-1) & (np.diff(floats) > 0).all(axis=-1)))
    if bad.any():
        row = f" in row {int(np.argmax(bad))} ({int(bad.sum())} of {n} rows)" if floats.ndim == 2 else ""
        raise InputError(
            f"histogram.edges must be finite and strictly increase; got others{row}. "
            "Join bars of no width, and give open bars an end or half_normal_ends=True.",
            row=int(np.argmax(bad)) if row else None,
        )
    return np.array(np.broadcast_to(floats, (n, k + 1)))
