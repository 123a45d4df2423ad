"""How dalex is called: through the engine, in its own random stream, and in silence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray, IntArray
from ...core.engine import Engine
from ...core.errors import MissingDependencyError, UQReportError, words_of
from ...core.foreign import global_random_state_restored, numeric_target
from ...core.measures import PREDICTION, Measure
from ...core.results import ESTIMATE_COLUMNS, Omission
from ...core.subject import Subject
from ...evidence import ids
from .asked import Asked, Key, Reader


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
    """dalex bound to a subject: its explainers of each measure, its calls contained, its failures listed.

    dalex explains one number at a time. With one seed for all measures it shuffles alike for each,
    so that the measures share their prediction passes: a table it asks for again is not predicted again. Tables are
    given to the engine as changes of the subject's rows, of which dalex gets the columns `features`.

    `tables` is about how many tables dalex will ask for: by them an audit with a limit of time judges whether the rest
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
    _measured: dict[Key, FloatArray] = field(default_factory=dict)
    _foreseen: dict[str, list[Key]] = field(default_factory=dict)
    _reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        """Refuse to go on without dalex."""
        try:
            import dalex  # noqa: F401 - optional
        except ImportError as error:
            raise MissingDependencyError("explainer dalex", ids.DALEX, ids.DALEX) from error
        object.__setattr__(self, "_reader", Reader(self.subject, self.features))

    @property
    def classifies(self) -> bool:
        """Whether the target is a class."""
        return "proba" in self.engine.baseline.supports

    @property
    def others(self) -> str:
        """What all features together are called that dalex does not get; empty where there are none."""
        return self._reader.others

    def frame(self, rows: Any) -> pd.DataFrame:
        """Return rows of the subject as dalex gets them to explain."""
        return self._reader.frame(rows, others=True)

    def _explainer(self, measure: Measure, data: pd.DataFrame, predict: Callable[[Any, Any], FloatArray]) -> Any:
        """Return a `dalex.Explainer` of one measure on some rows.

        Where there is no y, dalex gets zeros, which a mean over rows never reads. It gets y last: it would look for y
        among the columns, cell by cell, and stop at `pd.NA`.
        """
        import dalex

        target = numeric_target(self.engine)
        classes = measure.name == PREDICTION.name and self.classifies
        explainer = dalex.Explainer(
            self,
            data,
            None,
            predict,
            label=measure.name,
            verbose=False,
            precalculate=False,
            model_type="classification" if classes else "regression",
        )
        explainer.y = np.zeros(len(data)) if target is None else target[data.index.to_numpy()]
        return explainer

    def _predict_function(self, measure: Measure, row: int | None) -> Callable[[Any, Any], FloatArray]:
        """Return dalex's ``predict_function`` of one measure, with y of one row of the subject, else by row index."""
        at = self.measures.index(measure)

        def predict(model: Any, X: pd.DataFrame) -> FloatArray:  # noqa: ARG001 - dalex's signature
            self._check()
            asked = self._reader.read(X, row)
            if asked.key not in self._measured:
                self._measured[asked.key] = self._values(asked, X)
            return np.asarray(self._measured[asked.key][at])

        return predict

    def _foreseen_function(self, measure: Measure, part: str) -> Callable[[Any, Any], FloatArray]:
        """Return the ``predict_function`` that knows tables by the order in which they were asked for."""
        at, keys = self.measures.index(measure), iter(self._foreseen[part])

        def predict(model: Any, X: pd.DataFrame) -> FloatArray:  # noqa: ARG001 - dalex's signature
            _ = X.index  # dalex also tries an array, and takes the error
            self._check()
            return np.asarray(self._measured[next(keys)][at])

        return predict

    def _check(self) -> None:
        """Stop where a limit is reached, or the tables that dalex has yet to ask for do not fit it."""
        self.engine.check(next(self._tables_so_far), self.tables)

    def _values(self, asked: Asked, X: pd.DataFrame) -> FloatArray:
        """Return all measures of a table, shape (measures, rows)."""
        if asked.variant is not None:
            (group,) = self.engine.evaluate([asked.variant], self.measures, asked.rows)
            return group.values[:, 0]
        own = None if self.engine.y is None else self.engine.y[asked.rows]
        return self.engine.measure_rows(self._reader.table(X, asked), self.measures, own)

    def foresee(self, part: str, measure: Measure, rows: IntArray, **options: Any) -> None:
        """Predict once, in few large calls, what a part will ask for; its tables must not depend on the answers.

        dalex shuffles rows whatever stands in them, so with one seed it asks for the same tables of every measure, in
        the same order: none is read again, and it gets zeros to shuffle.
        """
        if part in self._foreseen:
            return
        order: list[Asked] = []

        def note(model: Any, X: pd.DataFrame) -> FloatArray:  # noqa: ARG001 - dalex's signature
            self._check()
            order.append(self._reader.read(X))
            return np.zeros(len(X))

        self._ask(part, measure, self._reader.frame(rows, others=False), note, **options)
        asked = {table.key: table for table in order if table.variant and np.array_equal(table.rows, rows)}
        keys = sorted(asked, key=lambda key: asked[key].columns)
        variants = (variant for key in keys if (variant := asked[key].variant) is not None)
        groups = self.engine.evaluate(variants, self.measures, rows, len(keys))
        values = (each for group in groups for each in group.values.swapaxes(0, 1))
        self._measured.update(zip(keys, values, strict=True))
        self._foreseen[part] = [table.key for table in order] if all(x.key in asked for x in order) else []

    def ask(self, part: str, measure: Measure, rows: IntArray, row: int | None = None, **options: Any) -> Any:
        """Return the answer of a method of dalex's explainer; where dalex itself fails, that is a gap.

        The stream belongs to the part, not to the measure, so that all measures see the same shuffles. With `row`,
        dalex gets all features beyond `features` as one.
        """
        if self._foreseen.get(part):
            zeros = np.zeros((len(rows), len(self.features)), dtype=np.int8)
            data, predict = pd.DataFrame(zeros, rows, self.features), self._foreseen_function(measure, part)
        else:
            data = self._reader.frame(rows, others=row is not None)
            predict = self._predict_function(measure, row)
        return self._ask(part, measure, data, predict, **options)

    def _ask(
        self, part: str, measure: Measure, data: pd.DataFrame, predict: Callable[[Any, Any], FloatArray], **options: Any
    ) -> Any:
        """Return dalex's answer from the predictions that it is given."""
        seed = int(self.engine.rng(part).integers(2**31))
        try:
            with contained(seed):
                return getattr(self._explainer(measure, data, predict), part)(**options)
        except UQReportError:
            raise
        except Exception as error:
            reason = f"DALEX's {part.replace('_', ' ')} failed: {words_of(error)}"
            raise GapError(measure.name, "", reason) from error

    def fields(self, part: str, title: str, gaps: Sequence[Omission]) -> dict[str, Any]:
        """Return the fields that dalex's results have in common."""
        return {
            "id": f"{ids.DALEX}.{part}",
            "explainer": ids.DALEX,
            "title": title,
            "options": dict(self.options),
            "omissions": (*self.omitted, *gaps),
        }

    def notes(self, rows: IntArray) -> tuple[str, ...]:
        """Say which rows dalex had, and what it does not read."""
        n, columns = self.subject.n, {"sample weights": self.subject.weights, "clusters": self.subject.clusters}
        used = f"dalex had {len(rows)} of {n} rows, drawn once." if len(rows) < n else f"dalex had all {n} rows."
        unread = [name for name, values in columns.items() if values is not None]
        ignored = f"dalex reads no {' and no '.join(unread)}: these numbers count every row once."
        return (used, ignored) if unread else (used,)


def bare_estimates(frame: pd.DataFrame, *further: str) -> pd.DataFrame:
    """Return a frame's values as estimates without an interval, for dalex gives none over new rows."""
    empty = dict.fromkeys(("std_error", "lower", "upper", "confidence"), np.nan)
    full = frame.rename(columns={"value": "estimate"}).assign(**empty, covers="none")
    return full[[*ESTIMATE_COLUMNS, *further]]
