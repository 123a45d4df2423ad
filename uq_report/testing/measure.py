"""The contract of measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

import numpy as np

from ..core.engine.fast_path_evaluator import Engine
from ..core.model.measures import Direction, Measure, Role, Statistic
from ..core.predictive import Distribution
from ..core.support.arrays import AnyArray
from ..runner import plugins
from .contract import require, require_declared
from .known import linear_subject, logistic_subject


def measure_checks() -> tuple[Callable[[Measure], None], ...]:
    """Return every check of a measure."""
    return (
        check_measure_declares_itself,
        check_measure_gives_a_number_per_row,
        check_measure_asks_for_what_it_uses,
        check_measure_statistic_sums_up,
    )


def check_measure_declares_itself(measure: Measure) -> None:
    """Require a name, a unit, a title, and a role and a direction that the report knows."""
    require_declared(plugins.MEASURES, measure)
    require(bool(measure.name and measure.unit and measure.title), measure, "must have a name, a unit and a title")
    require(measure.role in get_args(Role), measure, f"must have a known role; got {measure.role!r}")
    require(measure.direction in get_args(Direction), measure, f"must have a direction; got {measure.direction!r}")


def check_measure_gives_a_number_per_row(measure: Measure) -> None:
    """Require where it applies: shape (n,), floats, no NaN; where not: a reason."""
    for engine in _engines(measure):
        chosen, omissions = engine.select([measure.name])
        reasons = [omission.reason for omission in omissions]
        require(bool(chosen) or all(reasons), measure, "must either apply or say why not")
        if chosen:
            values = measure.rows(engine.baseline, engine.y, engine.baseline)
            shaped = isinstance(values, np.ndarray) and values.shape == (engine.subject.n,)
            require(shaped and values.dtype.kind == "f", measure, "must return an array of one float per row")
            require(not np.isnan(values).any(), measure, "must not return NaN")


def check_measure_asks_for_what_it_uses(measure: Measure) -> None:
    """Require equal values without y and without the base, unless it says that it needs them."""
    for engine in _engines(measure):
        if engine.select([measure.name])[0]:
            whole = measure.rows(engine.baseline, engine.y, engine.baseline)
            for need, arguments in _without(measure, engine):
                rule = f"must say {need}=True: it uses what it does not ask for"
                try:
                    same = np.array_equal(whole, measure.rows(engine.baseline, *arguments))
                except Exception as error:  # noqa: BLE001 - whatever it raises without them
                    require(False, measure, f"{rule} ({type(error).__name__})")
                require(same, measure, rule)


def check_measure_statistic_sums_up(measure: Measure) -> None:
    """Require of a summary that is no mean: a finite number, and a finite influence for each row."""
    if measure.statistic is None:
        return
    require(isinstance(measure.statistic, Statistic), measure, "must have a statistic with value and influence")
    for engine in _engines(measure):
        if engine.select([measure.name])[0]:
            y: AnyArray = np.asarray(engine.y)
            rows, weights = measure.rows(engine.baseline, engine.y, engine.baseline), np.ones(engine.subject.n)
            value = measure.statistic.value(rows, y, weights)
            influence = measure.statistic.influence(rows, y, weights, rows)
            sound = np.isfinite(value) and influence.shape == rows.shape and np.isfinite(influence).all()
            require(bool(sound), measure, "must have a statistic of one finite value, and an influence per row")


def _engines(measure: Measure) -> Iterator[Engine]:
    for subject in (linear_subject(), logistic_subject()):
        yield Engine(subject, {measure.name: measure})


def _without(measure: Measure, engine: Engine) -> Iterator[tuple[str, tuple[AnyArray | None, Distribution | None]]]:
    """Yield y and base with one of them left out, where the measure does not ask for it."""
    if not measure.needs_y:
        yield "needs_y", (None, engine.baseline)
    if not measure.needs_base:
        yield "needs_base", (engine.y, None)
