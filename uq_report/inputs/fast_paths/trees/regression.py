"""scikit-learn's forests of regression trees: the moments of their mixtures are sums over trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.model.adapter import Adapter, class_names
from ....core.predictive import Distribution
from ....core.support.arrays import FloatArray, Table
from ....distributions import NormalMixture
from ....distributions.numerics.validate import Rowwise
from ...adapters.ensemble import EnsembleAdapter, leaf_variance
from .forest import Forest, TreeReader, Walkable, is_numeric, plain_numbers
from .sklearn import Member, member_count, with_columns

_TREES = ("sklearn.DecisionTreeRegressor", "sklearn.ExtraTreeRegressor")
_FORESTS = ("sklearn.RandomForestRegressor", "sklearn.ExtraTreesRegressor", "sklearn.BaggingRegressor")
_MOMENTS = frozenset({"mean", "variance", "aleatoric_variance", "epistemic_variance"})
_EPS = float(np.finfo(float).eps)


@dataclass(eq=False)
class _TreeMoments(Rowwise):
    """Mixtures of members of which mean, mean variance and variance of the means are known, each of shape (n,)."""

    center: FloatArray
    within: FloatArray
    between: FloatArray

    family = NormalMixture.family
    by_row = ("center", "within", "between")

    @property
    def supports(self) -> frozenset[str]:
        return _MOMENTS

    def mean(self) -> FloatArray:
        return self.center

    def variance(self) -> FloatArray:
        return self.within + self.between

    def aleatoric_variance(self) -> FloatArray:
        return self.within

    def epistemic_variance(self) -> FloatArray:
        return self.between


def _read(_: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read a forest or a bag of trees of one output, of which any leaf is a single point.

    Others have a density, and audits ask for its entropy: that needs the members, and takes longer than they do.
    Leaves are kept as their distance to the mean of the roots, in units of the largest, so that little cancels between
    the mean of their squares and the square of their mean.
    """
    if type(adapter) is not EnsembleAdapter or adapter.noise_variance or not is_numeric(X):
        return None
    members = []
    for tree, columns in with_columns(final):
        if class_names(tree)[0] not in _TREES or tree.n_outputs_ != 1:
            return None
        members.append(Member(tree, columns, np.column_stack([tree.tree_.value[:, 0, 0], leaf_variance(tree)])))
    variances = np.concatenate([member.held[member.fitted.tree_.children_left < 0, 1] for member in members])
    if variances.all():
        return None
    center = float(np.mean([member.held[0, 0] for member in members]))
    unit = 2.0 ** np.frexp(max(np.abs(member.held[:, 0] - center).max() for member in members))[1]

    def leaves(held: FloatArray) -> FloatArray:
        apart = (held[:, 0] - center) / unit
        moments = [apart, np.square(apart), held[:, 1] / unit**2]
        return np.column_stack(moments if variances.any() else moments[:2])

    trees = [member.tree(leaves) for member in members]
    forest = Forest(trees, X.shape[1], trees[0].values.shape[1], single=True)

    def finish(scores: FloatArray, _: Callable[[], FloatArray]) -> Distribution:
        apart, square, *within = scores.T / len(members)
        between = square - np.square(apart)
        between[between <= 4 * _EPS * square + 2 * forest.step] = 0.0  # it is rounding
        own = unit**2 * within[0] if within else np.zeros(len(apart))
        return _TreeMoments(center + unit * apart, own, unit**2 * between)

    return Walkable(forest, plain_numbers, tuple(range(X.shape[1])), finish, methods=_MOMENTS)


REGRESSION: Mapping[str, TreeReader] = dict.fromkeys(_FORESTS, TreeReader(member_count, _read))
