"""Means of a Gaussian process without its standard deviations, which cost a solve a row and wait until asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from ...core.model.adapter import Adapter
from ...core.model.variants import Variant, make_buffer
from ...core.support.arrays import ColumnLookup, FloatArray, IntArray, Table, take_rows
from ...core.support.limits import check_limits
from ...distributions import Normal
from ...distributions.numerics.validate import vector
from ..adapters.gp_derivatives import process_of, units_of
from ..adapters.outputs import refuse_rows
from ..adapters.regressor_std import RegressorStdAdapter
from ..adapters.sklearn_ import PROCESS_BATCH, transform
from .process_moves import Moves, moves_of
from .process_spreads import Spreads, spreads_of

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

    `moves` tell means where one column changes, for a kernel of a closed form, and `spreads` variances, of one product.
    """

    steps: Any
    gp: Any
    noise_variance: float
    X: Table
    moves: Moves | None
    spreads: Spreads | None
    rows_compared: ClassVar[int] = 3  # at either end and in the middle, as the rule for slopes is

    def covers(self, variant: Variant) -> bool:
        """Say yes: any rows can be predicted."""
        return True

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Normal:
        """Return the distribution of every row under every variant."""
        unit, shift = self._units
        if self.moves is not None and self.moves.serve(group, rows):
            moved = self.moves.means(group, rows).T.ravel()
            return _LateNormal(unit * moved + shift, lambda: self._late(group, rows, unit))
        kernels = [*self._kernels(group, rows)]
        means = np.concatenate([K @ np.ravel(self.gp.alpha_) for K, _ in kernels])
        return _LateNormal(unit * means + shift, partial(self._std, kernels, unit))

    @property
    def rows_together(self) -> int:
        """Say how many rows a call may hold: curves are read for many at once, and whole kernels leave the cache."""
        return 0 if self.moves is None else _TOGETHER

    def _late(self, group: Sequence[Variant], rows: IntArray, unit: float) -> FloatArray:
        """Return the standard deviations where means needed no kernels that are still there."""
        if self.spreads is not None and self.spreads.pay(group, rows):
            explained = self.spreads.explained(group, rows)
            if explained is not None:
                own = self.gp.kernel_.diag(self.gp.X_train_[:1])[0]  # the same of every row
                return self._root(own - explained.T.ravel(), unit)
        return self._std(self._kernels(group, rows), unit)

    def _kernels(self, group: Sequence[Variant], rows: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield the kernel between a few changed rows and the training rows, and that of each row with itself."""
        table = make_buffer(take_rows(self.X, rows), len(group)).filled(self._source, 0, len(rows), group)
        inner = np.asarray(transform(self.steps, table))
        for start in range(0, len(inner), PROCESS_BATCH):
            check_limits()
            part = inner[start : start + PROCESS_BATCH]
            K = self.gp.kernel_(part, self.gp.X_train_) if self.moves is None else self.moves.kernel(part)
            yield K, self.gp.kernel_.diag(part)

    @cached_property
    def _units(self) -> tuple[float, float]:
        return units_of(self.gp)

    @cached_property
    def _source(self) -> ColumnLookup:
        return ColumnLookup(self.X)

    def _std(self, kernels: Iterable[tuple[FloatArray, FloatArray]], unit: float) -> FloatArray:
        """Return √(k(x, x) - kᵀK⁻¹k) (Rasmussen & Williams 2006, eq. 2.26), with the noise that is added to it."""
        return self._root(np.concatenate([own - self._explained(K) for K, own in kernels]), unit)

    def _root(self, variance: FloatArray, unit: float) -> FloatArray:
        """Return standard deviations in units of y; refuse variances that are none."""
        refuse_rows("variances of the process must be > 0", ~(variance > 0), "The model itself is asked.")
        return np.hypot(np.sqrt(unit**2 * variance), math.sqrt(self.noise_variance))

    def _explained(self, K: FloatArray) -> FloatArray:
        """Return kᵀK⁻¹k of each row."""
        V = solve_triangular(self.gp.L_, K.T, lower=True, check_finite=False)
        return np.einsum("ij,ji->i", V.T, V)


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
        if fitted is None:
            return None
        moves = moves_of(*fitted, X)
        return ProcessMeans(*fitted, adapter.noise_variance, X, moves, spreads_of(moves))
