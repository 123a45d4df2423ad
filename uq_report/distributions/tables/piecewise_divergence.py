"""Divergences of densities that are constant between edges, with exponential tails: sums of closed forms.

Between neighbouring edges of both, each log density is a line, a + b u with u the distance from a finite end.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ...core.support.arrays import FloatArray, IntArray
from ..numerics.relative_entropy import half_from
from ..numerics.rowwise import row_sum


class Pieces(Protocol):
    """What is read of a piecewise density; see `piecewise.Piecewise`."""

    edges: FloatArray
    masses: FloatArray
    beyond: FloatArray
    scales: FloatArray


class Scaled(NamedTuple):
    """The same pieces in other units, in which no square leaves the range of floats."""

    edges: FloatArray
    masses: FloatArray
    beyond: FloatArray
    scales: FloatArray


class LogLinearPiece(NamedTuple):
    """A log density a + b u on every interval, shape (n, G)."""

    a: FloatArray
    b: FloatArray


def kl_of_pieces(p: Pieces, q: Pieces) -> FloatArray:
    """Return the integral of p log(p / q) - p + q >= 0 over the intervals, shape (n,); infinite where only q is 0."""
    first, second, width, left = _lines(p, q)
    mass, moment = _moments(first, width, left)
    with np.errstate(invalid="ignore"):
        terms = (first.a - second.a) * mass + (first.b - second.b) * moment
    terms = np.where(mass > 0, terms, 0.0) + (_moments(second, width, left)[0] - mass)
    return row_sum(np.maximum(terms, 0.0))


def half_of_pieces(p: Pieces, q: Pieces) -> FloatArray:
    """Return -2 log of the integral B of √(p q), from 1 - B, the integral of (√p - √q)² / 2, where B is near 1."""
    first, second, width, left = _lines(p, q)
    middle = LogLinearPiece(0.5 * (first.a + second.a), 0.5 * (first.b + second.b))
    masses = [_moments(line, width, left)[0] for line in (first, second, middle)]
    gap = row_sum(np.maximum(0.5 * (masses[0] + masses[1]) - masses[2], 0.0))
    with np.errstate(divide="ignore"):
        return np.where(gap < 0.5, half_from(gap), -2 * np.log(row_sum(masses[2])))


def _lines(p: Pieces, q: Pieces) -> tuple[LogLinearPiece, LogLinearPiece, FloatArray, FloatArray]:
    """Return both log densities on the intervals between all edges, the widths, and which is open to the left."""
    origin, unit = p.edges[:, :1], p.edges[:, -1:] - p.edges[:, :1]
    first, second = (Scaled((d.edges - origin) / unit, d.masses, d.beyond, d.scales / unit) for d in (p, q))
    both = np.concatenate([first.edges, second.edges], axis=1)
    order = np.argsort(both, axis=1, kind="stable")
    grid = np.take_along_axis(both, order, axis=1)
    start = np.column_stack([grid[:, :1], grid])  # the finite end from which u is measured
    of_p = np.column_stack([np.zeros(len(grid), dtype=int), np.cumsum(order < first.edges.shape[1], axis=1)])
    of_q = np.arange(start.shape[1]) - of_p
    width = np.column_stack([np.full(len(grid), np.inf), np.diff(grid), np.full(len(grid), np.inf)])
    left = np.zeros(start.shape)
    left[:, 0] = 1.0
    return _line(first, of_p, start), _line(second, of_q, start), width, left


def _line(pieces: Scaled, passed: IntArray, start: FloatArray) -> LogLinearPiece:
    """Return the log density on intervals that begin after `passed` edges."""
    last = pieces.edges.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.log(pieces.masses) - np.log(np.diff(pieces.edges))
        tails = np.log(pieces.beyond) - np.log(pieces.scales)
    low = (start - pieces.edges[:, :1]) / pieces.scales[:, :1]
    high = (pieces.edges[:, -1:] - start) / pieces.scales[:, 1:]
    cell = np.take_along_axis(inside, np.clip(passed - 1, 0, last - 2), axis=1)
    below, above = passed == 0, passed == last
    a = np.where(below, tails[:, :1] + low, np.where(above, tails[:, 1:] + high, cell))
    b = np.where(below, 1 / pieces.scales[:, :1], np.where(above, -1 / pieces.scales[:, 1:], 0.0))
    return LogLinearPiece(np.where(np.isnan(a), -np.inf, a), b)


def _moments(line: LogLinearPiece, width: FloatArray, left: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the integrals of exp(a + b u) and of u exp(a + b u) over each interval.

    Both are taken from the end where the density is larger, so that nothing overflows.
    """
    a, rate, open_end = line.a, np.abs(line.b), np.isinf(width)
    rising = (line.b > 0) & ~open_end
    with np.errstate(divide="ignore", invalid="ignore"):
        fallen = np.where(open_end, 0.0, np.exp(-rate * width))
        mass = np.where(rate > 0, -np.expm1(-rate * width) / rate, width)
        rest = np.where(open_end, 0.0, width * fallen)
        moment = np.where(rate > 0, (mass - rest) / rate, np.square(width) / 2)
        height = np.exp(a + np.where(rising, rate * width, 0.0))
        moment = np.where(rising, width * mass - moment, moment * (1 - 2 * left))
        return np.where(height > 0, height * mass, 0.0), np.where(height > 0, height * moment, 0.0)
