"""What draws a result: the contract of figures, entry-point group ``uq_report.figures``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from ...core.model.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@runtime_checkable
class FigurePlugin(Protocol):
    """Draws results of one id, or of one kind.

    Class variables
    ---------------
    name : the entry-point name: the id of the results it draws (``"method.part"``), or their kind (``"profile"``);
        an id comes before a kind
    """

    name: ClassVar[str]
    api_version: ClassVar[int]

    def draw(self, result: Result, **choice: Any) -> Figure:
        """Return a figure of the result's frames; `choice` is what a caller may pick (``measure=``, ``feature=``)."""


@runtime_checkable
class TakesCompanions(Protocol):
    """Optional: a figure that also takes other results of the same explainer, where they are there.

    ``companions`` maps an argument of `draw` to the end of their id: ``{"own": "own"}`` for a profile's ``.own``.
    """

    companions: ClassVar[Mapping[str, str]]


def figure_plugin(name: str, draw: Callable[..., Figure]) -> type[FigurePlugin]:
    """Return the plugin that draws results of this id or kind by `draw`."""
    words = {"__doc__": draw.__doc__, "__module__": draw.__module__, "name": name, "api_version": 1}
    return type("RegisteredFigure", (), {**words, "draw": staticmethod(draw)})
