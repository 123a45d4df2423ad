"""Support: which audited rows, and which shuffled ones, lie where the model had no training rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Result
from ...core.model.sampling import Sampling, share_interval
from ...core.model.subject import Subject
from ...core.statistics.inference import shuffled_pairs, standard_error
from ...core.statistics.verdicts import carrying
from ...core.support import options as opt
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ...core.support.text import short
from ...evidence import ids
from ...evidence.rows import ABOVE_RANGE, BELOW_RANGE, NEWLY_MISSING, OUTSIDE, SHUFFLED, UNSEEN_LEVEL
from ..shared.cards import card_of
from ..shared.choice import blocks
from ..shared.estimates import diagnostic, estimate, share_of
from .space import Paired, Space, SupportLimit, limit, near_copies, paired

WORK = 2_000_000
NAMED = 5
New = tuple[str, BoolArray, float, str]


def counted(hits: Any, weights: FloatArray) -> tuple[int, int]:
    """Return the hits, and of how many observations: the effective number of weighted ones, rounded hits downwards.

    Examples
    --------
    >>> counted([1, 0, 1, 0], np.ones(4)), counted([1, 0, 1, 0], np.array([1.0, 3.0, 1.0, 3.0]))
    ((2, 4), (0, 3))
    """
    n = round(carrying(weights)) if len(weights) else 0
    return int(n * float(weights @ np.asarray(hits, dtype=float)) / weights.sum() + 1e-9) if n else 0, n


def new_values(columns: Sequence[Paired], rows: IntArray, weights: FloatArray, engine: Engine) -> Diagnostic:
    """Return the result ``support.values``; tests use the independent audited rows at positions `rows`."""
    records: list[dict[str, Any]] = []
    for pair in columns:
        check_limits()
        for item, hits, p_value, bound in _new(pair, rows, weights, engine):
            count, n = int(hits.sum()), len(pair.test)
            line = {"measure": "count", "feature": pair.name, "estimate": float(count), "covers": "none"}
            line |= {"item": item, "n": n, "share": count / n, "p_value": p_value, "bound": bound}
            records += [line] if count else []
    return diagnostic(
        ids.SUPPORT_VALUES,
        "Values that do not occur in the training sample",
        records,
        ("item", "n", "share", "p_value", "bound"),
        x="n",
        notes=(
            "Counts in the test sample against the whole training sample; only features with such values are listed.",
            (
                "p is the probability of as many if both samples are drawn from one population. k values beyond the "
                "training range: the k most extreme of all observations are in the test sample. New levels: by "
                "permutation of the observations between the samples."
            ),
            (
                "Of weighted observations these p-values use the effective number, but for new levels; of each cluster "
                "one observation, drawn once, and training observations count by the same share."
            ),
        ),
        meta={"tests": sum(3 if pair.ordered else 2 for pair in columns)},
    )


def _new(pair: Paired, rows: IntArray, weights: FloatArray, engine: Engine) -> Iterator[New]:
    if pair.ordered:
        yield from _beyond(pair, rows, weights)
    else:
        hits = ~np.isnan(pair.test) & ~np.isin(pair.test, pair.train)
        names = [short(pair.labels[int(code)]) for code in np.unique(pair.test[hits])[:NAMED]]
        yield UNSEEN_LEVEL, hits, _dealt(pair, rows, engine) if hits.any() else 1.0, ", ".join(names)
    if not np.isnan(pair.train).any():
        hits, n_train = np.isnan(pair.test), _counting(pair, rows, len(pair.train))
        yield NEWLY_MISSING, hits, all_among(*counted(hits[rows], weights[rows]), n_train), ""


def _counting(pair: Paired, rows: IntArray, n_train: int) -> int:
    """Return how many training rows count as independent: the share of them that does of the audited rows."""
    return max(1, round(n_train * len(rows) / len(pair.test)))


def all_among(k: int, n: int, n_train: int) -> float:
    """Return the chance that k given rows of n + n_train, dealt at random, are all among the n.

    Examples
    --------
    >>> all_among(2, 1, 3), all_among(1, 1, 3), all_among(0, 1, 3)
    (0.0, 0.25, 1.0)
    """
    i = np.arange(k)
    return float(np.prod(np.maximum(n - i, 0) / (n + n_train - i)))


def _beyond(pair: Paired, rows: IntArray, weights: FloatArray) -> Iterator[New]:
    """Yield the audited values below and above the training range."""
    train = pair.train[~np.isnan(pair.train)]
    known = rows[~np.isnan(pair.test[rows])]
    if len(train):
        low, high = float(train.min()), float(train.max())
        for item, hits, bound in ((BELOW_RANGE, pair.test < low, low), (ABOVE_RANGE, pair.test > high, high)):
            chance = all_among(*counted(hits[known], weights[known]), _counting(pair, rows, len(train)))
            yield item, hits, chance, f"{bound:g}"


def _dealt(pair: Paired, rows: IntArray, engine: Engine) -> float:
    """Return the chance of as many rows with unseen levels, by dealing all rows anew to training and audit."""
    test, train = (values[~np.isnan(values)].astype(np.int64) for values in (pair.test[rows], pair.train))
    rng, size = engine.rng("levels", pair.name), len(pair.labels)
    if len(rows) < len(pair.test):
        train = rng.choice(train, _counting(pair, rows, len(train)), replace=False)
    ours = np.bincount(test, minlength=size)
    both = ours + np.bincount(train, minlength=size)
    observed = int(both[ours == both].sum())
    draws, above = int(np.clip(WORK // size, 99, 9999)), 0
    for some in blocks(draws, size, WORK):
        deal = rng.multivariate_hypergeometric(both, len(test), size=some, method="marginals")
        above += int(((deal == both) @ both >= observed).sum())
    return (1 + above) / (draws + 1)


def shifts(columns: Sequence[Paired], rows: IntArray, weights: FloatArray, confidence: float) -> Diagnostic:
    """Return the result ``support.shift``; of the audited rows the independent ones, at positions `rows`, count."""
    return diagnostic(
        ids.SUPPORT_SHIFT,
        "Distance between the distributions of test and training sample",
        _lines(columns, rows, weights, confidence),
        ("item", "n"),
        x="n",
        notes=(
            (
                "Largest difference of the distribution functions; of levels, half the sum of the differences of their "
                "shares. At least this share of the observations would have to change for both to be equal."
            ),
            (
                "Intervals are simultaneous over all features, for any distribution (Massart 1990, Weissman et al. "
                "2003), over new training samples too. Weighted observations count by their effective number; of each "
                "cluster one observation, drawn once, does, and training observations count by the same share."
            ),
        ),
    )


BINS, LEVELS = 12, 8  # of a column whose two distributions are recorded


def distributions(columns: Sequence[Paired]) -> Diagnostic:
    """Return the result ``support.distribution``: the shares of both samples by bin, or by level, of every column."""
    records: list[tuple[str, str, str, float, float]] = []
    edges: dict[str, list[float]] = {}
    labels: dict[str, list[str]] = {}
    for pair in columns:
        samples = {"training": pair.train[~np.isnan(pair.train)], "test": pair.test[~np.isnan(pair.test)]}
        both = np.concatenate([*samples.values()])
        finite = both[np.isfinite(both)]
        if not all(map(len, samples.values())) or not len(finite) or np.ptp(finite) == 0:
            continue
        if pair.ordered:
            bounds = np.histogram_bin_edges(finite, BINS)  # infinite values are counted in the outermost bins
            inside = {item: np.clip(values, bounds[0], bounds[-1]) for item, values in samples.items()}
            shares = {item: np.histogram(values, bounds)[0] / len(values) for item, values in inside.items()}
        else:
            codes, counts = np.unique(both, return_counts=True)
            codes = codes[np.argsort(-counts, kind="stable")][:LEVELS]
            bounds = np.arange(len(codes) + 1.0) - 0.5
            labels[pair.name] = [short(pair.labels[int(code)]) for code in codes]
            shares = {item: np.array([(values == code).mean() for code in codes]) for item, values in samples.items()}
        edges[pair.name] = bounds.tolist()
        middles = ((bounds[1:] + bounds[:-1]) / 2).tolist()
        for item, share in shares.items():
            records += [("share", pair.name, item, x, y) for x, y in zip(middles, share.tolist(), strict=True)]
    return Diagnostic(
        id=ids.SUPPORT_DISTRIBUTION,
        explainer=ids.SUPPORT,
        title="Distributions of the features in the training and the test sample",
        frame=pd.DataFrame(records, columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        notes=(
            (
                f"Shares of non-missing values by {BINS} bins, infinite ones in the outermost, or by the {LEVELS} most "
                "frequent levels."
            ),
        ),
        meta={"edges": edges, "labels": labels},
    )


def _lines(
    columns: Sequence[Paired], rows: IntArray, weights: FloatArray, confidence: float
) -> Iterator[dict[str, Any]]:
    """Yield the line of every column with a value in both samples."""
    level = (1 - confidence) / len(columns)
    for pair in columns:
        check_limits()
        old, known = np.sort(pair.train[~np.isnan(pair.train)]), rows[~np.isnan(pair.test[rows])]
        known = known[np.argsort(pair.test[known], kind="stable")]
        if not len(old) or not len(known):
            continue
        new, shares = pair.test[known], weights[known] / weights[known].max()
        distance, words, kinds = _numbers(old, new, shares) if pair.ordered else _levels(old, new, shares, pair)
        counts = _counting(pair, rows, len(old)), counted(shares > 0, shares)[1]
        reach = sum(np.sqrt((kinds * np.log(2) - np.log(level / 2)) / (2 * count)) for count in counts)
        interval = max(distance - reach, 0.0), min(distance + reach, 1.0)
        line = estimate(distance, np.nan, interval, confidence, "distance", pair.name)
        yield line | {"covers": "new test and training samples", "item": words, "n": len(new)}


def _numbers(old: FloatArray, new: FloatArray, shares: FloatArray) -> tuple[float, str, int]:
    """Return the distance of Kolmogorov and Smirnov, both medians in words, and 1."""
    at = np.union1d(old, new)
    upto = np.concatenate([[0.0], np.cumsum(shares)]) / shares.sum()
    ours, theirs = upto[np.searchsorted(new, at, side="right")], np.searchsorted(old, at, side="right") / len(old)
    distance = float(np.abs(ours - theirs).max())
    median = new[np.searchsorted(upto[1:], 0.5)] if np.ptp(shares) > 0 else np.median(new)
    return distance, f"median {np.median(old):.3g} in training, {median:.3g} here", 1


def _levels(old: FloatArray, new: FloatArray, shares: FloatArray, pair: Paired) -> tuple[float, str, int]:
    """Return the total variation distance, the level that changed most in words, and the number of levels."""
    size = len(pair.labels)
    theirs = np.bincount(old.astype(np.int64), minlength=size) / len(old)
    ours = np.bincount(new.astype(np.int64), shares, minlength=size) / shares.sum()
    most = int(np.abs(ours - theirs).argmax())
    words = f"{short(pair.labels[most])}: {theirs[most]:.0%} in training, {ours[most]:.0%} here"
    return float(np.abs(ours - theirs).sum() / 2), words, size


Record = dict[str, Any]
MEASURE = "share_outside"
SHUFFLE_ROWS = 1000


@dataclass(frozen=True)
class Support(BuiltInExplainer):
    """Share of rows outside the training support, as they are and after each feature is shuffled.

    The training rows are halved at random. A row is outside if it lies farther from its k-th nearest row
    of the first half than all but a share of 5% of the second half do; so 5% of rows drawn as
    the training rows are would be outside, exactly, whatever their distribution. Numbers count by
    Mahalanobis distance, a level that differs as two unrelated numbers do. ``outside`` is tested against
    that share (exact, one-sided: the count is beta-binomial). ``shuffled`` says how far a
    permutation of one feature leaves the support: there, its permutation importance extrapolates.
    ``support.values`` counts values and levels that no training row has, ``support.copies`` compares how many audited
    rows are near copies of one training row with how many training rows are.

    Parameters
    ----------
    expected : float
        Share of rows outside by construction.
    n_neighbors : int
        k, of the k-th nearest row.
    n_repeats : int
        Shuffles of each feature, 3 at least, of 1000 rows at most.
    max_train, max_rows : int
        Training rows and audited rows used at most, drawn at random.

    References
    ----------
    Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world, chapter 4.
    Bates et al. (2023), doi:10.1214/22-AOS2244.
    """

    expected: float = opt.option(0.05, "a number in (0, 0.5]", lambda value: 0 < value <= 0.5)
    n_neighbors: int = opt.at_least(1, 5)
    n_repeats: int = opt.at_least(3, 3)
    max_train: int = 2000
    max_rows: int = opt.at_least(10, 10_000)

    name: ClassVar[str] = "support"
    section: ClassVar[str] = "robustness.support"
    priority: ClassVar[int] = 4
    card: ClassVar[MethodCard] = card_of(name)

    def limits(self) -> Iterable[opt.Limit]:
        """Return the limits of options that depend on each other."""
        allowed = f"an integer >= {self.least}, for this share and neighbours"
        return (("max_train", self.max_train >= self.least, allowed),)

    @property
    def least(self) -> int:
        """Training rows needed: each half must hold the neighbours and show the share."""
        share = max(self.expected, 1e-6)  # a share of 0 is refused before this number is used
        return 2 * max(int(np.ceil(1 / share)), self.n_neighbors)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``support`` and its parts ``rows``, ``values``, ``shift`` and ``copies``."""
        if subject.train is None:
            raise InputError("support.train must be given; got none. Pass train=(X_train, y_train) to `explain`.")
        if len(subject.train[0]) < self.least:
            raise InputError(
                f"support.train must have at least {self.least} rows; got {len(subject.train[0])}. Give more rows."
            )
        columns = paired(subject, subject.train[0])
        space, edge = self._frontier(columns, engine)
        sampling = Sampling.of(subject)
        weights = sampling.weights
        rows = np.sort(_sample(subject.n, self.max_rows, engine.rng("rows")))
        distances = space.nearest(space.test.take(rows), self.n_neighbors)
        units = sampling.independent_rows(engine.rng("units"))
        outside = edge.outside(distances)
        line = share_of(outside, Sampling.of(subject, rows), engine.confidence)
        own = np.isin(rows, units)
        p_value = _p_value(*counted(outside[own], weights[rows[own]]), edge)
        line |= {"item": OUTSIDE, "n": len(rows), "p_value": p_value}
        records = [line, *self._shuffles(engine, space, edge, rows)]
        return [
            self._result(subject, space, edge, records),
            _rows_result(rows, edge.p_values(distances), edge.expected),
            new_values(columns, units, weights, engine),
            shifts(columns, units, weights, engine.confidence),
            distributions(columns),
            near_copies(columns, engine),
        ]

    def _frontier(self, columns: Sequence[Paired], engine: Engine) -> tuple[Space, SupportLimit]:
        """Return the space of the reference rows, and the limit of the others."""
        sample = _sample(len(columns[0].train), self.max_train, engine.rng("train"))
        half = len(sample) // 2
        space = Space(columns, np.sort(sample[:half]))
        return space, limit(space.nearest(space.train.take(np.sort(sample[half:])), self.n_neighbors), self.expected)

    def _shuffles(self, engine: Engine, space: Space, edge: SupportLimit, rows: IntArray) -> Iterator[Record]:
        """Yield the share of rows outside after each feature, or block of features, is shuffled."""
        subject = engine.subject
        chosen = rows[np.sort(_sample(len(rows), SHUFFLE_ROWS, engine.rng("shuffled rows")))]
        sampling, n = Sampling.of(subject, chosen), len(chosen)
        placed = space.test.take(chosen)
        for target in subject.targets:
            streams = (engine.rng("shuffle", target, repeat) for repeat in range(self.n_repeats))
            donors = np.stack([rng.permutation(n) for rng in streams])
            moved = (space.shuffled(placed, subject.members(target), donor) for donor in donors)
            outside = np.stack([edge.outside(space.nearest(each, self.n_neighbors)) for each in moved])
            terms = shuffled_pairs(outside[None], np.zeros((1, n)), donors, sampling.weights)
            share = float(np.clip(terms.repeats.mean(), 0.0, 1.0))
            error = float(standard_error(terms, sampling.weights, sampling.codes)[0])
            low, high = sampling.interval(share, error, engine.confidence)
            if not error > 0:
                low, high = share_interval(share, sampling.effective_n(share, 0.0), engine.confidence)
            line = estimate(share, error, (max(low, 0.0), min(high, 1.0)), engine.confidence, feature=target)
            yield line | {"item": SHUFFLED, "n": n}

    def _result(self, subject: Subject, space: Space, edge: SupportLimit, records: Sequence[Record]) -> Diagnostic:
        sampling, expected, n = Sampling.of(subject), edge.expected, records[0]["n"]
        sizes = {"expected": expected, "n_neighbors": self.n_neighbors, "n_reference": space.n_reference}
        sizes |= {"units": sampling.units}
        return diagnostic(
            ids.SUPPORT,
            "Observations outside the training domain",
            [line | {"measure": MEASURE, "expected": expected} for line in records],
            ("item", "n", "p_value", "expected"),
            x="expected",
            options=asdict(self),
            notes=(
                (
                    f"Outside: farther from the {self.n_neighbors} nearest of {space.n_reference} training "
                    "observations "
                    f"than all but {100 * expected:.3g}% of {len(edge.scores)} others are."
                ),
                *((f"{n} of {subject.n} observations, drawn at random, were used.",) if n < subject.n else ()),
                f"Permuted: {self.n_repeats} permutations of {min(n, SHUFFLE_ROWS)} observations.",
                "Intervals are given this limit; the p-value also covers the draw of the training sample.",
                *(("The p-value uses one observation of each cluster.",) if sampling.codes is not None else ()),
                *(("The p-value uses the effective number of observations.",) if np.ptp(sampling.weights) > 0 else ()),
                *sampling.notes(),
            ),
            meta=sizes | {"n_calibration": len(edge.scores), "n_rows": n, "n_train": len(space.train.numbers)},
        )


def _p_value(outside: int, n: int, edge: SupportLimit) -> float:
    """Return the exact one-sided p-value of the number of independent rows outside, also over training rows."""
    from scipy import stats  # here: heavy, and a list of plugins tests nothing

    others = len(edge.scores)
    return float(stats.betabinom.sf(outside - 1, n, edge.rank, others + 1 - edge.rank)) if n else np.nan


def _sample(n: int, most: int, rng: np.random.Generator) -> IntArray:
    """Return at most `most` of n positions, in random order."""
    return np.asarray(rng.permutation(n)[:most], dtype=np.int64)


def _rows_result(rows: IntArray, p_values: FloatArray, expected: float) -> Diagnostic:
    """Return the result ``support.rows``."""
    columns = {"measure": "p_value", "feature": "", "item": "row", "x": rows.astype(float), "value": p_values}
    return Diagnostic(
        id=ids.SUPPORT_ROWS,
        explainer=ids.SUPPORT,
        title="How unusual each observation is in the training sample",
        frame=pd.DataFrame(columns),
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        notes=(
            (
                f"x is the observation, value the share of held-out training observations at least as far off; "
                f"outside at {expected:.3g} or less."
            ),
        ),
        meta={"expected": expected},
    )
