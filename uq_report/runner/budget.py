"""Limits of time and memory of one audit: what they cut is listed, and the run says that it cannot be reproduced."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class Watch:
    """A stopwatch and an eye on memory, started when it is made.

    `cut` is the first reason for which something was cut, empty so far.
    """

    seconds: float | None = None
    memory_mb: int | None = None
    cut: str = ""
    started: float = field(init=False)

    def __post_init__(self) -> None:
        """Start."""
        self.started = perf_counter()

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.seconds is not None or self.memory_mb is not None

    @property
    def left(self) -> float:
        """Seconds until the time limit, infinite without one."""
        return math.inf if self.seconds is None else self.seconds - (perf_counter() - self.started)

    def too_long(self, seconds: float) -> bool:
        """Say whether work of so many seconds does not fit the time that is left."""
        return seconds > max(0.0, self.left)

    def misfit(self, seconds: float) -> str:
        """Say why work of so many seconds is not begun, or nothing."""
        if not self.too_long(seconds):
            return ""
        self.cut = self.cut or f"what did not fit the time limit of {self.seconds:g} s was left out"
        return f"it does not fit the {self.left:.2g} s left of the time limit of {self.seconds:g} s"

    def exceeded(self) -> str:
        """Say which limit is reached, or nothing."""
        reason = ""
        if self.left < 0:
            reason = f"the time limit of {self.seconds:g} s was reached"
        elif self.memory_mb is not None and (used := memory_mb()) > self.memory_mb:
            reason = f"the memory limit of {self.memory_mb} MB was reached ({used:.0f} MB in use)"
        self.cut = self.cut or reason
        return reason


def memory_mb() -> float:
    """Return the memory this process holds, in MB; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - a pseudo file, read in place
            pages = int(statm.read().split()[1])
    except OSError:
        return _peak_mb()
    import resource

    return pages * resource.getpagesize() / 2**20


def _peak_mb() -> float:
    """Return the largest memory so far, which is what systems without /proc tell."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
