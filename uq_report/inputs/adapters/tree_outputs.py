"""One output of trees and forests that were fitted on several: the same splits, with that output's leaves."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ...core.support.arrays import AnyArray, FloatArray
from .sklearn_ import is_a, plain_array

_REGRESSORS = ("RandomForestRegressor", "ExtraTreesRegressor")
_SQUARES = ("squared_error", "friedman_mse")
_SAME = 1e-6
_READ = "The variances of its leaves are those of the training rows in them, whose means are the forest's own."
_POINTS = (
    "Its trees keep no variance of a single output, so members are points: pass train=(X, Y), the rows and all "
    "outputs that the forest was fitted on, in their order."
)


def tree_output(tree: Any, position: int, variances: FloatArray | None = None) -> Any:
    """Return a fitted tree of one output; `variances` of the output by node, by default 0: not known."""
    whole = tree.tree_
    counts = np.atleast_1d(tree.n_classes_) if hasattr(tree, "n_classes_") else np.ones(tree.n_outputs_, dtype=np.intp)
    size = int(counts[position])
    state = whole.__getstate__()
    nodes = state["nodes"].copy()
    nodes["impurity"] = 0.0 if variances is None else variances
    sliced = type(whole)(whole.n_features, np.array([size], dtype=np.intp), 1)
    values = np.ascontiguousarray(state["values"][:, position : position + 1, :size])
    sliced.__setstate__({**state, "nodes": nodes, "values": values})
    return _single(tree, sliced, position)


def forest_output(forest: Any, position: int, train: tuple[Any, AnyArray] | None) -> tuple[Any, str]:
    """Return the forest of one output, and where the variances of its leaves are from."""
    regressor = is_a(forest, _REGRESSORS)
    variances = _variances(forest, position, train) if regressor and train is not None else None
    single = copy(forest)
    single.estimators_ = [
        tree_output(tree, position, None if variances is None else variances[number])
        for number, tree in enumerate(forest.estimators_)
    ]
    single.n_outputs_ = 1
    if not regressor:
        single.classes_, single.n_classes_ = forest.classes_[position], forest.n_classes_[position]
        return single, ""
    return single, _POINTS if variances is None else _READ


def _single(tree: Any, nodes: Any, position: int) -> Any:
    single = copy(tree)
    single.tree_, single.n_outputs_ = nodes, 1
    if isinstance(getattr(tree, "classes_", None), list):
        single.classes_, single.n_classes_ = tree.classes_[position], tree.n_classes_[position]
    return single


def _variances(forest: Any, position: int, train: tuple[Any, AnyArray]) -> list[FloatArray] | None:
    """Return the variance of one output in every node of every tree; None if these are not the rows of the fit."""
    X, y = np.asarray(plain_array(train[0]), dtype=np.float32), np.asarray(train[1], dtype=float)
    if forest.criterion not in _SQUARES or len(y) != getattr(forest, "_n_samples", None):
        return None
    each = []
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        nodes, leaf = tree.tree_, tree.apply(X[rows])
        n = np.bincount(leaf, minlength=nodes.node_count)
        leaves = nodes.children_left < 0
        mean = nodes.value[:, position, 0]
        off = y[rows] - mean[leaf]
        shift = np.bincount(leaf, off, minlength=nodes.node_count) / np.maximum(n, 1)
        spread = np.bincount(leaf, off * off, minlength=nodes.node_count) / np.maximum(n, 1)
        if (n[leaves] == 0).any() or np.abs(shift).max() > _SAME * np.std(y):
            return None
        each.append(np.where(leaves, spread, 0.0))
    return each
