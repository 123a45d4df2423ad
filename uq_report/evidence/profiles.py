"""Views of curves and surfaces of a measure along features, and of interactions."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from . import ids
from .view import UNKNOWN, EstimateLine, View


class PointLine(EstimateLine):
    """A point of an average curve: `x`, or a category's `level` at its order `x`."""

    x: float = UNKNOWN
    level: str = ""
    feature_2: str = ""
    x_2: float = UNKNOWN
    level_2: str = ""


class Pdp(View[PointLine], id=ids.PDP):
    """Partial dependence and ICE."""


class PdpOwn(View[EstimateLine], id=ids.PDP_OWN):
    """The single rows' own values beside their ICE curves."""

    row_class: Mapping[str, str] = field(default_factory=dict)


class PdpDistribution(View[EstimateLine], id=ids.PDP_DISTRIBUTION):
    """Histograms of the features beside their profiles."""

    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)


class AleLine(PointLine):
    """A point of a curve of accumulated local effects; `std_error_change` is that of the change since the first."""

    std_error_change: float = UNKNOWN


class Ale(View[AleLine], id=ids.ALE):
    """Accumulated local effects."""


class DalexProfile(View[PointLine], id=ids.DALEX_PROFILE):
    """dalex's profiles; `mean` is the mean of each measure."""

    mean: Mapping[str, float] = field(default_factory=dict)


class HLine(EstimateLine):
    """H² of a pair or of one feature with all others; `strength` is the unnormalised numerator's root."""

    feature_2: str
    strength: float
    joint_sd: float
    ranked: bool


class HStatisticView(View[HLine], id=ids.H_STATISTIC):
    """Friedman's H-statistic."""
