"""Which groups are shown, what is said of each, and what is withheld."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...checks.reading import two_sided
from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Omission
from ...core.model.sampling import Sampling
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.numbers import infinite
from ...core.support.text import short
from ...evidence.outcomes import CONFIDENCE_GAP
from ..shared.estimates import estimate, mean_of, share_of
from .contrasts import EXACT_UNITS, Values, difference, gap_p_values, shuffled_p_values

QUARTILES = (0.25, 0.5, 0.75)
MISSING = "missing"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
BELOW = ("under", "below", "up to", "less", "at most", "younger")
LESS = re.compile(r"^[^\d]*[<≤][^\d]*\d+(?:\.\d+)?[^\d]*$|\b(and|or) (under|below|less|younger)\b")
TOLERANCE = 1e-8
Key = tuple[int, int]


@dataclass(frozen=True)
class Attribute:
    """A protected attribute: the group of each row (a position in `labels`).

    One that was cut has the `edges`, and the `numbers` that were cut, of dates their ranks.
    """

    name: str
    labels: tuple[str, ...]
    codes: IntArray
    edges: tuple[str, ...] = ()
    numbers: FloatArray | None = None


def attributes(protected: Mapping[str, AnyArray], max_levels: int) -> list[Attribute]:
    """Return each attribute as groups: ordered ones of more than `max_levels` values cut at their quartiles."""
    return [_attribute(name, pd.Series(values), max_levels) for name, values in protected.items()]


def _attribute(name: str, values: pd.Series[Any], max_levels: int) -> Attribute:
    values = values.infer_objects()
    dates = pd.api.types.is_datetime64_any_dtype(values.dtype)
    plain = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
    if (plain or dates) and values.nunique() > max_levels:
        return _cut(name, values, values.rank() if dates else values.astype(float))
    levels = _sorted(values.dropna().unique().tolist())
    place = {level: position for position, level in enumerate(levels)}
    codes = np.array([place.get(cell, len(levels)) for cell in values.tolist()], dtype=np.int64)
    return Attribute(name, _unique([_word(level) for level in levels], codes), codes)


def _cut(name: str, values: pd.Series[Any], numbers: pd.Series[Any]) -> Attribute:
    """Return the quarters of an ordered attribute; its edges are values that occur."""
    ordered = np.sort(values.dropna().to_numpy())
    places = [int(np.ceil(level * len(ordered))) - 1 for level in QUARTILES]
    edges = [edge for edge in pd.unique(ordered[places]) if edge < ordered[-1]]
    codes = np.searchsorted(np.array(edges), values.to_numpy(), side="left").astype(np.int64)
    codes[values.isna().to_numpy()] = len(edges) + 1
    words = [_word(edge) for edge in edges]
    between = [f"over {low} to {high}" for low, high in pairwise(words)]
    labels = [f"up to {words[0]}", *between, f"over {words[-1]}"] if words else ["all values"]
    return Attribute(name, _unique(labels, codes), codes, tuple(words), np.asarray(numbers, dtype=float))


def _unique(labels: Sequence[str], codes: IntArray) -> tuple[str, ...]:
    """Return labels that differ, with one more for missing values where there are any."""
    unique: list[str] = []
    for label in [*labels, *([MISSING] if (codes == len(labels)).any() else [])]:
        alike = sum(earlier == label or earlier.startswith(f"{label} (") for earlier in unique)
        unique.append(f"{label} ({alike + 1})" if label in unique else label)
    return tuple(unique)


def _word(value: Any) -> str:
    if isinstance(value, np.datetime64 | pd.Timestamp):
        return str(pd.Timestamp(value))
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return short(value)
    return f"{value:.6g}" if np.isfinite(value) else infinite(float(value))


def _sorted(levels: list[Any]) -> list[Any]:
    """Return levels in their order, bands by where they begin; in that of their words where they have none."""
    if sum(_bound(level) is not None for level in levels) > 1:
        return sorted(levels, key=lambda level: (_bound(level) is None, _bound(level) or (), str(level)))
    try:
        return sorted(levels)
    except TypeError:
        return sorted(levels, key=lambda level: (type(level).__name__, str(level)))


def _bound(level: Any) -> tuple[float, bool, float] | None:
    """Return where a band such as ``"30 to 44"`` or ``"< 30"`` begins, and whether it is above it; None if it is none.

    Examples
    --------
    >>> sorted(["45 and more", "30 to 44", "under 30", "100+"], key=_bound)
    ['under 30', '30 to 44', '45 and more', '100+']
    """
    if not isinstance(level, str):
        return None
    numbers = [float(number) for number in NUMBER.findall(level)]
    if not numbers:
        return None
    word = level.lower()
    opens = word.lstrip().startswith(BELOW) or bool(LESS.search(word))
    return (numbers[0], not opens, numbers[-1])


@dataclass(frozen=True)
class Disclosure:
    """The groups that may be shown, as (attribute, group) positions, and those withheld though large enough."""

    groups: frozenset[Key]
    complements: frozenset[Key]


def disclose(
    attributes: Sequence[Attribute], inside: BoolArray, units: IntArray, n_min: int, among: Disclosure | None = None
) -> Disclosure:
    """Return the groups whose means over the rows `inside` may be shown.

    A group needs `n_min` units (rows, or clusters). The mean over all rows and those of the groups shown
    have known sizes, so every sum that is a linear combination of theirs can be worked out. As long as
    that holds for a set of fewer than `n_min` units (a group, the withheld groups of an attribute together, or
    the rows that share one group of every attribute), the smallest group that protects it is withheld as well.

    Parameters
    ----------
    attributes : sequence of Attribute
    inside : ndarray of bool, shape (n,)
        The rows that the means are taken over.
    units : ndarray of int, shape (n,)
        The independent unit of each row.
    n_min : int
    among : Disclosure, optional
        What may be shown at all.
    """
    masks = {
        (a, g): (attribute.codes == g) & inside
        for a, attribute in enumerate(attributes)
        for g in range(len(attribute.labels))
    }
    sizes = {key: _count(mask, units) for key, mask in masks.items()}
    large = {key for key, size in sizes.items() if size >= n_min and (among is None or key in among.groups)}
    if _count(inside, units) < n_min:
        return Disclosure(frozenset(), frozenset(large))
    cells, first = _cells(attributes, inside)
    published = sorted(large, key=lambda key: (sizes[key], key))
    while published:
        small = _small({key: mask for key, mask in masks.items() if key not in published}, cells, units, n_min)
        # equal rows of all groups give equal equations, so one row of each cell is enough
        sums = {key: masks[key][first].astype(float) for key in published}
        drop = _to_withhold(sums, inside[first].astype(float), small[:, first].astype(float))
        if drop is None:
            break
        published.remove(drop)
    return Disclosure(frozenset(published), frozenset(large.difference(published)))


def _cells(attributes: Sequence[Attribute], inside: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the masks of the rows that share one group of every attribute, and one row of each."""
    codes = np.column_stack([attribute.codes for attribute in attributes])[inside]
    _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    rows = np.flatnonzero(inside)
    cells = np.zeros((len(first), len(inside)), dtype=bool)
    cells[place.ravel(), rows] = True
    return cells, rows[first]


def _small(withheld: dict[Key, BoolArray], cells: BoolArray, units: IntArray, n_min: int) -> BoolArray:
    """Return the masks, shape (sets, n), of the sets of fewer than `n_min` units that must not be worked out."""
    together = [
        np.any([mask for key, mask in withheld.items() if key[0] == a], axis=0)
        for a in sorted({attribute for attribute, _ in withheld})
    ]
    sets = [*withheld.values(), *together, *cells]
    small = [mask for mask in sets if mask.any() and _count(mask, units) < n_min]
    return np.array(small, dtype=bool).reshape(len(small), len(units))


def _to_withhold(published: dict[Key, FloatArray], whole: FloatArray, small: FloatArray) -> Key | None:
    """Return the smallest group without which a small set cannot be worked out; None if none can be.

    If no group alone protects it, the smallest of all is returned, and the next round goes on from there.
    """
    exposed = _exposed([*published.values(), whole], small)
    if not exposed.any():
        return None
    target = small[[int(np.argmax(exposed))]]
    for key in published:
        others = [mask for other, mask in published.items() if other != key]
        if not _exposed([*others, whole], target).any():
            return key
    return next(iter(published))


def _exposed(published: list[FloatArray], small: FloatArray) -> BoolArray:
    """Return which of the small sets are linear combinations of the published ones."""
    if not len(small):
        return np.zeros(0, dtype=bool)
    sums = np.array(published).T
    weights = np.linalg.lstsq(sums, small.T, rcond=None)[0]
    return np.asarray(np.abs(sums @ weights - small.T).max(axis=0) < TOLERANCE)


def _count(mask: BoolArray, units: IntArray) -> int:
    return len(np.unique(units[mask]))


ALL = "all rows"


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

    @cached_property
    def units(self) -> IntArray:
        """The independent unit of each row."""
        return np.arange(self.engine.subject.n) if self.sampling.codes is None else self.sampling.codes

    def members(self, key: Key) -> BoolArray:
        """Return the mask of a group's rows."""
        a, g = key
        return self.attributes[a].codes == g

    def place(self, key: Key) -> dict[str, str]:
        """Return the columns that name a group."""
        a, g = key
        return {"feature": self.attributes[a].name, "item": self.attributes[a].labels[g]}

    @cached_property
    def base(self) -> Disclosure:
        """The groups shown for means over all rows."""
        return disclose(self.attributes, self.counted, self.units, self.n_min)

    @cached_property
    def disclosed(self) -> dict[bytes, Disclosure]:
        """The groups shown for each set of rows that a measure is a mean over."""
        sets = {value.inside.tobytes(): value.inside & self.counted for value in self.values}
        return {key: disclose(self.attributes, rows, self.units, self.n_min, self.base) for key, rows in sets.items()}

    @cached_property
    def infinite(self) -> dict[str, int]:
        """Measures that are infinite somewhere, with the number of rows."""
        counts = {value.measure: int((~np.isfinite(value.rows[value.inside])).sum()) for value in self.values}
        return {name: count for name, count in counts.items() if count}

    @cached_property
    def compared(self) -> dict[bytes, list[Key]]:
        """The groups that are compared with the rest: of two groups of an attribute the smaller one."""
        compared = {}
        for rows, disclosure in self.disclosed.items():
            larger = set()
            for a, attribute in enumerate(self.attributes):
                if len(attribute.labels) == 2 and {(a, 0), (a, 1)} <= disclosure.groups:
                    sizes = np.bincount(attribute.codes[np.frombuffer(rows, dtype=bool)], minlength=2)
                    larger.add((a, 1 - int(np.argmin(sizes))))
            compared[rows] = sorted(disclosure.groups - larger)
        return compared

    @property
    def draws(self) -> int:
        """Draws of each exact test, so many that Holm's adjustment can still reject."""
        tests = sum(len(self.compared[value.inside.tobytes()]) for value in self.values if value.tested)
        return max(self.n_draws, 100 * tests)

    def means(self, value: Values) -> Iterator[dict[str, Any]]:
        """Yield the line of all rows and those of the groups shown."""
        groups = self.disclosed[value.inside.tobytes()].groups
        if groups or len(np.unique(self.units[value.inside & self.counted])) >= self.n_min:
            yield self._mean(value, value.inside) | {"item": ALL}
        for key in sorted(groups):
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
        masks = {key: self.members(key) for key in sorted(self.disclosed[gap.inside.tobytes()].groups)}
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
            yield Omission(name, "", f"infinite in {count} rows; calibrate or smooth the model's probabilities")
        for a, attribute in enumerate(self.attributes):
            for key in ((a, g) for g in range(len(attribute.labels))):
                if key in self.base.complements:
                    yield Omission("", attribute.name, "a group is withheld, as it would give away a smaller one")
                elif key not in self.base.groups:
                    yield Omission("", attribute.name, f"a group has fewer than {self.n_min} rows or clusters")
                for value in self.values:
                    if key in self.base.groups - self.disclosed[value.inside.tobytes()].groups:
                        rows = value.unit.removeprefix("share of ")
                        reason = f"a group has fewer than {self.n_min} {rows}, or would give away one that has"
                        yield Omission(value.measure, attribute.name, reason)

    def target(self, a: int, attribute: Attribute) -> FloatArray:
        """Return what the features are to tell of an attribute, shape (n, k); NaN for rows that take no part."""
        if attribute.numbers is not None:
            numbers = np.where(np.isfinite(attribute.numbers), attribute.numbers, np.nan)[:, None]
            return np.asarray(numbers - np.nanmean(numbers))
        groups = [g for g in range(len(attribute.labels)) if (a, g) in self.base.groups]
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
                "groups": [label for g, label in labels if (a, g) in self.base.groups],
                "withheld": [label for g, label in labels if (a, g) not in self.base.groups],
                "edges": list(attribute.edges) or None,
                "feature": attribute.name in self.engine.subject.features,
            }
        return {"n_min": self.n_min, "attributes": facts}
