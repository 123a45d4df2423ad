"""The rows and features that sensitivities are computed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.derivatives import floating, numbers
from ...core.model.results import Omission
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, FloatArray, IntArray, take_rows
from ..shared.choice import draw
from ..shared.grids import FeatureGrid, make_grid

Terms = dict[tuple[str, str], FloatArray]  # by measure and feature, shape (rows,)

PD_POINTS = 8
MAX_LEVELS = 10


@dataclass(frozen=True)
class DerivativeSample:
    """Rows of a subject with numeric columns as floats, an engine bound to them, and what varies in them.

    `rows` are positions in the `total` rows of the whole subject, `drawn` where others were left out at random.
    `spreads` holds the standard deviation of numeric features over the rows drawn first; that of a categorical one is
    the root of half the chance that two rows differ, which for two levels is that of a 0/1 column.
    """

    subject: Subject
    engine: Engine
    rows: IntArray
    total: int
    sampling: Sampling
    numeric: tuple[str, ...]
    grids: dict[str, FeatureGrid]
    spreads: dict[str, float]
    omissions: tuple[Omission, ...]
    drawn: bool

    def part(self, at: IntArray) -> DerivativeSample:
        """Return the sample of some of its rows, at positions `at` among them, with the spreads of all."""
        few = _rows_of(self.subject, at)
        engine = self.engine.bound(self.engine.explainer, few, at)
        return replace(self, subject=few, engine=engine, rows=self.rows[at], sampling=Sampling.of(few), drawn=True)

    @property
    def features(self) -> tuple[str, ...]:
        """Every feature that varies, in the order of the table."""
        return tuple(self.grids)

    @property
    def categorical(self) -> tuple[str, ...]:
        """Features whose levels are changed."""
        return tuple(f for f in self.grids if f not in self.numeric)

    def column(self, feature: str) -> int:
        """Return a feature's position in the table."""
        return self.subject.positions(feature)[0]

    def values(self, feature: str) -> FloatArray:
        """Return a numeric feature's values, or the positions of a categorical one's levels; NaN where unknown."""
        return self._own[feature]

    @cached_property
    def _own(self) -> dict[str, FloatArray]:
        own = {f: numbers(self.subject.X, self.column(f)) for f in self.numeric}
        levels = {f: self.grids[f].own_x(self.subject) for f in self.categorical}
        return levels | {f: np.where(np.isfinite(values), values, np.nan) for f, values in own.items()}

    def has_value(self, feature: str) -> BoolArray:
        """Return which rows have a value of the feature that can be moved."""
        return np.asarray(~np.isnan(self.values(feature)))

    def shares(self, feature: str) -> FloatArray:
        """Return the weighted shares of a categorical feature's levels, which sum to 1."""
        at, present = self.values(feature), self.has_value(feature)
        counts = np.bincount(at[present].astype(int), self.sampling.weights[present], len(self.grids[feature].steps))
        return np.asarray(counts / counts.sum())


def make_sample(subject: Subject, engine: Engine, features: Sequence[str], max_rows: int) -> DerivativeSample:
    """Draw at most `max_rows` rows of positive weight and sort the features by what can be done with them."""
    rows = draw(engine.rng("rows"), subject.n, max_rows, subject.weights)
    numeric = [f for f in features if subject.kinds[f] == "numeric"]
    part = _rows_of(subject, rows)
    part = replace(part, X=floating(part.X, [subject.positions(f)[0] for f in numeric]))
    sampling = Sampling.of(part)
    grids, spreads, omissions = {}, {}, []
    for feature in features:
        grid = make_grid(part, feature, PD_POINTS, (0.0, 1.0), MAX_LEVELS)
        reason = _why_not(part, feature, grid)
        if reason or grid is None:
            omissions.append(Omission("", feature, reason))
            continue
        grids[feature] = grid
        spreads[feature] = _spread(part, grid, sampling.weights)
    moved, bound = tuple(f for f in numeric if f in grids), engine.bound(engine.explainer, part, rows)
    drawn = len(rows) == max_rows < subject.n
    return DerivativeSample(part, bound, rows, subject.n, sampling, moved, grids, spreads, tuple(omissions), drawn)


def _rows_of(subject: Subject, rows: IntArray) -> Subject:
    """Return some rows of a subject, without outcomes and training rows."""
    return replace(
        subject,
        X=take_rows(subject.X, rows),
        y=None,
        weights=None if subject.weights is None else subject.weights[rows],
        clusters=None if subject.clusters is None else subject.clusters[rows],
        train=None,
    )


def _why_not(part: Subject, feature: str, grid: FeatureGrid | None) -> str:
    if grid is None:
        return "all of its values are missing or infinite in the sample used"
    if part.kinds[feature] == "datetime":
        return "a date has no unit to take a derivative in; pass a number, such as days since a start"
    return "it is constant in the sample used" if len(grid.steps) < 2 else ""


def _spread(part: Subject, grid: FeatureGrid, weights: FloatArray) -> float:
    at = grid.own_x(part)
    present = ~np.isnan(at)
    w = weights[present] / weights[present].sum()
    if grid.numeric:
        return float(np.sqrt(w @ np.square(at[present] - w @ at[present])))
    shares = pd.Series(w).groupby(at[present]).sum().to_numpy()
    return float(np.sqrt((1 - np.square(shares).sum()) / 2))


def level_chances(sample: DerivativeSample, feature: str) -> FloatArray:
    """Return the chance of a move of each row to each level of a feature, (levels, rows).

    It is the level's share among the others; 0 for the row's own level, and for all if it is unknown.
    """
    at, present, shares = sample.values(feature), sample.has_value(feature), sample.shares(feature)
    chance = np.repeat(shares[:, None], len(at), axis=1)
    chance[at[present].astype(int), np.flatnonzero(present)] = 0
    chance[:, ~present] = 0
    total = chance.sum(axis=0)
    return np.asarray(chance / np.where(total > 0, total, 1.0))
