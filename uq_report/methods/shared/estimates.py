"""The columns of an estimate, shares with exact intervals, means, and differences of two means."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.model.sampling import Sampling, share_interval
from ...core.support.arrays import BoolArray, FloatArray

TEST_ROWS = "new test rows"


def estimate(
    value: Any,
    std_error: Any,
    interval: tuple[Any, Any],
    confidence: float,
    measure: str = "",
    feature: str = "",
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
