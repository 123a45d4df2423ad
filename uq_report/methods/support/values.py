"""Values that the training rows do not have, and how surprising their number is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.arrays import BoolArray, IntArray
from ...core.engine import Engine
from ...core.results import Diagnostic
from ...core.text import short
from ...evidence import ids
from ...evidence.rows import ABOVE_RANGE, BELOW_RANGE, NEWLY_MISSING, UNSEEN_LEVEL
from ..shared.tidy import diagnostic
from .columns import Paired

WORK = 2_000_000
NAMED = 5
New = tuple[str, BoolArray, float, str]


def new_values(columns: Sequence[Paired], rows: IntArray, engine: Engine) -> Diagnostic:
    """Return the result ``support.values``; tests use the independent audited rows at positions `rows`."""
    records: list[dict[str, Any]] = []
    for column in columns:
        for item, hits, p_value, bound in _new(column, rows, engine):
            count, n = int(hits.sum()), len(column.test)
            line = {"measure": "count", "feature": column.name, "estimate": float(count), "covers": "none"}
            line |= {"item": item, "n": n, "share": count / n, "p_value": p_value, "bound": bound}
            records += [line] if count else []
    return diagnostic(
        ids.SUPPORT_VALUES,
        "Values that the training rows do not have",
        records,
        ("item", "n", "share", "p_value", "bound"),
        x="n",
        notes=(
            "Counts of audited rows against all training rows; only features with such values are listed.",
            (
                "p is the chance of as many if audited and training rows were drawn alike. k values beyond the "
                "training range: the k most extreme of all rows are audited ones. Unseen levels: rows dealt anew."
            ),
            "Weights take no part in these p-values; of clusters one row each, drawn once, does.",
        ),
        meta={"tests": sum(3 if column.ordered else 2 for column in columns)},
    )


def _new(column: Paired, rows: IntArray, engine: Engine) -> Iterator[New]:
    yield from _beyond(column, rows) if column.ordered else _unseen(column, rows, engine)
    if not np.isnan(column.train).any():
        hits = np.isnan(column.test)
        yield NEWLY_MISSING, hits, all_among(int(hits[rows].sum()), len(rows), len(column.train)), ""


def all_among(k: int, n: int, n_train: int) -> float:
    """Return the chance that k given rows of n + n_train, dealt at random, are all among the n.

    Examples
    --------
    >>> all_among(2, 1, 3), all_among(1, 1, 3), all_among(0, 1, 3)
    (0.0, 0.25, 1.0)
    """
    i = np.arange(k)
    return float(np.prod(np.maximum(n - i, 0) / (n + n_train - i)))


def _beyond(column: Paired, rows: IntArray) -> Iterator[New]:
    """Yield the audited values below and above the training range."""
    train = column.train[~np.isnan(column.train)]
    n = int((~np.isnan(column.test[rows])).sum())
    if len(train):
        low, high = float(train.min()), float(train.max())
        for item, hits, bound in ((BELOW_RANGE, column.test < low, low), (ABOVE_RANGE, column.test > high, high)):
            yield item, hits, all_among(int(hits[rows].sum()), n, len(train)), f"{bound:g}"


def _unseen(column: Paired, rows: IntArray, engine: Engine) -> Iterator[New]:
    """Yield the audited rows with a level that no training row has."""
    hits = ~np.isnan(column.test) & ~np.isin(column.test, column.train)
    names = [short(column.labels[int(code)]) for code in np.unique(column.test[hits])[:NAMED]]
    yield UNSEEN_LEVEL, hits, _dealt(column, rows, engine) if hits.any() else 1.0, ", ".join(names)


def _dealt(column: Paired, rows: IntArray, engine: Engine) -> float:
    """Return the chance of as many rows with unseen levels, by dealing all rows anew to training and audit."""
    test, train = (values[~np.isnan(values)].astype(np.int64) for values in (column.test[rows], column.train))
    size = len(column.labels)
    ours = np.bincount(test, minlength=size)
    both = ours + np.bincount(train, minlength=size)
    observed = int(both[ours == both].sum())
    draws = int(np.clip(WORK // size, 99, 9999))
    rng = engine.rng("levels", column.name)
    step = max(1, WORK // size)
    above = 0
    for start in range(0, draws, step):
        deal = rng.multivariate_hypergeometric(both, len(test), size=min(step, draws - start), method="marginals")
        above += int(((deal == both) @ both >= observed).sum())
    return (1 + above) / (draws + 1)
