"""The contract of figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from ..core.support.errors import InputError
from ..document.plots.registered import FigurePlugin
from ..runner import plugins
from ..runner.figures import draw_with
from .contract import require, require_declared
from .known import known_runs


def figure_checks() -> tuple[Callable[[type[FigurePlugin]], None], ...]:
    """Return every check of a figure class."""
    return (check_figure_declares_itself, check_figure_draws_its_results, check_figure_leaves_pyplot_alone)


def check_figure_declares_itself(cls: type[FigurePlugin]) -> None:
    """Require the members of the contract."""
    require_declared(plugins.FIGURES, cls)


def check_figure_draws_its_results(cls: type[FigurePlugin]) -> None:
    """Require figures of the results with its id or of its kind, alone and beside others; what is empty is refused."""
    figures = list(_figures(cls))
    require(bool(figures), cls, "must be named after the id or the kind of results that an installed explainer gives")
    for figure in figures:
        require(isinstance(figure, Figure), cls, f"must return a matplotlib Figure; got {figure!r}")


def check_figure_leaves_pyplot_alone(cls: type[FigurePlugin]) -> None:
    """Require that drawing opens no figure of pyplot and changes no setting of matplotlib."""
    before = plt.get_fignums(), dict(mpl.rcParams)
    for _ in _figures(cls):
        after = plt.get_fignums(), dict(mpl.rcParams)
        require(after == before, cls, "must not open figures of pyplot or change rcParams: make a matplotlib Figure")


def _figures(cls: type[FigurePlugin]) -> Iterator[Figure]:
    """Yield the figures of runs of known truth: of each result alone, and beside those of the same explainer."""
    others_draw = {plugin.name for plugin in plugins.find(plugins.FIGURES)}
    for run in known_runs():
        for result in run.results:
            if cls.name == result.id or (cls.name == result.kind and result.id not in others_draw):
                siblings = [other for other in run.results if other.explainer == result.explainer]
                with suppress(InputError):  # a result without values may be refused
                    yield draw_with(cls(), result)
                    yield draw_with(cls(), result, siblings)
