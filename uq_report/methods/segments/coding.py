"""Columns of every kind as ordered codes that a tree can cut, and what a range of codes is in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.numbers import number, plain, signed
from ...core.support.text import short

MISSING = -1
NAMED = 3
CUTS = 255  # of one ordered column at most, at quantiles of the growing rows
MISSING_LEVEL = "missing"


@dataclass(frozen=True)
class CodedFeature:
    """One feature as codes, shape (n,), `MISSING` or 0 to `last`; neighbours in the code are alike.

    Ordered columns have the end of each code but the last in words (`cuts`); of levels, `levels` names each code.
    `other` is the code of levels that no growing row has; None where all are known.
    """

    name: str
    codes: IntArray
    last: int
    cuts: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    dates: bool = False
    other: int | None = None

    def words(self, low: int, high: int) -> str:
        """Return codes `low` to `high` in words: ``"age above 47 and at most 60"``."""
        return f"{short(self.name)} {self._of_levels(low, high) if self.levels else self._of_range(low, high)}"

    def _of_range(self, low: int, high: int) -> str:
        if high == MISSING:
            return "missing"
        above, most = ("after", "up to") if self.dates else ("above", "at most")
        lower = f"{above} {self.cuts[low - 1]}" if low > 0 else ""
        upper = f"{most} {self.cuts[high]}" if high < self.last else ""
        ends = " and ".join(filter(None, (lower, upper))) or "not missing"
        return f"{ends} or missing" if low == MISSING and (self.codes == MISSING).any() else ends

    def _of_levels(self, low: int, high: int) -> str:
        """Name the levels inside or, where it is shorter or levels unknown to the tree are inside, those outside."""
        places = range(len(self.levels))
        inside, outside = ([self.levels[k] for k in places if (low <= k <= high) is side] for side in (True, False))
        unknown = self.other is not None and low <= self.other <= high
        if unknown or (self.other is None and len(outside) < len(inside)):
            return f"other than {_either(outside)}"
        return f"= {_either(inside)}"


def _either(names: list[str]) -> str:
    shown = names[:NAMED]
    more = f" or {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(shown)}{more}" if more or len(shown) < 2 else f"{', '.join(shown[:-1])} or {shown[-1]}"


@dataclass(frozen=True)
class Coding:
    """Codes of every feature, made from the growing `rows` only.

    Numbers and dates are coded by their order; levels by the mean of a target over the growing rows, which for a
    squared error loses no split (Fisher 1958). Levels that no growing row has stand at the mean.
    """

    subject: Subject
    rows: IntArray

    def by(self, target: FloatArray) -> list[CodedFeature]:
        """Return every feature as codes for a target, shape (n,)."""
        return [
            self._ordered.get(name) or _levels(name, pd.Series(self.subject.values(name)), self.rows, target)
            for name in self.subject.features
        ]

    @cached_property
    def _ordered(self) -> dict[str, CodedFeature]:
        """The features whose codes are the same for all targets."""
        kinds = self.subject.kinds
        return {name: self._by_order(name) for name in self.subject.features if kinds[name] != "categorical"}

    def _by_order(self, name: str) -> CodedFeature:
        values, dates = pd.Series(self.subject.values(name)), self.subject.kinds[name] == "datetime"
        numbers = _seconds(values) if dates else values.to_numpy(dtype=float, na_value=np.nan)
        return _ordered(name, numbers, self.rows, dates)


def _seconds(values: pd.Series[Any]) -> FloatArray:
    """Return dates as seconds of UTC."""
    naive = values if values.dt.tz is None else values.dt.tz_convert(None)
    return np.asarray((naive - pd.Timestamp(0)).dt.total_seconds(), dtype=float)


def _ordered(name: str, values: FloatArray, rows: IntArray, dates: bool) -> CodedFeature:
    missing = np.isnan(values)
    steps = np.unique(values[rows][~missing[rows]])
    at = np.arange(len(steps) - 1)
    if len(at) > CUTS:
        spread = np.quantile(values[rows][~missing[rows]], np.linspace(0, 1, CUTS + 2)[1:-1], method="inverted_cdf")
        at = np.intersect1d(at, np.searchsorted(steps, spread))
    ends = steps[at] if dates else np.array([shortest(steps[k], steps[k + 1]) for k in at])
    codes = np.where(missing, MISSING, np.searchsorted(ends, values, side="left")).astype(np.int64)
    words = tuple(_date(end) for end in ends) if dates else tuple(map(_exact, ends))
    return CodedFeature(name, codes, len(ends), cuts=words, dates=dates)


def shortest(low: float, high: float) -> float:
    """Return the number of fewest digits in [low, high), for "at most" it and "above" it.

    Examples
    --------
    >>> shortest(47.0, 48.0), shortest(2.0731, 2.1944), shortest(-0.33, 0.2), shortest(1e-9, 2e-9)
    (47.0, 2.1, 0.0, 1e-09)
    """
    if low <= 0 < high:
        return 0.0
    middle = low + (high - low) / 2 if np.isfinite(low) and np.isfinite(high) else low
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 17) for value in (middle, low))
    return next((x for x in candidates if low <= x < high), low)


def _exact(value: float) -> str:
    """Return a cut with every digit that it has."""
    if not np.isfinite(value):
        return number(value)
    return plain(value) if float(f"{value:.6g}") == value else signed(repr(float(value)))


def _date(seconds: float) -> str:
    stamp = pd.Timestamp(seconds, unit="s")
    return stamp.date().isoformat() if stamp == stamp.normalize() else stamp.isoformat(sep=" ", timespec="seconds")


def _levels(name: str, values: pd.Series[Any], rows: IntArray, target: FloatArray) -> CodedFeature:
    codes, labels = pd.factorize(values.astype(object))
    names = [short(label, 24) for label in labels.tolist()]
    if (codes < 0).any():
        codes, names = np.where(codes < 0, len(names), codes), [*names, MISSING_LEVEL]
    counts = np.bincount(codes[rows], minlength=len(names))
    present = np.flatnonzero(counts)
    means = np.bincount(codes[rows], target[rows], len(names))[present] / counts[present]
    order = present[np.argsort(means, kind="stable")]
    other = int(np.abs(np.sort(means) - target[rows].mean()).argmin())
    place = np.full(len(names), other, dtype=np.int64)
    place[order] = np.arange(len(order))
    unknown: BoolArray = ~np.isin(codes, present)
    known = tuple(names[k] for k in order)
    return CodedFeature(name, place[codes], len(order) - 1, levels=known, other=other if unknown.any() else None)
