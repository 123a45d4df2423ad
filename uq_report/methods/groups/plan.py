"""Which groups are shown, what is said of each, and what is withheld."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ...core.arrays import BoolArray, FloatArray, IntArray
from ...core.engine import Engine
from ...core.results import Omission
from ...core.sampling import Sampling
from ...core.subject import Subject
from ..shared.reliability import share_of
from .cut import Attribute, is_ordered
from .tests import EXACT_UNITS, difference, gap_p_values, one_sample_p_value, shuffled_p_values
from .values import Values
from .withhold import Key, Shown, shown

ALL = "all rows"


class Options(Protocol):
    """The options of the explainer that the plan reads."""

    @property
    def n_min(self) -> int:
        """Rows or clusters that a group must have to be shown."""

    @property
    def max_levels(self) -> int:
        """Values from which an ordered attribute is cut."""

    @property
    def n_draws(self) -> int:
        """Draws of each exact test, at least."""


@dataclass(frozen=True)
class Plan:
    """The groups that may be shown for every set of rows, and the lines about them."""

    options: Options
    subject: Subject
    engine: Engine
    cut: Sequence[Attribute]
    values: Sequence[Values]

    @cached_property
    def sampling(self) -> Sampling:
        """How rows enter a mean."""
        return Sampling.of(self.subject)

    @cached_property
    def units(self) -> IntArray:
        """The independent unit of each row."""
        return np.arange(self.subject.n) if self.sampling.codes is None else self.sampling.codes

    @cached_property
    def base(self) -> Shown:
        """The groups shown for means over all rows."""
        return shown(self.cut, self.sampling.weights > 0, self.units, self.options.n_min)

    @cached_property
    def shown(self) -> dict[bytes, Shown]:
        """The groups shown for each set of rows that a measure is a mean over."""
        sets = {one.inside.tobytes(): one.inside & (self.sampling.weights > 0) for one in self.values}
        return {key: shown(self.cut, inside, self.units, self.options.n_min, self.base) for key, inside in sets.items()}

    @cached_property
    def infinite(self) -> dict[str, int]:
        """Measures that are infinite somewhere, with the number of rows."""
        counts = {one.measure: int((~np.isfinite(one.rows[one.inside])).sum()) for one in self.values}
        return {name: count for name, count in counts.items() if count}

    @cached_property
    def compared(self) -> dict[bytes, list[Key]]:
        """The groups that are compared with the rest: of two groups of an attribute the smaller one."""
        found = {}
        for key, these in self.shown.items():
            pairs = sorted(these.groups)
            lone = [self._smaller(a, key) for a in range(len(self.cut)) if self._only_two(a, these)]
            both = {(a, g) for a in range(len(self.cut)) if self._only_two(a, these) for g in range(2)}
            found[key] = [pair for pair in pairs if pair not in both or pair in lone]
        return found

    def _only_two(self, a: int, these: Shown) -> bool:
        return len(self.cut[a].labels) == 2 and {(a, 0), (a, 1)} <= these.groups

    def _smaller(self, a: int, key: bytes) -> Key:
        inside = np.frombuffer(key, dtype=bool)
        sizes = [int((self.cut[a].members(g) & inside).sum()) for g in range(2)]
        return (a, int(np.argmin(sizes)))

    @property
    def draws(self) -> int:
        """Draws of each exact test, so many that Holm's adjustment can still reject."""
        tests = sum(len(self.compared[one.inside.tobytes()]) for one in self.values if one.tested)
        return max(self.options.n_draws, 100 * tests)

    def means(self, one: Values) -> Iterator[dict[str, Any]]:
        """Yield the line of all rows and those of the groups shown."""
        these = self.shown[one.inside.tobytes()]
        if not these.groups and not self._enough(one.inside):
            return
        yield self._mean(one, one.inside, ("", ALL))
        for a, g in sorted(these.groups):
            rows = one.inside & self.cut[a].members(g)
            tested = {} if one.measure != "confidence_gap" else {"p_value": self.gap_tests[a, g]}
            yield self._mean(one, rows, (self.cut[a].name, self.cut[a].labels[g])) | tested

    def _enough(self, inside: BoolArray) -> bool:
        return len(np.unique(self.units[inside & (self.sampling.weights > 0)])) >= self.options.n_min

    def _mean(self, one: Values, rows: BoolArray, place: tuple[str, str]) -> dict[str, Any]:
        part = self.sampling.part(rows)
        if one.share:
            line = share_of(one.rows[rows], part, self.engine.confidence)
        else:
            mean, error = (float(value) for value in part.mean(one.rows[rows]))
            low, high = part.interval(mean, error, self.engine.confidence)
            line = {"estimate": mean, "std_error": error, "lower": low, "upper": high}
            line |= {"confidence": self.engine.confidence, "covers": "new test rows"}
        count = int((rows & (self.sampling.weights > 0)).sum())
        names = {"measure": one.measure, "feature": place[0], "item": place[1]}
        return {**line, **names, "n": count, "unit": one.unit, "p_value": np.nan}

    @cached_property
    def gap_tests(self) -> dict[Key, float]:
        """The p-value of each group's confidence gap: by draws from q for groups up to 500 units, else by t."""
        gap = next(one for one in self.values if one.measure == "confidence_gap")
        groups = {pair: self.cut[pair[0]].members(pair[1]) for pair in sorted(self.shown[gap.inside.tobytes()].groups)}
        rows = self.sampling.one_row_per_unit(self.engine.rng("units"))
        small = [pair for pair, mask in groups.items() if mask[rows].sum() <= EXACT_UNITS]
        found = {}
        for pair, mask in groups.items():
            part = self.sampling.part(mask)
            mean, error = (float(value) for value in part.mean(gap.rows[mask]))
            found[pair] = one_sample_p_value(mean, error, part.units - 1)
        if small and self.engine.y is not None and "sample" in self.engine.baseline.supports:
            used = rows[np.any([groups[pair][rows] for pair in small], axis=0)]
            q, y = self.engine.baseline.take(used), self.engine.y[used]
            masks = [groups[pair][used] for pair in small]
            rng = self.engine.rng("outcomes")
            found |= dict(
                zip(small, gap_p_values(q, y, masks, self.sampling.weights[used], rng, self.draws), strict=True)
            )
        return found

    def differences(self, one: Values) -> Iterator[dict[str, Any]]:
        """Yield each group's difference to the rest of the rows."""
        for a, g in self.compared[one.inside.tobytes()]:
            group = one.inside & self.cut[a].members(g) & (self.sampling.weights > 0)
            rest = one.inside & ~group & (self.sampling.weights > 0)
            if not rest.any():
                continue
            found = difference(one.rows, group, rest, self.sampling, one.share)
            low, high = found.interval(self.engine.confidence)
            overall = float(self.sampling.part(one.inside).mean(one.rows[one.inside])[0])
            yield {
                "measure": one.measure,
                "feature": self.cut[a].name,
                "item": self.cut[a].labels[g],
                "estimate": found.estimate,
                "std_error": found.std_error,
                "lower": min(low, found.estimate),
                "upper": max(high, found.estimate),
                "confidence": self.engine.confidence,
                "covers": "new test rows",
                "n": int(group.sum()),
                "n_rest": int(rest.sum()),
                "unit": one.unit,
                "p_value": self._p_value(one, (a, g), found.p_value) if one.tested else np.nan,
                "overall": overall,
                "scale": one.scale,
            }

    def _p_value(self, one: Values, pair: Key, usual: float) -> float:
        """Return the exact p-value of a difference where rows are exchangeable and few, else the usual one."""
        exact = self._shuffled.get((one.inside.tobytes(), pair))
        return usual if exact is None else exact[one.measure]

    @cached_property
    def _shuffled(self) -> dict[tuple[bytes, Key], dict[str, float]]:
        weights = self.sampling.weights
        if self.sampling.codes is not None or np.ptp(weights[weights > 0]) > 0:
            return {}
        found = {}
        for key, pairs in self.compared.items():
            inside = np.frombuffer(key, dtype=bool) & (weights > 0)
            tested: dict[str, tuple[FloatArray, bool]] = {
                one.measure: (one.rows[inside], one.share)
                for one in self.values
                if one.inside.tobytes() == key and one.tested and one.measure not in self.infinite
            }
            for a, g in pairs:
                group = self.cut[a].members(g)[inside]
                smaller = group if 2 * group.sum() <= len(group) else ~group
                if tested and smaller.any() and smaller.sum() <= EXACT_UNITS:
                    rng = self.engine.rng("shuffle", self.cut[a].name, g, int(inside.sum()))
                    found[key, (a, g)] = shuffled_p_values(tested, smaller, rng, self.draws)
        return found

    def omissions(self) -> Iterator[Omission]:
        """Yield what is not shown, and why; never how many rows."""
        least = self.options.n_min
        for name, count in self.infinite.items():
            yield Omission(name, "", f"infinite in {count} rows; calibrate or smooth the model's probabilities")
        for a, attribute in enumerate(self.cut):
            for g in range(len(attribute.labels)):
                if (a, g) in self.base.complements:
                    yield Omission("", attribute.name, "a group is withheld, as it would give away a smaller one")
                elif (a, g) not in self.base.groups:
                    yield Omission("", attribute.name, f"a group has fewer than {least} rows or clusters")
                for one in self.values:
                    if (a, g) in self.base.groups - self.shown[one.inside.tobytes()].groups:
                        rows = one.unit.removeprefix("share of ")
                        reason = f"a group has fewer than {least} {rows}, or would give away one that has"
                        yield Omission(one.measure, attribute.name, reason)

    def target(self, a: int, attribute: Attribute) -> FloatArray:
        """Return what the features are to tell of an attribute, shape (n, k); NaN for rows that take no part."""
        values = pd.Series(self.subject.protected[attribute.name]).infer_objects()
        if is_ordered(values, self.options.max_levels):
            numbers = values.rank() if pd.api.types.is_datetime64_any_dtype(values.dtype) else values.astype(float)
            known = np.asarray(numbers, dtype=float)[:, None]
            known[~np.isfinite(known)] = np.nan
            return np.asarray(known - np.nanmean(known))
        chosen = [g for g in range(len(attribute.labels)) if (a, g) in self.base.groups]
        indicators = (attribute.codes[:, None] == np.array(chosen, dtype=np.int64)).astype(float)
        if len(chosen) < 2:
            return np.full((len(indicators), 1), np.nan)
        indicators[indicators.sum(axis=1) == 0] = np.nan
        return indicators

    def meta(self) -> dict[str, Any]:
        """Return what a reader must know about the attributes."""
        return {
            "n_min": self.options.n_min,
            "attributes": {
                one.name: {
                    "groups": [label for g, label in enumerate(one.labels) if (a, g) in self.base.groups],
                    "withheld": [label for g, label in enumerate(one.labels) if (a, g) not in self.base.groups],
                    "edges": list(one.edges) or None,
                    "feature": one.name in self.subject.features,
                }
                for a, one in enumerate(self.cut)
            },
        }
