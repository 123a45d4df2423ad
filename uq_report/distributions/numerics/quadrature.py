"""Integrals of one function per row, by the rules of Gauss and Kronrod (QUADPACK's qk15).

Panels are halved until the two rules agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from .validate import row_sum

_CROWD = 256  # panels of a row that are halved at once
_CELLS = 1 << 16  # numbers in one array of nodes, so that it stays in the processor's cache

_NODES = np.array([0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
                   0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
                   0.586087235467691130294144691758900, 0.405845151377397166906606412076961,
                   0.207784955007898467600689403773245])  # fmt: skip
_KRONROD = np.array([0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
                     0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
                     0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
                     0.204432940075298892414161999234649, 0.209482141084727828012999174891714])  # fmt: skip
_GAUSS = np.array([0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
                   0.381830050505118944950369775488975, 0.417959183673469387755102040816327])  # fmt: skip
NODES = np.concatenate([-_NODES, [0.0], _NODES[::-1]])
KRONROD = np.concatenate([_KRONROD, _KRONROD[-2::-1]])
GAUSS = np.zeros(15)
GAUSS[1::2] = np.concatenate([_GAUSS, _GAUSS[-2::-1]])


class Panels(NamedTuple):
    """Intervals, and the rows they belong to.

    Of mixtures, `anchor` is the member from whose mean the distances `lower` and `upper` are taken:
    distances keep their digits where narrow members lie far from 0 and from each other. Of other totals
    it is the sign of y where the interval is one of log abs(y), else 0.
    """

    row: IntArray
    anchor: IntArray
    lower: FloatArray
    upper: FloatArray

    def at(self, index: BoolArray | slice) -> Panels:
        """Return the panels at positions `index`."""
        return Panels(self.row[index], self.anchor[index], self.lower[index], self.upper[index])

    def halved(self) -> Panels:
        """Return the left halves, then the right ones."""
        middle = 0.5 * (self.lower + self.upper)
        return joined([self._replace(upper=middle), self._replace(lower=middle)])

    def nodes(self) -> FloatArray:
        """Return the places where both rules ask for the integrand, shape (panels, 15)."""
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        return np.asarray(middle[:, None] + half[:, None] * NODES)


Integrand: TypeAlias = Callable[[Panels], FloatArray]  # values at the nodes of each panel, shape (panels, 15)


def joined(panels: list[Panels]) -> Panels:
    """Return the panels of all as one."""
    row, anchor, lower, upper = (np.concatenate(parts) for parts in zip(*panels, strict=True))
    return Panels(row, anchor, lower, upper)


def even_panels(n: int, edges: FloatArray) -> Panels:
    """Return the panels between `edges`, shape (L,), for each of n rows."""
    row = np.repeat(np.arange(n), len(edges) - 1)
    return Panels(row, np.zeros_like(row), np.tile(edges[:-1], n), np.tile(edges[1:], n))


def integral(
    n: int,
    panels: Panels,
    integrand: Integrand,
    *,
    tolerance: float,
    relative: float = 0.0,
    halvings: int = 6,
    members: int = 1,
) -> FloatArray:
    """Return each row's integral over its panels, shape (n,).

    A row with more panels to halve at once than 256, and than four times those it began with, is left as it is: its
    integrand is rough by rounding, and halving would not end.

    Parameters
    ----------
    n : int
        Number of rows.
    panels : Panels
    integrand : callable
    tolerance : float
        By how much the two rules may differ over a row.
    relative : float
        By how much of a panel's value they may differ on it, where that is more.
    halvings : int
        How often a panel is halved at most.
    members : int
        Numbers that the integrand holds per node.
    """
    crowd = np.maximum(4 * np.bincount(panels.row, minlength=n), _CROWD)
    total, left = np.zeros(n), halvings
    while len(panels.row):
        value, error = _rules(panels, integrand, members)
        count = np.bincount(panels.row, minlength=n)
        share = tolerance / np.maximum(count, 1)
        good = (error <= np.maximum(share[panels.row], relative * np.abs(value))) | (left == 0)
        good |= (count > crowd)[panels.row]
        total += np.bincount(panels.row[good], value[good], n)
        panels, left = panels.at(~good).halved(), left - 1
    return total


def _rules(panels: Panels, integrand: Integrand, members: int) -> tuple[FloatArray, FloatArray]:
    """Return each panel's integral by the Kronrod rule, and its distance from the Gauss rule."""
    value, error = np.empty(len(panels.row)), np.empty(len(panels.row))
    step = max(1, _CELLS // (15 * members))
    for start in range(0, len(value), step):
        check_limits()
        block = slice(start, start + step)
        part = panels.at(block)
        half, density = 0.5 * (part.upper - part.lower), integrand(part)
        value[block] = half * row_sum(density, KRONROD)
        error[block] = half * np.abs(row_sum(density, KRONROD - GAUSS))
    return value, error
