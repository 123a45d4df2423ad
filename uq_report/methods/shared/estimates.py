"""The columns of an estimate, shares with exact intervals, means, differences of two means, and diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic
from ...core.model.sampling import Sampling, share_interval
from ...core.support.arrays import BoolArray, FloatArray
from ...evidence import ids

TEST_ROWS = "new test rows"


def estimate(
    value: Any,
    std_error: Any,
    interval: tuple[Any, Any],
    confidence: float,
    measure: str = "",
    feature: Any = "",
    covers: str = TEST_ROWS,
) -> dict[str, Any]:
    """Return the columns every estimate has, of a line or of all points of a curve; no interval covers nothing."""
    lower, upper = interval
    has_interval = np.isfinite(lower)
    return {
        "measure": measure,
        "feature": feature,
        "estimate": value,
        "std_error": std_error,
        "lower": lower,
        "upper": upper,
        "confidence": np.where(has_interval, confidence, np.nan)[()],
        "covers": np.where(has_interval, covers, "none").astype(object)[()],
    }


def share_of(hits: FloatArray, sampling: Sampling, level: float) -> dict[str, Any]:
    """Return the share of hits with its Clopper-Pearson interval, at the effective number of rows."""
    mean, error = (float(value) for value in sampling.mean(hits))
    share = min(max(mean, 0.0), 1.0)
    return estimate(share, error, share_interval(share, sampling.effective_n(share, error), level), level)


def mean_of(
    values: FloatArray, sampling: Sampling, confidence: float, measure: str = "", feature: str = ""
) -> dict[str, Any]:
    """Return the mean of rows with its t-interval."""
    mean, error = (float(number) for number in sampling.mean(values))
    return estimate(mean, error, sampling.interval(mean, error, confidence), confidence, measure, feature)


def row_pieces(values: FloatArray, group: BoolArray, rest: BoolArray, sampling: Sampling) -> FloatArray:
    """Return what each row adds to the sampling error of a difference of two means, shape (n,); 0 for other rows."""
    pieces = np.zeros(len(values))
    for sign, rows in ((1, group), (-1, rest)):
        part = sampling.part(rows)
        factor = np.sqrt(part.units / (part.units - 1)) if part.units > 1 else np.nan
        pieces[rows] = sign * factor * part.weights * (values[rows] - part.weights @ values[rows])
    return pieces


def error_of(pieces: FloatArray, rows: BoolArray, sampling: Sampling) -> float:
    """Return the standard error from what each row adds, rows of a cluster together."""
    sums = pieces[rows] if sampling.codes is None else np.bincount(sampling.codes[rows], pieces[rows])
    return float(np.sqrt(np.square(sums).sum()))


T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def diagnostic(
    id: str,
    title: str,
    records: Iterable[Any],
    columns: Sequence[str],
    x: str,
    value: str = "estimate",
    **parts: Any,
) -> Diagnostic:
    """Return a diagnostic of `records` (mappings, or tuples in order): `ESTIMATE_COLUMNS`, then `columns`.

    What a mapping lacks is NaN. The frame shows the columns `x` and `value`; `parts` are further fields.

    Examples
    --------
    >>> from uq_report.methods.shared.estimates import estimate
    >>> row = estimate(0.2, 0.1, (0.0, 0.4), 0.95, "share")
    >>> result = diagnostic("demo.share", "Demo", [row | {"item": "all", "n": 5}], ["item", "n"], x="n")
    >>> result.explainer, result.frame[["x", "value"]].to_numpy().tolist()
    ('demo', [[5.0, 0.2]])
    """
    estimates = pd.DataFrame(list(records), columns=[*ESTIMATE_COLUMNS, *columns])
    frame = estimates.assign(x=estimates[x].astype(float), value=estimates[value])[list(Diagnostic.columns)]
    return Diagnostic(id=id, explainer=ids.explainer_of(id), title=title, frame=frame, estimates=estimates, **parts)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return items by their key, both in their order.

    Examples
    --------
    >>> grouped(["age", "income", "area"], lambda name: name[0])
    {'a': ['age', 'area'], 'i': ['income']}
    """
    parts: dict[K, list[T]] = {}
    for item in items:
        parts.setdefault(key(item), []).append(item)
    return parts
