"""Data quality: what is missing, copied, empty or disguised in the audited rows, counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.results import Omission, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.statistics.inference import n_units
from ...core.statistics.score_intervals import newcombe, normal_quantile
from ...core.support import options as opt
from ...core.support.arrays import BoolArray, FloatArray, IntArray, column
from ...core.support.digest import column_digest
from ...core.support.limits import check_limits
from ...core.support.numbers import infinite
from ...core.support.text import short
from ...evidence import ids
from ...evidence.rows import CLASS, DISTINCTIVE, DUPLICATE_ROWS, MISSING_TRAIN, OVERLAP, OVERLAP_OTHER_Y, TYPE_CHANGE
from ..shared.cards import CardedExplainer
from ..shared.estimates import diagnostic, estimate

_PLACEHOLDER = (
    "A placeholder is 0, −1, ±9, ±99 ... at an end of a column, in 3 observations or more and less than half, 5 of the "
    "steps between the next 10 values apart or more. It may mean missing."
)
PLACEHOLDERS = (0.0, -1.0, *(sign * code for code in (9.0, 99.0, 999.0, 9999.0, 99999.0) for sign in (-1.0, 1.0)))
LEAST_ROWS = 3
LEAST_VALUES = 20
EDGE_VALUES = 10
JUMP = 5.0
CHANCE = 0.01
MISSING_CHANGE = "missing_change"


class Fact(NamedTuple):
    """A kind of fact about a column (or none), a detail in words, and in how many of how many rows it holds."""

    measure: str
    feature: str
    item: str
    rows: int
    of: int


def column_facts(name: str, values: pd.Series[Any], train: pd.Series[Any] | None, sparse: float) -> Iterator[Fact]:
    """Yield what is to be said of one column of the audited rows, and the same of the training rows."""
    missing = int(values.isna().sum())
    yield Fact("missing", name, "", missing, len(values))
    if train is not None:
        yield Fact("missing_train", name, "", int(train.isna().sum()), len(train))
        if str(train.dtype) != str(values.dtype):
            yield Fact("type_change", name, f"{train.dtype} -> {values.dtype}", len(values), len(values))
    counts = values.value_counts(dropna=False)
    top = int(counts.iloc[0])
    if len(counts) == 1:
        yield Fact("constant", name, _word(counts.index[0]), len(values), len(values))
    elif top >= sparse * len(values):
        yield Fact("sparse", name, _word(counts.index[0]), top, len(values))


def _word(cell: Any) -> str:
    """Return a cell in words: ``missing`` for none, a sign for an infinite number."""
    if pd.isna(cell):
        return "missing"
    return infinite(float(cell)) if isinstance(cell, float | np.floating) and np.isinf(cell) else short(cell)


def placeholder(name: str, values: pd.Series[Any], train: pd.Series[Any] | None) -> Iterator[Fact]:
    """Yield the numbers of a numeric column that may stand for a missing value."""
    own = _finite(values)
    pooled = own if train is None else np.concatenate([own, _finite(train)])
    for value in stand_ins(pooled):
        count = int((own == value).sum())
        if count:
            yield Fact("placeholder", name, f"{value:g}", count, len(values))


def stand_ins(values: FloatArray) -> list[float]:
    """Return which of 0, -1, ±9, ±99 ... ±99999 look like codes for a missing value.

    Such a number must be the smallest or the largest of the column, occur 3 times at least but in fewer than
    half of the rows, and stand apart from the other values (20 different ones at least): the gap to the
    nearest one is 5 times the mean step between the 10 that follow, or more. A count that may be 0 has no
    such gap, nor has a share or an amount that comes near 0. An amount that is either 0 or far from it has: no
    rule can tell it from a code, so a finding on 0 says that it may be a real amount.

    Examples
    --------
    >>> pressure = np.array([0.0] * 5 + [40.0 + i for i in range(60)])
    >>> stand_ins(pressure), stand_ins(pressure - 40), stand_ins(np.arange(60.0))
    ([0.0], [], [])
    """
    levels, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if len(levels) <= LEAST_VALUES:
        return []
    codes = []
    for ordered, count in ((levels, counts[0]), (levels[::-1], counts[-1])):
        step = abs(float(ordered[EDGE_VALUES] - ordered[1])) / (EDGE_VALUES - 1)
        apart = abs(float(ordered[1] - ordered[0])) >= JUMP * step
        if LEAST_ROWS <= count < counts.sum() / 2 and apart and float(ordered[0]) in PLACEHOLDERS:
            codes.append(float(ordered[0]))
    return codes


def copied(columns: Sequence[tuple[str, pd.Series[Any]]]) -> Iterator[Fact]:
    """Yield the columns that repeat an earlier one, value by value; constant columns are no copies."""
    firsts: dict[bytes, str] = {}
    for name, values in columns:
        check_limits()
        if values.nunique(dropna=False) < 2:
            continue
        numeric = pd.api.types.is_numeric_dtype(values.dtype)
        comparable = pd.Series(values.to_numpy(dtype=float, na_value=np.nan)) if numeric else values.astype(object)
        first = firsts.setdefault(column_digest(comparable), name)
        if first != name:
            yield Fact("copied_column", name, first, len(values), len(values))


def _finite(values: pd.Series[Any]) -> FloatArray:
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return np.asarray(numbers[np.isfinite(numbers)])


class Keys(NamedTuple):
    """A code for every row of the audited and of the training rows; equal rows share it.

    `distinctive` says of audited rows that chance does not explain a copy.
    """

    test: IntArray
    train: IntArray
    distinctive: BoolArray


def keys(subject: Subject) -> Keys:
    """Compare whole rows; a missing value equals a missing value.

    A copy is distinctive if fewer than 0.01 other rows are expected to share the row's values in the finely
    graded columns (more than 20 different numbers or dates), had these been filled independently: in
    coarse tables different cases look alike, and their equality says nothing.
    """
    tables = [subject.X, *([] if subject.train is None else [subject.train[0]])]
    positions = range(len(subject.features))
    both = pd.concat([pd.DataFrame(X).set_axis(positions, axis=1) for X in tables])
    # equal cells of a column have one code, missing ones too
    codes = np.column_stack([pd.factorize(both[name], use_na_sentinel=False)[0] for name in both])
    rows = pd.DataFrame(codes)
    keys = np.asarray(rows.groupby(list(rows.columns), sort=False).ngroup(), dtype=np.int64)
    expected = _coincidences(subject, codes)
    return Keys(keys[: subject.n], keys[subject.n :], expected[: subject.n] <= CHANCE)


def row_facts(subject: Subject) -> Iterator[Fact]:
    """Yield the facts about copied rows, each for all rows and for the distinctive ones."""
    codes = keys(subject)
    masks = {DUPLICATE_ROWS: _again(codes.test, subject.clusters)}
    if subject.train is not None:
        inside = np.isin(codes.test, codes.train)
        masks |= {OVERLAP: inside, OVERLAP_OTHER_Y: inside & _other_target(subject, codes)}
    for measure, mask in masks.items():
        yield Fact(measure, "", "all", int(mask.sum()), subject.n)
        yield Fact(measure, "", DISTINCTIVE, int((mask & codes.distinctive).sum()), subject.n)


def _again(codes: IntArray, clusters: IntArray | None) -> BoolArray:
    """Return the rows that repeat an earlier row; of another cluster, where there are clusters."""
    if clusters is None:
        return pd.Series(codes).duplicated().to_numpy()
    frame = pd.DataFrame({"key": codes, "cluster": clusters})
    first = frame.groupby("key")["cluster"].transform("first")
    return (frame["cluster"] != first).to_numpy() & ~frame.duplicated().to_numpy()


def _other_target(subject: Subject, codes: Keys) -> BoolArray:
    """Return the audited rows none of whose copies among the training rows has the same y."""
    if subject.train is None or subject.train[1] is None or subject.y is None:
        return np.zeros(subject.n, dtype=bool)
    outcomes = [np.asarray(y).astype(object) for y in (subject.y, subject.train[1])]
    targets = pd.factorize(np.concatenate(outcomes))[0]
    train = pd.MultiIndex.from_arrays([codes.train, targets[subject.n :]])
    return ~pd.MultiIndex.from_arrays([codes.test, targets[: subject.n]]).isin(train)


def _coincidences(subject: Subject, codes: IntArray) -> FloatArray:
    """Return the expected number of other rows that share each row's values in the finely graded columns."""
    expected = np.full(len(codes), float(len(codes)))
    for position, name in enumerate(subject.features):
        column = codes[:, position]
        counts = np.bincount(column)
        if subject.kinds[name] != "categorical" and len(counts) > LEAST_VALUES:
            expected *= counts[column] / len(codes)
    return expected


def missing_changes(subject: Subject, confidence: float) -> Iterator[dict[str, Any]]:
    """Yield the difference of the shares of missing values of each column that has some.

    Intervals by Newcombe hold for all columns at once (Bonferroni). Rows of a cluster, which are often missing
    together, count as what they tell, and training rows by the same share.
    """
    if subject.train is None:
        return
    n, codes = subject.n, subject.clusters
    sampling = Sampling(np.full(n, 1 / n), n_units(np.ones(n), codes), codes)
    z = normal_quantile(1 - (1 - confidence) / len(subject.features))
    for position, name in enumerate(subject.features):
        check_limits()
        own, train = (_gaps(column(X, position)) for X in (subject.X, subject.train[0]))
        if not own.any() and not train.any():
            continue
        share, error = (float(number) for number in sampling.mean(own))
        other = float(train.mean())
        counted = sampling.effective_n(share, error)
        ends = newcombe(share, counted, other, len(train) * min(counted / n, 1.0), z)
        line = estimate(share - other, np.nan, ends, confidence, MISSING_CHANGE, name, "new test and training samples")
        yield line | {"item": "missing", "n": n, "share": share, "share_train": other, "n_train": len(train)}


def _gaps(values: Any) -> FloatArray:
    """Return 1 for each missing value, else 0."""
    return np.asarray(pd.Series(values).isna(), dtype=float)


ALWAYS = (DUPLICATE_ROWS, OVERLAP, CLASS)
OF_TRAINING_ROWS = (OVERLAP, OVERLAP_OTHER_Y, MISSING_TRAIN, TYPE_CHANGE)


@dataclass(frozen=True)
class DataQuality(CardedExplainer):
    """Counts facts about the audited rows, and about the training rows where they are given.

    Missing values; columns that are constant, copies of an earlier one, or almost one value (*sparse*);
    rows that occur twice, and rows that occur among the training rows, with the same or another y; numbers
    that stand for a missing value; types that differ between training and audited rows; how often each
    class occurs. Counts are of rows as they are: no weights, no sampling error. ``data_quality.missing`` has the
    differences of the shares of missing values to the training rows, with intervals.

    Parameters
    ----------
    sparse : float
        Share of one value from which a column is sparse.
    """

    sparse: float = opt.option(0.95, "a number in (0.5, 1)", lambda value: 0.5 < value < 1)

    name: ClassVar[str] = "data_quality"
    section: ClassVar[str] = "data.quality"
    priority: ClassVar[int] = 1

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``data_quality`` and ``data_quality.missing``."""
        facts = [*self._columns(subject), *row_facts(subject), *_classes(subject, engine)]
        listed = [fact for fact in facts if fact.rows > 0 or fact.measure in ALWAYS]
        n_train = None if subject.train is None else len(subject.train[0])
        clustered, bare = subject.clusters is not None, [np.nan] * 4
        return [
            diagnostic(
                self.name,
                "Facts about the data",
                [(f.measure, f.feature, f.rows / f.of, *bare, "none", f.item, f.rows, f.of) for f in listed],
                ("item", "count", "n"),
                x="count",
                options=asdict(self),
                notes=(
                    "x counts observations, value is their share; only what occurs is listed.",
                    _PLACEHOLDER,
                    "A copied observation is distinctive if chance gives fewer than 0.01 observations with its values.",
                    *(("Copies of an observation within a cluster are not counted.",) if clustered else ()),
                ),
                omissions=_omissions(subject),
                meta={"n": subject.n, "n_train": n_train, "has_train": subject.train is not None}
                | {"columns_checked": len(subject.features)},
            ),
            diagnostic(
                ids.DATA_QUALITY_MISSING,
                "Shares of missing values against training",
                missing_changes(subject, engine.confidence),
                ("item", "n", "share", "share_train", "n_train"),
                x="share",
                notes=(
                    "Share of missing values in the test sample minus that in the training sample.",
                    "Columns without any are left out. Intervals (Newcombe 1998) hold for all columns at once.",
                    *(("A cluster counts as its effective number of observations.",) if clustered else ()),
                ),
            ),
        ]

    def _columns(self, subject: Subject) -> Iterator[Fact]:
        own = []
        for position, name in enumerate(subject.features):
            check_limits()
            values = pd.Series(column(subject.X, position))
            train = None if subject.train is None else pd.Series(column(subject.train[0], position))
            own.append((name, values))
            yield from column_facts(name, values, train, self.sparse)
            same = train is None or pd.api.types.is_numeric_dtype(train.dtype)
            if subject.kinds[name] == "numeric":
                yield from placeholder(name, values, train if same else None)
        yield from copied(own)


def _classes(subject: Subject, engine: Engine) -> Iterator[Fact]:
    """Yield how often each class occurs in y."""
    if engine.y is None or "proba" not in engine.baseline.supports:
        return
    labels = list(np.asarray(getattr(engine.baseline, "classes", ())).tolist())
    counts = np.bincount(np.asarray(engine.y, dtype=np.int64), minlength=len(labels))
    for label, count in zip(labels, counts, strict=True):
        yield Fact(CLASS, "", short(label), int(count), subject.n)


def _omissions(subject: Subject) -> tuple[Omission, ...]:
    reasons = {}
    if subject.train is None:
        reasons = dict.fromkeys(OF_TRAINING_ROWS, "no training sample was given")
    elif subject.train[1] is None or subject.y is None:
        reasons = {OVERLAP_OTHER_Y: "outcomes were not given for both the training and the test sample"}
    if subject.y is None:
        reasons |= {CLASS: "it needs outcomes, which were not given"}
    return tuple(Omission(name, "", reason) for name, reason in reasons.items())
