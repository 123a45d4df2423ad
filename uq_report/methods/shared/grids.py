"""The points at which a profile is computed (observed quantiles, or levels), and what its curves share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import Measure
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError, nearest


@dataclass(frozen=True)
class FeatureGrid:
    """Points of one feature, in order.

    Parameters
    ----------
    feature : str
    column : int
        Position in the subject's table.
    steps : tuple
        What is put into the column, in the column's own type.
    x : ndarray, shape (points,)
        The value where numeric, else the position of the level.
    levels : tuple of str
        The level's text; empty strings where numeric.
    notes : tuple of str
    """

    feature: str
    column: int
    steps: tuple[Any, ...]
    x: FloatArray
    levels: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether `x` is a measured quantity, so that slopes mean something."""
        return not any(self.levels)

    def own_x(self, subject: Subject) -> FloatArray:
        """Return where each row's own value stands on the x axis, shape (n,); NaN where it does not."""
        series = pd.Series(subject.values(self.feature))
        if self.numeric:
            own = series.to_numpy(dtype=float, na_value=np.nan)
            return np.where(np.isfinite(own), own, np.nan)
        if pd.api.types.is_datetime64_any_dtype(series.dtype):
            own, present = np.full(subject.n, np.nan), series.notna().to_numpy()
            own[present] = np.minimum(
                pd.Index(self.steps).searchsorted(pd.DatetimeIndex(series[present])), len(self.steps) - 1
            )
            return own
        levels, cells = (pd.Index(values, dtype=object) for values in (self.steps, series.astype(object)))
        own = levels.get_indexer(cells).astype(float)
        return np.where(own < 0, np.nan, own)


def make_grid(
    subject: Subject,
    feature: str,
    resolution: int,
    percentiles: tuple[float, float],
    max_levels: int,
    custom: Sequence[Any] | None = None,
) -> FeatureGrid | None:
    """Return the grid of a feature, or None if it has no value.

    Numeric and datetime features: observed quantiles at `resolution` levels equally spaced between
    `percentiles`, deduplicated (all values where there are no more than that), so that every point
    occurs in the data and no type is cast. Others: the levels that occur, in the order of the
    categories or else sorted; above `max_levels` the most frequent ones.
    """
    kind = subject.kinds[feature]
    own = subject.values(feature)
    if kind != "numeric" or not (isinstance(own, np.ndarray) and own.dtype.kind in "iuf"):
        own = pd.Series(own)
    present = own[~pd.isna(own)]
    notes, missing = [], len(own) - len(present)
    if missing:
        notes.append(f"{feature}: {missing} observations have no value; the grid has observed values only.")
    if kind == "numeric":
        finite = np.isfinite(np.asarray(present, dtype=float))
        if not finite.all():
            notes.append(f"{feature}: {int((~finite).sum())} infinite values are not on the grid.")
        present = present[finite]
    if len(present) == 0:
        return None
    if custom is not None:
        values = tuple(custom)
    elif kind == "categorical":
        values, more = _levels(feature, present, max_levels)
        notes += more
    else:
        values = _quantiles(present, resolution, percentiles)
    if len(values) == 1:
        notes.append(f"{feature} has one value on the grid; its profile is a single point.")
    numeric = kind == "numeric"
    x = np.array(values, dtype=float) if numeric else np.arange(len(values), dtype=float)
    levels = tuple("" if numeric else value.isoformat() if kind == "datetime" else str(value) for value in values)
    return FeatureGrid(feature, subject.positions(feature)[0], values, x, levels, tuple(notes))


def _quantiles(present: Any, resolution: int, percentiles: tuple[float, float]) -> tuple[Any, ...]:
    """Return observed values at equally spaced cumulative shares (the inverse of the empirical cdf)."""
    ordered = np.sort(present) if isinstance(present, np.ndarray) else present.sort_values().array
    distinct = _distinct(ordered)
    if len(distinct) <= resolution and percentiles == (0.0, 1.0):
        return distinct
    shares = np.linspace(*percentiles, resolution)
    at = np.clip(np.ceil(shares * len(ordered)).astype(int) - 1, 0, len(ordered) - 1)
    return _distinct(ordered[at])


def _distinct(ordered: Any) -> tuple[Any, ...]:
    """Return the distinct ones of sorted values, of any type."""
    changes = np.asarray(ordered[1:] != ordered[:-1], dtype=bool)
    return tuple(ordered[np.concatenate([[True], changes])].tolist())


def _levels(feature: str, present: pd.Series[Any], max_levels: int) -> tuple[tuple[Any, ...], list[str]]:
    """Return the levels that occur, in order, and a note if some are left out."""
    levels, number = frequent_levels(present, max_levels)
    if isinstance(present.dtype, pd.CategoricalDtype):
        ordered = [level for level in present.dtype.categories if level in levels]
    else:
        ordered = sorted(levels, key=lambda level: (not isinstance(level, int | float), type(level).__name__, level))
    rest = int((~present.isin(levels)).sum())
    note = f"{feature}: the {max_levels} most frequent of {number} levels; {rest} observations have another one."
    return tuple(ordered), [note] if number > max_levels else []


def frequent_levels(present: pd.Series[Any], max_levels: int) -> tuple[pd.Index[Any], int]:
    """Return the most frequent of the levels that occur, and how many occur; of equal ones those that come first."""
    counts = present.value_counts()
    counts = counts[counts > 0]
    return counts.index[:max_levels], len(counts)


Pairs = Sequence[tuple[str, str]]
Point = tuple[Variant, Callable[[FloatArray], None]]  # what is evaluated, and who takes the values
Ticks = tuple[FloatArray, Sequence[str]]  # the values, or the positions of levels; and their texts


def fill(points: Sequence[Point], engine: Engine, measures: Sequence[Measure]) -> None:
    """Evaluate every point of every curve in one stream of variants, each handed its measures, shape (M, n)."""
    for group in engine.evaluate((variant for variant, _ in points), measures, total=len(points)):
        for v in range(group.values.shape[1]):
            points[group.first + v][1](group.values[:, v])


def features_of(
    who: str, subject: Subject, features: Sequence[str] | None, pairs: Pairs = (), further: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the features with a curve, all by default, and with those of pairs; refuse what is no feature of X."""
    single = subject.features if features is None else tuple(features)
    names = tuple(dict.fromkeys((*single, *chain.from_iterable(pairs))))
    for name in (*names, *further):
        if name not in subject.features:
            raise InputError(f"{who}.features must be features of X; got {name!r}. {nearest(name, subject.features)}")
    return single, names


def are_pairs(pairs: Pairs) -> bool:
    """Say whether every pair is of two features."""
    return all(len(pair) == 2 and pair[0] != pair[1] for pair in pairs)


def surface_places(first: Ticks, second: Ticks) -> dict[str, Any]:
    """Return the columns that say where the points of a surface are, the second axis running fastest."""
    (x, levels), (x_2, levels_2) = first, second
    return {
        "x": np.repeat(x, len(x_2)),
        "level": np.repeat(np.array(levels, dtype=object), len(x_2)),
        "x_2": np.tile(x_2, len(x)),
        "level_2": np.tile(np.array(levels_2, dtype=object), len(x)),
    }


def stacked(tables: Sequence[Mapping[str, Any] | pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Return tables of columns below each other, with exactly `columns`; one value stands on every line of its table.

    Examples
    --------
    >>> stacked([{"x": [1, 2], "name": "a"}, {"x": [3], "name": "b"}], ["name", "x"]).to_numpy().tolist()
    [['a', 1], ['a', 2], ['b', 3]]
    """
    if not tables:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
    lines = [(table, next(len(table[name]) for name in table if np.ndim(table[name]))) for table in map(dict, tables)]
    cells = {name: np.concatenate([_cells(table[name], size) for table, size in lines]) for name in columns}
    return pd.DataFrame(cells)


def _cells(cells: Any, size: int) -> AnyArray:
    if np.ndim(cells):
        return np.asarray(cells)
    return np.full(size, cells, dtype=object if isinstance(cells, str) else None)
