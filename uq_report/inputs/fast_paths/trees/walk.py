"""One walk down each tree for all rows and all values that a column is given: the compiled inner loops.

Imports numba, so it is imported only where a forest is walked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ....core.arrays import AnyArray, FloatArray, IntArray

FEATURE, LOW, HIGH, LEFT, RIGHT, LISTED = range(6)
LEAF = -1
_TOGETHER = 64  # rows summed together


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
def _parted(nodes, bits, node, codes, rows, spare, first, last):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Put those of rows[first:last] that go left in front, all in their order; return where the others start."""
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
def _add(leaf, first, rows, start, stop, out):  # type: ignore[no-untyped-def]  # compiled
    """Add a leaf to the differences of some rows at the start of a run, and take it off behind the run."""
    for channel in range(len(leaf)):
        for row in rows:
            out[first + channel, start, row] += leaf[channel]
        if stop < out.shape[1]:
            for row in rows:
                out[first + channel, stop, row] -= leaf[channel]


@compiled
def _spread(nodes, bits, values, root, first, codes, column, asked, rows, spare, stack, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Add one tree's leaves to the differences of all rows' scores over the sorted asked codes."""
    stack[0] = root, 0, len(rows), 0, len(asked)
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
        _add(values[node], first, rows[begin:end], start, stop, out)


@compiled
def _walk(nodes, bits, values, roots, firsts, codes, column, asked, depth, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Add the differences of all trees to `out` (channels, asked, rows)."""
    stack = np.empty((2 * depth + 1, 5), dtype=np.int64)
    rows, spare = np.arange(codes.shape[1]), np.empty(codes.shape[1], dtype=np.int64)
    for tree in range(len(roots)):
        _spread(nodes, bits, values, roots[tree], firsts[tree], codes, column, asked, rows, spare, stack, out)


@compiled
def _sum(differences, step, found):  # type: ignore[no-untyped-def]  # compiled
    """Write the sums of differences (channels, m, n), in units of `step`, to `found` (channels, n, m)."""
    channels, m, n = differences.shape
    for channel in range(channels):
        for begin in range(0, n, _TOGETHER):
            end = min(n, begin + _TOGETHER)
            total = np.zeros(end - begin, dtype=np.int64)
            for position in range(m):
                total += differences[channel, position, begin:end]
                for row in range(begin, end):
                    found[channel, row, position] = total[row - begin] * step


@compiled
def _pick(scores, places, codes, found):  # type: ignore[no-untyped-def]  # compiled
    """Write to `found` (n, v, channels) what `scores` (channels, n, m) has for each row at the places of its codes."""
    for row in range(codes.shape[0]):
        for v in range(codes.shape[1]):
            place = places[codes[row, v]]
            for channel in range(scores.shape[0]):
                found[row, v, channel] = scores[channel, row, place]


def pick(scores: FloatArray, places: IntArray, codes: AnyArray) -> FloatArray:
    """Return the scores (n, v, channels) of rows under v changes, by the place of each code in a table of scores."""
    found = np.empty((*codes.shape, len(scores)))
    _pick(scores, places, codes, found)
    return found


def walk(forest: Any, codes: AnyArray, column: int, asked: AnyArray, found: FloatArray) -> None:
    """Write the sum of all trees' leaves for every row at every code that its `column` is given.

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
    found : array, shape (channels, n, m)
        Where the scores are written.
    """
    differences = np.zeros((forest.channels, len(asked), codes.shape[1]), dtype=np.int64)
    _walk(*forest.arrays, codes, column, asked, forest.depth, differences)
    _sum(differences, forest.step, found)
