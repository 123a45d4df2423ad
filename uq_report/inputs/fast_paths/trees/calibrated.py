"""scikit-learn's calibrated classifiers of trees: the trees of all folds are walked, then calibrated by the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from ....core.adapter import Adapter
from ....core.arrays import FloatArray, Table
from ....core.distributions import Categorical
from ....core.predictive import Distribution
from ...adapters.outputs import giving
from ...adapters.sklearn_ import unwrap
from .forest import Forest
from .sklearn import members_of
from .walkable import Reader, Walkable, is_numeric, plain_numbers


def _read(_: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read a calibrated classifier whose folds hold trees, forests or bags of them; no others, and no steps before."""
    folds = [unwrap(fold.estimator) for fold in final.calibrated_classifiers_]
    inner = [model for _, model in folds]
    members = [None if steps else members_of(model) for steps, model in folds]
    if adapter.name != "classifier" or not is_numeric(X):
        return None
    trees, sizes = [], np.cumsum([0, *(len(model.classes_) for model in inner)])
    for first, own in zip(sizes.tolist(), members, strict=False):
        if own is None:
            return None
        trees += [member.tree(partial(np.multiply, 1 / len(own)), first) for member in own]

    def finish(scores: FloatArray, _: Callable[[], FloatArray]) -> Distribution:
        parts = np.split(scores, sizes[1:-1], axis=1)
        return Categorical(_predicting(final, inner, parts).predict_proba(scores), classes=final.classes_)

    forest = Forest(trees, X.shape[1], int(sizes[-1]), single=True)
    return Walkable(forest, plain_numbers, tuple(range(X.shape[1])), finish)


def _predicting(final: Any, inner: list[Any], parts: list[FloatArray]) -> Any:
    """Return a copy of the model whose folds hold models of these probabilities, whatever rows they are asked about."""
    model, folds = copy(final), []
    for fold, estimator, p in zip(final.calibrated_classifiers_, inner, parts, strict=True):
        own = copy(fold)
        own.estimator = giving(estimator, p)
        folds.append(own)
    model.calibrated_classifiers_ = folds
    return model


def _trees(final: Any) -> int:
    inner = (unwrap(fold.estimator)[1] for fold in final.calibrated_classifiers_)
    return sum(len(getattr(model, "estimators_", [model])) for model in inner)


CALIBRATED: Mapping[str, Reader] = {"sklearn.CalibratedClassifierCV": Reader(_trees, _read)}
