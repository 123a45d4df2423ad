"""What the distributions of a positive number share that are known by its logarithm."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from ...core.support.arrays import AnyArray, BoolArray, FloatArray
from ..numerics.numeric import Parametric


class OfLogarithm(Parametric):
    """n distributions of y > 0: divergences and Fisher information are those of log y, whatever the map."""

    within = (0.0, np.inf)

    @abstractmethod
    def logarithm(self) -> Any:
        """Return the distributions of log y."""

    def kl(self, other: Self) -> FloatArray:
        """Return that of the logarithms."""
        return np.asarray(self.logarithm().kl(other.logarithm()))

    def renyi_half(self, other: Self) -> FloatArray:
        """Return that of the logarithms."""
        return np.asarray(self.logarithm().renyi_half(other.logarithm()))

    @property
    def parameters(self) -> FloatArray:
        """Those of the logarithms, shape (n, 2)."""
        return np.asarray(self.logarithm().parameters)

    def fisher_information(self) -> FloatArray:
        """Return that of the logarithms, shape (n, 2, 2)."""
        return np.asarray(self.logarithm().fisher_information())


def log_of(y: AnyArray) -> tuple[FloatArray, BoolArray]:
    """Return log y, 0 where y <= 0, and where y > 0."""
    inside = np.asarray(y) > 0
    return np.log(np.where(inside, y, 1.0)), inside
