"""What a feature alone says about y, as a share: of the entropy of a class, of the variance of a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray
from ...core.engine import Engine
from ...core.sampling import Sampling
from ...evidence.information import OF_ENTROPY, OF_VARIANCE
from .gaussian import normal_scores

LEAST_ROWS = 10


def alone(engine: Engine, features: Sequence[str], mutual: FloatArray) -> dict[str, FloatArray]:
    """Return row values, linear about their mean: I(X; Y) / H(Y) of classes, the explained variance of numbers.

    Of the normal scores of y. A numeric feature explains r² of it, which has no penalty, so it is not that of the
    field: ``1 - exp(-2 I)`` of a Gaussian copula. Of other features it is what the mean of the other rows of the same
    level predicts, 0 or less for a feature of chance or of single rows. Where values are missing, of the other rows.
    """
    weights, y = Sampling.of(engine.subject).weights, np.asarray(engine.y)
    if "proba" in engine.baseline.supports:
        return {OF_ENTROPY: _of_entropy(weights, y.astype(np.int64), mutual)}
    explained = np.full(mutual.shape, np.nan)
    for k, name in enumerate(features):
        values = pd.Series(engine.subject.values(name))
        present = values.notna().to_numpy()
        numeric = engine.subject.kinds[name] == "numeric"
        share = weights[present].sum()
        if present.sum() < LEAST_ROWS or not share > 0 or values.nunique() < 2 or np.ptp(y[present]) == 0:
            continue
        rows = (_of_numbers if numeric else _of_levels)(values[present], y[present], weights[present] / share)
        mean = float(weights[present] @ rows / share)
        explained[:, k] = mean
        explained[present, k] += (rows - mean) / share
    return {OF_VARIANCE: explained}


def _of_entropy(weights: FloatArray, y: Any, mutual: FloatArray) -> FloatArray:
    surprise = -np.log((np.bincount(y) / len(y))[y])
    entropy = float(weights @ surprise)
    share = weights @ mutual / entropy
    values: FloatArray = share + (mutual - surprise[:, None] * share) / entropy
    return values


def _of_numbers(values: Any, y: Any, weights: FloatArray) -> FloatArray:
    a, b = normal_scores(np.column_stack([np.asarray(values, dtype=float), y])).T
    r = float(np.clip(weights @ (a * b), -1, 1))
    rows: FloatArray = r * (2 * a * b - r * (a**2 + b**2) + r)
    return rows


def _of_levels(values: Any, y: Any, weights: FloatArray) -> FloatArray:
    scores = normal_scores(np.asarray(y, dtype=float)[:, None])[:, 0]
    levels = pd.factorize(values)[0]
    mass, total = np.bincount(levels, weights), np.bincount(levels, weights * scores)
    others = mass[levels] - weights
    alike = (total[levels] - weights * scores) / np.where(others > 1e-12, others, 1.0)
    missed = (scores - np.where(others > 1e-12, alike, weights @ scores)) ** 2
    squares = (scores - weights @ scores) ** 2
    left, whole = weights @ missed, weights @ squares
    rows: FloatArray = 1 - left / whole - (missed - left / whole * squares) / whole
    return rows
