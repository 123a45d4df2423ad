"""XGBoost's models as forests to walk, by the JSON that ``Booster.save_raw`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....core.model.adapter import Adapter
from ....core.support.arrays import AnyArray, FloatArray, Table
from .forest import Forest, Tree
from .walkable import TreeReader, Walkable, by_scores, category_codes

# XGBoost adds its leaves in single precision: so far its own predictions are from the sum of the same leaves
SINGLE = 1e-5


def _read(model: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read the trees that ``predict`` uses; linear boosters, dropped trees and vector leaves are refused."""
    missing = getattr(final, "missing", np.nan)
    booster = _booster(final)
    learner = json.loads(booster.save_raw("json"))["learner"]
    boosted = learner["gradient_booster"]
    if boosted["name"] != "gbtree" or not np.isnan(missing) or int(learner["learner_model_param"]["num_target"]) > 1:
        return None
    encode = category_codes(None, X)
    trees, classes, ends = (boosted["model"][name] for name in ("trees", "tree_info", "iteration_indptr"))
    best = None if booster is final else booster.attr("best_iteration")
    used = len(trees) if best is None else ends[int(best) + 1]
    known = _known(trees[:used], encode(X))
    forest = Forest(
        [_tree(tree, first, known) for tree, first in zip(trees[:used], classes, strict=False)],
        X.shape[1],
        max(1, int(learner["learner_model_param"]["num_class"])),
        single=True,
        known=known,
    )
    return by_scores(model, adapter, X, forest, encode, range(X.shape[1]), SINGLE)


def _known(trees: list[dict[str, Any]], rows: AnyArray) -> dict[int, FloatArray]:
    """Return the categories of each feature split by categories: those of the trees and of the rows."""
    named: dict[int, list[float]] = {}
    for tree in trees:
        for node, numbers in _lists(tree).items():
            named.setdefault(tree["split_indices"][node], []).extend(numbers)
    return {j: np.union1d(numbers, rows[~np.isnan(rows[:, j]), j]) for j, numbers in named.items()}


def _lists(tree: dict[str, Any]) -> dict[int, list[float]]:
    """Return the categories that go right, by node."""
    parts = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    return {node: tree["categories"][start : start + size] for node, start, size in parts}


def _tree(tree: dict[str, Any], first: int, known: Mapping[int, FloatArray]) -> Tree:
    """Return one tree. A number goes left below its threshold: not above the next smaller one of single precision."""
    left = np.array(tree["left_children"])
    numbers = np.array(tree["split_conditions"], dtype=np.float32)
    leaf = left < 0
    feature = np.array(tree["split_indices"])
    return Tree(
        feature,
        np.nextafter(numbers, np.float32(-np.inf)).astype(float),
        np.where(leaf, -1, left),
        np.where(leaf, -1, tree["right_children"]),
        np.array(tree["default_left"], dtype=bool),
        np.where(leaf, numbers, 0.0).astype(float)[:, None],
        first,
        {node: np.setdiff1d(known[int(feature[node])], right) for node, right in _lists(tree).items()},
    )


def _booster(final: Any) -> Any:
    return final.get_booster() if hasattr(final, "get_booster") else final


def _trees(final: Any) -> int:
    boosted = json.loads(_booster(final).save_config())["learner"]["gradient_booster"]
    return int(boosted.get("gbtree_model_param", {}).get("num_trees", 0))


XGBOOST: Mapping[str, TreeReader] = {
    f"xgboost.{name}": TreeReader(_trees, _read) for name in ("XGBClassifier", "XGBRegressor", "Booster")
}
