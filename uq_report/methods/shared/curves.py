"""Profiles gathered point by point, so that no more than one point of all rows is held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import BoolArray, FloatArray, IntArray
from ...core.measures import Measure
from ...core.results import Omission
from ...core.sampling import Sampling
from ...core.variants import Variant
from .grids import Grid

MODES = ("plain", "centred", "derivative")


@dataclass(frozen=True)
class Rows:
    """What every curve shares.

    `ice` holds the rows that keep a curve; `infinite`, shape (measures, n), the rows whose measure is
    infinite at their own value.
    """

    measures: tuple[Measure, ...]
    sampling: Sampling
    ice: IntArray
    infinite: BoolArray


@dataclass
class Curves:
    """The average and the ICE curves of all measures along one feature, or the surface of two.

    ``plain`` values are the measure; ``centred`` ones its change from the first point; a
    ``derivative`` is the slope between neighbours, placed half-way (Goldstein et al. 2015).
    """

    grids: tuple[Grid, ...]
    rows: Rows
    mode: str = "plain"
    means: list[FloatArray] = field(default_factory=list)
    errors: list[FloatArray] = field(default_factory=list)
    ice: list[FloatArray] = field(default_factory=list)
    anchor: FloatArray | None = None
    seen: int = 0

    def __post_init__(self) -> None:
        """Start from the rows that are infinite at their own value."""
        self.infinite = self.rows.infinite.copy()

    @property
    def points(self) -> int:
        """Number of points to evaluate."""
        return int(np.prod([len(grid.steps) for grid in self.grids]))

    def variants(self) -> Iterator[Variant]:
        """Yield the points: all rows with this feature (these features) set to one value each."""
        columns = tuple(grid.column for grid in self.grids)
        for values in product(*(grid.steps for grid in self.grids)):
            yield Variant(columns, values)

    def add(self, values: FloatArray) -> None:
        """Take the values at the next point, shape (measures, n)."""
        self.infinite |= np.isinf(values)
        with np.errstate(invalid="ignore"):
            shown = self._shown(values)
            if shown is not None:
                mean, error = self.rows.sampling.mean(shown)
                self.means.append(mean)
                self.errors.append(error)
                self.ice.append(shown[:, self.rows.ice])
        self.seen += 1

    def infinite_rows(self, m: int) -> int:
        """Return how many rows are infinite somewhere on the grid."""
        return int(self.infinite[m].sum())

    def omission(self, m: int) -> tuple[Omission, ...]:
        """Return why one measure has no curve here, if it has none."""
        if not self.infinite_rows(m):
            return ()
        measure, n = self.rows.measures[m].name, self.infinite.shape[1]
        reason = (
            f"{measure} is infinite for {self.infinite_rows(m)} of {n} rows somewhere on the grid, usually because "
            "the model gives an outcome probability 0; calibrate or smooth its probabilities"
        )
        return (Omission(measure, " x ".join(grid.feature for grid in self.grids), reason),)

    def _shown(self, values: FloatArray) -> FloatArray | None:
        """Return what this mode shows at the point, or None where a slope has no left neighbour."""
        if self.mode == "plain":
            return values
        first = self.anchor is None
        anchor = values.copy() if self.anchor is None else self.anchor
        self.anchor = anchor
        if self.mode == "centred":
            return values - anchor
        self.anchor = values.copy()
        x = self.grids[0].x
        return None if first else (values - anchor) / (x[self.seen] - x[self.seen - 1])

    def places(self) -> dict[str, Any]:
        """Return the columns that say where each shown point is."""
        if len(self.grids) == 2:
            first, second = self.grids
            inner = len(second.steps)
            return {
                "x": np.repeat(first.x, inner),
                "level": np.repeat(np.array(first.levels, dtype=object), inner),
                "x_2": np.tile(second.x, len(first.steps)),
                "level_2": np.tile(np.array(second.levels, dtype=object), len(first.steps)),
            }
        (grid,) = self.grids
        x, levels = grid.x, grid.levels
        if self.mode == "derivative":
            x, levels = (x[1:] + x[:-1]) / 2, levels[1:]
        return {"x": x, "level": np.array(levels, dtype=object), "x_2": np.nan, "level_2": ""}

    def frame(self, m: int) -> pd.DataFrame:
        """Return one measure's average (curve -1), then its ICE curves, in the columns of a Profile."""
        values = np.array(self.means)[:, m]
        curves = np.array([-1])
        if len(self.grids) == 1:
            values = np.column_stack([values, np.array(self.ice)[:, m]])
            curves = np.append(curves, self.rows.ice)
        places = {k: np.tile(v, len(curves)) if np.ndim(v) else v for k, v in self.places().items()}
        repeated = np.repeat(curves, len(self.means))
        return pd.DataFrame(self._names(m) | places | {"curve": repeated, "value": values.T.ravel()})

    def estimates(self, m: int, confidence: float) -> pd.DataFrame:
        """Return one measure's average with its pointwise interval over new test rows."""
        mean, error = np.array(self.means)[:, m], np.array(self.errors)[:, m]
        lower, upper = self.rows.sampling.interval(mean, error, confidence)
        known = np.isfinite(error)
        table = self._names(m) | {
            "estimate": mean,
            "std_error": error,
            "lower": lower,
            "upper": upper,
            "confidence": np.where(known, confidence, np.nan),
            "covers": np.where(known, "new test rows", "none"),
        }
        return pd.DataFrame(table | self.places())

    def _names(self, m: int) -> dict[str, Any]:
        second = self.grids[1].feature if len(self.grids) == 2 else ""
        return {"measure": self.rows.measures[m].name, "feature": self.grids[0].feature, "feature_2": second}


def stacked(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Return the frames below each other, with exactly `columns`."""
    if not frames:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
    return pd.concat(frames, ignore_index=True)[list(columns)]
