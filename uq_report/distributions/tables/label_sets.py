"""Class probabilities with label sets beside them: what a conformal classifier gives."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...core.support.arrays import AnyArray, BoolArray
from ...core.support.errors import InputError
from ..families.categorical import Categorical
from .intervals import checked_levels, nearest_level


class LabelSets(Categorical):
    """n categorical distributions, and for each row the set of classes said to hold y, at stated coverage levels.

    All that a `Categorical` answers is of the probabilities; set size and miscoverage are of the sets, at one
    level, the `main` one. A set may be empty: no class was likely enough.

    Parameters
    ----------
    probabilities : array of shape (n, k)
    levels : array of shape (L,)
        Stated coverage of each set, between 0 and 1.
    sets : array of bool, shape (n, k, L)
        Whether a class is in the set of its row; of shape (n, k) for a single level.
    classes, positive
        As in `Categorical`.

    Raises
    ------
    InputError
        If the sets do not fit the probabilities or are not true or false.

    Notes
    -----
    ``label_sets`` in `supports` promises the attributes `levels`, `sets` and `main`, the position of the level
    nearest to 90 %.

    Examples
    --------
    >>> q = LabelSets([[0.7, 0.3], [0.5, 0.5]], [0.9], [[True, False], [True, True]], classes=["no", "yes"])
    >>> q.covered(np.array([1, 1]))
    array([[False],
           [ True]])
    >>> q.entropy().round(4)
    array([0.6109, 0.6931])
    """

    by_row: ClassVar[tuple[str, ...]] = ("probabilities", "sets")

    def __init__(
        self, probabilities: Any, levels: Any, sets: Any, classes: Any = None, positive: int | None = None
    ) -> None:
        super().__init__(probabilities, classes, positive)
        self.levels = checked_levels("label_sets.levels", levels)
        self.sets = _checked_sets(sets, (*self.probabilities.shape, len(self.levels)))

    @property
    def supports(self) -> frozenset[str]:
        """What a categorical distribution supports, and the sets."""
        return super().supports | {"covered", "label_sets"}

    @property
    def main(self) -> int:
        """Position of the level nearest to 90 %."""
        return nearest_level(self.levels)

    def covered(self, y: AnyArray) -> BoolArray:
        """Return whether the set of each level holds class position y_i, shape (n, L)."""
        return self.sets[np.arange(len(self)), y]


def _checked_sets(values: Any, shape: tuple[int, ...]) -> BoolArray:
    sets = np.asarray(values)
    if sets.ndim == 2 and shape[-1] == 1:
        sets = sets[..., None]
    if sets.shape != shape:
        raise InputError(f"label_sets.sets must have the shape (rows, classes, levels), {shape}; got {sets.shape}.")
    if sets.dtype != bool and not np.isin(sets, (0, 1)).all():
        raise InputError(
            f"label_sets.sets must be true or false; got {sets.dtype} with other values. "
            "Compare p-values with 1 - level first."
        )
    return sets.astype(bool)
