"""The view of the predictions against simple references: outcome rate, majority class, training sample, net benefit."""

from __future__ import annotations

from typing import ClassVar

from . import ids
from .information import ItemLine
from .view import UNKNOWN, View

IN_THE_LARGE, ACCURACY_GAIN, TRAINING_GAP = "calibration_in_the_large", "accuracy_gain", "training_gap"
NET_BENEFIT, NET_BENEFIT_GAIN = "net_benefit", "net_benefit_gain"


class ComparisonLine(ItemLine):
    """A difference, `value` less `reference`, over `n` observations; `of` names the class or score it is about."""

    value: float
    reference: float
    n: int
    unit: str
    of: str = ""
    p_value: float = UNKNOWN


class Comparisons(View):
    """The predictions against simple references; `threshold` is that of the net benefit, None without one.

    `train_rows` of `train_of` training observations give the training score.
    """

    id: ClassVar[str] = ids.CALIBRATION_COMPARISONS
    lines: tuple[ComparisonLine, ...]
    threshold: float | None = None
    train_rows: int = 0
    train_of: int = 0

    def line(self, item: str) -> ComparisonLine | None:
        """Return the line of an item; None where it could not be compared."""
        return next((line for line in self.lines if line.item == item), None)
