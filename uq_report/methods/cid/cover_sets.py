"""Sets of features shuffled together: each predicted once, whichever features it serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core.arrays import FloatArray, IntArray
from ...core.engine import Engine
from ...core.subject import Subject
from ...core.variants import Variant
from ..shared.terms import Rows, Terms, as_means, feature_terms

Features = frozenset[str]


class CoverTerms(NamedTuple):
    """One feature's importance alone, with its partners, with them less without it, and what that changes."""

    plain: Terms
    joint: Terms
    corrected: Terms
    change: Terms


class _Sets(NamedTuple):
    """What one feature needs shuffled: itself, its partners, and both together."""

    alone: Features
    partners: Features
    together: Features


@dataclass(frozen=True)
class Shuffles:
    """The same shuffles (`donors`, shape (m, n)) of every set of features, so that sets can be subtracted row by row.

    Parameters
    ----------
    subject : Subject
    engine : Engine
    rows : Rows
    donors : ndarray of int
        A set's values come from one donor row together.
    """

    subject: Subject
    engine: Engine
    rows: Rows
    donors: IntArray

    def terms(self, partners: Mapping[str, Sequence[str]]) -> Iterator[CoverTerms]:
        """Yield the terms of each feature; a set's values are let go with the last feature that needs them."""
        wanted = [_sets(feature, others) for feature, others in partners.items()]
        last = {one: k for k, sets in enumerate(wanted) for one in sets}
        scored = self._scored([one for one in last if one])
        kept = {Features(): self._unchanged}
        for k, sets in enumerate(wanted):
            while not kept.keys() >= set(sets):
                kept.update([next(scored)])
            yield self._feature(*(kept[one] for one in sets))
            for one in {one for one in sets if one and last[one] == k}:
                del kept[one]

    def _feature(self, alone: FloatArray, partners: FloatArray, together: FloatArray) -> CoverTerms:
        with np.errstate(invalid="ignore"):  # infinite values of both sets; they are counted and left out
            corrected = together if partners is self._unchanged else self._unchanged + (together - partners)
            change = corrected - (alone - self._unchanged)
        return CoverTerms(*(feature_terms(T, self.donors, self._means) for T in (alone, together, corrected, change)))

    @cached_property
    def _means(self) -> Rows:
        """The rows with measures that are means: a statistic's values are replaced by value and influence."""
        measures = [replace(measure, statistic=None) for measure in self.rows.measures]
        return replace(self.rows, measures=measures, b=self._unchanged[:, 0])

    @cached_property
    def _unchanged(self) -> FloatArray:
        """The measures of the rows as they are, shape (M, 1, n)."""
        return as_means(self.rows.b[:, None], self.rows.b, self.donors[:1], self.rows)[1][:, None]

    def _scored(self, sets: Sequence[Features]) -> Iterator[tuple[Features, FloatArray]]:
        """Yield each set with all measures of its shuffled rows, shape (M, m, n), from one stream of variants."""
        m, n = self.donors.shape
        variants = (Variant(self._columns(one), donors=donors) for one in sets for donors in self.donors)
        order, held, filled = iter(sets), np.empty((len(self.rows.b), m, n)), 0
        for group in self.engine.evaluate(variants, self.rows.measures, total=m * len(sets)):
            for v in range(group.values.shape[1]):
                held[:, filled] = group.values[:, v]
                filled += 1
                if filled == m:
                    yield next(order), as_means(held, self.rows.b, self.donors, self.rows)[0].copy()
                    filled = 0

    def _columns(self, features: Features) -> tuple[int, ...]:
        return tuple(sorted(column for feature in features for column in self.subject.positions(feature)))


def _sets(feature: str, partners: Sequence[str]) -> _Sets:
    alone, others = frozenset([feature]), frozenset(partners)
    return _Sets(alone, others, alone | others)
