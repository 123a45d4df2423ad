"""Models of scikit-learn with several outputs: each output is taken out as a model of its own."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.model.adapter import Adapter, Match
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, Table
from ...core.support.errors import InputError, attribute_of
from ...core.validation.multioutput import Output
from .outputs import SEVERAL
from .sklearn_ import is_a, unwrap


@dataclass(frozen=True)
class Augmented:
    """Adds to the rows what the earlier links of a chain predict, as the chain does; a fitted transformer.

    Parameters
    ----------
    estimators : tuple of objects
        The earlier links, in the order of the chain.
    method : str
        What of theirs is a feature of the later ones.
    """

    estimators: tuple[Any, ...]
    method: str

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Augmented:
        """Return itself: the links are fitted."""
        return self

    def transform(self, X: Any) -> AnyArray:
        """Return the rows with a column per earlier link."""
        rows = np.asarray(X)
        for estimator in self.estimators:
            response = np.asarray(getattr(estimator, self.method)(rows))
            rows = np.column_stack([rows, response[:, 1] if response.ndim == 2 else response])
        return rows


def link(chain: Any, position: int) -> Any:
    """Return the output at `position` of a RegressorChain or ClassifierChain as a pipeline."""
    from sklearn.pipeline import Pipeline

    place = list(chain.order_).index(position)
    earlier = tuple(chain.estimators_[:place])
    augmented = Augmented(earlier, getattr(chain, "chain_method_", "predict"))
    return Pipeline([("chain", augmented), ("model", chain.estimators_[place])])


_REGRESSORS = ("RandomForestRegressor", "ExtraTreesRegressor")
_POINTS = (
    "Its trees keep no variance of a single output, so members are points: lay a distribution over its predictions by "
    "residuals=, or fit a forest for this output."
)


def tree_output(tree: Any, position: int) -> Any:
    """Return a fitted tree of one output, whose variances are not known: 0."""
    whole = tree.tree_
    counts = np.atleast_1d(tree.n_classes_) if hasattr(tree, "n_classes_") else np.ones(tree.n_outputs_, dtype=np.intp)
    size = int(counts[position])
    state = whole.__getstate__()
    nodes = state["nodes"].copy()
    nodes["impurity"] = 0.0
    sliced = type(whole)(whole.n_features, np.array([size], dtype=np.intp), 1)
    values = np.ascontiguousarray(state["values"][:, position : position + 1, :size])
    sliced.__setstate__({**state, "nodes": nodes, "values": values})
    single = _single(tree, position)
    single.tree_ = sliced
    return single


def forest_output(forest: Any, position: int) -> Any:
    """Return the forest of one output."""
    single = _single(forest, position)
    single.estimators_ = [tree_output(tree, position) for tree in forest.estimators_]
    return single


def _single(estimator: Any, position: int) -> Any:
    """Return a copy of a tree or forest that has one output."""
    single = copy(estimator)
    single.n_outputs_ = 1
    if isinstance(getattr(estimator, "classes_", None), list):
        single.classes_, single.n_classes_ = estimator.classes_[position], estimator.n_classes_[position]
    return single


_MULTI = ("MultiOutputRegressor", "MultiOutputClassifier")
_CHAINS = ("RegressorChain", "ClassifierChain")
_BAGGING = ("BaggingRegressor",)
_TREES = ("DecisionTreeRegressor", "DecisionTreeClassifier")
_FORESTS = ("RandomForestRegressor", "ExtraTreesRegressor", "RandomForestClassifier", "ExtraTreesClassifier")
_PROCESS, _PERCEPTRON = ("GaussianProcessRegressor",), ("MLPClassifier",)
_CONDITIONAL = "It is conditional on the predictions of the outputs before it in the chain."


@dataclass(frozen=True)
class SeveralOutputsAdapter(Adapter):
    """Multi-output estimators: ``output=`` of `uq_report.explain` picks one, and that is audited as what it is.

    Exactly the model's own predictions of that output: of MultiOutputRegressor and MultiOutputClassifier the
    estimator of the output, of a chain the estimator behind the chain's own predictions, of trees, forests and
    bagging the same trees with one output, of a Gaussian process the process of one output; of any other its
    column or item. Behind a pipeline the transformers stay. A tree of several outputs keeps no variance of a single
    output: the members of a forest of numbers are points.
    """

    name: ClassVar[str] = "several_outputs"

    def matches(self, model: Any) -> Match | None:
        """Match models that are known to have several outputs, before every adapter of their family."""
        n = 1 if isinstance(model, type) else self.outputs(model)
        return Match(0, f"a {type(unwrap(model)[1]).__name__} of {n} outputs") if n > 1 else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Refuse: a distribution is of one output."""
        final = unwrap(model)[1]
        raise InputError(
            f"explain.output must name one output of {type(final).__name__}, which predicts {self.outputs(model)}; "
            f"got none. {SEVERAL}"
        )

    def outputs(self, model: Any) -> int:
        """Return how many outputs a model has; 1 where it does not say."""
        final = unwrap(model)[1]
        classes = attribute_of(final, "classes_")
        if isinstance(classes, list) and any(np.ndim(labels) for labels in classes):
            return len(classes)
        members: Any = getattr(final, "estimators_", ())
        if is_a(final, (*_MULTI, *_CHAINS)) or getattr(final, "multilabel_", False) is True:
            return len(members)
        if is_a(final, (*_TREES, *_FORESTS)) or _is_multilabel_perceptron(final):
            return int(getattr(final, "n_outputs_", 1))
        if is_a(final, _BAGGING) and len(members):
            return self.outputs(members[0])
        if is_a(final, _PROCESS):
            y = np.asarray(getattr(final, "y_train_", 0.0))
            return int(y.shape[1]) if y.ndim == 2 else 1
        return 1

    def output(self, model: Any, position: int) -> tuple[Any, str]:
        """Return one output as a model, and what a reader must know of it."""
        steps, final = unwrap(model)
        remark = _POINTS if is_a(final, _REGRESSORS) else _CONDITIONAL if is_a(final, _CHAINS) else ""
        return _behind(steps, _output(final, position)), remark


def _output(final: Any, position: int) -> Any:
    """Return one output of a final estimator."""
    pick = next((pick for names, pick in _PICKS if is_a(final, names)), Output)
    return pick(final, position)


def _bagging(final: Any, position: int) -> Any:
    """Return the ensemble of every member's output."""
    single = copy(final)
    single.estimators_ = [_output(member, position) for member in final.estimators_]
    return single


def _process(process: Any, position: int) -> Any:
    """Return the Gaussian process of one output: kernel and factor are shared, weights and scale are its own."""
    single, own = copy(process), vars(process)
    scales = {name: own[name][position] for name in ("_y_train_mean", "_y_train_std")}
    vars(single).update(
        alpha_=own["alpha_"][:, position].copy(), y_train_=own["y_train_"][:, position].copy(), **scales
    )
    return single


_PICKS: tuple[tuple[tuple[str, ...], Callable[[Any, int], Any]], ...] = (
    ((*_MULTI, "OneVsRestClassifier"), lambda final, position: final.estimators_[position]),
    (_CHAINS, link),
    (_TREES, tree_output),
    (_FORESTS, forest_output),
    (_BAGGING, _bagging),
    (_PROCESS, _process),
    (_PERCEPTRON, lambda final, position: (_Label if _is_multilabel_perceptron(final) else Output)(final, position)),
)


def _behind(steps: tuple[Any, ...], final: Any) -> Any:
    """Return an estimator behind fitted transformers."""
    if not steps:
        return final
    from sklearn.pipeline import Pipeline

    return Pipeline([*((f"step{number}", step) for number, step in enumerate(steps)), ("model", final)])


def _is_multilabel_perceptron(final: Any) -> bool:
    """Say whether a perceptron gives a probability per label, which do not add up to 1."""
    several = getattr(final, "n_outputs_", 1) > 1 if is_a(final, _PERCEPTRON) else False
    return several and getattr(final, "out_activation_", "") == "logistic"


class _Label(Output):
    """One label of a perceptron whose ``predict_proba`` holds P(label) in a column each."""

    @property
    def classes_(self) -> AnyArray:
        return np.array([0, 1])

    def predict_proba(self, X: Any) -> AnyArray:
        """Return the probabilities of 0 and 1."""
        p = self.model.predict_proba(X)[:, self.position]
        return np.column_stack([1.0 - p, p])
