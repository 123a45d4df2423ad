"""What is ordered and by what: each row's uncertainty, its loss, and the loss that the model expects of it."""

from __future__ import annotations

from math import floor, log10, nan
from typing import NamedTuple

import numpy as np

from ...core.model.measures import VARIANCE, WIDTH
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray
from ...distributions import Categorical, Normal

CHUNK = 20  # draws held at a time
DIGITS = 10  # of an uncertainty; what differs beyond is rounding


class CaseLosses(NamedTuple):
    """Each row's uncertainty, loss, the loss that the model expects (NaN if unknown) and interval width (NaN)."""

    uncertainty: FloatArray
    loss: FloatArray
    implied: FloatArray
    width: FloatArray
    classes: bool
    words: tuple[str, str]  # what the uncertainty and the loss are
    unit: str


def class_losses(q: Categorical, y: AnyArray) -> CaseLosses:
    """Return the error and the expected error, 1 − the probability of the class decided for, of class probabilities.

    Where the most probable class is decided for, that is 1 − max p, which of two classes orders as the entropy does.
    """
    decided = np.asarray(q.decisions())
    expected = 1 - q.probabilities[np.arange(len(q)), decided]
    error = np.asarray(decided != y, dtype=float)
    words = ("expected error (1 − probability of the predicted class)", "error rate")
    return CaseLosses(expected, error, expected, np.full(len(q), nan), True, words, "share of observations")


def number_losses(q: Distribution, y: AnyArray, rng: np.random.Generator, draws: int) -> CaseLosses:
    """Return the absolute error of the mean, ordered by the standard deviation, or by the width of intervals."""
    loss = np.abs(y - q.mean())
    none = np.full(len(loss), nan)
    words, unit = ("width of the prediction interval", "mean absolute error"), "units of y"
    if "intervals" in q.supports:
        width = np.asarray(WIDTH.rows(q, None, None))
        return CaseLosses(width, loss, none, width, False, words, unit)
    width = none
    if "quantile" in q.supports:
        width = q.quantile(np.array([0.05, 0.95])) @ np.array([-1.0, 1.0])
    deviation = np.sqrt(VARIANCE.rows(q, None, None))
    implied = expected_distance(q, rng, draws)
    return CaseLosses(deviation, loss, implied, width, False, ("standard deviation", words[1]), unit)


def expected_distance(q: Distribution, rng: np.random.Generator, draws: int) -> FloatArray:
    """Return E|Y − mean| under q, shape (n,): exact of a normal, else by draws; NaN where q cannot be drawn from.

    Examples
    --------
    >>> expected_distance(Normal([0.0, 5.0], [1.0, 2.0]), np.random.default_rng(0), 100).round(4)
    array([0.7979, 1.5958])
    """
    if isinstance(q, Normal):
        return np.asarray(np.sqrt(q.variance() * 2 / np.pi))
    if "sample" not in q.supports:
        return np.full(len(q), nan)
    total, mean = np.zeros(len(q)), q.mean()
    for start in range(0, draws, CHUNK):
        total += np.abs(q.sample(rng, min(CHUNK, draws - start)) - mean).sum(axis=0)
    return total / draws


def without_rounding(values: FloatArray) -> FloatArray:
    """Return values to ten digits of the largest, so that what only rounding sets apart is tied.

    Examples
    --------
    >>> without_rounding(np.array([0.1 + 0.2, 0.3, 0.25])).tolist()
    [0.3, 0.3, 0.25]
    """
    largest = float(np.abs(values).max())
    return np.round(values, DIGITS - 1 - floor(log10(largest))) if largest > 0 else values
