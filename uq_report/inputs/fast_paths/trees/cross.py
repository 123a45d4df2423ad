"""Rows with several columns changed at once: every row with every change, from one walk down each tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core.support.arrays import AnyArray, IntArray
from .forest import Forest, bit_of
from .nodes import BELOW, FEATURE, HIGH, LEAF, LEFT, LISTED, LOW, RIGHT, compiled, goes_left, parted, push
from .walk import BaseLeaves


@compiled
def _trim(masks, ends, own, begin, end):  # type: ignore[no-untyped-def]  # compiled
    """Note between which of the places `begin` to `end` a mask has any changes; return whether it has."""
    while begin < end and masks[own, begin] == 0:
        begin += 1
    while begin < end and masks[own, end - 1] == 0:
        end -= 1
    ends[own, 0], ends[own, 1] = begin, end
    return begin < end


@compiled
def _parted(own, codes, low, high, left, right):  # type: ignore[no-untyped-def]  # compiled
    """Put those of a mask that go left into one mask, the others into another."""
    for place in range(len(own)):
        goes = -np.int64((codes[place] >= low) & (codes[place] < high))
        left[place] = own[place] & goes
        right[place] = own[place] & ~goes


@compiled
def _split(nodes, bits, node, codes, masks, ends, own, left):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Part the changes of a mask, -1 or 0 each, into masks `left` and the next; return whether each has any."""
    begin, end = ends[own]
    if nodes[node, LISTED] >= 0:
        for place in range(begin, end):
            masks[left, place] = masks[own, place] & -goes_left(nodes, bits, node, codes[place])
            masks[left + 1, place] = masks[own, place] ^ masks[left, place]
    else:
        _parted(
            masks[own, begin:end],
            codes[begin:end],
            nodes[node, LOW],
            nodes[node, HIGH],
            masks[left, begin:end],
            masks[left + 1, begin:end],
        )
    return _trim(masks, ends, left, begin, end), _trim(masks, ends, left + 1, begin, end)


@compiled
def _exchange(sums, change, mask):  # type: ignore[no-untyped-def]  # compiled
    """Add a change to the sums that a mask names."""
    for place in range(len(sums)):
        sums[place] += change & mask[place]


@compiled
def _spread(nodes, bits, values, first, codes, free, given, own, stack, rows, masks, ends, spare, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Put the leaves below node ``stack[0, 0]`` in the place of rows' `own`, for rows and a mask on the stack."""
    top = 1
    while top > 0:
        top -= 1
        node, begin, end, mask, level = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4]
        while nodes[node, FEATURE] != LEAF:
            feature, left, right = nodes[node, FEATURE], np.int64(nodes[node, LEFT]), np.int64(nodes[node, RIGHT])
            if free[feature]:
                goes = 2 * level + 1
                level += 1
                some, others = _split(nodes, bits, node, given[feature], masks, ends, mask, goes)
                if some and others:
                    top = push(stack, top, right, begin, end, goes + 1, level)
                node, mask = (left, goes) if some else (right, goes + 1)
            else:
                middle = parted(nodes, bits, node, codes[feature], rows, spare, begin, end)
                node = left if middle > begin else right
                if begin < middle < end:
                    top = push(stack, top, right, middle, end, mask, level)
                    end = middle
        start, stop = ends[mask]
        for channel in range(values.shape[1]):
            for place in range(begin, end):
                change = values[node, channel] - values[own[rows[place]], channel]
                if change != 0:
                    _exchange(out[first + channel, rows[place], start:stop], change, masks[mask, start:stop])


@compiled
def _cross(nodes, bits, values, roots, firsts, settled, codes, free, wanted, given, depth, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Add to `out` (channels, rows, changes), which holds the unchanged rows' sums, what changes change.

    Rows go down as they are, with the changes that would send them the same way: the others are spread at once.
    """
    order, spans, leaves = settled
    n = codes.shape[1]
    stack, below = np.empty((depth + 1, 5), dtype=np.int64), np.empty((depth + 1, 5), dtype=np.int64)
    rows, spare = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    masks = np.empty((2 * depth + 1, given.shape[1]), dtype=np.int64)
    ends = np.zeros((len(masks), 2), dtype=np.int64)
    masks[0], ends[0, 1] = -1, given.shape[1]
    for tree in range(len(roots)):
        top = push(stack, 0, roots[tree], 0, 0, 0, 0)
        while top > 0:
            top -= 1
            node, mask, level = stack[top, 0], stack[top, 3], stack[top, 4]
            while nodes[node, BELOW] & wanted and spans[node, 0] < spans[node, 1]:
                feature, left, right = nodes[node, FEATURE], np.int64(nodes[node, LEFT]), np.int64(nodes[node, RIGHT])
                if not free[feature]:
                    top = push(stack, top, right, 0, 0, mask, level)
                    node = left
                    continue
                goes = 2 * level + 1
                level += 1
                some, others = _split(nodes, bits, node, given[feature], masks, ends, mask, goes)
                for child, other, away in ((left, right, goes + 1), (right, left, goes)):
                    begin, end = spans[child]
                    if begin < end and (others if other == right else some):
                        for place in range(begin, end):
                            rows[place] = order[tree, place]
                        push(below, 0, other, begin, end, away, level)
                        first, own = firsts[tree], leaves[tree]
                        _spread(
                            nodes, bits, values, first, codes, free, given, own, below, rows, masks, ends, spare, out
                        )
                if some and others:
                    top = push(stack, top, right, 0, 0, goes + 1, level)
                node, mask = (left, goes) if some else (right, goes + 1)


def cross(forest: Forest, rows: BaseLeaves, columns: Sequence[int], given: AnyArray) -> IntArray:
    """Return the sums of all trees' leaves, in units of `step`, for every row under every change of columns.

    A leaf is reached by the rows that pass its path's other nodes and the changes that pass those of the changed
    columns, whatever they are in other trees: so each tree costs at most one addition for a row and a change, and none
    where the change sends the row to the leaf it is in.

    Parameters
    ----------
    forest : Forest
    rows : BaseLeaves
        n rows.
    columns : sequence of int
        The features whose codes are replaced together.
    given : array of int32, shape (len(columns), m)
        The codes of each change.

    Returns
    -------
    array of int64, shape (channels, m, n)
    """
    nodes, bits, values, roots, firsts = forest.arrays
    table = np.repeat(rows.unchanged(forest)[:, 0, :, None], given.shape[1], axis=2)
    free = np.isin(np.arange(forest.features), columns)
    codes = np.zeros((forest.features, given.shape[1]), dtype=np.int32)
    codes[list(columns)] = given
    wanted = np.int32(np.bitwise_or.reduce(bit_of(np.array(columns))))
    _cross(nodes, bits, values, roots, firsts, rows.places, rows.codes, free, wanted, codes, forest.depth, table)
    return np.ascontiguousarray(table.swapaxes(1, 2))
