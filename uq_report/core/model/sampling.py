"""Means over test rows and the standard errors that cover new test samples, with weights and clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse, special

from ..statistics.inference import member_variance, n_units, pooled_error
from ..statistics.time_blocks import Blocks
from ..support.arrays import AnyArray, FloatArray, IntArray
from .subject import Subject

FEW_CLUSTERS = 20
_ROUNDING = 1e-12  # of a share: what summing weights leaves


@dataclass(frozen=True)
class Sampling:
    """How rows enter a mean: `weights` of shape (n,) summing to one, and the `units` that are independent.

    Units are clusters where they are given, blocks of rows in order of time, else rows; rows of weight zero are no
    units. `codes` is None where every row is a unit of its own. `blocks` are the blocks of all rows, where there are.
    `drawn` is the variance that the draw of a random model's members adds to a mean, `dof` the degrees of freedom then.
    """

    weights: FloatArray
    units: int
    codes: IntArray | None = None
    blocks: Blocks | None = None
    drawn: float = 0.0
    dof: float | None = None

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a mean's standard error."""
        return self.units - 1 if self.dof is None else self.dof

    @property
    def unit_codes(self) -> IntArray:
        """The independent unit of each row."""
        return np.arange(len(self.weights)) if self.codes is None else self.codes

    def over_draws(self, values: FloatArray, left_out: FloatArray) -> Sampling:
        """Return the sampling of the mean of `values` over new draws of K members too.

        `left_out`, shape (K,), are the means without each member.
        """
        drawn = member_variance(left_out)
        errors = self.mean(values)[1], np.sqrt(drawn)
        freedom = pooled_error(errors, (self.units - 1, len(left_out) - 1))[1]
        return replace(self, drawn=float(drawn), dof=float(freedom))

    @classmethod
    def of(cls, subject: Subject, rows: AnyArray | None = None) -> Sampling:
        """Return the sampling of a subject's rows, or of those at positions `rows`."""
        raw = np.ones(subject.n) if subject.weights is None else subject.weights
        whole = cls(raw, subject.n, subject.clusters, subject.blocks)
        return whole.part(np.arange(subject.n) if rows is None else rows)

    def part(self, rows: AnyArray) -> Sampling:
        """Return the sampling of some of the rows, given by position or as a mask."""
        raw = self.weights[rows]
        codes = None if self.codes is None else self.codes[rows]
        return Sampling(raw / (raw.sum() or 1.0), n_units(raw, codes), codes, self.blocks)

    def independent_rows(self, rng: np.random.Generator) -> IntArray:
        """Return the rows in random order cut to one per unit, sorted, so that they are independent."""
        rows = rng.permutation(np.flatnonzero(self.weights > 0))
        if self.codes is None:
            return np.sort(rows)
        return np.sort(rows[np.unique(self.codes[rows], return_index=True)[1]])

    def mean(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means of `values`, shape (..., n), and their standard errors, both of shape (...).

        ``se² = C/(C-1) Σ_c (Σ_{i in c} w_i (v_i - v̄))²`` over the C units, with weights summing to
        one; for equal weights and no clusters sd/√n. NaN with fewer than two units.

        Examples
        --------
        >>> rows = Sampling(np.full(4, 0.25), units=4)
        >>> rows.mean(np.array([1.0, 2.0, 3.0, 4.0]))[0]
        np.float64(2.5)
        """
        with np.errstate(invalid="ignore"):
            mean = values @ self.weights
            parts = (values - mean[..., None]) * self.weights
        if self.codes is not None:
            n = len(self.weights)
            member = sparse.csr_array((np.ones(n), (np.arange(n), self.codes)))  # (n, C): which cluster a row is in
            parts = np.asarray(parts.reshape(-1, n) @ member).reshape(*mean.shape, member.shape[1])
        if self.units < 2:
            return mean, np.full_like(mean, np.nan)
        with np.errstate(invalid="ignore"):
            return mean, np.sqrt(self.units / (self.units - 1) * np.square(parts).sum(axis=-1) + self.drawn)

    def interval(self, mean: Any, std_error: Any, confidence: float) -> tuple[Any, Any]:
        """Return the t-interval; without draws of members it has units - 1 degrees of freedom."""
        reach = t_quantile(0.5 + confidence / 2, self.freedom) * std_error
        return mean - reach, mean + reach

    def effective_n(self, share: float, std_error: float) -> float:
        """Return the number of independent draws that would give a share this standard error.

        n for n equal, independent rows (Korn & Graubard 1998); Kish's (Σw)²/Σw², and no more than
        the units, where the share is 0 or 1 (but for rounding, which has an error of its own).
        """
        if std_error > 0 and _ROUNDING < share < 1 - _ROUNDING:
            return share * (1 - share) / std_error**2 * self.units / (self.units - 1)
        return min(float(self.units), float(1 / np.square(self.weights).sum()))

    def notes(self) -> tuple[str, ...]:
        """Say what a reader must know about the rows."""
        notes = []
        if np.ptp(self.weights) > 0:
            notes.append("Means and standard errors use the sample weights.")
        if self.codes is not None:
            kind = "clusters" if self.blocks is None else "blocks"
            few = f"; with fewer than {FEW_CLUSTERS} {kind} intervals are rough" if self.units < FEW_CLUSTERS else ""
            what = kind if self.blocks is None else self.blocks.words
            notes.append(f"Standard errors are over {self.units} {what}, not single observations{few}.")
        return tuple(notes)


def t_quantile(level: float, dof: float) -> float:
    """Return a quantile of Student's t; NaN without degrees of freedom."""
    return float(special.stdtrit(dof, level)) if dof > 0 else float("nan")


def share_interval(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share of `n` draws; `n` need not be whole.

    Examples
    --------
    >>> low, high = share_interval(0.5, 10, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.1871, 0.8129)
    """
    tail, hits = (1 - confidence) / 2, share * n
    misses = n - hits
    lower = 0.0 if hits <= 0 else float(special.betaincinv(hits, misses + 1, tail))
    upper = 1.0 if misses <= 0 else float(special.betaincinv(hits + 1, misses, 1 - tail))
    return lower, upper
