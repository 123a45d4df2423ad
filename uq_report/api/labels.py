"""Labels of observations by one feature: its levels, or thirds of its values."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from ..core.model.subject import Subject
from ..core.support.numbers import number
from ..core.support.text import clean
from ..document.plots.frames import RowLabels

LEVELS = 6  # with a label of their own; the others share one
PARTS = 3


def row_labels(subject: Subject, feature: str) -> RowLabels:
    """Return the labels of all observations by a feature or protected attribute; missing values have their own.

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> labels = row_labels(linear_subject(30), linear_subject(30).features[0])
    >>> len(labels.order), len(labels.of_row)
    (3, 30)
    """
    column = subject.values(feature) if feature in subject.features else subject.protected[feature]
    values = pd.Series(np.asarray(column, dtype=object) if not isinstance(column, pd.Series) else column.to_numpy())
    if subject.kinds.get(feature) == "numeric" and values.nunique() > LEVELS:
        return _thirds(feature, values.astype(float))
    texts = values.map(clean).where(values.notna(), "missing")
    frequent = texts.value_counts().index[:LEVELS]
    texts = texts.where(texts.isin(frequent), "other levels")
    return RowLabels(feature, tuple(sorted(set(texts))), dict(enumerate(texts)))


def _thirds(feature: str, values: pd.Series[float]) -> RowLabels:
    cuts = sorted(set(np.nanquantile(values, [k / PARTS for k in range(1, PARTS)]).tolist()))
    texts = [number(cut) for cut in cuts]
    names = [f"at most {texts[0]}"]
    names += [f"{low} to {high}" for low, high in pairwise(texts)]
    names += [f"above {texts[-1]}"]
    place = np.searchsorted(cuts, values, side="left")
    labels = [names[k] if known else "missing" for k, known in zip(place, values.notna(), strict=True)]
    order = [name for name in (*names, "missing") if name in set(labels)]
    return RowLabels(feature, tuple(order), dict(enumerate(labels)))
