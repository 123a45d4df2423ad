"""A group against the rest, and a group's outcomes against the model's own distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import special

from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.statistics.inference import as_extreme
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from ..shared.choice import blocks

EXACT_UNITS = 500
CELLS = 2_000_000


class GroupDifference(NamedTuple):
    """Mean of a group less that of the rest, its standard error and degrees of freedom; `centre` is of its interval."""

    estimate: float
    std_error: float
    dof: float
    centre: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the t-interval, about `centre`."""
        reach = float(special.stdtrit(self.dof, 0.5 + confidence / 2)) * self.std_error
        return self.centre - reach, self.centre + reach

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the t-test of no difference."""
        return t_test(self.centre, self.std_error, self.dof)


def t_test(estimate: float, std_error: float, dof: float) -> float:
    """Return the two-sided p-value of a t-test of 0; 1 where the estimate is 0 and nothing varies."""
    if not std_error > 0:
        return 1.0 if estimate == 0 else 0.0
    return float(2 * special.stdtr(dof, -abs(estimate) / std_error))


def difference(
    values: FloatArray, group: BoolArray, rest: BoolArray, sampling: Sampling, share: bool
) -> GroupDifference:
    """Return the difference of two means (Welch 1947); clusters with rows in both parts count as such.

    Shares of 0 and 1 take Agresti & Caffo's (2000) interval, one hit and one miss added to each part, as a
    part without a hit has no spread.

    Examples
    --------
    >>> values, group = np.array([1.0, 3.0, 0.0, 2.0]), np.array([True, True, False, False])
    >>> difference(values, group, ~group, Sampling(np.full(4, 0.25), 4), False)[:3]
    (1.0, 1.4142135623730951, 2.0)
    """
    parts = [sampling.part(rows) for rows in (group, rest)]
    means, errors = np.array([part.mean(values[rows]) for part, rows in zip(parts, (group, rest), strict=True)]).T
    estimate = float(means[0] - means[1])
    if share:
        sizes = np.array([_effective(*numbers) for numbers in zip(parts, means, errors, strict=True)])
        moved = (means * sizes + 1) / (sizes + 2)
        variances = moved * (1 - moved) / (sizes + 2)
        dof = _welch(variances, sizes + 1)
        return GroupDifference(estimate, float(np.sqrt(variances.sum())), dof, float(moved[0] - moved[1]))
    dof = _welch(np.square(errors), np.array([part.units - 1 for part in parts]))
    pieces = row_pieces(values, group, rest, sampling)
    return GroupDifference(estimate, error_of(pieces, group | rest, sampling), dof, estimate)


def row_pieces(values: FloatArray, group: BoolArray, rest: BoolArray, sampling: Sampling) -> FloatArray:
    """Return what each row adds to the sampling error of a difference of two means, shape (n,); 0 for other rows."""
    pieces = np.zeros(len(values))
    for sign, rows in ((1, group), (-1, rest)):
        part = sampling.part(rows)
        factor = np.sqrt(part.units / (part.units - 1)) if part.units > 1 else np.nan
        pieces[rows] = sign * factor * part.weights * (values[rows] - part.weights @ values[rows])
    return pieces


def error_of(pieces: FloatArray, rows: BoolArray, sampling: Sampling) -> float:
    """Return the standard error from what each row adds, rows of a cluster together."""
    sums = pieces[rows] if sampling.codes is None else np.bincount(sampling.codes[rows], pieces[rows])
    return float(np.sqrt(np.square(sums).sum()))


def _effective(part: Sampling, mean: float, error: float) -> float:
    return part.effective_n(float(np.clip(mean, 0.0, 1.0)), float(error))


def _welch(variances: FloatArray, dofs: AnyArray) -> float:
    total, varies = variances.sum(), variances > 0
    if not total > 0:
        return float(dofs.min())
    return float(total**2 / (variances[varies] ** 2 / dofs[varies]).sum())


def shuffled_p_values(
    values: Mapping[str, tuple[FloatArray, bool]], group: BoolArray, rng: np.random.Generator, draws: int
) -> dict[str, float]:
    """Return two-sided p-values of "the group is a random part of these rows", from random parts of its size.

    `values` maps a measure to its rows and whether they are shares. The statistic is Welch's t (Janssen
    1997), which also holds where only the means are equal; of shares, the difference. Exact up to the number of draws.
    """
    rows, shares = zip(*values.values(), strict=True)
    table = np.array(rows)
    table = table - table.mean(axis=1, keepdims=True)
    size, n = int(group.sum()), len(group)
    sums = [_sums(table, np.flatnonzero(group)[None])]
    sums += [_sums(table, _parts(n, size, rng, some)) for some in blocks(draws, size * len(table), CELLS)]
    squares = np.square(table).sum(axis=1)
    statistics = _statistics(np.concatenate(sums, axis=1), squares, np.array(shares), (size, n - size))
    above = (statistics[1:] >= statistics[0] * (1 - 1e-9)).sum(axis=0)
    return {name: float((1 + count) / (draws + 1)) for name, count in zip(values, above, strict=True)}


def _parts(n: int, size: int, rng: np.random.Generator, count: int) -> IntArray:
    """Return random parts of n rows, shape (count, size)."""
    parts = np.empty((count, size), dtype=np.int64)
    for part in parts:
        check_limits()
        part[:] = rng.choice(n, size, replace=False, shuffle=False)
    return parts


def _sums(table: FloatArray, rows: IntArray) -> FloatArray:
    """Return sums and sums of squares over sets of rows, shape (2, sets, measures)."""
    parts = table[:, rows]
    return np.array([parts.sum(axis=2).T, np.square(parts).sum(axis=2).T])


def _statistics(sums: FloatArray, squares: FloatArray, share: BoolArray, sizes: tuple[int, int]) -> FloatArray:
    """Return |t| or, of shares, |difference|, shape (draws, measures), of centred values."""
    means = sums[0] / sizes[0], -sums[0] / sizes[1]  # both parts of a centred row sum to 0
    spreads = [
        np.maximum(total - n * mean**2, 0.0) / (n * max(n - 1, 1))
        for total, mean, n in zip((sums[1], squares - sums[1]), means, sizes, strict=True)
    ]
    apart = np.abs(means[0] - means[1])
    error = np.sqrt(spreads[0] + spreads[1])
    t = np.divide(apart, error, out=np.where(apart > 0, np.inf, 0.0), where=error > 0)
    return np.asarray(np.where(share, apart, t))


def gap_p_values(
    q: Distribution, y: AnyArray, groups: list[BoolArray], weights: FloatArray, rng: np.random.Generator, draws: int
) -> list[float]:
    """Return for each group the two-sided Monte-Carlo p-value of its confidence gap, if y follows q.

    Outcomes are drawn from q; as the entropy does not depend on them, nll - entropy of the drawn ones is
    exchangeable with that of the observed ones.
    """
    member = np.column_stack(groups) * weights[:, None]
    entropy = q.entropy()
    observed = (-q.log_prob(y) - entropy) @ member
    null = []
    for some in blocks(draws, len(y), CELLS):
        null += [(-q.log_prob(sample) - entropy) @ member for sample in q.sample(rng, some)]
    table = np.array(null)
    fewer = np.minimum(*as_extreme(table, observed))
    return [float(value) for value in np.minimum(1.0, 2 * (1 + fewer) / (draws + 1))]
