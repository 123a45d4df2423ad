"""One shuffled feature: from the measures of its shuffles to estimates, errors and row terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.engine import Engine
from ...core.inference import (
    MIN_CLUSTERS,
    MIN_SHUFFLES,
    PairTerms,
    all_pairs,
    n_units,
    shuffled_pairs,
    standard_error,
    two_way,
)
from ...core.measures import NLL, PARTS, Measure, Statistic
from ...core.results import Omission
from ...core.text import count
from ...core.trust import Distrust, effective_units, events, few_events, heavy_tails

REMEDY = "No row was dropped. Calibrate or smooth the model's probabilities"
ROUNDING = 1e-12  # of a measure's size: smaller is rounding
NATS_MARGIN, SHARE_MARGIN = 0.01, 0.01
SOLVED = 1e-8  # of a measure's size: row terms closer than this are equal, given how the fit is solved


@dataclass(frozen=True)
class Rows:
    """The rows that are shuffled: all measures `b` unchanged, shape (M, n), and how each row counts.

    `classes` says that the outcomes `y` are positions of classes, `blocks` that whole blocks of rows are shuffled,
    `within` that rows are shuffled within their clusters.
    """

    measures: Sequence[Measure]
    b: FloatArray
    y: AnyArray
    weights: FloatArray
    clusters: IntArray | None
    exact: bool
    classes: bool = False
    blocks: bool = False
    within: bool = False

    @classmethod
    def of(cls, engine: Engine, measures: Sequence[Measure], *, exact: bool = False, within: bool = False) -> Rows:
        """Return the rows of an engine's subject, each of weight 1 where there are no weights."""
        subject, y = engine.subject, engine.y
        weights = np.ones(subject.n) if subject.weights is None else subject.weights
        classes = "proba" in engine.baseline.supports
        base = engine.unchanged(measures)
        return cls(
            measures,
            base,
            np.zeros(subject.n) if y is None else y,
            weights,
            subject.clusters,
            exact,
            classes,
            subject.blocks is not None,
            within,
        )

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

        Of blocks nearly: simulated with an autocorrelation of 0.8, a test at 5 % rejects in 6 % of samples, one that
        shuffles single rows in 20 %.
        """
        return self.exchangeable or (self.blocks and not self.exact and self._even)

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

    def distrust(self, g: FloatArray, se: float, *, outcomes: bool) -> Distrust:
        """Return why an interval with row terms `g` is not to be trusted; an exact value has nothing to distrust."""
        if not se > 0:
            return Distrust()
        if outcomes and self.few.reason:
            return self.few
        unit = "rows" if self.clusters is None else self.kind
        tails = heavy_tails(effective_units(g, self.weights, self.clusters), self.units, unit)
        return tails._replace(rows=tails.rows * self.n / self.units)

    def why_no_interval(self, n_shuffles: int) -> str:
        """Return the reason why no interval can be given, or the empty string."""
        if n_shuffles < MIN_SHUFFLES and not self.exact:
            return f"{n_shuffles} shuffles cannot tell rows from donors; at least {MIN_SHUFFLES} are needed"
        if self.clusters is not None and self.units < MIN_CLUSTERS:
            few = count(self.units, self.kind[:-1])
            return f"{few} cannot show how {self.kind} vary; at least {MIN_CLUSTERS} are needed"
        return ""


def usual_margin(measure: Measure, mean: float) -> float:
    """Return how large an importance must be to matter: 0.01 nats, or 1 % of the unpermuted mean in other units."""
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


class Terms(NamedTuple):
    """One feature's numbers for M measures; NaN throughout for a measure with infinite values.

    `repeats` (M, m) by shuffle, `rows` (M, n) the terms g, `delta` (M, n) each row's own mean change.
    `zero`: exactly 0 in every shuffle; `still`: the share of rows that no shuffle changed.
    `infinite` (M, 2): how many shuffled values are infinite, and in how many rows.
    """

    repeats: FloatArray
    estimate: FloatArray
    se: FloatArray
    rows: FloatArray
    delta: FloatArray
    zero: BoolArray
    still: FloatArray
    infinite: IntArray


def effects_of(T: FloatArray, donors: IntArray, rows: Rows) -> FloatArray | None:
    """Return the row and donor effects of all measures, shape (2, M, n), from one fit.

    None where there is none to make: of all pairs, of too few shuffles, or where a value is infinite.
    """
    if rows.exact or rows.within or len(donors) < MIN_SHUFFLES or _infinite(T).any():
        return None
    return np.stack(two_way(T, donors))


def feature_terms(T: FloatArray, donors: IntArray, rows: Rows, effects: FloatArray | None = None) -> Terms:
    """Return one feature's terms; ``T[:, r, i]`` are all measures of row i with the value of row ``donors[r, i]``.

    `effects` are those of T, where they are known.
    """
    infinite, raw = _infinite(T), T
    finite = (infinite[:, 0] == 0) & np.isfinite(rows.b).all(axis=1)
    b = rows.b
    if not finite.all():
        T, b = np.where(finite[:, None, None], T, 0.0), np.where(finite[:, None], b, 0.0)
    scores, unchanged = as_means(T, b, donors, rows)
    pairs = pair_terms(scores, unchanged, donors, rows, effects if scores is raw else None)
    repeats, estimate = _plain(pairs, T, donors, rows)
    size = with_wholes(rows.measures, np.abs(b).mean(axis=1) + np.abs(T[:, -1]).mean(axis=1))
    g = pairs.rows - pairs.repeats.mean(axis=1, keepdims=True)
    zero = _exactly_zero(repeats, g, size, donors)
    se = standard_error(pairs, rows.weights, rows.clusters)
    if rows.why_no_interval(len(donors)):
        se = np.full_like(se, np.nan)
    most = np.maximum(T.max(axis=1) - b, b - T.min(axis=1))
    scale = np.where(zero, 0.0, 1.0)
    present = np.where(finite, 0.0, np.nan)  # added: makes a zero positive, and blanks what is not finite
    return Terms(
        repeats * scale[:, None] + present[:, None],
        estimate * scale + present,
        se * scale + present,
        (g + estimate[:, None]) * scale[:, None] + present[:, None],
        scores.mean(axis=1) - unchanged + present[:, None],
        zero & finite,
        (most <= (ROUNDING * size)[:, None]).mean(axis=1),
        infinite,
    )


def _infinite(T: FloatArray) -> IntArray:
    """Return how many values of each measure are infinite, and in how many rows, shape (M, 2)."""
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(T.sum()):
            return np.zeros((len(T), 2), dtype=np.int64)
    bad = ~np.isfinite(T)
    return np.stack([bad.sum(axis=(1, 2)), bad.any(axis=1).sum(axis=1)], axis=1)


def pair_terms(
    scores: FloatArray, unchanged: FloatArray, donors: IntArray, rows: Rows, effects: FloatArray | None
) -> PairTerms:
    """Return the terms of all pairs, or of the shuffles, by their `effects` where those are known.

    Residuals of neighbours in a shuffled block are alike, so what the choice of shuffles adds to the estimate is read
    off the repeats themselves. What it adds to the sums over blocks is taken off them as for single rows, too little:
    the interval is rather wide than narrow.
    """
    if rows.exact:
        return all_pairs(scores, unchanged, rows.weights)
    if rows.within:
        return _within_terms(scores, unchanged)
    pairs = shuffled_pairs(scores, unchanged, donors, rows.weights, None if effects is None else tuple(effects))
    if not rows.blocks or len(donors) < MIN_SHUFFLES:
        return pairs
    return pairs._replace(mean_noise=pairs.repeats.var(axis=1, ddof=1) / len(donors))


def _within_terms(scores: FloatArray, unchanged: FloatArray) -> PairTerms:
    """Return the terms of shuffles within clusters: each row's own change.

    Donors and receivers are of one cluster, whose sum is the same however a pair's change is dealt among both. Clusters
    are shuffled independently, so the variance of their sums has the noise of the shuffles in it.
    """
    changes, none = scores - unchanged[:, None], np.zeros(len(scores))
    return PairTerms(changes.mean(axis=2), changes.mean(axis=1), none, none)


def as_means(T: FloatArray, b: FloatArray, donors: IntArray, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Return T and b with value + influence in place of the scores of a statistic such as 1 - AUC.

    The influence of a shuffled score is taken among all shuffled scores, so that the mean of what is
    returned is the statistic of the pooled scores, and its row terms are those of the statistic.
    """
    for m, statistic in rows.statistics():
        pool, y = T[m].ravel(), np.tile(rows.y, len(donors))
        weights = (rows.weights * rows.weights[donors]).ravel()
        moved = statistic.influence(pool, y, weights, pool) + statistic.value(pool, y, weights)
        T, b = T.copy(), b.copy()
        T[m] = moved.reshape(T[m].shape)
        b[m] = statistic.influence(rows.b[m], rows.y, rows.weights, rows.b[m]) + rows.unpermuted[m]
    return T, b


def _plain(pairs: PairTerms, T: FloatArray, donors: IntArray, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Return repeats and estimate, with a statistic's own value in each shuffle.

    Its estimate is their mean, or, where all pairs are known, the statistic of all pairs.
    """
    repeats, estimate = pairs.repeats.copy(), pairs.repeats.mean(axis=1)
    for m, statistic in rows.statistics():
        weights = rows.weights * rows.weights[donors]
        shuffled = [statistic.value(T[m, r], rows.y, weights[r]) for r in range(len(donors))]
        repeats[m] = np.array(shuffled) - rows.unpermuted[m]
        if not rows.exact:
            estimate[m] = repeats[m].mean()
    return repeats, estimate


def _exactly_zero(repeats: FloatArray, g: FloatArray, size: FloatArray, donors: IntArray) -> BoolArray:
    """Say for which measures every shuffle gives 0 and all row terms are equal, up to rounding."""
    moved = bool((donors != np.arange(donors.shape[1])).any())
    zero: BoolArray = (np.abs(repeats).max(axis=1) <= ROUNDING * size) & (np.abs(g).max(axis=1) <= SOLVED * size)
    return zero & moved


def infinite_values(rows: Rows, features: Sequence[str], terms: Sequence[Terms]) -> list[Omission]:
    """Return an omission for each measure, or measure and feature, with infinite values: how many, and the remedy."""
    omissions = []
    for m, measure in enumerate(rows.measures):
        remedy = f"{REMEDY}, or ask for the loss with an upper bound." if measure.name == NLL.name else f"{REMEDY}."
        own = int((~np.isfinite(rows.b[m])).sum())
        if own:
            reason = f"it is infinite on {own} of {rows.n} rows before any shuffle. {remedy}"
            omissions.append(Omission(measure.name, "", reason))
            continue
        for feature, term in zip(features, terms, strict=True):
            count, hit = (int(number) for number in term.infinite[m])
            if count:
                reason = f"it is infinite for {count} shuffled values, in {hit} of {rows.n} rows. {remedy}"
                omissions.append(Omission(measure.name, feature, reason))
    return omissions
