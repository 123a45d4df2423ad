"""The chain rule through fitted preprocessing: which steps are affine, and their matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ...core.adapter import class_names
from ...core.arrays import BoolArray, FloatArray, Table
from ...core.derivatives import Derivatives
from .sklearn_ import transform, unwrap

Rule = Callable[[Any, FloatArray, int], Derivatives | None]

_SELECTORS = ("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "SelectFdr", "SelectFpr")
_SELECTORS_BY_NAME = frozenset(f"sklearn.{name}" for name in (*_SELECTORS, "SelectFwe"))


class Affine(NamedTuple):
    """Output = input @ matrix + constant, with respect to the inputs that are `known` to enter so.

    `matrix` is (inputs, outputs); `known` (inputs,) is False for an input that an encoder takes, say.
    """

    matrix: FloatArray
    known: BoolArray


def through(model: Any, X: Table, order: int, rules: dict[str, Rule]) -> Derivatives | None:
    """Return derivatives by the columns of `X` of a model whose final estimator has a rule, or None.

    `rules` maps exact class names to rules; a subclass may predict in another way and has none. Columns
    that enter other than affinely have derivatives of NaN.
    """
    steps, final = unwrap(model)
    rule = rules.get(class_names(final)[0])
    chain = None if rule is None else affine(steps, X.shape[1])
    inner = None if chain is None else _numeric(transform(steps, X))
    if rule is None or chain is None or inner is None or inner.shape[1] != chain.matrix.shape[1]:
        return None
    found = rule(final, inner, order)
    if found is None:
        return None
    A = chain.matrix
    first = np.einsum("ia,nam->nim", A, found.first)
    first[:, ~chain.known] = np.nan
    second = found.second
    if second is not None:
        second = np.einsum("ia,nabm,jb->nijm", A, second, A, optimize=True)
        second[:, ~chain.known] = np.nan
        second[:, :, ~chain.known] = np.nan
    return found._replace(first=first, second=second)


def affine(steps: Iterable[Any], inputs: int) -> Affine | None:
    """Return the steps' joint matrix, or None if one of them is of no known kind.

    Examples
    --------
    >>> affine((), 2).matrix
    array([[1., 0.],
           [0., 1.]])
    """
    matrix, known = np.eye(inputs), np.ones(inputs, dtype=bool)
    for step in steps:
        part = _step(step, matrix.shape[1])
        if part is None or len(part.matrix) != matrix.shape[1]:
            return None
        known &= ~(matrix[:, ~part.known] != 0).any(axis=1)
        matrix = matrix @ part.matrix
    return Affine(matrix, known)


def _step(step: Any, inputs: int) -> Affine | None:
    name = class_names(step)[0]
    if name == "sklearn.ColumnTransformer":
        return _columns(step, inputs)
    if name == "sklearn.Pipeline":
        return affine([part for _, part in step.steps if part not in (None, "passthrough")], inputs)
    matrix = _matrix(step, name, inputs)
    return None if matrix is None else Affine(matrix, np.ones(len(matrix), dtype=bool))


def _matrix(step: Any, name: str, inputs: int) -> FloatArray | None:
    factor = _factor(step, name)
    if factor is not None:
        return np.asarray(np.eye(inputs) * factor)
    if name == "sklearn.PCA":
        spread = np.sqrt(step.explained_variance_) if step.whiten else 1.0
        return np.asarray(step.components_.T / spread, dtype=float)
    return np.asarray(np.eye(inputs)[:, step.get_support()]) if name in _SELECTORS_BY_NAME else None


def _factor(step: Any, name: str) -> FloatArray | float | None:
    """Return what a step multiplies each column by, or None if it does something else."""
    if name in ("sklearn.StandardScaler", "sklearn.RobustScaler", "sklearn.MaxAbsScaler"):
        return 1.0 if step.scale_ is None else 1 / np.asarray(step.scale_, dtype=float)
    if name == "sklearn.MinMaxScaler":
        return None if step.clip else np.asarray(step.scale_, dtype=float)
    # an imputer moves what is there; a value that is missing has no derivative anyway
    imputes = name == "sklearn.SimpleImputer" and not step.add_indicator
    plain = name == "sklearn.FunctionTransformer" and step.func is None
    return 1.0 if imputes or plain or (isinstance(step, str) and step == "passthrough") else None


def _columns(step: Any, inputs: int) -> Affine | None:
    """Return the matrix of a ColumnTransformer; inputs of parts of no known kind are not known."""
    places = getattr(step, "_transformer_to_input_indices", None)
    if places is None:
        return None
    outputs = max(part.stop for part in step.output_indices_.values())
    matrix, known = np.zeros((inputs, outputs)), np.ones(inputs, dtype=bool)
    for name, part, _ in step.transformers_:
        taken, given = list(places.get(name, ())), step.output_indices_.get(name, slice(0, 0))
        if (isinstance(part, str) and part == "drop") or not taken:
            continue
        found = _step(part, len(taken))
        if found is None or found.matrix.shape[1] != given.stop - given.start:
            known[taken] = False
            continue
        matrix[taken, given] = found.matrix
        known[taken] &= found.known
    return Affine(matrix, known)


def _numeric(values: Any) -> FloatArray | None:
    """Return transformed rows as a dense array of floats, or None if they hold anything else."""
    dense = values.toarray() if hasattr(values, "toarray") else values
    try:
        return np.asarray(dense, dtype=float)
    except (TypeError, ValueError):
        return None
