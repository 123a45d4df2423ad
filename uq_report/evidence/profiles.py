"""Views of curves and surfaces of a measure along features, and of interactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar

from . import ids
from .view import UNKNOWN, EstimateLine, View


class PointLine(EstimateLine):
    """A point of an average curve: `x`, or a category's `level` at its order `x`."""

    x: float = UNKNOWN
    level: str = ""
    feature_2: str = ""
    x_2: float = UNKNOWN
    level_2: str = ""


class Pdp(View):
    """Partial dependence and ICE."""

    id: ClassVar[str] = ids.PDP
    lines: tuple[PointLine, ...]


class PdpOwn(View):
    """The single rows' own values beside their ICE curves."""

    id: ClassVar[str] = ids.PDP_OWN
    row_class: Mapping[str, str] = field(default_factory=dict)


class PdpDistribution(View):
    """Histograms of the features beside their profiles."""

    id: ClassVar[str] = ids.PDP_DISTRIBUTION
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)


class AleLine(PointLine):
    """A point of a curve of accumulated local effects; `std_error_change` is that of the change since the first."""

    std_error_change: float = UNKNOWN


class Ale(View):
    """Accumulated local effects."""

    id: ClassVar[str] = ids.ALE
    lines: tuple[AleLine, ...]


class DalexProfile(View):
    """dalex's profiles; `mean` is the mean of each measure."""

    id: ClassVar[str] = ids.DALEX_PROFILE
    lines: tuple[PointLine, ...]
    mean: Mapping[str, float] = field(default_factory=dict)


class HLine(EstimateLine):
    """H² of a pair or of one feature with all others; `strength` is the unnormalised numerator's root."""

    feature_2: str
    strength: float
    joint_sd: float
    ranked: bool


class HStatisticView(View):
    """Friedman's H-statistic."""

    id: ClassVar[str] = ids.H_STATISTIC
    lines: tuple[HLine, ...]
