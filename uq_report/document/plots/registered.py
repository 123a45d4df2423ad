"""The figures of whole kinds of results, as they are registered; a method registers its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...core.model import results as kinds
from ...core.model.results import Result
from ...evidence import columns as col
from . import attribution, diagnostic, importance, profile, surface
from .contract import figure_plugin

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ProfileFigure:
    """Curves along a feature with the single rows, or a surface along two."""

    name: ClassVar[str] = kinds.Profile.kind
    api_version: ClassVar[int] = 1
    companions: ClassVar[Mapping[str, str]] = {"own": "own", "distribution": "distribution"}

    def draw(self, result: Result, **choice: Any) -> Figure:
        """Draw curves, or surfaces where the result has pairs."""
        if not (result.frame[col.FEATURE_2].astype(str) != "").any():
            return profile.draw(result, **choice)
        return surface.draw(result, **{key: value for key, value in choice.items() if key not in self.companions})


ImportanceFigure = figure_plugin(kinds.Importance.kind, importance.draw)
InteractionFigure = figure_plugin(kinds.Interaction.kind, importance.draw_pairs)
AttributionFigure = figure_plugin(kinds.Attribution.kind, attribution.draw)
DiagnosticFigure = figure_plugin(kinds.Diagnostic.kind, diagnostic.draw)
