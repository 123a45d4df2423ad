"""The tables behind the calibration figures: reliability, PIT histogram and coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray, IntArray
from ...core.distributions import Categorical
from ...core.predictive import Distribution
from ...core.results import Diagnostic
from ...core.sampling import Sampling, share_interval
from .nulls import LEVELS, event_of

PIT_BINS = 10


def bins_of(confidence: FloatArray, n_bins: int) -> IntArray:
    """Return each row's bin, of about equal numbers of rows; equal probabilities share a bin.

    Examples
    --------
    >>> bins_of(np.array([0.1, 0.2, 0.2, 0.2, 0.9]), 3)
    array([0, 0, 0, 0, 1])
    """
    edges = np.quantile(confidence, np.linspace(0, 1, n_bins + 1)[1:-1], method="inverted_cdf")
    found = np.searchsorted(np.unique(edges), confidence, side="left")
    return np.asarray(np.unique(found, return_inverse=True)[1], dtype=np.int64)


def estimate(
    measure: str, share: float, std_error: float, interval: tuple[float, float], level: float
) -> dict[str, Any]:
    """Return the columns every estimate has."""
    return {
        "measure": measure,
        "feature": "",
        "estimate": share,
        "std_error": std_error,
        "lower": interval[0],
        "upper": interval[1],
        "confidence": level,
        "covers": "new test rows",
    }


def share_of(hits: FloatArray, sampling: Sampling, level: float) -> dict[str, Any]:
    """Return the share of hits with its Clopper-Pearson interval, at the effective number of rows."""
    mean, error = (float(value) for value in sampling.mean(hits))
    share = min(max(mean, 0.0), 1.0)
    n = sampling.effective_n(share, 0.0 if np.isnan(error) or share in (0.0, 1.0) else error)
    return estimate("", share, error, share_interval(share, n, level), level)


def reliability(
    q: Categorical, y: IntArray, bins: IntArray, null: FloatArray, sampling: Sampling, level: float
) -> Diagnostic:
    """Return observed against predicted frequencies, bin by bin, with the range that q itself would give."""
    confidence, hits = event_of(q)
    event = np.asarray(hits(y), dtype=float)
    table = []
    for b in range(int(bins.max()) + 1):
        rows = bins == b
        part = sampling.part(rows)
        if not part.weights.any():
            continue
        low, high = (float(v) for v in np.quantile(null[:, b], [0.5 - level / 2, 0.5 + level / 2]))
        row = share_of(event[rows], part, level)
        table.append(row | _place(f"bin {b + 1}", float(part.weights @ confidence[rows]), int(rows.sum()), low, high))
    two = len(q.classes) == 2
    event_name = f"P(y = {q.classes.tolist()[q.positive]})" if two else "P(the predicted class is right)"
    return _diagnostic(
        "reliability",
        "Reliability: observed against predicted frequency",
        table,
        (
            f"x is the mean predicted {event_name} of the bin, the estimate its observed frequency.",
            "Beside it is the range that a right model would give.",
        ),
        {"event": event_name, "form": "positive class" if two else "top label"},
    )


def pit_histogram(
    q: Distribution, lower: FloatArray, upper: FloatArray, sampling: Sampling, level: float
) -> Diagnostic:
    """Return the PIT histogram, 1 everywhere when calibrated; for counts non-randomised (Czado et al. 2009).

    Row i spreads its weight evenly over [F(y_i-), F(y_i)].
    """
    edges = np.linspace(0, 1, PIT_BINS + 1)
    mass = upper - lower
    wide = np.where(mass > 0, mass, 1.0)
    reached = np.where(mass > 0, np.clip((edges[:, None] - lower) / wide, 0, 1), upper <= edges[:, None])
    reached[0], reached[-1] = 0.0, 1.0
    inside = np.diff(reached, axis=0)
    table = []
    for b, hits in enumerate(inside):
        mean, error = (float(value) for value in sampling.mean(hits))
        low, high = sampling.interval(mean, error, level) if q.discrete else _bounds(share_of(hits, sampling, level))
        row = estimate("", mean * PIT_BINS, error * PIT_BINS, (low * PIT_BINS, high * PIT_BINS), level)
        table.append(row | {"item": f"bin {b + 1}", "x": (edges[b] + edges[b + 1]) / 2, "n": len(hits)})
    form = "non-randomised, because y is a count" if q.discrete else "F(y)"
    notes = (f"Probability integral transform ({form}); 1 in every bin when calibrated, a U when over-confident.",)
    return _diagnostic("pit", "PIT histogram", table, notes, {"form": form})


def coverage(
    pit: FloatArray, widths: FloatArray | None, discrete: bool, sampling: Sampling, level: float
) -> Diagnostic:
    """Return how often the central intervals hold y, with Clopper-Pearson intervals; `widths` is per level."""
    table = []
    for k, nominal in enumerate(LEVELS):
        hits = (np.abs(pit - 0.5) <= nominal / 2).astype(float)
        place = {"item": "coverage", "x": nominal, "n": len(pit), "width": np.nan if widths is None else widths[k]}
        table.append(share_of(hits, sampling, level) | place)
    notes = ["x is the nominal level of the central interval, the estimate the share of rows inside."]
    if discrete:
        notes.append("Judged by the randomised PIT: intervals of counts hold more than their level by construction.")
    return _diagnostic("coverage", "Coverage of central intervals", table, tuple(notes), {})


def _bounds(row: Mapping[str, Any]) -> tuple[float, float]:
    return row["lower"], row["upper"]


def _place(item: str, x: float, n: int, low: float, high: float) -> dict[str, Any]:
    return {"item": item, "x": x, "n": n, "null_lower": low, "null_upper": high}


def _diagnostic(
    part: str, title: str, table: Sequence[Mapping[str, Any]], notes: tuple[str, ...], meta: Mapping[str, Any]
) -> Diagnostic:
    estimates = pd.DataFrame(table)
    frame = estimates.assign(value=estimates["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(
        id=f"calibration.{part}",
        explainer="calibration",
        title=title,
        frame=frame,
        estimates=estimates,
        notes=notes,
        meta=meta,
    )
