"""Which adapter speaks for a model: the closest match, or the one the user names."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from ..core.model.adapter import Adapter, Advice, Advises, Combines, PicksOutput, Unpacks
from ..core.model.subject import Subject
from ..core.support.arrays import take_rows
from ..core.support.errors import InputError, PluginError, UQReportError, to_type
from ..core.validation.multioutput import Output, whole
from ..core.validation.residuals import Residuals
from . import plugins

RESIDUALS = "residuals"  # the adapter that lays a distribution over point predictions
_log = logging.getLogger(__name__)
A = TypeVar("A", bound=Adapter)
_EXPLAIN = "uq.explain(model, X, y)"
_NOTHING = Advice(
    9,
    "has no method that uq_report knows",
    "def f(X):\n    return uq.Normal(mean(X), std(X))  # or another distribution: one per row\n\nuq.explain(f, X, y)",
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
    adapters = _all_adapters(deny)
    closest = _closest(model, adapters)
    if closest is None:
        raise InputError(_none_matches(model, adapters))
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
    """Return the subject with a distribution from residuals laid over its model's predictions.

    A distribution that the model has by itself is not used, and the assumption says so.

    Raises
    ------
    InputError
        If there are no rows to take residuals from, or the model is no regressor.
    """
    adapter: Any = choose_adapter(subject.model, RESIDUALS, deny)[0]
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
    """Return the adapter that matches a model most closely, and why it does; None if none does."""
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


def line_to_type(model: Any, deny: Sequence[str] = ()) -> str:
    """Return the lines that explain a model, with what it lacks where no adapter reads it as it is."""
    adapters = _all_adapters(deny)
    return _EXPLAIN if _closest(model, adapters) is not None else _best(model, adapters).code


def _none_matches(model: Any, adapters: list[Adapter]) -> str:
    """Say why no adapter reads `model`, and what to type for it."""
    if isinstance(model, type):
        return f"model must be a fitted model; got the class {model.__name__} itself. Make an object of it and fit it."
    best = _best(model, adapters)
    got = f"{_name(model)}, which {best.lacks}"
    return f"model must give a distribution of the target for every row; got {got}. {to_type(best.code)}"


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
