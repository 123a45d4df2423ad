"""Rows in order of time: blocks of successive rows, how long they must be, and shuffles that keep their inner order."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..support.arrays import FloatArray, IntArray
from ..support.text import count

_SIGNIFICANT = 2.0  # c of Politis & White: an autocorrelation beyond c·√(log10(n)/n) counts


@dataclass(frozen=True)
class Blocks:
    """Rows that depend on each other in order of time, and the blocks of successive rows taken as independent.

    `moments` holds a rank per row, shape (n,), rows of one time share it; `length` is the number of rows of a block,
    `rule` where it comes from, `given` says that the user stated it, and `cut` that the autocorrelation asks for more.
    `times` has the distinct times in words.

    Examples
    --------
    >>> blocks = Blocks(np.array([3, 0, 1, 2]), length=2)
    >>> blocks.codes
    array([1, 0, 0, 1])
    """

    moments: IntArray
    length: int
    rule: str = ""
    times: tuple[str, ...] = ()
    given: bool = False
    cut: bool = False

    @property
    def order(self) -> IntArray:
        """The row positions in order of time, shape (n,); rows of one time stay as they stand."""
        return np.argsort(self.moments, kind="stable")

    @property
    def codes(self) -> IntArray:
        """The block of each row, shape (n,): `length` rows each, rows of one time together, a short rest apart.

        A rest below half of the length joins the block before it.
        """
        n = len(self.moments)
        n_blocks = max(1, int(n / self.length + 0.5))
        ranks = self.moments[self.order]
        first = np.searchsorted(ranks, ranks)  # of the rows of one time
        codes = np.empty(n, dtype=np.int64)
        codes[self.order] = np.minimum(first // self.length, n_blocks - 1)
        return np.unique(codes, return_inverse=True)[1].astype(np.int64)

    @property
    def words(self) -> str:
        """What the blocks are, after their number."""
        return f"blocks of about {count(self.length, 'successive observation')}"

    def take(self, rows: IntArray) -> Blocks:
        """Return the blocks of some of the rows, shorter by the share of rows that is left."""
        share = len(rows) / max(len(self.moments), 1)
        return replace(self, moments=self.moments[rows], length=max(1, round(self.length * share)))

    def donors(self, rng: np.random.Generator) -> IntArray:
        """Return a shuffle of whole blocks, shape (n,): row i gets the value of row ``donors[i]``.

        The series is closed to a circle, cut at a random place into blocks, which are put together in random order
        and turned by a random shift. Each row gets the value of every row with the same probability, 1/n, so the
        mean over shuffles is that over all pairs of rows, as of single rows; inside blocks values keep their order.
        """
        n, order = len(self.moments), self.order
        start, turn = rng.integers(n, size=2)
        pieces = np.split(np.roll(np.arange(n), -start), np.arange(self.length, n, self.length))
        shuffled = np.concatenate([pieces[p] for p in rng.permutation(len(pieces))])
        donors = np.empty(n, dtype=np.int64)
        donors[order] = order[np.roll(shuffled, turn)]
        return donors


def shortest_length(n: int) -> int:
    """Return the shortest block of n rows by rule: n^(1/3), rounded up.

    Examples
    --------
    >>> shortest_length(1000), shortest_length(1001)
    (10, 11)
    """
    return math.ceil(round(n ** (1 / 3), 9))


def stationary_length(series: FloatArray) -> int:
    """Return the block length that estimates the variance of a series' mean best, at least 1.

    ``b = (2 G²/D)^(1/3) n^(1/3)`` with ``G = Σ λ(k/M)|k|R(k)``, ``D = 4/3 (Σ λ(k/M)R(k))²``, λ the flat-top window
    and M twice the last lag before autocorrelations stay within ``2 √(log10(n)/n)``: Politis & White (2004),
    doi:10.1081/ETC-120028836, section 3, with the correction of Patton, Politis & White (2009),
    doi:10.1080/07474930802459016, for circular blocks. At most 3√n and n/3. A constant series asks for 1.

    Examples
    --------
    >>> steps = np.random.default_rng(0).normal(size=400)
    >>> stationary_length(steps) < 5 < stationary_length(np.convolve(steps, np.ones(9)))
    True
    """
    n = len(series)
    centred = series - series.mean()
    if n < 8 or not np.abs(centred).max() > 1e-12 * max(1.0, float(np.abs(series).max())):
        return 1
    last = min(n - 2, math.ceil(math.sqrt(n)) + _run(n))
    R = np.array([centred[: n - k] @ centred[k:] for k in range(last + 1)]) / n  # autocovariances
    M = _bandwidth(R / R[0], n, last)
    lags = np.arange(-M, M + 1)
    window = np.minimum(1.0, 2 * (1 - np.abs(lags) / M))
    covariances = R[np.abs(lags)]
    spread, level = window @ (np.abs(lags) * covariances), window @ covariances
    if not level > 0:
        return 1
    length = (2 * spread**2 / (4 / 3 * level**2)) ** (1 / 3) * n ** (1 / 3)
    return max(1, min(math.ceil(length), math.ceil(min(3 * math.sqrt(n), n / 3))))


def _run(n: int) -> int:
    """Return how many autocorrelations in a row must be small, K_n."""
    return max(5, math.ceil(math.sqrt(math.log10(n))))


def _bandwidth(correlations: FloatArray, n: int, last: int) -> int:
    """Return M: twice the lag after which a run of autocorrelations is small, at most `last`."""
    small = np.abs(correlations[1 : last + 1]) < _SIGNIFICANT * math.sqrt(math.log10(n) / n)
    run = _run(n)
    starts = [m for m in range(len(small)) if small[m : m + run].all() and m + run <= len(small)]
    m = starts[0] if starts else (0 if small.all() else int(np.flatnonzero(~small)[-1]) + 1)
    return max(1, min(2 * max(m, 1), last))
