"""The flat form of an ensemble of trees: whole-number codes of rows, one table of nodes, leaves in fixed point."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ....core.model.adapter import Adapter, HasScores
from ....core.predictive import Distribution
from ....core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, take_rows

_BITS = 62  # of the largest sum of leaves in fixed point
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
    whole : int, default=0
        If not 0, the sum of two scores of a row, of which the forest holds the first: class shares of so many trees.

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
    whole: int = 0

    @property
    def scored(self) -> int:
        """The scores of a row that are picked."""
        return 2 if self.whole else self.channels

    @property
    def units(self) -> int:
        """The sum of two scores in units of `step`, so that their difference to it is exact."""
        return int(self.whole / self.step)

    @cached_property
    def nodes(self) -> Tree:
        """All trees as one, whose nodes are numbered through; `first` is 0."""
        roots = self.roots
        sizes = [len(tree.left) for tree in self.trees]
        offset = np.repeat(roots, sizes)
        fields = [np.concatenate([getattr(tree, name) for tree in self.trees]) for name in Tree._fields[:6]]
        left, right = (np.where(fields[2] < 0, -1, child + offset) for child in fields[2:4])
        listed = {
            int(root) + node: numbers
            for root, tree in zip(roots, self.trees, strict=True)
            for node, numbers in tree.listed.items()
        }
        return Tree(fields[0], fields[1], left, right, fields[4], fields[5], listed=listed)

    @cached_property
    def roots(self) -> IntArray:
        """The first node of each tree."""
        return np.cumsum([0, *(len(tree.left) for tree in self.trees[:-1])])

    @cached_property
    def edges(self) -> tuple[FloatArray, ...]:
        """The sorted thresholds of each feature, or the sorted numbers of its lists."""
        nodes, splits = self.nodes, self._splits
        parts = [nodes.threshold[at] if not self.categorical[j] else np.empty(0) for j, at in enumerate(splits)]
        lists: list[list[FloatArray]] = [[self.known.get(j, np.empty(0))] for j in range(self.features)]
        for node, numbers in nodes.listed.items():
            lists[nodes.feature[node]].append(numbers)
        return tuple(np.unique(np.concatenate([part, *of])) for part, of in zip(parts, lists, strict=True))

    @cached_property
    def _splits(self) -> list[IntArray]:
        """The nodes that split by each feature."""
        inner = np.flatnonzero(self.nodes.left >= 0)
        order = inner[np.argsort(self.nodes.feature[inner], kind="stable")]
        return np.split(order, np.searchsorted(self.nodes.feature[order], np.arange(1, self.features)))

    @cached_property
    def categorical(self) -> BoolArray:
        """Which features are split by lists; a feature is split by lists or by thresholds."""
        nodes = self.nodes
        return np.isin(np.arange(self.features), [*self.known, *(nodes.feature[node] for node in nodes.listed)])

    @cached_property
    def step(self) -> float:
        """The unit of the leaves, a power of two."""
        total = max(self.whole, float(np.maximum.reduceat(np.abs(self.nodes.values).max(axis=1), self.roots).sum()))
        return 2.0 ** (np.frexp(total)[1] - _BITS) if total else 1.0

    @cached_property
    def depth(self) -> int:
        """The most nodes on a way from a root to a leaf."""
        depth, level = 0, self.roots
        while len(level):
            inner = level[self.nodes.left[level] >= 0]
            level, depth = np.concatenate([self.nodes.left[inner], self.nodes.right[inner]]), depth + 1
        return depth

    @cached_property
    def arrays(self) -> tuple[AnyArray, AnyArray, IntArray, IntArray, IntArray]:
        """What is walked: nodes, bits of the lists, leaves, roots, and the first score of each tree.

        Nodes are (nodes, 6): feature (-1 of a leaf), low, high, left, right, and the place of the list (-1: none).
        """
        nodes, table = self.nodes, np.full((len(self.nodes.left), 6), -1, dtype=np.int32)
        for feature, at in enumerate(self._splits):
            table[at, 0] = feature
            table[at, 2] = np.searchsorted(self.edges[feature], nodes.threshold[at]) + 2
        table[:, 1] = np.where(nodes.missing_left, _MISSING, _MISSING + 1)
        table[:, 3], table[:, 4] = nodes.left, nodes.right
        bits = [np.zeros(1, dtype=np.uint32)]
        for node, numbers in nodes.listed.items():
            edges = self.edges[nodes.feature[node]]
            goes = np.zeros(len(edges) + 2, dtype=bool)
            goes[1 + np.searchsorted(edges, numbers)] = True
            goes[[0, -1]] = nodes.missing_left[node]
            table[node, 5] = sum(map(len, bits))
            bits.append(_packed(goes))
        values = np.rint(nodes.values / self.step).astype(np.int64)
        firsts = np.array([tree.first for tree in self.trees], dtype=np.int64)
        return table, np.concatenate(bits), values, self.roots, firsts

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

    def score(self, codes: AnyArray) -> FloatArray:
        """Return the scores (scored,) of one row of codes (features,)."""
        table, bits, values, roots, firsts = self.arrays
        at, sums = roots, np.zeros(self.channels, dtype=np.int64)
        while (inner := table[at, 0] >= 0).any():
            feature, low, high, left, right, listed = table[at].T
            code = codes[feature]
            member = (bits[np.maximum(listed, 0) + (code >> 5) * (listed >= 0)] >> (code & 31).astype(np.uint32)) & 1
            goes = np.where(listed >= 0, member == 1, (code >= low) & (code < high))
            at = np.where(inner, np.where(goes, left, right), at)
        for channel in range(values.shape[1]):
            np.add.at(sums, firsts + channel, values[at, channel])
        return np.asarray(sums * self.step, dtype=float)


def _packed(goes: BoolArray) -> AnyArray:
    """Return booleans as bits of 32-bit words, the first the lowest."""
    words = np.zeros(-(-len(goes) // 32) * 32, dtype=np.uint8)
    words[: len(goes)] = goes
    return np.packbits(words, bitorder="little").view(np.uint32)


def set_bits(words: AnyArray) -> FloatArray:
    """Return the positions of the set bits of 32-bit words, as floats."""
    return np.flatnonzero(np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")).astype(float)


class Walkable(NamedTuple):
    """A model as a forest, with the way into it and out of it.

    Attributes
    ----------
    forest : Forest
    encode : callable
        Returns the rows of a table as the forest's columns, numbers of shape (n, features).
    columns : tuple of int
        The forest's column of each column of the table.
    finish : callable
        Returns the distribution of rows from their scores (n, channels), and from a function that returns the
        scores of `split` for the same rows, called only if a measure needs them.
    split : callable, optional
        Returns the forest of what members disagree on.
    methods : frozenset of str, optional
        What the distributions answer, as `core.engine.fast_path.Partial`.
    """

    forest: Forest
    encode: Callable[[Table], AnyArray]
    columns: tuple[int, ...]
    finish: Callable[[FloatArray, Callable[[], FloatArray]], Distribution]
    split: Callable[[], Forest] | None = None
    methods: frozenset[str] | None = None


class TreeReader(NamedTuple):
    """How the models of one class are read.

    Attributes
    ----------
    trees : callable
        Returns how many trees the final estimator has, without reading them.
    read : callable
        Returns what is walked of a model, given its final estimator, adapter and rows; None where it is no such thing.
    """

    trees: Callable[[Any], int]
    read: Callable[[Any, Any, Adapter, Table], Walkable | None]


def by_scores(  # a reader's arguments, and what it read
    model: Any, adapter: Adapter, X: Table, forest: Forest, encode: Callable[[Table], AnyArray], columns: Sequence[int]
) -> Walkable | None:
    """Return a model whose adapter makes its prediction of raw scores: the forest's and a start, read off one row."""
    if not isinstance(adapter, HasScores):
        return None
    first = take_rows(X, slice(1))
    raw = adapter.score(model, first)
    if raw is None or raw.shape != (1, forest.channels):
        return None
    start = raw[0] - forest.score(forest.codes(encode(first))[:, 0])
    return Walkable(forest, encode, tuple(columns), lambda scores, _: adapter.from_score(model, scores + start))


def is_numeric(X: Table) -> bool:
    """Say whether all columns are numbers or booleans."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "fiub"
    return all(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes)


def plain_numbers(X: Table) -> FloatArray:
    """Return a numeric table as floats of shape (n, d)."""
    return X.astype(float) if isinstance(X, np.ndarray) else X.to_numpy(dtype=float, na_value=np.nan)


def category_codes(categories: Sequence[Any] | None, X: Table) -> Callable[[Table], FloatArray]:
    """Return how rows become numbers: a frame's columns of categories as codes, among `categories` in their order.

    Without `categories`, the codes are the frame's own.
    """
    if isinstance(X, np.ndarray):
        return plain_numbers
    named = [c for c, dtype in enumerate(X.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
    of = dict(zip(named, categories or [X.iloc[:, c].cat.categories for c in named], strict=True))

    def encode(rows: Table) -> FloatArray:
        columns = [
            pd.Categorical(column, categories=list(of[c])).codes if c in of else column.to_numpy(float, na_value=np.nan)
            for c, (_, column) in enumerate(pd.DataFrame(rows).items())
        ]
        numbers = np.column_stack([np.asarray(column, dtype=float) for column in columns])
        numbers[:, named] = np.where(numbers[:, named] < 0, np.nan, numbers[:, named])
        return numbers

    return encode
