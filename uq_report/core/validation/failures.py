"""Why a model did not predict: a cell that it refuses is named before the model is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ..support.arrays import Table
from ..support.errors import InputError, ModelError, UQReportError, words_of
from .cell_validation import cell_words, shown

_INFINITE = re.compile(r"\binf(init\w*)?\b", re.IGNORECASE)
_MISSING = re.compile(r"\b(nan|na|nat|none|null|missing|no number)\b", re.IGNORECASE)


def failure(label: str, n: int, error: BaseException, X: Table) -> UQReportError:
    """Return the error for a model that raised one when it predicted `n` rows.

    Parameters
    ----------
    label : str
        The model.
    n : int
    error : BaseException
        What it raised.
    X : DataFrame or ndarray
        The rows under audit. A cell of them that the error is about is named with its column and row.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [30.0, np.inf]})
    >>> print(failure("Model", 2, ValueError("Input X contains infinity."), X))
    subject.X['age'] must be finite for Model; got inf in row 1 (1 of 2 rows). Correct it or leave it missing, or \
audit a model that takes it.
    >>> print(failure("Model", 2, KeyError("b"), X[:1]))
    Model failed to predict 2 rows: KeyError: 'b'
    """
    words = words_of(error)
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    missing, infinite = _first(frame, pd.isna), _first(frame, _infinite)
    for place, names, allowed, remedy in (
        (infinite, _INFINITE, "be finite", "Correct it or leave it missing"),
        (missing, _MISSING, "have no missing values", "Impute them in a pipeline"),
    ):
        if place and names.search(words):
            column, cell = place
            must = f"subject.X[{column!r}] must {allowed} for {label}"
            return InputError(f"{must}; got {cell}. {remedy}, or audit a model that takes it.")
    places = [f"{cell} in column {column!r}" for column, cell in filter(None, (infinite, missing))]
    hint = "; ".join(filter(None, (cell_words(X, words), *places)))
    return ModelError(f"{label} failed to predict {n} rows: {words}{f' (subject.X has {hint})' if hint else ''}")


def _infinite(cells: Any) -> Any:
    """Say which cells of a column are infinite."""
    return (
        np.isinf(np.asarray(cells, dtype=float))
        if pd.api.types.is_float_dtype(cells.dtype)
        else np.zeros(len(cells), bool)
    )


def _first(frame: pd.DataFrame, what: Callable[[Any], Any]) -> tuple[str, str] | None:
    """Return the first column with such cells, and its first one with its row and how many there are."""
    for position in range(frame.shape[1]):
        cells = frame.iloc[:, position]
        bad = np.asarray(what(cells), dtype=bool)
        if bad.any():
            row = int(np.argmax(bad))
            cell = "none" if pd.isna(cells.iloc[row]) else shown(cells.iloc[row])
            return str(frame.columns[position]), f"{cell} in row {row} ({int(bad.sum())} of {len(bad)} rows)"
    return None
