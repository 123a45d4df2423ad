"""What curves and surfaces of measures along features share: which features, their filling, their places in a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray
from ...core.engine import Engine
from ...core.errors import InputError, nearest
from ...core.measures import Measure
from ...core.subject import Subject
from ...core.variants import Variant

Pairs = Sequence[tuple[str, str]]


class Points(Protocol):
    """The points of an axis: what numbers are there, and the texts of levels."""

    @property
    def x(self) -> FloatArray:
        """The value where numeric, else the position of the level."""

    @property
    def levels(self) -> tuple[str, ...]:
        """The level's text; empty strings where numeric."""


class Fillable(Protocol):
    """A curve or surface that takes the values of its variants in their order."""

    @property
    def count(self) -> int:
        """Number of variants."""

    def variants(self) -> Iterator[Variant]:
        """Yield what to evaluate."""

    def add(self, values: FloatArray) -> None:
        """Take the measures (M, n) of the next variant."""


def fill(curves: Sequence[Fillable], engine: Engine, measures: Sequence[Measure]) -> None:
    """Evaluate every point of every curve in one stream of variants."""
    order = [curve for curve in curves for _ in range(curve.count)]
    variants = chain.from_iterable(curve.variants() for curve in curves)
    for group in engine.evaluate(variants, measures, total=len(order)):
        for v in range(group.values.shape[1]):
            order[group.first + v].add(group.values[:, v])


def features_of(
    who: str, subject: Subject, features: Sequence[str] | None, pairs: Pairs, further: Iterable[str]
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


def surface_places(first: Points, second: Points) -> dict[str, Any]:
    """Return the columns that say where the points of a surface are, the second axis running fastest."""
    a, b = (np.array(points.levels, dtype=object) for points in (first, second))
    return {
        "x": np.repeat(first.x, len(b)),
        "level": np.repeat(a, len(b)),
        "x_2": np.tile(second.x, len(a)),
        "level_2": np.tile(b, len(a)),
    }


def stacked(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Return the frames below each other, with exactly `columns`."""
    if not frames:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
    return pd.concat(frames, ignore_index=True)[list(columns)]
