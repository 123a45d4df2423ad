"""Support: which audited rows, and which shuffled ones, lie where the model had no training rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.results import Diagnostic, Result
from ...core.model.sampling import Sampling, share_interval
from ...core.model.subject import Subject
from ...core.statistics.inference import shuffled_pairs, standard_error
from ...core.statistics.score_intervals import newcombe, normal_quantile
from ...core.statistics.verdicts import carrying
from ...core.support import options as opt
from ...core.support.arrays import BoolArray, FloatArray, IntArray, Table, as_numbers, column
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ...core.support.text import short
from ...evidence import ids
from ...evidence.rows import ABOVE_RANGE, BELOW_RANGE, NEWLY_MISSING, OUTSIDE, SHUFFLED, UNSEEN_LEVEL
from ..shared.cards import CardedExplainer
from ..shared.choice import blocks
from ..shared.estimates import diagnostic, estimate, points, share_of


@dataclass(frozen=True)
class Paired:
    """One column of the training rows and of the audited rows.

    Ordered columns hold their values (dates as seconds); others the positions of their `labels`. Missing
    values are NaN.
    """

    name: str
    ordered: bool
    train: FloatArray
    test: FloatArray
    labels: tuple[Any, ...] = ()


def paired(subject: Subject, train: Table) -> list[Paired]:
    """Return every feature as a pair of columns; refuse training columns of another kind."""
    return [_pair(subject, train, position, name) for position, name in enumerate(subject.features)]


def _pair(subject: Subject, train: Table, position: int, name: str) -> Paired:
    kind = subject.kinds[name]
    old, new = pd.Series(column(train, position)), pd.Series(column(subject.X, position))
    if kind == "categorical":
        codes, labels = pd.factorize(pd.concat([old.astype(object), new.astype(object)], ignore_index=True))
        values = np.where(codes < 0, np.nan, codes.astype(float))
        return Paired(name, False, values[: len(old)], values[len(old) :], tuple(labels.tolist()))
    try:
        numbers = [as_numbers(p, kind) for p in (old, new)]
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"support.train[{name!r}] must be {kind} as in X; got {old.dtype}: {error}. Give both the same type."
        ) from error
    return Paired(name, True, numbers[0], numbers[1])


BLOCK = 256
SHRINKAGE = 0.05
MISMATCH = 2.0  # squared; that of two unrelated standardised numbers
ROUNDING = 1e-9


class RowsInSpace(NamedTuple):
    """Rows in the space: standardised numbers (n, p), not yet whitened, and codes of levels (n, q)."""

    numbers: FloatArray
    codes: IntArray

    def take(self, rows: IntArray) -> RowsInSpace:
        """Return the rows at positions `rows`."""
        return RowsInSpace(self.numbers[rows], self.codes[rows])


class Space:
    """Squared distance of rows to m reference rows: numbers by Mahalanobis, and 2 for each level that differs.

    Numbers are standardised and whitened by the mean, the sd and the correlations of the reference rows
    (shrunk by ``0.05 + p/m`` towards none), so that a pair of values that breaks a correlation is far
    off. A missing or infinite value lies at the mean and is a level of its own; a column that is constant
    in the reference counts as levels.

    Parameters
    ----------
    columns : sequence of Paired
    reference : ndarray of int, shape (m,)
        Positions of the reference rows among the training rows.
    whiten : bool
        False leaves numbers standardised only, and a level that differs counts 1.
    """

    def __init__(self, columns: Sequence[Paired], reference: IntArray, *, whiten: bool = True) -> None:
        self.number_of: dict[str, int] = {}
        self.code_of: dict[str, int] = {}
        numbers: list[FloatArray] = []
        codes: list[IntArray] = []
        for pair in columns:
            both = np.concatenate([pair.train, pair.test])
            z = _standardised(both, both[reference]) if pair.ordered else None
            if z is not None:
                self.number_of[pair.name] = len(numbers)
                numbers.append(z)
            if z is None or not np.isfinite(both).all():
                self.code_of[pair.name] = len(codes)
                cells = both if z is None else np.where(np.isfinite(both), 0.0, both)
                codes.append(np.unique(cells, return_inverse=True)[1].astype(np.int64))
        n, n_train = len(columns[0].train) + len(columns[0].test), len(columns[0].train)
        z_all = np.column_stack(numbers) if numbers else np.empty((n, 0))
        c_all = np.column_stack(codes) if codes else np.empty((n, 0), dtype=np.int64)
        self.train, self.test = (RowsInSpace(z_all[part], c_all[part]) for part in (slice(n_train), slice(n_train, n)))
        self._reference, self.n_reference = self.train.take(reference), len(reference)
        self._unmix = _unmix(self._reference.numbers) if whiten else np.eye(z_all.shape[1])
        self._mismatch = MISMATCH if whiten else 1.0
        self._white = self.whitened(self._reference.numbers)
        self._norms = np.square(self._white).sum(axis=1)

    def whitened(self, numbers: FloatArray) -> FloatArray:
        """Return numbers that are uncorrelated over the reference rows, shape (n, p)."""
        return np.asarray(numbers @ self._unmix)

    def squared(self, rows: RowsInSpace) -> FloatArray:
        """Return the squared distances of rows to the reference rows, shape (n, m)."""
        white = self.whitened(rows.numbers)
        squared = np.square(white).sum(axis=1)[:, None] + self._norms - 2 * white @ self._white.T
        for own, reference in zip(rows.codes.T, self._reference.codes.T, strict=True):
            squared += self._mismatch * (own[:, None] != reference)
        return np.asarray(squared)

    def shuffled(self, rows: RowsInSpace, names: Sequence[str], donors: IntArray) -> RowsInSpace:
        """Return the rows with the values of columns `names` of the rows at positions `donors`."""
        moved = RowsInSpace(rows.numbers.copy(), rows.codes.copy())
        for part, own, places in zip(moved, rows, (self.number_of, self.code_of), strict=True):
            columns = np.array([places[name] for name in names if name in places], dtype=np.int64)
            part[:, columns] = own[np.ix_(donors, columns)]
        return moved

    def nearest(self, rows: RowsInSpace, k: int) -> FloatArray:
        """Return the squared distance of each row to its k-th nearest reference row, shape (n,)."""
        return np.maximum(self.smallest(rows, k)[:, k - 1], 0.0)

    def smallest(self, rows: RowsInSpace, k: int, own: IntArray | None = None) -> FloatArray:
        """Return the k smallest squared distances of each row, the k-th last, shape (n, k); rounding may go below 0.

        `own` has the position of each row among the reference rows, which then is no neighbour of itself.
        """
        parts = []
        for start in range(0, len(rows.numbers), BLOCK):
            check_limits()
            block = slice(start, start + BLOCK)
            squared = self.squared(RowsInSpace(rows.numbers[block], rows.codes[block]))
            if own is not None:
                squared[np.arange(len(squared)), own[block]] = np.inf
            parts.append(np.partition(squared, k - 1, axis=1)[:, :k].copy())  # a view would keep the block
        return np.concatenate(parts)


class SupportLimit(NamedTuple):
    """The conformal limit: how far held-out training rows lie, squared and sorted, and where outside begins.

    A row's p-value is ``(1 + #{held-out rows at least as far}) / (n + 1)``; rows with a p-value of at most
    ``rank / (n + 1)`` are outside. A row drawn as the training rows are is outside with at most that
    probability (Vovk, Gammerman & Shafer 2005, inductive conformal prediction).
    """

    scores: FloatArray
    rank: int

    @property
    def expected(self) -> float:
        """The share of rows outside if they are drawn as the training rows are."""
        return self.rank / (len(self.scores) + 1)

    @property
    def squared(self) -> float:
        """The squared distance beyond which a row is outside."""
        return float(self.scores[-self.rank])

    def p_values(self, squared: FloatArray) -> FloatArray:
        """Return the conformal p-values of rows at these squared distances; rounding makes no difference."""
        below = np.searchsorted(self.scores, squared - ROUNDING * (1 + squared), side="left")
        return np.asarray((1 + len(self.scores) - below) / (len(self.scores) + 1))

    def outside(self, squared: FloatArray) -> FloatArray:
        """Return 1 for each row at these squared distances that is outside, else 0."""
        return np.asarray(self.p_values(squared) <= self.expected + 1e-12, dtype=float)


def limit(scores: FloatArray, share: float) -> SupportLimit:
    """Return the limit beyond which at most `share` of the rows lie by construction.

    Examples
    --------
    >>> edge = limit(np.arange(99.0), 0.05)
    >>> edge.expected, edge.squared, edge.p_values(np.array([94.0, 94.5, 1000.0])).tolist()
    (0.05, 94.0, [0.06, 0.05, 0.01])
    """
    return SupportLimit(np.sort(scores), int(share * (len(scores) + 1) + ROUNDING))


def _standardised(values: FloatArray, reference: FloatArray) -> FloatArray | None:
    """Return values standardised by the finite reference values, others 0; None if those are constant."""
    finite = reference[np.isfinite(reference)]
    if len(finite) < 2 or np.ptp(finite) == 0:
        return None
    size = float(np.abs(finite).max())
    centre, spread = float((finite / size).mean()), float((finite / size).std())
    if spread < ROUNDING:
        return None
    return np.asarray(np.where(np.isfinite(values), (values / size - centre) / spread, 0.0))


def _unmix(numbers: FloatArray) -> FloatArray:
    """Return U with U Uᵀ the inverse of the shrunk correlations of standardised numbers, shape (p, p)."""
    m, p = numbers.shape
    share = min(1.0, SHRINKAGE + p / m)
    root = np.linalg.cholesky((1 - share) * (numbers.T @ numbers) / m + share * np.eye(p))
    return np.ascontiguousarray(solve_triangular(root, np.eye(p), lower=True).T)


POINT = 0.01  # share of the training observations whose ratio of distances is at most the limit
SURELY = 0.995  # one-sided level of the least excess
MOST_REFERENCE = 20_000  # training observations that neighbours are looked for among
PAIRS = 20_000_000  # distances, for each of both samples
LEAST_JUDGED = 500  # observations of each sample, where there are as many
NEAR_COPIES = "near_copies"


def distance_ratios(space: Space, rows: RowsInSpace, own: IntArray | None = None) -> FloatArray:
    """Return the distance to the nearest reference row over that to the second nearest, shape (n,); 1 if both are 0.

    `own` has the position of each row among the reference rows, which then is no neighbour of itself.
    """
    nearest = space.smallest(rows, 2, own)
    rounding = ROUNDING * (1 + np.square(space.whitened(rows.numbers)).sum(axis=1))
    nearest[nearest <= rounding[:, None]] = 0.0
    first, second = nearest.T
    return np.sqrt(np.divide(first, second, out=np.ones(len(first)), where=second > 0))


def near_copies(columns: Sequence[Paired], engine: Engine) -> Diagnostic:
    """Return the result ``support.copies``.

    A ratio of distances has no scale, so it is the same where observations are dense and where they are few, and under
    a shift of the audited observations. The limit is the 1% point of the ratio of training observations, each without
    itself; the share of audited observations at or below it, less that of training observations, is the excess.
    """
    n_train, sampling = len(columns[0].train), Sampling.of(engine.subject)
    reference = np.sort(engine.rng("copies").permutation(n_train)[:MOST_REFERENCE])
    space = Space(columns, reference, whiten=False)
    most = max(LEAST_JUDGED, PAIRS // len(reference))
    trained = np.sort(engine.rng("trained").permutation(len(reference))[:most])
    counted = np.flatnonzero(sampling.weights > 0)
    rows = np.sort(engine.rng("audited").permutation(counted)[:most])
    among_train = distance_ratios(space, space.train.take(reference[trained]), trained)
    limit = float(np.quantile(among_train, POINT, method="inverted_cdf"))
    own, part = (distance_ratios(space, space.test.take(rows)) <= limit).astype(float), sampling.part(rows)
    share, error = (float(number) for number in part.mean(own))
    share_train = float((among_train <= limit).mean())
    shares = share, part.effective_n(share, error), share_train, float(len(trained))
    ends, (least, _) = (newcombe(*shares, normal_quantile(level)) for level in (engine.confidence, 2 * SURELY - 1))
    line = estimate(share - share_train, np.nan, ends, engine.confidence, NEAR_COPIES)
    line |= {"covers": "new test and training samples", "item": "near copies", "n": len(rows), "share": share}
    sampled = f"{len(reference)} of {n_train} training observations, drawn at random, were searched."
    return diagnostic(
        ids.SUPPORT_COPIES,
        "Observations that are near copies of training observations",
        [line | {"share_train": share_train, "least": least, "ratio": limit, "n_train": len(trained)}],
        ("item", "n", "share", "share_train", "least", "ratio", "n_train"),
        x="share",
        notes=(
            (
                "Ratio of the distances to the nearest and the second nearest training observation: columns in "
                "standard deviations of the training sample, a level that differs counts 1."
            ),
            f"A near copy has a ratio of at most {limit:.3g}, the {100 * POINT:g}% point of training observations.",
            *((sampled,) if len(reference) < n_train else ()),
            *sampling.notes(),
        ),
    )


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
    title = "Distributions of the features in the training and the test sample"
    note = (
        f"Shares of non-missing values by {BINS} bins, infinite ones in the outermost, or by the {LEVELS} most "
        "frequent levels."
    )
    return points(ids.SUPPORT_DISTRIBUTION, title, records, notes=(note,), meta={"edges": edges, "labels": labels})


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
class Support(CardedExplainer):
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
            n = len(subject.train[0])
            raise InputError(f"support.train must have at least {self.least} rows; got {n}. Give more rows.")
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
        nearest = f"the {self.n_neighbors} nearest of {space.n_reference} training observations"
        return diagnostic(
            ids.SUPPORT,
            "Observations outside the training domain",
            [line | {"measure": MEASURE, "expected": expected} for line in records],
            ("item", "n", "p_value", "expected"),
            x="expected",
            options=asdict(self),
            notes=(
                f"Outside: farther from {nearest} than all but {100 * expected:.3g}% of {len(edge.scores)} others are.",
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
    """Return the p-value of each row."""
    columns = {"measure": "p_value", "feature": "", "item": "row", "x": rows.astype(float), "value": p_values}
    title = "How unusual each observation is in the training sample"
    note = (
        f"x is the observation, value the share of held-out training observations at least as far off; outside at "
        f"{expected:.3g} or less."
    )
    frame = pd.DataFrame(columns)
    return points(ids.SUPPORT_ROWS, title, frame, notes=(note,), meta={"expected": expected})
