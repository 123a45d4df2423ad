"""Profiles gathered point by point, so that no more than one point of all rows is held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ...core.model.measures import Measure
from ...core.model.results import Omission
from ...core.model.sampling import Sampling
from ...core.model.variants import Variant
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ..shared.curves import surface_places
from ..shared.estimates import estimate
from ..shared.grids import FeatureGrid

MODES = ("plain", "centred", "derivative")


@dataclass(frozen=True)
class ProfileRows:
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

    grids: tuple[FeatureGrid, ...]
    rows: ProfileRows
    mode: str = "plain"
    means: list[FloatArray] = field(default_factory=list)
    errors: list[FloatArray] = field(default_factory=list)
    ice: list[FloatArray] = field(default_factory=list)
    anchor: FloatArray | None = None

    def __post_init__(self) -> None:
        """Start from the rows that are infinite at their own value."""
        self.infinite = self.rows.infinite.copy()

    def variants(self) -> Iterator[Variant]:
        """Yield the points: all rows with this feature (these features) set to one value each."""
        columns = tuple(grid.column for grid in self.grids)
        for values in product(*(grid.steps for grid in self.grids)):
            yield Variant(columns, values)

    def add(self, values: FloatArray) -> None:
        """Take the values at the next point, shape (measures, n)."""
        self.infinite |= np.isinf(values)
        first = self.anchor is None
        anchor = values.copy() if self.anchor is None else self.anchor  # the engine fills its buffer again
        self.anchor = values.copy() if self.mode == "derivative" else anchor
        if self.mode == "derivative" and first:
            return  # a slope needs a left neighbour
        with np.errstate(invalid="ignore"):
            if self.mode == "centred":
                values = values - anchor
            elif self.mode == "derivative":
                k, x = len(self.means), self.grids[0].x
                values = (values - anchor) / (x[k + 1] - x[k])
            mean, error = self.rows.sampling.mean(values)
        self.means.append(mean)
        self.errors.append(error)
        self.ice.append(values[:, self.rows.ice])

    def omission(self, m: int) -> Omission | None:
        """Return why one measure has no curve here: the rows that are infinite somewhere on the grid; None if none."""
        infinite, n = int(self.infinite[m].sum()), self.infinite.shape[1]
        measure = self.rows.measures[m].name
        reason = (
            f"{measure} is infinite for {infinite} of {n} rows somewhere on the grid, usually because "
            "the model gives an outcome probability 0; calibrate or smooth its probabilities"
        )
        return Omission(measure, " x ".join(grid.feature for grid in self.grids), reason) if infinite else None

    def places(self) -> dict[str, Any]:
        """Return the columns that say where each point is."""
        if len(self.grids) == 2:
            first, second = self.grids
            return surface_places((first.x, first.levels), (second.x, second.levels))
        x, levels = self.grids[0].x, self.grids[0].levels
        if self.mode == "derivative":
            x, levels = (x[1:] + x[:-1]) / 2, levels[1:]
        return {"x": x, "level": np.array(levels, dtype=object), "x_2": np.nan, "level_2": ""}

    def lines(self, m: int) -> dict[str, Any]:
        """Return one measure's average (curve -1), then its ICE curves, in the columns of a Profile."""
        values, curves = np.array(self.means)[:, [m]], np.array([-1])
        if len(self.grids) == 1:
            values = np.column_stack([values, np.array(self.ice)[:, m]])
            curves = np.append(curves, self.rows.ice)
        places = {k: np.tile(v, len(curves)) if np.ndim(v) else v for k, v in self.places().items()}
        repeated = np.repeat(curves, len(self.means))
        return self._names(m) | places | {"curve": repeated, "value": values.T.ravel()}

    def estimates(self, m: int, confidence: float) -> dict[str, Any]:
        """Return one measure's average with its pointwise interval over new test rows."""
        mean, error = np.array(self.means)[:, m], np.array(self.errors)[:, m]
        interval = self.rows.sampling.interval(mean, error, confidence)
        return estimate(mean, error, interval, confidence) | self._names(m) | self.places()

    def _names(self, m: int) -> dict[str, Any]:
        second = self.grids[1].feature if len(self.grids) == 2 else ""
        return {"measure": self.rows.measures[m].name, "feature": self.grids[0].feature, "feature_2": second}
