"""Training and audited rows column by column: as equal numbers, values that training never had, and distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Diagnostic
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, FloatArray, IntArray, Table, column
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ...core.support.text import short
from ...evidence import ids
from ...evidence.rows import ABOVE_RANGE, BELOW_RANGE, NEWLY_MISSING, UNSEEN_LEVEL
from ..shared.estimates import diagnostic, estimate

WORK = 2_000_000
NAMED = 5
New = tuple[str, BoolArray, float, str]


@dataclass(frozen=True)
class Paired:
    """One column of the training rows and of the audited rows.

    Ordered columns hold their values (dates as seconds); others the positions of their `labels`. Missing
    values are NaN.
    """

    name: str
    ordered: bool
    train: FloatArray
    test: FloatArray
    labels: tuple[Any, ...] = ()


def paired(subject: Subject, train: Table) -> list[Paired]:
    """Return every feature as a pair of columns; refuse training columns of another kind."""
    return [_pair(subject, train, position, name) for position, name in enumerate(subject.features)]


def _pair(subject: Subject, train: Table, position: int, name: str) -> Paired:
    kind = subject.kinds[name]
    old, new = pd.Series(column(train, position)), pd.Series(column(subject.X, position))
    if kind == "categorical":
        codes, labels = pd.factorize(pd.concat([old.astype(object), new.astype(object)], ignore_index=True))
        values = np.where(codes < 0, np.nan, codes.astype(float))
        return Paired(name, False, values[: len(old)], values[len(old) :], tuple(labels.tolist()))
    try:
        numbers = [_seconds(part) if kind == "datetime" else _floats(part) for part in (old, new)]
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"support.train[{name!r}] must be {kind} as in X; got {old.dtype}: {error}. Give both the same type."
        ) from error
    return Paired(name, True, numbers[0], numbers[1])


def _floats(values: pd.Series[Any]) -> FloatArray:
    return values.to_numpy(dtype=float, na_value=np.nan)


def _seconds(values: pd.Series[Any]) -> FloatArray:
    """Return dates as seconds of UTC; dates without a zone are taken as they are."""
    naive = values if values.dt.tz is None else values.dt.tz_convert(None)
    return np.asarray((naive - pd.Timestamp(0)).dt.total_seconds(), dtype=float)


def new_values(columns: Sequence[Paired], rows: IntArray, engine: Engine) -> Diagnostic:
    """Return the result ``support.values``; tests use the independent audited rows at positions `rows`."""
    records: list[dict[str, Any]] = []
    for pair in columns:
        check_limits()
        for item, hits, p_value, bound in _new(pair, rows, engine):
            count, n = int(hits.sum()), len(pair.test)
            line = {"measure": "count", "feature": pair.name, "estimate": float(count), "covers": "none"}
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
        meta={"tests": sum(3 if pair.ordered else 2 for pair in columns)},
    )


def _new(pair: Paired, rows: IntArray, engine: Engine) -> Iterator[New]:
    yield from _beyond(pair, rows) if pair.ordered else _unseen(pair, rows, engine)
    if not np.isnan(pair.train).any():
        hits = np.isnan(pair.test)
        yield NEWLY_MISSING, hits, all_among(int(hits[rows].sum()), len(rows), len(pair.train)), ""


def all_among(k: int, n: int, n_train: int) -> float:
    """Return the chance that k given rows of n + n_train, dealt at random, are all among the n.

    Examples
    --------
    >>> all_among(2, 1, 3), all_among(1, 1, 3), all_among(0, 1, 3)
    (0.0, 0.25, 1.0)
    """
    i = np.arange(k)
    return float(np.prod(np.maximum(n - i, 0) / (n + n_train - i)))


def _beyond(pair: Paired, rows: IntArray) -> Iterator[New]:
    """Yield the audited values below and above the training range."""
    train = pair.train[~np.isnan(pair.train)]
    n = int((~np.isnan(pair.test[rows])).sum())
    if len(train):
        low, high = float(train.min()), float(train.max())
        for item, hits, bound in ((BELOW_RANGE, pair.test < low, low), (ABOVE_RANGE, pair.test > high, high)):
            yield item, hits, all_among(int(hits[rows].sum()), n, len(train)), f"{bound:g}"


def _unseen(pair: Paired, rows: IntArray, engine: Engine) -> Iterator[New]:
    """Yield the audited rows with a level that no training row has."""
    hits = ~np.isnan(pair.test) & ~np.isin(pair.test, pair.train)
    names = [short(pair.labels[int(code)]) for code in np.unique(pair.test[hits])[:NAMED]]
    yield UNSEEN_LEVEL, hits, _dealt(pair, rows, engine) if hits.any() else 1.0, ", ".join(names)


def _dealt(pair: Paired, rows: IntArray, engine: Engine) -> float:
    """Return the chance of as many rows with unseen levels, by dealing all rows anew to training and audit."""
    test, train = (values[~np.isnan(values)].astype(np.int64) for values in (pair.test[rows], pair.train))
    size = len(pair.labels)
    ours = np.bincount(test, minlength=size)
    both = ours + np.bincount(train, minlength=size)
    observed = int(both[ours == both].sum())
    draws = int(np.clip(WORK // size, 99, 9999))
    rng = engine.rng("levels", pair.name)
    step = max(1, WORK // size)
    above = 0
    for start in range(0, draws, step):
        check_limits()
        deal = rng.multivariate_hypergeometric(both, len(test), size=min(step, draws - start), method="marginals")
        above += int(((deal == both) @ both >= observed).sum())
    return (1 + above) / (draws + 1)


def shifts(columns: Sequence[Paired], rows: IntArray, engine: Engine) -> Diagnostic:
    """Return the result ``support.shift``; of the audited rows the independent ones, at positions `rows`, count."""
    return diagnostic(
        ids.SUPPORT_SHIFT,
        "How far audited rows are distributed from the training rows",
        _lines(columns, rows, engine.confidence),
        ("item", "n"),
        x="n",
        notes=(
            (
                "Largest difference of the distribution functions; of levels, half the sum of the differences of their "
                "shares. At least this share of the rows would have to change for both to be alike."
            ),
            (
                "Intervals hold for all features at once, for any distribution (Massart 1990, Weissman et al. 2003), "
                "over new training rows too. Weights take no part; of clusters one row each, drawn once, does."
            ),
        ),
    )


def _lines(columns: Sequence[Paired], rows: IntArray, confidence: float) -> Iterator[dict[str, Any]]:
    """Yield the line of every column with a value in both samples."""
    level = (1 - confidence) / len(columns)
    for pair in columns:
        check_limits()
        old, new = (np.sort(values[~np.isnan(values)]) for values in (pair.train, pair.test[rows]))
        if not len(old) or not len(new):
            continue
        distance, words, kinds = _numbers(old, new) if pair.ordered else _levels(old, new, pair)
        reach = sum(np.sqrt((kinds * np.log(2) - np.log(level / 2)) / (2 * len(values))) for values in (old, new))
        interval = max(distance - reach, 0.0), min(distance + reach, 1.0)
        line = estimate(distance, np.nan, interval, confidence, "distance", pair.name)
        yield line | {"covers": "new test and training rows", "item": words, "n": len(new)}


def _numbers(old: FloatArray, new: FloatArray) -> tuple[float, str, int]:
    """Return the distance of Kolmogorov and Smirnov, both medians in words, and 1."""
    at = np.union1d(old, new)
    ours, theirs = (np.searchsorted(values, at, side="right") / len(values) for values in (new, old))
    distance = float(np.abs(ours - theirs).max())
    return distance, f"median {np.median(old):.3g} in training, {np.median(new):.3g} here", 1


def _levels(old: FloatArray, new: FloatArray, pair: Paired) -> tuple[float, str, int]:
    """Return the total variation distance, the level that changed most in words, and the number of levels."""
    size = len(pair.labels)
    theirs, ours = (np.bincount(values.astype(np.int64), minlength=size) / len(values) for values in (old, new))
    most = int(np.abs(ours - theirs).argmax())
    words = f"{short(pair.labels[most])}: {theirs[most]:.0%} in training, {ours[most]:.0%} here".replace("%", " %")
    return float(np.abs(ours - theirs).sum() / 2), words, size
