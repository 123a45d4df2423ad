"""Predictions that were made elsewhere, from columns of the data."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError, nearest
from ...core.traits.stored_predictions import FixedRows, prediction_columns, scored_rows
from .base import ModelLoader

_FORMS = "probability, or probabilities per class, or mean and std"


class PredictionsLoader(ModelLoader):
    """Makes `FixedRows` of a scored table; asked for by name, never by a source's spelling."""

    name: ClassVar[str] = "predictions"

    def load(
        self,
        source: str,
        *,
        X: pd.DataFrame,
        predictions: pd.DataFrame,
        part: Mapping[str, Any],
        y: Any = None,
        positive_class: Any = None,
    ) -> FixedRows:
        """Return the rows with what was said of them.

        Parameters
        ----------
        source : str
            Name of the data, for messages.
        X : DataFrame
            The features of the rows, as the audit gets them.
        predictions : DataFrame
            The columns that hold the predictions, of the same rows.
        part : mapping
            ``probability``, ``probabilities`` (label to column), ``mean``, ``std``, as in ``[data.predictions]``.
        y : sequence, optional
            For the spelling of class labels, which are text in a file.
        positive_class : label, optional
            The class a single ``probability`` belongs to; 1 where the classes are 0 and 1, else it must be given.
        """
        named = [key for key in ("probability", "probabilities", "mean", "std") if part.get(key)]
        if named not in (["probability"], ["probabilities"], ["mean", "std"]):
            got = ", ".join(named) or "nothing"
            raise InputError(f"data.predictions must name {_FORMS}; got {got}. Name the columns of one of these.")
        for column in prediction_columns(part):
            if column not in predictions.columns:
                hint = nearest(column, map(str, predictions.columns))
                raise InputError(f"data.predictions must name columns of {source}; got {column!r}. {hint}")
        if "mean" in named:
            return scored_rows(X, _numbers(predictions, [part["mean"], part["std"]], source))
        if "probability" in named:
            classes, at = _two_classes(y, positive_class)
            p = _numbers(predictions, [part["probability"]], source)[:, 0]
            _refuse_outside(p, part["probability"])
            return scored_rows(X, np.column_stack([p, 1 - p] if at == 0 else [1 - p, p]), classes)
        columns = {_spelled(label, y): column for label, column in part["probabilities"].items()}
        if len(columns) < 2:
            raise InputError(
                f"data.predictions.probabilities must name a column for each class; got {list(columns)}. "
                "Name all of them, or use probability for one of two classes."
            )
        return scored_rows(X, _numbers(predictions, list(columns.values()), source), tuple(columns))


def _numbers(table: pd.DataFrame, columns: list[str], source: str) -> FloatArray:
    """Return columns as floats; refuse text and missing values by column."""
    for name in columns:
        values = table[name]
        if not pd.api.types.is_numeric_dtype(values.dtype) or values.isna().any():
            got = f"{int(values.isna().sum())} missing values" if values.isna().any() else f"dtype {values.dtype}"
            raise InputError(f"{name} of {source} must hold a number in every row, as a prediction; got {got}.")
    return table[columns].to_numpy(dtype=float)


def _refuse_outside(p: FloatArray, column: str) -> None:
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        raise InputError(
            f"{column} must hold probabilities from 0 to 1; got {p[bad][0]:g} and the like in {int(bad.sum())} rows."
        )


def _two_classes(y: Any, positive: Any) -> tuple[tuple[Any, Any], int]:
    """Return the two labels in order, and the position of the one whose probability is given."""
    labels = [0, 1] if y is None else sorted(pd.Series(y).dropna().unique().tolist())
    if len(labels) == 1 and labels[0] in (0, 1):
        labels = [type(labels[0])(0), type(labels[0])(1)]
    if len(labels) != 2:
        raise InputError(
            f"data.predictions.probability must be of one of two classes; y has {len(labels)}: {labels[:5]}. "
            "Name a column per class in data.predictions.probabilities."
        )
    if positive is None:
        if labels != [0, 1]:
            raise InputError(
                f"data.predictions.positive_class must say whose probability is given, one of {labels}; it is missing. "
                f"Set positive_class = {str(labels[1])!r} or {str(labels[0])!r}."
            )
        return (labels[0], labels[1]), 1
    spelled = _spelled(positive, labels)
    if spelled not in labels:
        raise InputError(f"model.positive_class must be a class of y, {labels}; got {positive!r}.")
    return (labels[0], labels[1]), labels.index(spelled)


def _spelled(label: Any, y: Any) -> Any:
    """Return a class named in text as the label in y that it spells; the whole number it spells, without y."""
    if y is None:
        return int(label) if isinstance(label, str) and label.isdigit() else label
    return next((value for value in pd.Series(y).dropna().unique().tolist() if str(value) == str(label)), label)
