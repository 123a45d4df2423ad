"""The points at which a profile is computed: observed quantiles, or levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray
from ...core.errors import InputError
from ...core.inputs import Kind
from ...core.subject import Subject


@dataclass(frozen=True)
class Grid:
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
            found = pd.Index(self.steps).searchsorted(series.dropna())
            own = np.full(subject.n, np.nan)
            own[series.notna().to_numpy()] = np.minimum(found, len(self.steps) - 1)
            return own
        own = pd.Index(self.steps).get_indexer(pd.Index(series.astype(object))).astype(float)
        return np.where(own < 0, np.nan, own)


def make_grid(
    subject: Subject,
    feature: str,
    resolution: int,
    percentiles: tuple[float, float],
    max_levels: int,
    custom: Sequence[Any] | None = None,
) -> Grid | None:
    """Return the grid of a feature, or None if none of its values is known.

    Numeric and datetime features: observed quantiles at `resolution` levels equally spaced between
    `percentiles`, deduplicated (all values where there are no more than that), so that every point
    occurs in the data and no type is cast. Others: the levels that occur, in the order of the
    categories or else sorted; above `max_levels` the most frequent ones.
    """
    kind = subject.kinds[feature]
    series = pd.Series(subject.values(feature))
    known = series[series.notna()]
    notes = _missing_note(feature, len(series) - len(known))
    if kind == "numeric":
        finite = np.isfinite(known.to_numpy(dtype=float))
        if not finite.all():
            notes += (f"{feature}: {int((~finite).sum())} infinite values are not on the grid.",)
        known = known[finite]
    if len(known) == 0:
        return None
    if custom is not None:
        values = _custom(feature, custom, series, kind)
    elif kind == "categorical":
        values, more = _levels(feature, known, max_levels)
        notes += more
    else:
        values = _quantiles(known, resolution, percentiles)
    if len(values) == 1:
        notes += (f"{feature} has one value on the grid; its profile is a single point.",)
    numeric = kind == "numeric"
    x = np.array(values, dtype=float) if numeric else np.arange(len(values), dtype=float)
    levels = tuple("" if numeric else _text(value, kind) for value in values)
    return Grid(feature, subject.positions(feature)[0], values, x, levels, notes)


def _quantiles(known: pd.Series[Any], resolution: int, percentiles: tuple[float, float]) -> tuple[Any, ...]:
    """Return observed values at equally spaced cumulative shares (the inverse of the empirical cdf)."""
    ordered = known.sort_values(ignore_index=True)
    distinct = ordered.drop_duplicates()
    if len(distinct) <= resolution and percentiles == (0.0, 1.0):
        return tuple(distinct)
    shares = np.linspace(*percentiles, resolution)
    at = np.clip(np.ceil(shares * len(ordered)).astype(int) - 1, 0, len(ordered) - 1)
    return tuple(ordered.iloc[at].drop_duplicates())


def _levels(feature: str, known: pd.Series[Any], max_levels: int) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Return the levels that occur, in order, and a note if some are left out."""
    counts = known.value_counts()
    counts = counts[counts > 0]
    kept = set(counts.index[:max_levels])
    if isinstance(known.dtype, pd.CategoricalDtype):
        order = list(known.dtype.categories)
    else:
        order = sorted(
            counts.index, key=lambda level: (not isinstance(level, int | float), type(level).__name__, level)
        )
    levels = tuple(level for level in order if level in kept)
    if len(counts) <= max_levels:
        return levels, ()
    rest = int(counts.iloc[max_levels:].sum())
    return levels, (
        f"{feature}: the {max_levels} most frequent of {len(counts)} levels; {rest} rows have another one.",
    )


def _custom(feature: str, custom: Sequence[Any], series: pd.Series[Any], kind: Kind) -> tuple[Any, ...]:
    """Return the user's points in the column's own type; refuse those it cannot hold exactly."""
    given = pd.Series(list(custom), dtype=object)
    try:
        cast = given.astype(series.dtype)
        held = bool(len(cast)) and bool(cast.notna().all()) and (kind == "datetime" or bool((cast == given).all()))
    except (TypeError, ValueError) as error:
        raise InputError(_refusal(feature, custom, series)) from error
    if not held:
        raise InputError(_refusal(feature, custom, series))
    points = cast if kind == "categorical" else cast.sort_values()
    return tuple(points.drop_duplicates())


def _refusal(feature: str, custom: Sequence[Any], series: pd.Series[Any]) -> str:
    return (
        f"pdp.custom_values[{feature!r}] must hold at least one value, none missing, that a column of type "
        f"{series.dtype} can hold; got {list(custom)!r}. Pass such values, or convert the column in X."
    )


def _missing_note(feature: str, missing: int) -> tuple[str, ...]:
    return (f"{feature}: {missing} rows have no value; the grid holds observed values only.",) if missing else ()


def _text(value: Any, kind: Kind) -> str:
    return str(value.isoformat()) if kind == "datetime" else str(value)
