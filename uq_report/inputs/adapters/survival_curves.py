"""Survival curves of a library, cut into cells: what the adapters of survival models share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...distributions import Survival
from .sklearn_ import SklearnAdapter

CELLS = 5


@dataclass(frozen=True)
class CurvesAdapter(SklearnAdapter):
    """What becomes of survival curves that a model gives as steps at the times it was fitted on.

    Moments and quantiles are those of the curves. The loss and the entropy are those of cells of the time axis, by
    default `n_cells` of equally many event times of the fit: single times would leave most events without mass.

    Parameters
    ----------
    n_cells : int, default=5
    ends : tuple of float, default=()
        The last times of the cells, instead: increasing. The curves end at the last, which is then the horizon of the
        restricted mean. Losses and entropies of two models compare on the same `ends` only.
    """

    n_cells: int = CELLS
    ends: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.n_cells, bool) or not isinstance(self.n_cells, int) or self.n_cells < 2:
            raise InputError(f"{self.name}.n_cells must be an integer >= 2; got {self.n_cells!r}.")
        ends = np.asarray(self.ends, dtype=float)
        if ends.ndim != 1 or not (np.isfinite(ends).all() and (ends > 0).all() and (np.diff(ends) > 0).all()):
            raise InputError(f"{self.name}.ends must be increasing times > 0; got {self.ends}.")

    def curves(self, times: Any, survival: Any, events: Any) -> Survival:
        """Return the curves, shape (n, T), in the cells of this adapter; `events` says which times are of events."""
        times, survival = np.asarray(times, dtype=float), np.asarray(survival, dtype=float)
        if not self.ends:
            return Survival(times, survival, even_cells(np.asarray(events), self.n_cells))
        ends = np.asarray(self.ends)
        grid = np.union1d(times[times <= ends[-1]], ends)
        before = np.column_stack([np.ones(len(survival)), survival])
        steps: FloatArray = before[:, np.searchsorted(times, grid, side="right")]
        return Survival(grid, steps, np.searchsorted(grid, ends))


def even_cells(events: BoolArray, n_cells: int) -> IntArray:
    """Return the positions of times that end at most `n_cells` cells of equally many event times, the last among them.

    Examples
    --------
    >>> even_cells(np.array([True, False, True, True, False]), 2), even_cells(np.array([False, False]), 2)
    (array([2, 4]), array([1]))
    """
    at = np.flatnonzero(events)
    parts = np.array_split(at, min(n_cells, max(len(at), 1)))
    return np.array([*(part[-1] for part in parts[:-1]), len(events) - 1])
