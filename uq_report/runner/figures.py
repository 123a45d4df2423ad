"""Results become figures: the plugin for the result's id, else for its kind, draws it."""

from collections.abc import Iterable
from inspect import Parameter, signature
from typing import Any

from ..core.model.results import Result
from ..core.support.errors import InputError, UnsupportedError, meant
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
    drawn = figure or _figure_of(result, frozenset(deny))
    companions = drawn.companions if isinstance(drawn, TakesCompanions) else {}
    by_id = {other.id: other for other in others}
    keys = {argument: f"{result.explainer}.{part}" for argument, part in companions.items()}
    choice = {argument: by_id[key] for argument, key in keys.items() if key in by_id} | choice
    parameters = list(signature(drawn.draw).parameters.values())[1:]
    known = [parameter.name for parameter in parameters]
    wrong = next((name for name in choice if name not in known), None)
    if wrong is not None and all(parameter.kind is not Parameter.VAR_KEYWORD for parameter in parameters):
        raise _unknown(wrong, [name for name in known if name not in companions], result)
    return drawn.draw(result, **choice)


def _unknown(name: str, offered: list[str], result: Result) -> InputError:
    """Return the refusal of a choice that a figure has not, with those that it has and the values of the result."""
    values = {each: _values(result, each) for each in offered}
    listed = "; ".join(f"{each}{f' ({words})' if words else ''}" for each, words in values.items()) or "none"
    must = f"plot.{name} must be a choice of the figure of {result.id!r}; it is not."
    return InputError(f"{must}{meant(name, offered)} Choices: {listed}.")


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
