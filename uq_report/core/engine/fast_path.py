"""Predictions of changed rows from the structure of a model: the contract of fast paths.

A fast path never decides by itself that it is right: the engine compares it with the model's own predictions in the
run, and leaves it for the rest of the run where they differ (`believed`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, ClassVar, Protocol, runtime_checkable

from ..model.adapter import Adapter
from ..model.variants import Variant
from ..predictive import Distribution
from ..support.arrays import IntArray, Table

# largest difference from the plain prediction, in units of a measure's largest value
TOLERANCE = 1e-9
# rows of a change in a comparison, or fewer where that is much of the work; how many changes share a call of the model
COMPARED, LEAST_COMPARED, TOGETHER = 32, 8, 32


@runtime_checkable
class Shortcut(Protocol):
    """Predicts changed rows of one model and one table from what is the same in all of them.

    It holds no state that a call changes, or one for each thread: threads share it, and other processes get a copy.
    """

    def covers(self, variant: Variant) -> bool:
        """Say whether this change of rows can be predicted."""

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distribution of every row under every variant: row r of variant v at ``r * len(group) + v``.

        Parameters
        ----------
        group : sequence of Variant
            Donors and row-wise values have one entry per entry of `rows`; donors are positions in the whole table.
        rows : ndarray of int
            Positions of the rows in the whole table.
        """


@runtime_checkable
class RoundsPredictions(Protocol):
    """Optional: a shortcut of a model whose own predictions are rounded more than `TOLERANCE` (single precision)."""

    tolerance: float


@runtime_checkable
class Joins(Protocol):
    """Optional: a shortcut whose calls have a cost of their own, and how many rows of the same columns share one."""

    rows_together: int


@runtime_checkable
class Uniform(Protocol):
    """Optional: a shortcut that is one formula for all rows, and how many of them tell whether it is right."""

    rows_compared: int


@runtime_checkable
class Partial(Protocol):
    """Optional: a shortcut, or a mixer, that may not know all that the model does, and what its distributions answer.

    It is not asked for measures that require another method. None is for all that the model's own answer.
    """

    methods: frozenset[str] | None


def answers(way: object, needs: Set[str]) -> bool:
    """Say whether the distributions of a shortcut, or of a mixer, answer these methods."""
    return not isinstance(way, Partial) or way.methods is None or needs <= way.methods


@runtime_checkable
class FastPath(Protocol):
    """A plugin of the group ``uq_report.fast_paths``: finds the structure that makes a shortcut.

    Class variables
    ---------------
    name : the entry-point name and file name
    title : what it is, for the report: "column-wise pipeline"
    rank : the path of the lowest rank that covers a change predicts it
    """

    name: ClassVar[str]
    title: ClassVar[str]
    rank: ClassVar[int]
    api_version: ClassVar[int]

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> Shortcut | None:
        """Return the shortcut for the rows of `X`; None where the model has no such structure."""
