"""One observation: its prediction, how sure it is, why, how typical, and the smallest changes that matter.

Distances between observations of mixed columns, and whether one lies within the domain of others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ..core.engine.evaluator import rows_of
from ..core.engine.fast_path_evaluator import Engine
from ..core.model.adapter import FixedRowsOnly
from ..core.model.measures import DECOMPOSITION, LOSS, Measure
from ..core.model.results import MeasureFacts, Result
from ..core.model.subject import Subject
from ..core.model.variants import composed_rows
from ..core.predictive import Distribution
from ..core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, as_numbers, column, take_rows
from ..core.support.errors import InputError, UnsupportedError, UQReportError, nearest
from ..core.support.numbers import number
from ..evidence import columns as col
from ..evidence import ids
from .audit import make_engine, single
from .prepare import load_fast_paths, load_measures
from .provenance import measure_facts
from .settings import Settings

CHUNK = 4_000_000  # cells of a block of distances


@dataclass(frozen=True)
class GowerDomain:
    """The domain of reference observations: Gower's distance to the k-th nearest, against their own.

    Gower's distance is the mean over columns of |a - b| divided by the range of the reference (numbers), or of whether
    levels differ. Two missing values are equal, one is as far as can be.

    Parameters
    ----------
    reference : ndarray of shape (n, d)
        Numbers; levels as codes; NaN where missing.
    ordered : ndarray of bool, shape (d,)
        Which columns hold numbers.
    k : int
    share : float
        Of reference observations that are outside by definition: the limit is the (1 - share) quantile of the distance
        of each to its k-th nearest other.

    Examples
    --------
    >>> domain = GowerDomain(np.array([[0.0], [0.5], [1.0]]), np.array([True]), k=1, share=0.05)
    >>> domain.distances(np.array([[0.25], [3.0]])).tolist()
    [[0.25, 0.25, 0.75], [3.0, 2.5, 2.0]]
    >>> domain.kth(np.array([[0.25], [3.0]])).tolist(), domain.limit
    ([0.25, 2.0], 0.5)
    """

    reference: FloatArray
    ordered: BoolArray
    k: int = 5
    share: float = 0.05

    def distances(self, rows: FloatArray) -> FloatArray:
        """Return the distance of each row to each reference observation, shape (rows, n)."""
        total = np.zeros((len(rows), len(self.reference)))
        for j, ordered in enumerate(self.ordered):
            a, b = rows[:, j, None], self.reference[None, :, j]
            with np.errstate(invalid="ignore"):
                apart = np.abs(a - b) / self._ranges[j] if ordered else (a != b).astype(float)
            gone = np.isnan(a) | np.isnan(b)
            total += np.where(gone, (np.isnan(a) != np.isnan(b)).astype(float), apart)
        return total / len(self.ordered)

    def kth(self, rows: FloatArray, *, own: bool = False) -> FloatArray:
        """Return the distance of each row to its k-th nearest; `own` rows are of the reference and skip themselves."""
        at = min(self.k - 1 + own, len(self.reference) - 1)
        step = max(1, CHUNK // len(self.reference))
        blocks = (self.distances(rows[start : start + step]) for start in range(0, len(rows), step))
        return np.concatenate([np.partition(block, at, axis=1)[:, at] for block in blocks])

    @property
    def limit(self) -> float:
        """The distance beyond which a row is outside."""
        return float(np.quantile(self.kth(self.reference, own=True), 1 - self.share))

    def nearest(self, row: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
        """Return the positions of the nearest reference observations and their distances."""
        apart = self.distances(row[None])[0]
        order = np.argsort(apart, kind="stable")[:count]
        return order, apart[order]

    @cached_property
    def _ranges(self) -> FloatArray:
        """Return the range of each ordered column; 1 where it has none."""
        low = np.array([np.nanmin(c) if np.isfinite(c).any() else 0.0 for c in self.reference.T])
        high = np.array([np.nanmax(c) if np.isfinite(c).any() else 0.0 for c in self.reference.T])
        return np.where(high > low, high - low, 1.0)


LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # quantiles of a predictive distribution of numbers
UNCERTAIN = ("entropy", "variance", "width", "set_size")  # the first that applies
GRID = 25  # observed values of a feature that are tried
MOST = 2000  # reference observations that distances are taken to
NEIGHBOURS = 5
LEAST = 10  # reference observations that give a domain


Decide: TypeAlias = Callable[[Any], "AnyArray | None"]


class CaseSource(NamedTuple):
    """The subject that holds the observation, at `row`; `known` is whether it was among the subject's own."""

    subject: Subject
    row: int
    known: bool


class DomainFacts(NamedTuple):
    """Whether the observation is within the domain of the reference observations, and by which numbers."""

    inside: bool
    distance: float
    limit: float
    reference: str
    n: int
    beyond: tuple[str, ...]


@dataclass(frozen=True)
class CaseFacts:
    """Everything about one observation, as tidy tables.

    Parameters
    ----------
    label : str
        The observation, ``"observation 17"``.
    values : DataFrame
        Its feature values: feature, value.
    measures : DataFrame
        measure, title, unit, role, value, percentile: the share of the test sample below it.
    distribution : DataFrame
        item, value: probabilities of classes, or quantiles.
    decision : str
        The class decided for, or on which side of the threshold; empty where there is none.
    attributions : tuple of Result
        Shapley values of its measures; empty with a note where there are none.
    profiles : DataFrame
        feature, x, level, measure, value: along observed values of each feature.
    neighbours : DataFrame
        The nearest reference observations: distance, outcome, and their feature values.
    domain : DomainFacts, optional
    changes : DataFrame
        The smallest change of each single feature within the domain that changes the decision, or takes the
        uncertainty across the median of the test sample.
    groups : DataFrame
        group, n, measure, value, median, percentile.
    notes : tuple of str
    uncertainty : str
        The measure of uncertainty used.
    """

    label: str
    subject: Subject
    row: int
    values: pd.DataFrame
    measures: pd.DataFrame
    distribution: pd.DataFrame
    decision: str
    attributions: tuple[Result, ...]
    profiles: pd.DataFrame
    neighbours: pd.DataFrame
    domain: DomainFacts | None
    changes: pd.DataFrame
    groups: pd.DataFrame
    notes: tuple[str, ...]
    uncertainty: str


def source_of(subject: Subject, row: Any, y: Any = None) -> CaseSource:
    """Return the observation at a position of the subject, or a new one beside its own.

    Parameters
    ----------
    subject : Subject
    row : int, mapping, Series or DataFrame of one row
    y : label or number, optional
        The outcome of a new observation.

    Raises
    ------
    InputError
        If there is no such row, or a new one has other columns, types or levels.
    """
    if isinstance(row, int | np.integer) and not isinstance(row, bool):
        if not 0 <= row < subject.n:
            raise InputError(f"case.row must be a row number from 0 to {subject.n - 1}; got {row}.")
        if y is not None:
            raise InputError("case.y must be left out for an observation of the subject, which has its own.")
        return CaseSource(subject, int(row), known=True)
    if isinstance(subject.adapter, FixedRowsOnly):
        raise UnsupportedError("case.row must be a row number where predictions are stored; new rows need the model.")
    table = _joined(subject, _as_rows(subject, row))
    outcomes = None if y is None or subject.y is None else np.append(subject.y, np.asarray([y], dtype=subject.y.dtype))
    bare = replace(subject, weights=None, clusters=None, blocks=None, protected={}, sampled_from=None)
    return CaseSource(replace(bare, X=table, y=outcomes), subject.n, known=False)


def _as_rows(subject: Subject, row: Any) -> pd.DataFrame:
    """Return a new observation as a frame of the subject's features."""
    if isinstance(row, pd.Series):
        row = row.to_dict()
    if isinstance(row, Mapping):
        frame = pd.DataFrame({str(name): [value] for name, value in row.items()})
    elif isinstance(row, pd.DataFrame):
        frame = row.rename(columns=str)
    elif isinstance(row, np.ndarray | list | tuple) and np.size(row) == len(subject.features):
        frame = pd.DataFrame([list(np.ravel(np.asarray(row, dtype=object)))], columns=list(subject.features))
    else:
        raise InputError(
            f"case.row must be a row number, or a frame, mapping or list of one value for each of "
            f"{len(subject.features)} features; got a {type(row).__name__}."
        )
    lacking = [name for name in subject.features if name not in frame]
    extra = [str(name) for name in frame if name not in subject.features]
    if lacking or extra or len(frame) != 1:
        hint = f" {nearest(extra[0], lacking)}" if lacking and extra else ""
        raise InputError(
            f"case.row must be one row with the columns {list(subject.features)}; got {len(frame)} rows"
            f"{f', without {lacking}' if lacking else ''}{f', and besides {extra}' if extra else ''}.{hint}"
        )
    return frame[list(subject.features)]


def _joined(subject: Subject, new: pd.DataFrame) -> Table:
    """Return the subject's table with the new observation last, of the same column types."""
    if not isinstance(subject.X, pd.DataFrame):
        try:
            return np.vstack([subject.X, new.to_numpy().astype(subject.X.dtype)])
        except (TypeError, ValueError) as error:
            raise InputError(f"case.row must hold values of type {subject.X.dtype}; got {error}.") from error
    columns = {}
    for position, name in enumerate(subject.features):
        known, value = subject.X.iloc[:, position], new[name].iloc[0]
        levels = known.cat.categories if isinstance(known.dtype, pd.CategoricalDtype) else None
        if levels is not None and not pd.isna(value) and value not in levels:
            raise InputError(f"case.row[{name!r}] must be one of {list(levels)[:20]}; got {value!r}.")
        try:
            own = pd.Series([value]).astype(known.dtype)
        except (TypeError, ValueError) as error:
            raise InputError(f"case.row[{name!r}] must be of type {known.dtype}; got {value!r}.") from error
        columns[position] = pd.concat([known, own], ignore_index=True)
    return pd.DataFrame(columns).set_axis(subject.X.columns, axis=1)


def case_facts(
    source: CaseSource, settings: Settings, measures: Sequence[str] | None = None, threshold: float | None = None
) -> CaseFacts:
    """Return everything about one observation.

    Parameters
    ----------
    source : CaseSource
    settings : Settings
        Of the engine: seed, workers.
    measures : sequence of str, optional
        Those attributed and drawn; by default the prediction, the uncertainty, and its epistemic part or the nll.
    threshold : float, optional
        Of a number: from it on the decision is another.
    """
    subject, row = source.subject, source.row
    engine = make_engine(subject, load_measures(settings.deny), settings, None, load_fast_paths(settings))
    dist, decide = engine.baseline, _decider(threshold)
    kept = _kept(engine)
    shown = engine.select(measures)[0] if measures is not None else _shown(kept)
    rows, decisions = engine.unchanged(kept), decide(dist)
    uncertainty = next((measure.name for measure in kept if measure.name in UNCERTAIN), "")
    reference = _reference(source, engine)
    parts, notes = _attributed(subject, row, shown, settings)
    domain = tried = None
    if len(reference.table) < LEAST:
        notes.append(
            f"Domain and changes were not assessed: there are fewer than {LEAST} observations to compare with."
        )
    else:
        domain = CaseDomain.of(subject, row, reference)
    if isinstance(subject.adapter, FixedRowsOnly):
        notes.append("Profiles and changes are not available: only predictions are at hand, not the model.")
    elif domain is not None:
        tried = TriedValues.of(domain, decide, kept, engine)
    own = dict(zip([measure.name for measure in kept], rows[:, row], strict=True))
    others = rows if source.known else np.delete(rows, row, axis=1)
    of_uncertainty = [others[m] for m, measure in enumerate(kept) if measure.name == uncertainty]
    median = float(np.median(of_uncertainty)) if of_uncertainty else np.nan
    decision = "" if decisions is None else str(decisions[row])
    return CaseFacts(
        label=f"observation {row}" if source.known else "new observation",
        subject=subject,
        row=row,
        values=_values(subject, row),
        measures=_measures(measure_facts(kept, dist), rows[:, row], others),
        distribution=_distribution(dist.take(np.array([row]))),
        decision=decision,
        attributions=parts,
        profiles=pd.DataFrame() if tried is None else tried.profiles(subject, [measure.name for measure in shown]),
        neighbours=pd.DataFrame() if domain is None else domain.neighbours(subject),
        domain=None if domain is None else domain.facts(subject),
        changes=pd.DataFrame() if tried is None else tried.changes(subject, own, decision, uncertainty, median),
        groups=_groups(source, kept, rows, decisions),
        notes=(*notes, *_decision_note(dist, threshold)),
        uncertainty=uncertainty,
    )


def _kept(engine: Engine) -> tuple[Measure, ...]:
    """Return the measures of a case: prediction, the first uncertainty that applies, its parts, and with y losses."""
    spread = next((m.name for m in engine.select(UNCERTAIN)[0] if m.name in UNCERTAIN), "")
    names = ["prediction", *filter(None, [spread]), DECOMPOSITION, *([LOSS, "nll"] if engine.y is not None else [])]
    return tuple(measure for measure in engine.select(names)[0] if measure.statistic is None)


def _shown(kept: Sequence[Measure]) -> tuple[Measure, ...]:
    """Return the measures that are attributed and drawn: of each role the first, and the epistemic part."""
    first = [next((m for m in kept if m.role == role), None) for role in ("prediction", "uncertainty")]
    more = [measure for measure in kept if measure.name in ("epistemic", "nll")]
    return tuple(measure for measure in (*first, *more[:1]) if measure is not None)


def _attributed(
    subject: Subject, row: int, shown: Sequence[Measure], settings: Settings
) -> tuple[tuple[Result, ...], list[str]]:
    """Return the Shapley values of one observation, or why there are none."""
    options = {"measures": tuple(measure.name for measure in shown), "rows": (row,), "n_rows": 0}
    try:
        return single(subject, ids.SHAP, options, settings), []
    except UQReportError as error:
        return (), [f"Shapley values are not available: {error}"]


class CaseReference(NamedTuple):
    """Observations to compare with, their outcomes, and what they are."""

    table: Table
    y: AnyArray | None
    what: str


def _reference(source: CaseSource, engine: Engine) -> CaseReference:
    """Return training observations, at most `MOST`; without any the others of the test sample."""
    subject = source.subject
    if subject.train is not None:
        table, y, what = *subject.train, "training observations"
        keep = np.arange(len(table))
    else:
        table, y, what = subject.X, subject.y, "other observations of the test sample"
        keep = np.delete(np.arange(subject.n), source.row)
    if len(keep) > MOST:
        keep = np.sort(engine.rng("case").choice(keep, MOST, replace=False))
    return CaseReference(take_rows(table, keep), None if y is None else y[keep], what)


@dataclass(frozen=True)
class CaseDomain:
    """The reference observations with the one explained last, `numbers` for distances, and their own distances."""

    reference: CaseReference
    pool: Table
    numbers: FloatArray
    space: GowerDomain
    limit: float

    @classmethod
    def of(cls, subject: Subject, row: int, reference: CaseReference) -> CaseDomain:
        """Measure the distances among the reference observations."""
        own = take_rows(subject.X, np.array([row]))
        if isinstance(own, pd.DataFrame):
            parts = [pd.DataFrame(reference.table).set_axis(own.columns, axis=1), own]
            pool: Table = pd.concat(parts, ignore_index=True)
        else:
            pool = np.vstack([reference.table, own])
        kinds = [subject.kinds[name] for name in subject.features]
        cells = [pd.Series(column(pool, j)) for j in range(len(kinds))]
        numbers = np.column_stack([as_numbers(values, kind) for values, kind in zip(cells, kinds, strict=True)])
        space = GowerDomain(numbers[:-1], np.array([kind != "categorical" for kind in kinds]), NEIGHBOURS)
        return cls(reference, pool, numbers, space, space.limit)

    def inside(self, rows: FloatArray) -> BoolArray:
        """Say which rows are as near to reference observations as these are to each other."""
        return self.space.kth(rows) <= self.limit

    def facts(self, subject: Subject) -> DomainFacts:
        """Return whether the observation is within the domain."""
        own, names = self.numbers[-1], subject.features
        beyond = tuple(filter(None, (self._beyond(j, names[j], own[j]) for j in range(len(names)))))
        distance, n = float(self.space.kth(own[None])[0]), len(self.space.reference)
        return DomainFacts(distance <= self.limit and not beyond, distance, self.limit, self.reference.what, n, beyond)

    def _beyond(self, j: int, name: str, own: float) -> str:
        """Say how one value is unlike all reference values; empty where it is not."""
        values = self.space.reference[:, j]
        known = values[~np.isnan(values)]
        if np.isnan(own):
            return "" if len(known) < len(values) else f"{name} is missing, which it is in none of them"
        if not self.space.ordered[j]:
            return "" if own in known else f"{name} has a level that none of them has"
        if not len(known) or known.min() <= own <= known.max():
            return ""
        return f"{name} is {'below' if own < known.min() else 'above'} their range"

    def neighbours(self, subject: Subject) -> pd.DataFrame:
        """Return the nearest reference observations with outcomes and feature values."""
        at, apart = self.space.nearest(self.numbers[-1], NEIGHBOURS)
        near = take_rows(self.pool, at)
        y = {} if self.reference.y is None else {"outcome": pd.Series(self.reference.y[at]).astype(object)}
        table = {name: pd.Series(column(near, j)).astype(object) for j, name in enumerate(subject.features)}
        return pd.DataFrame({"distance": apart, **y, **table})


@dataclass(frozen=True)
class TriedValues:
    """Predictions of the observation with one feature at a value that a reference observation has.

    Row k has the value of observation ``donor[k]`` of the pool in column ``feature[k]``; `values` has shape
    (measures, rows).
    """

    domain: CaseDomain
    feature: IntArray
    donor: IntArray
    measures: tuple[Measure, ...]
    values: FloatArray
    decisions: AnyArray | None

    @classmethod
    def of(cls, domain: CaseDomain, decide: Decide, kept: Sequence[Measure], engine: Engine) -> TriedValues:
        """Predict all of them at once."""
        numbers = domain.numbers
        places = [(j, k) for j in range(numbers.shape[1]) for k in _grid(numbers[:, j], bool(domain.space.ordered[j]))]
        feature, donor = np.array(places, dtype=np.int64).T
        dist = engine.predict(composed_rows(domain.pool, _composed(feature, donor, numbers)))
        usable = tuple(measure for measure in kept if not (measure.needs_base or measure.needs_y))
        return cls(domain, feature, donor, usable, rows_of(dist, usable, None, None), decide(dist))

    def of_measure(self, name: str) -> FloatArray:
        """Return one measure of all of them."""
        return self.values[[measure.name for measure in self.measures].index(name)]

    def profiles(self, subject: Subject, names: Sequence[str]) -> pd.DataFrame:
        """Return the profiles of measures through the observation, which is where `own` is true."""
        parts, last = [], len(self.domain.numbers) - 1
        for j, name in enumerate(subject.features):
            at = np.flatnonzero(self.feature == j)
            cells = pd.Series(column(self.domain.pool, j)).iloc[self.donor[at]]
            numeric = subject.kinds[name] == "numeric"
            x = cells.to_numpy(float, na_value=np.nan) if numeric else np.arange(len(at), dtype=float)
            levels = [""] * len(x) if numeric else [str(value) for value in cells]
            for measure in self.measures:
                if measure.name in names:
                    table = {col.FEATURE: name, col.X: x, col.LEVEL: levels, col.MEASURE: measure.name}
                    own = self.donor[at] == last
                    parts.append(pd.DataFrame({**table, col.VALUE: self.of_measure(measure.name)[at], "own": own}))
        frame = pd.concat(parts, ignore_index=True).dropna(subset=[col.X])
        return frame.sort_values([col.FEATURE, col.MEASURE, col.X], kind="stable", ignore_index=True)

    def changes(
        self, subject: Subject, own: Mapping[str, float], decision: str, uncertainty: str, median: float
    ) -> pd.DataFrame:
        """Return for each feature the smallest change within the domain that matters, smallest first.

        The size of a change is the share of reference observations between the two values; of levels, the share of
        those that do not have the new one.
        """
        inside = self.domain.inside(
            np.take_along_axis(self.domain.numbers, _composed(self.feature, self.donor, self.domain.numbers), axis=0)
        )
        found = []
        for what, hit in self._targets(own, decision, uncertainty, median):
            for j, name in enumerate(subject.features):
                at = np.flatnonzero(hit & inside & (self.feature == j))
                if len(at):
                    sizes = self._sizes(j, at)
                    best = at[int(np.argmin(sizes))]
                    found.append((what, name, *self._line(j, best), float(sizes.min()), self._shown(best, uncertainty)))
        names = ["changes", "feature", "from", "to", "size", "result"]
        return pd.DataFrame(found, columns=names).sort_values(["changes", "size"], kind="stable", ignore_index=True)

    def _targets(
        self, own: Mapping[str, float], decision: str, uncertainty: str, median: float
    ) -> list[tuple[str, BoolArray]]:
        """Return what a change may do, and which of the tried values do it."""
        targets = []
        if self.decisions is not None:
            targets.append(("decision", np.asarray(self.decisions.astype(str) != decision)))
        if uncertainty:
            targets.append(("uncertainty", (self.of_measure(uncertainty) > median) != (own[uncertainty] > median)))
        return targets

    def _sizes(self, j: int, at: IntArray) -> FloatArray:
        reference, own = self.domain.space.reference[:, j], self.domain.numbers[-1, j]
        new = self.domain.numbers[self.donor[at], j]
        if not self.domain.space.ordered[j] or np.isnan(own):
            return 1 - (reference[None, :] == new[:, None]).mean(axis=1)
        below = (reference[None, :] <= new[:, None]).mean(axis=1)
        return np.abs(below - (reference <= own).mean())

    def _line(self, j: int, k: int) -> tuple[Any, Any]:
        cells = column(self.domain.pool, j)
        return cells[len(self.domain.numbers) - 1], cells[self.donor[k]]

    def _shown(self, k: int, uncertainty: str) -> str:
        """Return decision, prediction and uncertainty after a change, in words."""
        names = [name for name in ("prediction", uncertainty) if name in {m.name for m in self.measures}]
        numbers = [f"{name} {number(float(self.of_measure(name)[k]))}" for name in names]
        decided = [] if self.decisions is None else [f"decision {self.decisions[k]}"]
        return ", ".join([*decided, *numbers])


def _composed(feature: IntArray, donor: IntArray, numbers: FloatArray) -> IntArray:
    """Return which row of the pool each cell of the changed observations is taken from."""
    at = np.full((len(feature), numbers.shape[1]), len(numbers) - 1)
    at[np.arange(len(feature)), feature] = donor
    return at


def _grid(values: FloatArray, ordered: bool) -> list[int]:
    """Return positions of observations with at most `GRID` distinct values, and that of the last, explained one."""
    known = np.flatnonzero(~np.isnan(values[:-1]))
    distinct, first, counts = np.unique(values[known], return_index=True, return_counts=True)
    if len(distinct) > GRID:
        places = np.linspace(0, len(distinct) - 1, GRID).round().astype(int) if ordered else np.argsort(-counts)[:GRID]
        first = first[np.sort(places)]
    return [int(k) for k in known[first] if values[k] != values[-1]] + [len(values) - 1]


def _decider(threshold: float | None) -> Decide:
    """Return a function from distributions to the words of their decisions, or to None where there are none."""

    def decide(q: Any) -> AnyArray | None:
        if "decisions" in q.supports:
            return np.asarray(q.classes, dtype=object)[q.decisions()]
        if threshold is None or "mean" not in q.supports:
            return None
        return np.where(q.mean() >= threshold, f"at least {threshold:g}", f"below {threshold:g}").astype(object)

    return decide


def _decision_note(dist: Distribution, threshold: float | None) -> tuple[str, ...]:
    if "proba" in dist.supports:
        return (f"Decision rule: {'the most probable class' if dist.rule is None else dist.rule.words}.",)
    return () if threshold is not None else ("There is no decision: none was defined by a threshold.",)


def _values(subject: Subject, row: int) -> pd.DataFrame:
    cells = [subject.values(name)[row] for name in subject.features]
    return pd.DataFrame({"feature": list(subject.features), "value": pd.Series(cells, dtype=object)})


def _measures(facts: Mapping[str, MeasureFacts], own: FloatArray, others: FloatArray) -> pd.DataFrame:
    percentile = [_percentile(value, rest) for value, rest in zip(own, others, strict=True)]
    rows = [(name, fact.title, fact.unit, fact.role) for name, fact in facts.items()]
    table = pd.DataFrame(rows, columns=["measure", "title", "unit", "role"])
    return table.assign(value=own, percentile=percentile)


def _percentile(value: float, others: FloatArray) -> float:
    """Return the share of others below a value, of equal ones the half.

    Examples
    --------
    >>> _percentile(2.0, np.array([1.0, 2.0, 3.0, 4.0]))
    0.375
    """
    return float((others < value).mean() + 0.5 * (others == value).mean())


def _distribution(q: Any) -> pd.DataFrame:
    """Return the probabilities of the classes, or quantiles, or mean and standard deviation of one prediction."""
    if "proba" in q.supports:
        items = [(str(label), float(p)) for label, p in zip(q.classes, q.probabilities[0], strict=True)]
    elif "quantile" in q.supports:
        quantiles = np.ravel(q.quantile(np.array(LEVELS)))
        items = [(f"{100 * level:g}% quantile", float(x)) for level, x in zip(LEVELS, quantiles, strict=True)]
    else:
        named = (("mean", "mean", 1.0), ("standard deviation", "variance", 0.5))
        items = [(what, float(getattr(q, of)()[0]) ** power) for what, of, power in named if of in q.supports]
    return pd.DataFrame(items, columns=["item", "value"])


def _groups(source: CaseSource, kept: Sequence[Measure], rows: FloatArray, decisions: AnyArray | None) -> pd.DataFrame:
    """Return the observation among all, those with its decision, and those of each of its protected groups."""
    subject, row = source.subject, source.row
    others = np.arange(subject.n) != row
    groups = {"all observations": others}
    if decisions is not None:
        groups[f"same decision ({decisions[row]})"] = others & (decisions == decisions[row])
    for attribute, values in subject.protected.items():
        groups[f"{attribute} = {values[row]}"] = others & (np.asarray(values) == values[row])
    found = []
    for group, at in groups.items():
        for k, m in enumerate(kept):
            if at.any() and m.role in ("prediction", "uncertainty"):
                own, rest = rows[k, row], rows[k, at]
                found.append((group, int(at.sum()), m.name, own, float(np.median(rest)), _percentile(own, rest)))
    return pd.DataFrame(found, columns=["group", "n", "measure", "value", "median", "percentile"])
