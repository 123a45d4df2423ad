"""Support: which audited rows, and which shuffled ones, lie where the model had no training rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Result
from ...core.model.sampling import Sampling, share_interval
from ...core.model.subject import Subject
from ...core.statistics.inference import shuffled_pairs, standard_error
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.errors import InputError, check_options
from ...evidence import ids
from ...evidence.rows import OUTSIDE, SHUFFLED
from ..shared.checks import at_least
from ..shared.estimates import diagnostic, estimate, share_of
from .columns import Paired, new_values, paired, shifts
from .space import Space, SupportLimit, limit

Record = dict[str, Any]
MEASURE = "share_outside"
SHUFFLE_ROWS = 1000


@dataclass(frozen=True)
class Support(BuiltInExplainer):
    """Share of rows outside the training support, as they are and after each feature is shuffled.

    The training rows are halved at random. A row is outside if it lies farther from its k-th nearest row
    of the first half than all but a share of 5 % of the second half do; so 5 % of rows drawn as
    the training rows are would be outside, exactly, whatever their distribution. Numbers count by
    Mahalanobis distance, a level that differs as two unrelated numbers do. ``outside`` is tested against
    that share (exact, one-sided: the count is beta-binomial). ``shuffled`` says how far a
    permutation of one feature leaves the support: there, its permutation importance extrapolates.
    ``support.values`` counts values and levels that no training row has.

    Parameters
    ----------
    expected : float
        Share of rows outside by construction.
    n_neighbors : int
        k, of the k-th nearest row.
    n_repeats : int
        Shuffles of each feature, 3 at least, of 1000 rows at most.
    max_train, max_rows : int
        Training rows and audited rows used at most, drawn at random.

    References
    ----------
    Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world, chapter 4.
    Bates et al. (2023), doi:10.1214/22-AOS2244.
    """

    expected: float = 0.05
    n_neighbors: int = 5
    n_repeats: int = 3
    max_train: int = 2000
    max_rows: int = 10_000

    name: ClassVar[str] = "support"
    section: ClassVar[str] = "robustness.support"
    priority: ClassVar[int] = 4
    card: ClassVar[MethodCard] = MethodCard(
        title="Extrapolation and support",
        definition="A row lies outside the support if it is farther from its k-th nearest training row than all but a "
        "small share of other training rows, held back for this, are; and the same after each feature is "
        "shuffled.",
        assumes="The distance (Mahalanobis for numbers, levels by equality) is a fair one for this model.",
        fails="A row can be far off in one feature that does not matter, or lie in a hole that the distance does not "
        "see. With many features all rows are far from each other.",
        interval="Of shares: over new test rows, given the limit. The test against training rows also covers their "
        "draw.",
        references="vovk:conformal p-values",
    )

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        limits = (
            *at_least(self, n_neighbors=1, n_repeats=3, max_rows=10),
            ("expected", 0 < self.expected <= 0.5, "a number in (0, 0.5]"),
            ("max_train", self.max_train >= self.least, f"an integer >= {self.least}, for this share and neighbours"),
        )
        check_options(self.name, self, limits)

    @property
    def least(self) -> int:
        """Training rows needed: each half must hold the neighbours and show the share."""
        share = max(self.expected, 1e-6)  # a share of 0 is refused before this number is used
        return 2 * max(int(np.ceil(1 / share)), self.n_neighbors)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``support``, ``support.rows``, ``support.values`` and ``support.shift``."""
        if subject.train is None:
            raise InputError("support.train must be given; got none. Pass train=(X_train, y_train) to `explain`.")
        if len(subject.train[0]) < self.least:
            raise InputError(
                f"support.train must have at least {self.least} rows; got {len(subject.train[0])}. Give more rows."
            )
        columns = paired(subject, subject.train[0])
        space, edge = self._frontier(columns, engine)
        rows = np.sort(_sample(subject.n, self.max_rows, engine.rng("rows")))
        distances = space.nearest(space.test.take(rows), self.n_neighbors)
        units = Sampling.of(subject).independent_rows(engine.rng("units"))
        outside = edge.outside(distances)
        line = share_of(outside, Sampling.of(subject, rows), engine.confidence)
        line |= {"item": OUTSIDE, "n": len(rows), "p_value": _p_value(outside[np.isin(rows, units)], edge)}
        records = [line, *self._shuffles(engine, space, edge, rows)]
        return [
            self._result(subject, space, edge, records),
            _rows_result(rows, edge.p_values(distances), edge.expected),
            new_values(columns, units, engine),
            shifts(columns, units, engine),
        ]

    def _frontier(self, columns: Sequence[Paired], engine: Engine) -> tuple[Space, SupportLimit]:
        """Return the space of the reference rows, and the limit of the others."""
        sample = _sample(len(columns[0].train), self.max_train, engine.rng("train"))
        half = len(sample) // 2
        space = Space(columns, np.sort(sample[:half]))
        return space, limit(space.nearest(space.train.take(np.sort(sample[half:])), self.n_neighbors), self.expected)

    def _shuffles(self, engine: Engine, space: Space, edge: SupportLimit, rows: IntArray) -> Iterator[Record]:
        """Yield the share of rows outside after each feature, or block of features, is shuffled."""
        subject = engine.subject
        chosen = rows[np.sort(_sample(len(rows), SHUFFLE_ROWS, engine.rng("shuffled rows")))]
        sampling, n = Sampling.of(subject, chosen), len(chosen)
        placed = space.test.take(chosen)
        for target in subject.targets:
            streams = (engine.rng("shuffle", target, repeat) for repeat in range(self.n_repeats))
            donors = np.stack([rng.permutation(n) for rng in streams])
            moved = (space.shuffled(placed, subject.members(target), donor) for donor in donors)
            outside = np.stack([edge.outside(space.nearest(each, self.n_neighbors)) for each in moved])
            terms = shuffled_pairs(outside[None], np.zeros((1, n)), donors, sampling.weights)
            share = float(np.clip(terms.repeats.mean(), 0.0, 1.0))
            error = float(standard_error(terms, sampling.weights, sampling.codes)[0])
            low, high = sampling.interval(share, error, engine.confidence)
            if not error > 0:
                low, high = share_interval(share, sampling.effective_n(share, 0.0), engine.confidence)
            line = estimate(share, error, (max(low, 0.0), min(high, 1.0)), engine.confidence, feature=target)
            yield line | {"item": SHUFFLED, "n": n}

    def _result(self, subject: Subject, space: Space, edge: SupportLimit, records: Sequence[Record]) -> Diagnostic:
        sampling, expected, n = Sampling.of(subject), edge.expected, records[0]["n"]
        return diagnostic(
            ids.SUPPORT,
            "Rows outside the training support",
            [line | {"measure": MEASURE, "expected": expected} for line in records],
            ("item", "n", "p_value", "expected"),
            x="expected",
            options=asdict(self),
            notes=(
                (
                    f"Outside: farther from the {self.n_neighbors} nearest of {space.n_reference} training rows "
                    f"than all but {100 * expected:.3g} % of {len(edge.scores)} others are."
                ),
                *((f"{n} of {subject.n} audited rows, drawn at random, were used.",) if n < subject.n else ()),
                f"Shuffled: {self.n_repeats} shuffles of {min(n, SHUFFLE_ROWS)} rows.",
                "Intervals hold for this limit; the p-value also covers the draw of the training rows.",
                *(("The p-value uses one row of each cluster.",) if sampling.codes is not None else ()),
                *(("The p-value does not use the weights.",) if np.ptp(sampling.weights) > 0 else ()),
                *sampling.notes(),
            ),
            meta={
                "expected": expected,
                "n_neighbors": self.n_neighbors,
                "n_reference": space.n_reference,
                "n_calibration": len(edge.scores),
                "n_rows": n,
                "n_train": len(space.train.numbers),
                "units": sampling.units,
            },
        )


def _p_value(outside: FloatArray, edge: SupportLimit) -> float:
    """Return the exact one-sided p-value of the number of independent rows outside, also over training rows."""
    from scipy import stats  # here: heavy, and a list of plugins tests nothing

    n, others = len(outside), len(edge.scores)
    return float(stats.betabinom.sf(outside.sum() - 1, n, edge.rank, others + 1 - edge.rank)) if n else np.nan


def _sample(n: int, most: int, rng: np.random.Generator) -> IntArray:
    """Return at most `most` of n positions, in random order."""
    return np.asarray(rng.permutation(n)[:most], dtype=np.int64)


def _rows_result(rows: IntArray, p_values: FloatArray, expected: float) -> Diagnostic:
    """Return the result ``support.rows``."""
    columns = {"measure": "p_value", "feature": "", "item": "row", "x": rows.astype(float), "value": p_values}
    return Diagnostic(
        id=ids.SUPPORT_ROWS,
        explainer=ids.SUPPORT,
        title="How unusual each row is among the training rows",
        frame=pd.DataFrame(columns),
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        notes=(
            (
                f"x is the row, value the share of held-out training rows at least as far off; outside at "
                f"{expected:.3g} or less."
            ),
        ),
        meta={"expected": expected},
    )
