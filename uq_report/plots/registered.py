"""The built-in figures as they are registered: by the id of the results they draw, or by their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from matplotlib.figure import Figure

from ..core import results as kinds
from ..core.results import Result
from ..evidence import columns as col
from ..evidence import ids
from . import (
    attribution,
    calibration,
    claims,
    covered,
    diagnostic,
    graph,
    importance,
    interaction,
    joint,
    profile,
    redundancy,
    surface,
)
from .contract import FigurePlugin


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


def _figure(name: str, draw: Callable[..., Figure]) -> type[FigurePlugin]:
    """Return the plugin that draws results of this id or kind by `draw`."""
    words = {"__doc__": draw.__doc__, "__module__": __name__, "name": name, "api_version": 1}
    return type("RegisteredFigure", (), {**words, "draw": staticmethod(draw)})


ReliabilityFigure = _figure(ids.CALIBRATION_RELIABILITY, calibration.draw_reliability)
CoverageFigure = _figure(ids.CALIBRATION_COVERAGE, calibration.draw_coverage)
PitFigure = _figure(ids.CALIBRATION_PIT, calibration.draw_pit)
ClaimsFigure = _figure(ids.PFI_CLAIMS, claims.draw)
CoverFigure = _figure(ids.CID, covered.draw)
GraphFigure = _figure(ids.CID_GRAPH, graph.draw)
CorrectedFigure = _figure(ids.COVER, covered.draw_corrected)
RedundancyFigure = _figure(ids.REDUNDANCY, redundancy.draw)
JointFigure = _figure(ids.REDUNDANCY_JOINT, joint.draw)
ImportanceFigure = _figure(kinds.Importance.kind, importance.draw)
InteractionFigure = _figure(kinds.Interaction.kind, interaction.draw)
AttributionFigure = _figure(kinds.Attribution.kind, attribution.draw)
DiagnosticFigure = _figure(kinds.Diagnostic.kind, diagnostic.draw)
