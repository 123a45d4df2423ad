"""How the classes that a model decides for agree with those that came: counts, recall and precision of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import BoolArray, IntArray
from ...core.decisions import MOST_PROBABLE
from ...core.describe import scalar
from ...core.distributions import Categorical
from ...core.results import Diagnostic, Omission
from ...core.sampling import Sampling
from ...evidence import ids
from ..shared.reliability import share_of

COUNTED = 20  # classes up to which every pair is counted


def decisions(q: Categorical, y: IntArray, sampling: Sampling, level: float) -> Diagnostic:
    """Return recall and precision of each class at the model's own decisions, with exact intervals.

    ``meta["counts"]`` holds the rows of each observed class (row) by the class decided for (column).
    """
    called, k = np.asarray(q.decisions()), len(q.classes)
    table, omissions = _table(q, y, called, sampling, level)
    estimates = pd.DataFrame(table)
    counts = np.zeros((k, k), dtype=np.int64)
    np.add.at(counts, (y, called), 1)
    return Diagnostic(
        id=ids.CALIBRATION_DECISIONS,
        explainer="calibration",
        title="Decisions of the model against what happened",
        frame=estimates.assign(x=0.0, value=estimates["estimate"])[list(Diagnostic.columns)],
        estimates=estimates,
        notes=("Recall: of the rows of a class, the share decided for it. Precision: the share of right decisions.",),
        omissions=tuple(omissions),
        meta={
            "classes": [scalar(label) for label in q.classes.tolist()],
            "counts": counts.tolist() if k <= COUNTED else [],
            "rule": (q.rule or MOST_PROBABLE).words,
        },
    )


def _table(
    q: Categorical, y: IntArray, called: IntArray, sampling: Sampling, level: float
) -> tuple[list[dict[str, Any]], list[Omission]]:
    """Return recall and precision of each class, and which there are not."""
    table, omissions = [], []
    for c, label in enumerate(map(str, q.classes.tolist())):
        for item, rows, none in (
            ("recall", y == c, "no audited row is of this class"),
            ("precision", called == c, "the model decides for this class in no audited row"),
        ):
            found = _share(item, label, rows, (called == y) & rows, sampling, level)
            if found is None:
                omissions.append(Omission("", "", f"{item} of {label}: {none}"))
            else:
                table.append(found)
    return table, omissions


def _share(
    item: str, label: str, rows: BoolArray, hits: BoolArray, sampling: Sampling, level: float
) -> dict[str, Any] | None:
    """Return the share of hits among the rows; None without rows."""
    part = sampling.part(rows)
    if not part.weights.any():
        return None
    row = share_of(hits[rows].astype(float), part, level)
    error = 0.0 if np.isnan(row["std_error"]) or row["estimate"] in (0.0, 1.0) else row["std_error"]
    n = part.effective_n(row["estimate"], error)
    return row | {"item": item, "label": label, "n": int(rows.sum()), "n_effective": n}
