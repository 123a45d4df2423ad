"""Views of calibration, scores and groups: what is read against what happened."""

from collections.abc import Mapping
from dataclasses import field
from math import inf
from typing import Any, ClassVar

import numpy as np

from ..core.statistics.verdicts import SampleSize, equivalence, within
from ..core.support.numbers import number
from . import columns as col, ids
from .information import ItemLine
from .run import Run
from .view import UNKNOWN, View

LOG_SCORE, SHARPNESS, CONFIDENCE_GAP = "log_score", "sharpness_entropy", "confidence_gap"
LOG_SCORE_SKILL = f"{LOG_SCORE}_skill"
SHAPE_GAIN, ROW_GAIN = "recalibration_gain", "recalibration_gain_by_segment"
# items of `Calibration` that judge the uncertainty, beside those that begin with "sharpness"
OF_UNCERTAINTY = (
    CONFIDENCE_GAP, SHAPE_GAIN, ROW_GAIN, "ece", "pit_distance", "coverage_gap", "smooth_statistic", "miscoverage",
)  # fmt: skip


class ScoreLine(ItemLine):
    """A score or diagnostic with its test against outcomes drawn from the model's own distributions.

    `training` is the score of the training observations, a fixed number.
    """

    unit: str
    p_value: float = UNKNOWN
    p_adjusted: float = UNKNOWN
    null_mean: float = UNKNOWN
    lower_90: float = UNKNOWN
    upper_90: float = UNKNOWN
    training: float = UNKNOWN

    @property
    def is_skill(self) -> bool:
        """Whether it is a baseline's score less the model's."""
        return self.item.endswith("_skill")

    @property
    def judges_uncertainty(self) -> bool:
        """Whether it is about the uncertainty rather than the prediction."""
        return self.item in OF_UNCERTAINTY or self.item.startswith("sharpness")


class CalibrationView(View[ScoreLine], id=ids.CALIBRATION):
    """Scores, the confidence gap, and tests of calibration; of lifetimes also the events `seen` and `expected`.

    `units` are the observations, clusters or blocks; `blocks_cut` says that the autocorrelation asks for longer blocks
    than the sample has room for. `gain_features` are those by which a spread by segment gains more than a change of
    shape.
    `gap_variance` is the variance of the gap of one observation if outcomes follow the model.
    """

    family: str = ""
    n: int = 0
    infinite_nll: int = 0
    units: float = inf
    blocks_cut: bool = False
    gain_features: tuple[str, ...] = ()
    seen: int | None = None
    expected: float = UNKNOWN
    gap_variance: float = UNKNOWN

    def gap_size(self, tolerance: float) -> SampleSize | None:
        """Return the sample size that shows the gap of a calibrated model to lie within ±`tolerance` nats."""
        size = within(self.n, self.gap_variance, tolerance)
        if size is None:
            return None
        half = size._replace(needed=equivalence(self.gap_variance, tolerance, tolerance / 2)).rounded
        return size._replace(given=f"the model is calibrated, about {half:,} if the gap is half the tolerance")

    @property
    def events_words(self) -> str:
        """How many events there were and should have been; empty where outcomes are not censored."""
        return "" if self.seen is None else f"{self.seen} events came where it expects {number(self.expected, 2)}"

    def of(self, item: str) -> ScoreLine | None:
        """Return the line of a score; None where it is not there or has no number."""
        return next((line for line in self.lines if line.item == item and not np.isnan(line.estimate)), None)


def scores_of(run: Run) -> dict[str, float]:
    """Return the known scores of a run's calibration by name; none where it has none."""
    result = run.find(ids.CALIBRATION)
    if result is None or col.ITEM not in result.estimates:
        return {}
    table = result.estimates[result.estimates[col.ESTIMATE].notna()]
    return {str(item): float(value) for item, value in zip(table[col.ITEM], table[col.ESTIMATE], strict=True)}


class BinLine(ItemLine):
    """What was observed where `x` was expected, in `n` rows."""

    x: float
    n: int
    null_lower: float = UNKNOWN
    null_upper: float = UNKNOWN
    width: float = UNKNOWN


class Bins(View[BinLine]):
    """What was observed bin by bin; calibrated models give `x`, or 1 where the ideal is `flat`."""

    flat: ClassVar[bool] = False

    def ideal(self, line: BinLine) -> float:
        """Return what a calibrated model gives in a bin."""
        return 1.0 if self.flat else line.x


class Reliability(Bins, id=ids.CALIBRATION_RELIABILITY):
    """Observed frequency against predicted probability of `event`."""

    event: str = ""
    form: str = ""
    histogram: Mapping[str, Any] = field(default_factory=dict)


class Grades(Reliability, id=ids.CALIBRATION_GRADES):
    """Observed frequency against predicted probability in the owner's grades."""


class Pit(Bins, id=ids.CALIBRATION_PIT):
    """Histogram of the probability integral transform; `form` says which one."""

    flat: ClassVar[bool] = True
    form: str = ""


class Coverage(Bins, id=ids.CALIBRATION_COVERAGE):
    """Observed coverage of central intervals against their nominal level."""


class DecisionLine(ItemLine):
    """Recall or precision (`item`) of the class `label`, of the `n` rows of that class, or decided for it.

    `n_effective` independent rows would tell it as well as these do, with their weights and clusters.
    """

    label: str
    n: int
    n_effective: float


class Decisions(View[DecisionLine], id=ids.CALIBRATION_DECISIONS):
    """The classes that the model decides for by `rule` against those that came.

    ``counts`` has a row for each observed class and a column for each decided for; empty for many classes.
    """

    classes: tuple[Any, ...] = ()
    counts: tuple[Any, ...] = ()
    rule: str = ""

    def of_class(self, label: str) -> Mapping[str, DecisionLine]:
        """Return the lines of a class by their item."""
        return {line.item: line for line in self.lines if line.label == label}


class GroupLine(ItemLine):
    """A mean over the `n` rows of a group (`item`) of an attribute (`feature`)."""

    n: int
    unit: str
    p_value: float


class GroupsView(View[GroupLine], id=ids.GROUPS):
    """Means by group; groups of fewer than `n_min` rows are withheld."""

    attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    n_min: int = 0

    def levels(self, attribute: str) -> tuple[str, ...]:
        """Return the groups of an attribute in their order."""
        return tuple(self.attributes.get(attribute, {}).get("groups", ()))


class DifferenceLine(GroupLine):
    """A group's mean less that of the `n_rest` other rows; `overall` is the mean of all.

    `scale` is what its size is judged by: the outcome's standard deviation, the loss of all rows, or of a confidence
    gap the standard deviation of the loss that the model states for the group; NaN where the unit says it.
    """

    n_rest: int
    overall: float
    scale: float = UNKNOWN


class GroupsDifference(GroupsView, id=ids.GROUPS_DIFFERENCE):
    """Each group less the rest."""

    lines: tuple[DifferenceLine, ...]


class ProxyLine(ItemLine):
    """How well a feature, or all of them, tell the groups of an attribute apart; `n` rows, NaN if not counted."""

    n: float


class GroupsProxy(View[ProxyLine], id=ids.GROUPS_PROXY):
    """Features that stand for an attribute."""


class UseLine(GroupLine):
    """How far predictions change when the feature `by` is exchanged.

    Of a group (`item`) the contrast to the rest that is lost, of all rows the mean size of the change. `association`
    is that of `by` with the attribute, 1 of the attribute itself; `scale` the outcome's standard deviation.
    """

    by: str
    association: float
    scale: float


class GroupsUse(View[UseLine], id=ids.GROUPS_USE):
    """What of the contrasts of predictions goes through an attribute, or through a feature that tells it."""
