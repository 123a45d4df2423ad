"""Single rows mixed with background rows, as dalex's break-downs ask for them: many mixtures in few calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import CoalitionEvaluator
from ...core.model.measures import Measure
from ...core.model.variants import Mix
from ...core.support.arrays import BoolArray, FloatArray, IntArray, take_rows
from .calls import Dalex


@dataclass(frozen=True, eq=False)
class BackgroundMixtures:
    """All measures of explained rows whose features are their own, or those of background rows.

    Parameters
    ----------
    dalex : Dalex
    mixing : Mixing
        Of the explained rows and, after them, the background rows.
    measures : sequence of Measure
    explained : sequence of int
        Their positions in the subject.
    background : ndarray of int
    """

    dalex: Dalex
    mixing: CoalitionEvaluator
    measures: Sequence[Measure]
    explained: Sequence[int]
    background: IntArray
    _known: dict[tuple[int, bytes], FloatArray] = field(default_factory=dict)

    @classmethod
    def of(
        cls, dalex: Dalex, measures: Sequence[Measure], explained: Sequence[int], background: IntArray
    ) -> BackgroundMixtures:
        """Return the mixtures of some rows with others, none predicted yet."""
        engine = dalex.engine
        table = take_rows(dalex.subject.X, np.array([*explained, *background], dtype=np.int64))
        y = None if engine.y is None else engine.y[list(explained)]
        asked = len(explained) * len(background) * len(measures) * len(dalex.cells.groups)
        return cls(dalex, engine.mixing(table, measures, asked, y), measures, explained, background)

    def foresee(self, row: int) -> None:
        """Predict what a break-down of a row asks for: each feature alone, then all in order of their effect.

        dalex orders them by the mean that each has alone, the largest first. What it asks for beyond is predicted then.
        """
        alone = np.vstack([np.zeros(self._players), np.eye(self._players)]).astype(bool)
        means = self.values(row, alone)[:, 1:].mean(axis=2)
        places = np.argsort(np.argsort(means, axis=1)[:, ::-1], axis=1)
        steps = places[:, None] < np.arange(2, self._players)[:, None]
        if steps.size:
            self.values(row, np.unique(steps.reshape(-1, self._players), axis=0))

    def asked(self, table: pd.DataFrame, row: int, measure: Measure) -> FloatArray:
        """Return one measure of the rows that dalex asks for, shape (rows,)."""
        own = (table.to_numpy() == row).all(axis=0)
        if own.all():
            return np.full(len(table), self.dalex.own[self.dalex.measures.index(measure), row])
        return self.values(row, own[None])[self.measures.index(measure), 0]

    def values(self, row: int, own: BoolArray) -> FloatArray:
        """Return all measures of mixtures of a row, shape (measures, mixtures, background rows).

        `own`, shape (mixtures, players), says what is the row's own: each of dalex's features, all others together.
        """
        new = [flags for flags in own if (row, flags.tobytes()) not in self._known]
        if new:
            others = len(self.explained) + np.arange(len(self.background))
            mix = Mix(self.explained.index(row), np.array(new)[:, self.dalex.cells.player], others)
            values = self.mixing([mix]).reshape(len(self.measures), -1, len(new))
            self._known.update(((row, flags.tobytes()), values[:, :, k]) for k, flags in enumerate(new))
        return np.stack([self._known[row, flags.tobytes()] for flags in own], axis=1)

    @property
    def _players(self) -> int:
        return len(self.dalex.cells.groups)
