"""Out-of-bag residuals: each training row predicted by the members of a forest or bagging that did not see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....core.support.arrays import FloatArray, IntArray, Table, take_rows
from ....core.support.errors import InputError
from ..ensemble import members, moments
from ..sklearn_ import is_a, transform, unwrap
from .points import Collected, PointPredictions

BOOTSTRAP = ("RandomForestRegressor", "ExtraTreesRegressor", "BaggingRegressor")
_CHECKED = 3  # members whose leaves are counted
_OTHER_ROWS = (
    "explain.train must hold the rows of the fit in their order for out-of-bag residuals; got {}. Pass those rows, or "
    "residuals=uq.Residuals(source='cross_validation')."
)


def has_bags(model: Any) -> bool:
    """Say whether out-of-bag rows of a model can be known."""
    final = unwrap(model)[1]
    return is_a(final, BOOTSTRAP) and bool(getattr(final, "bootstrap", False)) and hasattr(final, "estimators_")


def out_of_bag(model: Any, X: Table, y: FloatArray, *, mixed: bool) -> Collected:
    """Return residuals of each row from the members that did not see it; of rows outside fewer than two bags, none.

    The members' variance is what the whole ensemble would have: that of the means of members outside is unbiased.
    """
    steps, forest = unwrap(model)
    rows = transform(steps, X)
    total, squares, own, times = np.zeros((4, len(y)))
    for k, ((member, its_rows), inside) in enumerate(zip(members(forest, rows), _samples(forest, len(y)), strict=True)):
        if k < _CHECKED:
            _refuse_other_rows(member, its_rows, inside)
        outside = np.setdiff1d(np.arange(len(y)), inside)
        if len(outside):
            mean, std, _ = moments(member, its_rows[outside])
            total[outside] += mean
            squares[outside] += np.square(mean)
            own[outside] += np.square(std)
            times[outside] += 1
    kept = np.flatnonzero(times > 1)
    n, m = times[kept], len(forest.estimators_)
    mean = total[kept] / n
    _refuse_other_predictions(forest, kept, mean)
    spread = np.maximum(squares[kept] / n - np.square(mean), 0.0) * n / (n - 1) * (1 - 1 / m)
    variance = spread + own[kept] / n if mixed else np.zeros(len(kept))
    note = f"{len(y) - len(kept)} training rows are outside fewer than two bags and give no residual."
    notes = (note,) if len(kept) < len(y) else ()
    return Collected("oob", take_rows(X, kept), y[kept] - mean, PointPredictions(mean, variance), notes)


def _samples(forest: Any, n: int) -> Iterator[IntArray]:
    """Yield the row positions that each member was fitted to; refuse another number of rows."""
    fitted = int(getattr(forest, "_n_samples", n))
    if fitted != n:
        raise InputError(_OTHER_ROWS.format(f"{n} rows for a fit of {fitted}"))
    yield from (np.asarray(inside) for inside in forest.estimators_samples_)


def _refuse_other_rows(member: Any, X: Any, inside: IntArray) -> None:
    """Refuse training rows that do not fall into a tree's leaves as those of its fit did."""
    if not hasattr(member, "tree_"):
        return
    leaf = member.apply(X)
    ends, sizes = member.tree_.children_left < 0, member.tree_.n_node_samples
    # a tree counts rows that were drawn twice once or twice, by how it was given them
    counts = [np.bincount(leaf[rows], minlength=len(sizes)) for rows in (np.unique(inside), inside)]
    if not any(np.array_equal(count[ends], sizes[ends]) for count in counts):
        raise InputError(_OTHER_ROWS.format("rows that fall into other leaves of its trees"))


def _refuse_other_predictions(forest: Any, rows: IntArray, mean: FloatArray) -> None:
    """Refuse training rows whose out-of-bag predictions are not those that the model recorded at its fit."""
    recorded = getattr(forest, "oob_prediction_", None)
    if recorded is not None and not np.allclose(np.asarray(recorded)[rows], mean, rtol=1e-6):
        raise InputError(_OTHER_ROWS.format("out-of-bag predictions other than its oob_prediction_"))
