"""Derivatives of a predictive distribution's parameters with respect to numeric features.

Central differences at a step and its half, joined by Richardson's rule, with the step and the error estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..predictive import Distribution
from ..support.arrays import ColumnLookup, FloatArray, Table
from .variants import Variant, variant_rows

Predict = Callable[[Table], Distribution]

EXACT, DIFFERENCES = "exact derivatives", "central differences"
EPS = float(np.finfo(float).eps)


class Derivatives(NamedTuple):
    """Parameters and their derivatives with respect to d columns; M parameters of n distributions.

    Attributes
    ----------
    values : ndarray of shape (n, M)
        The parameters.
    first : ndarray of shape (n, d, M)
        NaN in columns an exact rule does not cover.
    second : ndarray of shape (n, d, d, M), optional
    method : str
        What they are, in words.
    steps : ndarray of shape (d,), optional
        The larger step of differences, in units of the column.
    error, second_error : ndarray, optional
        Estimated error of differences, of the shape of what they belong to.
    precision : float
        Relative rounding of the model's own numbers; differences of a single-precision model need wider steps.
    """

    values: FloatArray
    first: FloatArray
    second: FloatArray | None = None
    method: str = EXACT
    steps: FloatArray | None = None
    error: FloatArray | None = None
    second_error: FloatArray | None = None
    precision: float = EPS

    def of(self, columns: Sequence[int]) -> Derivatives:
        """Return the derivatives with respect to some of the columns."""
        at = list(columns)
        second, second_error = (None if x is None else x[:, at][:, :, at] for x in (self.second, self.second_error))
        error = None if self.error is None else self.error[:, at]
        return self._replace(first=self.first[:, at], second=second, error=error, second_error=second_error)


def finite_differences(
    X: Table,
    columns: Sequence[int],
    spreads: FloatArray,
    predict: Predict,
    order: int = 1,
    batch: int | None = None,
    precision: float = EPS,
) -> Derivatives:
    """Return derivatives of ``predict(X).parameters`` by central differences at a step and its half.

    ``D = (4 D(h/2) - D(h)) / 3`` (Richardson), of error O(h⁴); the reported error is that of D(h/2),
    ``|D(h/2) - D(h)| / 3``, which D undercuts where differences converge. The step is the spread times
    eps^(1/5), or eps^(1/6) for second derivatives, with eps the model's `precision`, as a power of two so that
    x + h is (nearly) exact: rounding and truncation balance after Richardson.

    Examples
    --------
    >>> from uq_report.distributions import Poisson
    >>> slopes = finite_differences(np.array([[1.0], [2.0]]), [0], np.array([1.0]), lambda X: Poisson(X[:, 0] ** 3))
    >>> slopes.first[:, 0, 0].round(9)
    array([ 3., 12.])
    """
    h = step_lengths(spreads, precision)
    values, change, change_error = changes(X, columns, np.diag(h), predict, batch)
    first, error = (np.moveaxis(part / h[:, None, None], 0, 1) for part in (change, change_error))
    if order == 1:
        return Derivatives(values, first, None, DIFFERENCES, h, error, None, precision)
    wider = _power_of_two(spreads * precision ** (1 / 6))
    second, second_error = mixed_differences(X, columns, wider, predict, batch)
    return Derivatives(values, first, second, DIFFERENCES, h, error, second_error, precision)


def changes(
    X: Table, columns: Sequence[int], steps: FloatArray, predict: Predict, batch: int | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the parameters (n, M), the change of each by its slope along each of `steps` (k, d), and its error.

    Changes and errors are of shape (k, n, M).
    """
    moves = [s * f * step for step in steps for f in (1, 0.5) for s in (1, -1)]
    values, *moved = moved_parameters(X, columns, [np.zeros(len(columns)), *moves], predict, batch)
    at = np.reshape(moved, (len(steps), 2, 2, *values.shape))
    whole, half = np.moveaxis(at[:, :, 0] - at[:, :, 1], 1, 0)
    return values, *_richardson(whole / 2, half)


def step_lengths(spreads: FloatArray, precision: float) -> FloatArray:
    """Return the steps of first differences: powers of two of about the spreads times precision^(1/5)."""
    return _power_of_two(spreads * precision**0.2)


def mixed_differences(
    X: Table, columns: Sequence[int], steps: FloatArray, predict: Predict, batch: int | None = None, halve: bool = True
) -> tuple[FloatArray, FloatArray | None]:
    """Return all second derivatives of the parameters, (n, d, d, M), and their error unless `halve` is False."""
    d = len(columns)
    pairs = [*((j, j) for j in range(d)), *combinations(range(d), 2)]
    corners = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    factors = (1.0, 0.5) if halve else (1.0,)
    reach = np.diag(steps)
    moves = []
    for j, k in pairs:
        for f in factors:
            # on the diagonal half a step in each of both roles: f(x+h) - 2 f(x) + f(x-h)
            part = f / 2 if j == k else f
            moves += [part * (s * reach[j] + t * reach[k]) for s, t in corners]
    moved = moved_parameters(X, columns, moves, predict, batch)
    at = moved.reshape(len(pairs), len(factors), 4, *moved.shape[1:])
    total = at[:, :, 0] - at[:, :, 1] - at[:, :, 2] + at[:, :, 3]
    areas = np.array([steps[j] ** 2 if j == k else 4 * steps[j] * steps[k] for j, k in pairs])
    bent = total / (areas[:, None] * np.square(factors))[..., None, None]
    second, error = _richardson(bent[:, 0], bent[:, 1]) if halve else (bent[:, 0], None)
    return _matrix(second, pairs, d), None if error is None else _matrix(error, pairs, d)


def moved_parameters(
    X: Table, columns: Sequence[int], moves: Sequence[FloatArray], predict: Predict, batch: int | None
) -> FloatArray:
    """Return the parameters of all rows with `moves`, each of shape (d,), added to the columns: (moves, n, M)."""
    values = [numbers(X, c) for c in columns]
    changes = [[(columns[j], values[j] + move[j]) for j in np.flatnonzero(move).tolist()] for move in moves]
    variants = [Variant(tuple(c for c, _ in change), tuple(v for _, v in change)) for change in changes]
    parts = []
    for dist in predicted(X, variants, predict, batch):
        by_row = np.array(dist.parameters).reshape(len(X), -1, dist.parameters.shape[1])
        parts.append(np.moveaxis(by_row, 1, 0))
    return np.concatenate(parts)


def predicted(X: Table, variants: Sequence[Variant], predict: Predict, batch: int | None) -> Iterator[Distribution]:
    """Yield the distributions of groups of variants: row by row, the group's variants of a row side by side."""
    n = len(X)
    width = min(max(1, (batch or n) // n), max(1, len(variants)))
    source = ColumnLookup(X)
    for start in range(0, len(variants), width):
        yield predict(variant_rows(X, variants[start : start + width], source))


def floating(X: Table, columns: Sequence[int]) -> Table:
    """Return `X` with `columns` as floats, so that a small step is not cut off; missing values become NaN."""
    if not isinstance(X, pd.DataFrame):
        return X.astype(float)
    table, dtypes = X.copy(), X.dtypes.to_list()
    for c in columns:
        if dtypes[c] != np.float64:  # setting a column splits the table, and then every use of it costs columns
            table.isetitem(c, numbers(X, c))
    return table


def numbers(X: Table, column: int) -> FloatArray:
    """Return a numeric column as floats, shape (n,)."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, column].to_numpy(dtype=float, na_value=np.nan)
    return np.asarray(X[:, column], dtype=float)


def spread(values: Any) -> float:
    """Return the standard deviation of the finite values; 0 if there are none."""
    plain = isinstance(values, np.ndarray) and values.dtype == float
    floats = values if plain else pd.Series(values).to_numpy(dtype=float, na_value=np.nan)
    finite = floats[np.isfinite(floats)]
    return float(finite.std()) if len(finite) and np.ptp(finite) > 0 else 0.0


def _richardson(whole: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    return (4 * half - whole) / 3, np.abs(half - whole) / 3


def _power_of_two(steps: FloatArray) -> FloatArray:
    return np.asarray(np.exp2(np.round(np.log2(steps))))


def _matrix(values: FloatArray, pairs: Sequence[tuple[int, int]], d: int) -> FloatArray:
    """Put pair values, (pairs, n, M), into full symmetric matrices, (n, d, d, M)."""
    matrices = np.empty((values.shape[1], d, d, values.shape[2]))
    for (j, k), value in zip(pairs, values, strict=True):
        matrices[:, j, k] = matrices[:, k, j] = value
    return matrices
