"""Models that predict several outputs at once: which outputs there are, and one of them as a model of its own."""

from functools import wraps
from typing import Any

import numpy as np
import pandas as pd

from ..support.arrays import AnyArray, as_frame
from ..support.errors import InputError

_LISTED = 8
_OWN = ("predict", "predict_proba")


def output_names(Y: Any) -> tuple[str, ...]:
    """Return the names of the columns of a target, their positions for an array; none for a target of one output.

    Examples
    --------
    >>> output_names(pd.DataFrame({"height": [1.0], "weight": [2.0]})), output_names(np.zeros((4, 2)))
    (('height', 'weight'), ('0', '1'))
    >>> output_names(np.zeros(4)), output_names(None)
    ((), ())
    """
    Y = as_frame(Y, "y")
    if isinstance(Y, pd.DataFrame):
        return tuple(map(str, Y.columns)) if Y.shape[1] > 1 else ()
    try:
        shape = np.shape(Y)
    except ValueError as error:
        raise InputError("explain.y must hold single values; got lists of different lengths. Pass an array.") from error
    return tuple(map(str, range(shape[1]))) if len(shape) == 2 and shape[1] > 1 else ()


def output_position(output: str | int, names: tuple[str, ...]) -> int:
    """Return the position of an output that is given by its name or its position."""
    if isinstance(output, str) and names.count(output) == 1:
        return names.index(output)
    if isinstance(output, int | np.integer) and not isinstance(output, bool) and 0 <= output < len(names):
        return int(output)
    allowed = f"{listed(names)} or a position below {len(names)}"
    raise InputError(f"explain.output must be {allowed}; got {output!r}. Name one of them.")


def listed(names: tuple[str, ...]) -> str:
    """Return the names of outputs as a list of alternatives, the first few.

    Examples
    --------
    >>> listed(("height", "weight"))
    "'height' or 'weight'"
    """
    first = [repr(name) for name in names[:_LISTED]]
    if len(names) > _LISTED:
        return f"{', '.join(first)} or {len(names) - _LISTED} more"
    return " or ".join(filter(None, (", ".join(first[:-1]), first[-1])))


def output_column(Y: Any, position: int, n_outputs: int, what: str) -> Any:
    """Return one output's column of a target; refuse a target that has another number of columns."""
    Y = as_frame(Y, what)
    values: AnyArray = Y.to_numpy() if isinstance(Y, pd.DataFrame) else np.asarray(Y)
    if values.ndim != 2 or values.shape[1] != n_outputs:
        raise InputError(
            f"explain.{what} must have one column per output, {n_outputs}; got shape {values.shape}. Pass all outputs; "
            "the argument output picks the column."
        )
    return Y.iloc[:, position] if isinstance(Y, pd.DataFrame) else values[:, position]


def whole(model: Any) -> Any:
    """Return the model that an output is of; any other model as it is."""
    return model.model if isinstance(model, Output) else model


class Output:
    """One output of a fitted model: its column of ``predict`` and ``return_std``, its item of ``predict_proba``.

    All else is the model's own. The methods keep the signatures of the model's.

    Examples
    --------
    >>> class Both:
    ...     classes_ = [np.array([0, 1]), np.array(["a", "b"])]
    ...     def predict_proba(self, X):
    ...         return [np.full((len(X), 2), 0.5), np.full((len(X), 2), [0.2, 0.8])]
    >>> second = Output(Both(), 1)
    >>> second.predict_proba(np.zeros((1, 1))), second.classes_
    (array([[0.2, 0.8]]), array(['a', 'b'], dtype='<U1'))
    """

    def __init__(self, model: Any, position: int) -> None:
        self.model, self.position = model, position

    def __getattr__(self, name: str) -> Any:
        """Return what the model has of that name; of several outputs this one's."""
        own = name in ("model", "position")  # before they are set, as in unpickling
        if own or (name.startswith("__") and not name.startswith("__sklearn")):
            raise AttributeError(name)
        value = getattr(self.model, name)
        if name in _OWN and callable(value):
            return self._method(value)
        if name == "classes_" and isinstance(value, list):
            return value[self.position]
        return value

    def _method(self, method: Any) -> Any:
        @wraps(method)
        def of_output(*args: Any, **kwargs: Any) -> Any:
            several = method(*args, **kwargs)
            if method.__name__ == "predict_proba":
                return self._item(several)
            return tuple(map(self._column, several)) if isinstance(several, tuple) else self._column(several)

        return of_output

    def _item(self, several: Any) -> Any:
        """Return this output's probabilities of a list."""
        if not isinstance(several, list):
            raise InputError(
                f"explain.output must be left out where predict_proba returns one array, as that of "
                f"{type(self.model).__name__} does; got {self.position}. Where its columns are the probabilities p of "
                "labels that do not exclude each other, pass a function of the rows that returns "
                "Categorical(np.column_stack([1 - p, p])) of one column."
            )
        self._check(len(several))
        return several[self.position]

    def _column(self, several: Any) -> AnyArray:
        """Return this output's column of an array or frame."""
        values = np.asarray(several)
        if values.ndim != 2:
            raise InputError(
                f"explain.output must be left out for a model of one output; got {self.position}, and predictions of "
                f"shape {values.shape} from {type(self.model).__name__}. Pass the one column as y."
            )
        self._check(values.shape[1])
        return values[:, self.position]

    def _check(self, n_outputs: int) -> None:
        if self.position >= n_outputs:
            raise InputError(
                f"explain.output must be a position below {n_outputs}, the outputs that {type(self.model).__name__} "
                f"predicts; got {self.position}."
            )
