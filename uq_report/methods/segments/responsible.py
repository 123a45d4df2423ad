"""Which feature's exchange brings a segment closest to the rest: permutation importance, row by row, of the segment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.explainer import Prior
from ...core.model.measures import ENTROPY, NLL
from ...core.model.results import RowValues
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, FloatArray
from ...evidence import ids
from ...evidence.importance import PfiDelta
from ...evidence.outcomes import CONFIDENCE_GAP
from ...evidence.segments import ALL_ROWS, LEVEL
from ..shared.estimates import estimate
from ..shared.terms import ROUNDING
from .terms import SegmentTerm

COLUMNS = ("item", "segment", "n", "before", "after")
NAMED = 3
PARTS = {CONFIDENCE_GAP: ((NLL.name, 1.0), (ENTROPY.name, -1.0))}  # what a measure is made of
Record = dict[str, Any]


def changes(
    records: Sequence[Record],
    found: Sequence[SegmentTerm],
    rows_of: Mapping[str, BoolArray],
    prior: Prior,
    subject: Subject,
    confidence: float,
) -> tuple[list[Record], str]:
    """Return the features that bring each segment that differs closer to the rest; or why none can be named."""
    view = PfiDelta.find({result.id: result for result in prior.get(ids.PFI, ())})
    if view is None or view.result.rows is None:
        return [], "permutation importance was not computed, which says what a feature's exchange changes"
    delta, sampling = view.result.rows, Sampling.of(subject)
    lines: list[Record] = []
    for record in records:
        if record["p_adjusted"] <= LEVEL and record["segment"] != ALL_ROWS:
            part = sampling.part(rows_of[record["segment"]])
            closer = list(_closer(record, delta, rows_of[record["segment"]], part, subject.features, confidence))
            lines += sorted(closer, key=lambda line: abs(line["after"]))[:NAMED]
    unknown = [term.measure for term in found if not _has(delta, term.measure)]
    return lines, f"permutation importance has no rows of {', '.join(unknown)}" if unknown else ""


def _has(delta: RowValues, measure: str) -> bool:
    return all(part in delta.measures for part, _ in PARTS.get(measure, ((measure, 1.0),)))


def _closer(
    record: Record,
    delta: RowValues,
    rows: BoolArray,
    part: Sampling,
    features: Sequence[str],
    confidence: float,
) -> Iterator[Record]:
    """Yield the features whose exchange is shown to move the segment's mean towards the rest, and brings it closer."""
    measure, before = record["measure"], record["difference"]
    if not _has(delta, measure):
        return
    for feature in (name for name in features if name in delta.features):
        change, error = (float(number) for number in part.mean(_change(delta, measure, feature)[rows]))
        low, high = part.interval(change, error, confidence)
        towards = high < 0 if before > 0 else low > 0
        if towards and abs(before) - abs(before + change) > ROUNDING * abs(before):
            line = estimate(change, error, (low, high), confidence, measure, feature)
            line |= {"item": record["item"], "segment": record["segment"], "n": record["n"]}
            yield line | {"before": before, "after": before + change}


def _change(delta: RowValues, measure: str, feature: str) -> FloatArray:
    """Return each row's own mean change when a feature is exchanged, shape (n,)."""
    parts = PARTS.get(measure, ((measure, 1.0),))
    return np.asarray(sum(sign * delta.of(name, feature) for name, sign in parts))
