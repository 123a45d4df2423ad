"""What curves and surfaces of measures along features share: which features, their filling, their places in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
