"""Differences of the estimates of two runs, with intervals that say what they rest on.

With `b` and `a` an estimate before and now, the interval is ``a - b ± t se``, and `se` is

- *paired*: of the mean of the row terms' differences, where both runs hold row terms of the same rows (the hash of
  X is equal), without weights or clusters, and these terms average to the estimates; of a sample of the rows, where
  the runs keep no more, which is named;
- *same rows, standard errors added*: ``se_a + se_b``, which is enough whatever the dependence (Cauchy-Schwarz);
- *independent*: ``√(se_a² + se_b²)``, where the rows are not the same.

`t` has the degrees of freedom of the run with fewer units, which is on the safe side of Welch's. Shuffling noise
stays in paired row terms, so the interval is wide enough for two runs of different seeds as well. The level is that
of the later run, whatever the earlier one had. A difference counts as a change if its p-value is at most one less the
level after Holm's adjustment over all values compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from ..core.model.results import Importance, Result, RowValues
from ..core.statistics.inference import CONFIDENCE
from ..core.statistics.verdicts import holm
from ..core.support.arrays import FloatArray
from ..evidence import columns as col
from ..evidence import ids
from ..evidence.run import Run, ValueChange

PAIRED = "same rows, paired"
BOUND = "same rows, standard errors added"
INDEPENDENT = "independent samples"
RANKS = "from the rank intervals of both runs"
RANKING = ids.AGREEMENT
ROUNDING = 1e-9  # of a value's size: a smaller difference is rounding
CLOSE = 1e-6
LEAST = 100  # rows, if there are as many, whose terms are compared
SCOPE = "Curves, interactions and contributions to single rows: only importances, scores and ranks are compared."

_Key = tuple[str, str, str]  # measure, feature, item
_Record = dict[str, Any]


def differences(previous: Run, run: Run) -> tuple[tuple[ValueChange, ...], list[str]]:
    """Return the difference of every importance, score and rank that both runs hold, and what was not compared."""
    for fact in ("classes", "positive_class"):
        if previous.subject.get(fact) != run.subject.get(fact):
            return (), [f"All values: the {fact.replace('_', ' ')} of the two runs differ, so they mean other things."]
    rows = _Rows.of(previous, run)
    gaps, lines, ranks = [SCOPE], list[_Line](), list[ValueChange]()
    for now in run.results:
        before = previous.find(now.id)
        if not _is_compared(now):
            continue
        if before is None:
            gaps.append(f"{now.id}: it is not in the previous run.")
        elif now.id == RANKING:
            ranks += _rank_changes(before, now, gaps)
        else:
            lines += _lines(before, now, rows, gaps)
    gone = [r.id for r in previous.results if _is_compared(r) and run.find(r.id) is None]
    gaps += [f"{name}: it is only in the previous run." for name in gone]
    level = float(run.settings.get("confidence", CONFIDENCE))
    changed = holm([line.p_value for line in lines]) <= 1 - level
    return (*(line.change(level, bool(is_new)) for line, is_new in zip(lines, changed, strict=True)), *ranks), gaps


class _Rows(NamedTuple):
    """How the rows of the two runs relate, and how many independent units the smaller one has.

    `fixed`: whether what results are conditional on (a background drawn from the training rows) is the same.
    """

    same: bool
    plain: bool
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
        return cls(equal("X"), plain, maybe_same, fixed, units)


class _Line(NamedTuple):
    """One estimate in both runs, with the standard error of the difference."""

    key: _Key
    result: str
    before: float
    now: float
    error: float
    dof: int
    how: str

    @property
    def difference(self) -> float:
        """The difference; exactly 0 where it is rounding."""
        size = max(abs(self.before), abs(self.now), self.error)
        difference = self.now - self.before
        return 0.0 if abs(difference) <= ROUNDING * size else difference

    @property
    def p_value(self) -> float:
        """Two-sided, of no difference."""
        if self.difference == 0:
            return 1.0
        return float(2 * stdtr(self.dof, -abs(self.difference) / self.error)) if self.error > 0 else 0.0

    def change(self, level: float, changed: bool) -> ValueChange:
        """Return the line for the report."""
        reach = float(stdtrit(self.dof, 0.5 + level / 2)) * self.error
        ends = (self.difference - reach, self.difference + reach)
        values = (self.before, self.now, self.difference)
        return _change(self.result, self.key, values, ends, f"{100 * level:g} %, {self.how}", changed)


def _change(
    result: str, key: _Key, values: tuple[float, float, float], ends: tuple[float, float], interval: str, changed: bool
) -> ValueChange:
    (before, now, difference), (lower, upper) = values, ends
    return ValueChange(
        result=result,
        measure=_label(key),
        feature=key[1],
        before=before,
        now=now,
        difference=difference,
        lower=lower,
        upper=upper,
        interval=interval,
        changed=changed,
    )


def _is_compared(result: Result) -> bool:
    """Say whether a result is an importance, a table of scores, whose items have units, or the ranking."""
    scores = {col.ITEM, col.UNIT} <= set(result.estimates.columns)
    return len(result.estimates) > 0 and (isinstance(result, Importance) or scores or result.id == RANKING)


def _lines(before: Result, now: Result, rows: _Rows, gaps: list[str]) -> list[_Line]:
    """Return the lines of one result; say what has no counterpart or no standard error."""
    old, new = _table(before), _table(now)
    if len(old) < len(before.estimates) or len(new) < len(now.estimates):
        gaps.append(f"{now.id}: it has several values of one measure and feature.")
        return []
    lines: list[_Line] = []
    apart: dict[str, list[_Key]] = {}
    for key in dict.fromkeys([*new, *old]):
        reason = _not_compared(old.get(key), new.get(key), fixed=rows.fixed and before.options == now.options)
        if reason:
            apart.setdefault(reason, []).append(key)
        else:
            lines.append(_line(key, (before, now), (old[key], new[key]), rows))
    gaps += [_gap(now.id, keys, reason) for reason, keys in apart.items()]
    return lines


def _not_compared(a: _Record | None, b: _Record | None, *, fixed: bool) -> str:
    """Say why two estimates cannot be compared, or nothing."""
    if a is None or b is None:
        return "only in this run" if a is None else "only in the previous run"
    if not np.isfinite([a[col.ESTIMATE], b[col.ESTIMATE], a[col.STD_ERROR], b[col.STD_ERROR]]).all():
        return "no standard error in one of the runs, so no interval of the difference"
    if a[col.COVERS] != b[col.COVERS]:
        return "the intervals of the two runs cover different things"
    if "given" in a[col.COVERS] and not fixed:
        return "the intervals take as given what may differ between the runs: training rows, seed or options"
    return ""


def _line(key: _Key, results: tuple[Result, Result], values: tuple[_Record, _Record], rows: _Rows) -> _Line:
    a, b = (float(value[col.ESTIMATE]) for value in values)
    errors = [float(value[col.STD_ERROR]) for value in values]
    dof = max(1, min([rows.units - 1, *(int(r.meta.get(col.DEGREES_OF_FREEDOM, rows.units - 1)) for r in results)]))
    terms = _terms(key, results, (a, b)) if rows.same and rows.plain else None
    error, how = (sum(errors), BOUND) if rows.maybe_same else (math.hypot(*errors), INDEPENDENT)
    if terms is not None:
        error, how = float(np.std(terms.few, ddof=1) / np.sqrt(terms.of)), terms.words
        dof = min(dof, len(terms.few) - 1)
    return _Line(key, results[1].id, a, b, error, dof, how)


class _Pairs(NamedTuple):
    """Differences of the row terms, of all `of` rows or a `few` of them."""

    few: FloatArray
    of: int

    @property
    def words(self) -> str:
        """How the interval is made."""
        return PAIRED if len(self.few) == self.of else f"{PAIRED} by {len(self.few):,} of {self.of:,}"


def _terms(key: _Key, results: tuple[Result, Result], values: tuple[float, float]) -> _Pairs | None:
    """Return the differences of the row terms; None if they are no pairs, or no terms of the estimates."""
    measure, feature, item = key
    samples = [result.meta.get(col.ROWS_USED) for result in results]
    if item or samples[0] != samples[1]:
        return None
    both = []
    for result, value in zip(results, values, strict=True):
        rows = result.rows
        if rows is None or measure not in rows.measures or feature not in rows.features:
            return None
        terms = rows.of(measure, feature)
        if len(terms) < 2 or not np.isfinite(terms).all():
            return None
        if abs(rows.mean(measure, feature) - value) > CLOSE * max(abs(value), float(np.abs(terms).mean())):
            return None
        both.append((rows, terms))
    return _pairs(both[0], both[1])


def _pairs(before: tuple[RowValues, FloatArray], now: tuple[RowValues, FloatArray]) -> _Pairs | None:
    """Return the differences in the rows that both keep; None of other rows, or of too few."""
    (a, old), (b, new) = before, now
    if a.n != b.n:
        return None
    _, at, here = np.intersect1d(a.positions, b.positions, assume_unique=True, return_indices=True)
    return _Pairs(new[here] - old[at], a.n) if len(at) >= min(a.n, LEAST) else None


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
