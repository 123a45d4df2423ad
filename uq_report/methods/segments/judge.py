"""Each segment on the judging rows: its means, against all rows and against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Omission
from ...core.model.sampling import Sampling, t_quantile
from ...core.statistics.verdicts import holm
from ...core.support.arrays import BoolArray, FloatArray
from ...evidence.segments import ALL_ROWS, LARGEST, OFF_SUPPORT
from ..shared.estimates import estimate
from .terms import SegmentTerm
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

    def __init__(self, engine: Engine, found: Sequence[SegmentTerm], rows: BoolArray, outside: BoolArray) -> None:
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

    def _line(self, term: SegmentTerm, key: str, grown: str, segment: Segment, rest: BoolArray) -> Record:
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

    def _all(self, term: SegmentTerm) -> Record:
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


class Contrast(NamedTuple):
    """The mean of a segment, and that mean less the mean of the rest, each with its standard error.

    `freedom` is one less than the fewer units of segment and rest: cautious where their spreads differ.
    """

    mean: float
    mean_std_error: float
    difference: float
    std_error: float
    units: int
    freedom: int

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the t-test of no difference."""
        if not self.std_error > 0:
            return 1.0 if self.difference == 0 else 0.0
        return float(2 * special.stdtr(self.freedom, -abs(self.difference) / self.std_error))

    def intervals(self, confidence: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the t-intervals of the mean and of the difference."""
        own, both = (t_quantile(0.5 + confidence / 2, dof) for dof in (self.units - 1, self.freedom))
        means = (self.mean - own * self.mean_std_error, self.mean + own * self.mean_std_error)
        return means, (self.difference - both * self.std_error, self.difference + both * self.std_error)


def contrast(values: FloatArray, segment: BoolArray, rest: BoolArray, sampling: Sampling) -> Contrast:
    """Return a segment's mean against that of the rest; clusters with rows in both parts count as such.

    Examples
    --------
    >>> values, segment = np.array([1.0, 3.0, 0.0, 2.0]), np.array([True, True, False, False])
    >>> contrast(values, segment, ~segment, Sampling(np.full(4, 0.25), 4))[:4]
    (2.0, 1.0, 1.0, 1.4142135623730951)
    """
    parts = [sampling.part(rows) for rows in (segment, rest)]
    means = [part.mean(values[rows]) for part, rows in zip(parts, (segment, rest), strict=True)]
    pieces = np.zeros(len(values))
    for sign, rows, part, (centre, _) in zip((1, -1), (segment, rest), parts, means, strict=True):
        factor = np.sqrt(part.units / (part.units - 1)) if part.units > 1 else np.nan
        pieces[rows] = sign * factor * part.weights * (values[rows] - centre)
    both = segment | rest
    sums = pieces[both] if sampling.codes is None else np.bincount(sampling.codes[both], pieces[both])
    error = float(np.sqrt(np.square(sums).sum()))
    units = [part.units for part in parts]
    mean, mean_error = (float(number) for number in means[0])
    return Contrast(mean, mean_error, mean - float(means[1][0]), error, units[0], min(units) - 1)
