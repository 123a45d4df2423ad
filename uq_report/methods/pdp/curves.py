"""Profiles gathered point by point, so that no more than one point of all rows is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, cast

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import Measure
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...distributions import Categorical
from ..shared.curves import stacked, surface_places
from ..shared.estimates import estimate
from ..shared.grids import FeatureGrid

MODES = ("plain", "centred", "derivative")


@dataclass(frozen=True)
class ProfileRows:
    """What every curve shares.

    `ice` holds the rows that keep a curve; `infinite`, shape (measures, n), the rows whose measure is
    infinite at their own value.
    """

    measures: tuple[Measure, ...]
    sampling: Sampling
    ice: IntArray
    infinite: BoolArray


@dataclass
class Curves:
    """The average and the ICE curves of all measures along one feature, or the surface of two.

    ``plain`` values are the measure; ``centred`` ones its change from the first point; a
    ``derivative`` is the slope between neighbours, placed half-way (Goldstein et al. 2015).
    """

    grids: tuple[FeatureGrid, ...]
    rows: ProfileRows
    mode: str = "plain"
    means: list[FloatArray] = field(default_factory=list)
    errors: list[FloatArray] = field(default_factory=list)
    ice: list[FloatArray] = field(default_factory=list)
    anchor: FloatArray | None = None

    def __post_init__(self) -> None:
        """Start from the rows that are infinite at their own value."""
        self.infinite = self.rows.infinite.copy()

    def variants(self) -> Iterator[Variant]:
        """Yield the points: all rows with this feature (these features) set to one value each."""
        columns = tuple(grid.column for grid in self.grids)
        for values in product(*(grid.steps for grid in self.grids)):
            yield Variant(columns, values)

    def add(self, values: FloatArray) -> None:
        """Take the values at the next point, shape (measures, n)."""
        self.infinite |= np.isinf(values)
        first = self.anchor is None
        anchor = values.copy() if self.anchor is None else self.anchor  # the engine fills its buffer again
        self.anchor = values.copy() if self.mode == "derivative" else anchor
        if self.mode == "derivative" and first:
            return  # a slope needs a left neighbour
        with np.errstate(invalid="ignore"):
            if self.mode == "centred":
                values = values - anchor
            elif self.mode == "derivative":
                k, x = len(self.means), self.grids[0].x
                values = (values - anchor) / (x[k + 1] - x[k])
            mean, error = self.rows.sampling.mean(values)
        self.means.append(mean)
        self.errors.append(error)
        self.ice.append(values[:, self.rows.ice])

    def omission(self, m: int) -> Omission | None:
        """Return why one measure has no curve here: the rows that are infinite somewhere on the grid; None if none."""
        infinite, n = int(self.infinite[m].sum()), self.infinite.shape[1]
        measure = self.rows.measures[m].name
        reason = (
            f"{measure} is infinite for {infinite} of {n} rows somewhere on the grid, usually because "
            "the model gives an outcome probability 0; calibrate or smooth its probabilities"
        )
        return Omission(measure, " x ".join(grid.feature for grid in self.grids), reason) if infinite else None

    def places(self) -> dict[str, Any]:
        """Return the columns that say where each point is."""
        if len(self.grids) == 2:
            first, second = self.grids
            return surface_places((first.x, first.levels), (second.x, second.levels))
        x, levels = self.grids[0].x, self.grids[0].levels
        if self.mode == "derivative":
            x, levels = (x[1:] + x[:-1]) / 2, levels[1:]
        return {"x": x, "level": np.array(levels, dtype=object), "x_2": np.nan, "level_2": ""}

    def lines(self, m: int) -> dict[str, Any]:
        """Return one measure's average (curve -1), then its ICE curves, in the columns of a Profile."""
        values, curves = np.array(self.means)[:, [m]], np.array([-1])
        if len(self.grids) == 1:
            values = np.column_stack([values, np.array(self.ice)[:, m]])
            curves = np.append(curves, self.rows.ice)
        places = {k: np.tile(v, len(curves)) if np.ndim(v) else v for k, v in self.places().items()}
        repeated = np.repeat(curves, len(self.means))
        return self._names(m) | places | {"curve": repeated, "value": values.T.ravel()}

    def estimates(self, m: int, confidence: float) -> dict[str, Any]:
        """Return one measure's average with its pointwise interval over new test rows."""
        mean, error = np.array(self.means)[:, m], np.array(self.errors)[:, m]
        interval = self.rows.sampling.interval(mean, error, confidence)
        return estimate(mean, error, interval, confidence) | self._names(m) | self.places()

    def _names(self, m: int) -> dict[str, Any]:
        second = self.grids[1].feature if len(self.grids) == 2 else ""
        return {"measure": self.rows.measures[m].name, "feature": self.grids[0].feature, "feature_2": second}


N_BINS = 20


def own_values(subject: Subject, curves: Sequence[Curves], base: FloatArray, engine: Engine) -> Diagnostic:
    """Return where each ICE row itself stands: ``x`` its own value, ``value`` its own measure."""
    labels = _labels(subject, engine)
    ice = max((curve.rows.ice for curve in curves), key=len, default=np.arange(0))
    return _diagnostic(
        "pdp.own",
        "Own values of the ICE rows",
        _own_lines(subject, curves, base),
        "item is the row. Rows whose own value is missing or not on the axis have no dot.",
        {} if labels is None else {"row_class": {str(row): str(labels[row]) for row in ice}},
    )


def distributions(subject: Subject, grids: Sequence[FeatureGrid], engine: Engine) -> Diagnostic:
    """Return the histogram of every feature, by class where there are classes."""
    labels = _labels(subject, engine)
    parts = {"all": np.ones(subject.n, dtype=bool)}
    if labels is not None:
        parts = {str(label): labels == label for label in cast("Categorical", engine.baseline).classes.tolist()}
    tables, edges = [], {}
    for grid in grids:
        own = grid.own_x(subject)
        bins = np.linspace(-0.5, len(grid.steps) - 0.5, len(grid.steps) + 1)
        if grid.numeric:
            bins = bin_edges(own[np.isfinite(own)])
            edges[grid.feature] = bins.tolist()
        tables += _counts(grid.feature, own, bins, parts)
    title = "Distribution of the features" + ("" if labels is None else " by class")
    note = "value is the number of rows in the bin around x, or at the level with position x."
    return _diagnostic("pdp.distribution", title, tables, note, {"edges": edges})


def bin_edges(values: FloatArray) -> FloatArray:
    """Return the edges of `N_BINS` bins from the smallest to the largest of some numbers, however alike they are.

    Examples
    --------
    >>> bin_edges(np.array([0.0, 40.0]))[:3]
    array([0., 2., 4.])
    >>> bool((np.diff(bin_edges(np.array([2.0**60, 2.0**60 + 256]))) > 0).all())
    True
    """
    low, high = float(values.min()), float(values.max())
    least = N_BINS * float(np.spacing(max(abs(low), abs(high))))  # narrower bins would have no width
    if high - low < least:
        reach = max(0.5 * (low == high), least)
        low, high = low - reach, high + reach
    return np.linspace(low, high, N_BINS + 1)


def _diagnostic(
    id: str, title: str, tables: Sequence[Mapping[str, Any]], note: str, meta: Mapping[str, Any]
) -> Diagnostic:
    frame, estimates = stacked(tables, Diagnostic.columns), stacked([], ESTIMATE_COLUMNS)
    return Diagnostic(id=id, explainer="pdp", title=title, frame=frame, estimates=estimates, notes=(note,), meta=meta)


def _own_lines(subject: Subject, curves: Sequence[Curves], base: FloatArray) -> list[dict[str, Any]]:
    """Return a table of each measure and curve."""
    own = [(curve, curve.grids[0].own_x(subject)[curve.rows.ice]) for curve in curves]
    items = np.arange(subject.n).astype(str).astype(object)
    tables = []
    for m, (curve, x) in product(range(len(base)), own):
        ice, value = curve.rows.ice, base[m, curve.rows.ice]
        if curve.mode == "centred" and curve.anchor is not None:
            with np.errstate(invalid="ignore"):
                value = value - curve.anchor[m, ice]
        placed = np.isfinite(x) & (curve.omission(m) is None)
        names = {"measure": curve.rows.measures[m].name, "feature": curve.grids[0].feature}
        tables.append(names | {"item": items[ice[placed]], "x": x[placed], "value": value[placed]})
    return tables


def _labels(subject: Subject, engine: Engine) -> AnyArray | None:
    """Return each row's class label, or None unless y is a class."""
    return subject.y if "proba" in engine.baseline.supports else None


def _counts(feature: str, own: FloatArray, bins: FloatArray, parts: Mapping[str, BoolArray]) -> list[dict[str, Any]]:
    """Return the counts of one feature, for each class or for all rows."""
    centres = (bins[1:] + bins[:-1]) / 2
    tables = []
    for item, member in parts.items():
        counts = np.histogram(own[member & np.isfinite(own)], bins)[0].astype(float)
        tables.append({"measure": "", "feature": feature, "item": item, "x": centres, "value": counts})
    return tables
