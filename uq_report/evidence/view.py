"""Typed readings of results: one frozen line per estimate, and the facts beside them.

A `View` names its result, the type of its lines and, as further fields, the facts it reads from the result's
``meta``. A renamed column or fact is then a type error in its readers, not an empty cell in a report.
Every class below `EstimateLine` and `View` is a frozen dataclass by itself, see `frozen`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin

import numpy as np
import pandas as pd

from ..core.model.results import Omission, Result
from ..core.support.errors import InputError
from .frozen import Frozen, hints_of, once
from .run import Run

L = TypeVar("L", bound="EstimateLine")
K = TypeVar("K")
V = TypeVar("V")
UNKNOWN = float("nan")


def _text(cell: Any) -> str:
    return "" if cell is None or cell != cell else str(cell)  # noqa: PLR0124 - NaN is itself not


def _float(cell: Any) -> float:
    return UNKNOWN if cell is None or cell == "" else float(cell)


_CONVERTERS: Mapping[Any, Callable[[Any], Any]] = {str: _text, float: _float, int: int, bool: bool}


class EstimateLine(Frozen):
    """One line of a result's estimates: the columns every result has.

    ``covers`` names which variance the interval is for; numbers that are not known are NaN, words the empty string.
    """

    measure: str
    feature: str
    estimate: float
    std_error: float
    lower: float
    upper: float
    confidence: float
    covers: str

    @property
    def has_interval(self) -> bool:
        """Whether the line has an interval."""
        return bool(np.isfinite(self.lower))


class View(Frozen, Generic[L]):
    """One result as its readers use it: ``class Screen(View[ScreenLine], id="screen")``.

    Parameters
    ----------
    result : Result
        For its raw frame, row values, notes and omissions.
    lines : tuple of Estimate
        The estimates, in the result's order.

    Examples
    --------
    >>> from uq_report.core.model.results import Importance
    >>> columns = {"measure": ["nll"], "feature": ["age"], "estimate": [0.2], "std_error": [0.1], "lower": [0.0],
    ...            "upper": [0.4], "confidence": [0.95], "covers": ["new test samples"]}
    >>> frame = pd.DataFrame({"measure": ["nll"], "feature": ["age"], "repeat": [0], "value": [0.2]})
    >>> result = Importance(id="x", explainer="x", title="X", frame=frame, estimates=pd.DataFrame(columns))
    >>> view = View.from_result(result)
    >>> [(line.feature, line.estimate) for line in of_measure(view.lines, "nll")]
    [('age', 0.2)]
    """

    result: Result
    lines: tuple[L, ...]

    id: ClassVar[str] = ""

    def __init_subclass__(cls, id: str = "") -> None:
        """Take the id of the result."""
        super().__init_subclass__()
        cls.id = id or cls.id

    @classmethod
    def line_type(cls) -> type[Any]:
        """Return the type of the lines: that of its annotation, else what stands in brackets behind a base."""
        hint = get_args(hints_of(cls)["lines"])[0]
        bases = (base for c in cls.__mro__ for base in vars(c).get("__orig_bases__", ()) if get_origin(base) is View)
        return next((get_args(base)[0] for base in bases), EstimateLine) if isinstance(hint, TypeVar) else hint

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """Read a result; refuse one that lacks a column or fact without a default."""
        facts = {spec.name: spec for spec in fields(cls) if spec.name not in ("result", "lines")}
        missing = [name for name, spec in facts.items() if _is_required(spec) and name not in result.meta]
        if missing:
            raise InputError(f"{result.id}.meta must hold {missing}; got {sorted(result.meta)}.")
        values = {name: _frozen(result.meta[name]) for name in facts if name in result.meta}
        return cls(result=result, lines=lines_of(result, cls.line_type()), **values)

    @classmethod
    def find(cls, run: Run | Mapping[str, Result]) -> Self | None:
        """Return this view of a run's result, or None where the run has none."""
        result = run.find(cls.id) if isinstance(run, Run) else run.get(cls.id)
        return None if result is None else cls.from_result(result)

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """What the result leaves out, and why."""
        return self.result.omissions

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the lines, in their order."""
        return tuple(dict.fromkeys(line.measure for line in self.lines))

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the lines, in their order."""
        return tuple(dict.fromkeys(line.feature for line in self.lines))


@once
def lines_of(result: Result, line: type[L]) -> tuple[L, ...]:
    """Return the estimates of a result as objects of `line`; refuse a line that lacks one of its columns."""
    table, hints = result.estimates, hints_of(line)
    lacking = [f.name for f in fields(line) if f.name not in table.columns and _is_required(f)]
    if lacking and len(table):
        raise InputError(f"{result.id}.estimates must have the columns {lacking}; got {list(table.columns)}.")
    names = [f.name for f in fields(line) if f.name in table.columns]
    columns = {name: [_CONVERTERS[hints[name]](cell) for cell in table[name].tolist()] for name in names}
    return tuple(line(**dict(zip(columns, cells, strict=True))) for cells in zip(*columns.values(), strict=True))


def of_measure(lines: Iterable[L], measure: str) -> tuple[L, ...]:
    """Return the lines of one measure."""
    return tuple(line for line in lines if line.measure == measure)


def of_feature(lines: Iterable[L], feature: str) -> tuple[L, ...]:
    """Return the lines of one feature."""
    return tuple(line for line in lines if line.feature == feature)


def by_feature(lines: Iterable[L]) -> dict[str, L]:
    """Return lines of one measure by their feature; the first of each counts."""
    table: dict[str, L] = {}
    for line in lines:
        table.setdefault(line.feature, line)
    return table


def by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of each key, both in their order.

    Examples
    --------
    >>> by_key([("nats", "loss"), ("W", "error"), ("nats", "uncertainty")])
    {'nats': ['loss', 'uncertainty'], 'W': ['error']}
    """
    values: dict[K, list[V]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def largest_first(lines: Iterable[L], sign: int = 1) -> tuple[L, ...]:
    """Return the lines by their estimate, largest first, of sign -1 smallest first; equal ones keep their order."""
    return tuple(sorted(lines, key=lambda line: (bool(np.isnan(line.estimate)), -sign * line.estimate)))


def table_of(lines: Sequence[EstimateLine], kind: type[EstimateLine] = EstimateLine) -> pd.DataFrame:
    """Return lines as a table, a column per field of the first one, or of `kind` where there are none."""
    names = [f.name for f in fields(type(lines[0]) if lines else kind)]
    return pd.DataFrame({name: [getattr(line, name) for line in lines] for name in names})


def _is_required(spec: Field[Any]) -> bool:
    return spec.default is MISSING and spec.default_factory is MISSING


def _frozen(fact: Any) -> Any:
    """Return a recorded list as a tuple; its items stay as they are."""
    return tuple(fact) if isinstance(fact, Sequence) and not isinstance(fact, str) else fact
