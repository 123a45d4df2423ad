"""Kinds of fault with the sample size at which an audit detects them: measured shares of audits, never extrapolated.

Each share was measured on planted faults, 40 to 60 audits a point (20 at n = 3000), independent observations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

CLASSES, NUMBERS, ANY = "classes", "numbers", ""
POWER = 0.8  # the share of audits that counts as detection
# what must have been examined for a fault to be found: the code of a rule
CALIBRATION, SEGMENTS, MISSING = "UQ101", "UQ123", "UQ705"


class DetectableFault(NamedTuple):
    """A kind of fault, the outcomes it concerns, the rule that finds it, and the share of audits in which it did by n.

    Examples
    --------
    >>> fault = DetectableFault("mean wrong in a segment", ANY, SEGMENTS, {400: 0.1, 800: 0.7, 1500: 0.95})
    >>> fault.power(1000), fault.power(399), fault.n_detected
    (0.7, None, 1500)
    """

    fault: str
    outcomes: str
    code: str
    powers: Mapping[int, float]

    def power(self, n: float) -> float | None:
        """Return the share measured at the largest size up to `n`; None below the smallest one."""
        return self.powers[max(sizes)] if (sizes := [size for size in self.powers if size <= n]) else None

    @property
    def n_detected(self) -> int | None:
        """The smallest measured size from which on the fault is detected; None where it is not."""
        sizes = sorted(self.powers)
        return next((n for k, n in enumerate(sizes) if all(self.powers[m] >= POWER for m in sizes[k:])), None)


def _segment(n400: float, n800: float, n1500: float, n3000: float) -> Mapping[int, float]:
    return {400: n400, 800: n800, 1500: n1500, 3000: n3000}


def _shape(n100: float, n250: float, n800: float, n3000: float) -> Mapping[int, float]:
    return {100: n100, 250: n250, 800: n800, 3000: n3000}


IN_SEGMENT = "in 13% of the observations"
FAULTS: tuple[DetectableFault, ...] = (
    DetectableFault(f"log-odds wrong by 1 {IN_SEGMENT}", CLASSES, SEGMENTS, _segment(0, 0, 0.02, 0.05)),
    DetectableFault(f"log-odds wrong by 1.5 {IN_SEGMENT}", CLASSES, SEGMENTS, _segment(0, 0.07, 0.52, 0.93)),
    DetectableFault(f"log-odds wrong by 2 {IN_SEGMENT}", CLASSES, SEGMENTS, _segment(0.07, 0.65, 0.97, 1)),
    DetectableFault(f"log-odds wrong by 3 {IN_SEGMENT}", CLASSES, SEGMENTS, _segment(0.47, 0.98, 1, 1)),
    DetectableFault(f"mean wrong by 0.5 standard deviations {IN_SEGMENT}", NUMBERS, SEGMENTS,
                    _segment(0.02, 0.02, 0.10, 0.45)),
    DetectableFault(f"mean wrong by 1 standard deviation {IN_SEGMENT}", NUMBERS, SEGMENTS, _segment(0.62, 1, 1, 1)),
    DetectableFault("standard deviation stated 15% too small", NUMBERS, CALIBRATION, _shape(0.15, 0.43, 0.63, 0.85)),
    DetectableFault("normal distribution stated for t-distributed outcomes, 5 degrees of freedom", NUMBERS,
                    CALIBRATION, _shape(0.18, 0.38, 0.72, 1)),
    DetectableFault("normal distribution stated for t-distributed outcomes, 3 degrees of freedom", NUMBERS,
                    CALIBRATION, _shape(0.73, 0.98, 1, 1)),
    DetectableFault("normal distribution stated for gamma-distributed outcomes, shape 4", NUMBERS, CALIBRATION,
                    _shape(0.35, 0.88, 1, 1)),
    DetectableFault("one standard deviation stated for exp(0.4 x), x standard normal", NUMBERS, CALIBRATION,
                    {100: 0.60, 250: 0.85, 800: 1}),
    DetectableFault("share of missing values of a feature changed by 20 percentage points", ANY, MISSING,
                    {100: 0.58, 600: 1}),
    DetectableFault("share of missing values of a feature changed by 10 percentage points", ANY, MISSING, {600: 0.27}),
)  # fmt: skip
# faults of 0.01 to 0.05 nats, detected late or not at all in planted designs
NOT_DETECTED = (
    "another unit in half of the observations; two exchanged columns with a correlation near 0.5; exchanged "
    "categories; clipped probabilities"
)
