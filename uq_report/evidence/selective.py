"""Views of selective prediction: how the loss falls when the most uncertain observations are referred to a person."""

from math import isnan

from ..core.statistics.verdicts import SampleSize, beyond
from . import ids
from .information import ItemLine
from .view import UNKNOWN, View

# items of `SelectiveView`
FAILURE_AUROC, NORMALISED_GAIN = "failure_auroc", "normalised_gain"
GAIN, IMPLIED_GAIN, LOSS, IMPLIED_LOSS = "gain", "implied_gain", "loss", "implied_loss"
REFERRAL_RATE, KEPT_LOSS = "referral_rate", "kept_loss"  # measures of `SelectiveGroups`
KEPT = 0.9  # share kept in sentences


class SelectiveLine(ItemLine):
    """A number of all observations: how well the uncertainty orders the losses, or a loss."""

    unit: str
    p_value: float = UNKNOWN
    lower_90: float = UNKNOWN
    upper_90: float = UNKNOWN


class SelectiveView(View[SelectiveLine], id=ids.SELECTIVE):
    """How well the uncertainty orders the losses of `n` observations, `errors` of which have a loss above 0.

    `uncertainty` and `loss` name what is ordered by, and what of; `classes` says whether the loss is 0 or 1.
    """

    n: int
    errors: int
    classes: bool
    uncertainty: str
    loss: str

    def line(self, item: str) -> SelectiveLine | None:
        """Return the line of an item; None where it could not be computed."""
        return next((x for x in self.lines if x.item == item and not isnan(x.estimate)), None)

    @property
    def number(self) -> SelectiveLine | None:
        """The one number: the AUROC of failures of classes, the normalised gain of numbers."""
        return self.line(FAILURE_AUROC if self.classes else NORMALISED_GAIN)

    @property
    def gain(self) -> SelectiveLine | None:
        """The gain in rank form over a random order."""
        return self.line(GAIN)

    @property
    def implied_gain(self) -> float:
        """The gain that the model's own distributions imply; NaN where they give no expected loss."""
        line = self.line(IMPLIED_GAIN)
        return UNKNOWN if line is None else line.estimate

    @property
    def implied_share(self) -> float:
        """The implied gain as a share of the largest that the implied loss allows, 0 for a constant uncertainty."""
        line = self.line(IMPLIED_LOSS)
        return UNKNOWN if line is None or not line.estimate > 0 else self.implied_gain / (line.estimate / 2)

    @property
    def power(self) -> float:
        """The implied gain in standard errors of the gain."""
        return UNKNOWN if self.gain is None or not self.gain.std_error > 0 else self.implied_gain / self.gain.std_error

    @property
    def size(self) -> SampleSize | None:
        """The observations that show a gain as large as the implied one; None where there is no error or gain."""
        error = UNKNOWN if self.gain is None else self.gain.std_error
        return beyond(self.n, error, self.implied_gain, "the gain is as the model implies", confidence=0.9)


class RiskLine(ItemLine):
    """The loss of the share `x` of least uncertain observations, `kept` in number, and what the others hold.

    `threshold` is the largest uncertainty kept. The band holds at all points from one half on at once. `implied` is
    the loss that the model expects of these observations, `oracle` that of the best order. `saved` is the loss of all
    less that of the kept, `captured` the share of all loss that is referred, `width` the mean width of the central
    90% CI of the kept, NaN of classes.
    """

    x: float
    kept: float
    threshold: float
    band_lower: float
    band_upper: float
    implied: float
    oracle: float
    saved: float
    saved_lower: float
    saved_upper: float
    captured: float
    captured_lower: float
    captured_upper: float
    width: float


class RiskCoverageView(View[RiskLine], id=ids.SELECTIVE_CURVE):
    """The risk-coverage curve: the loss of the kept observations by their share."""

    loss: str = ""
    unit: str = ""

    def at(self, kept: float = KEPT) -> RiskLine | None:
        """Return the line at a share kept; None where there are too few observations for it."""
        return next((line for line in self.lines if abs(line.x - kept) < 1e-9), None)


class ReferralLine(ItemLine):
    """A group (`item`) of an attribute (`feature`): its referral rate, or the loss of its kept observations."""

    n: int
    unit: str


class SelectiveGroups(View[ReferralLine], id=ids.SELECTIVE_GROUPS):
    """Referral by protected group at the threshold that keeps the share `kept` of all observations."""

    kept: float = KEPT
    n_min: int = 0
