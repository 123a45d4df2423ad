"""CatBoost's symmetric trees as forests to walk, by the JSON that ``save_model`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ....core.adapter import Adapter
from ....core.arrays import Table
from .forest import Forest, Tree
from .walkable import Reader, Walkable, by_scores, is_numeric, plain_numbers


def _read(model: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read symmetric trees of numbers; categories, which become statistics, and other trees are refused."""
    if final.get_cat_feature_indices() or not is_numeric(X):
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        final.save_model(str(path), format="json")
        content = json.loads(path.read_text())
    kinds = {split["split_type"] for tree in content.get("oblivious_trees", ()) for split in tree["splits"]}
    if "oblivious_trees" not in content or not kinds <= {"FloatFeature"}:
        return None
    scale, bias = content["scale_and_bias"]
    right = {
        feature["feature_index"]: feature["nan_value_treatment"] == "AsTrue"
        for feature in content["features_info"]["float_features"]
    }
    trees = [_tree(tree, scale, len(bias), right) for tree in content["oblivious_trees"]]
    forest = Forest(trees, X.shape[1], len(bias), single=True)
    return by_scores(model, adapter, X, forest, plain_numbers, range(X.shape[1]))


def _tree(tree: dict[str, Any], scale: float, k: int, missing_right: Mapping[int, bool]) -> Tree:
    """Return one tree whose level l asks the split of bit depth - 1 - l; a number above its border goes right."""
    splits = tree["splits"][::-1]
    inner = 2 ** len(splits) - 1
    level = np.repeat(np.arange(len(splits)), 2 ** np.arange(len(splits)))
    nodes = np.arange(inner)
    none = np.full(inner + 1, -1)
    features = np.array([split["float_feature_index"] for split in splits], dtype=np.int64)
    borders = np.array([split["border"] for split in splits], dtype=np.float32).astype(float)
    left_of = np.array([not missing_right[j] for j in features.tolist()], dtype=bool)
    values = scale * np.array(tree["leaf_values"], dtype=float).reshape(-1, k)
    return Tree(
        np.append(features[level], none),
        np.append(borders[level], np.zeros(inner + 1)),
        np.append(2 * nodes + 1, none),
        np.append(2 * nodes + 2, none),
        np.append(left_of[level], np.zeros(inner + 1, dtype=bool)),
        np.concatenate([np.zeros((inner, k)), values]),
    )


CATBOOST: Mapping[str, Reader] = {
    f"catboost.{name}": Reader(lambda final: int(final.tree_count_ or 0), _read)
    for name in ("CatBoostClassifier", "CatBoostRegressor", "CatBoost")
}
