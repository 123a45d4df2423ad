"""How dalex is called: through the engine, in its own random stream, and in silence."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import joblib
import numpy as np
import pandas as pd

from ...core.arrays import FloatArray, IntArray
from ...core.engine import Engine
from ...core.errors import MissingDependencyError, UQReportError
from ...core.foreign import from_frame, global_random_state_restored, numeric_target, to_frame
from ...core.measures import PREDICTION, Measure
from ...core.results import ESTIMATE_COLUMNS, Omission
from ...core.subject import Subject
from ...evidence import ids


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
    so that the measures share their prediction passes: a table it asks for again is not predicted again.

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
    _measured: dict[tuple[bytes, float | None], FloatArray] = field(default_factory=dict)

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

    def _explainer(self, measure: Measure, rows: IntArray, y: Any) -> Any:
        """Return a `dalex.Explainer` of one measure on some rows; `y` is one encoded value for all of them.

        Where there is no y, dalex gets zeros, which a mean over rows never reads.
        """
        import dalex

        target = numeric_target(self.engine)
        classes = measure.name == PREDICTION.name and self.classifies
        return dalex.Explainer(
            self,
            to_frame(self.subject, rows),
            np.zeros(len(rows)) if target is None else target[rows],
            self._predict_function(measure, y),
            label=measure.name,
            verbose=False,
            precalculate=False,
            model_type="classification" if classes else "regression",
        )

    def _predict_function(self, measure: Measure, y: Any) -> Callable[[Any, Any], FloatArray]:
        """Return dalex's ``predict_function`` of one measure; `y` is one encoded value, else found by the row index."""
        at, encoded = self.measures.index(measure), self.engine.y

        def predict(model: Any, X: pd.DataFrame) -> FloatArray:  # noqa: ARG001 - dalex's signature
            key = (digest(X), y)
            if key not in self._measured:
                own = None if encoded is None else encoded[X.index.to_numpy()] if y is None else np.full(len(X), y)
                self._measured[key] = self.engine.measure_rows(from_frame(self.subject, X), self.measures, own)
            return np.asarray(self._measured[key][at])

        return predict

    def ask(self, part: str, measure: Measure, rows: IntArray, y: Any = None, **options: Any) -> Any:
        """Return the answer of a method of dalex's explainer; where dalex itself fails, that is a gap.

        The stream belongs to the part, not to the measure, so that all measures see the same shuffles.
        """
        seed = int(self.engine.rng(part).integers(2**31))
        try:
            with contained(seed):
                return getattr(self._explainer(measure, rows, y), part)(**options)
        except UQReportError:
            raise
        except Exception as error:
            reason = f"DALEX's {part.replace('_', ' ')} failed: {str(error) or type(error).__name__}"
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


def digest(frame: pd.DataFrame) -> bytes:
    """Return a hash of a frame's index, columns and values, at the cost of reading them.

    Examples
    --------
    >>> digest(pd.DataFrame({"a": [1, 2]})) == digest(pd.DataFrame({"a": [1, 3]}))
    False
    """
    parts = hashlib.blake2b(str(list(frame.columns)).encode(), digest_size=16)
    for values in (frame.index.array, *(column.array for _, column in frame.items())):
        for part in _parts(values):
            parts.update(part)
    return parts.digest()


def _parts(values: Any) -> Iterator[bytes]:
    """Yield what tells a column from another: its type, and its bytes where those are its values."""
    yield str(values.dtype).encode()
    if isinstance(values, pd.Categorical):
        yield values.codes.tobytes()
        values = values.categories.array
    plain = values.to_numpy()
    if plain.dtype != object:
        yield plain.tobytes()
    elif pd.api.types.infer_dtype(plain, skipna=True) in ("string", "empty"):
        codes, texts = pd.factorize(plain)
        yield codes.tobytes()
        yield repr((texts.tolist(), [type(value) for value in plain[codes < 0]])).encode()
    else:
        yield str(joblib.hash(plain)).encode()


def bare_estimates(frame: pd.DataFrame, *further: str) -> pd.DataFrame:
    """Return a frame's values as estimates without an interval, for dalex gives none over new rows."""
    empty = dict.fromkeys(("std_error", "lower", "upper", "confidence"), np.nan)
    full = frame.rename(columns={"value": "estimate"}).assign(**empty, covers="none")
    return full[[*ESTIMATE_COLUMNS, *further]]
