"""Segments: the leaves of a small regression tree over coded features, as ranges of codes and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from .coding import MISSING, CodedFeature

FOLDS = 5
ROUNDING = 1e-9  # share of the variance that is no gain
Ranges = dict[int, tuple[int, int]]  # position of a feature -> lowest and highest code


class Segment(NamedTuple):
    """Rows that share ranges of some features: in words, which features, and a mask of the rows."""

    words: str
    features: tuple[str, ...]
    rows: BoolArray


@dataclass(frozen=True)
class Grower:
    """Grows trees of at most `max_leaf_nodes` leaves on `rows`, whose independent units are `units`, shape (n,).

    The number of leaves, two at least, is the fewest of a squared error within one standard error of the least, over
    `FOLDS` folds of the growing units (Breiman et al. 1984): a target that is mostly noise parts the rows once, and the
    judging rows are not spent on fragments.
    """

    rows: IntArray
    weights: FloatArray
    units: IntArray
    max_leaf_nodes: int
    min_samples_leaf: int
    seed: int

    def segments(self, columns: Sequence[CodedFeature], target: FloatArray) -> list[Segment]:
        """Return the leaves of the tree of `target`, shape (n,), as rows of all n; none where it does not split."""
        X = np.column_stack([c.codes for c in columns])
        tree = self._fit(X, target, self.rows, self._leaves(X, target))
        if tree.node_count < 2:
            return []
        return [_segment(columns, X, ranges) for ranges in _leaves(tree, columns)]

    def _fit(self, X: IntArray, target: FloatArray, rows: IntArray, leaves: int) -> Any:
        from sklearn.tree import DecisionTreeRegressor  # here: heavy, and a list of plugins grows no tree

        model = DecisionTreeRegressor(
            max_leaf_nodes=leaves, min_samples_leaf=self.min_samples_leaf, random_state=self.seed
        )
        return model.fit(X[rows], target[rows], sample_weight=self.weights[rows]).tree_

    def _leaves(self, X: IntArray, target: FloatArray) -> int:
        """Return the fewest leaves that no other number beats by more than one standard error, over folds of units."""
        order = np.random.default_rng(self.seed).permutation(np.unique(self.units[self.rows]))
        sizes = np.arange(2, self.max_leaf_nodes + 1)
        errors = np.zeros((len(sizes), len(target)))
        for fold in range(FOLDS):
            check_limits()
            out = np.isin(self.units[self.rows], order[fold::FOLDS])
            tree = self._fit(X, target, self.rows[~out], self.max_leaf_nodes)
            rows = self.rows[out]
            forecasts = np.stack([subtree_values(tree, X[rows], int(k)) for k in sizes])
            errors[:, rows] = np.square(target[rows] - forecasts) * self.weights[rows]
        worse = errors - errors[errors.sum(axis=1).argmin()]
        rounding = ROUNDING * self.weights[self.rows] @ np.square(target[self.rows] - target[self.rows].mean())
        return int(sizes[worse.sum(axis=1) <= np.sqrt(np.square(worse).sum(axis=1)) + rounding][0])


def subtree_values(tree: Any, X: IntArray, leaves: int) -> FloatArray:
    """Return the values of the tree of the first `leaves` leaves, shape (n,): best-first trees grow two nodes at once.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = np.arange(8)[:, None], np.array([0.0, 0, 1, 1, 5, 5, 9, 9])
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=4).fit(X, y).tree_
    >>> subtree_values(tree, X, 2).tolist()
    [0.5, 0.5, 0.5, 0.5, 7.0, 7.0, 7.0, 7.0]
    """
    path = tree.decision_path(X.astype(np.float32)).toarray()[:, : 2 * leaves - 1]
    deepest = path.shape[1] - 1 - path[:, ::-1].argmax(axis=1)
    return np.asarray(tree.value[deepest, 0, 0])


def _leaves(
    tree: Any, columns: Sequence[CodedFeature], node: int = 0, ranges: Ranges | None = None
) -> Iterator[Ranges]:
    """Yield the ranges of each leaf, from left to right."""
    ranges = ranges or {}
    left, right = tree.children_left[node], tree.children_right[node]
    if left == right:
        yield ranges
        return
    at = int(tree.feature[node])
    low, high = ranges.get(at, (MISSING, columns[at].last))
    cut = int(np.floor(tree.threshold[node]))
    yield from _leaves(tree, columns, left, {**ranges, at: (low, cut)})
    yield from _leaves(tree, columns, right, {**ranges, at: (cut + 1, high)})


def _segment(columns: Sequence[CodedFeature], X: IntArray, ranges: Ranges) -> Segment:
    chosen = dict(sorted(ranges.items()))
    inside = np.ones(len(X), dtype=bool)
    for at, (low, high) in chosen.items():
        inside &= (X[:, at] >= low) & (X[:, at] <= high)
    words = " and ".join(columns[at].words(*ends) for at, ends in chosen.items())
    return Segment(words, tuple(columns[at].name for at in chosen), inside)
