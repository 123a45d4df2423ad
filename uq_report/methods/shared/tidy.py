"""What results and rules of several methods are made with: lines of estimates, diagnostics, observations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from math import isnan
from typing import Any, TypeVar

import pandas as pd

from ...core.results import ESTIMATE_COLUMNS, Diagnostic
from ...evidence import ids
from ...evidence.view import Estimate
from ...rules.reading import Sign
from ...rules.rule import Grade, Rule

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

observation_rule = partial(Rule, grades=(Grade("observation"),))  # of which no finding is worse


def record(
    measure: str, feature: str, estimate: float, std_error: float, interval: Sequence[float], confidence: float
) -> dict[str, Any]:
    """Return the columns that every estimate over new test rows has."""
    lower, upper = interval
    columns = (measure, feature, estimate, std_error, lower, upper, confidence, "new test rows")
    return dict(zip(ESTIMATE_COLUMNS, columns, strict=True))


def diagnostic(
    id: str,
    title: str,
    records: Iterable[Any],
    columns: Sequence[str],
    x: str,
    value: str = "estimate",
    **parts: Any,
) -> Diagnostic:
    """Return a diagnostic of `records` (mappings, or tuples in order): `ESTIMATE_COLUMNS`, then `columns`.

    What a mapping lacks is NaN. The frame shows the columns `x` and `value`; `parts` are further fields.

    Examples
    --------
    >>> row = record("share", "", 0.2, 0.1, (0.0, 0.4), 0.95)
    >>> result = diagnostic("demo.share", "Demo", [row | {"item": "all", "n": 5}], ["item", "n"], x="n")
    >>> result.explainer, result.frame[["x", "value"]].to_numpy().tolist()
    ('demo', [[5.0, 0.2]])
    """
    estimates = pd.DataFrame(list(records), columns=[*ESTIMATE_COLUMNS, *columns])
    frame = estimates.assign(x=estimates[x].astype(float), value=estimates[value])[list(Diagnostic.columns)]
    return Diagnostic(id=id, explainer=ids.explainer_of(id), title=title, frame=frame, estimates=estimates, **parts)


def observed(line: Estimate | Sign) -> dict[str, float | None]:
    """Return what a finding records of a line: its estimate and its interval, None where there is none.

    Examples
    --------
    >>> line = Estimate(**record("share", "", 0.2, 0.1, (float("nan"), float("nan")), 0.95))
    >>> observed(line)
    {'observed': 0.2, 'lower': None, 'upper': None}
    """
    lower, upper = (None if isnan(end) else end for end in (line.lower, line.upper))
    return {"observed": line.estimate, "lower": lower, "upper": upper}


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return items by their key, both in their order.

    Examples
    --------
    >>> grouped(["age", "income", "area"], lambda name: name[0])
    {'a': ['age', 'area'], 'i': ['income']}
    """
    parts: dict[K, list[T]] = {}
    for item in items:
        parts.setdefault(key(item), []).append(item)
    return parts
