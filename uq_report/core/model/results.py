"""What explainers return: one tidy frame of fixed columns, and the estimates with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import TYPE_CHECKING, Any, ClassVar

from ..support.errors import InputError

if TYPE_CHECKING:  # who only reads what a result must be loads no library of arrays
    import pandas as pd

    from ..support.arrays import FloatArray, IntArray

ESTIMATE_COLUMNS = ("measure", "feature", "estimate", "std_error", "lower", "upper", "confidence", "covers")


def bare_estimates(frame: pd.DataFrame, *further: str) -> pd.DataFrame:
    """Return a frame's values as estimates without an interval, with further columns of it."""
    empty = dict.fromkeys(("std_error", "lower", "upper", "confidence"), nan)
    full = frame.rename(columns={"value": "estimate"}).assign(**empty, covers="none")
    return full[[*ESTIMATE_COLUMNS, *further]]


@dataclass(frozen=True)
class Omission:
    """Something that was asked for and not done, with its reason. Empty fields mean all of them."""

    measure: str
    feature: str
    reason: str


@dataclass(frozen=True)
class MeasureFacts:
    """What a reader must know of a measure to read its numbers.

    Parameters
    ----------
    title, unit : str
    role : str
        ``"prediction"``, ``"loss"`` or ``"uncertainty"``; empty where it is not recorded.
    direction : {"larger", "smaller"}
        Which values are worse (of a loss) or less certain (of an uncertainty).
    """

    title: str
    unit: str
    role: str
    direction: str = "larger"

    @property
    def sign(self) -> int:
        """What a value is multiplied by so that larger is worse or less certain."""
        return -1 if self.direction == "smaller" else 1


@dataclass(frozen=True)
class RowSample:
    """Which rows are left of `of`: their `positions`, ascending, and the `means` (measures, features) over all."""

    of: int
    positions: IntArray
    means: FloatArray


@dataclass(frozen=True)
class RowValues:
    """Per-row values, shape (measures, features, rows), that carry the sampling error of an importance.

    A run of many rows keeps those of a random `sample` of them, which says so.
    """

    measures: tuple[str, ...]
    features: tuple[str, ...]
    values: FloatArray
    sample: RowSample | None = None

    def of(self, measure: str, feature: str) -> FloatArray:
        """Return the (n,) values of one measure and feature."""
        return self.values[self.measures.index(measure), self.features.index(feature)]

    @property
    def n(self) -> int:
        """Number of rows, those included that are not kept."""
        return self.values.shape[2] if self.sample is None else self.sample.of

    @property
    def positions(self) -> IntArray:
        """Which of the `n` rows have values."""
        if self.sample is not None:
            return self.sample.positions
        import numpy as np

        return np.arange(self.n)

    def mean(self, measure: str, feature: str) -> float:
        """Return the plain mean over all `n` rows."""
        if self.sample is None:
            return float(self.of(measure, feature).mean())
        return float(self.sample.means[self.measures.index(measure), self.features.index(feature)])


@dataclass(frozen=True, kw_only=True)
class Result:
    """One result of one explainer.

    Parameters
    ----------
    id : str
        ``explainer`` or ``explainer.part``; unique in a run, stable between runs: the evidence id.
    explainer : str
    title : str
        What it is, in words, for headings.
    frame : pandas.DataFrame
        Raw values, with exactly the columns of its kind; repeats and signs kept.
    estimates : pandas.DataFrame
        At least `ESTIMATE_COLUMNS`. ``covers`` names which variance the interval is for
        (``"new test samples"``, ``"shuffles"``, ``"Monte Carlo"``, ``"exact"``, ``"none"``); further columns belong
        to the explainer. Cells that do not apply are NaN or the empty string.
    rows : RowValues, optional
    options : mapping
        The explainer's fields as used.
    notes : tuple of str
        What a reader must know to read the numbers (a sample used, an exact path, a convention).
    omissions : tuple of Omission
    meta : mapping
        Small JSON values that belong to no row.
    measures : mapping of str to MeasureFacts
        The measures in the frames. An explainer states those of its own only: the host adds the registered ones.
    """

    id: str
    explainer: str
    title: str
    frame: pd.DataFrame
    estimates: pd.DataFrame
    rows: RowValues | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    measures: Mapping[str, MeasureFacts] = field(default_factory=dict)

    kind: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        """Refuse a frame that breaks the contract, so that every reader can rely on it."""
        self.check_columns(self.id, tuple(self.frame.columns), tuple(self.estimates.columns))
        for part, table in (("frame", self.frame), ("estimates", self.estimates)):
            floats = ((c, column) for c, column in table.items() if column.dtype.kind == "f")
            infinite = [c for c, column in floats if (abs(column.to_numpy(float, na_value=nan)) == inf).any()]
            if infinite:
                raise InputError(
                    f"{self.id}.{part} must hold finite numbers; got infinite values in {infinite}. "
                    "List such cases as omissions with their reason."
                )

    @classmethod
    def check_columns(cls, id: str, frame: Sequence[str], estimates: Sequence[str]) -> None:
        """Refuse a result whose tables lack columns of its kind.

        Raises
        ------
        InputError
            The frame has others, or the estimates lack some.
        """
        if tuple(frame) != cls.columns:
            raise InputError(f"{id}.frame must have the columns {cls.columns}; got {tuple(frame)}.")
        missing = [name for name in ESTIMATE_COLUMNS if name not in estimates]
        if missing:
            raise InputError(f"{id}.estimates must have the columns {ESTIMATE_COLUMNS}; missing {missing}.")

    def summary(self) -> pd.DataFrame:
        """Return the estimates, largest first within each measure."""
        order = {name: i for i, name in enumerate(dict.fromkeys(self.estimates["measure"]))}
        return self.estimates.sort_values(
            ["measure", "estimate"],
            key=lambda s: s.map(order) if s.name == "measure" else -s,
            kind="stable",
            ignore_index=True,
        )


@dataclass(frozen=True, kw_only=True)
class Importance(Result):
    """Importance of each feature for each measure; one row per measure, feature and repeat."""

    kind = "importance"
    columns = ("measure", "feature", "repeat", "value")


@dataclass(frozen=True, kw_only=True)
class Profile(Result):
    """A measure along one feature or two.

    ``curve`` is -1 for the average (PDP, ALE) and the subject's row position for an ICE curve.
    Numeric points stand in ``x`` with an empty ``level``; category levels have their text in
    ``level`` and their order in ``x``. Surfaces fill ``feature_2``, ``x_2`` and ``level_2``.
    """

    kind = "profile"
    columns = ("measure", "feature", "feature_2", "x", "level", "x_2", "level_2", "curve", "value")


@dataclass(frozen=True, kw_only=True)
class Interaction(Result):
    """Interaction strength of a pair of features (or one with all others, ``feature_2`` empty)."""

    kind = "interaction"
    columns = ("measure", "feature", "feature_2", "repeat", "value")


@dataclass(frozen=True, kw_only=True)
class Attribution(Result):
    """Additive contributions to one row's measure; ``base`` + the row's values = its measure.

    ``row`` is the subject's row position, ``position`` the order of a sequential method (0 if none).
    """

    kind = "attribution"
    columns = ("measure", "feature", "row", "position", "base", "value")


@dataclass(frozen=True, kw_only=True)
class Diagnostic(Result):
    """Anything else that is a labelled table: ``item`` at ``x`` has ``value``."""

    kind = "diagnostic"
    columns = ("measure", "feature", "item", "x", "value")


KINDS: dict[str, type[Result]] = {cls.kind: cls for cls in (Importance, Profile, Interaction, Attribution, Diagnostic)}
