"""The view of the predictions against simple references: outcome rate, majority class, training sample, net benefit."""

from typing import Any

from . import ids
from .information import ItemLine
from .view import UNKNOWN, View, by_key

IN_THE_LARGE, ACCURACY_GAIN, TRAINING_GAP = "calibration_in_the_large", "accuracy_gain", "training_gap"
NET_BENEFIT, NET_BENEFIT_GAIN, EXPECTED_COST = "net_benefit", "net_benefit_gain", "expected_cost"
LEVEL_COST = 0.05
RESIDUAL, ERROR_SIZE = "mean residual", "root mean squared error"


class ComparisonLine(ItemLine):
    """A difference, `value` less `reference`, over `n` observations; `of` names the class or score it is about."""

    value: float
    reference: float
    n: int
    unit: str
    of: str = ""
    p_value: float = UNKNOWN


class Comparisons(View[ComparisonLine], id=ids.CALIBRATION_COMPARISONS):
    """The predictions against simple references; `threshold` is that of the net benefit, None without one.

    `ideal` is the threshold that the owner's costs imply.

    `train_rows` of `train_of` training observations give the training score.
    """

    threshold: float | None = None
    ideal: float | None = None
    train_rows: int = 0
    train_of: int = 0

    def line(self, item: str) -> ComparisonLine | None:
        """Return the line of an item; None where it could not be compared."""
        return next((line for line in self.lines if line.item == item), None)

    @property
    def wrong_level(self) -> ComparisonLine | None:
        """The class whose mean probability is furthest off, if that surely costs `LEVEL_COST` nats; else None.

        A mean that is off by d standard deviations costs d²/2 nats.
        """
        lines = [line for line in self.lines if line.item == IN_THE_LARGE and line.lower * line.upper > 0]
        line = max(lines, key=lambda line: abs(line.estimate), default=None)
        if line is None or not 0 < line.value < 1:
            return None
        surely = min(abs(line.lower), abs(line.upper))
        return line if surely**2 / (2 * line.value * (1 - line.value)) >= LEVEL_COST else None


class RocLine(ItemLine):
    """The true-positive rate at the false-positive rate `x` of a threshold."""

    x: float
    threshold: float


class Roc(View[RocLine], id=ids.CALIBRATION_ROC):
    """The ROC curve of `event`; `decided` are the false- and the true-positive rate of the model's decisions."""

    event: str = ""
    decided: tuple[Any, ...] = ()


class BenefitLine(ItemLine):
    """The net benefit of deciding for the event from a probability of `x` on; `all` is that of treating all.

    `gain_lower` is the lower limit of their difference, at one threshold.
    """

    x: float
    all: float
    gain_lower: float = UNKNOWN
    band_lower: float = UNKNOWN
    band_upper: float = UNKNOWN


class NetBenefit(View[BenefitLine], id=ids.CALIBRATION_NET_BENEFIT):
    """Net benefit by threshold; `threshold` is that of the model, `ideal` that which the owner's costs imply."""

    event: str = ""
    threshold: float | None = None
    ideal: float | None = None


class BinnedResidual(ItemLine):
    """The mean residual, or the root mean squared error, of `n` observations with predictions, or a feature, near `x`.

    `p_adjusted` is that of equal mean residuals in all quantile groups of the feature.
    """

    x: float
    n: int
    implied: float = UNKNOWN
    p_adjusted: float = UNKNOWN


class PredictionResiduals(View[BinnedResidual], id=ids.CALIBRATION_RESIDUALS):
    """Residuals by quantile of the prediction; the frame has those of single observations."""

    def of(self, item: str) -> tuple[BinnedResidual, ...]:
        """Return the lines of an item, by prediction."""
        return tuple(line for line in self.lines if line.item == item and not line.feature)

    def by_feature(self) -> dict[str, list[BinnedResidual]]:
        """Return the mean residuals by feature, that with the strongest pattern first."""
        return by_key((line.feature, line) for line in self.lines if line.feature)


class ThresholdLine(ItemLine):
    """A finding whose severity changes from `before` to `after` where a threshold (`item`) is `factor` times itself.

    The estimate is the changed threshold; `recommendation` is the one that follows.
    """

    stated: float
    factor: float
    code: str
    about: str
    before: str
    after: str
    recommendation: str


class SensitivityView(View[ThresholdLine], id=ids.SENSITIVITY):
    """Findings that change with a threshold, of `varied` thresholds; `recommendation` is that of the run."""

    varied: int = 0
    recommendation: str = ""
