"""What dalex gets and asks for: tables whose cells say which row of the subject the value there is of.

dalex exchanges cells and never reads them, so numbers of rows come back exchanged as values would, in a type of their
own whatever the column's is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.support.arrays import FloatArray, IntArray
from ..shared.grids import FeatureGrid


class Cells:
    """Makes the tables that dalex gets, and reads what it asks for.

    Parameters
    ----------
    subject : Subject
    features : tuple of str
        The features that dalex gets, in the order of the subject's. Beside them a table may have one column for all
        `others` together.

    Examples
    --------
    >>> from uq_report import testing
    >>> subject = testing.linear_subject(3)
    >>> cells = Cells(subject, subject.features[:2])
    >>> table = cells.table([0, 2], others=False)
    >>> table.to_numpy().tolist()
    [[0, 0], [2, 2]]
    >>> table.iloc[:, 1] = [2, 0]
    >>> cells.change(table)
    Variant(columns=(1,), values=(), donors=array([2, 0]))
    """

    def __init__(self, subject: Subject, features: tuple[str, ...]) -> None:
        self._n, self._names, self._features = subject.n, subject.features, features
        own = [(subject.features.index(name),) for name in features]
        rest = tuple(c for c in range(len(subject.features)) if (c,) not in own)
        self.groups: list[tuple[int, ...]] = [*own, *([rest] if rest else [])]

    @property
    def player(self) -> IntArray:
        """Return the group of each of the subject's columns: one for each feature, and one for all others."""
        return np.array([next(g for g, at in enumerate(self.groups) if c in at) for c in range(len(self._names))])

    @property
    def others(self) -> str:
        """What the other features are called, as one of them; empty where there are none."""
        rest = len(self._names) - len(self._features)
        name = f"{rest} other features" if rest else ""
        while name in self._names:
            name += "'"
        return name

    def table(self, rows: IntArray | list[int], *, others: bool) -> pd.DataFrame:
        """Return rows of the subject as dalex gets them, with the column of all other features or without it."""
        names = [*self._features, *([self.others] if others and self.others else [])]
        return pd.DataFrame(np.repeat(np.asarray(rows)[:, None], len(names), axis=1), rows, names)

    def change(self, table: pd.DataFrame) -> Variant:
        """Return the change of the rows of the index: of one column, from the rows that its cells name."""
        cells = table.to_numpy()
        moved = np.flatnonzero((cells != table.index.to_numpy()[:, None]).any(axis=0))
        return Variant(self.groups[moved[0]], donors=cells[:, moved[0]]) if len(moved) else Variant()

    def points(self, grids: Sequence[FeatureGrid]) -> dict[str, IntArray]:
        """Return numbers of no row for the points of each grid, in order."""
        return {grid.feature: self._n + np.arange(len(grid.x)) for grid in grids}

    def curve(
        self, table: pd.DataFrame, rows: IntArray, own: FloatArray, curves: Mapping[str, FloatArray]
    ) -> FloatArray:
        """Return what a table of `rows`, or each of them many times, asks for.

        Parameters
        ----------
        table : DataFrame
        rows : ndarray of int, shape (n,)
            In order.
        own : ndarray, shape (n,)
            The values of these rows as they are.
        curves : mapping of ndarray, shape (points, n)
            Their values at the points that `points` numbers, by feature.
        """
        at = np.searchsorted(rows, table.index.to_numpy())
        for name, values in curves.items():
            point = table[name].to_numpy().astype(int) - self._n
            if (point >= 0).all():
                return values[point, at]
        return own[at]
