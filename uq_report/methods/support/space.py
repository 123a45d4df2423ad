"""How far rows lie from reference rows, in columns of every kind, and how far is far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ...core.arrays import FloatArray, IntArray
from ...core.limits import look
from .columns import Paired

BLOCK = 256
CACHED = 64  # rows at once whose distances stay in the cache of a processor
SHRINKAGE = 0.05
MISMATCH = 2.0  # squared; that of two unrelated standardised numbers
ROUNDING = 1e-9


class Placed(NamedTuple):
    """Rows in the space: standardised numbers (n, p), not yet whitened, and codes of levels (n, q)."""

    numbers: FloatArray
    codes: IntArray

    def take(self, rows: IntArray) -> Placed:
        """Return the rows at positions `rows`."""
        return Placed(self.numbers[rows], self.codes[rows])


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
    """

    def __init__(self, columns: Sequence[Paired], reference: IntArray) -> None:
        self.number_of: dict[str, int] = {}
        self.code_of: dict[str, int] = {}
        numbers: list[FloatArray] = []
        codes: list[IntArray] = []
        for column in columns:
            both = np.concatenate([column.train, column.test])
            z = _standardised(both, both[reference]) if column.ordered else None
            if z is not None:
                self.number_of[column.name] = len(numbers)
                numbers.append(z)
            if z is None or not np.isfinite(both).all():
                self.code_of[column.name] = len(codes)
                cells = both if z is None else np.where(np.isfinite(both), 0.0, both)
                codes.append(np.unique(cells, return_inverse=True)[1].astype(np.int64))
        n, n_train = len(columns[0].train) + len(columns[0].test), len(columns[0].train)
        z_all = np.column_stack(numbers) if numbers else np.empty((n, 0))
        c_all = np.column_stack(codes) if codes else np.empty((n, 0), dtype=np.int64)
        self.train, self.test = (Placed(z_all[part], c_all[part]) for part in (slice(n_train), slice(n_train, n)))
        self._reference, self.n_reference = self.train.take(reference), len(reference)
        self._unmix = _unmix(self._reference.numbers)
        self._white = self.whitened(self._reference.numbers)
        self._norms = np.square(self._white).sum(axis=1)

    def whitened(self, numbers: FloatArray) -> FloatArray:
        """Return numbers that are uncorrelated over the reference rows, shape (n, p)."""
        return np.asarray(numbers @ self._unmix)

    def squared(self, rows: Placed) -> FloatArray:
        """Return the squared distances of rows to the reference rows, shape (n, m)."""
        white = self.whitened(rows.numbers)
        return np.square(white).sum(axis=1)[:, None] + 2 * self.beyond(white, rows.codes)

    def beyond(self, white: FloatArray, codes: IntArray) -> FloatArray:
        """Return half of what squared distances are beyond the length of whitened numbers, shape (n, m)."""
        return self._norms / 2 - white @ self._white.T + MISMATCH / 2 * self.mismatches(codes)

    def steps(self, columns: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return what a unit of a column adds to whitened numbers (columns, p) and takes off `beyond` (columns, m)."""
        steps = self._unmix[list(columns)]
        return steps, steps @ self._white.T

    def mismatches(self, codes: IntArray, only: Sequence[int] | None = None) -> FloatArray:
        """Return in how many levels rows and reference rows differ, shape (n, m); `codes` of the columns `only`."""
        differing = np.zeros((len(codes), self.n_reference))
        for own, c in zip(codes.T, range(codes.shape[1]) if only is None else only, strict=True):
            differing += own[:, None] != self._reference.codes[:, c]
        return differing

    def nearest(self, rows: Placed, k: int) -> FloatArray:
        """Return the squared distance of each row to its k-th nearest reference row, shape (n,)."""
        parts = []
        for start in range(0, len(rows.numbers), BLOCK):
            look()
            block = slice(start, start + BLOCK)
            distances = self.squared(Placed(rows.numbers[block], rows.codes[block]))
            parts.append(np.partition(distances, k - 1, axis=1)[:, k - 1])
        return np.maximum(np.concatenate(parts), 0.0)


class Limit(NamedTuple):
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
        below = np.searchsorted(self.scores, squared - _slack(squared), side="left")
        return np.asarray((1 + len(self.scores) - below) / (len(self.scores) + 1))


def limit(scores: FloatArray, share: float) -> Limit:
    """Return the limit beyond which at most `share` of the rows lie by construction.

    Examples
    --------
    >>> edge = limit(np.arange(99.0), 0.05)
    >>> edge.expected, edge.squared, edge.p_values(np.array([94.0, 94.5, 1000.0])).tolist()
    (0.05, 94.0, [0.06, 0.05, 0.01])
    """
    return Limit(np.sort(scores), int(share * (len(scores) + 1) + ROUNDING))


class Shuffled:
    """Rows whose columns take the values of other rows, and which of them are then outside.

    Squared distances are sums over columns and inner products, so only what a shuffle moves is computed again.

    Parameters
    ----------
    space : Space
    rows : Placed
    limit : Limit
    k : int
        Neighbours.
    """

    def __init__(self, space: Space, rows: Placed, limit: Limit, k: int) -> None:
        self._space, self._rows, self._k = space, rows, k
        self._white = space.whitened(rows.numbers)
        self._beyond = space.beyond(self._white, rows.codes)
        self._edge = limit.squared + float(_slack(np.array(limit.squared)))

    def outside(self, names: Sequence[str], donors: IntArray) -> FloatArray:
        """Return which rows are outside after columns `names` were taken from others, shape (shuffles, n).

        `donors`, shape (shuffles, n), are positions among the rows.
        """
        space, rows = self._space, self._rows
        z = [space.number_of[name] for name in names if name in space.number_of]
        c = [space.code_of[name] for name in names if name in space.code_of]
        steps, nearer = space.steps(z)
        inside = np.empty(donors.shape, dtype=bool)
        for start in range(0, donors.shape[1], CACHED):
            look()
            part = slice(start, start + CACHED)
            beyond, before = self._beyond[part], rows.numbers[part, z]
            if c:
                beyond = beyond - MISMATCH / 2 * space.mismatches(rows.codes[part, c], c)
            for donor, kept in zip(donors[:, part], inside[:, part], strict=True):
                change = rows.numbers[np.ix_(donor, z)] - before
                moved = beyond - change @ nearer if z else beyond
                if c:
                    moved = moved + MISMATCH / 2 * space.mismatches(rows.codes[np.ix_(donor, c)], c)
                length = np.square(self._white[part] + change @ steps).sum(axis=1)
                kept[:] = (moved <= (self._edge - length)[:, None] / 2).sum(axis=1) >= self._k
        return 1.0 - inside


def _slack(squared: FloatArray) -> FloatArray:
    return np.asarray(ROUNDING * (1 + squared))


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
