"""The flat form of an ensemble of trees: whole-number codes of rows, one table of nodes, leaves in fixed point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....core.arrays import AnyArray, BoolArray, FloatArray, IntArray

_BITS = 62  # of the largest sum of leaves in fixed point
_ROWS, _CELLS = 512, 1 << 21  # rows walked together: at least, and such that their scores take 16 MiB at most
_MISSING = 0  # the code of a missing value


class Tree(NamedTuple):
    """One tree by its nodes; ``left[i] < 0`` makes node i a leaf.

    A number goes left at ``x <= threshold``, a missing one where `missing_left` says so. Where `listed` has an entry
    for a node, the numbers that go left are those in it, and `missing_left` is for missing and unknown ones. `values`
    (nodes, c) are added to the c scores from `first` on.
    """

    feature: AnyArray
    threshold: AnyArray
    left: AnyArray
    right: AnyArray
    missing_left: AnyArray
    values: FloatArray
    first: int = 0
    listed: dict[int, FloatArray] = {}  # noqa: RUF012  # of a NamedTuple


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose sum is a score, ready to be walked.

    Parameters
    ----------
    trees : sequence of Tree
    features : int
        Columns of the rows.
    channels : int
        Scores of a row.
    single : bool
        Whether rows are rounded to single precision before they are compared.
    known : mapping of int to array
        The numbers of features split by lists, where such a number may go right at every list.

    Notes
    -----
    A value's code is the number of the forest's thresholds of that feature below it, plus 1; a missing value has the
    code 0; values that share a code share all scores. Leaves are kept as whole multiples of `step`, chosen so that no
    sum leaves 62 bits: sums are exact, so a score does not depend on what else is asked.
    """

    trees: Sequence[Tree]
    features: int
    channels: int
    single: bool = False
    known: Mapping[int, FloatArray] = field(default_factory=dict)

    @cached_property
    def edges(self) -> tuple[FloatArray, ...]:
        """The sorted thresholds of each feature, or the sorted numbers of its lists."""
        found: list[list[FloatArray]] = [[self.known[j]] if j in self.known else [] for j in range(self.features)]
        for tree in self.trees:
            inner = np.flatnonzero(tree.left >= 0)
            plain = np.array([i for i in inner if i not in tree.listed], dtype=np.int64) if tree.listed else inner
            for feature in np.unique(tree.feature[plain]):
                found[feature].append(tree.threshold[plain[tree.feature[plain] == feature]])
            for node, numbers in tree.listed.items():
                found[tree.feature[node]].append(numbers)
        return tuple(np.unique(np.concatenate(parts)) if parts else np.empty(0) for parts in found)

    @cached_property
    def categorical(self) -> BoolArray:
        """Which features are split by lists; a feature is split by lists or by thresholds."""
        mask = np.isin(np.arange(self.features), list(self.known))
        for tree in self.trees:
            for node in tree.listed:
                mask[tree.feature[node]] = True
        return mask

    @cached_property
    def step(self) -> float:
        """The unit of the leaves, a power of two."""
        largest = sum(float(np.abs(tree.values).max()) for tree in self.trees)
        return 2.0 ** (np.frexp(largest)[1] - _BITS) if largest else 1.0

    @cached_property
    def depth(self) -> int:
        """The most nodes on a way from a root to a leaf."""
        return max(_depth(tree) for tree in self.trees)

    @cached_property
    def arrays(self) -> tuple[AnyArray, AnyArray, IntArray, IntArray, IntArray]:
        """The nodes of all trees, their lists as bits, the leaves, the roots and the first score of each tree."""
        sizes = [len(tree.left) for tree in self.trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        bits: list[AnyArray] = []
        nodes = np.concatenate([self._nodes(tree, root, bits) for tree, root in zip(self.trees, roots, strict=True)])
        values = np.concatenate([np.rint(tree.values / self.step).astype(np.int64) for tree in self.trees])
        firsts = np.array([tree.first for tree in self.trees], dtype=np.int64)
        listed = np.concatenate(bits) if bits else np.zeros(1, dtype=np.uint32)
        return np.ascontiguousarray(nodes), listed, np.ascontiguousarray(values), roots, firsts

    def _nodes(self, tree: Tree, root: int, bits: list[AnyArray]) -> AnyArray:
        """Return (nodes, 6): feature (-1 for a leaf), low, high, left, right and the place of the list (-1: none)."""
        nodes = np.full((len(tree.left), 6), -1, dtype=np.int32)
        inner = np.flatnonzero(tree.left >= 0)
        nodes[inner, 0] = tree.feature[inner]
        nodes[inner, 1] = np.where(tree.missing_left[inner], _MISSING, _MISSING + 1)
        for feature in np.unique(tree.feature[inner]):
            at = inner[tree.feature[inner] == feature]
            nodes[at, 2] = np.searchsorted(self.edges[feature], tree.threshold[at]) + 2
        nodes[inner, 3], nodes[inner, 4] = tree.left[inner] + root, tree.right[inner] + root
        for node, numbers in tree.listed.items():
            edges = self.edges[tree.feature[node]]
            goes = np.zeros(len(edges) + 2, dtype=bool)
            goes[1 + np.searchsorted(edges, numbers)] = True
            goes[[0, -1]] = tree.missing_left[node]
            nodes[node, 5] = sum(map(len, bits))
            bits.append(_packed(goes))
        return nodes

    def coded(self, values: AnyArray, feature: int) -> AnyArray:
        """Return the codes of one feature's values, int32 and of their shape."""
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float32 if self.single else np.float64).astype(np.float64)
        numbers = np.floor(numbers) if self.categorical[feature] else numbers
        edges = self.edges[feature]
        codes = np.searchsorted(edges, numbers) + 1
        if self.categorical[feature]:
            codes = np.where(np.append(edges, np.nan)[codes - 1] == numbers, codes, len(edges) + 1)
        return np.where(np.isnan(numbers), _MISSING, codes).astype(np.int32)

    def codes(self, rows: AnyArray) -> AnyArray:
        """Return the codes of rows (n, features), int32 of shape (features, n)."""
        return np.stack([self.coded(rows[:, j], j) for j in range(self.features)])

    def scores(self, codes: AnyArray, column: int, asked: AnyArray) -> FloatArray:
        """Return the scores of rows (by `codes`) at every one of the sorted codes asked, shape (channels, n, m)."""
        from .walk import walk

        n, m = codes.shape[1], len(asked)
        found = np.empty((self.channels, n, m))
        step = max(_ROWS, _CELLS // (m * self.channels))
        for start in range(0, n, step):
            part = np.ascontiguousarray(codes[:, start : start + step])
            found[:, start : start + step] = walk(self, part, column, asked).swapaxes(1, 2)
        found *= self.step
        return found


def _depth(tree: Tree) -> int:
    """Return the most nodes on a way down."""
    depth = 0
    for level in _levels(tree):
        depth += len(level) > 0
    return depth


def _levels(tree: Tree) -> Iterator[AnyArray]:
    """Yield the nodes of each level, from the root down."""
    level = np.zeros(1, dtype=np.int64)
    while len(level):
        yield level
        inner = level[tree.left[level] >= 0]
        level = np.concatenate([tree.left[inner], tree.right[inner]])


def _packed(goes: BoolArray) -> AnyArray:
    """Return booleans as bits of 32-bit words, the first the lowest."""
    words = np.zeros(-(-len(goes) // 32) * 32, dtype=np.uint8)
    words[: len(goes)] = goes
    return np.packbits(words, bitorder="little").view(np.uint32)
