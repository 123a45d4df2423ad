"""Derivatives of a subject's model: by its adapter's rule if that proves itself on a few rows, else by differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.adapter import Differentiates
from ..model.derivatives import EPS, Derivatives, Predict, changes, finite_differences, floating, spread, step_lengths
from ..model.subject import Subject
from ..support.arrays import FloatArray, IntArray, Table, take_rows
from ..support.errors import InputError

_MOST = 10_000_000  # numbers in an exact second derivative
_PROOF_ROWS, _PROOF_DIRECTIONS, _AGREE = 3, 2, 1e-4


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
    adapter, precision = subject.adapter, EPS
    too_many = order == 2 and len(X) * len(subject.features) ** 2 > _MOST
    every = None
    if isinstance(adapter, Differentiates) and not too_many:
        every = adapter.derivatives(subject.model, X, order)
    if every is not None:
        precision, exact = every.precision, every.of(columns)
        if np.isfinite(exact.first).all() and (
            proven.issuperset(columns) or _proven(exact, X, columns, spreads, predict, batch)
        ):
            proven.update(columns)
            return exact
    return finite_differences(X, columns, spreads, predict, order, batch, precision)


def _proven(
    exact: Derivatives, X: Table, columns: Sequence[int], spreads: FloatArray, predict: Predict, batch: int | None
) -> bool:
    """Say whether a rule agrees on a few rows with the model's own predictions, and with differences of them.

    These are along a few directions in which all columns move together, each by another step: a slope that is wrong
    in any column is wrong along them.
    """
    rows = np.unique(np.linspace(0, len(X) - 1, _PROOF_ROWS).astype(int))
    eps, rng = exact.precision, np.random.default_rng(0)
    size = min(_PROOF_DIRECTIONS, len(columns)), len(columns)
    # sixteenths of a power of two, so that x + step is (nearly) exact
    steps = step_lengths(spreads, eps) * rng.integers(8, 16, size) / 16 * rng.choice((-1.0, 1.0), size)
    values, change, error = changes(take_rows(X, rows), columns, steps, predict, batch)
    if exact.values.shape[1:] != values.shape[1:]:
        return False
    difference = np.abs(np.einsum("ndm,kd->knm", exact.first[rows], steps) - change)
    rounding = max(1e-9 * eps**0.2, 10 * eps)  # of a difference over a step of eps^(1/5)
    allowed = _AGREE * np.abs(change).max(axis=(0, 1)) + rounding * np.abs(values).max(axis=0)
    same = np.allclose(exact.values[rows], values, rtol=max(1e-6, 100 * eps))
    return bool(same) and bool((difference <= allowed + 10 * error).all())
