"""Values that the training rows do not have, and how surprising their number is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import BoolArray, IntArray
from ...core.engine import Engine
from ...core.results import ESTIMATE_COLUMNS, Diagnostic
from ...core.text import short
from .columns import Paired

COLUMNS = (*ESTIMATE_COLUMNS, "item", "n", "share", "p_value", "bound")
WORK = 2_000_000
NAMED = 5
New = tuple[str, BoolArray, float, str]


def new_values(columns: Sequence[Paired], rows: IntArray, engine: Engine) -> Diagnostic:
    """Return the result ``support.values``; tests use the independent audited rows at positions `rows`."""
    records, tests = [], 0
    for one in columns:
        tests += 3 if one.ordered else 2
        found = [*(_beyond(one, rows) if one.ordered else _unseen(one, rows, engine)), *_missing(one, rows)]
        records += [_record(one, item, hits, p, bound) for item, hits, p, bound in found if hits.any()]
    estimates = pd.DataFrame(records, columns=list(COLUMNS))
    return Diagnostic(
        id="support.values",
        explainer="support",
        title="Values that the training rows do not have",
        frame=estimates.rename(columns={"n": "x", "estimate": "value"})[list(Diagnostic.columns)].astype({"x": float}),
        estimates=estimates,
        notes=(
            "Counts of audited rows against all training rows; only features with such values are listed.",
            (
                "p is the chance of as many if audited and training rows were drawn alike. k values beyond the "
                "training range: the k most extreme of all rows are audited ones. Unseen levels: rows dealt anew."
            ),
            "Weights take no part in these p-values; of clusters one row each, drawn once, does.",
        ),
        meta={"tests": tests},
    )


def all_among(k: int, n: int, n_train: int) -> float:
    """Return the chance that k given rows of n + n_train, dealt at random, are all among the n.

    Examples
    --------
    >>> all_among(2, 1, 3), all_among(1, 1, 3), all_among(0, 1, 3)
    (0.0, 0.25, 1.0)
    """
    i = np.arange(k)
    return float(np.prod(np.maximum(n - i, 0) / (n + n_train - i)))


def _beyond(one: Paired, rows: IntArray) -> list[New]:
    """Return the audited values below and above the training range."""
    known = one.train[~np.isnan(one.train)]
    part = one.test[rows]
    n = int((~np.isnan(part)).sum())
    if not len(known):
        return []
    low, high = float(known.min()), float(known.max())
    return [
        ("below range", one.test < low, all_among(int((part < low).sum()), n, len(known)), f"{low:g}"),
        ("above range", one.test > high, all_among(int((part > high).sum()), n, len(known)), f"{high:g}"),
    ]


def _unseen(one: Paired, rows: IntArray, engine: Engine) -> list[New]:
    """Return the audited rows with a level that no training row has."""
    known = np.unique(one.train[~np.isnan(one.train)])
    hits = ~np.isnan(one.test) & ~np.isin(one.test, known)
    names = [short(one.labels[int(code)]) for code in np.unique(one.test[hits])[:NAMED]]
    return [("unseen level", hits, _dealt(one, rows, engine) if hits.any() else 1.0, ", ".join(names))]


def _dealt(one: Paired, rows: IntArray, engine: Engine) -> float:
    """Return the chance of as many rows with unseen levels, by dealing all rows anew to training and audit."""
    part, train = one.test[rows], one.train[~np.isnan(one.train)]
    part = part[~np.isnan(part)]
    size = len(one.labels)
    ours = np.bincount(part.astype(np.int64), minlength=size)
    both = ours + np.bincount(train.astype(np.int64), minlength=size)
    observed = int(both[ours == both].sum())
    draws = int(np.clip(WORK // size, 99, 9999))
    rng = engine.rng("levels", one.name)
    above, done = 0, 0
    while done < draws:
        step = min(draws - done, max(1, WORK // size))
        dealt = rng.multivariate_hypergeometric(both, len(part), size=step, method="marginals")
        above += int(((dealt == both) @ both >= observed).sum())
        done += step
    return (1 + above) / (draws + 1)


def _missing(one: Paired, rows: IntArray) -> list[New]:
    """Return the audited rows where a value is missing that no training row lacks."""
    if np.isnan(one.train).any():
        return []
    hits = np.isnan(one.test)
    return [("newly missing", hits, all_among(int(hits[rows].sum()), len(rows), len(one.train)), "")]


def _record(one: Paired, item: str, hits: BoolArray, p_value: float, bound: str) -> dict[str, Any]:
    count = int(hits.sum())
    return {
        "measure": "count",
        "feature": one.name,
        "estimate": float(count),
        "std_error": np.nan,
        "lower": np.nan,
        "upper": np.nan,
        "confidence": np.nan,
        "covers": "none",
        "item": item,
        "n": len(one.test),
        "share": count / len(one.test),
        "p_value": p_value,
        "bound": bound,
    }
