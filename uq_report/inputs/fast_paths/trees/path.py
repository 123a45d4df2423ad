"""The fast path of tree ensembles: one walk gives the scores of rows at every value of a column.

scikit-learn's trees, forests and gradient boosting as forests to walk.

LightGBM's models as forests to walk, by the text that ``Booster.model_to_string`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import entr

from ....core.engine.fast_path_evaluator import Shortcut
from ....core.model.adapter import Adapter, class_names
from ....core.predictive import Distribution
from ....core.support.arrays import AnyArray, FloatArray, IntArray, Table
from ....core.support.errors import MissingDependencyError, installed
from ....distributions import Categorical, CategoricalMixture, NormalMixture
from ....distributions.numerics.validate import Rowwise
from ...adapters.ensemble import EnsembleAdapter, leaf_variance
from ...adapters.sklearn_ import unwrap
from .forest import Forest, Tree, TreeReader, Walkable, by_scores, category_codes, is_numeric, plain_numbers, set_bits

if TYPE_CHECKING:
    from .walks import Walks

_TREES = ("sklearn.DecisionTreeClassifier", "sklearn.ExtraTreeClassifier")
_FORESTS = ("sklearn.RandomForestClassifier", "sklearn.ExtraTreesClassifier", "sklearn.BaggingClassifier")


def _classes(_: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read a classification tree, a forest or a bag of them: scores are the members' probabilities, added up."""
    members = members_of(final)
    if adapter.name not in ("ensemble", "classifier") or members is None or not is_numeric(X):
        return None

    def finish(scores: FloatArray, split: Callable[[], FloatArray]) -> Distribution:
        p = scores / len(members)
        if adapter.name == "classifier":
            return Categorical(p, classes=final.classes_)
        return CategoricalMixture.of_moments(p, lambda: _moments(split() / len(members)), final.classes_)

    def forest(leaves: Callable[[FloatArray], FloatArray], whole: int = 0) -> Forest:
        trees = [member.tree(leaves) for member in members]
        return Forest(trees, X.shape[1], trees[0].values.shape[1], single=True, whole=whole)

    two = len(final.classes_) == 2
    return Walkable(
        forest(lambda p: p[:, :1] if two else p, len(members) if two else 0),
        plain_numbers,
        tuple(range(X.shape[1])),
        finish,
        lambda: forest(lambda p: np.column_stack([entr(p).sum(axis=1), np.square(p)])),
    )


class Member(NamedTuple):
    """A tree of an ensemble: the columns it takes if not all, and what its nodes hold, as class shares."""

    fitted: Any
    columns: IntArray | None
    held: FloatArray

    def tree(self, leaves: Callable[[FloatArray], FloatArray], first: int = 0) -> Tree:
        """Return the flat form whose leaves are a function of what they hold."""
        tree = _tree(self.fitted.tree_, leaves(self.held), first)
        return tree if self.columns is None else tree._replace(feature=self.columns.take(tree.feature, mode="clip"))


def members_of(final: Any) -> list[Member] | None:
    """Return the trees of a classifier whose probabilities are the mean of theirs; None of any other model."""
    name = class_names(final)[0]
    if (name not in _TREES and name not in _FORESTS) or getattr(final, "n_outputs_", 1) != 1:
        return None
    k, members = len(final.classes_), []
    for member, own in with_columns(final):
        if class_names(member)[0] not in _TREES:
            return None
        shares = member.tree_.value[:, 0, :]
        if shares.shape[1] < k:  # a bag trains on class positions, of which a sample may miss some
            shares, partial = np.zeros((len(shares), k)), shares
            shares[:, member.classes_] = partial
        members.append(Member(member, own, shares))
    return members


def with_columns(final: Any) -> Iterator[tuple[Any, IntArray | None]]:
    """Yield the fitted members of an ensemble, or a model that is none, with the columns that each takes if not all."""
    fitted = getattr(final, "estimators_", [final])
    yield from zip(fitted, getattr(final, "estimators_features_", [None] * len(fitted)), strict=True)


def _moments(split: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.maximum(split[:, 0], 0.0), split[:, 1:]


def _boosted(model: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read gradient boosting; a start that is a model of its own is refused."""
    if not is_numeric(X) or final.init not in (None, "zero"):
        return None
    trees = [
        _tree(tree.tree_, final.learning_rate * tree.tree_.value[:, 0, :], c)
        for stage in final.estimators_
        for c, tree in enumerate(stage)
    ]
    forest = Forest(trees, final.n_features_in_, final.estimators_.shape[1], single=True)
    return by_scores(model, adapter, X, forest, plain_numbers, tuple(range(X.shape[1])))


def _tree(tree: Any, values: FloatArray, first: int = 0) -> Tree:
    """Return the flat form of a fitted ``tree_`` with these values by node."""
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, dtype=np.uint8))
    return Tree(
        tree.feature, tree.threshold, tree.children_left, tree.children_right, missing.astype(bool), values, first
    )


def _histogram(model: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read histogram gradient boosting; its categories come first among its own columns."""
    if not all(hasattr(final, name) for name in ("_predictors", "_bin_mapper", "_preprocess_X")):
        return None
    mapper, listed = final._bin_mapper, final.is_categorical_  # noqa: SLF001  # no public form holds the nodes
    if listed is None and not is_numeric(X):
        return None
    order = np.arange(X.shape[1]) if listed is None else np.argsort(~listed, kind="stable")
    known = {int(j): mapper.bin_thresholds_[j].astype(float) for j in np.flatnonzero(mapper.is_categorical_)}
    stages = final._predictors  # noqa: SLF001  # the same
    trees = [_histogram_tree(tree, first) for stage in stages for first, tree in enumerate(stage)]
    forest = Forest(trees, X.shape[1], final.n_trees_per_iteration_, known=known)
    columns = tuple(np.argsort(order).tolist())

    def encode(rows: Table) -> AnyArray:
        return np.asarray(final._preprocess_X(rows, reset=False), dtype=float)  # noqa: SLF001  # the same

    return by_scores(model, adapter, X, forest, encode, columns)


def _histogram_tree(predictor: Any, first: int) -> Tree:
    """Return one tree; the categories that go left are the set bits of 256."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    listed = {
        int(node): set_bits(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
    }
    return Tree(
        nodes["feature_idx"],
        nodes["num_threshold"],
        np.where(leaf, -1, nodes["left"].astype(np.int64)),
        np.where(leaf, -1, nodes["right"].astype(np.int64)),
        nodes["missing_go_to_left"].astype(bool),
        nodes["value"][:, None].astype(float),
        first,
        listed,
    )


def member_count(final: Any) -> int:
    """Return how many trees an ensemble has."""
    return len(getattr(final, "estimators_", [final]))


_CLASSES = TreeReader(member_count, _classes)
_BOOSTED = TreeReader(lambda final: int(final.estimators_.size), _boosted)
_HISTOGRAM = TreeReader(lambda final: sum(map(len, getattr(final, "_predictors", ()))), _histogram)
SKLEARN: Mapping[str, TreeReader] = {
    **dict.fromkeys((*_TREES, *_FORESTS), _CLASSES),
    **{f"sklearn.GradientBoosting{task}": _BOOSTED for task in ("Classifier", "Regressor")},
    **{f"sklearn.HistGradientBoosting{task}": _HISTOGRAM for task in ("Classifier", "Regressor")},
}


_REGRESSION_TREES = ("sklearn.DecisionTreeRegressor", "sklearn.ExtraTreeRegressor")
_REGRESSION_FORESTS = ("sklearn.RandomForestRegressor", "sklearn.ExtraTreesRegressor", "sklearn.BaggingRegressor")
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
        if class_names(tree)[0] not in _REGRESSION_TREES or tree.n_outputs_ != 1:
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


REGRESSION: Mapping[str, TreeReader] = dict.fromkeys(_REGRESSION_FORESTS, TreeReader(member_count, _read))


_CATEGORICAL, _DEFAULT_LEFT, _ZERO, _NAN = 1, 2, 4, 8  # bits of decision_type


def _booster(final: Any) -> Any:
    return getattr(final, "booster_", final)


def _read_lightgbm(model: Any, final: Any, adapter: Adapter, X: Table) -> Walkable | None:
    """Read the trees up to the best iteration; linear leaves, averaged trees and zeros as missing are refused."""
    booster = _booster(final)
    head, *blocks = booster.model_to_string().split("\nend of trees")[0].split("\nTree=")
    facts = _facts(head)
    parts = [_facts(block) for block in blocks]
    if "average_output" in head or any(int(part["is_linear"]) for part in parts):
        return None
    k = int(facts["num_tree_per_iteration"])
    trees = [_lightgbm_tree(part, number % k) for number, part in enumerate(parts)]
    if not trees or any(tree is None for tree in trees):
        return None
    forest = Forest([tree for tree in trees if tree is not None], X.shape[1], k)
    return by_scores(model, adapter, X, forest, category_codes(booster.pandas_categorical, X), range(X.shape[1]))


def _facts(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _lightgbm_tree(part: Mapping[str, str], first: int) -> Tree | None:
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
    f"lightgbm.{name}": TreeReader(lambda final: int(_booster(final).num_trees()), _read_lightgbm)
    for name in ("LGBMClassifier", "LGBMRegressor", "Booster")
}


READERS: Mapping[str, TreeReader] = {**SKLEARN, **REGRESSION, **LIGHTGBM}
WORTH = 100_000  # rows x trees from which walks are used: loading them takes as long as predicting fewer, 0.3 s


class TreePath:
    """Forests and boosted trees whose nodes can be read, alone or in a wrapper that only predicts by them.

    Notes
    -----
    Rows x trees below `WORTH` are left to the model. Sums of leaves are exact; what differs from the model's own
    prediction is the order in which that rounds.
    """

    name: ClassVar[str] = "trees"
    libraries: ClassVar[tuple[str, ...]] = ("numba",)
    title: ClassVar[str] = "tree walk"
    rank: ClassVar[int] = 0
    api_version: ClassVar[int] = 1

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> Shortcut | None:
        """Return the walks of a model of a known class, None for others and for few rows.

        Raises
        ------
        MissingDependencyError
            If walks are worth it and numba is missing; the run reports it.
        """
        return self.mixer(model, adapter, X, len(X))

    def mixer(self, model: Any, adapter: Adapter, X: Table, rows: int) -> Walks | None:
        """Return the same walks, where they are worth it for so many rows mixed of those of `X`."""
        steps, final = unwrap(model)
        reader = READERS.get(class_names(final)[0])
        if steps or reader is None or rows * reader.trees(final) < WORTH:
            return None
        walkable = reader.read(model, final, adapter, X)
        if walkable is None:
            return None
        if not installed("numba"):
            raise MissingDependencyError(f"fast path {self.name!r}", "numba", "fast")
        from .walks import Walks  # loads numba, which takes as long as few predictions

        return Walks(walkable, X)
