"""Audited and training observations as pairs of columns, their distances in one space, and near copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Diagnostic
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.statistics.score_intervals import newcombe, normal_quantile
from ...core.support.arrays import FloatArray, IntArray, Table, as_numbers, column
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ...evidence import ids
from ..shared.estimates import diagnostic, estimate


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
MEASURE = "near_copies"


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
    line = estimate(share - share_train, np.nan, ends, engine.confidence, MEASURE)
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
