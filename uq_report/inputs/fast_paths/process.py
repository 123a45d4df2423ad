"""Means of a Gaussian process without its standard deviations, which cost a solve a row and wait until asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from ...core.model.adapter import Adapter, class_names
from ...core.model.variants import Variant, make_buffer
from ...core.support.arrays import ColumnLookup, FloatArray, IntArray, Table, take_rows
from ...core.support.limits import check_limits
from ...distributions import Normal
from ...distributions.numerics.validate import vector
from ..adapters.outputs import refuse_rows
from ..adapters.regressor_std import RegressorStdAdapter
from ..adapters.sklearn_ import PROCESS_BATCH, transform, unwrap


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
    """A fitted process behind its steps, and the rows that are changed: ``mean = k(x, T)ᵀα`` in units of y."""

    steps: Any
    gp: Any
    noise_variance: float
    X: Table

    def covers(self, variant: Variant) -> bool:
        """Say yes: any rows can be predicted."""
        return True

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Normal:
        """Return the distribution of every row under every variant."""
        table = make_buffer(take_rows(self.X, rows), len(group)).filled(ColumnLookup(self.X), 0, len(rows), group)
        inner, kernels = np.asarray(transform(self.steps, table)), []
        for start in range(0, len(inner), PROCESS_BATCH):
            check_limits()
            part = inner[start : start + PROCESS_BATCH]
            kernels.append((self.gp.kernel_(part, self.gp.X_train_), self.gp.kernel_.diag(part)))
        # what `normalize_y` took off has no public name; were it gone, comparisons with the model's own would fail
        unit, shift = (float(np.ravel(getattr(self.gp, f"_y_train_{name}"))[0]) for name in ("std", "mean"))
        means = np.concatenate([K @ np.ravel(self.gp.alpha_) for K, _ in kernels])
        return _LateNormal(unit * means + shift, partial(self._std, kernels, unit))

    def _std(self, kernels: Sequence[tuple[FloatArray, FloatArray]], unit: float) -> FloatArray:
        """Return √(k(x, x) - kᵀK⁻¹k) (Rasmussen & Williams 2006, eq. 2.26), with the noise that is added to it."""
        variance = np.concatenate([own - self._explained(K) for K, own in kernels])
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
        steps, gp = unwrap(model)
        fitted = class_names(gp)[0] == "sklearn.GaussianProcessRegressor" and hasattr(gp, "X_train_")
        if type(adapter) is not RegressorStdAdapter or not fitted or np.size(gp.alpha_) != len(gp.X_train_):
            return None
        return ProcessMeans(steps, gp, adapter.noise_variance, X)
