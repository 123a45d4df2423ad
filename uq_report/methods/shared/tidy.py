"""What results and rules of several methods are made with: diagnostics of estimates, and what is grouped by a key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import pandas as pd

from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic
from ...evidence import ids

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


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
    >>> from uq_report.methods.shared.estimates import estimate
    >>> row = estimate(0.2, 0.1, (0.0, 0.4), 0.95, "share")
    >>> result = diagnostic("demo.share", "Demo", [row | {"item": "all", "n": 5}], ["item", "n"], x="n")
    >>> result.explainer, result.frame[["x", "value"]].to_numpy().tolist()
    ('demo', [[5.0, 0.2]])
    """
    estimates = pd.DataFrame(list(records), columns=[*ESTIMATE_COLUMNS, *columns])
    frame = estimates.assign(x=estimates[x].astype(float), value=estimates[value])[list(Diagnostic.columns)]
    return Diagnostic(id=id, explainer=ids.explainer_of(id), title=title, frame=frame, estimates=estimates, **parts)


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
