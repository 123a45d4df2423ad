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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import Measure
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.statistics.verdicts import Judgement, judge
from ...core.support.arrays import FloatArray, IntArray
from ...evidence.importance import ABOUT_0, ALL_FEATURES
from ..shared.terms import ChangedMeasures, Distinct, ImportanceTerms, ShuffledRows, feature_terms, shuffle_within

FIRST, MORE = 20, 10  # shuffles before the first look at a set, and between two looks


@dataclass
class FeatureShuffles:
    """One set of features in work: T (M, . or G, n) and sums of the further measures (., n), as far as evaluated.

    `distinct` are its values where each row takes all of them; else `done` of the shuffles `donors` (m, n) are known.
    """

    feature: str
    columns: tuple[int, ...]
    donors: IntArray
    distinct: Distinct | None
    T: FloatArray
    sums: FloatArray
    done: int = 0

    @property
    def changes(self) -> ChangedMeasures:
        """What is known of the set."""
        if self.distinct is None:
            return ChangedMeasures(self.T[:, : self.done], self.donors[: self.done])
        return ChangedMeasures(self.T, self.donors, self.distinct.codes)

    @property
    def means(self) -> FloatArray:
        """The further measures' means over the shuffles, or over all rows' values, shape (., n)."""
        return self.sums / (self.done if self.distinct is None else self.donors.shape[1])

    def left(self, stop: int) -> range:
        """Return the shuffles up to `stop` that are not done, or the steps from value to value."""
        return range(self.done, stop if self.distinct is None else len(self.distinct.first))

    def variant(self, r: int) -> Variant:
        """Return the rows with the values that others have in a shuffle, or after a step."""
        return Variant(self.columns, donors=self.sources(r))

    def sources(self, r: int) -> IntArray:
        """Return the row that each row's value comes from in a shuffle, or after a step."""
        return self.donors[r] if self.distinct is None else self.distinct.donors(r)

    def take(self, values: FloatArray) -> None:
        """Take the next values (measures, n): a shuffle's, or of each row with the value after the last one's."""
        full = len(self.T)
        if self.distinct is None:
            self.T[:, self.done] = values[:full]
            self.sums += values[full:]
        else:
            codes = self.distinct.after(self.done)
            self.T[:, codes, np.arange(len(codes))] = values[:full]
            self.sums += values[full:] * np.bincount(self.distinct.codes)[codes]
        self.done += 1


@dataclass(frozen=True)
class Shuffler:
    """Shuffles sets of features and evaluates `measures`, of which `base` (measures, n) are the values unchanged.

    The first `n_full` measures are returned shuffle by shuffle or value by value, of the others the mean. `exact` says
    whether all pairs of rows are evaluated; by default of the sets with at most `n_repeats` + 1 distinct values, for
    which this takes no more predictions than the shuffles. `within` shuffles rows within their clusters. `units` names
    sets of features that the subject does not name. How far an uncertainty changes is taken from its own values where
    it is among the measures.
    """

    engine: Engine
    measures: Sequence[Measure]
    base: FloatArray
    n_full: int
    n_repeats: int
    exact: bool | None = None
    within: bool = False
    units: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def evaluate(self, held: FeatureShuffles, stop: int) -> None:
        """Evaluate shuffles of a set up to number `stop`, or all its values."""
        left = held.left(stop)
        for group in self.engine.evaluate(map(held.variant, left), self.measures, total=len(left)):
            for v in range(group.values.shape[1]):
                held.take(group.values[:, v])

    def of_all(self, base: FloatArray, n_full: int) -> FeatureShuffles:
        """Return all features as one set, to take the measures whose values unchanged are `base`, the first in full."""
        rows = np.arange(base.shape[1])
        of_all = replace(self, base=base, n_full=n_full)
        return of_all.held(ALL_FEATURES, (), Distinct(rows, rows) if self.exact else None)

    def of(self, feature: str) -> FeatureShuffles:
        """Return a set of which nothing is evaluated yet."""
        subject = self.engine.subject
        members = self.units.get(feature, (feature,))
        columns = tuple(position for member in members for position in subject.positions(member))
        return self.held(feature, columns, distinct_values(subject, columns, self.n_repeats, self.exact))

    def held(self, feature: str, columns: tuple[int, ...], distinct: Distinct | None) -> FeatureShuffles:
        """Return a set of which nothing is evaluated yet, to take its `distinct` values or else shuffles."""
        n = self.base.shape[1]
        T = np.empty((self.n_full, self.n_repeats if distinct is None else len(distinct.first), n))
        sums = np.zeros((len(self.base) - self.n_full, n))
        held = FeatureShuffles(feature, columns, self._donors(feature), distinct, T, sums)
        if distinct is not None:
            held.take(self.base)  # a row's own value changes nothing and is not predicted again
        return held

    def _donors(self, feature: str) -> IntArray:
        """Return the donors of every shuffle, shape (m, n), from a stream of its own for each."""
        subject, donors = self.engine.subject, []
        for r in range(self.n_repeats):
            rng = self.engine.rng(feature, r)
            apart = subject.clusters if self.within else None
            donors.append(subject.permutation(rng) if apart is None else shuffle_within(apart, rng))
        return np.array(donors)


def distinct_values(subject: Subject, columns: tuple[int, ...], n_repeats: int, exact: bool | None) -> Distinct | None:
    """Return the distinct values of columns together where each row takes all of them, else None."""
    if exact is False:
        return None
    own = Distinct.of(subject.X, columns)
    return own if exact or len(own.first) <= n_repeats + 1 else None


def stops(n_repeats: int, *, adaptive: bool) -> list[int]:
    """Return after how many shuffles a set is looked at; the last is `n_repeats`.

    Examples
    --------
    >>> stops(45, adaptive=True), stops(10, adaptive=True), stops(45, adaptive=False)
    ([20, 30, 40, 45], [10], [45])
    """
    looks = range(FIRST, n_repeats, MORE) if adaptive else ()
    return [*looks, n_repeats]


@dataclass(frozen=True)
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

    rows: ShuffledRows
    margins: Mapping[str, float]
    confidence: float
    max_shuffle_variance: float

    def terms(
        self, shuffling: Shuffler, features: Sequence[str]
    ) -> Iterator[tuple[FeatureShuffles, ChangedMeasures, ImportanceTerms]]:
        """Yield every set of features in order, with the measures of its changed rows and its terms."""
        own, looks = slice(len(self.rows.measures)), stops(shuffling.n_repeats, adaptive=self.max_shuffle_variance > 0)
        for feature in features:
            held = shuffling.of(feature)
            for stop in looks:
                shuffling.evaluate(held, stop)
                changes = held.changes
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
