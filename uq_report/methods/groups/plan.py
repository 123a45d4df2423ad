"""Which groups are shown, and what is said of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...checks.reading import two_sided
from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Omission
from ...core.model.sampling import Sampling
from ...core.statistics.inference import n_units
from ...core.support.arrays import BoolArray, FloatArray
from ...evidence.outcomes import CONFIDENCE_GAP
from ..shared.attributes import Attribute, Key, large_groups
from ..shared.estimates import estimate, mean_of, share_of
from .contrasts import EXACT_UNITS, Values, difference, gap_p_values, shuffled_p_values

ALL = "all observations"


@dataclass(frozen=True)
class Plan:
    """The groups that may be shown for every set of rows, and the lines about them.

    Groups need `n_min` rows or clusters; exact tests take `n_draws` draws at least.
    """

    n_min: int
    n_draws: int
    engine: Engine
    attributes: Sequence[Attribute]
    values: Sequence[Values]

    @cached_property
    def sampling(self) -> Sampling:
        """How rows enter a mean."""
        return Sampling.of(self.engine.subject)

    @cached_property
    def counted(self) -> BoolArray:
        """The rows with a weight."""
        return self.sampling.weights > 0

    def members(self, key: Key) -> BoolArray:
        """Return the mask of a group's rows."""
        a, g = key
        return self.attributes[a].codes == g

    def place(self, key: Key) -> dict[str, str]:
        """Return the columns that name a group."""
        a, g = key
        return {"feature": self.attributes[a].name, "item": self.attributes[a].labels[g]}

    @cached_property
    def base(self) -> frozenset[Key]:
        """The groups shown for means over all rows."""
        return large_groups(self.attributes, self.counted, self.sampling.unit_codes, self.n_min)

    @cached_property
    def shown(self) -> dict[bytes, frozenset[Key]]:
        """The groups shown for each set of rows that a measure is a mean over."""
        sets = {value.inside.tobytes(): value.inside & self.counted for value in self.values}
        units = self.sampling.unit_codes
        return {key: large_groups(self.attributes, rows, units, self.n_min) for key, rows in sets.items()}

    def _enough(self, rows: BoolArray) -> bool:
        """Say whether rows have as many units as a group needs."""
        return n_units(rows & self.counted, self.sampling.unit_codes) >= self.n_min

    @cached_property
    def infinite(self) -> dict[str, int]:
        """Measures that are infinite somewhere, with the number of rows."""
        counts = {value.measure: int((~np.isfinite(value.rows[value.inside])).sum()) for value in self.values}
        return {name: count for name, count in counts.items() if count}

    @cached_property
    def compared(self) -> dict[bytes, list[Key]]:
        """The groups that are compared with enough other rows: of two groups of an attribute the smaller one."""
        compared = {}
        for rows, groups in self.shown.items():
            inside, larger = np.frombuffer(rows, dtype=bool), set()
            for a, attribute in enumerate(self.attributes):
                if len(attribute.labels) == 2 and {(a, 0), (a, 1)} <= groups:
                    sizes = np.bincount(attribute.codes[inside], minlength=2)
                    larger.add((a, 1 - int(np.argmin(sizes))))
            compared[rows] = [key for key in sorted(groups - larger) if self._enough(inside & ~self.members(key))]
        return compared

    @property
    def draws(self) -> int:
        """Draws of each exact test, so many that Holm's adjustment can still reject."""
        tests = sum(len(self.compared[value.inside.tobytes()]) for value in self.values if value.tested)
        return max(self.n_draws, 100 * tests)

    def means(self, value: Values) -> Iterator[dict[str, Any]]:
        """Yield the line of all rows and those of the groups shown."""
        if self._enough(value.inside):
            yield self._mean(value, value.inside) | {"item": ALL}
        for key in sorted(self.shown[value.inside.tobytes()]):
            tested = {"p_value": self.gap_tests[key]} if value.measure == CONFIDENCE_GAP else {}
            yield self._mean(value, value.inside & self.members(key)) | self.place(key) | tested

    def _mean(self, value: Values, rows: BoolArray) -> dict[str, Any]:
        part, confidence = self.sampling.part(rows), self.engine.confidence
        line = (share_of if value.share else mean_of)(value.rows[rows], part, confidence)
        return {**line, "measure": value.measure, "n": int((rows & self.counted).sum()), "unit": value.unit}

    @cached_property
    def gap_tests(self) -> dict[Key, float]:
        """The p-value of each group's confidence gap: by draws from q for groups up to 500 units, else by t."""
        gap = next(value for value in self.values if value.measure == CONFIDENCE_GAP)
        masks = {key: self.members(key) for key in sorted(self.shown[gap.inside.tobytes()])}
        p_values = {}
        for key, mask in masks.items():
            part = self.sampling.part(mask)
            p_values[key] = float(two_sided(*part.mean(gap.rows[mask]), part.units - 1))
        rows = self.sampling.independent_rows(self.engine.rng("units"))
        small = [key for key, mask in masks.items() if mask[rows].sum() <= EXACT_UNITS]
        drawn = "sample" in self.engine.baseline.supports and not self.engine.baseline.censored
        if small and self.engine.y is not None and drawn:
            used = rows[np.any([masks[key][rows] for key in small], axis=0)]
            q, y, weights = self.engine.baseline.take(used), self.engine.y[used], self.sampling.weights[used]
            members = [masks[key][used] for key in small]
            exact = gap_p_values(q, y, members, weights, self.engine.rng("outcomes"), self.draws)
            p_values |= dict(zip(small, exact, strict=True))
        return p_values

    def differences(self, value: Values) -> Iterator[dict[str, Any]]:
        """Yield each group's difference to the rest of the rows."""
        confidence, inside = self.engine.confidence, value.inside & self.counted
        for key in self.compared[value.inside.tobytes()]:
            group, rest = inside & self.members(key), inside & ~self.members(key)
            if not rest.any():
                continue
            contrast = difference(value.rows, group, rest, self.sampling, value.share, value.variance)
            low, high = contrast.interval(confidence)
            ends = min(low, contrast.estimate), max(high, contrast.estimate)
            exact = self._shuffled.get((value.inside.tobytes(), key), {})
            line = estimate(contrast.estimate, contrast.std_error, ends, confidence, value.measure) | self.place(key)
            line |= {"n": int(group.sum()), "n_rest": int(rest.sum()), "unit": value.unit}
            line |= {"scale": self._spread(value, group) if value.measure == CONFIDENCE_GAP else value.scale}
            overall = float(self.sampling.part(value.inside).mean(value.rows[value.inside])[0])
            p_value = exact.get(value.measure, contrast.p_value) if value.tested else np.nan
            if value.variance is not None:  # groups of other base rates are not exchangeable
                p_value = max(p_value, contrast.p_value)
            yield line | {"p_value": p_value, "overall": overall}

    def _spread(self, value: Values, group: BoolArray) -> float:
        """Return the standard deviation that the model states for the values of a group, else the observed one."""
        part = self.sampling.part(group)
        mean = part.mean(value.rows[group])[0]
        squares = np.square(value.rows - mean) if value.variance is None else value.variance
        return float(np.sqrt(part.weights @ squares[group]))

    @cached_property
    def _shuffled(self) -> dict[tuple[bytes, Key], dict[str, float]]:
        """The exact p-values of differences by measure, where rows are exchangeable and few."""
        weights = self.sampling.weights
        if self.sampling.codes is not None or np.ptp(weights[weights > 0]) > 0:
            return {}
        p_values = {}
        for rows, keys in self.compared.items():
            inside = np.frombuffer(rows, dtype=bool) & self.counted
            tested = {
                value.measure: (value.rows[inside], value.share)
                for value in self.values
                if value.inside.tobytes() == rows and value.tested and value.measure not in self.infinite
            }
            for key in keys:
                group = self.members(key)[inside]
                smaller = group if 2 * group.sum() <= len(group) else ~group
                if tested and smaller.any() and smaller.sum() <= EXACT_UNITS:
                    rng = self.engine.rng("shuffle", self.attributes[key[0]].name, key[1], int(inside.sum()))
                    p_values[rows, key] = shuffled_p_values(tested, smaller, rng, self.draws)
        return p_values

    def omissions(self) -> Iterator[Omission]:
        """Yield what is not shown, and why; never how many rows."""
        for name, count in self.infinite.items():
            yield Omission(name, "", f"infinite in {count} observations; calibrate or smooth the model's probabilities")
        for a, attribute in enumerate(self.attributes):
            for key in ((a, g) for g in range(len(attribute.labels))):
                if key not in self.base:
                    yield Omission("", attribute.name, f"a group has fewer than {self.n_min} observations or clusters")
                for value in self.values:
                    if key in self.base - self.shown[value.inside.tobytes()]:
                        reason = f"a group has fewer than {self.n_min} {value.unit.removeprefix('share of ')}"
                        yield Omission(value.measure, attribute.name, reason)

    def target(self, a: int, attribute: Attribute) -> FloatArray:
        """Return what the features are to tell of an attribute, shape (n, k); NaN for rows that take no part."""
        if attribute.numbers is not None:
            numbers = np.where(np.isfinite(attribute.numbers), attribute.numbers, np.nan)[:, None]
            return np.asarray(numbers - np.nanmean(numbers))
        groups = [g for g in range(len(attribute.labels)) if (a, g) in self.base]
        if len(groups) < 2:
            return np.full((self.engine.subject.n, 1), np.nan)
        indicators = (attribute.codes[:, None] == np.array(groups)).astype(float)
        indicators[indicators.sum(axis=1) == 0] = np.nan
        return indicators

    def meta(self) -> dict[str, Any]:
        """Return what a reader must know about the attributes."""
        facts = {}
        for a, attribute in enumerate(self.attributes):
            labels = list(enumerate(attribute.labels))
            facts[attribute.name] = {
                "groups": [label for g, label in labels if (a, g) in self.base],
                "withheld": [label for g, label in labels if (a, g) not in self.base],
                "edges": list(attribute.edges) or None,
                "feature": attribute.name in self.engine.subject.features,
            }
        return {"n_min": self.n_min, "attributes": facts}
