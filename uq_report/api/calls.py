"""Verbs take a subject, or a model with its data, which they explain first; anything else is answered with the call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from ..core.model.subject import Subject
from ..core.support.calls import check_call
from ..core.support.errors import FOREIGN_NAMES, InputError
from ..core.validation.cell_validation import shown
from ..evidence.run import Run
from .arguments import is_table
from .explaining import explain
from .several import ResultViews
from .views import AuditRun

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_OF_EXPLAIN = signature(explain).parameters.keys() - {"model", "X", "y"}
_OF_BOTH = frozenset({"seed", "deny"})  # of the subject, and of what a verb does with it
_OF_OPTIONS = frozenset({"max_rows"})  # an explainer's own limit
_OF_SUBJECT = ({"X", "y"} | _OF_EXPLAIN) - _OF_BOTH - _OF_OPTIONS


_ONE_BY_ONE = frozenset({"audit", "case", "dalex_explainer"})  # verbs that give no view


class Verb(Protocol[P, R_co]):
    """A verb, by its two calls: on a subject, or on a model with its data."""

    __name__: str

    @overload
    def __call__(self, subject: Subject, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(
        self, subjects: Mapping[str, Subject] | Sequence[Subject], /, *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...
    @overload
    def __call__(self, model: Any, X: Any, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, model: Any, X: Any, y: Any, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def on_subject(verb: Callable[Concatenate[Subject, P], R]) -> Verb[P, R]:
    """Return a verb that takes a subject, or a model or models by name with X, y and arguments of `explain`."""
    parameters = list(signature(verb).parameters.values())
    own = {parameter.name for parameter in parameters}
    name = verb.__name__

    @wraps(verb)
    def called(*args: Any, **kwargs: Any) -> R:
        given, *rest = args or (kwargs.pop("subject", kwargs.pop("model", None)),)
        _refuse_foreign(name, kwargs, own)
        if name not in _ONE_BY_ONE and _several(given):
            views: dict[str, Any] = {label: called(each, *rest, **kwargs) for label, each in _labelled(given)}
            of_each: Any = ResultViews(views)
            return of_each
        if _fits(name, given):
            _refuse_data(name, rest, kwargs, own)
            check_call(name, verb, given, *rest, **kwargs)
            return verb(given, *rest, **kwargs)
        data = [rest.pop(0)] if rest and is_table(rest[0]) else []
        has_data = type(given).__module__.partition(".")[0] == "dalex"  # an explainer of dalex brings its own
        if not data and not {"X", "data"} & kwargs.keys() and not has_data:
            allowed = "one subject, or champion and challenger" if name == "audit" else "a subject"
            raise InputError(f"{name}.subject must be {allowed}; got {_got(given)}. {_remedy(name, given)}")
        if data and rest and (rest[0] is None or _is_target(rest[0], data[0])):
            data.append(rest.pop(0))
        facts: dict[str, Any] = {key: kwargs.pop(key) for key in ("X", "y") if key in kwargs and key not in own}
        taken = {key for key in kwargs.keys() & _OF_EXPLAIN if key not in own and _is_fact(key, kwargs[key])}
        facts |= {key: kwargs[key] if key in _OF_BOTH else kwargs.pop(key) for key in taken}
        if isinstance(given, dict) and given and all(isinstance(label, str) for label in given):
            named = {label: explain(model, *data, **{**facts, "label": label}) for label, model in given.items()}
            return called(named, *rest, **kwargs)
        subject = explain(given, *data, **facts)
        check_call(name, verb, subject, *rest, **kwargs)
        return verb(subject, *rest, **kwargs)

    of_model = [Parameter(key, Parameter.POSITIONAL_OR_KEYWORD, default=None) for key in ("X", "y") if key not in own]
    first = parameters[0].replace(name="subject_or_model", annotation=Parameter.empty)
    vars(called)["__signature__"] = signature(verb).replace(parameters=_ordered([first, *of_model, *parameters[1:]]))
    result: Any = called
    return result


def _ordered(parameters: list[Parameter]) -> list[Parameter]:
    """Return parameters of which those behind X and y are given by keyword, for help and completion."""
    return [
        p.replace(kind=Parameter.KEYWORD_ONLY) if k > 2 and p.kind is Parameter.POSITIONAL_OR_KEYWORD else p
        for k, p in enumerate(parameters)
    ]


def _refuse_foreign(verb: str, kwargs: Iterable[str], own: set[str]) -> None:
    """Refuse names that other libraries have for data and facts of a subject, with ours."""
    for key in kwargs:
        meant = [name for name in FOREIGN_NAMES.get(key, ()) if name in {"X", "y"} | _OF_EXPLAIN | own]
        if meant and key not in own | _OF_EXPLAIN:
            raise InputError(f"{verb}.{key} must be a known argument; got {key!r}. Did you mean {meant[0]!r}?")


def _refuse_data(verb: str, rest: list[Any], kwargs: Mapping[str, Any], own: set[str]) -> None:
    """Refuse rows and facts of a subject beside a subject, which has its own."""
    beside = [key for key in kwargs if key in _OF_SUBJECT - own]
    beside = [key for key in beside if _is_fact(key, kwargs[key])]
    beside += ["X"] * (not beside and bool(rest) and is_table(rest[0]) and "row" not in own)
    if beside:
        fact = beside[0]
        call = f"uq.{verb}({f'uq.explain(model, X, y, {fact}=...)' if fact in _OF_EXPLAIN else 'subject'})"
        raise InputError(f"{verb}.{fact} must be left out where a subject is given: it has its own. Call {call}.")


def _is_fact(key: str, value: Any) -> bool:
    """Say whether a keyword is for `explain`: some explainers have options of the same name."""
    return key not in _OF_OPTIONS and not (key == "train" and isinstance(value, bool))


def _is_target(thing: Any, X: Any) -> bool:
    """Say whether a positional argument behind X is y, and no name of a feature or measure."""
    if isinstance(thing, str) or not hasattr(thing, "__len__"):
        return False
    return not isinstance(thing, list | tuple) or len(thing) == len(X) or not all(isinstance(k, str) for k in thing)


def _several(given: Any) -> bool:
    """Say whether several subjects were given, in a list or by name."""
    each = list(given.values()) if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else []
    return len(each) > 0 and all(isinstance(subject, Subject) for subject in each)


def _labelled(given: Any) -> list[tuple[str, Subject]]:
    """Return several subjects with their names, or labels, which must differ."""
    pairs = list(given.items()) if isinstance(given, Mapping) else [(subject.label, subject) for subject in given]
    if len(dict(pairs)) < len(pairs):
        raise InputError("subjects must have different labels; got one twice. Pass them by name: {'a': ..., 'b': ...}.")
    return pairs


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
        return f"Call uq.run({str(given)!r})." if str(given).endswith(".toml") else _call(verb)
    if isinstance(given, Mapping):
        return f"Call uq.{verb}({{name: uq.explain(model, X, y) for name, model in models.items()}})."
    if isinstance(given, list | tuple) and len(given) == 2 and verb == "audit":
        return "Call uq.audit([uq.explain(champion, X, y), uq.explain(challenger, X, y)])."
    if isinstance(given, list | tuple) and any(isinstance(each, Subject) for each in given):
        return f"Call uq.{verb} for each of them."
    return _call(verb)


def _call(verb: str) -> str:
    return f"Call uq.{verb}(model, X, y)."
