"""Views of segments: rows where the model is uncertain or wrong, against the others, and what changes it there."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import isnan

from . import ids
from .information import ItemLine
from .view import View

LEVEL = 0.05  # of the adjusted p-values by which segments are chosen to be shown
LARGEST = 0.5  # share of the judged rows in a segment of a tree, at most: of two leaves the smaller is the segment
EXCESS_LOSS = "excess_loss"  # the usual loss less what the model expects of it
RESIDUAL = "residual"  # the outcome less the prediction
ALL_ROWS, OFF_SUPPORT = "all", "outside"  # `SegmentLine.segment` of the judged rows, and of those unlike training rows


class SegmentLine(ItemLine):
    """The mean of a measure in one segment, named by `item`, of `n` judged rows, and its difference to the rest.

    `grown` is the measure whose tree made the segment, empty where no tree did. `p_value` is that of no difference,
    `p_adjusted` over all that are tested; both are NaN where the tree of another measure made the segment, and where
    it holds more than `LARGEST` of the rows.
    """

    segment: str
    grown: str
    n: int
    units: int
    share: float
    unit: str
    n_rest: int
    difference: float
    difference_std_error: float
    difference_lower: float
    difference_upper: float
    freedom: int
    p_value: float
    p_adjusted: float


class SegmentsView(View[SegmentLine], id=ids.SEGMENTS):
    """Segments of the `judged` rows, made by trees that grew on others (`grown`).

    `made_of` names the features of each segment, `uncertainty` the measures that say how uncertain the model is;
    `usual_loss` is the mean usual loss of the judged rows, None without outcomes.
    """

    judged: int
    grown: int
    made_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    uncertainty: tuple[str, ...] = ()
    usual_loss: float | None = None

    def tested(self) -> tuple[SegmentLine, ...]:
        """Return the lines with a test of their own."""
        return tuple(line for line in self.lines if not isnan(line.p_value))

    def raised(self, most: int) -> tuple[str, ...]:
        """Return the segments shown to be less sure, or more wrong, than the rest: of each tree the `most` largest.

        Those of the same rows count once, by the tree that comes first; rows off the support stand at the end, whatever
        they show.
        """
        above = [x for x in self.tested() if x.p_adjusted <= LEVEL and x.difference > 0 and x.grown]
        chosen: dict[str, str] = {}
        for grown in dict.fromkeys(x.grown for x in above):
            own = sorted((x for x in above if x.grown == grown), key=lambda x: -x.difference)
            for x in own[:most]:
                chosen.setdefault(x.item, x.segment)
        off = [OFF_SUPPORT] if any(x.segment == OFF_SUPPORT for x in self.lines) else []
        return (*chosen.values(), *off)

    def of(self, segment: str) -> dict[str, SegmentLine]:
        """Return the lines of one segment by measure."""
        return {line.measure: line for line in self.lines if line.segment == segment}


class SegmentPeriods(SegmentsView, id=ids.SEGMENTS_PERIODS):
    """The same means by period, successive parts of the test sample in order of time; `item` has its first and last."""


class SegmentFeatureLine(ItemLine):
    """What exchanging a feature changes of a segment's mean: from `before` to `after`, both less the rest's mean."""

    segment: str
    n: int
    before: float
    after: float


class SegmentFeatures(View[SegmentFeatureLine], id=ids.SEGMENTS_FEATURES):
    """Features whose exchange brings a segment's mean closer to that of the rest, the closest first."""

    def leading(self, segment: str, measure: str) -> SegmentFeatureLine | None:
        """Return the feature that brings a segment closest, if any does."""
        return next((x for x in self.lines if (x.segment, x.measure) == (segment, measure)), None)


class ResidualLine(ItemLine):
    """Outcome less prediction in a segment of `n` observations, in standard deviations of the model.

    The segment is named by `item`; `level` is the class that it is about, empty for a number or the positive of two
    classes. `outcome` and `predicted` are the means in `unit`, `nats` the loss per observation that they part by at
    least. `difference` is to the other `n_rest` observations.
    """

    segment: str
    level: str
    n: int
    units: int
    share: float
    n_rest: int
    outcome: float
    predicted: float
    unit: str
    nats: float
    difference: float
    difference_std_error: float
    freedom: int


class SegmentResiduals(View[ResidualLine], id=ids.SEGMENTS_RESIDUALS):
    """Segments by outcome less prediction, each half of the observations judging those of the other.

    `made_of` names the features of each segment.
    """

    made_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
