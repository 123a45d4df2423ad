"""Whether a time limit has room for a model's prediction of all rows, which is known from few before it is begun."""

from __future__ import annotations

from contextlib import suppress

from ..core.engine.fast_path_evaluator import Engine
from ..core.engine.model_caller import Caller
from ..core.model.adapter import FixedRowsOnly
from ..core.predictive import Distribution
from ..core.support.errors import UQReportError
from .budget import TRIAL, TimeBudget, about

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
