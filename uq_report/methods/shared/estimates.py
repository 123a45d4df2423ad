"""The columns of an estimate, and shares with exact intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.model.sampling import Sampling, share_interval
from ...core.support.arrays import FloatArray

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
