"""Changed rows that a model is asked for together with the rows themselves, for comparisons with its shortcuts.

Only where the rows of a call do not move each other's answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .arrays import Columns, IntArray, Table
from .believed import compared_rows
from .errors import UQReportError
from .predictive import Distribution
from .shortcut import TOGETHER
from .variants import Mix, Variant, mixed_rows


class Known(NamedTuple):
    """Changes of `rows`, positions in a table, and what the model says: row r of change v at ``r * changes + v``."""

    changes: list[Variant]
    rows: IntArray
    plain: Distribution


@dataclass(frozen=True, eq=False)
class Trial:
    """Some rows of a table to be tried under changes of each column, and of columns by twos.

    Parameters
    ----------
    rows, donors : ndarray of int, shape (m,)
        Positions of the rows, and of those that give them the changed columns: one row to the first half, as where
        all rows take a value, and to the others one each.
    columns : tuple of tuples of int
        The columns of each change.
    """

    rows: IntArray
    donors: IntArray
    columns: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, X: Table) -> Trial:
        """Return what to try of a table.

        Examples
        --------
        >>> trial = Trial.of(np.zeros((100, 3)))
        >>> trial.columns
        ((0,), (1,), (2,), (0, 1), (2, 0))
        >>> trial.rows
        array([ 0, 11, 22, 33, 44, 55, 66, 77, 88, 99])
        >>> trial.donors
        array([55, 55, 55, 55, 55, 44, 33, 22, 11,  0])
        """
        n, width = X.shape
        pairs = [(c, (c + 1) % width) for c in range(0, width if width > 1 else 0, 2)]
        columns = (*((c,) for c in range(width)), *pairs)[:TOGETHER]
        rows = compared_rows(n, max(1, len(columns)))
        donors = rows[::-1].copy()
        donors[: -(-len(rows) // 2)] = rows[len(rows) // 2]
        return cls(rows, donors, columns)

    def __len__(self) -> int:
        """Return the number of changed rows."""
        return len(self.rows) * len(self.columns)

    def behind(self, X: Table) -> Table:
        """Return all rows of the table, and behind them the changed ones."""
        own = np.array([[c in columns for c in range(X.shape[1])] for columns in self.columns])
        unchanged = Mix(0, np.zeros((1, X.shape[1]), dtype=bool), np.arange(len(X)))
        changed = (Mix(int(donor), own, self.rows[[at]]) for at, donor in enumerate(self.donors))
        return mixed_rows(X, [unchanged, *changed])

    def like(self, changes: Sequence[Variant], source: Columns, plain: Distribution) -> Known | None:
        """Return tried changes of the columns that are changed, put in the same way; None where some were not tried.

        Of several columns all that were tried by twos, which hold the columns in other pairs.

        Parameters
        ----------
        changes : sequence of Variant
        source : Columns
            Those of the table.
        plain : Distribution
            What the model predicted of the changed rows.
        """
        kinds = {_kind(value, change) for change in changes for value in change.values or [None]}
        sizes = {len(change.columns) for change in changes}
        wanted = {c for change in changes for c in change.columns}
        places = [
            place
            for place, columns in enumerate(self.columns)
            if {len(columns)} == sizes and (len(columns) > 1 or columns[0] in wanted)
        ]
        if len(kinds) > 1 or not places or not wanted <= {c for place in places for c in self.columns[place]}:
            return None
        kind = kinds.pop()
        rows = self.rows[: -(-len(self.rows) // 2)] if kind == 0 else self.rows
        donors = self.donors[: len(rows)]
        found = []
        for columns in (self.columns[place] for place in places):
            values = tuple(source[c][donors[0] if kind == 0 else donors] for c in columns)
            found.append(Variant(columns, donors=donors) if kind is None else Variant(columns, values))
        at = np.arange(len(rows))[:, None] * len(self.columns) + places
        return Known(found, rows, plain.take(at.ravel()))


def first_call(
    X: Table, most: int, call: Callable[[Table], Distribution]
) -> tuple[Distribution, tuple[Trial, Distribution] | None]:
    """Return what a model says of all rows, and what it says of changes tried in the same call.

    A call of a model costs much by itself. The rows are asked for alone where both are more than `most` rows, and where
    the call of both fails.
    """
    trial, n = Trial.of(X), len(X)
    if n + len(trial) > most:
        return call(X), None
    try:
        both = call(trial.behind(X))
    except UQReportError:  # the model may refuse changes that nobody asked for
        return call(X), None
    return both.take(np.arange(n)), (trial, both.take(np.arange(n, len(both))))


def _kind(value: Any, change: Variant) -> int | None:
    """Return how a change puts a value in: None by donors, 0 one value into all rows, 1 one into each."""
    return None if change.donors is not None else np.ndim(value)
