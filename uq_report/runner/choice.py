"""Which adapter speaks for a model: the closest match, or the one the user names."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ..core.adapter import Adapter, Match, Unpacks
from ..core.errors import InputError, PluginError
from . import plugins

_log = logging.getLogger(__name__)
A = TypeVar("A", bound=Adapter)


def choose_adapter(model: Any, wanted: str | Adapter | None = None, deny: Sequence[str] = ()) -> tuple[Adapter, str]:
    """Return the adapter for a model, and why it was chosen.

    Parameters
    ----------
    model : object
    wanted : str or Adapter, optional
        A registered name or an adapter, which then decides. By default the closest match does.
    deny : sequence of str
        Plugins or distributions not to import.

    Raises
    ------
    InputError
        If no adapter matches, or two match equally well; the message lists them.
    """
    if isinstance(wanted, str):
        found = plugins.find(plugins.ADAPTERS, deny)
        adapter: Adapter = plugins.load(plugins.named(found, wanted, "adapter"))()
        return adapter, "named by the user"
    if wanted is not None:
        if isinstance(wanted, type) or not isinstance(wanted, Adapter):
            raise InputError(
                f"adapter must be a registered name or an Adapter object; got {wanted!r}. "
                "It needs name, api_version, matches, predict and batch_rows."
            )
        return wanted, "given by the user"
    adapters = _all_adapters(deny)
    matches = [(match, one) for one in adapters if (match := one.matches(model)) is not None]
    if not matches:
        raise InputError(_none_matches(model, adapters))
    return _closest(model, matches)


def unpack(model: Any, deny: Sequence[str] = ()) -> Mapping[str, Any] | None:
    """Return the arguments of `uq_report.explain` that an object such as a `dalex.Explainer` brings, or None."""
    openers = [one for one in _all_adapters(deny) if isinstance(one, Unpacks)]
    matches = [(match, one) for one in openers if (match := one.matches(model)) is not None]
    return _closest(model, matches)[0].unpack(model) if matches else None


def _closest(model: Any, matches: list[tuple[Match, A]]) -> tuple[A, str]:
    best = min(match.distance for match, _ in matches)
    closest = [(match, one) for match, one in matches if match.distance == best]
    if len(closest) > 1:
        tied = " and ".join(f"{one.name!r} ({match.reason})" for match, one in closest)
        raise InputError(
            f"model must have one closest adapter; {_name(model)} matches {tied} equally well. "
            "Choose one with the argument adapter."
        )
    match, adapter = closest[0]
    return adapter, match.reason


def _all_adapters(deny: Sequence[str]) -> list[Adapter]:
    """Return every adapter that can be imported; a broken one is logged, and named by `plugins` in the report."""
    adapters = []
    for plugin in plugins.find(plugins.ADAPTERS, deny):
        try:
            adapters.append(plugins.load(plugin)())
        except PluginError as error:
            _log.warning("%s", error)
    return adapters


def _none_matches(model: Any, adapters: list[Adapter]) -> str:
    if isinstance(model, type):
        return f"model must be a fitted model; got the class {model.__name__} itself. Make an object of it and fit it."
    needs = "\n".join(f"  {one.name}: {(inspect.getdoc(type(one)) or '').partition(chr(10))[0]}" for one in adapters)
    return (
        f"model must be of a family an adapter knows; got {_name(model)}. Give a function of the rows that returns "
        f"a distribution, or an adapter of your own. The registered families:\n{needs}"
    )


def _name(model: Any) -> str:
    return f"{type(model).__module__}.{type(model).__qualname__}"
