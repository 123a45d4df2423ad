"""One output of a model that predicts several: its part of the model, of y and of the training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.support.errors import InputError, to_type
from ..core.validation import inputs
from ..core.validation.lifetimes import are_lifetimes
from ..core.validation.multioutput import Output, listed, output_column, output_names, output_position
from ..core.validation.residuals import Residuals
from .adapter_choice import line_to_type, output_picker


def named_outputs(arguments: Mapping[str, Any], deny: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of all outputs: the columns of y or of the training y, else the positions that the model has.

    Parameters
    ----------
    arguments : mapping
        Of `uq_report.explain`, as given.
    deny : sequence of str
        Plugins or distributions not to import.
    """
    train = arguments.get("train")
    pair = train if isinstance(train, tuple | list) and len(train) == 2 else (None, None)
    names = output_names(arguments.get("y")) or output_names(pair[1])
    model = arguments["model"]
    picker = output_picker(model, deny)
    n = picker.outputs(model) if picker is not None else 1
    if n == 1 and are_lifetimes(arguments.get("y")):
        return ()
    if names and n > 1 and len(names) != n:
        raise InputError(
            f"explain.y must have one column per output of {type(model).__name__}, {n}; got {len(names)}: "
            f"{listed(names)}. Pass the columns the model was fitted on, in their order."
        )
    return names or (tuple(map(str, range(n))) if n > 1 else ())


def pick_output(
    arguments: Mapping[str, Any], output: str | int | None, deny: Sequence[str] = ()
) -> tuple[dict[str, Any], str]:
    """Return the arguments of `uq_report.explain` for one output, and what a reader must know of it.

    Raises
    ------
    InputError
        If there are several outputs and none is named, the message names them; or if it is none of them.
    """
    model, names = arguments["model"], named_outputs(arguments, deny)
    predicts = any(callable(getattr(model, method, None)) for method in ("predict", "predict_proba"))
    if output is None:
        if names and predicts:
            raise InputError(_unnamed(arguments, names, deny))
        return dict(arguments), ""
    if not predicts:
        raise InputError(
            f"explain.output must be left out for a {type(model).__name__}, which has no predict; got {output!r}. "
            "Pass a function of the rows that returns the distribution of the one output, and its column as y."
        )
    if isinstance(output, int | np.integer) and not names and arguments.get("y") is None:
        names = tuple(map(str, range(int(output) + 1)))  # the first prediction shows whether there are so many
    if not names:
        raise InputError(
            f"explain.output must be left out where y has one column; got {output!r}. Pass all outputs that the model "
            "was fitted on as y."
        )
    position = output_position(output, names)
    return _picked(arguments, position, names, deny)


def _unnamed(arguments: Mapping[str, Any], names: tuple[str, ...], deny: Sequence[str]) -> str:
    """Say that an output must be named, and what to type for the first."""
    first = names[0] if names[0].isdigit() else repr(names[0])
    line = line_to_type(_picked(arguments, 0, names, deny)[0]["model"], deny)
    named = line.replace("output=0", f"output={first}")
    code = named if named != line or "output=" in line else line.replace("X, y", f"X, y, output={first}")
    who = type(arguments["model"]).__name__
    return (
        f"explain.output must name one of {len(names)} outputs, {listed(names)}; got none. {who} is audited one output "
        f"at a time, all by uq.explain_outputs. {to_type(code)}"
    )


def _picked(
    arguments: Mapping[str, Any], position: int, names: tuple[str, ...], deny: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """Return the arguments with one output's columns and model."""
    model, own = arguments["model"], dict(arguments)
    if own.get("y") is not None:
        own["y"] = output_column(own["y"], position, len(names), "y")
    own["train"] = _train(own.get("train"), position, names)
    residuals = own.get("residuals")
    if isinstance(residuals, Residuals) and residuals.rows is not None:
        own["residuals"] = replace(residuals, rows=_train(residuals.rows, position, names))
    table, features = inputs.table(own["X"], "X", model)
    rows = inputs.training(own["train"], table, features, model)
    picker = output_picker(model, deny)
    own["model"], remark = (Output(model, position), "") if picker is None else picker.output(model, position, rows)
    named = names[position] if not names[position].isdigit() else f"output {position}"
    own.setdefault("label", f"{type(model).__name__}: {named}")
    note = f"Audited is {named}, one of the outputs that {type(model).__name__} predicts together."
    return own, f"{note} {remark}".strip()


def _train(train: Any, position: int, names: tuple[str, ...]) -> Any:
    """Return the training pair with one output's column; what is no pair is refused where all training rows are."""
    if not isinstance(train, tuple | list) or len(train) != 2 or train[1] is None:
        return train
    return train[0], output_column(train[1], position, len(names), "train y")
