"""The view of the sensitivity of findings to the thresholds of the checks."""

from __future__ import annotations

from typing import ClassVar

from . import ids
from .information import ItemLine
from .view import View


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


class SensitivityView(View):
    """Findings that change with a threshold, of `varied` thresholds; `recommendation` is that of the run."""

    id: ClassVar[str] = ids.SENSITIVITY
    lines: tuple[ThresholdLine, ...]
    varied: int = 0
    recommendation: str = ""
