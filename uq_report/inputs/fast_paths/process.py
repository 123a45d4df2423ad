"""Means of a Gaussian process without its standard deviations, which cost a solve a row and wait until asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from ...core.adapter import Adapter
from ...core.arrays import Columns, FloatArray, IntArray, Table, take_rows
from ...core.distributions import Normal
from ...core.distributions.validate import vector
from ...core.variants import Variant, make_buffer
from ..adapters.gp_derivatives import process_of, units_of
from ..adapters.outputs import refuse_rows
from ..adapters.regressor_std import RegressorStdAdapter
from ..adapters.sklearn_ import PROCESS_BATCH, transform
from .process_moves import Moves, moves_of

_TOGETHER = 4000  # rows


class _LateNormal(Normal):
    """Normal distributions whose standard deviations are computed when first asked for."""

    def __init__(self, mean: FloatArray, std: Callable[[], FloatArray]) -> None:
        self.loc = vector("normal.mean", mean)
        self._std = std

    @cached_property
    def scale(self) -> FloatArray:  # type: ignore[override]  # an attribute like any other once it is there
        return self._std()


@dataclass(frozen=True, eq=False)
class ProcessMeans:
    """A fitted process behind its steps, and the rows that are changed: ``mean = k(x, T)ᵀα`` in units of y.

    `moves` tell means where one column changes, for a kernel of a closed form.
    """

    steps: Any
    gp: Any
    noise_variance: float
    X: Table
    moves: Moves | None
    rows_compared: ClassVar[int] = 3  # at either end and in the middle, as the rule for slopes is

    def covers(self, variant: Variant) -> bool:
        """Say yes: any rows can be predicted."""
        return True

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Normal:
        """Return the distribution of every row under every variant."""
        unit, shift = self._units
        if self.moves is not None and all(map(self.moves.cover, group)) and len(rows) <= self.moves.most:
            moved = self.moves.means(group, rows).T.ravel()
            return _LateNormal(unit * moved + shift, lambda: self._late(group, rows, unit))
        K, own = self._kernel(group, rows)
        return _LateNormal(unit * (K @ np.ravel(self.gp.alpha_)) + shift, partial(self._std, K, own, unit))

    @property
    def rows_together(self) -> int:
        """Say how many rows a call may hold: curves are read for many at once, and whole kernels leave the cache."""
        return 0 if self.moves is None else _TOGETHER

    def _late(self, group: Sequence[Variant], rows: IntArray, unit: float) -> FloatArray:
        """Return the standard deviations where means were read from curves, in as small calls as the model's."""
        width = max(1, PROCESS_BATCH // len(rows))
        parts = (group[first : first + width] for first in range(0, len(group), width))
        stds = [self._std(*self._kernel(part, rows), unit).reshape(len(rows), -1) for part in parts]
        return np.hstack(stds).ravel()

    def _kernel(self, group: Sequence[Variant], rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the kernel between the changed rows and the training rows, and that of each row with itself."""
        table = make_buffer(take_rows(self.X, rows), len(group)).filled(self._source, 0, len(rows), group)
        inner = transform(self.steps, table)
        return self.gp.kernel_(inner, self.gp.X_train_), self.gp.kernel_.diag(inner)

    @cached_property
    def _units(self) -> tuple[float, float]:
        return units_of(self.gp)

    @cached_property
    def _source(self) -> Columns:
        return Columns(self.X)

    def _std(self, K: FloatArray, own: FloatArray, unit: float) -> FloatArray:
        """Return √(k(x, x) - kᵀK⁻¹k) (Rasmussen & Williams 2006, eq. 2.26), with the noise that is added to it."""
        V = solve_triangular(self.gp.L_, K.T, lower=True, check_finite=False)
        variance = own - np.einsum("ij,ji->i", V.T, V)
        refuse_rows("variances of the process must be > 0", ~(variance > 0), "The model itself is asked.")
        return np.hypot(np.sqrt(unit**2 * variance), math.sqrt(self.noise_variance))


class ProcessPath:
    """Gaussian processes of scikit-learn with one output: work that asks for the mean alone is spared the solves."""

    name: ClassVar[str] = "process"
    title: ClassVar[str] = "mean of a Gaussian process"
    rank: ClassVar[int] = 20
    api_version: ClassVar[int] = 1

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> ProcessMeans | None:
        """Return the process behind its steps; None for other models and other readings of this one."""
        if type(adapter) is not RegressorStdAdapter:
            return None
        fitted = process_of(model)
        return None if fitted is None else ProcessMeans(*fitted, adapter.noise_variance, X, moves_of(*fitted, X))
