"""Results become figures: the plugin for the result's id, else for its kind, draws it."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, signature
from typing import Any

from ..core.model.results import Result
from ..core.support.errors import InputError, UnsupportedError, nearest
from ..document.plots import style
from ..document.plots.registered import FigurePlugin, TakesCompanions
from ..evidence import columns as col
from . import plugins

SHOWN = 8  # values of a choice that a message lists


def draw(
    result: Result,
    *,
    others: Iterable[Result] = (),
    deny: Iterable[str] = (),
    figure: FigurePlugin | None = None,
    **choice: Any,
) -> style.Figure:
    """Draw one result; `choice` is what its figure takes (``measure=``, ``feature=``, ``row=`` ...).

    Parameters
    ----------
    result : Result
    others : iterable of Result
        A figure may take companions from them: a profile its own values and distributions.
    deny : iterable of str
        Plugins and distributions that must not be imported.
    figure : FigurePlugin, optional
        An object in place of the registered figure.

    Raises
    ------
    InputError
        If the choice names a measure, feature or row that the result does not hold.
    UnsupportedError
        If nothing is drawn for this result or its kind.
    """
    return draw_with(figure or _figure_of(result, frozenset(deny)), result, others, **choice)


def draw_with(figure: FigurePlugin, result: Result, others: Iterable[Result] = (), **choice: Any) -> style.Figure:
    """Draw one result by a figure, which takes the companions it names from `others`."""
    if isinstance(figure, TakesCompanions):
        by_id = {other.id: other for other in others}
        keys = {argument: f"{result.explainer}.{part}" for argument, part in figure.companions.items()}
        choice = {argument: by_id[key] for argument, key in keys.items() if key in by_id} | choice
    _refuse_unknown(figure, result, choice)
    return figure.draw(result, **choice)


def choices_of(figure: FigurePlugin) -> tuple[str, ...] | None:
    """Return the names of what a figure lets its caller choose; None where it takes any."""
    parameters = list(signature(figure.draw).parameters.values())[1:]
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return tuple(parameter.name for parameter in parameters)


def _refuse_unknown(figure: FigurePlugin, result: Result, choice: Iterable[str]) -> None:
    """Refuse a choice that the figure has not, with those that it has and the values of the result."""
    known = choices_of(figure)
    own = set(figure.companions) if isinstance(figure, TakesCompanions) else set()
    wrong = [] if known is None else [name for name in choice if name not in known]
    if wrong and known is not None:
        offered = [name for name in known if name not in own]
        values = {name: _values(result, name) for name in offered}
        listed = "; ".join(f"{name}{f' ({words})' if words else ''}" for name, words in values.items()) or "none"
        hint = nearest(wrong[0], offered)
        hint = f" {hint}" if hint.startswith("Did you mean") else ""
        raise InputError(
            f"plot.{wrong[0]} must be a choice of the figure of {result.id!r}; it is not.{hint} Choices: {listed}."
        )


def _values(result: Result, name: str) -> str:
    """Return the values of a column that a choice picks from, the first of them."""
    if name not in (col.MEASURE, col.FEATURE, col.ROW):
        return ""
    values = [str(value) for value in dict.fromkeys(result.frame[name])] if name in result.frame else []
    return ", ".join(values[:SHOWN]) + (" ..." if len(values) > SHOWN else "")


def _figure_of(result: Result, deny: frozenset[str]) -> FigurePlugin:
    registered = {plugin.name: plugin for plugin in plugins.find(plugins.FIGURES, deny)}
    plugin = registered.get(result.id) or registered.get(result.kind)
    if plugin is None:
        raise UnsupportedError(f"figures.draw must get one of {sorted(registered)}; got {result.id!r}, {result.kind}.")
    figure: FigurePlugin = plugins.load(plugin)()
    return figure
