"""Limits of time and memory of one audit: what they cut is listed, and the run says that it cannot be reproduced."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from ..core.engine.fast_path_evaluator import Engine
from ..core.engine.model_caller import Caller
from ..core.model.adapter import FixedRowsOnly
from ..core.predictive import Distribution
from ..core.support.errors import UQReportError

if TYPE_CHECKING:
    from .settings import Settings

# the part of a time limit after which the pace of the work says whether the rest of it fits
TRIAL = 0.05
# the part of a time limit that explainers leave for what comes after them: their last results, the rules, the records
AFTER = 0.05


@dataclass
class TimeBudget:
    """A stopwatch, by the clock and of the processor, and an eye on memory, started when it is made.

    `cut` is the first reason for which something was cut, empty so far. `pace` is how long a step of the part of the
    work that `begin` began took, infinite so far. `kept` seconds of the limit are for what comes after the explainers.
    `of_workers` returns the seconds of the processor that other processes took for this run.
    """

    seconds: float | None = None
    memory_mb: int | None = None
    shared: str = ""
    cut: str = ""
    cpu_seconds: float | None = None
    pace: float = math.inf
    kept: float = 0.0
    of_workers: Callable[[], float] = float
    started: float = field(init=False)
    used: float = field(init=False)

    def __post_init__(self) -> None:
        """Start."""
        self.started, self.used = perf_counter(), process_time()
        self.begin()

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return any(limit is not None for limit in (self.seconds, self.cpu_seconds, self.memory_mb))

    @property
    def left(self) -> float:
        """Seconds until the time limit, infinite without one."""
        return math.inf if self.seconds is None else self.seconds - (perf_counter() - self.started)

    @property
    def cpu_left(self) -> float:
        """Seconds of the processor until their limit, infinite without one."""
        used = process_time() - self.used + self.of_workers()
        return math.inf if self.cpu_seconds is None else self.cpu_seconds - used

    @property
    def room(self) -> float:
        """Seconds until the time limit that explainers may use, infinite without one."""
        return self.left - self.kept

    @property
    def limit(self) -> str:
        """The time limit in words."""
        return f"the time limit of {self.seconds:g} s{self.shared}"

    def limits(self, settings: Settings) -> TimeBudget:
        """Set the limits of the settings."""
        self.seconds, self.memory_mb = settings.time_limit, settings.memory_limit_mb
        self.cpu_seconds = settings.cpu_time
        return self

    def share(self, models: int) -> TimeBudget:
        """Return the watch of one of so many models that share what is left of both times."""
        cpu = None if self.cpu_seconds is None else round(max(self.cpu_left, 0.0) / models, 3)
        if self.seconds is None:
            return TimeBudget(None, self.memory_mb, cpu_seconds=cpu)
        words = f", a share of {self.seconds:g} s,"
        return TimeBudget(round(max(self.left, 0.0) / models, 3), self.memory_mb, words, cpu_seconds=cpu)

    def keep_after(self) -> None:
        """Keep `AFTER` of the time limit for what comes after the explainers."""
        self.kept = AFTER * (self.seconds or 0.0)

    def begin(self) -> None:
        """Begin to time a part of the work."""
        self._begun, self._first, self.pace = perf_counter(), (0.0, 0), math.inf

    def too_long(self, seconds: float) -> bool:
        """Say whether work of so many seconds does not fit the time that is left."""
        return seconds > max(0.0, self.room)

    def misfit(self, seconds: float) -> str:
        """Say why work of so many seconds is not begun, or nothing."""
        if not self.too_long(seconds):
            return ""
        self.cut = self.cut or f"what did not fit {self.limit} was left out"
        return f"it does not fit the {max(0.0, self.room):.2g} s left of {self.limit.removesuffix(',')}"

    def exceeded(self, done: int = 0, total: int = 0, ahead: float = 0.0) -> str:
        """Say which limit is reached, or will be, or nothing.

        Parameters
        ----------
        done, total : int
            Steps done of the part that was begun, and all of its steps; 0 where they are not counted. Once the part
            has taken `TRIAL` of the limit, its pace says whether the rest fits.
        ahead : float
            About the seconds of what is to be done next and cannot be stopped.
        """
        reason = ""
        if self.room < 0:
            reason = f"{self.limit} was reached"
        elif self.cpu_left < 0:
            reason = f"the limit of {self.cpu_seconds:g} s of processor time was reached"
        elif self.memory_mb is not None and (used := memory_mb()) > self.memory_mb:
            reason = f"the memory limit of {self.memory_mb} MB was reached ({used:.0f} MB in use)"
        self.cut = self.cut or reason
        if reason or self.seconds is None:
            return reason
        if misfit := self.misfit(ahead):
            return f"its next step takes about {about(ahead)}: {misfit}"
        rest = self._rest(done, total)
        if perf_counter() - self._begun > TRIAL * self.seconds and (misfit := self.misfit(rest)):
            return f"{done / total:.0%} of it done, the rest would take about {about(rest)}: {misfit}"
        return ""

    def _rest(self, done: int, total: int) -> float:
        """Return the seconds of the steps that are left, by the pace since the first were done; 0 if not known."""
        now, (at, first) = perf_counter(), self._first
        if not first:
            self._first = now, done
        elif done > first:
            self.pace = (now - at) / (done - first)
        return max(0, total - done) * self.pace if self.pace < math.inf else 0.0


def about(seconds: float) -> str:
    """Return seconds as words: whole ones from 10 on, else two digits.

    Examples
    --------
    >>> about(3600), about(2.5), about(0.123)
    ('3600 s', '2.5 s', '0.12 s')
    """
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


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


# how many times the rows of the last call the next asks for; after how many times the least seconds a pace is clear
GROWTH, CLEAR = 10, 4


def predicted(engine: Engine, watch: TimeBudget) -> Distribution:
    """Return the distribution of all rows; of the first few where the time left has no room for all.

    The engine withholds its baseline then: explainers that ask for it say why they are stopped, and others run. What
    the model says of few rows is used for nothing else. A model that fails on few rows is asked for all at once.
    """
    watch.keep_after()
    few, seconds = None, 0.0
    if not isinstance(engine.subject.adapter, FixedRowsOnly):
        with suppress(UQReportError):
            few, seconds = _of_few(engine, watch)
    if few is None or not (reason := watch.exceeded() or watch.misfit(seconds)):
        return engine.baseline
    once = f": the model takes about {about(seconds)} to predict its {engine.subject.n} rows once"
    engine.withheld = reason + once
    if seconds > (watch.seconds or 0.0):
        watch.cut += once
    dist = few.baseline
    return dist.focus(dist.default_focus(engine.subject.y)) if engine.subject.positive_class is None else dist


def _of_few(engine: Engine, watch: TimeBudget) -> tuple[Caller, float]:
    """Return who called the model for few rows, and about the seconds that all take.

    One row is asked for, and then ten times as many for as long as they fit and it is not clear whether all rows do: a
    call costs something by itself, now more and now less, and the first may load what others have.
    """
    n, rows, trial = engine.subject.n, 1, TRIAL * (watch.seconds or 0.0)
    few, seconds = engine.first(rows)
    least, ahead, clear = (seconds, rows), seconds * n, False
    while watch.too_long(seconds * n / rows):
        more = min(GROWTH * rows, int(watch.room * rows / seconds))
        if clear or not rows < more < n:
            break
        rows = more
        few, seconds = engine.first(rows)
        if seconds > max(CLEAR * least[0], trial) and not watch.too_long(seconds):
            seconds = min(seconds, engine.first(rows)[1])  # by chance no call is slow twice
        least = min(least, (seconds, rows))
        clear = seconds > max(CLEAR * least[0], trial)
        ahead = seconds + (seconds - least[0]) / max(1, rows - least[1]) * (n - rows)
    return few, ahead
