"""LightGBM's models as forests to walk, by the text that ``Booster.model_to_string`` writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....core.model.adapter import Adapter
from ....core.support.arrays import AnyArray, FloatArray, Table
from .forest import Forest, Tree, TreeReader, Walkable, by_scores, category_codes, set_bits

_CATEGORICAL, _DEFAULT_LEFT, _ZERO, _NAN = 1, 2, 4, 8  # bits of decision_type


def _booster(final: Any) -> Any:
    return getattr(final, "booster_", final)


def _read(model: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read the trees up to the best iteration; linear leaves, averaged trees and zeros as missing are refused."""
    booster = _booster(final)
    head, *blocks = booster.model_to_string().split("\nend of trees")[0].split("\nTree=")
    facts = _facts(head)
    parts = [_facts(block) for block in blocks]
    if "average_output" in head or any(int(part["is_linear"]) for part in parts):
        return None
    k = int(facts["num_tree_per_iteration"])
    trees = [_tree(part, number % k) for number, part in enumerate(parts)]
    if not trees or any(tree is None for tree in trees):
        return None
    forest = Forest([tree for tree in trees if tree is not None], X.shape[1], k)
    return by_scores(model, adapter, X, forest, category_codes(booster.pandas_categorical, X), range(X.shape[1]))


def _facts(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _tree(part: Mapping[str, str], first: int) -> Tree | None:
    """Return one tree, its leaves after its inner nodes; None where zeros count as missing."""
    leaves, inner = _numbers(part, "leaf_value"), int(part["num_leaves"]) - 1
    nodes = inner + len(leaves)
    kinds = _whole(part, "decision_type")
    if (kinds & _ZERO).any():
        return None
    left, right = (np.full(nodes, -1, dtype=np.int64) for _ in range(2))
    threshold, values, missing = np.zeros(nodes), np.zeros((nodes, 1)), np.zeros(nodes, dtype=bool)
    feature = np.zeros(nodes, dtype=np.int64)
    values[inner:, 0] = leaves
    listed = {}
    if inner:
        children = [_whole(part, name) for name in ("left_child", "right_child")]
        left[:inner], right[:inner] = (np.where(child < 0, inner + ~child, child) for child in children)
        feature[:inner], threshold[:inner] = _whole(part, "split_feature"), _numbers(part, "threshold")
        # without missing values in training, a missing one is taken as 0
        missing[:inner] = np.where(kinds & _NAN, kinds & _DEFAULT_LEFT, threshold[:inner] >= 0)
        listed = _lists(part, kinds, threshold)
        missing[[*listed]] = False
    return Tree(feature, threshold, left, right, missing, values, first, listed)


def _lists(part: Mapping[str, str], kinds: AnyArray, threshold: FloatArray) -> dict[int, FloatArray]:
    """Return the categories that go left, by node: the set bits of the words that the threshold numbers."""
    if int(part["num_cat"]) == 0:
        return {}
    bounds, words = _whole(part, "cat_boundaries"), _whole(part, "cat_threshold").astype(np.uint32)
    places = {int(node): int(threshold[node]) for node in np.flatnonzero(kinds & _CATEGORICAL)}
    return {node: set_bits(words[bounds[place] : bounds[place + 1]]) for node, place in places.items()}


def _numbers(part: Mapping[str, str], name: str) -> FloatArray:
    return np.array(part.get(name, "").split(), dtype=float)


def _whole(part: Mapping[str, str], name: str) -> AnyArray:
    return np.array(part.get(name, "").split(), dtype=np.int64)


LIGHTGBM: Mapping[str, TreeReader] = {
    f"lightgbm.{name}": TreeReader(lambda final: int(_booster(final).num_trees()), _read)
    for name in ("LGBMClassifier", "LGBMRegressor", "Booster")
}
