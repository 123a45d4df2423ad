"""Every importance that ran, as one ranking of the features, with rank intervals where its row terms allow them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import without_parts
from ...core.model.results import Importance, Interaction, MeasureFacts, Omission, Result
from ...core.model.subject import Subject
from ...core.statistics.inference import MIN_CLUSTERS, n_units
from ...core.statistics.ranking import ROUNDING, RankIntervals, normal_draws, rank_intervals, ranks, term_covariance
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.text import count
from ...evidence import columns as col
from ...evidence.importance import directed

CLOSE = 1e-6


@dataclass(frozen=True)
class Method:
    """One result's importances of one measure: values (d,), ranks, bounds where there are any, draws of the values.

    `sign` is -1 where the smallest value is ranked first; `own` says that the measure is no registered one but the
    name of a method.
    """

    id: str
    title: str
    measure: str
    role: str
    features: tuple[str, ...]
    value: FloatArray
    rank: IntArray
    bounds: RankIntervals | None
    draws: FloatArray | None
    why: str
    sign: int
    own: bool

    @property
    def label(self) -> str:
        """The method and what it explains, as text."""
        return f"{self.id}: {self.measure}" if self.measure else self.id

    def among(self, features: Sequence[str]) -> IntArray:
        """Return the ranks among some of the features."""
        values = [-self.rank[self.features.index(name)] for name in features]  # the smallest rank leads
        return ranks(np.array(values, dtype=float))

    def at(self, feature: str) -> tuple[int, int, int]:
        """Return rank, lower and upper bound of a feature; those of its tie where there is no interval."""
        j = self.features.index(feature)
        rank = int(self.rank[j])
        if self.bounds is None:
            return rank, rank, rank + int((self.rank == rank).sum()) - 1
        return rank, int(self.bounds.lower[j]), int(self.bounds.upper[j])


def methods(
    prior: Prior, engine: Engine, absolute: bool, n_draws: int
) -> tuple[tuple[Method, ...], tuple[Omission, ...]]:
    """Return every ranking that the results give, in their order, and the features that have no place in one.

    Ranked are importances by their size where `absolute`, else with their sign; bounds take `n_draws` draws.
    """
    names = engine.subject.features
    rankings, gaps = [], []
    for result in chain.from_iterable(prior.values()):
        tables = {measure: rows[rows[col.FEATURE].isin(names)] for measure, rows in _tables(result)}
        for measure in without_parts(tables):
            table = tables[measure]
            if table[col.FEATURE].duplicated().any():
                gaps.append(Omission(measure, "", "one method has several values for one feature: no ranking"))
                continue
            present = set(table[col.FEATURE])
            missing = [name for name in names if name not in present]
            fuller = _fuller(result, measure, tables, engine) if missing and len(table) else ""
            if fuller:
                reason = f"it has no value of {count(len(missing), 'feature')}, and {fuller} ranks more of them"
                gaps.append(Omission(measure, "", reason))
                continue
            gaps += [Omission(measure, name, "one method has no value of it to rank") for name in missing]
            if len(table):
                rankings.append(_method(result, measure, table, engine, absolute, n_draws))
    return tuple(rankings), tuple(gaps)


def _fuller(result: Result, measure: str, tables: Mapping[str, pd.DataFrame], engine: Engine) -> str:
    """Return another measure of the question that has values of more features; empty if there is none.

    A log score that is infinite for some features ranks the others alone, and so none of those that cost most.
    """
    role = _facts(result, measure, engine).role
    others = (m for m in tables if role and m != measure and _facts(result, m, engine).role == role)
    return next((m for m in others if len(tables[m]) > len(tables[measure])), "")


def _tables(result: Result) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield measure and estimates of an importance, or of interactions with all other features together."""
    table = result.estimates
    if result.kind == Interaction.kind and col.FEATURE_2 in table:
        table = table[table[col.FEATURE_2] == ""]
    elif result.kind != Importance.kind:
        return
    if "ranked" in table:
        table = table[table["ranked"].astype(bool)]
    for measure, rows in table.groupby(col.MEASURE, sort=False):
        yield str(measure), rows[rows[col.ESTIMATE].notna()]


def _method(result: Result, measure: str, table: pd.DataFrame, engine: Engine, absolute: bool, n_draws: int) -> Method:
    features, facts = tuple(map(str, table[col.FEATURE])), _facts(result, measure, engine)
    sign, rounding = directed(result, facts).sign, _rounding(measure, engine)
    value = _cleared(table[col.ESTIMATE].to_numpy(dtype=float), rounding)
    directed_value = sign * value
    bounds, draws = None, None
    terms = _terms(result, measure, features, value, engine.subject, rounding)
    why = terms if isinstance(terms, str) else _too_few(table, *terms[1:])
    if not isinstance(terms, str) and not why:
        covariance, units = term_covariance(*terms), n_units(*terms[1:])  # that of values of the other sign is the same
        error = table[col.STD_ERROR].to_numpy(dtype=float)
        noise = normal_draws(covariance, n_draws, engine.rng("draws", result.id, measure))
        confidence = engine.confidence
        bounds = rank_intervals(
            directed_value, covariance, error, noise, units, confidence=confidence, absolute=absolute
        )
        draws = np.abs(noise + directed_value) if absolute else noise + directed_value
    return Method(
        id=result.id,
        title=result.title,
        measure=measure,
        role=_role(result, measure, facts),
        features=features,
        value=value,
        rank=ranks(np.abs(value) if absolute else directed_value),
        bounds=bounds,
        draws=draws,
        why=why,
        sign=sign,
        own=measure not in engine.measures,
    )


def _facts(result: Result, measure: str, engine: Engine) -> MeasureFacts:
    """Return what the result records of a measure, else what is registered."""
    registered = engine.measures.get(measure)
    if measure in result.measures or registered is None:
        return result.measures.get(measure, MeasureFacts(measure, "", ""))
    return MeasureFacts(registered.title, registered.unit, registered.role, registered.direction)


def _terms(
    result: Result, measure: str, features: Sequence[str], value: FloatArray, subject: Subject, rounding: float
) -> tuple[FloatArray, FloatArray, IntArray | None] | str:
    """Return row terms (d, n), weights and clusters, or why there are none to be had."""
    values = result.rows
    if values is None or measure not in values.measures or not set(features) <= set(values.features):
        return "it has no row terms"
    rows = _cleared(np.stack([values.of(measure, name) for name in features]), rounding)
    used = result.meta.get("rows_used", range(subject.n))
    sample = np.atleast_1d(np.asarray(used, dtype=np.int64))
    if rows.shape[1] != len(sample):
        return "it does not say which rows its terms belong to"
    weights = np.ones(len(sample)) if subject.weights is None else subject.weights[sample]
    with np.errstate(invalid="ignore"):
        off = np.abs(rows @ (weights / weights.sum()) - value)
    if not (off <= CLOSE * max(float(np.abs(value).max()), float(np.abs(rows).mean()))).all():
        return "its row terms do not average to its importances"
    return rows, weights, None if subject.clusters is None else subject.clusters[sample]


def _rounding(measure: str, engine: Engine) -> float:
    """Return the size below which an importance is rounding, from that of the measure itself where it is known."""
    registered = engine.measures.get(measure)
    if registered is None or registered.why_not(engine.baseline, engine.subject.y is not None):
        return 0.0
    values = np.abs(engine.unchanged([registered])[0])
    return ROUNDING * float(values[np.isfinite(values)].mean()) if np.isfinite(values).any() else 0.0


def _cleared(values: FloatArray, rounding: float) -> FloatArray:
    """Return the values with 0 for rounding, so that what is exactly 0 ties."""
    return np.where(np.abs(values) <= rounding, 0.0, values)


def _too_few(table: pd.DataFrame, weights: FloatArray, clusters: IntArray | None) -> str:
    """Return why the rows cannot show how sure the ranks are, or the empty string."""
    units = n_units(weights, clusters)
    if clusters is not None and units < MIN_CLUSTERS:
        return f"{count(units, 'cluster')} cannot show how clusters vary; at least {MIN_CLUSTERS} are needed"
    known = table[col.STD_ERROR].notna().all()
    covers = known and all(str(cell).startswith("new test rows") for cell in table[col.COVERS])
    return "" if covers and units > 1 else "its importances have no interval over new rows"


def _role(result: Result, measure: str, facts: MeasureFacts) -> str:
    """Return which question a method answers: a measure's role, or interaction; empty where nobody says.

    DALEX's importance of the prediction is the rise of a loss.
    """
    if result.kind == Interaction.kind:
        return "interaction"
    losses: Mapping[str, str] = result.meta.get("losses", {})
    return facts.role if losses.get(measure, f"mean {measure}") == f"mean {measure}" else "loss"
