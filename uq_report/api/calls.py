"""Calls as people make them: a model, rows or a file where a subject is expected is answered with the call to make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from ..core.model.subject import Subject
from ..core.support.arrays import as_frame
from ..core.support.errors import InputError
from ..core.validation.cell_validation import shown
from ..evidence.run import Run
from .views import AuditRun

P = ParamSpec("P")
R = TypeVar("R")


def on_subject(verb: Callable[P, R]) -> Callable[P, R]:
    """Return a verb that looks at its first argument before all others, and says what to call if it is no subject."""
    name = verb.__name__

    @wraps(verb)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = args[0] if args else kwargs.get("subject")
        if not _fits(name, given):
            allowed = "one subject, or champion and challenger" if name == "audit" else "a subject"
            raise InputError(f"{name}.subject must be {allowed}; got {_got(given)}. {_remedy(name, given)}")
        return verb(*args, **kwargs)

    return checked


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
    if _is_table(model) and not _is_table(X) and (callable(X) or hasattr(X, "predict")):
        swapped = f"got a {type(model).__name__} and a {type(X).__name__}"
        raise InputError(f"explain.model must come before its rows; {swapped}. Call uq.explain(model, X, y).")
    if isinstance(y, str) and y in getattr(as_frame(X, "X"), "columns", ()):
        call = f"uq.explain(model, X.drop(columns={y!r}), X[{y!r}])"
        raise InputError(f"explain.y must be values, one per row; got the name of a column, {y!r}. Call {call}.")
    if _is_table(y) and np.ndim(X) == 1 and np.ndim(y) == 2 and np.shape(y)[1] > 1:
        shapes = f"got shapes {np.shape(X)} and {np.shape(y)}"
        raise InputError(f"explain.X must be rows, explain.y their outcomes; {shapes}. Call uq.explain(model, X, y).")


def names(who: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return a list of names as a tuple; refuse a single text, which is a list of letters, and what is no list."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{who} must be a list of names; got {shown(given)}. Put it in brackets.")
    return tuple(given)


def _fits(verb: str, given: Any) -> bool:
    """Say whether a verb takes what was given: a subject, `audit` two of them or a mapping as well."""
    if verb == "audit" and isinstance(given, Mapping):
        return all(isinstance(each, Subject) for each in given.values())
    if verb == "audit" and isinstance(given, Sequence) and not isinstance(given, str):
        return len(given) == 2 and all(isinstance(each, Subject) for each in given)
    return isinstance(given, Subject)


def _got(given: Any) -> str:
    """Say what was given, in a few words."""
    if isinstance(given, str | Path):
        return f"the text {shown(str(given))}"
    if isinstance(given, Mapping):
        return f"a mapping of {_kinds(given.values())}"
    if isinstance(given, list | tuple):
        return f"{len(given)} subjects" if all(isinstance(each, Subject) for each in given) else _kinds(given)
    return f"the class {given.__name__}" if isinstance(given, type) else f"a {type(given).__name__}"


def _kinds(several: Iterable[Any]) -> str:
    return " and ".join(f"a {type(each).__name__}" for each in list(several)[:3]) or "nothing"


def _remedy(verb: str, given: Any) -> str:
    """Say what to call instead."""
    if isinstance(given, AuditRun | Run):
        return "It is an audit that has been made: its results are in run.results."
    if isinstance(given, str | Path):
        return f"Call uq.run({str(given)!r})." if str(given).endswith(".toml") else _call(verb, "model, X, y")
    if isinstance(given, Mapping):
        return f"Call uq.{verb}({{name: uq.explain(model, X, y) for name, model in models.items()}})."
    if isinstance(given, list | tuple) and len(given) == 2 and verb == "audit":
        return "Call uq.audit([uq.explain(champion, X, y), uq.explain(challenger, X, y)])."
    if isinstance(given, list | tuple) and any(isinstance(each, Subject) for each in given):
        return f"Call uq.{verb} for each of them."
    explains = type(given).__module__.partition(".")[0] == "dalex"
    return _call(verb, "explainer" if explains else "model, X, y")


def _call(verb: str, arguments: str) -> str:
    return f"Call uq.{verb}(uq.explain({arguments}))."


def _is_table(thing: Any) -> bool:
    return isinstance(thing, pd.DataFrame | pd.Series | np.ndarray) or hasattr(thing, "__arrow_c_stream__")
