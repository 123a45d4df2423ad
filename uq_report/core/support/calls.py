"""Calls as people type them: unknown names of arguments and attributes are answered with the name that is meant."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, isfunction, signature
from typing import Any, ParamSpec, TypeVar

from .errors import FOREIGN_NAMES, InputError, nearest

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=type)


def known_arguments(verb: Callable[P, R], who: str = "") -> Callable[P, R]:
    """Return a function that answers a call which does not fit its signature with the call that does.

    Examples
    --------
    >>> @known_arguments
    ... def explain(model, X=None): ...
    >>> explain(1, X_test=2)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: explain.X_test must be a known argument; got 'X_test'. Did you mean 'X'?
    """

    @wraps(verb)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except TypeError:
            check_call(who or verb.__name__, verb, *args, **kwargs)
            raise

    return checked


def check_call(who: str, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Refuse arguments that are unknown, missing, too many or given twice."""
    parameters = signature(verb).parameters
    known = [p.name for p in parameters.values() if p.name != "self" and p.kind is not Parameter.VAR_KEYWORD]
    if len(known) == len(parameters) - ("self" in parameters):
        for name in (key for key in kwargs if key not in known):
            hint = nearest(name, known) if known else "It takes none."
            raise InputError(f"{who}.{name} must be a known argument; got {name!r}. {hint}")
    try:
        signature(verb).bind(*args, **kwargs)
    except TypeError as error:
        by_name = [k for k, p in enumerate(parameters.values()) if p.kind is Parameter.KEYWORD_ONLY][:1]
        shown = (
            [*known[: by_name[0]], "*", *known[by_name[0] :]] if by_name and len(known) == len(parameters) else known
        )
        raise InputError(f"{who} must be called as {who}({', '.join(shown)}); got a call with {error}.") from None


def answering(cls: T) -> T:
    """Return a class whose public methods and attributes answer other names with the one that is meant."""
    for name, method in list(vars(cls).items()):
        if isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, known_arguments(method, cls.__name__ if name == "__init__" else name))
    cls.__getattr__ = no_attribute  # type: ignore[attr-defined]  # hidden from type checkers, who know the names
    return cls


def no_attribute(self: Any, name: str) -> Any:
    """Refuse an attribute that is not there, with the attribute or the key, as of ``run["pfi"]``, that is meant."""
    if name.startswith("_"):
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.")
    hidden = dir(dict) if isinstance(self, dict) else ()
    own = [each for each in dir(self) if not each.startswith("_") and each not in hidden]
    hint = nearest(name, own)
    labels = [label for label, part in self.items() if hasattr(type(part), name)] if isinstance(self, dict) else []
    keys = self._known_keys if hasattr(type(self), "_known_keys") else ()
    meant = [each for each in (name, *FOREIGN_NAMES.get(name, ())) if each in (*own, *keys)]
    if labels or (meant and meant[0] in keys):
        hint = f"Use brackets: [{(labels or meant)[0]!r}]{f'.{name}' * bool(labels)}."
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}. {hint}")
