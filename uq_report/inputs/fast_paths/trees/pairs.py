"""Rows with two columns changed to many pairs of codes: every leaf's box of pairs, added up in sweeps over a column.

Compiled as `walk` is, and imported only where a forest is walked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.arrays import AnyArray, IntArray
from ....core.limits import look
from .settled import Settled
from .walk import FEATURE, HIGH, LEAF, LEFT, LISTED, LOW, RIGHT, compiled, goes_left, parts, push

_BOXES = 1 << 16  # that are added up together
_SWEPT = 4  # sums of a sweep over the rows of a word that count as a step
_POWERS = np.zeros(67, dtype=np.int64)  # of two, by what they leave when divided by 67, which differs for the first 64
_POWERS[[2**power % 67 for power in range(64)]] = np.arange(64)


@compiled
def _by(keys, bins):  # type: ignore[no-untyped-def]  # compiled
    """Return the positions of keys below `bins` in the order of keys, and where each key begins."""
    begins, order = np.zeros(bins + 1, dtype=np.int64), np.empty(len(keys), dtype=np.int32)
    for key in keys:
        begins[key + 1] += 1
    for key in range(bins):
        begins[key + 1] += begins[key]
    free = begins.copy()
    for position in range(len(keys)):
        order[free[keys[position]]] = position
        free[keys[position]] += 1
    return order, begins


@compiled
def _put(sums, rows, box, value, begin, end):  # type: ignore[no-untyped-def]  # compiled
    """Add a value to the differences of a box's rows at one code of the second column, and take it off at another."""
    for word in range(rows.shape[1]):
        bits = rows[box, word]
        while bits:
            lowest = bits & (~bits + np.uint64(1))
            row = 64 * word + _POWERS[lowest % np.uint64(67)]
            sums[begin, row] += value
            sums[end, row] -= value
            bits ^= lowest


@compiled
def _sweep(boxes, rows, values, sizes, pairs, out):  # type: ignore[no-untyped-def]  # compiled
    """Add boxes to `out` (pairs, rows), from code to code of the first column."""
    starts, first = _by(boxes[:, 0], sizes[0] + 1)
    ends, last = _by(boxes[:, 1], sizes[0] + 1)
    sums, pair = np.zeros((sizes[1] + 1, out.shape[1]), dtype=np.int64), 0
    for code in range(sizes[0]):
        for place in range(first[code], first[code + 1]):
            box = starts[place]
            _put(sums, rows, box, values[boxes[box, 4]], boxes[box, 2], boxes[box, 3])
        for place in range(last[code], last[code + 1]):
            box = ends[place]
            _put(sums, rows, box, -values[boxes[box, 4]], boxes[box, 2], boxes[box, 3])
        while pair < len(out) and pairs[0, pair] == code:
            for other in range(pairs[1, pair] + 1):
                for row in range(out.shape[1]):
                    out[pair, row] += sums[other, row]
            pair += 1


@compiled
def _run(nodes, bits, node, asked, ranks, column, start, stop):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Return whether the first of a column's codes start:stop goes left, and where those that go its way end."""
    if nodes[node, LISTED] >= 0:
        goes, until = goes_left(nodes, bits, node, asked[column, start]), start + 1
        while until < stop and goes_left(nodes, bits, node, asked[column, until]) == goes:
            until += 1
        return goes == 1, until
    low, high = ranks[column, nodes[node, LOW]], ranks[column, nodes[node, HIGH]]
    if low <= start < high:
        return True, min(high, stop)
    return False, min(low, stop) if start < low else stop


@compiled
def _part(sets, top, ways, node):  # type: ignore[no-untyped-def]  # compiled
    """Part the rows on top of the stack into those that go left, behind them, and the others; say if each has any."""
    some, others = np.uint64(0), np.uint64(0)
    for word in range(ways.shape[1]):
        goes = sets[top, word] & ways[node, word]
        stays = sets[top, word] ^ goes
        sets[top + 1, word], sets[top, word] = goes, stays
        some |= goes
        others |= stays
    return some != 0, others != 0


@compiled
def _copy(sets, source, to):  # type: ignore[no-untyped-def]  # compiled
    """Put a set of rows in another's place."""
    for word in range(sets.shape[1]):
        sets[to, word] = sets[source, word]


@compiled
def _down(nodes, bits, ways, columns, asked, ranks, stack, sets, top):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Go from the node on top of the stack to a leaf; what goes other ways stays on the stack. Return leaf and top."""
    node = stack[top, 0]
    while nodes[node, FEATURE] != LEAF:
        feature, left, right = nodes[node, FEATURE], np.int64(nodes[node, LEFT]), np.int64(nodes[node, RIGHT])
        if feature == columns[0] or feature == columns[1]:
            column = 0 if feature == columns[0] else 1
            start, stop = stack[top, 1 + 2 * column], stack[top, 2 + 2 * column]
            goes, until = _run(nodes, bits, node, asked, ranks, column, start, stop)
            if until < stop:
                push(stack, top + 1, node, stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4])
                _copy(sets, top, top + 1)
                stack[top, 0], stack[top, 1 + 2 * column], stack[top + 1, 2 + 2 * column] = node, until, until
                top += 1
            node = left if goes else right
            continue
        some, others = _part(sets, top, ways, node)
        if some and others:
            push(stack, top + 1, left, stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4])
            stack[top, 0] = right
            top += 1
        elif some:
            _copy(sets, top + 1, top)
        node = left if some else right
    return node, top


@compiled
def _pairs(nodes, bits, values, roots, ways, columns, asked, ranks, sizes, pairs, depth, boxes, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Add to `out` (channels, pairs, rows) the leaves of trees, so many boxes together as there is place for."""
    words, rows, many = ways.shape[1], np.empty((len(boxes), ways.shape[1]), dtype=np.uint64), 0
    stack, sets = np.empty((depth + 2, 5), dtype=np.int64), np.empty((depth + 2, words), dtype=np.uint64)
    for tree in range(len(roots)):
        sets[0] = ~np.uint64(0)
        sets[0, words - 1] >>= np.uint64(-out.shape[2] & 63)
        top = push(stack, 0, roots[tree], 0, sizes[0], 0, sizes[1]) - 1
        while top >= 0:
            boxes[many, 4], top = _down(nodes, bits, ways, columns, asked, ranks, stack, sets, top)
            for bound in range(4):
                boxes[many, bound] = stack[top, 1 + bound]
            for word in range(words):
                rows[many, word] = sets[top, word]
            many += 1
            top -= 1
            if many == len(boxes) or (tree == len(roots) - 1 and top < 0):
                for channel in range(len(out)):
                    _sweep(boxes[:many], rows, values[:, channel], sizes, pairs, out[channel])
                many = 0


def pairs(forest: Any, rows: Settled, columns: Sequence[int], given: AnyArray) -> IntArray:
    """Return the sums of all trees' leaves, in units of `step`, for every row under every pair of codes of two columns.

    The pairs that lead a row to a leaf are a box, the same for all rows that pass the other nodes on the way there (or
    several boxes, where a column's codes go left from two sides). A sweep over the codes of the first column adds a box
    where it begins and takes it off where it ends, as differences over those of the second: so a leaf that a row may
    reach costs at most four additions, of however many pairs.

    Parameters
    ----------
    forest : Forest
    rows : Settled
        n rows.
    columns : sequence of int
        The two features whose codes are replaced.
    given : array of int32, shape (2, m)
        The codes of each pair, sorted by the first.

    Returns
    -------
    array of int64, shape (channels, m, n)
    """
    nodes, bits, values, roots, firsts = forest.arrays
    table = np.zeros((forest.channels, given.shape[1], rows.codes.shape[1]), dtype=np.int64)
    distinct, places = zip(*(np.unique(codes, return_inverse=True) for codes in given), strict=True)
    asked, every = np.zeros_like(given), np.arange(max(len(forest.edges[column]) for column in columns) + 2)
    for own, codes in zip(asked, distinct, strict=True):
        own[: len(codes)] = codes
    ranks = np.stack([np.searchsorted(codes, every) for codes in distinct])
    boxes = np.empty((_BOXES, 5), dtype=np.int32)
    for words in parts(rows.ways.shape[1], given.shape[1] * len(distinct[1]) // _SWEPT + 1):
        look()
        own = slice(64 * words.start, 64 * words.stop)
        ways, sums = rows.ways[:, words].copy(), np.zeros_like(table[:, :, own])
        for first in np.unique(firsts):
            _pairs(
                nodes,
                bits,
                values,
                roots[firsts == first],
                ways,
                (columns[0], columns[1]),
                asked,
                ranks,
                (len(distinct[0]), len(distinct[1])),
                np.stack(places),
                forest.depth,
                boxes,
                sums[first : first + values.shape[1]],
            )
        table[:, :, own] = sums
    return table
