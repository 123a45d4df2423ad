"""The area under the ROC curve: a statistic of all rows, with each row's influence on it."""

from __future__ import annotations

import numpy as np

from ..support.arrays import AnyArray, FloatArray
from ..support.errors import InputError


class OneMinusAUC:
    """1 - AUC of scores for class position 1 against 0, ties counted half.

    Influence values: with A the AUC and pi the share of class 1, -(F0(s) - A) / pi for a row of class 1
    and -(1 - F1(s) - A) / (1 - pi) for one of class 0; F0, F1 are the classes' distribution functions of
    the scores, at a tie the middle of the step (Hampel's influence function of the Mann-Whitney statistic;
    DeLong et al. 1988 take their variance). Their weighted mean over the reference scores is 0.

    Examples
    --------
    >>> scores, y, weights = np.array([0.1, 0.4, 0.4, 0.8]), np.array([0, 0, 1, 1]), np.ones(4)
    >>> OneMinusAUC().value(scores, y, weights)
    0.125
    >>> OneMinusAUC().influence(scores, y, weights, scores)
    array([-0.25,  0.25,  0.25, -0.25])
    """

    def value(self, rows: FloatArray, y: AnyArray, weights: FloatArray) -> float:
        """Return 1 - AUC of scores `rows`; needs rows of both classes with positive weight."""
        ones, zeros = _two_classes(rows, y, weights)
        return 1.0 - float(zeros(rows[y == 1]) @ ones.shares)

    def influence(self, rows: FloatArray, y: AnyArray, weights: FloatArray, pool: FloatArray) -> FloatArray:
        """Return the influence values of `rows` with A, F0, F1 and pi those of `pool`."""
        labels = np.broadcast_to(y, pool.shape)
        ones, zeros = _two_classes(pool, labels, np.broadcast_to(weights, pool.shape))
        auc = float(zeros(pool[labels == 1]) @ ones.shares)
        share = ones.weight / (ones.weight + zeros.weight)
        return np.where(
            np.broadcast_to(y, rows.shape) == 1, -(zeros(rows) - auc) / share, -(1 - ones(rows) - auc) / (1 - share)
        )


class _Scores:
    """The weighted distribution function of one class's scores, at a tie the middle of the step."""

    def __init__(self, scores: FloatArray, weights: FloatArray) -> None:
        order = np.argsort(scores)
        self.weight = float(weights.sum())
        self.shares = weights / self.weight
        self._scores = scores[order]
        self._reached = np.concatenate([[0.0], np.cumsum(self.shares[order])])

    def __call__(self, at: FloatArray) -> FloatArray:
        below, to = (self._reached[np.searchsorted(self._scores, at, side=side)] for side in ("left", "right"))
        return np.asarray(0.5 * (below + to))


def _two_classes(scores: FloatArray, y: AnyArray, weights: FloatArray) -> tuple[_Scores, _Scores]:
    """Return the scores of class 1 and of class 0."""
    for label in (1, 0):
        if not weights[y == label].sum() > 0:
            raise InputError(
                f"one_minus_auc.y must hold rows of both classes; got none of class position {label} with a positive "
                "weight. Give rows of both classes, or leave this measure out."
            )
    return _Scores(scores[y == 1], weights[y == 1]), _Scores(scores[y == 0], weights[y == 0])
