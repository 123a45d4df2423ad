"""Each segment on the judging rows: its means, against all rows and against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.arrays import BoolArray
from ...core.engine import Engine
from ...core.results import Omission
from ...core.sampling import Sampling
from ...core.verdicts import holm
from ...evidence.segments import ALL_ROWS, LARGEST, OFF_SUPPORT
from ..shared.estimates import estimate
from .contrast import contrast
from .terms import Term
from .tree import Segment

COLUMNS = (
    *("item", "segment", "grown", "n", "units", "share", "unit", "n_rest", "difference", "difference_std_error"),
    *("difference_lower", "difference_upper", "freedom", "p_value", "p_adjusted"),
)
LEAST_UNITS = 10  # of a segment that is judged
ROUNDING = 1e-9  # of a share
OUTSIDE = "rows unlike any training row"
Record = dict[str, Any]


class Judged:
    """The lines of all segments on the judging rows."""

    def __init__(self, engine: Engine, found: Sequence[Term], rows: BoolArray, outside: BoolArray) -> None:
        self.engine, self.terms, self.rows, self.outside = engine, found, rows, outside
        self.sampling = Sampling.of(engine.subject)
        self.rows_of: dict[str, BoolArray] = {}
        self.made_of: dict[str, list[str]] = {}
        self.omissions: list[Omission] = []

    def lines(self, parts: Mapping[str, Sequence[Segment]]) -> list[Record]:
        """Return a line per measure of all judged rows, of every segment, and of the rows off the support."""
        records = [self._all(term) for term in self.terms]
        for term in self.terms:
            inside = [s._replace(rows=s.rows & self.rows) for s in parts[term.measure]]
            means = [float(term.rows[s.rows].mean()) if s.rows.any() else -np.inf for s in inside]
            for k in np.argsort(means, kind="stable")[::-1]:
                records += self._segment(f"{term.measure} {len(self.rows_of) + 1}", term.measure, inside[k])
        if self.outside.any():
            records += self._segment(OFF_SUPPORT, "", Segment(OUTSIDE, (), self.outside))
        adjusted = holm([record["p_value"] for record in records]).tolist()
        return [record | {"p_adjusted": p} for record, p in zip(records, adjusted, strict=True)]

    def _segment(self, key: str, grown: str, segment: Segment) -> Iterator[Record]:
        """Yield the lines of one segment, or say that it has too few units."""
        rest = self.rows & ~segment.rows
        units = [self.sampling.part(rows).units for rows in (segment.rows, rest)]
        if min(units) < LEAST_UNITS:
            few = f"{segment.words}: fewer than {LEAST_UNITS} independent rows judge it, or the rest"
            self.omissions.append(Omission(grown, "", few))
            return
        self.rows_of[key], self.made_of[key] = segment.rows, list(segment.features)
        for term in self.terms:
            yield self._line(term, key, grown, segment, rest)

    def _line(self, term: Term, key: str, grown: str, segment: Segment, rest: BoolArray) -> Record:
        found = contrast(term.rows, segment.rows, rest, self.sampling)
        mean, difference = found.intervals(self.engine.confidence)
        line = estimate(found.mean, found.mean_std_error, mean, self.engine.confidence, term.measure)
        every = self.sampling.weights[self.rows | segment.rows].sum()
        share = float(self.sampling.weights[segment.rows].sum() / every)
        tested = not grown or (grown == term.measure and share <= LARGEST + ROUNDING)
        return line | {
            "item": segment.words,
            "segment": key,
            "grown": grown,
            "unit": term.facts.unit,
            "n": int(segment.rows.sum()),
            "units": found.units,
            "n_rest": int(rest.sum()),
            "share": share,
            "difference": found.difference,
            "difference_std_error": found.std_error,
            "freedom": found.freedom,
            "difference_lower": difference[0],
            "difference_upper": difference[1],
            "p_value": found.p_value if tested else np.nan,
        }

    def _all(self, term: Term) -> Record:
        part = self.sampling.part(self.rows)
        mean, error = (float(number) for number in part.mean(term.rows[self.rows]))
        interval = part.interval(mean, error, self.engine.confidence)
        line = estimate(mean, error, interval, self.engine.confidence, term.measure)
        return line | {
            "item": "all judged rows",
            "segment": ALL_ROWS,
            "grown": "",
            "unit": term.facts.unit,
            "share": 1.0,
            "n": int(self.rows.sum()),
            "units": part.units,
            "n_rest": 0,
            "freedom": part.units - 1,
            "p_value": np.nan,
        }
