"""Outside data, validated once: every refusal names the argument or column, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..support.arrays import AnyArray, FloatArray, IntArray, Table, as_frame, column, plain_array
from ..support.errors import InputError, attribute_of, nearest
from .cell_validation import check_column, check_size, check_text, refuse_cells, shown
from .lifetimes import lifetimes


def table(X: Any, what: str, model: Any, *, private: bool = True) -> tuple[Table, tuple[str, ...]]:
    """Return the rows with a fresh row index, in a copy of their own if `private`, and the feature names."""
    X = as_frame(X, what)
    if isinstance(X, pd.Series):
        raise InputError(f"subject.{what} must be two-dimensional; got a Series. Pass {what}.to_frame().")
    rows, names = _frame(X, what, model, private) if isinstance(X, pd.DataFrame) else _array(X, what, model, private)
    if 0 in rows.shape:
        raise InputError(f"subject.{what} must have at least one row and one column; got shape {rows.shape}.")
    return rows, names


def _frame(X: pd.DataFrame, what: str, model: Any, private: bool) -> tuple[Table, tuple[str, ...]]:
    if isinstance(X.columns, pd.MultiIndex):
        raise InputError(f"subject.{what} must have one level of column names; got {X.columns.nlevels}. Flatten them.")
    nameless = [position for position, gone in enumerate(X.columns.isna()) if gone]
    if nameless:
        must = f"subject.{what} must have a name for every column"
        raise InputError(f"{must}; got none at the positions {nameless}. Rename them.")
    names = [str(c) for c in X.columns]
    doubled = sorted({c for c in names if names.count(c) > 1})
    if doubled:
        raise InputError(f"subject.{what} must have unique column names; got {doubled} more than once. Rename them.")
    for position, name in enumerate(names):
        check_column(X.iloc[:, position], f"subject.{what}[{name!r}]")
    _check_order(names, attribute_of(model, "feature_names_in_"), what)
    rows = _native(X.copy(deep=private))
    rows.index = pd.RangeIndex(len(rows))
    return rows, tuple(names)


def _check_order(names: Sequence[str], fitted: Any, what: str) -> None:
    """Refuse columns that the model was not fitted on, or in another order: it may go by their places."""
    known = [] if fitted is None else [str(name) for name in np.asarray(fitted).ravel()]
    lacking, extra = [n for n in known if n not in names], [n for n in names if n not in known]
    if known and (lacking or extra):
        apart = f"without {lacking[:5]}" if lacking else f"{extra[:5]} besides"
        raise InputError(
            f"subject.{what} must have the columns that the model was fitted on; got a table {apart}. Pass "
            f"{what}[list(model.feature_names_in_)]."
        )
    if known and known != names:
        place = next(position for position, name in enumerate(names) if name != known[position])
        raise InputError(
            f"subject.{what} must have its columns in the order of the model's feature_names_in_; got {names[place]!r} "
            f"in place {place}, where the model has {known[place]!r}. Pass {what}[list(model.feature_names_in_)]."
        )


def _native(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose numbers have this machine's order of bytes, the only one that pandas computes with."""
    foreign = {
        position: dtype.newbyteorder("=")
        for position, dtype in enumerate(rows.dtypes)
        if isinstance(dtype, np.dtype) and not dtype.isnative
    }
    for position, dtype in foreign.items():
        rows.isetitem(position, rows.iloc[:, position].to_numpy().astype(dtype))
    return rows


def _array(X: Any, what: str, model: Any, private: bool) -> tuple[Table, tuple[str, ...]]:
    if hasattr(X, "toarray"):
        raise InputError(f"subject.{what} must be dense; got a sparse {type(X).__name__}. Pass X.toarray().")
    if np.ma.is_masked(X):
        raise InputError(f"subject.{what} must have no masked cells; got a masked array. Pass X.filled(np.nan).")
    try:
        array = np.array(X) if private else np.asarray(X)
    except ValueError as error:
        raise InputError(f"subject.{what} must be a table; got rows of different lengths. Pass a DataFrame.") from error
    if array.ndim != 2:
        raise InputError(f"subject.{what} must have shape (rows, features); got {array.shape}{_table_hint(X, array)}")
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"subject.{what} must be numeric as an array; got dtype {array.dtype}. Pass a DataFrame for other columns."
        )
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    fitted: Sequence[Any] | None = attribute_of(model, "feature_names_in_")
    if fitted is None or len(fitted) != array.shape[1]:
        fitted = [f"x{j}" for j in range(array.shape[1])]
    names = tuple(str(c) for c in fitted)
    for position, name in enumerate(names if array.dtype.kind != "b" and len(array) else ()):
        check_size(array[:, position], f"subject.{what}[{name!r}]")
    return array, names


def _table_hint(X: Any, array: AnyArray) -> str:
    """Return the end of a refusal of what is no table: what it is, and how a table is made of it."""
    records = array.dtype.names is not None or (array.ndim == 1 and len(array) and isinstance(array[0], dict))
    if records or isinstance(X, dict):
        return f" of {type(X).__name__}. Pass pd.DataFrame(X)."
    if isinstance(X, str):
        return f" of the text {shown(X)}. Read the file, or audit it by uq-report run."
    return f" of {type(X).__name__}. Pass a DataFrame." if array.ndim == 0 else ". Reshape it."


Kind = Literal["numeric", "categorical", "datetime"]


def vector(y: Any, n: int, what: str) -> AnyArray | None:
    """Return the target as a one-dimensional array of numbers, labels or lifetimes, or None."""
    if y is None:
        return None
    censored = lifetimes(y, n, what)
    if censored is not None:
        return censored
    values = _target(y, what)
    if len(values) != n:
        raise InputError(f"subject.{what} must have one value per row, {n}; got {len(values)}. Match the rows.")
    if values.dtype.kind not in "fiubOUS":
        raise InputError(f"subject.{what} must hold numbers or labels; got dtype {values.dtype}. Convert it.")
    missing = int(pd.isna(values).sum())
    if missing:
        raise InputError(
            f"subject.{what} must have no missing values; got {missing} of {n}, the first in row "
            f"{int(np.argmax(pd.isna(values)))}. Drop those rows, or leave y out to explain the uncertainty alone."
        )
    if values.dtype == object:
        values = pd.Series(values).infer_objects().to_numpy()
    if values.dtype.kind == "f":
        refuse_cells(f"subject.{what} must be finite", values, ~np.isfinite(values), "Drop those rows.")
        check_size(values, f"subject.{what}")
    return values


def _target(y: Any, what: str) -> AnyArray:
    """Return a target of one dimension as an array that is the caller's own."""
    try:
        values = np.array(plain_array(y))
    except ValueError as error:
        raise InputError(f"subject.{what} must hold single values; got lists of different lengths.") from error
    if np.ma.is_masked(y):
        raise InputError(f"subject.{what} must have no masked values; got a masked array. Drop those rows.")
    if values.ndim == 0:
        raise InputError(
            f"subject.{what} must hold one value per row; got {shown(y)}, a {type(y).__name__}. "
            "Pass an array, a Series or a list."
        )
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(
            f"subject.{what} must be one-dimensional; got shape {values.shape}. "
            "Models with several outputs are audited one output at a time: pass output= to uq.explain."
        )
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def training(
    train: tuple[Any, Any] | None, X: Table, features: tuple[str, ...], model: Any, what: str = "train"
) -> tuple[Table, AnyArray | None] | None:
    """Return further rows and their target, of the same columns as X, or None."""
    if train is None:
        return None
    if not isinstance(train, tuple | list) or len(train) != 2:
        raise InputError(f"subject.train must be a pair (X_train, y_train); got {type(train).__name__}. Pass the pair.")
    rows, names = table(train[0], what, model)
    if isinstance(rows, pd.DataFrame) != isinstance(X, pd.DataFrame):
        raise InputError(f"subject.{what} must be a {type(X).__name__} as X is; got a {type(rows).__name__}.")
    if names != features:
        raise InputError(
            f"subject.{what} must have the columns of X in the same order, {list(features)}; got {list(names)}."
        )
    return rows, vector(train[1], len(rows), f"{what} y")


def weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Return the weights as floats, or None."""
    if sample_weight is None:
        return None
    if np.iscomplexobj(sample_weight) or np.ma.is_masked(sample_weight):
        got = "masked values" if np.ma.is_masked(sample_weight) else "complex numbers"
        raise InputError(f"subject.sample_weight must be numbers; got {got}. Give every row a weight.")
    try:
        values = np.array(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        got = type(sample_weight).__name__
        raise InputError(f"subject.sample_weight must be numbers; got {got}: {error}. Convert them.") from error
    _per_row(values, n, "sample_weight", "weight")
    must = "subject.sample_weight must be finite, not negative and not all zero"
    refuse_cells(must, values, ~(np.isfinite(values) & (values >= 0)), "Drop or correct those rows.")
    if not values.any():
        raise InputError(f"{must}; got {n} zeros. Give the rows that count a weight.")
    check_size(values, "subject.sample_weight")
    return values


def clusters(labels: Any, X: Table, features: tuple[str, ...]) -> IntArray | None:
    """Return a code per row for cluster labels of any kind, or those of a column of X by its name; or None."""
    if labels is None:
        return None
    codes, _ = pd.factorize(np.asarray(_given_or_column(labels, X, features, "clusters", "label")))
    if (codes < 0).any():
        raise InputError(
            f"subject.clusters must have no missing labels; got {int((codes < 0).sum())}. "
            "Give each row of no cluster a label of its own."
        )
    return codes.astype(np.int64)


def moments(time: Any, X: Table, features: tuple[str, ...]) -> IntArray | None:
    """Return each row's rank in time, equal for equal times, from times or the name of a column of X; or None.

    Times are numbers, dates, or text by ISO 8601; zones are brought to one.
    """
    if time is None:
        return None
    given = pd.Series(_given_or_column(time, X, features, "time", "time"))
    missing = np.flatnonzero(given.isna())
    if len(missing):
        raise InputError(
            f"subject.time must have no missing times; got {len(missing)} of {len(given)} "
            f"(rows {', '.join(map(str, missing[:5]))}). Drop those rows, or fill in their times."
        )
    return np.unique(_times(given), return_inverse=True)[1].astype(np.int64)


def time_words(time: Any, X: Table, features: tuple[str, ...]) -> tuple[str, ...]:
    """Return the distinct times in words, in their order."""
    times = pd.Series(np.unique(_times(pd.Series(_given_or_column(time, X, features, "time", "time")))))
    return tuple(f"{at:%Y-%m-%d}" if isinstance(at, pd.Timestamp) else f"{at:g}" for at in times)


def _times(given: pd.Series[Any]) -> AnyArray:
    """Return times as values that sort in their order."""
    kinds = pd.api.types
    if kinds.is_bool_dtype(given.dtype):
        raise InputError("subject.time must be numbers or dates; got booleans. Give the time of each row.")
    if kinds.is_numeric_dtype(given.dtype):
        return _real_times(given.to_numpy())
    if isinstance(given.dtype, pd.PeriodDtype):
        given = given.dt.start_time
    must, remedy = "subject.time must be numbers, dates or text by ISO 8601 such as 2026-01-31", "Convert the times."
    try:
        times = pd.to_datetime(given, format="ISO8601", utc=True, errors="coerce")
    except (TypeError, ValueError) as error:
        raise InputError(f"{must}; got {shown(given.iloc[0])}. {remedy}") from error
    of_the_call = given.astype(object).isin(["now", "today"])  # pandas reads the clock
    refuse_cells(must, given.to_numpy(), (times.isna() | of_the_call).to_numpy(), remedy)
    return times.to_numpy()


def _real_times(times: AnyArray) -> AnyArray:
    """Return times that are numbers; refuse complex and infinite ones, which have no place in an order of time."""
    remedy = "Give the time of each row."
    if np.iscomplexobj(times):
        raise InputError(f"subject.time must be numbers or dates; got {times.dtype}. {remedy}")
    refuse_cells("subject.time must be finite", times, ~np.isfinite(times), remedy)
    return times


def _given_or_column(given: Any, X: Table, features: tuple[str, ...], what: str, noun: str) -> Any:
    """Return values per row: those given, or a column of X by its name."""
    if isinstance(given, str):
        return column(X, features.index(_names(given, features, what, f", or hold one {noun} per row")[0]))
    values: Any = given.array if isinstance(given, pd.Series | pd.Index) else plain_array(given)
    return _per_row(values, len(X), what, noun)


def protected(
    attributes: Iterable[str] | Mapping[str, Any] | pd.Series[Any] | pd.DataFrame | None,
    X: Table,
    features: tuple[str, ...],
) -> dict[str, AnyArray]:
    """Return the values of each protected attribute: a feature by its name, any other with its values."""
    if isinstance(attributes, pd.Series):
        attributes = attributes.to_frame(attributes.name or "protected")
    if isinstance(attributes, pd.DataFrame):
        attributes = {str(name): values for name, values in attributes.items()}
    if isinstance(attributes, Mapping):
        columns = {str(name): plain_array(values) for name, values in attributes.items()}
    else:
        names = _names(attributes, features, "protected", ", or map other names to their values")
        columns = {name: np.asarray(column(X, features.index(name))) for name in names}
    return {name: _per_row(values, len(X), f"protected[{name!r}]", "value") for name, values in columns.items()}


def _per_row(values: AnyArray, n: int, what: str, noun: str) -> AnyArray:
    """Return what has one entry per row; refuse other shapes."""
    if values.shape != (n,):
        raise InputError(f"subject.{what} must have shape ({n},); got {values.shape}. Give one {noun} per row.")
    return values


def _names(listed: Iterable[str] | None, features: tuple[str, ...], what: str, otherwise: str = "") -> tuple[str, ...]:
    """Return one name or several as a tuple; refuse names of no feature."""
    if listed is not None and not isinstance(listed, Iterable):
        raise InputError(f"subject.{what} must list features of X{otherwise}; got {shown(listed)}. Pass their names.")
    names = (listed,) if isinstance(listed, str) else tuple(map(str, listed or ()))
    unknown = [name for name in names if name not in features]
    if unknown:
        hint = nearest(unknown[0], features)
        raise InputError(f"subject.{what} must list features of X{otherwise}; got {unknown}. {hint}")
    return names


def groups(blocks: Mapping[str, Iterable[str]] | None, features: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return group names with their features."""
    if blocks is not None and not isinstance(blocks, Mapping):
        raise InputError(f"subject.groups must map names to lists of features; got {shown(blocks)}. Pass a dict.")
    checked: dict[str, tuple[str, ...]] = {}
    for name, listed in (blocks or {}).items():
        if name in features:
            raise InputError(f"subject.groups must not reuse feature names; got {name!r}. Rename the group.")
        members = _names(listed, features, f"groups[{name!r}]")
        if not members:
            raise InputError(f"subject.groups[{name!r}] must list features of X; got (). List at least one feature.")
        if len(set(members)) < len(members):
            raise InputError(f"subject.groups[{name!r}] must list each feature once; got {list(members)}.")
        checked[str(name)] = members
    return checked


def kinds(rows: Table, features: tuple[str, ...], categorical: Iterable[str] | None) -> dict[str, Kind]:
    """Return each feature's kind: stated by the user, else read from its dtype."""
    stated = _names(categorical, features, "categorical")
    if isinstance(rows, pd.DataFrame):
        for position, name in enumerate(features):
            if name not in stated:
                check_text(rows.iloc[:, position], f"subject.X[{name!r}]")
    dtypes = rows.dtypes.tolist() if isinstance(rows, pd.DataFrame) else [rows.dtype] * len(features)
    return {name: _kind(dtype, name in stated) for name, dtype in zip(features, dtypes, strict=True)}


def _kind(dtype: Any, stated: bool) -> Kind:
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "datetime"
    if stated or pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
        return "categorical"
    return "numeric"
