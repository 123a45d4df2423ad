"""Results become figures: the plugin for the result's id, else for its kind, draws it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..core.model.results import Result
from ..core.support.errors import UnsupportedError
from ..document.plots.registered import FigurePlugin, TakesCompanions
from . import plugins

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(result: Result, *, others: Iterable[Result] = (), deny: Iterable[str] = (), **choice: Any) -> Figure:
    """Draw one result; `choice` is what its figure takes (``measure=``, ``feature=``, ``row=`` ...).

    Parameters
    ----------
    result : Result
    others : iterable of Result
        A figure may take companions from them: a profile its own values and distributions.
    deny : iterable of str
        Plugins and distributions that must not be imported.

    Raises
    ------
    InputError
        If the choice names a measure, feature or row that the result does not hold.
    UnsupportedError
        If nothing is drawn for this result or its kind.
    """
    return draw_with(_figure_of(result, frozenset(deny)), result, others, **choice)


def draw_with(figure: FigurePlugin, result: Result, others: Iterable[Result] = (), **choice: Any) -> Figure:
    """Draw one result by a figure, which takes the companions it names from `others`."""
    if isinstance(figure, TakesCompanions):
        by_id = {other.id: other for other in others}
        keys = {argument: f"{result.explainer}.{part}" for argument, part in figure.companions.items()}
        choice = {argument: by_id[key] for argument, key in keys.items() if key in by_id} | choice
    return figure.draw(result, **choice)


def _figure_of(result: Result, deny: frozenset[str]) -> FigurePlugin:
    registered = {plugin.name: plugin for plugin in plugins.find(plugins.FIGURES, deny)}
    plugin = registered.get(result.id) or registered.get(result.kind)
    if plugin is None:
        raise UnsupportedError(f"figures.draw must get one of {sorted(registered)}; got {result.id!r}, {result.kind}.")
    figure: FigurePlugin = plugins.load(plugin)()
    return figure
