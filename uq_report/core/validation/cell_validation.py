"""Single cells of outside tables: what no method could compute with is named by column, row and value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from numbers import Complex, Real
from typing import Any

import numpy as np
import pandas as pd

from ..support.arrays import AnyArray, BoolArray, Table
from ..support.errors import InputError, ModelError, UQReportError, words_of

# Fourth powers of larger numbers are infinite: there is no variance of their squares.
LARGEST = 1e75
WHOLE = 2**53  # from here on floats skip whole numbers

_ALIKE = ("string", "floating", "integer", "mixed-integer-float", "boolean", "decimal", "bytes", "empty")
_INSTEAD = {
    "m": ".dt.total_seconds()",
    "Period": ".dt.to_timestamp()",
    "Interval": ".array.mid",
    "Sparse": ".sparse.to_dense()",
}
_SHOWN = 60
# Text of so many different numbers, and of no more than this share of other cells, was meant as numbers.
_NUMBERS, _FEW = 20, 0.02


def check_column(values: pd.Series[Any], who: str) -> None:
    """Refuse a column that no explainer could compare or permute as it stands."""
    dtype = values.dtype
    if pd.api.types.is_complex_dtype(dtype):
        raise InputError(f"{who} must be real; got complex numbers. Split it in two columns.")
    instead = _INSTEAD.get(str(getattr(dtype, "kind", "")), _INSTEAD.get(type(dtype).__name__.removesuffix("Dtype")))
    if instead and not isinstance(dtype, pd.CategoricalDtype):
        raise InputError(f"{who} must be a number, text, boolean or date; got {dtype}. Use {instead}.")
    if pd.api.types.is_object_dtype(dtype):
        _check_objects(values, who)
    elif isinstance(dtype, np.dtype) and dtype.kind in "fiu" and len(values):
        check_size(values.to_numpy(), who)


def check_text(values: pd.Series[Any], who: str) -> None:
    """Refuse a column of text that is one of numbers but for a few cells: one of them has made all of it text."""
    if not (pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_string_dtype(values.dtype)):
        return
    given = values.dropna()
    if not len(given) or pd.api.types.infer_dtype(given, skipna=True) != "string":
        return
    numbers = pd.to_numeric(given, errors="coerce")
    odd = numbers.isna()
    if odd.any() and odd.mean() <= _FEW and numbers.nunique() >= _NUMBERS:
        row = int(np.flatnonzero(values.index.isin(odd.index[odd]))[0])
        raise InputError(
            f"{who} must hold numbers only, as {int((~odd).sum())} of its {len(values)} rows do; got "
            f"{shown(values.iloc[row])} in row {row}. Correct it or leave it missing; if the numbers are "
            "labels, name the column in categorical."
        )


def check_size(values: AnyArray, who: str) -> None:
    """Refuse finite numbers whose squares have no variance, and whole ones that differ and are one number as floats.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Of numbers; NaN and infinite ones pass.
    who : str

    Examples
    --------
    >>> check_size(np.array([1.0, np.nan, np.inf]), "subject.X['a']")
    >>> check_size(np.array([1.0, -1e300]), "subject.X['a']")
    Traceback (most recent call last):
    ...
    uq_report.core.support.errors.InputError: subject.X['a'] must be at most 1e+75 in size; got -1e+300 in row 1 (1 of \
2 rows). Leave it missing if it stands for a missing value, or use another unit.
    """
    if values.dtype.kind in "iu":
        _check_whole(values, who)
        return
    if all(abs(float(end)) <= LARGEST for end in (np.fmin.reduce(values), np.fmax.reduce(values))):
        return
    refuse_cells(
        f"{who} must be at most {LARGEST:g} in size",
        values,
        np.isfinite(values) & (np.abs(values.astype(float)) > LARGEST),
        "Leave it missing if it stands for a missing value, or use another unit.",
    )


def refuse_cells(must: str, values: Any, bad: BoolArray, remedy: str) -> None:
    """Raise if any cell is bad, with the first one, its row, and how many there are."""
    if not bad.any():
        return
    row = int(np.argmax(bad))
    raise InputError(f"{must}; got {shown(values[row])} in row {row} ({int(bad.sum())} of {len(bad)} rows). {remedy}")


def shown(cell: Any) -> str:
    """Return a cell as an error shows it: numbers plain, others as Python writes them, long ones cut.

    Examples
    --------
    >>> shown(np.float64(2.5)), shown("n/a"), shown(10**9)
    ('2.5', "'n/a'", '1000000000')
    """
    if isinstance(cell, float | np.floating):
        return f"{float(cell):g}"
    text = repr(cell.item() if isinstance(cell, np.generic) else cell)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def cell_words(X: Table, error: str) -> str:
    """Name the first cell of text that an error quotes; empty if it quotes none.

    Examples
    --------
    >>> cell_words(pd.DataFrame({"a": ["1", "x"]}), "could not convert string to float: 'x'")
    "'x' in column 'a', row 1"
    """
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    for position, dtype in enumerate(frame.dtypes):
        if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
            continue
        cells = frame.iloc[:, position]
        quoted = [level for level in pd.unique(cells) if isinstance(level, str) and repr(level) in error]
        if quoted:
            row = int(np.argmax((cells == quoted[0]).to_numpy(dtype=bool, na_value=False)))
            return f"{shown(quoted[0])} in column {str(frame.columns[position])!r}, row {row}"
    return ""


def _check_whole(values: AnyArray, who: str) -> None:
    """Refuse whole numbers that floats cannot tell apart."""
    if not values.size or (int(values.min()) >= -WHOLE and int(values.max()) <= WHOLE):
        return
    different = np.unique(values)
    if len(np.unique(different.astype(float))) == len(different):
        return
    raise InputError(
        f"{who} must hold whole numbers that floats can tell apart, as those up to 2^53; got {different[0]} to "
        f"{different[-1]}. Subtract the smallest, or make identifiers text by .astype(str)."
    )


def _check_objects(values: pd.Series[Any], who: str) -> None:
    """Refuse cells that are no single values, of several kinds, or in no order."""
    try:
        different = pd.unique(values)
    except TypeError as error:
        kinds = ", ".join(sorted({type(cell).__name__ for cell in values}))
        raise InputError(f"{who} must hold single values; got {kinds}. Spread it over columns.") from error
    if (kind := pd.api.types.infer_dtype(values, skipna=True)) in _ALIKE:
        if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
            large = np.array([not pd.isna(cell) and LARGEST < abs(cell) != np.inf for cell in values])
            refuse_cells(f"{who} must be at most {LARGEST:g} in size", values.to_numpy(), large, "Use another unit.")
        return
    kind_of = {cell: _kind(cell) for cell in different if not pd.isna(cell)}
    rows = [(row, cell) for row, cell in enumerate(values) if cell in kind_of]
    counts = Counter(kind_of[cell] for _, cell in rows)
    if len(counts) > 1:
        usual, often = counts.most_common(1)[0]
        row, odd = next((row, cell) for row, cell in rows if kind_of[cell] != usual)
        raise InputError(
            f"{who} must hold {usual} only, as {often} of its {len(values)} rows do; got {shown(odd)} in row {row}. "
            "Correct it, leave it missing, or make the whole column text by .astype(str)."
        )
    _check_order(rows, who)


def _check_order(rows: Sequence[tuple[int, Any]], who: str) -> None:
    """Refuse values of one kind that do not compare with each other."""
    for row, cell in rows:
        try:
            _ = cell < rows[0][1]
        except TypeError as error:
            raise InputError(
                f"{who} must hold values that can be put in order; got {shown(cell)} in row {row} beside "
                f"{shown(rows[0][1])} in row {rows[0][0]}. Convert the column to one type."
            ) from error


def _kind(cell: Any) -> str:
    """Return what a cell is, in words: numbers, text, dates, or its type."""
    if isinstance(cell, Real | Decimal | np.bool_):
        return "numbers"
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, date | np.datetime64):  # datetimes and timestamps are dates
        return "dates"
    return "complex numbers" if isinstance(cell, Complex) else f"values of type {type(cell).__name__}"


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


def of_infinite_cell(error: UQReportError, label: str, X: Table) -> UQReportError:
    """Return what a model's own refusal of a row is about: an infinite cell of it, if there is one."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    place = None if error.row is None or error.row >= len(frame) else _first(frame.iloc[[error.row]], _infinite)
    if place is None:
        return error
    must = f"subject.X[{place[0]!r}] must be finite for {label}; got {place[1].split()[0]} in row {error.row}"
    return InputError(f"{must}. Correct it or leave it missing. The model's answer: {error}", row=error.row)


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
