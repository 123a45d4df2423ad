"""Tables of other libraries as pandas frames, by one stated rule."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pandas as pd

from .errors import InputError, MissingDependencyError


def as_frame(X: Any, what: str) -> Any:
    """Return a table of polars, Arrow and their like as a frame; anything else as it is.

    The rule: the object's own ``to_pandas()``, else pyarrow on its Arrow stream; then dates become
    ``datetime64`` and decimals ``float64`` (see `tidied`). Categories stay categories.
    """
    if isinstance(X, pd.DataFrame | pd.Series):
        return X
    own = None if isinstance(X, type) else getattr(X, "to_pandas", None)
    if not callable(own) and not hasattr(X, "__arrow_c_stream__"):
        return X
    library = type(X).__module__.partition(".")[0]
    try:
        # by name: the core depends on no such library, and reads a stream only where the user has one
        frame = own() if callable(own) else import_module("pyarrow").table(X).to_pandas()
    except ImportError as error:
        raise MissingDependencyError(f"reading a table of {library}", "pyarrow", "parquet") from error
    except Exception as error:  # a foreign object: whatever its conversion raises is told with its name
        raise InputError(
            f"subject.{what} must be a table that pandas can hold; got a {library} {type(X).__name__}: {error}. "
            "Convert it to a DataFrame."
        ) from error
    return tidied(frame) if isinstance(frame, pd.DataFrame) else frame


def tidied(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose Python dates are ``datetime64`` and whose decimals are ``float64``.

    Databases, Arrow and Parquet files hand these over as objects, which no explainer could order.

    Examples
    --------
    >>> from datetime import date
    >>> from decimal import Decimal
    >>> tidied(pd.DataFrame({"when": [date(2026, 1, 1), None], "amount": [Decimal("1.5"), None]})).dtypes.tolist()
    [dtype('<M8[ns]'), dtype('float64')]
    """
    other = frame.copy(deep=False)
    for position, dtype in enumerate(frame.dtypes):
        if pd.api.types.is_object_dtype(dtype):
            column = frame.iloc[:, position]
            kind = pd.api.types.infer_dtype(column, skipna=True)
            if kind in ("date", "datetime"):
                other.isetitem(position, pd.to_datetime(column).array)
            elif kind == "decimal":
                other.isetitem(position, column.astype(float).array)
    return other
