"""Class probabilities of numbers in order: ratings, grades, stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError
from ..numerics.rowwise import row_sum
from ..numerics.validate import levels
from .categorical import Categorical

_ORDERED = frozenset({"cdf", "quantile", "crps", "class_mean", "class_variance"})


class Ordinal(Categorical):
    """n categorical distributions over k classes that are numbers in increasing order.

    Parameters
    ----------
    probabilities : array of shape (n, k), k >= 2
        Not negative; each row sums to 1 within 1e-5.
    classes : sequence of k increasing numbers, optional
        0 .. k-1 by default. Distances between them count: for crps, `class_mean` and `class_variance`.
    positive : int, optional
        As for `Categorical`: the prediction of a class model is the probability of one class.

    Raises
    ------
    InputError
        If the classes are no increasing numbers.

    Notes
    -----
    As in every class model y is encoded as class positions, so `cdf` takes and `quantile` returns positions.

    Examples
    --------
    >>> q = Ordinal([[0.25, 0.5, 0.25]], classes=[1, 2, 5])
    >>> q.class_mean(), q.crps(q.encode([5])), q.cdf([1])
    (array([2.5]), array([1.75]), array([0.75]))
    """

    family = "ordinal"

    def __init__(self, probabilities: Any, classes: Any = None, positive: int | None = None) -> None:
        super().__init__(probabilities, classes, positive)
        self.numbers = _increasing(self.classes)

    @property
    def supports(self) -> frozenset[str]:
        """What a categorical can do, and what needs the order of the classes."""
        return super().supports | _ORDERED

    def class_mean(self) -> FloatArray:
        """Return the mean of the class numbers, shape (n,)."""
        return row_sum(self.probabilities, self.numbers)

    def class_variance(self) -> FloatArray:
        """Return the variance of the class numbers, shape (n,)."""
        return row_sum(self.probabilities * np.square(self.numbers - self.class_mean()[:, None]))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return the probability of the classes up to position y."""
        place = np.clip(np.floor(np.asarray(y, dtype=float)), -1, len(self.classes) - 1).astype(int)
        reached = np.column_stack([np.zeros(len(self)), self._reached()])
        return np.asarray(reached[np.arange(len(self)), place + 1])

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest positions with P(class <= position) >= p, shape (n, L)."""
        level = levels("ordinal.quantile.p", p)
        return np.stack([(self._reached()[:, :-1] < at * (1 - 1e-14)).sum(axis=1) for at in level], axis=1).astype(
            float
        )

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the ranked probability score: sum_k (F_k - 1[y <= k])² (c_k+1 - c_k), in units of the classes.

        Epstein 1969; of classes that are 1 apart it is the usual form.
        """
        below = np.asarray(y)[:, None] <= np.arange(len(self.classes) - 1)
        return row_sum(np.square(self._reached()[:, :-1] - below), np.diff(self.numbers))

    def _reached(self) -> FloatArray:
        reached = np.cumsum(self.probabilities, axis=1)
        return np.asarray(reached / reached[:, -1:])


def _increasing(classes: AnyArray) -> FloatArray:
    try:
        floats = classes.astype(float)
    except (TypeError, ValueError):
        floats = np.full(len(classes), np.nan)
    if not (np.isfinite(floats).all() and (np.diff(floats) > 0).all()):
        raise InputError(
            f"ordinal.classes must be increasing numbers in the order of the columns; got {classes.tolist()}. "
            "Give each class its number, or use Categorical for classes without an order."
        )
    return floats
