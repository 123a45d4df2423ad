"""One shuffled feature: from the measures of its shuffles to estimates, errors and row terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.model.measures import NLL, PARTS, Measure
from ...core.model.results import Omission
from ...core.statistics.inference import PairTerms, pooled_error, standard_error
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from .changes import ChangedMeasures, as_means, pair_terms
from .rows import ShuffledRows

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
