"""What stands beside a profile: the rows' own values, and the feature's distribution by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, cast

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic
from ...core.model.subject import Subject
from ...core.support.arrays import AnyArray, BoolArray, FloatArray
from ...distributions import Categorical
from ..shared.curves import stacked
from ..shared.grids import FeatureGrid
from .curves import Curves

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
