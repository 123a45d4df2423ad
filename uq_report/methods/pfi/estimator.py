"""Permutation importance as a textbook states it: the definition, the estimator, its variance and the verdict.

Definition. For a measure ``m`` of the predictive distribution and a set of features S, with T_ik the measure of row i
that carries the values x_S of row k, and b_i the measure of row i unchanged,

    PFI = mean over i and k of (T_ik - b_i)

1. Shuffle: draw permutations of the rows; row i takes x_S from its donor (`FeatureShuffles.donors`). A feature with few
   distinct values takes each of them, which gives all pairs and no error of shuffling (`shuffling`).
2. Evaluate: predict the changed rows once and evaluate every measure on that prediction (`Engine.evaluate`).
3. Difference: the mean over rows and shuffles of T - b is the estimate (`core.inference.shuffled_pairs`).
4. Variance: a new row moves the estimate as a receiver and as a donor. Both effects are fitted by least squares, and
   the variance of their sum over rows is the sampling variance; the residuals give what the choice of shuffles adds
   (`core.two_way`, `core.inference.standard_error`).
5. Interval and verdict: a t interval, compared with the margin of practical relevance (`core.verdicts.judge`).

Features are shuffled until the choice of shuffles is a small part of the variance (`settled`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...core.statistics.verdicts import Judgement, judge
from ...evidence.importance import ABOUT_0
from ..shared.changes import ChangedMeasures
from ..shared.rows import ShuffledRows
from ..shared.terms import ImportanceTerms, feature_terms
from .shuffling import FeatureShuffles, Shuffler, stops


class Estimator:
    """Estimates the importance of sets of features from shuffles of the rows.

    Parameters
    ----------
    rows : Rows
        The measures of the unchanged rows, their weights and clusters.
    margins : mapping of str to float
        By measure: how large an importance must be to matter.
    confidence : float
    max_shuffle_variance : float
        Share of an estimate's variance that may come from the choice of shuffles; 0: always all shuffles.
    """

    def __init__(
        self, rows: ShuffledRows, margins: Mapping[str, float], confidence: float, max_shuffle_variance: float
    ) -> None:
        self.rows, self.margins, self.confidence = rows, margins, confidence
        self.max_shuffle_variance = max_shuffle_variance

    def terms(
        self, shuffling: Shuffler, features: Sequence[str]
    ) -> Iterator[tuple[FeatureShuffles, ChangedMeasures, ImportanceTerms]]:
        """Yield every set of features in order, with the measures of its changed rows and its terms."""
        own, looks = slice(len(self.rows.measures)), stops(shuffling.n_repeats, adaptive=self.max_shuffle_variance > 0)
        for feature in features:
            held = shuffling.of(feature)
            for stop in looks:
                shuffling.evaluate(held, stop)
                changes = held.changes.fitted(self.rows)
                terms = feature_terms(changes.of(own), self.rows)
                if self.settled(terms):
                    break
            yield held, changes, terms

    def settled(self, terms: ImportanceTerms) -> bool:
        """Return whether more shuffles would change little of any finite measure; always where all pairs are known.

        The choice of shuffles has at most `max_shuffle_variance` of the variance, or the importance is "about 0", and
        the verdict is the same two standard errors of shuffling above and below the estimate.
        """
        if terms.exact:
            return True
        for m, (value, se, noise) in enumerate(zip(terms.estimate, terms.se, terms.noise, strict=True)):
            if np.isnan(value):
                continue
            verdict, *others = (self.judged(m, x, se).verdict for x in (value, value - 2 * noise, value + 2 * noise))
            small = verdict == ABOUT_0 or noise**2 <= self.max_shuffle_variance * se**2
            if not small or any(other != verdict for other in others):
                return False
        return True

    def judged(self, m: int, estimate: float, std_error: float, freedom: float | None = None) -> Judgement:
        """Return interval and verdict of an importance of measure number m, by default with the freedom of the rows."""
        margin, df = self.margins[self.rows.measures[m].name], self.rows.units - 1 if freedom is None else freedom
        return judge(float(estimate), float(std_error), df, margin, n=self.rows.n, confidence=self.confidence)
