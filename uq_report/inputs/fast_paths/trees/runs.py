"""Runs of changes under which a row keeps its sums: what it is predicted and measured for, once each.

Compiled as `walk` is, and imported only where a forest is walked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....core.arrays import AnyArray, FloatArray, IntArray
from .walk import compiled


@compiled
def _number(table, number, rows, sums):  # type: ignore[no-untyped-def]  # compiled
    """Write the run (m, n) that each position of a table (channels, m, n) is of, and each run's row and sums.

    Return how many runs there are.
    """
    run = 0
    for position in range(table.shape[1]):
        for row in range(table.shape[2]):
            begins = position == 0
            for channel in range(table.shape[0]):
                begins |= table[channel, position, row] != table[channel, position - 1, row]
                sums[channel, run] = table[channel, position, row]
            number[position, row] = run if begins else number[position - 1, row]
            rows[run] = row
            run += begins
    return run


@compiled
def _spread(values, number, places, donors, found):  # type: ignore[no-untyped-def]  # compiled
    """Write to `found` (measures, v, n) the values (measures, runs) of rows at the places of their donors (v, n)."""
    at = np.empty(donors.shape[1], dtype=np.uint32)
    for v in range(donors.shape[0]):
        for row in range(donors.shape[1]):
            at[row] = number[np.uint32(places[np.uint32(donors[v, row])]), row]
        for measure in range(values.shape[0]):
            for row in range(donors.shape[1]):
                found[measure, v, row] = values[measure, at[row]]


class Runs(NamedTuple):
    """The runs of a table of sums, numbered through.

    Attributes
    ----------
    rows : array of int64, shape (runs,)
        The row of each.
    sums : array of int64, shape (channels, runs)
    number : array of int32, shape (m, n)
        The run of each row at each position.
    """

    rows: IntArray
    sums: IntArray
    number: AnyArray

    def spread(self, places: IntArray, donors: IntArray, values: FloatArray) -> FloatArray:
        """Return values (measures, runs) of rows at the places of their donors (v, n), shape (measures, v, n)."""
        found = np.empty((len(values), *donors.shape))
        _spread(values, self.number, places, donors, found)
        return found


def runs(table: IntArray) -> Runs:
    """Return the runs of a table of sums (channels, m, n)."""
    number = np.empty(table.shape[1:], dtype=np.int32)
    rows, sums = np.empty(number.size + 1, dtype=np.int64), np.empty((len(table), number.size + 1), dtype=np.int64)
    count = _number(table, number, rows, sums)
    return Runs(rows[:count].copy(), sums[:, :count].copy(), number)
