"""A ``dalex.Explainer``, taken as it is: its model, rows, y, weights and label."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, Table
from ...core.support.errors import InputError
from ...evidence import ids

_CHECKED_ROWS = 50
_DIRECTLY = "Pass the parts yourself: uq_report.explain(explainer.model, X, y)."


@dataclass(frozen=True)
class DalexAdapter(Adapter):
    """Opens a ``dalex.Explainer``; the model inside is then audited by the adapter that matches it.

    The protocol of `unpack`: ``uq_report.explain`` calls it on the adapter that matches best, takes
    the dictionary as its arguments (those the user gave win), and looks for the adapter of the
    model inside. `predict` is thus never reached by that way, and refuses: a dalex
    ``predict_function`` gives one number per row, no distribution.

    What dalex calls y of a classifier is 0 or 1, the indicator of the class its predict function
    explains. That class is found by comparing the predict function with the columns of
    ``predict_proba`` on the first 50 rows, and becomes `positive_class`; y becomes class labels.
    A predict function that does more than call the model is refused: its steps would be lost.
    """

    name: ClassVar[str] = ids.DALEX
    libraries: ClassVar[tuple[str, ...]] = ("dalex",)

    def matches(self, model: Any) -> Match | None:
        """Match ``dalex.Explainer`` and its subclasses."""
        return Match(0, "a dalex Explainer") if "dalex.Explainer" in class_names(model) else None

    def unpack(self, model: Any) -> Mapping[str, Any]:
        """Return the arguments of `uq_report.explain` an explainer holds.

        Returns
        -------
        mapping
            model, X, y, label, sample_weight, and for classifiers positive_class.

        Raises
        ------
        InputError
            If it has no data, its predict function is not its model's prediction, or its y can be
            read in no way, or in two.
        """
        inner = model.model
        if model.data is None:
            raise InputError(f"dalex.Explainer.data must be set; got None. Build it with data and y. {_DIRECTLY}")
        X = _rows(model.data, inner)
        arguments = {"model": inner, "X": X, "y": model.y, "label": model.label, "sample_weight": model.weights}
        if callable(getattr(inner, "predict_proba", None)):
            position = _explained_class(model, X)
            classes = getattr(inner, "classes_", None)
            if classes is not None:
                arguments["positive_class"] = classes[position]
                arguments["y"] = None if model.y is None else _labels(model.y, list(classes), position)
        elif callable(getattr(inner, "predict", None)):
            _refuse_other_prediction(model, X)
        return arguments

    def predict(self, model: Any, X: Table) -> Distribution:
        """Refuse: an explainer must be unpacked."""
        raise InputError(
            f"model must give a distribution; got a {type(model).__name__}, whose predict_function gives one "
            f"number for each of {len(X)} rows. Open it with unpack, as uq_report.explain(explainer) does. {_DIRECTLY}"
        )


def _rows(data: pd.DataFrame, model: Any) -> Table:
    """Return the explainer's rows; as an array again where dalex made the frame and its names from one."""
    numbered = [str(j) for j in range(data.shape[1])]
    if list(data.columns) == numbered and getattr(model, "feature_names_in_", None) is None:
        return data.to_numpy()
    return data


def _explained(explainer: Any) -> FloatArray:
    """Return what the predict function says of the first rows."""
    y_hat = explainer.y_hat
    if y_hat is None:
        y_hat = explainer.predict_function(explainer.model, explainer.data.iloc[:_CHECKED_ROWS])
    return np.asarray(y_hat, dtype=float)[:_CHECKED_ROWS]


def _explained_class(explainer: Any, X: Table) -> int:
    """Return the column of ``predict_proba`` that the predict function gives; the second if all agree."""
    columns = np.asarray(explainer.model.predict_proba(X[:_CHECKED_ROWS]), dtype=float)
    explained = _explained(explainer)
    if columns.ndim != 2 or explained.shape != columns[:, 0].shape:
        _refuse_predict_function(f"shape {explained.shape} beside predict_proba of shape {columns.shape}")
    gaps = np.abs(columns - explained[:, None]).max(axis=0)
    agreeing = np.flatnonzero(gaps < 1e-5)
    if not len(agreeing):
        _refuse_predict_function(f"numbers that differ from every column by up to {gaps.min():.3g}")
    return 1 if 1 in agreeing else int(agreeing[0])


def _refuse_other_prediction(explainer: Any, X: Table) -> None:
    own, explained = np.asarray(explainer.model.predict(X[:_CHECKED_ROWS]), dtype=float), _explained(explainer)
    if own.shape != explained.shape or not np.allclose(own, explained, rtol=1e-5, atol=1e-8):
        _refuse_predict_function("other numbers than model.predict")


def _refuse_predict_function(got: str) -> NoReturn:
    raise InputError(
        "dalex.Explainer.predict_function must be the model's own predict or one column of its predict_proba; "
        f"got {got}. Put what it does before or after the model into a pipeline, "
        f"or pass a function that returns a Distribution. {_DIRECTLY}"
    )


def _labels(y: AnyArray, classes: list[Any], position: int) -> AnyArray:
    """Return y as class labels: given as such, or as 0/1 for the explained class of two."""
    values = y.tolist()
    codes = {label: code for code, label in enumerate(classes)}
    as_labels = [codes[v] for v in values] if set(values) <= set(codes) else None
    indicator = set(values) <= {0, 1}
    as_indicator = [position if v else 1 - position for v in values] if indicator and len(classes) == 2 else None
    readings = [reading for reading in (as_labels, as_indicator) if reading is not None]
    if not readings or (indicator and len(classes) > 2) or any(reading != readings[0] for reading in readings):
        raise InputError(
            f"dalex.Explainer.y must be class labels, {classes}, or 0/1 for the explained one of two classes, "
            f"{classes[position]!r}; got {sorted(set(values), key=str)[:5]}, which "
            f"{'can be read in two ways' if readings else 'is neither'}. {_DIRECTLY}"
        )
    return np.asarray(classes)[readings[0]]
