"""Predict changed rows by sums of leaves: one walk gives the scores of rows at every value of a column.

One walk down each tree for all rows and all values that a column is given: the compiled inner loops.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numba import njit

from ....core.model.variants import Mix, Variant
from ....core.predictive import Distribution
from ....core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, take_rows
from ....core.support.limits import check_limits
from .forest import Forest, Walkable

FEATURE, LOW, HIGH, LEFT, RIGHT, LISTED = range(6)
LEAF = -1
TOGETHER = 1 << 19  # steps, about, of compiled code between two looks at the limits
# numba would compile once more for every constant
_TYPES = {"push": "int64(int64[:, ::1], int64, int64, int64, int64, int64, int64)"}


def compiled(function: Any) -> Any:
    """Return a compiled function, kept on disk where numba finds a folder it can write to."""
    types = _TYPES.get(function.__name__)
    try:
        return njit(types, cache=True, nogil=True)(function)
    except RuntimeError:  # no folder for the cache
        return njit(types, nogil=True)(function)


@compiled
def goes_left(nodes, bits, node, code):  # type: ignore[no-untyped-def]  # compiled
    """Say (1 or 0) whether a code goes to the left child: it is in the node's list, or between its bounds."""
    if nodes[node, LISTED] >= 0:
        return np.int64((bits[nodes[node, LISTED] + (code >> 5)] >> np.uint32(code & 31)) & np.uint32(1))
    return np.int64((code >= nodes[node, LOW]) & (code < nodes[node, HIGH]))


@compiled
def push(stack, top, node, begin, end, start, stop):  # type: ignore[no-untyped-def]  # compiled
    """Put an entry on a stack; return how many it holds."""
    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4] = node, begin, end, start, stop
    return top + 1


@compiled
def parted(nodes, bits, node, codes, rows, spare, first, last):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Put those of rows[first:last] that go left in front, all in their order; return where the others start."""
    low, listed = nodes[node, LOW], nodes[node, LISTED] >= 0
    width = np.uint32(nodes[node, HIGH] - low)
    begin, size, left = np.uint64(first), np.uint64(last - first), np.uint64(0)
    for index in range(size):
        place = np.uint64(index)  # compiled code looks at the sign of every index that can have one
        row = rows[begin + place]
        code = codes[np.uint32(row)]
        goes = np.uint64(goes_left(nodes, bits, node, code) if listed else np.uint32(code - low) < width)
        rows[begin + left] = row
        spare[place - left] = row
        left += goes
    for index in range(size - left):
        rows[begin + left + np.uint64(index)] = spare[index]
    return first + np.int64(left)


def parts(count: int, size: int) -> list[slice]:
    """Return parts of so many trees, or rows, of `size` steps each: compiled code looks at no limit."""
    step = max(1, TOGETHER // size)
    return [slice(start, start + step) for start in range(0, count, step)]


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
class BaseLeaves:
    """Where unchanged rows are.

    Parameters
    ----------
    forest : Forest
    codes : array of int32, shape (features, n)
    places : tuple of arrays of int32
        Per tree the rows in the order of its leaves (trees, n), each node's part of that order as its begin and end
        (nodes, 2), and the leaf of each row (trees, n).
    """

    forest: Forest
    codes: AnyArray
    places: tuple[AnyArray, AnyArray, AnyArray]

    @cached_property
    def ways(self) -> AnyArray:
        """The rows that each node would send left, as bits of 64-bit words: shape (nodes, words)."""
        nodes, bits, _, _, _ = self.forest.arrays
        ways = np.zeros((len(nodes), -(-self.codes.shape[1] // 64)), dtype=np.uint64)
        _mark(nodes, bits, self.codes, ways)
        return ways

    def unchanged(self, forest: Forest) -> IntArray:
        """Return the rows' sums (channels, 1, n) in a forest of these trees."""
        _, _, values, _, firsts = forest.arrays
        sums = np.zeros((forest.channels, 1, self.codes.shape[1]), dtype=np.int64)
        _unchanged(values, firsts, self.places[2], sums)
        return sums


def settled(forest: Forest, codes: AnyArray) -> BaseLeaves:
    """Return where rows of these codes (features, n) are in every tree."""
    nodes, bits, _, roots, _ = forest.arrays
    return BaseLeaves(forest, codes, _settle(nodes, bits, roots, codes, forest.depth))


@compiled
def _run(nodes, bits, node, asked, start, stop):  # type: ignore[no-untyped-def]  # compiled
    """Return where the run of sorted codes asked[start:stop] that go the way of the first ends."""
    left = goes_left(nodes, bits, node, asked[start])
    if nodes[node, LISTED] >= 0:
        while start < stop and goes_left(nodes, bits, node, asked[start]) == left:
            start += 1
        return start
    if left == 0 and asked[start] >= nodes[node, HIGH]:
        return stop
    bound = nodes[node, HIGH] if left == 1 else nodes[node, LOW]
    while start < stop:
        middle = (start + stop) >> 1
        if asked[middle] < bound:
            start = middle + 1
        else:
            stop = middle
    return start


@compiled
def _exchange(values, node, own, first, rows, begin, end, start, stop, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Put a leaf in the place of the `own` ones of rows[begin:end], as differences at the start of a run and behind."""
    for channel in range(values.shape[1]):
        value = values[node, channel]
        for place in range(begin, end):
            row = np.uint32(rows[place])
            change = value - values[np.uint32(own[row]), channel]
            if change != 0:
                out[first + channel, start, row] += change
                if stop < out.shape[1]:
                    out[first + channel, stop, row] -= change


@compiled
def _spread(nodes, bits, values, first, codes, column, asked, own, stack, count, rows, spare, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Put the leaves below node ``stack[0, 0]`` in the place of rows[:count]' `own`, over the run ``stack[0, 3:]``."""
    stack[0, 1], stack[0, 2], top = 0, count, 1
    while top > 0:
        top -= 1
        node, begin, end, start, stop = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4]
        while nodes[node, FEATURE] != LEAF:
            feature, left, right = nodes[node, FEATURE], np.int64(nodes[node, LEFT]), np.int64(nodes[node, RIGHT])
            if feature == column:
                until = _run(nodes, bits, node, asked, start, stop)
                if until < stop:
                    top = push(stack, top, node, begin, end, until, stop)
                    stop = until
                node = left if goes_left(nodes, bits, node, asked[start]) == 1 else right
                continue
            middle = parted(nodes, bits, node, codes[feature], rows, spare, begin, end)
            if middle == begin:
                node = right
                continue
            if middle < end:
                top = push(stack, top, right, middle, end, start, stop)
            node, end = left, middle
        _exchange(values, node, own, first, rows, begin, end, start, stop, out)


@compiled
def _walk(nodes, bits, values, roots, firsts, settled, codes, column, asked, depth, out):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Add the differences from the unchanged rows' sums, of all trees, to `out` (channels, asked, rows)."""
    stack, below = np.empty((2 * depth + 1, 5), dtype=np.int64), np.empty((2 * depth + 1, 5), dtype=np.int64)
    rows, spare = np.empty(codes.shape[1], dtype=np.int32), np.empty(codes.shape[1], dtype=np.int32)
    order, spans, leaves = settled
    for tree in range(len(roots)):
        top = push(stack, 0, roots[tree], 0, 0, 0, len(asked))
        while top > 0:
            top -= 1
            node, start, stop = stack[top, 0], stack[top, 3], stack[top, 4]
            while nodes[node, FEATURE] != LEAF and spans[node, 0] < spans[node, 1]:
                left, right = np.int64(nodes[node, LEFT]), np.int64(nodes[node, RIGHT])
                if nodes[node, FEATURE] != column:
                    top = push(stack, top, right, 0, 0, start, stop)
                    node = left
                    continue
                until = _run(nodes, bits, node, asked, start, stop)
                if until < stop:
                    top = push(stack, top, node, 0, 0, until, stop)
                    stop = until
                other = right
                if goes_left(nodes, bits, node, asked[start]) == 1:
                    node = left
                else:
                    node, other = right, left
                begin, end = spans[other]
                if begin < end:
                    rows[: end - begin] = order[tree, begin:end]
                    push(below, 0, node, 0, 0, start, stop)
                    first, own, count = firsts[tree], leaves[tree], end - begin
                    _spread(nodes, bits, values, first, codes, column, asked, own, below, count, rows, spare, out)


@compiled
def _sum(table):  # type: ignore[no-untyped-def]  # compiled
    """Add up differences (channels, m, n) in place, over the second axis."""
    for channel in range(table.shape[0]):
        for position in range(1, table.shape[1]):
            for row in range(table.shape[2]):
                table[channel, position, row] += table[channel, position - 1, row]


@compiled
def _pick(table, whole, step, places, found):  # type: ignore[no-untyped-def]  # compiled
    """Write to `found` (channels, n, v) what a table of sums has for each row at its places (n, v)."""
    for channel in range(table.shape[0]):
        for row in range(places.shape[0]):
            for v in range(places.shape[1]):
                total = table[channel, places[row, v], row]
                found[channel, row, v] = total * step
                if whole:
                    found[1, row, v] = (whole - total) * step


def pick(forest: Forest, table: IntArray, places: IntArray) -> FloatArray:
    """Return the scores (n, v, channels) of rows under v changes, by the place of each in a table of sums.

    Each score lies by itself in memory, as measures read them.
    """
    found = np.empty((forest.scored, *places.shape))
    _pick(table, forest.units, forest.step, places, found)
    return found.transpose(1, 2, 0)


def scores_of(forest: Forest, sums: IntArray) -> FloatArray:
    """Return the scores (k, scored) of k sums (channels, k)."""
    return pick(forest, sums[:, None], np.zeros((sums.shape[1], 1), dtype=np.int64))[:, 0]


def walk(forest: Forest, rows: BaseLeaves, column: int, asked: AnyArray) -> IntArray:
    """Return the sums of all trees' leaves, in units of `step`, for every row at every code that `column` is given.

    A tree is walked once by all rows together. Where the changed column decides, the rows that it sends one way also
    go the other, with the asked codes that go there: a run of the sorted codes. Over that run their own leaf is
    replaced by those that they reach, as differences at its ends. So a feature costs less than one prediction of the
    rows however many codes are asked, and less the more features there are.

    Parameters
    ----------
    forest : Forest
        The flat form of the ensemble; its leaves are whole numbers, so that sums do not depend on their order.
    rows : BaseLeaves
        n rows.
    column : int
        The feature whose codes are replaced.
    asked : array of int32, shape (m,)
        Sorted codes.

    Returns
    -------
    array of int64, shape (channels, m, n)
    """
    nodes, bits, values, roots, firsts = forest.arrays
    table = np.zeros((forest.channels, len(asked), rows.codes.shape[1]), dtype=np.int64)
    table[:, :1] = rows.unchanged(forest)
    order, spans, leaves = rows.places
    for some in parts(len(roots), rows.codes.shape[1]):
        check_limits()
        places = order[some], spans, leaves[some]
        _walk(nodes, bits, values, roots[some], firsts[some], places, rows.codes, column, asked, forest.depth, table)
    _sum(table)
    return table


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


BLOCK = 1 << 21  # sums of a score in a table, and places of rows x trees, from which rows are parted: 16 MiB
_VISIT = 20  # sums of a table that cost as much as a row's way down a tree, or less


class Walks:
    """Changed rows predicted from sums of rows x changes of one column."""

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self.methods = walkable.methods
        self._walkable = walkable
        self._X = X

    def covers(self, variant: Variant) -> bool:
        """Say whether a change is worth a walk: of one column nearly always, of several never."""
        one_value = bool(variant.columns) and variant.donors is None and not np.ndim(variant.values[0])
        return len(variant.columns) <= 1 and (one_value or self._serves(_column(variant)))

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distribution of every row under every variant: row r of variant v at ``r * len(group) + v``."""
        by_column: dict[int, list[int]] = {}
        for number, variant in enumerate(group):
            by_column.setdefault(_column(variant), []).append(number)
        order = np.argsort(np.concatenate([*by_column.values()]))
        given = {c: np.column_stack([self._given(c, group[v], rows) for v in at]) for c, at in by_column.items()}

        def scores(*, split: bool = False) -> FloatArray:
            forest, blocks = self._forest(split=split), []
            for start in range(0, len(rows), self.block):
                part = slice(start, start + self.block)
                blocks.append(self._scores(forest, rows[part], {c: codes[part] for c, codes in given.items()}))
            found = np.concatenate(blocks, axis=1)[:, :, order]
            return found.reshape(forest.scored, -1).T  # sums of many differ by how they lie

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def mixed(self, mixes: Sequence[Mix]) -> Distribution:
        """Return the distributions of the rows of all mixes, in their order."""
        place, codes = list(self._walkable.columns), self._codes

        def scores(*, split: bool = False) -> FloatArray:
            forest = self._forest(split=split)
            sums = []
            for mix in mixes:
                owned = np.zeros((forest.features, len(mix.own)), dtype=bool)
                owned[place] = mix.own.T
                both = np.ascontiguousarray(codes[:, mix.row]), np.ascontiguousarray(codes[:, mix.others])
                sums.append(mixed_sums(forest, *both, owned).reshape(forest.channels, -1))
            return scores_of(forest, np.concatenate(sums, axis=1))

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def _scores(self, forest: Forest, rows: IntArray, given: Mapping[int, AnyArray]) -> FloatArray:
        """Return the scores of rows under the codes (rows, variants) given for columns: (scored, rows, variants)."""
        leaves, parts = settled(self._walkable.forest, np.ascontiguousarray(self._codes[:, rows])), []
        for c, codes in given.items():
            asked = np.unique(codes)
            sums = walk(forest, leaves, self._walkable.columns[c], asked)
            parts.append(pick(forest, sums, np.searchsorted(asked, codes)).transpose(2, 0, 1))
        return np.concatenate(parts, axis=2)

    def _forest(self, *, split: bool) -> Forest:
        """Return the forest, or that of what its members disagree on."""
        return self._split if split else self._walkable.forest

    @cached_property
    def _split(self) -> Forest:
        """The forest of what members disagree on; asked only of a distribution that has members."""
        return cast("Callable[[], Forest]", self._walkable.split)()

    def _given(self, c: int, variant: Variant, rows: IntArray) -> AnyArray:
        """Return the codes of a column under a variant, shape (n,)."""
        column = self._walkable.columns[c]
        if variant.donors is not None or not variant.columns:
            return self._codes[column][variant.donors if variant.columns else rows]
        few = take_rows(self._X, np.zeros(np.size(variant.values[0]), dtype=np.int64))
        if isinstance(few, np.ndarray):
            few[:, c] = variant.values[0]
        else:
            few.iloc[:, c] = variant.values[0]
        codes = self._walkable.forest.coded(self._walkable.encode(few)[:, column], column)
        return np.broadcast_to(codes, len(rows))

    def _serves(self, c: int) -> bool:
        """Say whether rows get other values of a column for less than they go down the trees."""
        forest = self._walkable.forest
        few = self.distinct[c] * forest.channels <= _VISIT * len(forest.trees)
        return few or self._codes.shape[1] <= self.block

    @cached_property
    def block(self) -> int:
        """The most rows that are walked at once."""
        forest = self._walkable.forest
        return max(1, BLOCK // max(max(self.distinct) * forest.channels, len(forest.trees)))

    @cached_property
    def distinct(self) -> list[int]:
        """The number of distinct codes of each column."""
        return [len(np.unique(self._codes[column])) for column in self._walkable.columns]

    @cached_property
    def _codes(self) -> AnyArray:
        """The codes of the whole table, shape (features, n)."""
        return self._walkable.forest.codes(self._walkable.encode(self._X))


def _column(variant: Variant) -> int:
    """Return the column that changes; the first where none does."""
    return variant.columns[0] if variant.columns else 0
