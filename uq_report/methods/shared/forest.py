"""Out-of-sample predictions of a random forest in which copies of a row never help to predict each other; their R²."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ...core.model.sampling import Sampling
from ...core.support.arrays import FloatArray, IntArray, Table
from ...core.support.limits import check_limits
from .estimates import estimate

N_TREES = 100
MIN_LEAF = 5


def row_groups(X: Table, clusters: IntArray | None) -> IntArray:
    """Return a code per row; equal rows, and rows of one cluster, share it.

    Examples
    --------
    >>> row_groups(np.array([[1.0], [2.0], [1.0], [3.0]]), None)
    array([0, 1, 0, 2])
    """
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    rows = frame.astype(object).groupby(list(frame.columns), dropna=False, sort=False)
    codes = np.asarray(rows.ngroup(), dtype=np.int64)
    if clusters is None:
        return codes
    first = int(codes.max()) + 1
    size = first + int(clusters.max()) + 1
    links = sparse.coo_array((np.ones(len(codes)), (codes, clusters + first)), shape=(size, size))
    return np.asarray(sparse.csgraph.connected_components(links, directed=False)[1][codes], dtype=np.int64)


def forecasts(X: FloatArray, Y: FloatArray, blocks: IntArray, rng: np.random.Generator) -> FloatArray:
    """Predict every row from the trees that saw neither it nor a row of its group (out of bag).

    Each of 100 trees is grown on a bootstrap sample of blocks.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Numbers; NaN where missing.
    Y : ndarray, shape (n, k)
    blocks : ndarray of int, shape (n,)
    rng : Generator

    Returns
    -------
    ndarray, shape (n, k)
        NaN for a row that every tree has seen.
    """
    from sklearn.tree import DecisionTreeRegressor  # here: heavy, and a list of plugins grows no tree

    total, count = np.zeros(Y.shape), np.zeros((len(Y), 1))
    data = np.ascontiguousarray(X, dtype=np.float32)
    size = int(blocks.max()) + 1
    for _ in range(N_TREES):
        check_limits()
        times = np.bincount(rng.integers(size, size=size), minlength=size)
        weights, out = times[blocks].astype(float), times[blocks] == 0
        if not out.any():
            continue
        tree = DecisionTreeRegressor(min_samples_leaf=MIN_LEAF, random_state=int(rng.integers(2**31)))
        tree.fit(data, Y, sample_weight=weights)
        total[out] += tree.predict(data[out]).reshape(-1, Y.shape[1])
        count[out] += 1
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def skill(
    truth: FloatArray, forecast: FloatArray, sampling: Sampling, confidence: float, measure: str, feature: str
) -> dict[str, Any]:
    """Return ``R² = 1 - A/B`` of forecasts, shape (n, k), as an estimate.

    A and B are the weighted means of a_i = |y_i - ŷ_i|² and b_i = |y_i - ȳ|²; each row's influence on R² is
    ``-(a_i - (A/B) b_i)/B``, the delta method for a ratio.

    Examples
    --------
    >>> y = np.array([[1.0], [2.0], [3.0]])
    >>> skill(y, y, Sampling(np.full(3, 1 / 3), 3), 0.95, "r_squared", "x")["estimate"]
    1.0
    """
    missed = np.square(truth - forecast).sum(axis=1)
    spread = np.square(truth - sampling.weights @ truth).sum(axis=1)
    whole = sampling.weights @ spread
    ratio = float(sampling.weights @ missed / whole)
    error = float(sampling.mean(-(missed - ratio * spread) / whole)[1])
    interval = sampling.interval(1 - ratio, error, confidence)
    return estimate(1 - ratio, error, interval, confidence, measure, feature)
