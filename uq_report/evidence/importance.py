"""Views of importances: by permutation, Shapley values, dalex and R-sens."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from ..core.model.results import Importance, MeasureFacts, Result
from . import ids
from .view import UNKNOWN, EstimateLine, View

INFINITE = float("inf")

POSITIVE, NEGATIVE, ABOUT_0, UNDETERMINED = "positive", "negative", "about 0", "undetermined"  # `PfiLine.verdict`
RSENS, RSENS2 = "rsens", "rsens2"  # measures of `RSens` and of its pairs
RAW = "raw"  # `RSens.ranked_by`: per unit of the feature


def directed(result: Result, facts: MeasureFacts) -> MeasureFacts:
    """Return the facts of a measure as rankings of this result read them.

    Importances of a measure whose smaller values are worse or less certain are ranked from below: losing the feature
    lowers it. Predictions, sizes (``meta["sizes"]``) and what is no importance have no direction.
    """
    changes = isinstance(result, Importance) and not result.meta.get("sizes")
    return facts if changes and facts.role != "prediction" else replace(facts, direction="larger")


class PfiLine(EstimateLine):
    """Permutation importance of one feature for one measure, with its verdict against ±`margin`.

    ``p_value`` is the exact one of the shuffles; ``spread_low`` and ``spread_high`` show the shuffles only.
    ``shuffling_error`` is the part of ``std_error`` that their choice has: 0 where all pairs of rows are known.
    ``unreliable`` says why the interval is not to be trusted; then the verdict is undetermined.
    """

    verdict: str
    margin: float
    p_value: float
    spread_low: float
    spread_high: float
    unpermuted: float
    n_needed: float
    exact_zero: bool
    remark: str
    unreliable: str = ""
    shuffling_error: float = UNKNOWN


class Pfi(View[PfiLine], id=ids.PFI):
    """Permutation importance on the audited rows."""

    degrees_of_freedom: float = INFINITE
    spread: str = ""


# `ReadingLine.item`: what permuting a feature does to the log loss and to the stated uncertainty
ALIKE, LESS, MORE = "both rise alike", "uncertainty rises less than the loss", "uncertainty rises more than the loss"
HIDDEN, OPEN_RISE = "loss rises, uncertainty does not", "loss rises, change of uncertainty inconclusive"
CONFIDENT, BETTER = "loss rises, model more confident", "loss falls"
HARMLESS, CAREFUL = "neither changes", "uncertainty rises, loss does not"
BOLD, INCONCLUSIVE = "model more confident, loss unchanged", "inconclusive"


class ReadingLine(EstimateLine):
    """The increase in log loss less that in `entropy`, the part that is not signalled; `item` reads both together."""

    item: str
    entropy: float = UNKNOWN


class PfiReading(View[ReadingLine], id=ids.PFI_READING):
    """Loss and entropy importance read together, feature by feature."""

    @property
    def readings(self) -> Mapping[str, str]:
        """The reading of each feature, in a few words."""
        return {line.feature: line.item for line in self.lines}


class CoverCorrectedLine(EstimateLine):
    """Importance with the partners lost too, beside that of the feature alone (`plain`) and of all together (`joint`).

    `change` is the corrected importance less the plain one, `margin` what matters; `partners` names them in their
    order, empty where nothing covers the feature: then all three are the same. ``unreliable`` is as of `PfiLine`.
    """

    verdict: str
    margin: float
    partners: str
    plain: float
    plain_lower: float
    plain_upper: float
    joint: float
    joint_lower: float
    joint_upper: float
    change: float
    change_std_error: float
    change_lower: float
    change_upper: float
    rank: int
    plain_rank: int
    exact_zero: bool
    unreliable: str = ""


class CoverCorrected(View[CoverCorrectedLine], id=ids.COVER):
    """Cover-corrected importance: `partners` names, feature by feature, what covers it."""

    partners: Mapping[str, Sequence[str]] = field(default_factory=dict)
    degrees_of_freedom: float = INFINITE


CLAIMED, DELIVERED, DIFFERENCE = "claimed", "delivered", "difference"  # `ClaimLine.item`
ALL_FEATURES = "all features"  # `ClaimLine.feature` of all of them together


class ClaimLine(EstimateLine):
    """What a feature claims, delivers, or the difference; a difference also has its test and the share delivered.

    ``unreliable`` says why the interval is not to be trusted.
    """

    item: str
    p_value: float = UNKNOWN
    share: float = UNKNOWN
    share_lower: float = UNKNOWN
    share_upper: float = UNKNOWN
    unreliable: str = ""


class Claims(View[ClaimLine], id=ids.PFI_CLAIMS):
    """Claimed and delivered importance; `margin` in the score's unit, `exact` whether p-values are."""

    margin: float = 0.0
    exact: bool = False

    def part(self, item: str) -> tuple[ClaimLine, ...]:
        """Return the lines of one item, a line a feature."""
        return tuple(line for line in self.lines if line.item == item)


UNIT = "unit"  # `UnitLine.item`, beside `DIFFERENCE` of two observations
CONSTANT, DIFFERS, OPEN = "constant", "differs", "open"  # verdicts on the difference between two observations
SHIFTED, WIDER = "mean change", "beyond the difference"  # `DriverLine.flag`


class DriverLine(EstimateLine):
    """How far permuting a feature changes the uncertainty on average, with its verdict against `margin`.

    `share` is the size over the average difference between two observations, `total` Jansen's index, `shift` the mean
    change, `changed` the share of pairs of rows in which anything changes, by `where_changed` on average. `flag` says
    why part of the size arises from combinations of values that do not occur; empty where nothing shows that. A part of
    the uncertainty is not `ranked`. ``unreliable`` says why the interval is not reliable; the verdict is then
    undetermined.
    """

    verdict: str
    margin: float
    share: float = UNKNOWN
    share_lower: float = UNKNOWN
    share_upper: float = UNKNOWN
    total: float = UNKNOWN
    total_lower: float = UNKNOWN
    total_upper: float = UNKNOWN
    shift: float = UNKNOWN
    shift_lower: float = UNKNOWN
    shift_upper: float = UNKNOWN
    changed: float = UNKNOWN
    where_changed: float = UNKNOWN
    flag: str = ""
    exact_zero: bool = False
    unreliable: str = ""
    ranked: bool = True


class UnitLine(DriverLine):
    """The size of a unit of features, or (`item`) the average difference between two observations.

    `first` and `last` are the ranks that the unit may have, `apart` counts its members that are larger alone, and
    `rare` says that it leads by mean squares and not by size: few pairs of rows change, and those by much.
    """

    item: str
    first: float = UNKNOWN
    last: float = UNKNOWN
    apart: float = 0.0
    rare: float = 0.0


class DriversView(View[UnitLine], id=ids.PFI_DRIVERS):
    """What drives the uncertainty: `units` has the members of sets that are permuted together."""

    units: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def difference(self, measure: str) -> UnitLine:
        """Return the average difference between two observations."""
        return next(line for line in self.lines if (line.item, line.measure) == (DIFFERENCE, measure))

    def of(self, measure: str) -> tuple[UnitLine, ...]:
        """Return the units, largest first."""
        return tuple(line for line in self.lines if (line.item, line.measure) == (UNIT, measure))


class PfiDelta(View[EstimateLine], id=ids.PFI_DELTA):
    """Changes of single rows when a feature is shuffled."""


class ShapImportance(View[EstimateLine], id=ids.SHAP_IMPORTANCE):
    """Mean size of the Shapley values over `rows_used`; `sizes` says that no value has a sign."""

    rows_used: tuple[int, ...] = ()
    sizes: bool = False


class WithLosses(View[EstimateLine]):
    """An importance that may record its measures before any shuffle (`full_model`), with y shuffled (`baseline`)."""

    baseline: Mapping[str, float] = field(default_factory=dict)
    full_model: Mapping[str, float] = field(default_factory=dict)


class RSensLine(EstimateLine):
    """Sensitivity per unit (`raw`) and per standard deviation of the feature, and its rank."""

    raw: float
    per_spread: float
    spread: float
    rank: int


class RSensView(View[RSensLine], id=ids.RSENS):
    """R-sens: `method` says how derivatives were taken, `ranked_by` whether per unit or per spread."""

    method: str = ""
    ranked_by: str = ""
    rows_used: tuple[int, ...] = ()
    spreads: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    relative_error: Mapping[str, float] = field(default_factory=dict)
