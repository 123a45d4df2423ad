"""The draw of a random model's members in the error of an importance: the delete-one jackknife, without a prediction.

Where every prediction is K calls of a random model, read as members of a mixture, an interval over rows holds for these
K draws only. Each measure is evaluated on the mixture without each member too, on the same predictions, and of these
only means over the rows are needed: their spread is the variance over new draws of K members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import PARTS, Measure
from ...core.predictive import Distribution
from ...core.statistics.inference import member_variance
from ...core.support.arrays import AnyArray, FloatArray
from ...core.traits.stochastic import Members
from .terms import ImportanceTerms

SHARE = 0.25  # of the variance of the rows that the draw of the members may have
_LEFT: WeakKeyDictionary[Distribution, tuple[Distribution, ...]] = WeakKeyDictionary()  # what its measures share


def covers(rows: str, n_members: int) -> str:
    """Return what an interval covers, with the draw of the members where there are any.

    Examples
    --------
    >>> covers("new test samples", 0), covers("new test samples", 20)
    ('new test samples', 'new test samples and new draws of 20 members')
    """
    return f"{rows} and new draws of {n_members} members" if n_members else rows


def unbiased(names: Sequence[str], means: FloatArray, n_members: int) -> FloatArray:
    """Return the mean levels of measures, of uncertainties those of infinitely many members to first order.

    Of K members the epistemic part I is too small by I/K, and so is the whole: ``H + I/(K-1)`` and ``I K/(K-1)`` in
    their place, of which the aleatoric part is still the difference. Without drawn members nothing is biased.

    Examples
    --------
    >>> names = ("entropy", "aleatoric", "epistemic")
    >>> unbiased(names, np.array([0.683079, 0.565540, 0.117540]), 3).round(6)
    array([0.741849, 0.56554 , 0.17631 ])
    """
    levels = means.copy()
    for whole, _, part in PARTS:
        if n_members and part in names:
            excess = means[names.index(part)] / (n_members - 1)
            for name in {whole, part} & set(names):
                levels[names.index(name)] += excess
    return levels


def n_drawn(engine: Engine) -> int:
    """Return how many members are drawn for each prediction; 0 where none are, or their mixtures cannot do without one.

    The members of an ensemble that was fitted once are no draws: they are the model.
    """
    adapter = engine.subject.adapter
    return adapter.n_members if isinstance(adapter, Members) and "leave_one_out" in engine.baseline.supports else 0


def _without(dist: Distribution, k: int) -> Distribution:
    if dist not in _LEFT:
        _LEFT[dist] = dist.leave_one_out()
    return _LEFT[dist][k]


def _rows(measure: Measure, k: int, dist: Distribution, y: AnyArray | None, base: Distribution | None) -> FloatArray:
    return measure.rows(_without(dist, k), y, None if base is None else _without(base, k))


@dataclass(frozen=True)
class DrawnMembers:
    """The measures of mixtures without each of `n_members`, member after member, and their values unchanged, `base`.

    `at` are the positions of the measures that are means over rows among all measures.
    """

    measures: tuple[Measure, ...]
    base: FloatArray
    at: tuple[int, ...]
    n_members: int
    weights: FloatArray

    @classmethod
    def of(cls, engine: Engine, measures: Sequence[Measure], weights: FloatArray) -> DrawnMembers:
        """Return the measures to evaluate beside others; none where no members are drawn."""
        members = n_drawn(engine)
        at = tuple(m for m, measure in enumerate(measures) if measure.statistic is None)
        left = tuple(
            replace(
                measures[m],
                name=f"{measures[m].name} without member {k}",
                rows=partial(_rows, measures[m], k),
                role="prediction",
                requires=frozenset({"leave_one_out"}),
            )
            for k in range(members)
            for m in at
        )
        base = engine.unchanged(left) if left else np.zeros((0, len(weights)))
        return cls(left, base, at, members, weights / weights.sum())

    def widened(self, terms: ImportanceTerms, means: FloatArray) -> ImportanceTerms:
        """Return the terms with the variance that the draw of the members adds to each mean change.

        `means` end with those of the `measures`, over the changes of each row. NaN where one is infinite.
        """
        if not self.measures:
            return terms
        variances = np.zeros(len(terms.se))
        with np.errstate(invalid="ignore"):
            left = (means[-len(self.measures) :] - self.base) @ self.weights
            variances[list(self.at)] = member_variance(left.reshape(self.n_members, len(self.at)))
        return terms.over_draws(variances, self.n_members)
