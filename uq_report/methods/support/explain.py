"""Support: which audited rows, and which shuffled ones, lie where the model had no training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from ...core.arrays import FloatArray, IntArray
from ...core.engine import Engine
from ...core.errors import InputError, check_options
from ...core.explainer import Card, Prior
from ...core.inference import shuffled_pairs, standard_error
from ...core.results import ESTIMATE_COLUMNS, Diagnostic, Result
from ...core.sampling import Sampling, share_interval
from ...core.subject import Subject
from ..shared.reliability import share_of
from .columns import Paired, paired
from .shift import shifts
from .space import Limit, Placed, Space, limit, shuffled_outside
from .values import new_values

COLUMNS = (*ESTIMATE_COLUMNS, "item", "n", "p_value", "expected")
MEASURE = "share_outside"
SHUFFLE_ROWS = 1000


class Frontier(NamedTuple):
    """The space of the reference rows, the limit of the held-out ones, and how many rows each are."""

    space: Space
    limit: Limit
    n_reference: int
    n_train: int


@dataclass(frozen=True)
class Support:
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
    card: ClassVar[Card] = Card(
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
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        rules = (
            ("expected", 0 < self.expected <= 0.5, "a number in (0, 0.5]"),
            ("n_neighbors", self.n_neighbors >= 1, "an integer >= 1"),
            ("n_repeats", self.n_repeats >= 3, "an integer >= 3"),
            ("max_train", self.max_train >= self.least, f"an integer >= {self.least}, for this share and neighbours"),
            ("max_rows", self.max_rows >= 10, "an integer >= 10"),
        )
        check_options(self.name, self, rules)

    @property
    def least(self) -> int:
        """Training rows needed: each half must hold the neighbours and show the share."""
        share = max(self.expected, 1e-6)  # a share of 0 is refused before this number is looked at
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
        found = self._frontier(columns, engine)
        rows = np.sort(_drawn(subject.n, self.max_rows, engine.rng("rows")))
        p_values = found.limit.p_values(found.space.nearest(found.space.test.take(rows), self.n_neighbors))
        outside = (p_values <= found.limit.expected + 1e-12).astype(float)
        units = Sampling.of(subject).one_row_per_unit(engine.rng("units"))
        table = [self._share(outside, np.isin(rows, units), Sampling.of(subject, rows), (found, engine))]
        table += self._shuffles(subject, engine, found, rows)
        estimates = pd.DataFrame(table, columns=list(COLUMNS))
        return [
            self._result(subject, found, estimates, rows),
            _rows_result(rows, p_values, found.limit.expected),
            new_values(columns, units, engine),
            shifts(columns, units, engine),
        ]

    def _frontier(self, columns: Sequence[Paired], engine: Engine) -> Frontier:
        n = len(columns[0].train)
        drawn = _drawn(n, self.max_train, engine.rng("train"))
        reference, held = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
        space = Space(columns, np.sort(reference))
        scores = space.nearest(space.train.take(np.sort(held)), self.n_neighbors)
        return Frontier(space, limit(scores, self.expected), len(reference), n)

    def _share(self, outside: FloatArray, used: Any, sampling: Sampling, by: tuple[Frontier, Engine]) -> dict[str, Any]:
        """Return the share of audited rows outside, tested on one row of each unit."""
        found, engine = by
        count, n, held = int(outside[used].sum()), int(used.sum()), len(found.limit.scores)
        rank = found.limit.rank
        p_value = float(stats.betabinom.sf(count - 1, n, rank, held + 1 - rank)) if n else np.nan
        row = share_of(outside, sampling, engine.confidence)
        return row | {
            "measure": MEASURE,
            "item": "outside",
            "n": len(outside),
            "p_value": p_value,
            "expected": found.limit.expected,
        }

    def _shuffles(self, subject: Subject, engine: Engine, found: Frontier, rows: IntArray) -> list[dict[str, Any]]:
        """Return the share of rows outside after each feature, or group, is shuffled."""
        chosen = rows[np.sort(_drawn(len(rows), SHUFFLE_ROWS, engine.rng("shuffled rows")))]
        sampling, placed = Sampling.of(subject, chosen), found.space.test.take(chosen)
        return [
            self._shuffled(target, subject.members(target), placed, sampling, (found, engine))
            for target in subject.targets
        ]

    def _shuffled(
        self,
        target: str,
        members: Sequence[str],
        placed: Placed,
        sampling: Sampling,
        by: tuple[Frontier, Engine],
    ) -> dict[str, Any]:
        found, engine = by
        n = len(placed.numbers)
        donors = np.stack([engine.rng("shuffle", target, repeat).permutation(n) for repeat in range(self.n_repeats)])
        outside = shuffled_outside(found.space, placed, members, donors, (found.limit, self.n_neighbors))
        terms = shuffled_pairs(outside[None], np.zeros((1, n)), donors, sampling.weights)
        share = float(np.clip(terms.repeats.mean(), 0.0, 1.0))
        error = float(standard_error(terms, sampling.weights, sampling.codes)[0])
        low, high = sampling.interval(share, error, engine.confidence)
        if not error > 0:
            low, high = share_interval(share, sampling.effective_n(share, 0.0), engine.confidence)
        return {
            "measure": MEASURE,
            "feature": target,
            "estimate": share,
            "std_error": error,
            "lower": max(low, 0.0),
            "upper": min(high, 1.0),
            "confidence": engine.confidence,
            "covers": "new test rows",
            "item": "shuffled",
            "n": n,
            "p_value": np.nan,
            "expected": found.limit.expected,
        }

    def _result(self, subject: Subject, found: Frontier, estimates: pd.DataFrame, rows: IntArray) -> Diagnostic:
        sampling = Sampling.of(subject)
        held = len(found.limit.scores)
        n = len(rows)
        return Diagnostic(
            id="support",
            explainer=self.name,
            title="Rows outside the training support",
            frame=estimates.rename(columns={"expected": "x", "estimate": "value"})[list(Diagnostic.columns)],
            estimates=estimates,
            options=asdict(self),
            notes=(
                (
                    f"Outside: farther from the {self.n_neighbors} nearest of {found.n_reference} training rows than "
                    f"all but {100 * found.limit.expected:.3g} % of {held} others are."
                ),
                *((f"{n} of {subject.n} audited rows, drawn at random, were used.",) if n < subject.n else ()),
                f"Shuffled: {self.n_repeats} shuffles of {min(n, SHUFFLE_ROWS)} rows.",
                "Intervals hold for this limit; the p-value also covers the draw of the training rows.",
                *(("The p-value uses one row of each cluster.",) if sampling.codes is not None else ()),
                *(("The p-value does not use the weights.",) if np.ptp(sampling.weights) > 0 else ()),
                *sampling.notes(),
            ),
            meta={
                "expected": found.limit.expected,
                "n_neighbors": self.n_neighbors,
                "n_reference": found.n_reference,
                "n_calibration": held,
                "n_rows": n,
                "n_train": found.n_train,
                "units": sampling.units,
            },
        )


def _drawn(n: int, most: int, rng: np.random.Generator) -> IntArray:
    """Return at most `most` of n positions, in random order."""
    return np.asarray(rng.permutation(n)[:most], dtype=np.int64)


def _rows_result(rows: IntArray, p_values: FloatArray, expected: float) -> Diagnostic:
    """Return the result ``support.rows``."""
    frame = pd.DataFrame(
        {"measure": "p_value", "feature": "", "item": "row", "x": rows.astype(float), "value": p_values}
    )
    return Diagnostic(
        id="support.rows",
        explainer="support",
        title="How unusual each row is among the training rows",
        frame=frame,
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        notes=(
            (
                f"x is the row, value the share of held-out training rows at least as far off; outside at "
                f"{expected:.3g} or less."
            ),
        ),
        meta={"expected": expected},
    )
