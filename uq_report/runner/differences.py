"""Differences of estimates of two models or of two runs, with intervals that say what they rest on.

With `b` and `a` an estimate before and now, the interval is ``a - b ± t se``, and `se` is

- *paired*: of the mean of the row terms' differences. Two models audited together are always paired; two runs are
  where both hold row terms of the same rows (the hash of X is equal), without weights or clusters, and these terms
  average to the estimates; of a sample of the rows, where the runs keep no more, which is named;
- *same rows, standard errors added*: ``se_a + se_b``, which is enough whatever the dependence (Cauchy-Schwarz);
- *independent*: ``√(se_a² + se_b²)``, where the rows are not the same.

`t` has the degrees of freedom of the run with fewer units, which is on the safe side of Welch's. Shuffling noise
stays in paired row terms, so the interval is wide enough for two runs of different seeds as well. The level is that
of the later run, whatever the earlier one had. A difference counts as a change if its p-value is at most one less the
level after Holm's adjustment over all values compared.

Explainers, checks and the comparison of two models read the row terms of all rows. Only the comparison with a later run
reads them after that, so a run keeps none of results that are not compared, and those of a random sample of many rows:
s rows give the standard error of such a difference up to a share of 1/√(2s).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from ..core.model.results import Importance, Result, RowSample, RowValues
from ..core.model.sampling import Sampling, t_quantile
from ..core.statistics.inference import CONFIDENCE
from ..core.statistics.verdicts import holm
from ..core.support.arrays import FloatArray, IntArray
from ..evidence import codec, columns as col, ids
from ..evidence.run import Run, ValueChange

PAIRED = "same observations, paired"
BOUND = "same observations, standard errors added"
INDEPENDENT = "independent samples"
RANKS = "from the rank intervals of both runs"
RANKING = ids.AGREEMENT
ROUNDING = 1e-9  # of a value's size: a smaller difference is rounding
CLOSE = 1e-6
LEAST = 100  # rows, if there are as many, whose terms are compared
SCOPE = (
    "Curves, interactions and contributions to single observations: only importances, scores and ranks are compared."
)
MOST_ROWS, LEAST_ROWS = 2000, LEAST  # kept of a result, where it has as many
NUMBERS = 100_000  # of a result, unless `LEAST_ROWS` are more

_Key = tuple[str, str, str]  # measure, feature, item
_Record = dict[str, Any]


class Difference(NamedTuple):
    """An estimate now less the same before, with its standard error; `how` says what that rests on."""

    before: float
    now: float
    difference: float
    error: float
    dof: int
    how: str = PAIRED

    @classmethod
    def paired(cls, before: FloatArray, now: FloatArray, sampling: Sampling) -> Difference:
        """Return the difference of two means over the same rows."""
        mean, error = sampling.mean(now - before)
        weights = sampling.weights
        return cls(float(weights @ before), float(weights @ now), float(mean), float(error), sampling.units - 1)

    @property
    def p_value(self) -> float:
        """Two-sided, of no difference."""
        if self.difference == 0:
            return 1.0
        return float(2 * stdtr(self.dof, -abs(self.difference) / self.error)) if self.error > 0 else 0.0

    def interval(self, level: float) -> tuple[float, float]:
        """Return the t-interval."""
        reach = t_quantile(0.5 + level / 2, self.dof) * self.error
        return self.difference - reach, self.difference + reach


def differences(previous: Run, run: Run) -> tuple[tuple[ValueChange, ...], list[str]]:
    """Return the difference of every importance, score and rank that both runs hold, and what was not compared."""
    for fact in ("classes", "positive_class"):
        if previous.subject.get(fact) != run.subject.get(fact):
            return (), [f"All values: the {fact.replace('_', ' ')} of the two runs differ, so they mean other things."]
    rows = _Rows.of(previous, run)
    gaps, found, ranks = [SCOPE], list[tuple[str, _Key, Difference]](), list[ValueChange]()
    for now in filter(_is_compared, run.results):
        before = previous.find(now.id)
        if before is None:
            gaps.append(f"{now.id}: it is not in the previous run.")
        elif now.id == RANKING:
            ranks += _rank_changes(before, now, gaps)
        else:
            both = _whole(previous, before), _whole(run, now)
            found += [(now.id, key, difference) for key, difference in _of_result(*both, rows, gaps)]
    gone = [r.id for r in previous.results if _is_compared(r) and run.find(r.id) is None]
    gaps += [f"{name}: it is only in the previous run." for name in gone]
    level = float(run.settings.get("confidence", CONFIDENCE))
    changed = holm([difference.p_value for _, _, difference in found]) <= 1 - level
    values = [
        _change(name, key, one[:3], one.interval(level), f"{100 * level:g}%, {one.how}", bool(is_new))
        for (name, key, one), is_new in zip(found, changed, strict=True)
    ]
    return (*values, *ranks), gaps


class _Rows(NamedTuple):
    """How the rows of the two runs relate, and how many independent units the smaller one has.

    `fixed`: whether what results are conditional on (a background drawn from the training rows) is the same.
    """

    paired: bool
    maybe_same: bool
    fixed: bool
    units: int

    @classmethod
    def of(cls, previous: Run, run: Run) -> _Rows:
        """Read the hashes and facts of both."""
        before, now = previous.subject, run.subject

        def equal(part: str) -> bool:
            return part in now["hashes"] and now["hashes"][part] == before["hashes"].get(part)

        plain = not any(subject.get("weights") or subject.get("clusters") for subject in (before, now))
        units = min(int(subject.get("clusters") or subject["n"]) for subject in (before, now))
        maybe_same = equal("X") or (equal("y") and before["n"] == now["n"])
        reference = equal("train_X") or (equal("X") and not (before.get("has_train") or now.get("has_train")))
        fixed = reference and previous.settings.get("seed") == run.settings.get("seed")
        return cls(equal("X") and plain, maybe_same, fixed, units)


def _change(
    result: str, key: _Key, values: tuple[float, float, float], ends: tuple[float, float], interval: str, changed: bool
) -> ValueChange:
    names = ("before", "now", "difference", "lower", "upper")
    numbers: dict[str, Any] = dict(zip(names, (*values, *ends), strict=True))
    return ValueChange(
        result=result, measure=_label(key), feature=key[1], interval=interval, changed=changed, **numbers
    )


def _is_compared(result: Result) -> bool:
    """Say whether a result is an importance, a table of scores, whose items have units, or the ranking."""
    scores = {col.ITEM, col.UNIT} <= set(result.estimates.columns)
    return len(result.estimates) > 0 and (isinstance(result, Importance) or scores or result.id == RANKING)


def _of_result(before: Result, now: Result, rows: _Rows, gaps: list[str]) -> list[tuple[_Key, Difference]]:
    """Return the differences of one result; say what has no counterpart or no standard error."""
    old, new = _table(before), _table(now)
    if len(old) < len(before.estimates) or len(new) < len(now.estimates):
        gaps.append(f"{now.id}: it has several values of one measure and feature.")
        return []
    found: list[tuple[_Key, Difference]] = []
    apart: dict[str, list[_Key]] = {}
    for key in dict.fromkeys([*new, *old]):
        reason = _not_compared(old.get(key), new.get(key), fixed=rows.fixed and before.options == now.options)
        if reason:
            apart.setdefault(reason, []).append(key)
        else:
            found.append((key, _difference(key, (before, now), (old[key], new[key]), rows)))
    gaps += [_gap(now.id, keys, reason) for reason, keys in apart.items()]
    return found


def _not_compared(a: _Record | None, b: _Record | None, *, fixed: bool) -> str:
    """Say why two estimates cannot be compared, or nothing."""
    if a is None or b is None:
        return "only in this run" if a is None else "only in the previous run"
    if not np.isfinite([a[col.ESTIMATE], b[col.ESTIMATE], a[col.STD_ERROR], b[col.STD_ERROR]]).all():
        return "no standard error in one of the runs, so no interval of the difference"
    if a[col.COVERS] != b[col.COVERS]:
        return "the intervals of the two runs cover different things"
    if "given" in a[col.COVERS] and not fixed:
        return "the intervals take as given what may differ between the runs: training sample, seed or options"
    return ""


def _difference(key: _Key, results: tuple[Result, Result], values: tuple[_Record, _Record], rows: _Rows) -> Difference:
    """Return the difference of two estimates: paired where their row terms are, else by their standard errors."""
    a, b = (float(value[col.ESTIMATE]) for value in values)
    errors = [float(value[col.STD_ERROR]) for value in values]
    dof = max(1, min([rows.units - 1, *(int(r.meta.get(col.DEGREES_OF_FREEDOM, rows.units - 1)) for r in results)]))
    error, how = (sum(errors), BOUND) if rows.maybe_same else (math.hypot(*errors), INDEPENDENT)
    pairs = _pairs(key, results, (a, b)) if rows.paired else None
    if pairs is not None:
        error, how, dof = pairs.error, pairs.how, min(dof, pairs.dof)
    difference = 0.0 if abs(b - a) <= ROUNDING * max(abs(a), abs(b), error) else b - a
    return Difference(a, b, difference, error, dof, how)


def _pairs(key: _Key, results: tuple[Result, Result], values: tuple[float, float]) -> Difference | None:
    """Return the paired difference in the rows of which both results keep terms.

    None if the terms are no pairs, no terms of the estimates, or of too few rows.
    """
    measure, feature, item = key
    samples = [result.meta.get(col.ROWS_USED) for result in results]
    kept = [result.rows for result in results]
    if item or samples[0] != samples[1]:
        return None
    terms = [_terms(rows, measure, feature, value) for rows, value in zip(kept, values, strict=True)]
    (a, old), (b, new) = zip(kept, terms, strict=True)
    if a is None or b is None or old is None or new is None or a.n != b.n:
        return None
    _, at, here = np.intersect1d(a.positions, b.positions, assume_unique=True, return_indices=True)
    few = len(at)
    if few < min(a.n, LEAST):
        return None
    paired = Difference.paired(old[at], new[here], Sampling(np.full(few, 1 / few), few))
    how = PAIRED if few == a.n else f"{PAIRED} by {few:,} of {a.n:,}"
    return paired._replace(error=paired.error * math.sqrt(few / a.n), how=how)


def _terms(rows: RowValues | None, measure: str, feature: str, value: float) -> FloatArray | None:
    """Return the row terms of an estimate; None where there are none, or these do not average to it."""
    if rows is None or measure not in rows.measures or feature not in rows.features:
        return None
    terms = rows.of(measure, feature)
    if len(terms) < 2 or not np.isfinite(terms).all():
        return None
    reach = CLOSE * max(abs(value), float(np.abs(terms).mean()))
    return terms if abs(rows.mean(measure, feature) - value) <= reach else None


def _table(result: Result) -> dict[_Key, _Record]:
    """Return the estimates by measure, feature and item."""
    lines: list[_Record] = result.estimates.to_dict("records")  # type: ignore[assignment] # columns have text names
    return {(str(line[col.MEASURE]), str(line[col.FEATURE]), str(line.get(col.ITEM, ""))): line for line in lines}


def _gap(id: str, keys: list[_Key], reason: str) -> str:
    """Return one sentence for what shares a reason; names are listed while they are few."""
    names = [" of ".join(filter(None, (_label(key), key[1]))) for key in keys]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{id}, {', '.join(names[:3])}{more}: {reason}."


def _label(key: _Key) -> str:
    return ": ".join(filter(None, (key[2], key[0])))


def _rank_changes(before: Result, now: Result, gaps: list[str]) -> Iterator[ValueChange]:
    """Yield the ranks that moved, where both runs know their intervals and rank the same features."""
    old, new = _table(before), _table(now)
    levels = {line[col.CONFIDENCE] for line in (*old.values(), *new.values()) if np.isfinite(line[col.CONFIDENCE])}
    if len(levels) > 1:
        gaps.append(f"{now.id}: the rank intervals of the two runs have different levels.")
        return
    without = set()
    for measure, item in dict.fromkeys((key[0], key[2]) for key in new):
        keys, others = ([key for key in table if (key[0], key[2]) == (measure, item)] for table in (new, old))
        lines = [table[key] for table in (old, new) for key in keys if key in table]
        ends = [line[end] for line in lines for end in (col.LOWER, col.UPPER)]
        if set(keys) != set(others):
            gaps.append(f"{now.id}, {_label(keys[0])}: the two runs do not rank the same features.")
        elif not np.isfinite(ends).all():
            without.add(item)
        else:
            moved = [key for key in keys if old[key][col.ESTIMATE] != new[key][col.ESTIMATE]]
            yield from (_rank(key, old[key], new[key]) for key in moved)
    if without:
        gaps.append(f"{now.id}: the ranks of {', '.join(sorted(without))} have no interval.")


def _rank(key: _Key, a: _Record, b: _Record) -> ValueChange:
    before, now = float(a[col.ESTIMATE]), float(b[col.ESTIMATE])
    lower, upper = float(b[col.LOWER] - a[col.UPPER]), float(b[col.UPPER] - a[col.LOWER])
    return _change(RANKING, key, (before, now, now - before), (lower, upper), RANKS, lower > 0 or upper < 0)


def with_kept_rows(run: Run) -> Run:
    """Return the run, and its challenger, with the row values that a later run compares, of a sample of many rows."""
    challenger = None if run.challenger is None else with_kept_rows(run.challenger)
    kept = replace(run, results=tuple(map(_kept, run.results)), challenger=challenger)
    return replace(kept, results=tuple(_distinct(kept, result) for result in kept.results))


def _distinct(run: Run, result: Result) -> Result:
    """Return adjusted importances without the row values of features that have those of the importance itself."""
    own, plain = result.rows, _plain_rows(run, result)
    if own is None or plain is None or own.measures != plain.measures or own.sample or plain.sample:
        return result
    known = {feature: plain.values[:, k] for k, feature in enumerate(plain.features)}
    at = [k for k, feature in enumerate(own.features) if not np.array_equal(own.values[:, k], known.get(feature, ()))]
    if len(at) == len(own.features):
        return result
    few = RowValues(own.measures, tuple(own.features[k] for k in at), own.values[:, at]) if at else None
    note = f"Values by observation that are those of {ids.PFI} are kept there."
    return replace(result, rows=few, notes=(*result.notes, note))


def _whole(run: Run, result: Result) -> Result:
    """Return adjusted importances with all their row values, see `_distinct`."""
    own, plain = result.rows, _plain_rows(run, result)
    if plain is None or (own is not None and (own.measures != plain.measures or own.sample or plain.sample)):
        return result
    if own is not None:
        at = [k for k, f in enumerate(plain.features) if f not in own.features]
        names = (*own.features, *(plain.features[k] for k in at))
        plain = RowValues(own.measures, names, np.concatenate([own.values, plain.values[:, at]], axis=1))
    return replace(result, rows=plain)


def _plain_rows(run: Run, result: Result) -> RowValues | None:
    """Return the row values that adjusted importances share with the importance itself; None of other results."""
    plain = run.find(ids.PFI) if result.id == ids.COVER else None
    return None if plain is None else plain.rows


def as_saved(result: Result) -> Result:
    """Return a result exactly as run.json will give it back, but row values of which it will keep a sample as they are.

    To round them would cost more than most explainers do. Infinite ones are refused as any others.
    """
    rows = result.rows
    if rows is None or rows.n <= _most(rows) or np.isinf(rows.values).any():
        return codec.as_saved(result)
    return replace(codec.as_saved(replace(result, rows=None)), rows=rows)


def kept_rows(n: int, most: int) -> IntArray:
    """Return which `most` of n rows are kept, ascending.

    They are those of the smallest of independent uniform keys, which n alone decides: two runs of the same rows keep
    the same, and a smaller sample lies within a larger one.

    Examples
    --------
    >>> kept_rows(5, 2).tolist(), set(kept_rows(9, 3)) <= set(kept_rows(9, 5))
    ([3, 4], True)
    """
    keys = np.random.default_rng(n).random(n)
    return np.sort(np.argsort(keys, kind="stable")[:most])


def _kept(result: Result) -> Result:
    rows = result.rows
    if rows is None or rows.sample is not None:
        return result
    if not _is_compared(result):
        note = "Of the values by observation, run.json keeps none, as no later run compares them."
        return replace(result, rows=None, notes=(*result.notes, note))
    n, most = rows.n, _most(rows)
    if n <= most:
        return result
    at = kept_rows(n, most)
    sample = RowSample(n, at, rows.values.mean(axis=2))
    note = f"Of the values by observation, run.json keeps those of {most:,} of the {n:,} observations, drawn at random."
    few = replace(rows, values=rows.values[:, :, at], sample=sample)
    return codec.as_saved(replace(result, rows=few, notes=(*result.notes, note)))


def _most(rows: RowValues) -> int:
    """Return of how many rows values are kept."""
    return min(MOST_ROWS, max(LEAST_ROWS, NUMBERS // max(1, len(rows.measures) * len(rows.features))))
