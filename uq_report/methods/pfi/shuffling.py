"""The prediction pass of permutation importance: which rows each set of features takes values from, and the changes.

A set of G distinct values among the n rows has n G pairs of a row and a value, and they are all n² pairs of rows: with
no more predictions than the shuffles would take, the mean over all n! of them is known instead of estimated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import FloatArray, IntArray
from ...core.engine import Engine
from ...core.measures import Measure
from ...core.variants import Variant
from ..shared.changes import Changes, Distinct
from ..shared.shuffles import shuffle, shuffle_within


@dataclass(frozen=True)
class Shuffling:
    """Shuffles sets of features and evaluates `measures`, of which `base` (measures, n) are the values unchanged.

    The first `n_full` measures are returned shuffle by shuffle or value by value, of the others the mean. `exact` says
    whether all pairs of rows are evaluated; by default of the sets with at most `n_repeats` + 1 distinct values, for
    which this takes no more predictions than the shuffles. `within` shuffles rows within their clusters.
    """

    engine: Engine
    measures: Sequence[Measure]
    base: FloatArray
    n_full: int
    n_repeats: int
    exact: bool | None = None
    within: bool = False

    def changes(self, features: Sequence[str]) -> Iterator[tuple[Changes, FloatArray]]:
        """Yield the changes, and the means of the further measures (., n), feature by feature.

        All features are one stream of variants, so that the engine can fill its calls; the arrays are used again.
        """
        every = {feature: self._distinct(feature) for feature in features}
        queue: deque[IntArray] = deque()  # the engine asks for variants ahead of the values it yields
        total = sum(self.n_repeats if own is None else len(own.first) - 1 for own in every.values())
        groups = self.engine.evaluate(self._variants(every, queue), self.measures, total=total)
        stream = (group.values[:, v] for group in groups for v in range(group.values.shape[1]))
        buffer = np.empty(0)
        for feature, own in every.items():
            size = self.n_full * self.base.shape[1] * (self.n_repeats if own is None else len(own.first))
            buffer = buffer if len(buffer) >= size else np.empty(size)
            T = buffer[:size].reshape(self.n_full, -1, self.base.shape[1])
            yield (
                self._shuffled(stream, queue, T) if own is None else self._paired(stream, own, self.donors(feature), T)
            )

    def donors(self, feature: str) -> IntArray:
        """Return the shuffles of a feature, shape (m, n), from a stream for each repeat."""
        subject, streams = self.engine.subject, (self.engine.rng(feature, r) for r in range(self.n_repeats))
        if self.within and subject.clusters is not None:
            return np.stack([shuffle_within(subject.clusters, rng) for rng in streams])
        return np.stack([shuffle(subject, rng) for rng in streams])

    def _distinct(self, feature: str) -> Distinct | None:
        """Return the distinct values of a feature where each row takes all of them, else None.

        Rows shuffled within clusters take the values of their own cluster only: another mean than that of all pairs.
        """
        if self.within or self.exact is False:
            return None
        subject = self.engine.subject
        own = Distinct.of(subject.X, subject.positions(feature))
        return own if self.exact or len(own.first) <= self.n_repeats + 1 else None

    def _variants(self, every: Mapping[str, Distinct | None], queue: deque[IntArray]) -> Iterator[Variant]:
        for feature, own in every.items():
            if own is None:
                queue.append(self.donors(feature))
            sources = queue[-1] if own is None else (own.donors(step) for step in range(1, len(own.first)))
            yield from (Variant(self.engine.subject.positions(feature), donors=source) for source in sources)

    def _shuffled(
        self, stream: Iterator[FloatArray], queue: deque[IntArray], T: FloatArray
    ) -> tuple[Changes, FloatArray]:
        """Return what the shuffles change, by the next values of the stream."""
        means = np.zeros_like(self.base[self.n_full :])
        for r in range(self.n_repeats):
            values = next(stream)
            T[:, r] = values[: self.n_full]
            means += values[self.n_full :] / self.n_repeats
        return Changes(T, queue.popleft()), means

    def _paired(
        self, stream: Iterator[FloatArray], own: Distinct, donors: IntArray, T: FloatArray
    ) -> tuple[Changes, FloatArray]:
        """Return what every distinct value changes; a row's own changes nothing and is not predicted again."""
        share, rows = np.bincount(own.codes) / len(own.codes), np.arange(len(own.codes))
        means = np.zeros_like(self.base[self.n_full :])
        for step in range(len(own.first)):
            values, codes = next(stream) if step else self.base, own.after(step)
            T[:, codes, rows] = values[: self.n_full]
            means += values[self.n_full :] * share[codes]
        return Changes(T, donors, own.codes), means
