"""Where residuals are taken: held-out rows, out-of-bag rows or folds, none of them an audited row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ....core.model.subject import Subject
from ....core.support.arrays import AnyArray, FloatArray, Table
from ....core.support.errors import InputError
from ....core.validation import inputs
from ....core.validation.residuals import Residuals
from ..sklearn_ import unwrap
from .bags import has_bags, out_of_bag
from .points import GIVE_ROWS, LEAST, Collected, predicted
from .refits import refitted

COINCIDENCES = 0.01  # share of a table's rows that may be residual rows too, by equal values


def collected(subject: Subject, asked: Residuals, *, mixed: bool) -> Collected:
    """Return the residuals from the source that is asked for, or the best there is.

    Raises
    ------
    InputError
        If there is no such source, its rows are audited rows too, or fewer than 20 residuals are left.
    """
    rows = _held_out(subject, asked, mixed=mixed) if asked.rows is not None else _trained(subject, asked, mixed=mixed)
    if len(rows.residual) < LEAST:
        raise InputError(f"residuals must be of at least {LEAST} rows; got {len(rows.residual)}. {GIVE_ROWS}")
    if not rows.residual.any():
        raise InputError(f"residuals must not all be 0; got 0 in all {len(rows.residual)} rows. {GIVE_ROWS}")
    return rows


def _held_out(subject: Subject, asked: Residuals, *, mixed: bool) -> Collected:
    what = "residuals.rows"
    X, y = _pair(inputs.training(asked.rows, subject.X, subject.features, subject.model, what), what)
    _refuse_shared((subject.X, subject.y), X, y, what, "audited")
    if subject.train is not None:
        _refuse_shared(subject.train, X, y, what, "training")
    given = predicted(subject.model, X, mixed=mixed)
    return Collected("held_out", X, y - given.mean, given)


def _trained(subject: Subject, asked: Residuals, *, mixed: bool) -> Collected:
    model, (X, y) = subject.model, _pair(subject.train, "explain.train")
    _refuse_shared((subject.X, subject.y), X, y, "explain.train", "audited")
    bagged = has_bags(model)
    if asked.source == "oob" and not bagged:
        raise InputError(
            "residuals.source must be 'oob' only for a fitted scikit-learn forest or bagging with bootstrap; got "
            f"{type(unwrap(model)[1]).__name__}. Pass residuals='normal', which takes cross-validation."
        )
    if bagged and asked.source != "cross_validation":
        return out_of_bag(model, X, y, mixed=mixed)
    return refitted(model, X, y, asked, mixed=mixed)


def _pair(given: tuple[Table, AnyArray | None] | None, what: str) -> tuple[Table, FloatArray]:
    """Return rows and their outcomes as numbers; refuse where there are none."""
    if given is None or given[1] is None:
        got = "None" if given is None else "no y"
        raise InputError(
            f"{what} must be a pair (X, y) for residuals to be taken from; got {got}. Pass train=(X_train, y_train), "
            "or rows outside the fit: residuals=uq.Residuals(rows=(X_calibration, y_calibration))."
        )
    try:
        return given[0], np.asarray(given[1], dtype=float)
    except (TypeError, ValueError) as error:
        got = str(np.asarray(given[1]).dtype)
        raise InputError(f"explain.residuals must be None for a target that is no number; got {got}.") from error


def _refuse_shared(ours: tuple[Table, AnyArray | None], X: Table, y: FloatArray, what: str, kind: str) -> None:
    """Refuse residual rows of which too many are rows of another table, by equal features and outcomes.

    Rows of few distinct values may be equal by chance: allowed is 1 % of the table's rows, or the share of them that
    have an equal in the table itself, but never that both tables are the same.
    """
    known = ours[1] is not None
    codes, others = _codes(*ours), _codes(X, y if known else None)
    shared, doubled = np.isin(codes, others), pd.Series(codes).duplicated(keep=False).to_numpy()
    same = np.array_equal(np.sort(codes), np.sort(others))
    if same or shared.mean() > max(COINCIDENCES, doubled.mean()):
        rows = np.flatnonzero(shared)
        listed = ", ".join(map(str, rows[:5])) + (" ..." if len(rows) > 5 else "")
        raise InputError(
            f"{what} must hold none of the {kind} rows where residuals are taken from it; got {len(rows)} of the "
            f"{len(codes)} {kind} rows: rows {listed}. {GIVE_ROWS}"
        )


def _codes(X: Table, y: AnyArray | None) -> AnyArray:
    """Return a number per row that equal rows share."""
    frame = pd.DataFrame(X).copy(deep=False)
    frame.columns = pd.RangeIndex(frame.shape[1])
    for place, dtype in enumerate(frame.dtypes):
        column = frame.iloc[:, place]
        numeric = pd.api.types.is_numeric_dtype(dtype)
        values = column.to_numpy(float, na_value=np.nan) + 0.0 if numeric else column.astype(str).to_numpy()
        frame.isetitem(place, values)
    if y is not None:
        frame[frame.shape[1]] = np.asarray(y, dtype=float) + 0.0
    return np.asarray(pd.util.hash_pandas_object(frame, index=False))
