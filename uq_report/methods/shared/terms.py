"""One shuffled feature: from the measures of its shuffles to estimates, errors and row terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import NLL, PARTS, Measure, Statistic
from ...core.model.results import Omission
from ...core.statistics.inference import (
    MIN_CLUSTERS,
    MIN_SHUFFLES,
    PairTerms,
    all_pairs,
    n_units,
    pooled_error,
    shuffled_pairs,
    standard_error,
)
from ...core.statistics.verdicts import Distrust, effective_units, events, few_events, heavy_tails
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, column
from ...core.support.text import count


def shuffle_within(clusters: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a donor of each row among those of its cluster, shape (n,).

    Examples
    --------
    >>> codes = np.array([0, 1, 0, 1, 2])
    >>> donors = shuffle_within(codes, np.random.default_rng(0))
    >>> bool((codes[donors] == codes).all())
    True
    """
    order = np.argsort(clusters, kind="stable")
    at_random = rng.permutation(len(clusters))
    donors = np.empty(len(clusters), dtype=np.int64)
    donors[order] = at_random[np.argsort(clusters[at_random], kind="stable")]
    return donors


@dataclass(frozen=True)
class ShuffledRows:
    """The rows that are shuffled: all measures `b` unchanged, shape (M, n), and how each row counts.

    `classes` says that the outcomes `y` are positions of classes, `blocks` that whole blocks of rows are shuffled,
    `within` that rows are shuffled within their clusters.
    """

    measures: Sequence[Measure]
    b: FloatArray
    y: AnyArray
    weights: FloatArray
    clusters: IntArray | None
    classes: bool = False
    blocks: bool = False
    within: bool = False

    @classmethod
    def of(cls, engine: Engine, measures: Sequence[Measure], *, within: bool = False) -> ShuffledRows:
        """Return the rows of an engine's subject, each of weight 1 where there are no weights."""
        subject, y = engine.subject, engine.y
        weights = np.ones(subject.n) if subject.weights is None else subject.weights
        classes = "proba" in engine.baseline.supports
        base = engine.unchanged(measures)
        outcomes = np.zeros(subject.n) if y is None else y
        return cls(measures, base, outcomes, weights, subject.clusters, classes, subject.blocks is not None, within)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @cached_property
    def units(self) -> int:
        """Number of independent units."""
        return n_units(self.weights, self.clusters)

    @property
    def kind(self) -> str:
        """What the clusters are called."""
        return "blocks" if self.blocks else "clusters"

    @property
    def exchangeable(self) -> bool:
        """Whether shuffling single rows is a symmetry: not where rows depend on, or outweigh, each other."""
        return self.clusters is None and self._even

    @property
    def tested(self) -> bool:
        """Whether the shuffles are a symmetry, of single rows or of whole blocks.

        Of blocks nearly: simulated with an autocorrelation of 0.8, a test at 5% rejects in 6% of samples, one that
        shuffles single rows in 20%.
        """
        return self.exchangeable or (self.blocks and self._even)

    @property
    def _even(self) -> bool:
        return bool((self.weights == self.weights[0]).all())

    @cached_property
    def unpermuted(self) -> FloatArray:
        """Each measure's summary of the unchanged rows, shape (M,); NaN where a row is infinite."""
        omega = self.weights / self.weights.sum()
        means = np.array([b @ omega if np.isfinite(b).all() else np.nan for b in self.b])
        for m, statistic in self.statistics():
            means[m] = statistic.value(self.b[m], self.y, self.weights)
        return means

    def statistics(self) -> Iterator[tuple[int, Statistic]]:
        """Yield position and statistic of the measures that are no mean over rows, where they are finite."""
        for m, measure in enumerate(self.measures):
            if measure.statistic is not None and np.isfinite(self.b[m]).all():
                yield m, measure.statistic

    @cached_property
    def few(self) -> Distrust:
        """The distrust in intervals of what needs outcomes."""
        present = self.weights > 0
        return few_events(events(self.y[present]), int(present.sum())) if self.classes else Distrust()

    def unreliable(self, g: FloatArray, se: float, *, outcomes: bool) -> Distrust:
        """Return why an interval with row terms `g` is not to be trusted; an exact value has nothing to distrust."""
        if not se > 0:
            return Distrust()
        if outcomes and self.few.reason:
            return self.few
        unit = "observations" if self.clusters is None else self.kind
        tails = heavy_tails(effective_units(g, self.weights, self.clusters), self.units, unit)
        return tails._replace(rows=tails.rows * self.n / self.units)

    def why_no_interval(self, n_shuffles: int, *, exact: bool = False) -> str:
        """Return the reason why no interval can be given, or the empty string; `exact` where all pairs are known."""
        if n_shuffles < MIN_SHUFFLES and not exact:
            return (
                f"{n_shuffles} permutations cannot separate receivers from donors; at least {MIN_SHUFFLES} are needed"
            )
        if self.clusters is not None and self.units < MIN_CLUSTERS:
            few = count(self.units, self.kind[:-1])
            return f"{few} cannot show how {self.kind} vary; at least {MIN_CLUSTERS} are needed"
        return ""


class Distinct(NamedTuple):
    """The distinct values of some columns together: `codes` (n,) of the rows, and the first row of each, `first` (G,).

    Examples
    --------
    >>> Distinct.of(np.array([[3.0], [1.0], [3.0], [np.nan]]), (0,))
    Distinct(codes=array([0, 1, 0, 2]), first=array([0, 1, 3]))
    """

    codes: IntArray
    first: IntArray

    @classmethod
    def of(cls, X: Table, columns: tuple[int, ...]) -> Distinct:
        """Return the distinct values; a missing value is one, and values of different types are different."""
        codes = np.zeros(len(X), dtype=np.int64)
        for part in (part for c in columns for part in _parts(column(X, c))):
            own, levels = pd.factorize(part, use_na_sentinel=False)
            codes = pd.factorize(codes * len(levels) + own)[0]
        first = np.unique(codes, return_index=True)[1]
        return cls(codes.astype(np.int64), first.astype(np.int64))

    def after(self, step: int) -> IntArray:
        """Return the own value of each row at step 0, then that of number `step`, or the first for who has it, (n,).

        The steps 1 to G - 1 have each row take every value but its own, and nearly all rows the same one: what is
        known of that value is read in the order of the rows.
        """
        return np.where(self.codes == step, 0, step) if step else self.codes

    def donors(self, step: int) -> IntArray:
        """Return a row with the value `after` each row's own, shape (n,)."""
        return self.first[self.after(step)]


def _parts(values: AnyArray) -> tuple[AnyArray, ...]:
    """Return a column, and, of Python objects, their types: None, NaN and NA are missing values of different kinds."""
    if values.dtype != object:
        return (values,)
    return values, np.array([type(value).__name__ for value in values])


@dataclass(frozen=True)
class ChangedMeasures:
    """All measures of the rows with other rows' values of a set of features.

    ``T[:, r, i]``, shape (M, m, n), are those of row i with the value of row ``donors[r, i]``; or, where `codes`
    holds the distinct value of each row, ``T[:, g, i]``, shape (M, G, n), those of row i with the distinct value g,
    so that all pairs are known.
    """

    T: FloatArray
    donors: IntArray
    codes: IntArray | None = None

    @property
    def exact(self) -> bool:
        """Whether all pairs of rows are known."""
        return self.codes is not None

    def of(self, measures: slice | list[int]) -> ChangedMeasures:
        """Return the changes of some of the measures."""
        return self.replaced(self.T[measures])

    def combined(self, C: FloatArray) -> ChangedMeasures:
        """Return the changes of linear combinations of finite measures, C of shape (combinations, M)."""
        return self.replaced(np.einsum("cm,mri->cri", C, self.T))

    def replaced(self, T: FloatArray) -> ChangedMeasures:
        """Return the same shuffles of other values."""
        return ChangedMeasures(T, self.donors, self.codes)

    def without(self, lost: BoolArray) -> ChangedMeasures:
        """Return the changes with 0 in place of some measures, shape (M,)."""
        return self.replaced(np.where(lost[:, None, None], 0.0, self.T))

    def shuffled(self, m: int) -> FloatArray:
        """Return one measure in each shuffle, shape (m, n)."""
        if self.codes is None:
            return self.T[m]
        values: FloatArray = self.T[m][self.codes[self.donors], np.arange(self.T.shape[2])]
        return values

    def weights(self, rows: ShuffledRows) -> FloatArray:
        """Return how much each number of a measure weighs, shape (m or G, n)."""
        if self.codes is None:
            return rows.weights * rows.weights[self.donors]
        return rows.weights * np.bincount(self.codes, rows.weights, self.T.shape[1])[:, None]

    def row_means(self) -> FloatArray:
        """Return the mean of each row over the shuffles, or over all rows' values, shape (M, n)."""
        if self.codes is None:
            return self.T.mean(axis=1)
        share = np.bincount(self.codes, minlength=self.T.shape[1]) / len(self.codes)
        return np.stack([share @ t for t in self.T])

    @property
    def moved(self) -> bool:
        """Whether any row takes the value of another."""
        return any(bool((donor != np.arange(len(donor))).any()) for donor in self.donors)

    @property
    def infinite(self) -> IntArray:
        """How many values of each measure are infinite, and in how many rows, shape (M, 2)."""
        return np.stack([(~np.isfinite(self.T)).sum(axis=(1, 2)), self.hit.sum(axis=1)], axis=1)

    @property
    def hit(self) -> BoolArray:
        """Which rows have an infinite value, shape (M, n)."""
        return np.asarray(~np.isfinite(self.T).all(axis=1))

    def sizes(self, b: FloatArray) -> FloatArray:
        """Return the mean size of each measure, of b (M, n) and of the last values together, shape (M,)."""
        return np.asarray(np.abs(b).mean(axis=1) + np.abs(self.T[:, -1]).mean(axis=1))

    def still(self, b: FloatArray, size: FloatArray) -> FloatArray:
        """Return the share of rows whose values stay within `size` (M,) of b (M, n) throughout, shape (M,)."""
        reach = np.maximum(self.T.max(axis=1) - b, b - self.T.min(axis=1))
        return np.asarray((reach <= size[:, None]).mean(axis=1))


def pair_terms(changes: ChangedMeasures, unchanged: FloatArray, rows: ShuffledRows) -> PairTerms:
    """Return the terms of all pairs, or of the shuffles.

    Residuals of neighbours in a shuffled block are alike, so what the choice of shuffles adds to the estimate is read
    off the repeats themselves. What it adds to the sums over blocks is taken off them as for single rows, too little:
    the interval is rather wide than narrow.
    """
    T, donors = changes.T, changes.donors
    if changes.codes is not None:
        return all_pairs(T, unchanged, changes.codes, donors, rows.weights)
    if rows.within:
        return _within_terms(T, unchanged)
    pairs = shuffled_pairs(T, unchanged, donors, rows.weights)
    if not rows.blocks or len(donors) < MIN_SHUFFLES:
        return pairs
    return pairs._replace(mean_noise=pairs.repeats.var(axis=1, ddof=1) / len(donors))


def _within_terms(T: FloatArray, unchanged: FloatArray) -> PairTerms:
    """Return the terms of shuffles within clusters: each row's own change.

    Donors and receivers are of one cluster, whose sum is the same however a pair's change is dealt among both. Clusters
    are shuffled independently, so the variance of their sums has the noise of the shuffles in it.
    """
    changes, none = T - unchanged[:, None], np.zeros(len(T))
    repeats = changes.mean(axis=2)
    return PairTerms(repeats.mean(axis=1), repeats, changes.mean(axis=1), none, none)


def as_means(changes: ChangedMeasures, b: FloatArray, rows: ShuffledRows) -> tuple[ChangedMeasures, FloatArray]:
    """Return the changes and b with value + influence in place of the scores of a statistic such as 1 - AUC.

    The influence of a shuffled score is taken among all shuffled scores, or those of all pairs, so that the mean of
    what is returned is the statistic of the pooled scores, and its row terms are those of the statistic.
    """
    for m, statistic in rows.statistics():
        T, b, weights = changes.T.copy(), b.copy(), changes.weights(rows).ravel()
        pool, y = T[m].ravel(), np.tile(rows.y, T.shape[1])
        moved = statistic.influence(pool, y, weights, pool) + statistic.value(pool, y, weights)
        T[m] = moved.reshape(T[m].shape)
        b[m] = statistic.influence(rows.b[m], rows.y, rows.weights, rows.b[m]) + rows.unpermuted[m]
        changes = changes.replaced(T)
    return changes, b


REMEDY = "No observation was dropped. Calibrate or smooth the model's probabilities"
ROUNDING = 1e-12  # of a measure's size: smaller is rounding
NATS_MARGIN, SHARE_MARGIN = 0.01, 0.01
SOLVED = 1e-8  # of a measure's size: row terms closer than this are equal, given how the fit is solved


def usual_margin(measure: Measure, mean: float) -> float:
    """Return how large an importance must be to matter: 0.01 nats, or 1% of the unpermuted mean in other units."""
    return NATS_MARGIN if measure.unit == "nats" else SHARE_MARGIN * abs(mean)


def with_wholes(measures: Sequence[Measure], sizes: FloatArray) -> FloatArray:
    """Return the sizes of measures, those of the parts of an uncertainty no smaller than that of the whole.

    A part is a difference, or a mean of squared ones: what rounding leaves of it has the size of the whole.
    """
    at, larger = {measure.name: m for m, measure in enumerate(measures)}, sizes.copy()
    for names in PARTS:
        present = [at[name] for name in names if name in at]
        for name in (name for name in names[1:] if name in at):
            larger[at[name]] = sizes[present].max()
    return larger


class ImportanceTerms(NamedTuple):
    """One feature's numbers for M measures; NaN throughout for a measure with infinite values.

    `repeats` (M, m) by shuffle, `rows` (M, n) the terms g, `delta` (M, n) each row's own mean change.
    `noise` (M,): the part of `se` that is the choice of shuffles', 0 where all pairs are known (`exact`), NaN where it
    is not known.
    `zero`: exactly 0 in every shuffle; `still`: the share of rows that no shuffle changed.
    `infinite` (M, 2): how many shuffled values are infinite, and in how many rows.
    `drawn` (M,): the part of `se` that the draw of a random model's members has; `freedom` (M,): degrees of freedom.
    """

    repeats: FloatArray
    estimate: FloatArray
    se: FloatArray
    noise: FloatArray
    rows: FloatArray
    delta: FloatArray
    zero: BoolArray
    still: FloatArray
    infinite: IntArray
    drawn: FloatArray
    freedom: FloatArray
    exact: bool

    def over_draws(self, variances: FloatArray, n_members: int) -> ImportanceTerms:
        """Return the terms with the variance that the draw of the members adds."""
        drawn = np.where(self.zero, 0.0, np.sqrt(variances))
        se, freedom = pooled_error((self.se, drawn), (float(self.freedom.min()), n_members - 1))
        return self._replace(se=se, drawn=drawn, freedom=freedom)


def feature_terms(changes: ChangedMeasures, rows: ShuffledRows) -> ImportanceTerms:
    """Return one feature's terms from all measures of its changed rows."""
    unbounded, b = changes.infinite, rows.b
    finite = (unbounded[:, 0] == 0) & np.isfinite(b).all(axis=1)
    if not finite.all():
        changes, b = changes.without(~finite), np.where(finite[:, None], b, 0.0)
    scores, unchanged = as_means(changes, b, rows)
    pairs = pair_terms(scores, unchanged, rows)
    repeats, estimate = _plain(pairs, changes, rows)
    size = with_wholes(rows.measures, changes.sizes(b))
    g = pairs.rows - pairs.estimate[:, None]
    zero = exactly_zero(pairs._replace(repeats=repeats), size) & changes.moved
    se = standard_error(pairs, rows.weights, rows.clusters)
    unknown = rows.within | ~np.isfinite(pairs.mean_noise)
    noise = np.sqrt(np.where(unknown, np.nan, pairs.mean_noise))
    if rows.why_no_interval(len(changes.donors), exact=changes.exact):
        se = np.full_like(se, np.nan)
    scale = np.where(zero, 0.0, 1.0)
    present = np.where(finite, 0.0, np.nan)  # added: makes a zero positive, and blanks what is not finite
    return ImportanceTerms(
        repeats * scale[:, None] + present[:, None],
        estimate * scale + present,
        se * scale + present,
        noise * scale + present,
        (g + estimate[:, None]) * scale[:, None] + present[:, None],
        scores.row_means() - unchanged + present[:, None],
        zero & finite,
        changes.still(b, ROUNDING * size),
        unbounded,
        np.zeros_like(se),
        np.full_like(se, rows.units - 1),
        changes.exact,
    )


def _plain(pairs: PairTerms, changes: ChangedMeasures, rows: ShuffledRows) -> tuple[FloatArray, FloatArray]:
    """Return repeats and estimate, with a statistic's own value in each shuffle.

    Its estimate is their mean, or, where all pairs are known, the statistic of all pairs.
    """
    repeats, estimate = pairs.repeats.copy(), pairs.estimate.copy()
    for m, statistic in rows.statistics():
        shuffles = zip(changes.shuffled(m), rows.weights * rows.weights[changes.donors], strict=True)
        repeats[m] = [statistic.value(scores, rows.y, weights) - rows.unpermuted[m] for scores, weights in shuffles]
        if not changes.exact:
            estimate[m] = repeats[m].mean()
    return repeats, estimate


def exactly_zero(pairs: PairTerms, size: FloatArray | float) -> BoolArray:
    """Say for which measures every shuffle gives 0 and all row terms are equal, up to rounding of their `size`."""
    still = np.abs(pairs.repeats).max(axis=1) <= ROUNDING * size
    return np.asarray(still & (np.abs(pairs.rows - pairs.estimate[:, None]).max(axis=1) <= SOLVED * size))


def infinite_values(rows: ShuffledRows, features: Sequence[str], terms: Sequence[ImportanceTerms]) -> list[Omission]:
    """Return an omission for each measure, or measure and feature, with infinite values: how many, and the remedy."""
    omissions = []
    for m, measure in enumerate(rows.measures):
        remedy = f"{REMEDY}, or ask for the loss with an upper bound." if measure.name == NLL.name else f"{REMEDY}."
        own = int((~np.isfinite(rows.b[m])).sum())
        if own:
            reason = f"it is infinite for {own} of {rows.n} observations before any permutation. {remedy}"
            omissions.append(Omission(measure.name, "", reason))
            continue
        for feature, term in zip(features, terms, strict=True):
            count, hit = (int(number) for number in term.infinite[m])
            if count:
                reason = f"it is infinite for {count} permuted values, in {hit} of {rows.n} observations. {remedy}"
                omissions.append(Omission(measure.name, feature, reason))
    return omissions
