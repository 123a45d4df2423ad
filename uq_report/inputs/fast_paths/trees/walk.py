"""One walk down each tree for all rows and all values that a column is given: the compiled inner loops.

Imports numba, so it is imported only where a forest is walked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ....core.arrays import AnyArray, IntArray

FEATURE, LOW, HIGH, LEFT, RIGHT, LISTED = range(6)
LEAF = -1


def compiled(function: Any) -> Any:
    """Return a compiled function, kept on disk where numba finds a folder it can write to."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder for the cache
        return njit(nogil=True)(function)


@compiled
def _goes_left(nodes, bits, node, code):  # type: ignore[no-untyped-def]  # compiled
    """Say (1 or 0) whether a code goes to the left child: it is in the node's list, or between its bounds."""
    if nodes[node, LISTED] >= 0:
        return np.int64((bits[nodes[node, LISTED] + (code >> 5)] >> np.uint32(code & 31)) & np.uint32(1))
    return np.int64((code >= nodes[node, LOW]) & (code < nodes[node, HIGH]))


@compiled
def _run(nodes, bits, node, asked, start, stop):  # type: ignore[no-untyped-def]  # compiled
    """Return where the run of sorted codes asked[start:stop] that go the way of the first ends."""
    left = _goes_left(nodes, bits, node, asked[start])
    if nodes[node, LISTED] >= 0:
        while start < stop and _goes_left(nodes, bits, node, asked[start]) == left:
            start += 1
        return start
    if left == 0 and asked[start] >= nodes[node, HIGH]:
        return stop
    bound = nodes[node, HIGH] if left == 1 else nodes[node, LOW]
    return start + np.searchsorted(asked[start:stop], bound)


@compiled
def _parted(nodes, bits, node, codes, rows, spare, first, last):  # type: ignore[no-untyped-def]  # noqa: PLR0913  # compiled
    """Put those of rows[first:last] that go left in front, both sides in their order; return where the others start."""
    low, high, listed = nodes[node, LOW], nodes[node, HIGH], nodes[node, LISTED] >= 0
    left, others = first, 0
    for place in range(first, last):
        row = rows[place]
        code = codes[row]
        goes = _goes_left(nodes, bits, node, code) if listed else np.int64((code >= low) & (code < high))
        rows[left] = row
        spare[others] = row
        left += goes
        others += 1 - goes
    rows[left:last] = spare[:others]
    return left


@compiled
def _spread(nodes, bits, values, root, first, codes, column, asked, rows, spare, stack, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913  # compiled
    """Add one tree's leaves to the differences of all rows' scores over the sorted asked codes."""
    m = len(asked)
    stack[0] = root, 0, len(rows), 0, m
    top = 1
    while top > 0:
        top -= 1
        node, begin, end, start, stop = stack[top]
        while nodes[node, FEATURE] != LEAF:
            feature, left, right = nodes[node, FEATURE], np.int64(nodes[node, LEFT]), np.int64(nodes[node, RIGHT])
            if feature == column:
                until = _run(nodes, bits, node, asked, start, stop)
                if until < stop:
                    stack[top] = node, begin, end, until, stop
                    top += 1
                    stop = until
                node = left if _goes_left(nodes, bits, node, asked[start]) == 1 else right
                continue
            middle = _parted(nodes, bits, node, codes[feature], rows, spare, begin, end)
            if middle == begin:
                node = right
                continue
            if middle < end:
                stack[top] = right, middle, end, start, stop
                top += 1
            node, end = left, middle
        for channel in range(values.shape[1]):
            value = values[node, channel]
            for place in range(begin, end):
                out[first + channel, start, rows[place]] += value
            if stop < m:
                for place in range(begin, end):
                    out[first + channel, stop, rows[place]] -= value


@compiled
def _walk(nodes, bits, values, roots, firsts, codes, column, asked, depth, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913  # compiled
    """Fill `out` (channels, asked, rows), zeros before, with the sums over all trees at every asked code."""
    n = codes.shape[1]
    stack = np.empty((2 * depth + 1, 5), dtype=np.int64)
    rows, spare = np.arange(n), np.empty(n, dtype=np.int64)
    for tree in range(len(roots)):
        _spread(nodes, bits, values, roots[tree], firsts[tree], codes, column, asked, rows, spare, stack, out)
    for channel in range(out.shape[0]):
        for position in range(1, out.shape[1]):
            for row in range(n):
                out[channel, position, row] += out[channel, position - 1, row]


def walk(forest: Any, codes: AnyArray, column: int, asked: AnyArray) -> IntArray:
    """Return the sum of all trees' leaves for every row at every code that its `column` is given.

    A tree is walked once by all rows together. Where another column decides, the rows part; where the changed one
    decides, all rows go both ways, with the asked codes that go there: a run of the sorted codes. A leaf adds its
    value to the differences at the ends of its run. So a tree costs little more than one prediction of the rows,
    however many codes are asked.

    Parameters
    ----------
    forest : Forest
        The flat form of the ensemble; its leaves are whole numbers, so that sums do not depend on their order.
    codes : array of int32, shape (features, n)
        The rows' codes.
    column : int
        The feature whose codes are replaced.
    asked : array of int32, shape (m,)
        Sorted codes.

    Returns
    -------
    ndarray of int64, shape (channels, m, n)
    """
    out = np.zeros((forest.channels, len(asked), codes.shape[1]), dtype=np.int64)
    _walk(*forest.arrays, codes, column, asked, forest.depth, out)
    return out
