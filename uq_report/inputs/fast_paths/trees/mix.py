"""Rows mixed of two: every coalition of one row's columns with the rest of other rows, from one walk down each tree."""

from __future__ import annotations

import numpy as np

from ....core.support.arrays import AnyArray, BoolArray, IntArray
from ....core.support.limits import check_limits
from .forest import Forest
from .walk import FEATURE, LEAF, LEFT, RIGHT, compiled, goes_left, parts, push


@compiled
def _shared(some, owning, owners, others):  # type: ignore[no-untyped-def]  # compiled
    """Part a mask of coalitions, -1 or 0 each, into those that own a feature and the others; say if each has any."""
    own, rest = np.int64(0), np.int64(0)
    for c in range(len(some)):
        owners[c] = some[c] & owning[c]
        others[c] = some[c] & ~owning[c]
        own |= owners[c]
        rest |= others[c]
    return own != 0, rest != 0


@compiled
def _add(sums, value, some):  # type: ignore[no-untyped-def]  # compiled
    """Add a value to the sums that a mask names."""
    for c in range(len(sums)):
        sums[c] += value & some[c]


@compiled
def _mix(nodes, bits, values, roots, firsts, own, others, owning, depth, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Add to `out` (channels, others, coalitions) the leaves of mixed rows.

    Where a split sends both rows the same way, coalitions do not matter; where it parts them, those that own its
    feature go with the one row, the rest with the other.
    """
    stack, some = np.empty((depth + 1, 5), dtype=np.int64), np.empty((2 * depth + 1, owning.shape[1]), dtype=np.int64)
    some[0] = -1
    for other in range(others.shape[1]):
        for tree in range(len(roots)):
            top = push(stack, 0, roots[tree], 0, 0, 0, 0)
            while top > 0:
                top -= 1
                node, mask, level = stack[top, 0], stack[top, 1], stack[top, 2]
                while nodes[node, FEATURE] != LEAF:
                    feature, left, right = (
                        nodes[node, FEATURE],
                        np.int64(nodes[node, LEFT]),
                        np.int64(nodes[node, RIGHT]),
                    )
                    mine = goes_left(nodes, bits, node, own[feature])
                    theirs = goes_left(nodes, bits, node, others[feature, other])
                    node, away = (left, right) if mine == 1 else (right, left)
                    if mine == theirs:
                        continue
                    goes = 2 * level + 1
                    owners, rest = _shared(some[mask], owning[feature], some[goes], some[goes + 1])
                    if owners and rest:
                        level += 1
                        top = push(stack, top, away, goes + 1, level, 0, 0)
                        mask = goes
                    elif rest:
                        node = away
                for channel in range(values.shape[1]):
                    _add(out[firsts[tree] + channel, other], values[node, channel], some[mask])


def mixed_sums(forest: Forest, own: AnyArray, others: AnyArray, owned: BoolArray) -> IntArray:
    """Return the sums of all trees' leaves, in units of `step`, for rows mixed of one and others.

    Parameters
    ----------
    forest : Forest
    own : array of int32, shape (features,)
        The codes of the row whose features coalitions own.
    others : array of int32, shape (features, m)
        The codes of the rows that give the rest.
    owned : array of bool, shape (features, coalitions)

    Returns
    -------
    array of int64, shape (channels, m, coalitions)
    """
    nodes, bits, values, roots, firsts = forest.arrays
    out = np.zeros((forest.channels, others.shape[1], owned.shape[1]), dtype=np.int64)
    owning = -owned.astype(np.int64)
    for some in parts(others.shape[1], len(roots) * owned.shape[1]):
        check_limits()
        sums = np.zeros_like(out[:, some])
        _mix(nodes, bits, values, roots, firsts, own, others[:, some].copy(), owning, forest.depth, sums)
        out[:, some] = sums
    return out
