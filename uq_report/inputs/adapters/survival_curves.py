"""Survival curves of a library, cut into cells: what the adapters of survival models share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.arrays import FloatArray
from ...core.distributions import Survival
from ...core.errors import InputError
from .sklearn_ import SklearnAdapter

CELLS = 10


@dataclass(frozen=True)
class CurvesAdapter(SklearnAdapter):
    """What becomes of survival curves that a model gives as steps at the times it was fitted on.

    Moments and quantiles are those of the curves. The loss and the entropy are those of cells of the time axis, by
    default `n_cells` of equally many of the model's times: single times would leave most events without mass.

    Parameters
    ----------
    n_cells : int, default=10
    ends : tuple of float, default=()
        The last times of the cells, instead: increasing. The curves end at the last, which is then the horizon of the
        restricted mean. Losses and entropies of two models compare on the same `ends` only.
    """

    n_cells: int = CELLS
    ends: tuple[float, ...] = ()

    name: ClassVar[str] = "survival_curves"

    def __post_init__(self) -> None:
        if isinstance(self.n_cells, bool) or not isinstance(self.n_cells, int) or self.n_cells < 2:
            raise InputError(f"{self.name}.n_cells must be an integer >= 2; got {self.n_cells!r}.")
        ends = np.asarray(self.ends, dtype=float)
        if ends.ndim != 1 or not (np.isfinite(ends).all() and (ends > 0).all() and (np.diff(ends) > 0).all()):
            raise InputError(f"{self.name}.ends must be increasing times > 0; got {self.ends}.")

    def curves(self, times: Any, survival: Any) -> Survival:
        """Return the curves, shape (n, T), in the cells of this adapter."""
        times, survival = np.asarray(times, dtype=float), np.asarray(survival, dtype=float)
        if not self.ends:
            return Survival(times, survival, even_cells(len(times), self.n_cells))
        ends = np.asarray(self.ends)
        grid = np.union1d(times[times <= ends[-1]], ends)
        before = np.column_stack([np.ones(len(survival)), survival])
        steps: FloatArray = before[:, np.searchsorted(times, grid, side="right")]
        return Survival(grid, steps, np.searchsorted(grid, ends))


def even_cells(size: int, n_cells: int) -> Any:
    """Return the positions of `size` times that end at most `n_cells` cells of equally many times.

    Examples
    --------
    >>> even_cells(7, 3), even_cells(2, 3)
    (array([2, 4, 6]), array([0, 1]))
    """
    shares = np.arange(1, min(n_cells, size) + 1) / min(n_cells, size)
    return np.ceil(shares * size - 1e-9).astype(np.int64) - 1
