"""Ensembles that average members: a mixture, so that uncertainty splits into aleatoric and epistemic.

Regressors whose ``predict`` can return a standard deviation: a normal distribution per row.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, IntArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import Categorical, CategoricalMixture, Normal, NormalMixture
from . import outputs
from .sklearn_ import SklearnAdapter, batch_rows, gives_std, in_order, is_a, plain_array, transform, unwrap

_GAUSSIAN_PROCESS = ("GaussianProcessRegressor",)
_NOISE = f"""\
from {__name__} import RegressorStdAdapter

noise = float(((y_calibration - model.predict(X_calibration)) ** 2).mean())
uq.explain(model, X, y, adapter=RegressorStdAdapter(noise_variance=noise))"""


@dataclass(frozen=True)
class RegressorStdAdapter(SklearnAdapter):
    """Regressors with ``predict(X, return_std=True)``, alone, last in a pipeline, or in a search object.

    The std of BayesianRidge and ARDRegression contains the estimated noise. That of a Gaussian
    process contains the noise of a WhiteKernel in its kernel, but never its ``alpha``: without a
    WhiteKernel it is the std of the latent function, and y scatters more than it says.
    `noise_variance` adds what is missing; the match's reason, kept in the run, says which holds.

    Parameters
    ----------
    noise_variance : float, default=0.0
        Added to every variance, in squared units of y (for ``normalize_y=True``: alpha times the
        variance of the training y).

    Examples
    --------
    >>> class Meter:
    ...     def predict(self, X, return_std=False):
    ...         return X[:, 0], np.full(len(X), 3.0)
    >>> adapter = RegressorStdAdapter(noise_variance=16.0)
    >>> adapter.matches(Meter()).distance
    2
    >>> adapter.predict(Meter(), np.zeros((1, 1))).variance()
    array([25.])
    """

    noise_variance: float = 0.0

    name: ClassVar[str] = "regressor_std"

    def __post_init__(self) -> None:
        outputs.check_noise(self.name, self.noise_variance)

    def matches(self, model: Any) -> Match | None:
        """Match the named regressors, then any ``predict`` that takes ``return_std``."""
        final = unwrap(model)[1]
        if is_a(final, _GAUSSIAN_PROCESS):
            return Match(1, self._gaussian_process(final))
        if is_a(final, ("BayesianRidge", "ARDRegression")):
            return Match(1, f"{type(final).__name__}: its std contains the estimated noise")
        return Match(2, "predict takes return_std: taken to be normal") if gives_std(final) else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return a normal distribution per row; refuse a std that is 0 or no number, by row."""
        final = unwrap(model)[1]
        who = type(final).__name__
        fitted = hasattr(final, "X_train_") or not is_a(final, _GAUSSIAN_PROCESS)
        outputs.refuse_unfitted(final, fitted, "that would answer from its prior")
        mean, std = outputs.mean_and_std(model, X)
        std = np.hypot(std, math.sqrt(self.noise_variance))
        remedy = to_type(_NOISE if is_a(final, _GAUSSIAN_PROCESS) else outputs.POINTS)
        outputs.refuse_rows(f"{who}.predict must return a std > 0", std == 0, remedy)
        return Normal(mean, std)

    def _gaussian_process(self, model: Any) -> str:
        kernel = getattr(model, "kernel_", None)
        parts = (kernel, *kernel.get_params(deep=True).values()) if kernel is not None else ()
        if any("sklearn.WhiteKernel" in class_names(part) for part in parts):
            return "GaussianProcessRegressor: its std contains the WhiteKernel's noise, not alpha"
        if self.noise_variance:
            return "GaussianProcessRegressor: std of the latent function, with noise_variance added"
        return "GaussianProcessRegressor: std of the latent function, without the noise of y (no WhiteKernel)"


_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
_BAGGING = ("BaggingClassifier", "BaggingRegressor")
_VOTING = ("VotingClassifier", "VotingRegressor")
_CLASSIFIERS = ("RandomForestClassifier", "ExtraTreesClassifier", "BaggingClassifier", "VotingClassifier")
_ALL = (*_CLASSIFIERS, "RandomForestRegressor", "ExtraTreesRegressor", "BaggingRegressor", "VotingRegressor")
_CELLS = 2_500_000
_SOFT = "model.voting = 'soft'  # the fit is the same\nuq.explain(model, X, y)"


@dataclass(frozen=True)
class EnsembleAdapter(Adapter):
    """Forests, bagging and voting of scikit-learn, alone, last in a pipeline, or in a search object.

    A classifier's probabilities are exactly its own ``predict_proba``; its members are evaluated
    only when a measure needs them. Bagged classifiers without ``predict_proba`` cast votes: their
    shares are a plain categorical distribution with no split.

    A regressor's members are normal: a tree gives its leaf's mean and variance (criterion
    "squared_error" or "friedman_mse"), a member with ``return_std`` its own std. Any other member
    is a point. If one member is a point, or one leaf has variance 0 (as with the default
    ``min_samples_leaf=1``), the mixture has no density and supports no entropy; `noise_variance`,
    for example the out-of-bag mean squared error, gives it one.

    A calibrated forest is no forest: that changes what it predicts. Boosted trees are no
    mixture: they add up.

    Parameters
    ----------
    noise_variance : float, default=0.0
        Added to the variance of every member of a regressor, in squared units of y.
    """

    noise_variance: float = 0.0

    name: ClassVar[str] = "ensemble"

    def __post_init__(self) -> None:
        outputs.check_noise(self.name, self.noise_variance)

    def matches(self, model: Any) -> Match | None:
        """Match the families by name, along the inheritance of the final estimator."""
        final = unwrap(model)[1]
        if not is_a(final, _ALL):
            return None
        return Match(1, f"{type(final).__name__}: a mixture of its members")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the mixture of the members' distributions."""
        steps, final = unwrap(model)
        outputs.refuse_unfitted(final, hasattr(final, "estimators_"), "without members")
        rows = transform(steps, X)
        return _categorical(final, rows) if is_a(final, _CLASSIFIERS) else self._normal(final, rows)

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of the model's own ``predict``; None for regressors."""
        return outputs.predicted_labels(model, X) if is_a(unwrap(model)[1], _CLASSIFIERS) else None

    def batch_rows(self, model: Any) -> int | None:
        """Return 25 000 to 80 000 for what is built of trees, else None.

        Regressors of many members get fewer, as they hold rows x members.
        """
        rows, final = batch_rows(model), unwrap(model)[1]
        if rows is None or is_a(final, _CLASSIFIERS):
            return rows
        return min(rows, max(1_000, _CELLS // max(1, len(getattr(final, "estimators_", ())))))

    def _normal(self, ensemble: Any, X: Any) -> Distribution:
        """Return the mixture of normal members of a regressor."""
        _refuse_other_columns(ensemble, X)
        # a forest's first tree checks the rows for all, as in its predict
        each = is_a(ensemble, (*_BAGGING, *_VOTING))
        parts = [moments(member, rows, check=each or k == 0) for k, (member, rows) in enumerate(members(ensemble, X))]
        means, own, dense = zip(*parts, strict=True)
        stds = np.stack(own, axis=1)
        if self.noise_variance:
            stds = np.hypot(stds, math.sqrt(self.noise_variance))
        points = not self.noise_variance and not all(dense)
        return NormalMixture(np.stack(means, axis=1), stds, _weights(ensemble), points=points)


def _member_probabilities(ensemble: Any, X: Any) -> Iterator[FloatArray | tuple[FloatArray, IntArray]]:
    """Yield each member's probabilities, shape (n, k), in the ensemble's class columns; of a tree, nodes and leaves.

    A forest has predicted these rows, and so has checked them: its trees need not, which took half of their time.
    """
    if is_a(ensemble, _FORESTS):
        for member, rows in members(ensemble, X):
            shares, leaves = member.tree_.value[:, 0, :], member.tree_.apply(rows)
            yield (shares, leaves) if len(shares) < len(leaves) else shares[leaves]
        return
    for member, rows in members(ensemble, X):
        with in_order():
            p = member.predict_proba(rows)
        if p.shape[1] < len(ensemble.classes_):  # bagging trains on class positions, of which a sample may miss some
            whole = np.zeros((len(p), len(ensemble.classes_)))
            whole[:, member.classes_] = p
            p = whole
        yield p


def _categorical(ensemble: Any, X: Any) -> Distribution:
    """Return the mixture of a classifier's members, around its own probabilities."""
    if getattr(ensemble, "voting", "soft") != "soft":
        raise InputError(
            f"{type(ensemble).__name__}.voting must be 'soft'; got {ensemble.voting!r}, which gives labels and no "
            f"probabilities. {to_type(_SOFT)}"
        )
    total = outputs.probabilities(ensemble, X)
    classes = outputs.class_labels(ensemble, total.shape[1])
    if not all(callable(getattr(member, "predict_proba", None)) for member in ensemble.estimators_):
        return Categorical(total, classes=classes)
    members = partial(_member_probabilities, ensemble, X.copy())
    return CategoricalMixture(members, classes, weights=_weights(ensemble), probabilities=total)


def members(ensemble: Any, X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each fitted member with the rows it takes, as the ensemble itself would pass them."""
    members = ensemble.estimators_
    if is_a(ensemble, _BAGGING):
        rows = plain_array(X)
        yield from ((m, rows[:, columns]) for m, columns in zip(members, ensemble.estimators_features_, strict=True))
        return
    if not is_a(ensemble, _VOTING):
        with np.errstate(over="ignore"):  # an overflow becomes inf, which the trees refuse by name
            X = plain_array(X).astype(np.float32)
    yield from ((member, X) for member in members)


def _weights(ensemble: Any) -> FloatArray | None:
    """Return the relative weights of the members that were not dropped; None if all are equal."""
    weights = getattr(ensemble, "weights", None) if is_a(ensemble, _VOTING) else None
    if weights is None:
        return None
    pairs = zip(ensemble.estimators, weights, strict=True)
    return np.array([weight for (_, member), weight in pairs if not isinstance(member, str)], dtype=float)


def moments(member: Any, X: Any, *, check: bool = True) -> tuple[FloatArray, FloatArray, bool]:
    """Return one member's mean and std by row (a leaf's, its own, or a point's), and whether every std is positive.

    A tree of a forest, whose rows another one has checked, need not `check` them: that takes longer than the leaves.
    """
    if is_a(member, ("DecisionTreeRegressor",)) and member.n_outputs_ == 1:
        nodes, variance, rows = member.tree_, leaf_variance(member), member.apply(X, check_input=check)
        dense = bool((variance[nodes.children_left < 0] > 0).all())
        return nodes.value[:, 0, 0].take(rows), np.sqrt(variance).take(rows), dense
    if gives_std(member):
        return *outputs.mean_and_std(member, X), True
    mean = outputs.point_prediction(member, X)
    return mean, np.zeros(len(mean)), False


def leaf_variance(tree: Any) -> FloatArray:
    """Return the variance of y in every node: its impurity, 0 where that is only rounding or no variance."""
    nodes = tree.tree_
    if tree.criterion not in ("squared_error", "friedman_mse") or tree.monotonic_cst is not None:
        return np.zeros(nodes.node_count)
    return np.where(nodes.impurity > _rounding(nodes), nodes.impurity, 0.0)


def _rounding(nodes: Any) -> FloatArray:
    """Return the impurity that rounding alone may leave in every node.

    A child's sum of y² may be its parent's less its sibling's, so the parent's size counts; the error
    of a running sum of n equal terms grows like n.
    """
    parent = np.zeros(nodes.node_count, dtype=np.int64)
    inner = np.flatnonzero(nodes.children_left >= 0)
    parent[nodes.children_left[inner]] = parent[nodes.children_right[inner]] = inner
    weight = nodes.weighted_n_node_samples
    squares = weight * (np.abs(nodes.impurity) + np.square(nodes.value[:, 0, 0]))
    share = np.finfo(float).eps * np.maximum(nodes.n_node_samples[parent], 16)
    return np.asarray(share * squares[parent] / weight)


def _refuse_other_columns(ensemble: Any, X: Any) -> None:
    """Refuse rows whose columns are not those of the fit; members trained on arrays would not notice."""
    fitted, columns = getattr(ensemble, "feature_names_in_", None), getattr(X, "columns", None)
    if fitted is not None and columns is not None and list(fitted) != list(columns):
        raise InputError(
            f"X must have the columns {type(ensemble).__name__} was fitted on, {list(fitted)}; got {list(columns)}. "
            "Reorder or rename them."
        )
