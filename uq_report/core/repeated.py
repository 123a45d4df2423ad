"""Changed rows that a model cannot tell apart: predicted and measured once, then given to all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import NamedTuple, Protocol, runtime_checkable

from .arrays import FloatArray, IntArray
from .predictive import Distribution
from .variants import Variant


class Repeated(NamedTuple):
    """Rows under changes, of which those that are alike are predicted once.

    Attributes
    ----------
    dist : Distribution
        The same object for as long as it holds what is asked, so that it is measured once.
    rows : ndarray of int, shape (len(dist),)
        Which of the rows asked each is of.
    spread : callable
        Returns values (measures, len(dist)) for all rows under all variants, shape (measures, variants, rows).
    """

    dist: Distribution
    rows: IntArray
    spread: Callable[[FloatArray], FloatArray]


@runtime_checkable
class Repeats(Protocol):
    """Optional: a shortcut that knows which changes of a row are predicted alike."""

    def repeated(self, group: Sequence[Variant], rows: IntArray, needs: Set[str]) -> Repeated | None:
        """Return what `predict` does, as far as the methods `needs` go; None where it is not worth it."""
