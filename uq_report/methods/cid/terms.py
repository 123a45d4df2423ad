"""What every estimator of covered information gets, the columns and their cells, and what it returns.

``CI_i = I(X_i; Y) - I(X_i; Y | U)`` with U all other features (Pereira et al., definition 2.3): positive where
the others repeat what X_i says about Y, negative where they only speak together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.model.results import Omission
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits

TOO_ALIKE = 1 - 1e-9
MOST_LEVELS = 20
NAMED = 5  # columns that a note names

# log p(y | x_S) of each row for the feature positions S: i(x_j; y | x_C) is that of C and j less that of C
LogProbability = Callable[[tuple[int, ...]], FloatArray]
MeanLogProbability = Callable[[tuple[int, ...]], float]


class InformationTerms(NamedTuple):
    """Pointwise information of each row and feature about y, in nats, each (rows, features).

    ``mutual`` is i(x_i; y), ``conditional`` is i(x_i; y | u); their averages are the (conditional)
    mutual informations.
    """

    mutual: FloatArray
    conditional: FloatArray

    @property
    def covered(self) -> FloatArray:
        """Pointwise covered information ci = i(x_i; y) - i(x_i; y | u)."""
        return self.mutual - self.conditional


@dataclass(frozen=True)
class InformationEstimate:
    """Terms of the features that have them, how they were estimated, and the dependence graph.

    ``links`` is over the features that are no copies, and y: partial correlations, or for a discrete field the
    largest pair potential; 0 where the graph has no edge. ``log_p`` is log p(y | x_S) of each row for
    any positions S of features, ``mean_log_p`` about its mean, and ``related`` says which features depend on each
    other.
    """

    features: tuple[str, ...]
    terms: InformationTerms
    estimator: str
    links: FloatArray
    log_p: LogProbability
    mean_log_p: MeanLogProbability
    related: BoolArray
    notes: tuple[str, ...]
    facts: dict[str, Any]
    omissions: tuple[Omission, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)


def regressors(terms: InformationTerms, rows: FloatArray | None = None) -> FloatArray:
    """Return [redundant CI, MI, synergistic CI, synergistic MI] per feature, averaged over rows, shape (d, 4).

    Redundant is E[max(., 0)], synergistic E[max(-., 0)], after Ince 2017. Neither part is an
    information of its own. `rows` holds row weights that sum to one; equal ones by default.
    """
    weights = np.full(len(terms.mutual), 1 / len(terms.mutual)) if rows is None else rows
    check_limits()
    parts = (terms.covered, terms.mutual, -terms.covered, -terms.mutual)
    return np.stack([weights @ np.maximum(part, 0) for part in parts], axis=1)


def covered_share(covered: FloatArray, mutual: FloatArray) -> FloatArray:
    """Return max(CI_i, 0) / I(X_i; Y) per feature, in [0, 1]; NaN where I(X_i; Y) is not positive.

    The share is net: the redundant part alone is positive even for a feature independent of all others.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.maximum(covered, 0) / mutual
    return np.where(mutual > 0, np.minimum(share, 1.0), np.nan)


# ---------------------------------------------------------------------- the columns


class UnfitError(InputError):
    """An estimator that does not fit the data; `reason` says why in few words."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Data:
    """The columns under estimate: features that vary, and y as numbers or class positions."""

    subject: Subject
    features: tuple[str, ...]
    y: Any
    classes: bool
    units: int

    @property
    def numbers(self) -> FloatArray:
        """The features as numbers (n, d); refuses two columns with correlation ±1."""
        X = np.column_stack([np.asarray(self.subject.values(f), dtype=float) for f in self.features])
        alike = np.triu(np.abs(np.corrcoef(X, rowvar=False).reshape(len(self.features), -1)) > TOO_ALIKE, 1)
        if alike.any():
            a, b = (self.features[k] for k in np.argwhere(alike)[0])
            raise UnfitError(
                f"cid.X must have no copies; got {a!r} and {b!r} with correlation ±1 "
                f"({int(alike.sum())} such pairs). Each covers all of the other: keep one.",
                f"{a} and {b} have correlation ±1",
            )
        return X

    @property
    def gaps(self) -> dict[str, int]:
        """The number of missing values of the features that have some."""
        counts = {f: int(pd.isna(self.subject.values(f)).sum()) for f in self.features}
        return {f: count for f, count in counts.items() if count}

    @property
    def infinite(self) -> tuple[str, ...]:
        """The features that have infinite values."""
        numeric = [f for f in self.features if self.subject.kinds[f] == "numeric"]
        return tuple(f for f in numeric if np.isinf(np.asarray(self.subject.values(f), dtype=float)).any())


def varying(subject: Subject) -> tuple[tuple[str, ...], tuple[Omission, ...]]:
    """Return the features that have information, and those that are constant."""
    constant = [f for f in subject.features if pd.Series(subject.values(f)).nunique(dropna=False) < 2]
    used = tuple(f for f in subject.features if f not in constant)
    if not used:
        raise InputError("cid.X must have a feature that varies; got constant ones only.")
    return used, tuple(Omission("", f, "it is constant, so it has no information") for f in constant)


def listed(names: Sequence[str]) -> str:
    """Return at most `NAMED` names, and the number of the others.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def twins(subject: Subject, features: Sequence[str]) -> dict[str, str]:
    """Return for each feature that repeats an earlier one, one to one, that feature.

    Columns of few values repeat each other where their values pair off; others where their ranks agree, upwards or
    downwards: between continuous columns any two values would pair off.
    """
    first: dict[Any, str] = {}
    keys = {f: _identity(subject.values(f), numeric=subject.kinds[f] == "numeric") for f in features}
    sources = {f: first.setdefault(key, f) for f, key in keys.items()}
    return {name: source for name, source in sources.items() if name != source}


def _identity(values: Any, *, numeric: bool) -> tuple[bool, bytes]:
    series = pd.Series(values)
    if not numeric or series.nunique() <= len(series) / 2:
        return True, np.asarray(pd.factorize(series, use_na_sentinel=False)[0], dtype=np.int64).tobytes()
    from scipy.stats import rankdata  # here: heavy, and a list of plugins ranks nothing

    ranks = rankdata(np.asarray(series, dtype=float), nan_policy="omit")
    turned = series.count() + 1 - ranks
    apart = np.flatnonzero(np.nan_to_num(ranks - turned))
    return False, (ranks if ranks[apart[0]] < turned[apart[0]] else turned).tobytes()


def cells(values: Any, bins: int | None) -> IntArray:
    """Return level codes, or quantile cells of about equal count with equal values together.

    A missing value has a cell of its own; levels beyond the `MOST_LEVELS` most frequent ones share one.

    Examples
    --------
    >>> cells([3.0, float("nan"), 1.0, 2.0], 2)
    array([2, 0, 1, 2])
    """
    series = pd.Series(np.asarray(values) if bins else values)
    if bins:
        series = pd.Series(np.ceil(series.rank(method="average", pct=True).to_numpy() * bins))
    elif series.nunique() > MOST_LEVELS:
        series = series.astype(object)
        frequent = series.value_counts().index[: MOST_LEVELS - 1]
        series = series.where(series.isin(frequent) | series.isna(), "other levels").astype(str)
    codes = np.asarray(pd.factorize(series, sort=True)[0], dtype=np.int64)
    return codes - codes.min()


def in_cells(data: Data, bins: int) -> tuple[IntArray, tuple[str, ...]]:
    """Return the cells of the features and then y, and notes on how they came about."""
    names, columns = [*data.features, "y"], [*map(data.subject.values, data.features), data.y]
    levels = [pd.Series(values).nunique() for values in columns]
    cut = [data.subject.kinds[f] != "categorical" and k > bins for f, k in zip(data.features, levels, strict=False)]
    cut.append(not data.classes)
    codes = np.column_stack([cells(values, bins if c else None) for values, c in zip(columns, cut, strict=True)])
    pooled = [name for name, c, k in zip(names, cut, levels, strict=True) if not c and k > MOST_LEVELS]
    return codes, cell_notes([name for name, c in zip(names, cut, strict=True) if c], bins, pooled, list(data.gaps))


def cell_notes(binned: Sequence[str], bins: int, pooled: Sequence[str], gaps: Sequence[str]) -> tuple[str, ...]:
    """Return how columns became cells: what was cut, which levels share a cell, and where values are missing."""
    cut = f"Cut into {bins} cells of about equal count: {listed(binned)}. Information within a cell is not seen."
    pool = f"The {MOST_LEVELS - 1} most frequent levels are kept, the rest share one cell: {listed(pooled)}."
    missing = f"A missing value is a cell of its own: {listed(gaps)}."
    return tuple(note for note, names in ((cut, binned), (pool, pooled), (missing, gaps)) if names)


def copy_notes(copies: Mapping[str, str]) -> tuple[str, ...]:
    """Return which columns repeat which, at most `NAMED` of them, and the number of the others."""
    notes = [f"{copy} repeats {of} exactly: its covered share is 100 %." for copy, of in copies.items()]
    more = len(notes) - NAMED
    rest = f"So it is with {more} more column{'s' if more > 1 else ''} that repeat{'' if more > 1 else 's'} another."
    return (*notes[:NAMED], *([rest] if more > 0 else []))
