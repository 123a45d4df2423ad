"""How dalex is called: through the engine, in its own random stream, and in silence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import PREDICTION, Measure
from ...core.model.results import Omission
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import MissingDependencyError, UQReportError, words_of
from ...core.traits.interop import global_random_state_restored
from ...evidence import ids
from ..shared.grids import FeatureGrid


class Cells:
    """Makes the tables that dalex gets, and reads what it asks for.

    Parameters
    ----------
    subject : Subject
    features : tuple of str
        The features that dalex gets, in the order of the subject's. Beside them a table may have one column for all
        `others` together.

    Examples
    --------
    >>> from uq_report import testing
    >>> subject = testing.linear_subject(3)
    >>> cells = Cells(subject, subject.features[:2])
    >>> table = cells.table([0, 2], others=False)
    >>> table.to_numpy().tolist()
    [[0, 0], [2, 2]]
    >>> table.iloc[:, 1] = [2, 0]
    >>> cells.change(table)
    Variant(columns=(1,), values=(), donors=array([2, 0]))
    """

    def __init__(self, subject: Subject, features: tuple[str, ...]) -> None:
        self._n, self._names, self._features = subject.n, subject.features, features
        own = [(subject.features.index(name),) for name in features]
        rest = tuple(c for c in range(len(subject.features)) if (c,) not in own)
        self.groups: list[tuple[int, ...]] = [*own, *([rest] if rest else [])]

    @property
    def player(self) -> IntArray:
        """Return the group of each of the subject's columns: one for each feature, and one for all others."""
        return np.array([next(g for g, at in enumerate(self.groups) if c in at) for c in range(len(self._names))])

    @property
    def others(self) -> str:
        """What the other features are called, as one of them; empty where there are none."""
        rest = len(self._names) - len(self._features)
        name = f"{rest} other features" if rest else ""
        while name in self._names:
            name += "'"
        return name

    def table(self, rows: IntArray | list[int], *, others: bool) -> pd.DataFrame:
        """Return rows of the subject as dalex gets them, with the column of all other features or without it."""
        names = [*self._features, *([self.others] if others and self.others else [])]
        return pd.DataFrame(np.repeat(np.asarray(rows)[:, None], len(names), axis=1), rows, names)

    def change(self, table: pd.DataFrame) -> Variant:
        """Return the change of the rows of the index: of one column, from the rows that its cells name."""
        cells = table.to_numpy()
        moved = np.flatnonzero((cells != table.index.to_numpy()[:, None]).any(axis=0))
        return Variant(self.groups[moved[0]], donors=cells[:, moved[0]]) if len(moved) else Variant()

    def points(self, grids: Sequence[FeatureGrid]) -> dict[str, IntArray]:
        """Return numbers of no row for the points of each grid, in order."""
        return {grid.feature: self._n + np.arange(len(grid.x)) for grid in grids}

    def curve(
        self, table: pd.DataFrame, rows: IntArray, own: FloatArray, curves: Mapping[str, FloatArray]
    ) -> FloatArray:
        """Return what a table of `rows`, or each of them many times, asks for.

        Parameters
        ----------
        table : DataFrame
        rows : ndarray of int, shape (n,)
            In order.
        own : ndarray, shape (n,)
            The values of these rows as they are.
        curves : mapping of ndarray, shape (points, n)
            Their values at the points that `points` numbers, by feature.
        """
        at = np.searchsorted(rows, table.index.to_numpy())
        for name, values in curves.items():
            point = table[name].to_numpy().astype(int) - self._n
            if (point >= 0).all():
                return values[point, at]
        return own[at]


Predict: TypeAlias = Callable[[Any, pd.DataFrame], AnyArray]


class GapError(Exception):
    """Something that dalex cannot give here; it becomes an omission."""

    def __init__(self, measure: str, feature: str, reason: str) -> None:
        super().__init__(reason)
        self.omission = Omission(measure, feature, reason)


@contextmanager
def listing(gaps: list[Omission]) -> Iterator[None]:
    """Put what is not there into `gaps`, and go on."""
    try:
        yield
    except GapError as gap:
        gaps.append(gap.omission)


@contextmanager
def contained(seed: int) -> Iterator[None]:
    """Seed numpy's global stream for dalex and give the caller's back; print nothing, hide dalex's own warnings.

    0/0 and inf - inf are no warnings here either: what is not finite becomes an omission.
    """
    quiet = redirect_stdout(StringIO()), warnings.catch_warnings(), np.errstate(all="ignore")
    with global_random_state_restored(), quiet[0], quiet[1], quiet[2]:
        warnings.filterwarnings("ignore", module=r"dalex(\.|$)")
        warnings.filterwarnings("ignore", "The behavior of Series.argsort", FutureWarning)  # where nll is infinite
        np.random.seed(seed)  # noqa: NPY002 - dalex draws from the global stream
        yield


@dataclass(frozen=True, eq=False)
class Dalex:
    """dalex bound to a subject: its explainers, its calls contained, its failures listed.

    dalex explains one number at a time. It gets the columns `features` of tables of row numbers, so that what it asks
    for is read as changes of the subject's rows, which the engine predicts for all measures at once.

    `tables` is about how many tables dalex will shuffle: by them an audit with a limit of time judges whether the rest
    fits.

    Raises
    ------
    MissingDependencyError
        If dalex is not installed.
    """

    subject: Subject
    engine: Engine
    measures: tuple[Measure, ...]
    omitted: tuple[Omission, ...]
    options: Mapping[str, Any]
    features: tuple[str, ...]
    tables: int = 0
    _tables_so_far: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        """Refuse to go on without dalex."""
        try:
            import dalex  # noqa: F401 - optional
        except ImportError as error:
            raise MissingDependencyError("explainer dalex", ids.DALEX, ids.DALEX) from error

    @property
    def classifies(self) -> bool:
        """Whether the target is a class."""
        return "proba" in self.engine.baseline.supports

    @cached_property
    def cells(self) -> Cells:
        """The tables that dalex gets."""
        return Cells(self.subject, self.features)

    @cached_property
    def own(self) -> FloatArray:
        """All measures of the subject's rows as they are, shape (measures, n)."""
        return self.engine.unchanged(self.measures)

    def check(self) -> None:
        """Stop where a limit is reached, or the tables that dalex has yet to shuffle do not fit it."""
        self.engine.check(next(self._tables_so_far), self.tables)

    def values(self, variants: Sequence[Variant], rows: IntArray) -> FloatArray:
        """Return all measures of changes of rows, shape (measures, variants, rows)."""
        groups = self.engine.evaluate(variants, self.measures, rows, len(variants))
        return np.concatenate([group.values for group in groups], axis=1)

    def ask(
        self, part: str, label: str, data: pd.DataFrame, y: AnyArray | None, predict: Predict, **options: Any
    ) -> Any:
        """Return the answer of a method of dalex's explainer; where dalex itself fails, that is a gap.

        The stream belongs to the part, not to the measure, so that all measures see the same shuffles. Where there is
        no y, dalex gets zeros, which a mean over rows never reads. It gets y last, as it looks for it in the columns.
        """
        import dalex

        seed = int(self.engine.rng(part).integers(2**31))
        classes = self.classifies and label == PREDICTION.name
        how = {"label": label, "model_type": "classification" if classes else "regression"}
        try:
            with contained(seed):
                explainer = dalex.Explainer(self, data, None, predict, verbose=False, precalculate=False, **how)
                explainer.y = np.zeros(len(data)) if y is None else y
                return getattr(explainer, part)(**options)
        except UQReportError:
            raise
        except Exception as error:
            raise GapError(label, "", f"DALEX's {part.replace('_', ' ')} failed: {words_of(error)}") from error

    def fields(self, part: str, title: str, gaps: Sequence[Omission]) -> dict[str, Any]:
        """Return the fields that dalex's results have in common."""
        names = {"id": f"{ids.DALEX}.{part}", "explainer": ids.DALEX, "title": title}
        return names | {"options": dict(self.options), "omissions": (*self.omitted, *gaps)}

    def notes(self, rows: IntArray) -> tuple[str, ...]:
        """Say on which observations dalex was computed, and what it does not use."""
        n, columns = self.subject.n, {"sample weights": self.subject.weights, "clusters": self.subject.clusters}
        some = f"{len(rows)} of {n} observations, drawn once" if len(rows) < n else f"all {n} observations"
        used = f"Computed on {some}."
        unread = [name for name, values in columns.items() if values is not None]
        ignored = f"dalex does not use {' or '.join(unread)}: every observation counts once."
        return (used, ignored) if unread else (used,)
