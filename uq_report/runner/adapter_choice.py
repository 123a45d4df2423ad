"""Which adapter speaks for a model: the closest match, or the one the user names."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from ..core.model.adapter import Adapter, Advice, Advises, Combines, PicksOutput, Unpacks
from ..core.model.subject import Subject
from ..core.support.arrays import take_rows
from ..core.support.errors import InputError, PluginError, UQReportError, to_type
from ..core.validation.lifetimes import are_lifetimes
from ..core.validation.multioutput import Output, listed, output_column, output_names, output_position, whole
from ..core.validation.residuals import Residuals
from . import plugins

RESIDUALS = "residuals"  # the adapter that lays a distribution over point predictions
_log = logging.getLogger(__name__)
A = TypeVar("A", bound=Adapter)
_EXPLAIN = "uq.explain(model, X, y)"
_NOTHING = Advice(
    9,
    "has no method that uq_report knows",
    "def f(X):\n    return uq.dist.Normal(mean(X), std(X))  # or another of uq.dist, one a row\n\nuq.explain(f, X, y)",
)


def choose_adapter(model: Any, adapter: str | Adapter | None = None, deny: Sequence[str] = ()) -> tuple[Adapter, str]:
    """Return the adapter for a model, and why it was chosen.

    Parameters
    ----------
    model : object
    adapter : str or Adapter, optional
        A registered name or an adapter, which then decides. By default the closest match does.
    deny : sequence of str
        Plugins or distributions not to import.

    Raises
    ------
    InputError
        If no adapter matches, or two match equally well; the message lists them.
    """
    if isinstance(adapter, str):
        registered = plugins.find(plugins.ADAPTERS, deny)
        named: Adapter = plugins.load(plugins.named(registered, adapter, "adapter"))()
        return _combining(named, model, deny), "named by the user"
    if adapter is not None:
        if isinstance(adapter, type) or not isinstance(adapter, Adapter):
            raise InputError(
                f"adapter must be a registered name or an Adapter object; got {adapter!r}. "
                "It needs name, api_version, matches, predict and batch_rows."
            )
        return adapter, "given by the user"
    if isinstance(model, type):
        raise InputError(
            f"model must be a fitted model; got the class {model.__name__} itself. Make an object of it and fit it."
        )
    adapters = _all_adapters(deny)
    closest = _closest(model, adapters)
    if closest is None:
        best = _best(model, adapters)
        got = f"{_name(model)}, which {best.lacks}"
        raise InputError(f"model must give a distribution of the target for every row; got {got}. {to_type(best.code)}")
    return _combining(closest[0], model, deny), closest[1]


def _combining(adapter: Adapter, model: Any, deny: Sequence[str]) -> Adapter:
    """Return the adapter, with one for each model where it reads several."""
    if not isinstance(adapter, Combines):
        return adapter
    chosen = []
    for position, part in enumerate(adapter.parts(model)):
        try:
            chosen.append(choose_adapter(part, None, deny)[0])
        except InputError as error:
            raise InputError(f"model[{position}]: {error}") from error
    return adapter.combining(chosen)


def lay_over(subject: Subject, residuals: str | Residuals, deny: Sequence[str] = ()) -> Subject:
    """Return the subject with a distribution from residuals laid over its model's predictions, by its adapter.

    A distribution that the model has by itself is not used, and the assumption says so.

    Raises
    ------
    InputError
        If there are no rows to take residuals from, or the model is no regressor.
    """
    adapter: Any = subject.adapter
    return cast("Subject", adapter.laid_over(subject, Residuals.of(residuals), _own(subject, deny)))


def _own(subject: Subject, deny: Sequence[str]) -> str:
    """Return the name of the adapter that reads a distribution from the model itself; empty if none can."""
    try:
        closest = _closest(subject.model, _all_adapters(deny))
        if closest is not None:
            closest[0].predict(subject.model, take_rows(subject.X, np.arange(1)))
            return str(closest[0].name)
    except (UQReportError, AttributeError, TypeError, ValueError):
        pass  # it gives numbers, no distribution
    return ""


def unpack(model: Any, deny: Sequence[str] = ()) -> Mapping[str, Any] | None:
    """Return the arguments of `uq_report.explain` that an explainer of another library brings, or None."""
    closest = _closest(model, [adapter for adapter in _all_adapters(deny) if isinstance(adapter, Unpacks)])
    return None if closest is None else closest[0].unpack(model)


def output_picker(model: Any, deny: Sequence[str] = ()) -> PicksOutput | None:
    """Return the adapter that takes the outputs of a model of several apart; None if none does."""
    closest = _closest(model, [adapter for adapter in _all_adapters(deny) if isinstance(adapter, PicksOutput)])
    return None if closest is None else closest[0]


def _closest(model: Any, adapters: Iterable[A]) -> tuple[A, str] | None:
    """Return the adapter that matches a model most closely, and why it does; None if none does, as of a class."""
    if isinstance(model, type):
        return None
    matches = [(match, adapter) for adapter in adapters if (match := adapter.matches(model)) is not None]
    best = min((match.distance for match, _ in matches), default=0)
    closest = [(adapter, match.reason) for match, adapter in matches if match.distance == best]
    if len(closest) > 1:
        tied = " and ".join(f"{adapter.name!r} ({reason})" for adapter, reason in closest)
        raise InputError(
            f"model must have one closest adapter; {_name(model)} matches {tied} equally well. "
            "Choose one with the argument adapter."
        )
    return closest[0] if closest else None


def _all_adapters(deny: Sequence[str]) -> list[Adapter]:
    """Return every adapter that can be imported; a broken one is logged, and named by `plugins` in the report."""
    adapters = []
    for plugin in plugins.find(plugins.ADAPTERS, deny):
        try:
            adapters.append(plugins.load(plugin)())
        except PluginError as error:
            _log.warning("%s", error)
    return adapters


def _best(model: Any, adapters: list[Adapter]) -> Advice:
    """Return the closest advice on a model; on one of several outputs with its position."""
    advising = (adapter for adapter in adapters if isinstance(adapter, Advises))
    advice = [text for adapter in advising if (text := adapter.advise(model)) is not None]
    best = min(advice, key=lambda text: text.distance, default=_NOTHING)
    if not isinstance(model, Output):
        return best
    return best._replace(code=best.code.replace(_EXPLAIN[:-1], f"{_EXPLAIN[:-1]}, output={model.position}"))


def _name(model: Any) -> str:
    return f"{type(whole(model)).__module__}.{type(whole(model)).__qualname__}"


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
    model, adapters = _picked(arguments, 0, names, deny)[0]["model"], _all_adapters(deny)
    line = _EXPLAIN if _closest(model, adapters) is not None else _best(model, adapters).code
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
    picker = output_picker(model, deny)
    own["model"], remark = (Output(model, position), "") if picker is None else picker.output(model, position)
    named = names[position] if not names[position].isdigit() else f"output {position}"
    own.setdefault("label", f"{type(model).__name__}: {named}")
    note = f"Audited is {named}, one of the outputs that {type(model).__name__} predicts together."
    return own, f"{note} {remark}".strip()


def _train(train: Any, position: int, names: tuple[str, ...]) -> Any:
    """Return the training pair with one output's column; what is no pair is refused where all training rows are."""
    if not isinstance(train, tuple | list) or len(train) != 2 or train[1] is None:
        return train
    return train[0], output_column(train[1], position, len(names), "train y")
