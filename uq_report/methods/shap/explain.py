"""Shapley values of any measure, entropy above all, from one batched prediction pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from ...core.arrays import IntArray, Table, take_rows
from ...core.engine import Engine
from ...core.errors import InputError, check_options
from ...core.explainer import Card, Prior
from ...core.results import Result
from ...core.subject import Subject
from ..shared.choice import as_names, as_rows, chosen_rows, draw, positions, row_measures
from .results import Background, Explained
from .shapley import AntitheticPermutations, Enumeration, Pool, Solver, play

MIN_SAMPLE = 10


@dataclass(frozen=True)
class ShapleyValues:
    """Shapley values: each row's prediction, entropy or nll, split fairly among its features.

    The worth of a coalition S of features is the mean of the measure over background rows b that
    take the features in S from the explained row x, ``v(S) = mean_b measure(q(.|x_S, b_-S))``, with y
    fixed to that of x (marginal game: Lundberg & Lee 2017; of entropy: Watson et al. 2023). Then
    ``φ_j = Σ_S |S|!(d-|S|-1)!/d! [v(S+j) - v(S)]`` and ``measure(x) = v(none) + Σ_j φ_j`` exactly.
    Values have the unit of the measure (nats for entropy and nll).

    Up to `max_exact` features every coalition is evaluated; above, features join in random orders
    and in their reverses, which leaves a Monte-Carlo error. Cost for each explained row: at most
    ``2^d``, or ``n_permutations (d-1) + 2``, times `n_background` predicted rows, and fewer where
    rows share values.

    Parameters
    ----------
    measures : tuple of str
        What is explained, by the names of measures.
    rows : tuple of int, optional
        Rows to explain one by one; by default `n_local` each of the most uncertain, the most wrong
        and the typical ones.
    n_local : int
        Rows of each of these kinds.
    n_rows : int
        Rows sampled for the global importance, the mean of |φ|; 0 for none.
    max_evaluations : int
        Predicted rows to plan for: with many features fewer rows are sampled, but at least 10.
    n_background : int
        Background rows, from the training rows where given, else from the explained table.
    max_exact : int
        Features up to which all coalitions are evaluated.
    n_permutations : int
        Orders above that, reverses included: an even number from 4.

    References
    ----------
    Lundberg & Lee (2017). Watson et al. (2023), arXiv:2306.05724. Mitchell et al. (2022), JMLR 23(43).
    """

    measures: tuple[str, ...] = ("prediction", "entropy", "nll")
    rows: tuple[int, ...] | None = None
    n_local: int = 1
    n_rows: int = 50
    max_evaluations: int = 1_000_000
    n_background: int = 30
    max_exact: int = 10
    n_permutations: int = 20

    name: ClassVar[str] = "shap"
    section: ClassVar[str] = "prediction.shapley"
    card: ClassVar[Card] = Card(
        title="Shapley values (SHAP)",
        definition="A row's measure less its mean over background rows, split among the features by Shapley's formula; "
        "absent features take their values from background rows.",
        assumes="The background rows are the right comparison.",
        fails="Absent features are drawn apart from present ones, so composite rows may not occur.",
        interval="Of single rows: Monte Carlo only, none where exact. Of the mean size: over new test rows, given the "
        "background.",
        references="lundberg; watson",
    )
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        object.__setattr__(self, "measures", as_names(self.name, "measures", self.measures))
        object.__setattr__(self, "rows", as_rows(self.name, self.rows))
        orders = self.n_permutations
        rules = (
            ("n_local", self.n_local >= 0, "an integer >= 0"),
            ("n_rows", self.n_rows >= 0, "an integer >= 0"),
            ("max_evaluations", self.max_evaluations >= 1, "an integer >= 1"),
            ("n_background", self.n_background >= 1, "an integer >= 1"),
            ("max_exact", 0 <= self.max_exact <= 20, "an integer from 0 to 20"),
            ("n_permutations", orders >= 4 and orders % 2 == 0, "an even number >= 4"),
        )
        check_options(self.name, self, rules)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``shap``, the values of every explained row, and ``shap.importance``, the mean of their sizes."""
        measures, omitted = row_measures(self.name, engine, self.measures)
        roles = chosen_rows(self.name, self.rows, engine, self.n_local)
        local, background = positions(roles), _background(subject, engine, self.n_background)
        size = self._sample_size(len(subject.features), len(background.weights), len(local))
        sample = draw(engine.rng("rows"), subject.n, size, subject.weights)
        rows = np.array(sorted({*local, *sample.tolist()}), dtype=np.int64)
        if len(rows) == 0:
            raise InputError("shap.n_rows must be >= 1 where no rows are chosen; got 0. Name rows, or sample some.")
        pool = Pool.of(take_rows(subject.X, rows), background.rows)
        y = None if engine.y is None else engine.y[rows]
        shares = play(engine, measures, pool, self._solvers(subject, engine, rows), y, background.weights)
        explained = Explained(
            engine=engine,
            measures=measures,
            omitted=omitted,
            rows=rows,
            sample=sample,
            roles=roles,
            background=background,
            n_permutations=0 if len(subject.features) <= self.max_exact else self.n_permutations,
            options=asdict(self),
        )
        results: list[Result] = [explained.attribution(shares)]
        return [*results, explained.importance(shares)] if len(sample) else results

    def _sample_size(self, players: int, background: int, local: int) -> int:
        """Return how many rows to sample: those asked for, or those that the planned evaluations allow."""
        coalitions = 2**players if players <= self.max_exact else self.n_permutations * (players - 1) + 2
        return min(self.n_rows, max(MIN_SAMPLE, self.max_evaluations // (coalitions * background) - local))

    def _solvers(self, subject: Subject, engine: Engine, rows: IntArray) -> Iterator[Solver]:
        """Yield one solver for each row; orders belong to the row and the feature names."""
        players = len(subject.features)
        if players <= self.max_exact:
            every = Enumeration(players)
            yield from (every for _ in rows)
            return
        by_name = np.argsort(subject.features, kind="stable")
        for row in rows.tolist():
            start = np.tile(by_name, (self.n_permutations // 2, 1))
            yield AntitheticPermutations(engine.rng("orders", row).permuted(start, axis=1))


def _background(subject: Subject, engine: Engine, size: int) -> Background:
    """Return background rows of the training table, or of the explained one where the former cannot be used."""
    table, weights, source = subject.X, subject.weights, "explained rows"
    differing = [] if subject.train is None else _differing(subject, subject.train[0])
    if differing:
        source += f", because {', '.join(differing)} has another type in the training rows"
    elif subject.train is not None:
        table, weights, source = subject.train[0], None, "training rows"
    chosen = draw(engine.rng("background"), len(table), size, weights)
    own = np.ones(len(chosen)) if weights is None else weights[chosen]
    return Background(take_rows(table, chosen), own / own.sum(), source)


def _differing(subject: Subject, train: Table) -> list[str]:
    """Return the features whose column type in `train` is not that of X, so that mixing rows would cast values."""
    types = zip(subject.features, _column_types(subject.X), _column_types(train), strict=True)
    return [name for name, own, other in types if own != other]


def _column_types(table: Table) -> list[tuple[type, object]]:
    """Return the type of every column; a column of an array is no column of a frame."""
    dtypes = table.dtypes if isinstance(table, pd.DataFrame) else [table.dtype] * table.shape[1]
    return [(type(table), dtype) for dtype in dtypes]
