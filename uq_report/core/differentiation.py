"""Derivatives of a subject's model: by its adapter's rule if that proves itself on a few rows, else by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from .adapter import Differentiates
from .arrays import FloatArray, IntArray, Table, take_rows
from .derivatives import EPS, Derivatives, Predict, finite_differences, floating, spread
from .errors import InputError
from .subject import Subject

_MOST = 10_000_000  # numbers in an exact second derivative
_PROOF_ROWS, _PROOF_COLUMNS, _AGREE = 3, 16, 1e-4


def derivatives(
    subject: Subject,
    columns: Sequence[int],
    order: int,
    rows: IntArray | None,
    predict: Predict,
    batch: int | None,
    proven: set[int],
) -> Derivatives:
    """Return the derivatives of the parameters of `rows` with respect to numeric `columns`, up to `order`.

    `proven` holds the columns in which an exact rule agreed with differences before, and is added to.
    """
    if order not in (1, 2):
        raise InputError(f"engine.derivatives.order must be 1 or 2; got {order}.")
    X = floating(subject.X if rows is None else take_rows(subject.X, rows), columns)
    spreads = np.array([spread(subject.values(subject.features[c])) for c in columns])
    if not (spreads > 0).all():
        names = [subject.features[c] for c, s in zip(columns, spreads, strict=True) if not s > 0]
        raise InputError(f"engine.derivatives.columns must vary; got constant {names}. Leave them out.")
    differences = partial(finite_differences, predict=predict, batch=batch)
    adapter, precision = subject.adapter, EPS
    too_many = order == 2 and len(X) * len(subject.features) ** 2 > _MOST
    every = None
    if isinstance(adapter, Differentiates) and not too_many:
        every = adapter.derivatives(subject.model, X, order)
    if every is not None:
        precision, exact = every.precision, every.of(columns)
        if np.isfinite(exact.first).all() and (
            proven.issuperset(columns) or _proven(exact, X, columns, spreads, differences)
        ):
            proven.update(columns)
            return exact
    return differences(X, columns, spreads, order=order, precision=precision)


def _proven(
    exact: Derivatives, X: Table, columns: Sequence[int], spreads: FloatArray, differences: Callable[..., Derivatives]
) -> bool:
    """Say whether a rule agrees with the model's own predictions and their differences on a few rows and columns."""
    rows = np.unique(np.linspace(0, len(X) - 1, _PROOF_ROWS).astype(int))
    some = np.unique(np.linspace(0, len(columns) - 1, _PROOF_COLUMNS).astype(int))
    eps = exact.precision
    plain = differences(take_rows(X, rows), [columns[j] for j in some], spreads[some], precision=eps)
    if exact.values.shape[1:] != plain.values.shape[1:]:
        return False
    scale = spreads[some, None]
    difference = np.abs(exact.first[rows][:, some] - plain.first) * scale
    rounding = max(1e-9, 10 * eps**0.8)  # of a difference over a step of eps^(1/5)
    allowed = _AGREE * np.abs(plain.first * scale).max(axis=(0, 1)) + rounding * np.abs(plain.values).max(axis=0)
    error = 10 * np.asarray(plain.error) * scale
    same = np.allclose(exact.values[rows], plain.values, rtol=max(1e-6, 100 * eps))
    return bool(same) and bool((difference <= allowed + error).all())
