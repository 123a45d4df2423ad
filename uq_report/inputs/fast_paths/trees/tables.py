"""What walks are asked and keep: changes, tables of sums, and how much of one is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....core.arrays import AnyArray, IntArray
from ....core.predictive import Distribution

if TYPE_CHECKING:
    from .runs import Runs


class Asked(NamedTuple):
    """Changes: their numbers, each at one of `places`, and the place of what each row takes, shape (rows, variants)."""

    numbers: AnyArray
    places: IntArray
    at: IntArray

    def spread(self, found: IntArray) -> IntArray:
        """Return what was found for each change, for what each row takes."""
        by_place = np.zeros(int(self.places[-1]) + 1, dtype=np.int64)
        by_place[self.places] = found
        return by_place[self.at]


class SumTable(NamedTuple):
    """The sums (channels, m, n) of some rows under the changes `asked`, sorted numbers as `Walks` numbers them.

    `places` are those of all numbers up to the largest, -1 of others than asked; None where there are too many.
    """

    rows: IntArray
    asked: AnyArray
    places: IntArray | None
    sums: IntArray

    def at(self, rows: IntArray, numbers: AnyArray) -> IntArray | None:
        """Return the places of changes of these rows; None if the table does not hold them all."""
        if int(numbers.max()) > self.asked[-1] or not np.array_equal(rows, self.rows):
            return None
        if self.places is not None:
            found = self.places.take(numbers)
            return found if found.min() >= 0 else None
        found = np.searchsorted(self.asked, numbers)
        return found if (self.asked[found] == numbers).all() else None


@dataclass(eq=False)
class Last:
    """The table that shuffles asked last.

    `asked` is for how many changed rows since another was; `whole` all of it predicted, once that is worth it, with the
    parts of uncertainty if `split`.
    """

    table: SumTable
    split: bool
    asked: int = 0
    whole: tuple[Distribution, Runs] | None = None
