"""Arguments as people type them: those in each other's place are answered with the call that is meant."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.model.subject import Subject
from ..core.support.arrays import as_frame
from ..core.support.errors import InputError
from ..core.validation.cell_validation import shown


def check_explained(model: Any, X: Any, y: Any) -> None:
    """Refuse arguments of `explain` in each other's place, with the call that is meant.

    Raises
    ------
    InputError
        If the model is a subject, a file or a table, X and y are swapped, or y is the name of a column.
    """
    if isinstance(model, Subject):
        raise InputError("explain.model must be a model; got a Subject, which is explained. Call uq.audit(subject).")
    if isinstance(model, str | Path):
        raise InputError(
            f"explain.model must be a fitted model; got the text {shown(str(model))}. Read the file, or run: "
            "uq-report run --model FILE --data FILE --target NAME"
        )
    of_draws = hasattr(model, "entropy") or hasattr(model, "dims")  # distributions, and the arrays of xarray
    if is_table(model) and not of_draws and (y is None or not is_table(X) or hasattr(y, "predict")):
        swapped = f"got a {type(model).__name__} and a {type(X).__name__}"
        raise InputError(f"explain.model must come before its rows; {swapped}. Call uq.explain(model, X, y).")
    if isinstance(model, np.ndarray):
        raise InputError(
            f"explain.model must be a model or a distribution; got an array of shape {model.shape}. Pass stored "
            "predictions as uq.dist.Categorical(probabilities, classes) or uq.dist.Normal(mean, std)."
        )
    if isinstance(y, str) and y in getattr(as_frame(X, "X"), "columns", ()):
        call = f"uq.explain(model, X.drop(columns={y!r}), X[{y!r}])"
        raise InputError(f"explain.y must be values, one per row; got the name of a column, {y!r}. Call {call}.")
    if is_table(y) and np.ndim(X) == 1 and np.ndim(y) == 2 and np.shape(y)[1] > 1:
        shapes = f"got shapes {np.shape(X)} and {np.shape(y)}"
        raise InputError(f"explain.X must be rows, explain.y their outcomes; {shapes}. Call uq.explain(model, X, y).")


def check_order(who: str, X: Any, y: Any) -> None:
    """Refuse outcomes that carry the index of their rows in another order; positions would pair them wrongly."""
    indexed = isinstance(X, pd.DataFrame) and isinstance(y, pd.Series | pd.DataFrame) and len(X) == len(y)
    if indexed and not X.index.equals(y.index) and X.index.symmetric_difference(y.index, sort=False).empty:
        raise InputError(
            f"{who} must be in the order of its rows; got the index of X in another order. Pass it by "
            ".loc[X.index], or by .to_numpy() if the rows match by position."
        )


def names(who: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """Return one name or a list of them as a tuple; refuse what is neither."""
    if not isinstance(given, str | Iterable):
        raise InputError(f"{who} must be a name or a list of names; got {shown(given)}.")
    return (given,) if isinstance(given, str) else tuple(given)


def is_table(thing: Any) -> bool:
    """Say whether a thing is a frame, a column or an array."""
    return isinstance(thing, pd.DataFrame | pd.Series | np.ndarray) or hasattr(thing, "__arrow_c_stream__")
