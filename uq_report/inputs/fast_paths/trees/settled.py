"""Where unchanged rows are in trees: what every walk for changes begins with.

Compiled as `walk` is, and imported only where a forest is walked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ....core.arrays import AnyArray, IntArray
from .walk import FEATURE, LEAF, LEFT, RIGHT, compiled, goes_left, parted, push


@compiled
def _settle(nodes, bits, roots, codes, depth):  # type: ignore[no-untyped-def]  # compiled
    """Return where rows are unchanged: rows by tree in the order of leaves, each node's part of it, leaves by row."""
    n = codes.shape[1]
    order, leaves = np.empty((len(roots), n), dtype=np.int32), np.empty((len(roots), n), dtype=np.int32)
    spans = np.zeros((len(nodes), 2), dtype=np.int32)
    stack, spare = np.empty((depth + 1, 5), dtype=np.int64), np.empty(n, dtype=np.int32)
    for tree in range(len(roots)):
        rows = order[tree]
        for row in range(n):
            rows[row] = row
        top = push(stack, 0, roots[tree], 0, n, 0, 0)
        while top > 0:
            top -= 1
            node, begin, end = stack[top, 0], stack[top, 1], stack[top, 2]
            while begin < end:
                spans[node, 0], spans[node, 1] = begin, end
                if nodes[node, FEATURE] == LEAF:
                    for place in range(begin, end):
                        leaves[tree, np.uint32(rows[place])] = node
                    break
                middle = parted(nodes, bits, node, codes[nodes[node, FEATURE]], rows, spare, begin, end)
                top = push(stack, top, np.int64(nodes[node, RIGHT]), middle, end, 0, 0)
                node, end = np.int64(nodes[node, LEFT]), middle
    return order, spans, leaves


@compiled
def _mark(nodes, bits, codes, ways):  # type: ignore[no-untyped-def]  # compiled
    """Set the bits of rows that go left at a node, from the lowest bit of the first word on."""
    for node in range(len(nodes)):
        feature = nodes[node, FEATURE]
        for row in range(codes.shape[1] if feature != LEAF else 0):
            ways[node, row >> 6] |= np.uint64(goes_left(nodes, bits, node, codes[feature, row])) << np.uint64(row & 63)


@compiled
def _unchanged(values, firsts, leaves, out):  # type: ignore[no-untyped-def]  # compiled
    """Add the unchanged rows' sums to the first differences."""
    for tree in range(len(firsts)):
        for row in range(leaves.shape[1]):
            for channel in range(values.shape[1]):
                out[firsts[tree] + channel, 0, row] += values[np.uint32(leaves[tree, row]), channel]


@dataclass(frozen=True, eq=False)
class Settled:
    """Where unchanged rows are.

    Parameters
    ----------
    forest : Forest
    codes : array of int32, shape (features, n)
    places : tuple of arrays of int32
        Per tree the rows in the order of its leaves (trees, n), each node's part of that order as its begin and end
        (nodes, 2), and the leaf of each row (trees, n).
    sums : dict
        By forest of these trees, whatever its leaves hold, the rows' sums (channels, 1, n), once they are known.
    """

    forest: Any
    codes: AnyArray
    places: tuple[AnyArray, AnyArray, AnyArray]
    sums: dict[Any, IntArray]

    @property
    def size(self) -> int:
        """The numbers of 64 bits that the places take."""
        return sum(part.nbytes for part in self.places) // 8

    @cached_property
    def ways(self) -> AnyArray:
        """The rows that each node would send left, as bits of 64-bit words: shape (nodes, words)."""
        nodes, bits, _, _, _ = self.forest.arrays
        ways = np.zeros((len(nodes), -(-self.codes.shape[1] // 64)), dtype=np.uint64)
        _mark(nodes, bits, self.codes, ways)
        return ways

    def unchanged(self, forest: Any) -> IntArray:
        """Return the rows' sums (channels, 1, n) in a forest of these trees."""
        if forest not in self.sums:
            _, _, values, _, firsts = forest.arrays
            sums = np.zeros((forest.channels, 1, self.codes.shape[1]), dtype=np.int64)
            _unchanged(values, firsts, self.places[2], sums)
            self.sums[forest] = sums  # other threads see it whole
        return self.sums[forest]


def settled(forest: Any, codes: AnyArray) -> Settled:
    """Return where rows of these codes (features, n) are in every tree."""
    nodes, bits, _, roots, _ = forest.arrays
    return Settled(forest, codes, _settle(nodes, bits, roots, codes, forest.depth), {})
