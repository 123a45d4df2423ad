"""Prediction intervals: lower and upper bounds at stated coverage levels, and a point prediction, without a density."""

from typing import Any, ClassVar

import numpy as np

from ...core.support.arrays import AnyArray, BoolArray, FloatArray
from ...core.support.errors import InputError
from ...core.support.numbers import show_value
from ..families.categorical import Categorical
from ..numerics.validate import Rowwise, levels, numbers, vector

USUAL_LEVEL = 0.9


class Intervals(Rowwise):
    """n rows of prediction intervals, each said to hold y with a stated probability at least.

    They say where y lies how often, and nothing of how it is spread inside or outside: there is no density,
    so no entropy and no likelihood. Width, miscoverage and interval score are those of one level, the
    `main` one.

    Parameters
    ----------
    levels : array of shape (L,)
        Stated coverage of each interval, between 0 and 1.
    lower, upper : arrays of shape (n, L)
        Bounds, in units of y; of shape (n,) for a single level.
    point : array of shape (n,)
        The model's point prediction, which is returned as the mean.

    Raises
    ------
    InputError
        If a bound is not finite, or a lower bound lies above its upper one, with the first such row.

    Notes
    -----
    ``intervals`` in `supports` promises the attributes `levels`, `lower`, `upper` and `main`, the position of
    the level nearest to 90%.

    Examples
    --------
    >>> q = Intervals([0.5, 0.9], [[1.0, 0.0], [2.0, 1.0]], [[2.0, 4.0], [3.0, 4.0]], [1.5, 2.5])
    >>> q.covered(np.array([3.0, 2.5]))
    array([[False,  True],
           [ True,  True]])
    >>> q.why_not("entropy")
    'entropy needs a density, which prediction intervals do not give; use width or interval_score'
    """

    family = "interval"
    supports = frozenset({"mean", "covered", "intervals"})
    stand_ins: ClassVar[dict[str, str]] = {"entropy": "width", "nll": "interval_score"}
    by_row = ("point", "lower", "upper")

    def __init__(self, levels: Any, lower: Any, upper: Any, point: Any) -> None:
        self.levels = checked_levels("intervals.levels", levels)
        self.point = vector("intervals.point", point)
        shape = len(self.point), len(self.levels)
        self.lower = _bounds("intervals.lower", lower, shape)
        self.upper = _bounds("intervals.upper", upper, shape)
        crossed = self.lower > self.upper
        if crossed.any():
            row, k = np.argwhere(crossed)[0]
            raise InputError(
                f"intervals.lower must be at most intervals.upper; got {self.lower[row, k]:g} above "
                f"{self.upper[row, k]:g} at level {self.levels[k]:g} in row {row} "
                f"({int(crossed.any(axis=1).sum())} of {len(self)} rows). "
                "Sort the bounds in the model, or conformalise another score.",
                row=int(row),
            )

    @property
    def main(self) -> int:
        """Position of the level nearest to 90%."""
        return nearest_level(self.levels)

    def mean(self) -> FloatArray:
        """Return the point prediction."""
        return self.point

    def covered(self, y: AnyArray) -> BoolArray:
        """Return whether the interval of each level holds y_i, its bounds included, shape (n, L)."""
        return np.asarray((self.lower <= y[:, None]) & (y[:, None] <= self.upper))

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method.startswith(("aleatoric", "epistemic")):
            return f"{method} needs the members of an ensemble; prediction intervals have none"
        return f"{method} needs a density, which prediction intervals do not give; use width or interval_score"


def checked_levels(who: str, values: Any) -> FloatArray:
    """Return coverage levels, shape (L,), each once."""
    found = levels(who, values)
    if not len(found) or len(np.unique(found)) < len(found):
        raise InputError(f"{who} must be different levels, at least one; got {found.tolist()}. Give each once.")
    return found


def nearest_level(values: FloatArray) -> int:
    """Return the position of the level nearest to 90%; of two equally near, the higher.

    Examples
    --------
    >>> nearest_level(np.array([0.5, 0.85, 0.95]))
    2
    """
    distance = np.round(np.abs(values - USUAL_LEVEL), 12)
    return int(np.lexsort((-values, distance))[0])


def _bounds(who: str, values: Any, shape: tuple[int, int]) -> FloatArray:
    bounds = numbers(who, values)
    if bounds.ndim == 1 and shape[1] == 1:
        bounds = bounds[:, None]
    if bounds.shape != shape:
        raise InputError(f"{who} must have the shape (rows, levels), {shape}; got {bounds.shape}.")
    bad = ~np.isfinite(bounds)
    if bad.any():
        row, k = np.argwhere(bad)[0]
        raise InputError(
            f"{who} must be finite; got {show_value(bounds[row, k])} in row {row}, level {k} "
            f"({int(bad.any(axis=1).sum())} of {len(bounds)} rows). "
            "Calibrate on more rows, or ask for a lower coverage level.",
            row=int(row),
        )
    return bounds


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
    nearest to 90%.

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
        """Position of the level nearest to 90%."""
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
