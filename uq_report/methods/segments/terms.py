"""What is looked at row by row: how uncertain the model is, how wrong, and how far wrong beyond what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import ENTROPY, EPISTEMIC, EPISTEMIC_VARIANCE, NLL, VARIANCE
from ...core.model.results import MeasureFacts, Omission
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError, nearest
from ...distributions import Categorical
from ...evidence.outcomes import CONFIDENCE_GAP
from ...evidence.segments import EXCESS_LOSS

UNSURE = (ENTROPY.name, VARIANCE.name)
MEMBERS = (EPISTEMIC.name, EPISTEMIC_VARIANCE.name)
BEYOND = (CONFIDENCE_GAP, EXCESS_LOSS)
TITLE = "loss beyond expectation"


class SegmentTerm(NamedTuple):
    """One number per row, shape (n,), and what a reader must know of it."""

    measure: str
    facts: MeasureFacts
    rows: FloatArray


def terms(engine: Engine, measures: Sequence[str] | None) -> tuple[list[SegmentTerm], tuple[Omission, ...]]:
    """Return the terms that exist here, of the measures asked for or by default, and why the others do not."""
    found = list(_default(engine) if measures is None else map(_Of(engine), measures))
    whole = [_finite(item) for item in found]
    return [x for x in whole if isinstance(x, SegmentTerm)], tuple(x for x in whole if isinstance(x, Omission))


def _default(engine: Engine) -> Iterator[SegmentTerm | Omission]:
    """Yield uncertainty, its epistemic part where there are members, the loss, and the loss beyond expectation."""
    of = _Of(engine)
    others = tuple(m.name for m in engine.measures.values() if m.role == "uncertainty" and not m.requires & _MEMBERS)
    yield _first(map(of, dict.fromkeys((*UNSURE, *others))))
    parts = [item for item in map(of, MEMBERS) if isinstance(item, SegmentTerm)]
    yield from parts[:1]
    yield _first(_finite(of(name)) for name in (NLL.name, engine.baseline.usual_loss))
    yield _first(_finite(of(name)) for name in BEYOND)


_MEMBERS = frozenset({"aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance"})


def _first(items: Iterator[SegmentTerm | Omission]) -> SegmentTerm | Omission:
    """Return the first term, or the first reason why there is none."""
    tried: list[SegmentTerm | Omission] = []
    for item in items:
        if isinstance(item, SegmentTerm):
            return item
        tried.append(item)
    return tried[0]


def _finite(item: SegmentTerm | Omission) -> SegmentTerm | Omission:
    if isinstance(item, Omission) or np.isfinite(item.rows).all():
        return item
    count = int((~np.isfinite(item.rows)).sum())
    return Omission(item.measure, "", f"it is infinite in {count} of {len(item.rows)} rows")


class _Of:
    """Evaluates one measure by its name on the rows as they are."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __call__(self, name: str) -> SegmentTerm | Omission:
        if name in BEYOND:
            return self._beyond(name)
        measures, omitted = self.engine.select((name,))
        if omitted:
            return omitted[0]
        measure = measures[0]
        if measure.role == "prediction":
            must = "measures of uncertainty or loss, or " + " or ".join(map(repr, BEYOND))
            allowed = [m.name for m in self.engine.measures.values() if m.role != "prediction"]
            raise InputError(f"segments.measures must be {must}; got {name!r}. {nearest(name, [*allowed, *BEYOND])}")
        if measure.statistic is not None:
            return Omission(name, "", "it is a statistic of all rows together, so no row has a value")
        facts = MeasureFacts(measure.title or name, measure.unit, measure.role, measure.direction)
        return SegmentTerm(measure.name, facts, self.engine.unchanged(measures)[0])

    def _beyond(self, name: str) -> SegmentTerm | Omission:
        """Return the loss less the loss that the model expects."""
        loss_name = NLL.name if name == CONFIDENCE_GAP else self.engine.baseline.usual_loss
        loss = self(loss_name)
        if isinstance(loss, Omission):
            return Omission(name, "", loss.reason)
        expected = self(ENTROPY.name) if name == CONFIDENCE_GAP else _expected(self.engine.baseline)
        if isinstance(expected, Omission):
            return Omission(name, "", expected.reason)
        if isinstance(expected, SegmentTerm):  # where outcomes are censored, the loss expected while each was observed
            expected = self.engine.baseline.expected_nll(np.asarray(self.engine.y))
        with np.errstate(invalid="ignore"):
            rows = loss.rows - expected
        return SegmentTerm(name, MeasureFacts(TITLE, loss.facts.unit, "loss"), rows)


def _expected(q: Distribution) -> FloatArray | Omission:
    """Return the Brier score or squared error that the model expects of each row."""
    if "proba" in q.supports:
        return np.asarray(1 - np.square(cast("Categorical", q).probabilities).sum(axis=1))
    if q.censored:
        return Omission(EXCESS_LOSS, "", "only the log score has an expectation for outcomes that may be censored")
    if VARIANCE.name in q.supports:
        return q.variance()
    return Omission(EXCESS_LOSS, "", q.why_not(VARIANCE.name))
