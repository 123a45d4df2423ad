"""A segment against the rest of the rows: means, their difference, and what one feature changes of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from ...core.arrays import BoolArray, FloatArray
from ...core.sampling import Sampling, t_quantile


class Contrast(NamedTuple):
    """The mean of a segment, and that mean less the mean of the rest, each with its standard error.

    `freedom` is one less than the fewer units of segment and rest: cautious where their spreads differ.
    """

    mean: float
    mean_std_error: float
    difference: float
    std_error: float
    units: int
    freedom: int

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the t-test of no difference."""
        if not self.std_error > 0:
            return 1.0 if self.difference == 0 else 0.0
        return float(2 * special.stdtr(self.freedom, -abs(self.difference) / self.std_error))

    def intervals(self, confidence: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the t-intervals of the mean and of the difference."""
        own, both = (t_quantile(0.5 + confidence / 2, dof) for dof in (self.units - 1, self.freedom))
        means = (self.mean - own * self.mean_std_error, self.mean + own * self.mean_std_error)
        return means, (self.difference - both * self.std_error, self.difference + both * self.std_error)


def contrast(values: FloatArray, segment: BoolArray, rest: BoolArray, sampling: Sampling) -> Contrast:
    """Return a segment's mean against that of the rest; clusters with rows in both parts count as such.

    Examples
    --------
    >>> values, segment = np.array([1.0, 3.0, 0.0, 2.0]), np.array([True, True, False, False])
    >>> contrast(values, segment, ~segment, Sampling(np.full(4, 0.25), 4))[:4]
    (2.0, 1.0, 1.0, 1.4142135623730951)
    """
    parts = [sampling.part(rows) for rows in (segment, rest)]
    means = [part.mean(values[rows]) for part, rows in zip(parts, (segment, rest), strict=True)]
    pieces = np.zeros(len(values))
    for sign, rows, part, (centre, _) in zip((1, -1), (segment, rest), parts, means, strict=True):
        factor = np.sqrt(part.units / (part.units - 1)) if part.units > 1 else np.nan
        pieces[rows] = sign * factor * part.weights * (values[rows] - centre)
    both = segment | rest
    sums = pieces[both] if sampling.codes is None else np.bincount(sampling.codes[both], pieces[both])
    error = float(np.sqrt(np.square(sums).sum()))
    units = [part.units for part in parts]
    mean, mean_error = (float(number) for number in means[0])
    return Contrast(mean, mean_error, mean - float(means[1][0]), error, units[0], min(units) - 1)
