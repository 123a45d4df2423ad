"""The built-in figures as they are registered: by the id of the results they draw, or by their kind."""

from __future__ import annotations

from collections.abc import Mapping
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


class _Version:
    """What all of them have in common."""

    api_version: ClassVar[int] = 1


class ReliabilityFigure(_Version):
    """Observed frequency against predicted probability."""

    name: ClassVar[str] = ids.CALIBRATION_RELIABILITY
    draw = staticmethod(calibration.draw_reliability)


class CoverageFigure(_Version):
    """Observed coverage against nominal level."""

    name: ClassVar[str] = ids.CALIBRATION_COVERAGE
    draw = staticmethod(calibration.draw_coverage)


class PitFigure(_Version):
    """Histogram of the probability integral transform."""

    name: ClassVar[str] = ids.CALIBRATION_PIT
    draw = staticmethod(calibration.draw_pit)


class ClaimsFigure(_Version):
    """Claimed against delivered importance."""

    name: ClassVar[str] = ids.PFI_CLAIMS
    draw = staticmethod(claims.draw)


class CoverFigure(_Version):
    """What each feature says about y, and how much of it others repeat."""

    name: ClassVar[str] = ids.CID
    draw = staticmethod(covered.draw)


class GraphFigure(_Version):
    """The fitted field as a graph."""

    name: ClassVar[str] = ids.CID_GRAPH
    draw = staticmethod(graph.draw)


class RedundancyFigure(_Version):
    """How well each feature is predicted by the others."""

    name: ClassVar[str] = ids.REDUNDANCY
    draw = staticmethod(redundancy.draw)


class JointFigure(_Version):
    """A feature and its partner before and after a shuffle."""

    name: ClassVar[str] = ids.REDUNDANCY_JOINT
    draw = staticmethod(joint.draw)


class ImportanceFigure(_Version):
    """A dot and its interval per feature, a panel per measure."""

    name: ClassVar[str] = kinds.Importance.kind
    draw = staticmethod(importance.draw)


class InteractionFigure(_Version):
    """A dot per pair of features."""

    name: ClassVar[str] = kinds.Interaction.kind
    draw = staticmethod(interaction.draw)


class AttributionFigure(_Version):
    """A row's measure, feature by feature."""

    name: ClassVar[str] = kinds.Attribution.kind
    draw = staticmethod(attribution.draw)


class DiagnosticFigure(_Version):
    """Values along x, or by item."""

    name: ClassVar[str] = kinds.Diagnostic.kind
    draw = staticmethod(diagnostic.draw)


class ProfileFigure(_Version):
    """Curves along a feature with the single rows, or a surface along two."""

    name: ClassVar[str] = kinds.Profile.kind
    companions: ClassVar[Mapping[str, str]] = {"own": "own", "distribution": "distribution"}

    def draw(self, result: Result, **choice: Any) -> Figure:
        """Draw curves, or surfaces where the result has pairs."""
        if not (result.frame[col.FEATURE_2].astype(str) != "").any():
            return profile.draw(result, **choice)
        return surface.draw(result, **{key: value for key, value in choice.items() if key not in self.companions})
