"""How dalex is called: through the engine, in its own random stream, and in silence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any

import joblib
import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, FloatArray, IntArray
from ...core.engine import Engine
from ...core.errors import InputError, MissingDependencyError, UQReportError
from ...core.foreign import from_frame, global_random_state_kept, numeric_target, to_frame
from ...core.measures import Measure
from ...core.results import ESTIMATE_COLUMNS, Omission
from ...core.subject import Subject

PREDICTION = "prediction"  # the one measure that dalex compares with y

TEXT_COLUMNS = frozenset({"measure", "feature", "feature_2", "level", "level_2", "item"})

Predict = Callable[[Any, Any], FloatArray]


class Measured:
    """All measures of the tables dalex asks for; a table it asks for again is not predicted again.

    dalex explains one number at a time. With one seed for all measures it shuffles alike for each,
    so that the measures share their prediction passes.
    """

    def __init__(self, subject: Subject, engine: Engine, measures: Sequence[Measure]) -> None:
        self._subject = subject
        self._engine = engine
        self._measures = tuple(measures)
        self._known: dict[tuple[str, float | None], FloatArray] = {}

    def predict_function(self, measure: Measure, y: Any = None) -> Predict:
        """Return dalex's ``predict_function`` of one measure; `y` is one encoded value, else found by the row index."""
        at = self._measures.index(measure)

        def predict(model: Any, X: Any) -> FloatArray:  # noqa: ARG001 - dalex's signature
            if not isinstance(X, pd.DataFrame):
                raise InputError(f"dalex.predict_function must get a DataFrame; got {type(X).__name__}. Pass a frame.")
            rows: FloatArray = self._rows(X, y)[at]
            return rows

        return predict

    def _rows(self, X: pd.DataFrame, y: Any) -> FloatArray:
        key = (str(joblib.hash(X)), y)
        if key not in self._known:
            table = from_frame(self._subject, X)
            self._known[key] = self._engine.measure_rows(table, self._measures, self._target(X, y))
        return self._known[key]

    def _target(self, X: pd.DataFrame, y: Any) -> AnyArray | None:
        known = self._engine.y
        if known is None:
            return None
        return known[X.index.to_numpy()] if y is None else np.full(len(X), y)


@contextmanager
def contained(seed: int) -> Iterator[None]:
    """Seed numpy's global stream for dalex and give the caller's back; print nothing, hide dalex's own warnings.

    0/0 and inf - inf are no warnings here either: what is not finite becomes an omission.
    """
    quiet = redirect_stdout(StringIO()), warnings.catch_warnings(), np.errstate(all="ignore")
    with global_random_state_kept(), quiet[0], quiet[1], quiet[2]:
        warnings.filterwarnings("ignore", module=r"dalex(\.|$)")
        warnings.filterwarnings("ignore", "The behavior of Series.argsort", FutureWarning)  # where nll is infinite
        np.random.seed(seed)  # noqa: NPY002 - dalex draws from the global stream
        yield


class Dalex:
    """dalex bound to a subject: its explainers of each measure, its calls contained, its failures listed.

    Raises
    ------
    MissingDependencyError
        If dalex is not installed.
    """

    def __init__(
        self,
        subject: Subject,
        engine: Engine,
        measures: Sequence[Measure],
        omitted: Sequence[Omission] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        try:
            import dalex
        except ImportError as error:
            raise MissingDependencyError("explainer dalex", "dalex", "dalex") from error
        self._dalex = dalex
        self._measured = Measured(subject, engine, measures)
        self.subject = subject
        self.engine = engine
        self.measures = tuple(measures)
        self.classifies = "proba" in engine.baseline.supports
        self._omitted = tuple(omitted)
        self._options = dict(options or {})

    def explainer(self, measure: Measure, rows: IntArray, y: Any = None) -> Any:
        """Return a `dalex.Explainer` of one measure on some rows; `y` is one encoded value for all of them.

        Where there is no y, dalex gets zeros, which a mean over rows never reads.
        """
        target = numeric_target(self.engine)
        classes = measure.name == PREDICTION and self.classifies
        return self._dalex.Explainer(
            self._measured,
            to_frame(self.subject, rows),
            np.zeros(len(rows)) if target is None else target[rows],
            self._measured.predict_function(measure, y),
            label=measure.name,
            verbose=False,
            precalculate=False,
            model_type="classification" if classes else "regression",
        )

    def ask(self, part: str, measure: Measure, call: Callable[[], Any]) -> Any:
        """Return dalex's answer, or an `Omission` with the reason where dalex itself fails.

        The stream belongs to the part, not to the measure, so that all measures see the same shuffles.
        """
        seed = int(self.engine.rng(part).integers(2**31))
        try:
            with contained(seed):
                return call()
        except UQReportError:
            raise
        except Exception as error:  # noqa: BLE001 - dalex is foreign code; what fails is listed and the rest delivered
            return Omission(
                measure.name, "", f"DALEX's {part.replace('_', ' ')} failed: {str(error) or type(error).__name__}"
            )

    def told(self, part: str, title: str, gaps: Sequence[Omission]) -> dict[str, Any]:
        """Return the fields that dalex's results have in common."""
        return {
            "id": f"dalex.{part}",
            "explainer": "dalex",
            "title": title,
            "options": self._options,
            "omissions": (*self._omitted, *gaps),
        }

    def notes(self, rows: IntArray) -> tuple[str, ...]:
        """Say which rows dalex had, and what it does not read."""
        n = self.subject.n
        found = [f"dalex had {len(rows)} of {n} rows, drawn once." if len(rows) < n else f"dalex had all {n} rows."]
        ignored = [
            name
            for name, given in (("sample weights", self.subject.weights), ("clusters", self.subject.clusters))
            if given is not None
        ]
        if ignored:
            found.append(f"dalex reads no {' and no '.join(ignored)}: these numbers count every row once.")
        return tuple(found)


def stacked(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Return frames below one another with exactly these columns, which keep their kind where there is no row."""
    if not frames:
        return pd.DataFrame({name: pd.Series(dtype=object if name in TEXT_COLUMNS else float) for name in columns})
    return pd.concat(frames, ignore_index=True)[list(columns)]


def bare_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return estimates without an interval, for dalex gives none over new rows; further columns stay behind."""
    empty = dict.fromkeys(("std_error", "lower", "upper", "confidence"), np.nan)
    full = table.assign(**empty, covers="none")
    return full[[*ESTIMATE_COLUMNS, *(name for name in table.columns if name not in ESTIMATE_COLUMNS)]]
