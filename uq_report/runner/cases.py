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
from ..core.model.results import Result
from ..core.model.subject import Subject
from ..core.model.variants import composed_rows
from ..core.predictive import Distribution
from ..core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, as_numbers, column, take_rows
from ..core.support.errors import InputError, UnsupportedError, UQReportError, check_choice, nearest
from ..core.support.numbers import number
from ..evidence import columns as col, ids
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

    @cached_property
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
    if isinstance(row, np.ndarray | list | tuple) and np.size(row) == len(subject.features):
        row = dict(zip(subject.features, np.ravel(np.asarray(row, dtype=object)), strict=True))
    if isinstance(row, pd.Series | Mapping):
        row = pd.DataFrame({name: [value] for name, value in row.items()})
    if not isinstance(row, pd.DataFrame):
        raise InputError(
            f"case.row must be a row number, or a frame, mapping or list of one value for each of "
            f"{len(subject.features)} features; got a {type(row).__name__}."
        )
    frame = row.rename(columns=str)
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
        if levels is not None and not pd.isna(value):
            check_choice(f"case.row[{name!r}]", value, levels)
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
    shown = [measure.name for measure in (engine.select(measures)[0] if measures is not None else _shown(kept))]
    rows, decisions = engine.unchanged(kept), decide(dist)
    attributions, notes = _attributed(subject, row, shown, settings)
    domain = CaseDomain.of(source, engine)
    if domain is None:
        notes.append(
            f"Domain and changes were not assessed: there are fewer than {LEAST} observations to compare with."
        )
    if isinstance(subject.adapter, FixedRowsOnly):
        notes.append("Profiles and changes are not available: only predictions are at hand, not the model.")
        tried = None
    else:
        tried = None if domain is None else _tried(domain, decide, kept, engine)
    others = rows if source.known else np.delete(rows, row, axis=1)
    k, uncertainty = next(((k, m.name) for k, m in enumerate(kept) if m.name in UNCERTAIN), (0, ""))
    sides = float(rows[k, row]), float(np.median(others[k]))
    decision = "" if decisions is None else str(decisions[row])
    facts = measure_facts(kept, dist)
    table = pd.DataFrame([(name, fact.title, fact.unit, fact.role) for name, fact in facts.items()])
    percentiles = [_percentile(own, rest) for own, rest in zip(rows[:, row], others, strict=True)]
    cells = [subject.values(name)[row] for name in subject.features]
    return CaseFacts(
        label=f"observation {row}" if source.known else "new observation",
        subject=subject,
        row=row,
        values=pd.DataFrame({"feature": list(subject.features), "value": pd.Series(cells, dtype=object)}),
        measures=table.set_axis(["measure", "title", "unit", "role"], axis=1).assign(
            value=rows[:, row], percentile=percentiles
        ),
        distribution=_distribution(dist.take(np.array([row]))),
        decision=decision,
        attributions=attributions,
        profiles=pd.DataFrame() if tried is None else _profiles(tried, shown),
        neighbours=pd.DataFrame() if domain is None else domain.neighbours(),
        domain=None if domain is None else domain.facts(),
        changes=pd.DataFrame() if tried is None else _changes(tried, decision, uncertainty, *sides),
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
    subject: Subject, row: int, shown: Sequence[str], settings: Settings
) -> tuple[tuple[Result, ...], list[str]]:
    """Return the Shapley values of one observation, or why there are none."""
    options = {"measures": tuple(shown), "rows": (row,), "n_rows": 0}
    try:
        return single(subject, ids.SHAP, options, settings), []
    except UQReportError as error:
        return (), [f"Shapley values are not available: {error}"]


@dataclass(frozen=True)
class CaseDomain:
    """Reference observations with the one explained last, as a table and as `numbers`, and their own distances.

    `what` they are, and their outcomes `y`.
    """

    subject: Subject
    pool: Table
    y: AnyArray | None
    what: str
    numbers: FloatArray
    space: GowerDomain

    @classmethod
    def of(cls, source: CaseSource, engine: Engine) -> CaseDomain | None:
        """Take at most `MOST` training observations, without any the others of the test sample; None if too few."""
        subject = source.subject
        if subject.train is not None:
            table, y, what = *subject.train, "training observations"
            keep = np.arange(len(table))
        else:
            table, y, what = subject.X, subject.y, "other observations of the test sample"
            keep = np.delete(np.arange(subject.n), source.row)
        if len(keep) < LEAST:
            return None
        if len(keep) > MOST:
            keep = np.sort(engine.rng("case").choice(keep, MOST, replace=False))
        near, own = take_rows(table, keep), take_rows(subject.X, np.array([source.row]))
        if isinstance(own, pd.DataFrame):
            pool: Table = pd.concat([pd.DataFrame(near).set_axis(own.columns, axis=1), own], ignore_index=True)
        else:
            pool = np.vstack([near, own])
        kinds = [subject.kinds[name] for name in subject.features]
        numbers = np.column_stack([as_numbers(pd.Series(column(pool, j)), kind) for j, kind in enumerate(kinds)])
        space = GowerDomain(numbers[:-1], np.array([kind != "categorical" for kind in kinds]), NEIGHBOURS)
        return cls(subject, pool, None if y is None else y[keep], what, numbers, space)

    def facts(self) -> DomainFacts:
        """Return whether the observation is within the domain."""
        beyond = tuple(filter(None, map(self._beyond, range(len(self.subject.features)))))
        distance, limit = float(self.space.kth(self.numbers[-1:])[0]), self.space.limit
        inside = distance <= limit and not beyond
        return DomainFacts(inside, distance, limit, self.what, len(self.space.reference), beyond)

    def _beyond(self, j: int) -> str:
        """Say how one value is unlike all reference values; empty where it is not."""
        name, values, own = self.subject.features[j], self.space.reference[:, j], self.numbers[-1, j]
        known = values[~np.isnan(values)]
        if np.isnan(own):
            return "" if len(known) < len(values) else f"{name} is missing, which it is in none of them"
        if not self.space.ordered[j]:
            return "" if own in known else f"{name} has a level that none of them has"
        if not len(known) or known.min() <= own <= known.max():
            return ""
        return f"{name} is {'below' if own < known.min() else 'above'} their range"

    def neighbours(self) -> pd.DataFrame:
        """Return the nearest reference observations with outcomes and feature values."""
        at, apart = self.space.nearest(self.numbers[-1], NEIGHBOURS)
        near = take_rows(self.pool, at)
        y = {} if self.y is None else {"outcome": pd.Series(self.y[at]).astype(object)}
        table = {name: pd.Series(column(near, j)).astype(object) for j, name in enumerate(self.subject.features)}
        return pd.DataFrame({"distance": apart, **y, **table})

    def size(self, j: int, donors: IntArray) -> FloatArray:
        """Return the share of reference observations between the own value of a feature and those of others.

        Of levels and of a missing value, the share of those that do not have the new one.
        """
        reference, own, new = self.space.reference[:, j], self.numbers[-1, j], self.numbers[donors, j, None]
        if not self.space.ordered[j] or np.isnan(own):
            return np.asarray(1 - (reference == new).mean(axis=1))
        return np.abs((reference <= new).mean(axis=1) - (reference <= own).mean())


def _tried(domain: CaseDomain, decide: Decide, kept: Sequence[Measure], engine: Engine) -> pd.DataFrame:
    """Return the observation with one feature at a value that a reference observation has, a line for each.

    Columns: feature, x, level, own (whether it is the own value), from, to, size of the change, inside the domain, the
    decision if there is one, and the measures.
    """
    numbers, last, parts, cells = domain.numbers, len(domain.numbers) - 1, [], []
    for j, name in enumerate(domain.subject.features):
        donors = np.array(_grid(numbers[:, j], bool(domain.space.ordered[j])))
        at = np.full((len(donors), numbers.shape[1]), last)
        at[:, j] = donors
        cells.append(at)
        values = column(domain.pool, j)
        numeric = domain.subject.kinds[name] == "numeric"
        table = {
            col.FEATURE: name,
            col.X: numbers[donors, j] if numeric else np.arange(len(donors), dtype=float),
            col.LEVEL: "" if numeric else [str(values[k]) for k in donors],
            "own": donors == last,
            "from": pd.Series([values[last]] * len(donors), dtype=object),
            "to": pd.Series([values[k] for k in donors], dtype=object),
            "size": domain.size(j, donors),
        }
        parts.append(pd.DataFrame(table))
    places = np.concatenate(cells)
    dist = engine.predict(composed_rows(domain.pool, places))
    inside = domain.space.kth(np.take_along_axis(numbers, places, axis=0)) <= domain.space.limit
    usable = [measure for measure in kept if not (measure.needs_base or measure.needs_y)]
    values_of = dict(zip([measure.name for measure in usable], rows_of(dist, usable, None, None), strict=True))
    decisions = decide(dist)
    decided = {} if decisions is None else {"decision": decisions.astype(str)}
    return pd.concat(parts, ignore_index=True).assign(inside=inside, **decided, **values_of)


def _profiles(tried: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the profiles of measures through the observation, which is where `own` is true."""
    keys = [col.FEATURE, col.X, col.LEVEL, "own"]
    long = tried.melt(keys, [name for name in tried if name in names], col.MEASURE, col.VALUE).dropna(subset=[col.X])
    ordered = long.sort_values([col.FEATURE, col.MEASURE, col.X], kind="stable", ignore_index=True)
    return ordered[[col.FEATURE, col.X, col.LEVEL, col.MEASURE, col.VALUE, "own"]]


def _changes(tried: pd.DataFrame, decision: str, uncertainty: str, own: float, median: float) -> pd.DataFrame:
    """Return for each feature the smallest change within the domain that matters, smallest first.

    One matters that changes the decision, or takes the uncertainty from its `own` value across the `median`.
    """
    hits = {"decision": tried["decision"] != decision} if decision else {}
    if uncertainty:
        hits["uncertainty"] = (tried[uncertainty] > median) != (own > median)
    found = []
    for what, hit in hits.items():
        by_size = tried[hit & tried["inside"]].sort_values("size", kind="stable")
        for line in by_size.drop_duplicates(col.FEATURE).to_dict("records"):
            words = [f"{name} {number(line[name])}" for name in ("prediction", uncertainty) if name in line]
            result = ", ".join([f"decision {line['decision']}", *words] if decision else words)
            found.append((what, line[col.FEATURE], line["from"], line["to"], line["size"], result))
    return pd.DataFrame(found, columns=["changes", "feature", "from", "to", "size", "result"])


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
