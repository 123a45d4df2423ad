"""What other libraries want and do: frames with text column names, numbers for y, a loss, the global random state."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from ..engine.fast_path_evaluator import Engine
from ..model.subject import Subject
from ..support.arrays import AnyArray, FloatArray, Table


def to_frame(subject: Subject, rows: Any = None) -> pd.DataFrame:
    """Return a copy of the subject's rows with the feature names as columns and the row numbers as index.

    `rows` are row positions; all rows by default. Values and column types stay as they are.
    """
    frame = subject.X if isinstance(subject.X, pd.DataFrame) else pd.DataFrame(subject.X)
    chosen = frame if rows is None else frame.iloc[rows]
    return chosen.set_axis(list(subject.features), axis=1).copy()


def from_frame(subject: Subject, frame: pd.DataFrame) -> Table:
    """Return a frame of `to_frame`'s layout as the kind of table the model was given.

    Boolean columns that a library has turned into numbers become boolean again, so that the model
    sees the type it knows; every other value passes as it is.
    """
    if not isinstance(subject.X, pd.DataFrame):
        return frame.to_numpy()
    table = frame.set_axis(subject.X.columns, axis=1)
    for position, dtype in enumerate(subject.X.dtypes):
        if pd.api.types.is_bool_dtype(dtype) and table.dtypes.iloc[position] != dtype:
            table.isetitem(position, table.iloc[:, position].astype(dtype).array)
    return table


def numeric_target(engine: Engine) -> FloatArray | None:
    """Return y as numbers, of classes 1 for the positive one and 0 for all others; None if not known of all rows."""
    if engine.y is None or engine.baseline.censored:
        return None
    q: Any = engine.baseline
    return np.asarray(engine.y == q.positive if "proba" in q.supports else engine.y, dtype=float)


def mean_measure(observed: AnyArray, predicted: AnyArray) -> float:  # noqa: ARG001 - the signature of a loss
    """Return the mean of what was "predicted": the loss of a measure that is no prediction of y.

    Examples
    --------
    >>> mean_measure(np.array([0, 0]), np.array([1.0, 2.0]))
    1.5
    """
    return float(predicted.mean())


@contextmanager
def global_random_state_restored() -> Iterator[None]:
    """Put numpy's global random state back at the end, whatever a library drew from it."""
    state = np.random.get_state()  # noqa: NPY002 - the global stream is what is guarded
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002 - as above
