"""What dalex shuffles, read once for all measures: their losses stand in place of numbers afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ...core.model.measures import OneMinusAUC
from ...core.model.variants import Variant
from ...core.support.arrays import FloatArray, IntArray
from ...core.traits.interop import numeric_target
from .calls import Dalex

Loss: TypeAlias = Callable[[Any, FloatArray], float]


class DalexShuffles(NamedTuple):
    """What dalex shuffled: per round and column the number of a loss, and whose.

    Parameters
    ----------
    numbers : DataFrame
        A column per feature, the full model and the baseline; a row per round.
    orders : ndarray of int, shape (losses, rows)
        In which order y stands.
    tables : ndarray of int, shape (losses,)
        Whose prediction it is set beside.
    values : ndarray, shape (measures, tables, rows)
    y : ndarray, shape (rows,), optional
    """

    numbers: pd.DataFrame
    orders: IntArray
    tables: IntArray
    values: FloatArray
    y: FloatArray | None

    @classmethod
    def of(cls, dalex: Dalex, rows: IntArray, n_repeats: int) -> DalexShuffles:
        """Return dalex's shuffles, which do not depend on predictions: all measures share them."""
        variants: list[Variant] = []
        losses: list[tuple[IntArray, int]] = []

        def predict(model: Any, X: pd.DataFrame) -> IntArray:  # noqa: ARG001 - dalex's signature
            dalex.check()
            variants.append(dalex.cells.change(X))
            return np.full(len(X), len(variants) - 1)

        def loss(observed: IntArray, predicted: IntArray) -> float:
            losses.append((observed, int(predicted[0])))
            return float(len(losses) - 1)

        options: dict[str, Any] = {"N": None, "B": n_repeats, "variables": list(dalex.features)}
        data, at = dalex.cells.table(rows, others=False), np.arange(len(rows))
        answer = dalex.ask("model_parts", "", data, at, predict, loss_function=loss, **options)
        shuffled = sorted((t for t, v in enumerate(variants) if v.columns), key=lambda t: variants[t].columns)
        values = np.repeat(dalex.own[:, None, rows], len(variants), axis=1)
        values[:, shuffled] = dalex.values([variants[t] for t in shuffled], rows)
        target = numeric_target(dalex.engine)
        orders, tables = (np.array(each) for each in zip(*losses, strict=True))
        numbers = answer.permutation.reset_index(drop=True).astype(int)
        return cls(numbers, orders, tables, values, None if target is None else target[rows])

    def rounds(self, measure: int, loss: Loss) -> pd.DataFrame:
        """Return the losses of one measure in place of their numbers."""
        y = np.zeros(self.orders.shape[1]) if self.y is None else self.y
        pairs = zip(self.orders, self.tables, strict=True)
        losses = np.array([loss(y[order], self.values[measure, table]) for order, table in pairs])
        return pd.DataFrame(losses[self.numbers.to_numpy()], columns=self.numbers.columns)


def one_minus_auc(observed: FloatArray, predicted: FloatArray) -> float:
    """Return 1 - AUC, ties counted half.

    Examples
    --------
    >>> one_minus_auc(np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.5, 0.5]))
    0.25
    """
    return OneMinusAUC().value(predicted, observed, np.ones(len(observed)))


def rmse(observed: FloatArray, predicted: FloatArray) -> float:
    """Return the root of the mean squared error.

    Examples
    --------
    >>> rmse(np.array([1.0, 2.0]), np.array([4.0, 5.0]))
    3.0
    """
    return float(np.sqrt(np.square(observed - predicted).mean()))
