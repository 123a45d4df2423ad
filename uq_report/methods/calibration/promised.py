"""Intervals and label sets against what they promise: to hold the outcome in at least their stated share of rows."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from scipy.special import betainc

from ...core.model.measures import INTERVAL_SCORE, MISCOVERAGE, SET_SIZE, WIDTH
from ...core.model.results import Diagnostic
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.text import count
from ...distributions import Intervals, LabelSets
from ...evidence import ids
from ..shared.estimates import share_of
from .scores import CalibrationScore
from .tables import diagnostic


class Promise(NamedTuple):
    """The exact one-sided test of "no more is missed than stated"; `null` holds the share that may be missed."""

    item: str
    observed: float
    p_value: float
    null: FloatArray


def promised_scores(q: Distribution, y: AnyArray, train: AnyArray | None) -> list[CalibrationScore]:
    """Return interval score, width or set size, and what is missed, at the level nearest to 90 %; [] without sets.

    The baseline of the interval score is the central interval of the training y, else of the other test rows.
    """
    if "covered" not in q.supports:
        return []
    scores = [CalibrationScore(MISCOVERAGE.name, MISCOVERAGE.unit, MISCOVERAGE.rows(q, y, None))]
    if isinstance(q, Intervals):
        own = INTERVAL_SCORE.rows(q, y, None)
        scores.append(CalibrationScore(INTERVAL_SCORE.name, INTERVAL_SCORE.unit, own))
        if train is not None or len(y) > 1:
            base = INTERVAL_SCORE.rows(marginal(y, train, q.levels[q.main]), y, None)
            scores.append(CalibrationScore("interval_score_baseline", INTERVAL_SCORE.unit, base))
            scores.append(CalibrationScore("interval_score_skill", INTERVAL_SCORE.unit, base - own))
        scores.append(CalibrationScore("sharpness_width", WIDTH.unit, WIDTH.rows(q, y, None)))
    if "label_sets" in q.supports:
        scores.append(CalibrationScore("sharpness_set_size", SET_SIZE.unit, SET_SIZE.rows(q, y, None)))
    return scores


def marginal(y: AnyArray, train: AnyArray | None, level: float) -> Intervals:
    """Return the central interval of the training y for every row, else that of the other rows.

    Examples
    --------
    >>> marginal(np.array([0.0, 1.0, 5.0]), None, 0.5).upper[:, 0]
    array([4. , 3.75, 0.75])
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    if train is not None:
        lower, upper = np.tile(np.quantile(train, tails), (len(y), 1)).T
    else:
        lower, upper = np.array([np.quantile(np.delete(y, row), tails) for row in range(len(y))]).T
    return Intervals([level], lower, upper, (lower + upper) / 2)


def promise(q: Distribution, y: AnyArray, sampling: Sampling) -> Promise:
    """Return the exact binomial test of the level nearest to 90 %, at the effective number of rows."""
    held = cast("Intervals | LabelSets", q)
    hits = held.covered(y)[:, held.main].astype(float)
    line = share_of(hits, sampling, 0.9)
    n, level = sampling.effective_n(line["estimate"], line["std_error"]), float(held.levels[held.main])
    return Promise(
        MISCOVERAGE.name, 1 - line["estimate"], at_most(line["estimate"] * n, n, level), np.array([1 - level])
    )


def promised_coverage(q: Distribution, y: AnyArray, sampling: Sampling, level: float) -> Diagnostic:
    """Return how often the intervals or sets of each level hold y, with Clopper-Pearson intervals."""
    held = cast("Intervals | LabelSets", q)
    covered, sizes = held.covered(y), _sizes(held)
    notes = ["x is the stated level, the estimate the share of rows held."]
    table: list[dict[str, Any]] = []
    for k in np.argsort(held.levels):
        size = float(sampling.weights @ sizes[:, k])
        place = {"item": "coverage", "x": float(held.levels[k]), "n": len(y), "width": size}
        table.append(share_of(covered[:, k].astype(float), sampling, level) | place)
    if "label_sets" in q.supports:
        empty = int((sizes[:, held.main] == 0).sum())
        notes.append(
            f"width is the mean number of classes in a set; {count(empty, 'set')} of {len(y)} at "
            f"{100 * held.levels[held.main]:g} % hold no class at all."
        )
        title = "Coverage of label sets"
    else:
        title = "Coverage of prediction intervals"
    return diagnostic(ids.CALIBRATION_COVERAGE, title, pd.DataFrame(table), notes=tuple(notes))


def _sizes(q: Intervals | LabelSets) -> FloatArray:
    """Return widths in units of y, or numbers of classes, shape (n, L)."""
    return q.upper - q.lower if isinstance(q, Intervals) else q.sets.sum(axis=1).astype(float)


def at_most(hits: float, n: float, share: float) -> float:
    """Return the probability of at most so many hits in `n` draws of a share; `n` need not be whole.

    Examples
    --------
    >>> round(at_most(0, 10, 0.2), 4), at_most(10, 10, 0.2)
    (0.1074, 1.0)
    """
    return float(betainc(n - hits, hits + 1, 1 - share)) if hits < n else 1.0
