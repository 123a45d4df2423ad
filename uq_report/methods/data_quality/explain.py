"""Data quality: what is missing, copied, empty or disguised in the audited rows, counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.results import Omission, Result
from ...core.model.subject import Subject
from ...core.support.arrays import column
from ...core.support.errors import check_options
from ...core.support.limits import check_limits
from ...core.support.text import short
from ...evidence.rows import CLASS, DUPLICATE_ROWS, MISSING_TRAIN, OVERLAP, OVERLAP_OTHER_Y, TYPE_CHANGE
from ..shared.estimates import diagnostic
from .facts import Fact, column_facts, copied, placeholder, row_facts

ALWAYS = (DUPLICATE_ROWS, OVERLAP, CLASS)
OF_TRAINING_ROWS = (OVERLAP, OVERLAP_OTHER_Y, MISSING_TRAIN, TYPE_CHANGE)


@dataclass(frozen=True)
class DataQuality(BuiltInExplainer):
    """Counts facts about the audited rows, and about the training rows where they are given.

    Missing values; columns that are constant, copies of an earlier one, or almost one value (*sparse*);
    rows that occur twice, and rows that occur among the training rows, with the same or another y; numbers
    that stand for a missing value; types that differ between training and audited rows; how often each
    class occurs. Counts are of rows as they are: no weights, no sampling error.

    Parameters
    ----------
    sparse : float
        Share of one value from which a column is sparse.
    """

    sparse: float = 0.95

    name: ClassVar[str] = "data_quality"
    section: ClassVar[str] = "data.quality"
    priority: ClassVar[int] = 1
    card: ClassVar[MethodCard] = MethodCard(
        title="Data quality",
        definition="Counts of missing, constant, copied and sparse columns, duplicate rows, rows that occur in "
        "training, and numbers that may stand for missing values.",
        assumes="Rows with equal values are copies, unless chance explains them.",
        fails="Wrong values that look ordinary are not found, nor are near copies.",
        interval="There are none: these are counts.",
        references="gebru",
    )

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        check_options(self.name, self, (("sparse", 0.5 < self.sparse < 1, "a number in (0.5, 1)"),))

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``data_quality``."""
        facts = [*self._columns(subject), *row_facts(subject), *_classes(subject, engine)]
        listed = [fact for fact in facts if fact.rows > 0 or fact.measure in ALWAYS]
        clustered = subject.clusters is not None
        return [
            diagnostic(
                self.name,
                "Facts about the data",
                map(_line, listed),
                ("item", "count", "n"),
                x="count",
                options=asdict(self),
                notes=(
                    "x counts rows, value is their share; only what occurs is listed.",
                    (
                        "A placeholder is 0, −1, ±9, ±99 ... at an end of a column, in 3 rows or more and "
                        "less than half, 5 of the steps between the next 10 values apart or more. It may mean missing."
                    ),
                    "A copied row is distinctive if chance gives fewer than 0.01 rows with its finely graded values.",
                    *(("Copies of a row within a cluster are not counted.",) if clustered else ()),
                ),
                omissions=_omissions(subject),
                meta={
                    "n": subject.n,
                    "n_train": None if subject.train is None else len(subject.train[0]),
                    "has_train": subject.train is not None,
                    "columns_checked": len(subject.features),
                },
            )
        ]

    def _columns(self, subject: Subject) -> Iterator[Fact]:
        own = []
        for position, name in enumerate(subject.features):
            check_limits()
            values = pd.Series(column(subject.X, position))
            train = None if subject.train is None else pd.Series(column(subject.train[0], position))
            own.append((name, values))
            yield from column_facts(name, values, train, self.sparse)
            same = train is None or pd.api.types.is_numeric_dtype(train.dtype)
            if subject.kinds[name] == "numeric":
                yield from placeholder(name, values, train if same else None)
        yield from copied(own)


def _classes(subject: Subject, engine: Engine) -> Iterator[Fact]:
    """Yield how often each class occurs in y."""
    if engine.y is None or "proba" not in engine.baseline.supports:
        return
    labels = list(np.asarray(getattr(engine.baseline, "classes", ())).tolist())
    counts = np.bincount(np.asarray(engine.y, dtype=np.int64), minlength=len(labels))
    for label, count in zip(labels, counts, strict=True):
        yield Fact(CLASS, "", short(label), int(count), subject.n)


def _omissions(subject: Subject) -> tuple[Omission, ...]:
    reasons = {}
    if subject.train is None:
        reasons = dict.fromkeys(OF_TRAINING_ROWS, "no training rows were given")
    elif subject.train[1] is None or subject.y is None:
        reasons = {OVERLAP_OTHER_Y: "outcomes were not given for both training and audited rows"}
    if subject.y is None:
        reasons |= {CLASS: "it needs outcomes, which were not given"}
    return tuple(Omission(name, "", reason) for name, reason in reasons.items())


def _line(fact: Fact) -> dict[str, Any]:
    line = {"measure": fact.measure, "feature": fact.feature, "estimate": fact.rows / fact.of, "covers": "none"}
    return line | {"item": fact.item, "count": fact.rows, "n": fact.of}
