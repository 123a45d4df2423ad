"""What is explained: measures with a value per row, notable rows, leading features, and draws in blocks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model import measures as m
from ...core.model.describe import scalar
from ...core.model.measures import Measure
from ...core.model.results import Omission
from ...core.model.subject import Subject
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.errors import InputError, UnsupportedError
from ...core.support.limits import check_limits
from ...evidence import columns as col, ids

Roles = Mapping[str, list[int]]
INFINITE_REMEDY = (
    "a probability of 0 for what was observed. Explain the loss with an upper bound, or calibrate the model so that no "
    "probability is 0"
)


def as_names(who: str, field: str, value: Sequence[str]) -> tuple[str, ...]:
    """Return an option that lists names as a tuple; refuse one string and an empty list."""
    if isinstance(value, str) or not value:
        raise InputError(f"{who}.{field} must be a sequence of names; got {value!r}. Write ({value!r},) for one name.")
    return tuple(value)


def as_rows(who: str, value: Any) -> tuple[int, ...] | None:
    """Return an option that lists row positions as a tuple of integers, or None; refuse anything else."""
    if value is None:
        return None
    if isinstance(value, str) or not all(isinstance(row, Integral) for row in value):
        raise InputError(f"{who}.rows must be row positions of X; got {value!r}. Count rows from 0.")
    return tuple(int(row) for row in value)


def row_measures(
    who: str, engine: Engine, names: Sequence[str] | None
) -> tuple[tuple[Measure, ...], tuple[Omission, ...]]:
    """Return the measures that have a value per row, and why the others are left out; refuse if none is left.

    None stands for the measures of profiles: of two classes the log-odds as well, on whose scale models are additive,
    and the aleatoric and epistemic part of the uncertainty where a prediction has members.
    """
    if names is None:
        has_odds = m.LOG_ODDS.name in engine.measures and not m.LOG_ODDS.why_not(engine.baseline, has_y=False)
        usual = (x.name for x in (m.PREDICTION, m.LOG_ODDS, m.NLL, m.ENTROPY) if has_odds or x is not m.LOG_ODDS)
        names = (*usual, m.DECOMPOSITION)
    measures, omitted = engine.select(names)
    rows = tuple(measure for measure in measures if measure.statistic is None)
    reason = "it is a statistic of all observations together, so no single observation has a value to explain"
    omitted += tuple(Omission(measure.name, "", reason) for measure in measures if measure.statistic is not None)
    refuse_none(who, rows, omitted)
    return rows, omitted


def refuse_none(who: str, measures: Sequence[Measure], omitted: Sequence[Omission]) -> None:
    """Refuse to go on without any measure."""
    if not measures:
        reasons = "; ".join(f"{gap.measure}: {gap.reason}" for gap in omitted)
        raise UnsupportedError(f"{who}: no measure can be evaluated: {reasons}.")


def notable_rows(engine: Engine, count: int) -> Roles:
    """Return the positions of the `count` leading rows of each role the model can name.

    ``most uncertain``: largest entropy (variance or interval width where there is none). ``most wrong``:
    largest nll (interval score where there is none), only with y. ``typical``: prediction and entropy
    nearest to their medians, the two distances in units of the rows' standard deviation and added. Ties go
    to the earlier row.
    """
    spread = _leading(engine, (m.ENTROPY, m.VARIANCE, m.WIDTH))
    loss = _leading(engine, (m.NLL, m.INTERVAL_SCORE))
    centre = [values for values in (_leading(engine, (m.PREDICTION,)), spread) if values is not None]
    roles: dict[str, list[int]] = {}
    if spread is not None:
        roles["most uncertain"] = _first(-spread, count)
    if loss is not None:
        roles["most wrong"] = _first(-loss, count)
    if centre:
        roles["typical"] = _first(sum(map(_distance, centre), np.zeros(engine.subject.n)), count)
    return {role: rows for role, rows in roles.items() if rows}


def _leading(engine: Engine, choice: Sequence[Measure]) -> FloatArray | None:
    """Return the first of the measures that these rows have; None if they have none."""
    dist, y = engine.baseline, engine.y
    first = next((measure for measure in choice if not measure.why_not(dist, y is not None)), None)
    return None if first is None else first.rows(dist, y, None)


def chosen_rows(who: str, rows: Sequence[int] | None, engine: Engine, count: int) -> Roles:
    """Return the rows a user named as one role ``chosen``, else the notable ones."""
    if rows is None:
        return notable_rows(engine, count)
    n = engine.subject.n
    wrong = [row for row in rows if not 0 <= row < n]
    if wrong:
        raise InputError(f"{who}.rows must be row positions of X, 0 to {n - 1}; got {wrong}. Count rows from 0.")
    return {"chosen": list(dict.fromkeys(rows))} if rows else {}


def positions(roles: Roles) -> list[int]:
    """Return every row of every role once, in order of position."""
    return sorted({row for rows in roles.values() for row in rows})


def draw(rng: np.random.Generator, n: int, size: int, weights: FloatArray | None = None) -> IntArray:
    """Draw at most `size` of n row positions of weight > 0, without replacement, in order."""
    rows = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
    return rows if len(rows) <= size else np.sort(rng.choice(rows, size, replace=False))


def _first(values: FloatArray, count: int) -> list[int]:
    return [int(row) for row in np.argsort(values, kind="stable")[:count]]


def _distance(values: FloatArray) -> FloatArray:
    """Return |value - median| in standard deviations of the finite rows; infinite rows are infinitely far."""
    finite = np.isfinite(values)
    away = np.full(len(values), np.inf)
    if finite.any():
        scale = values[finite].std()
        away[finite] = np.abs(values[finite] - np.median(values[finite])) / (scale if scale > 0 else 1.0)
    return away


def at_most(training: Subject, limit: int, engine: Engine) -> Subject:
    """Return the training subject with at most `limit` rows, drawn by a stream of their own."""
    if training.n <= limit:
        return training
    return replace(training.take(draw(engine.rng("train rows"), training.n, limit)), sampled_from=training.n)


def plain_values(values: Any) -> list[Any]:
    """Return a column's values as JSON values: missing ones as None, dates and other objects as text.

    Examples
    --------
    >>> plain_values(np.array([1.5, np.nan]))
    [1.5, None]
    >>> plain_values(pd.Categorical(["a", None]))
    ['a', None]
    """
    cells = np.asarray(values, dtype=object)
    return [None if pd.api.types.is_scalar(cell) and pd.isna(cell) else scalar(cell) for cell in cells]


LED = 20  # features that get what not all of many can have


def leading(features: Sequence[str], prior: Prior, most: int = LED) -> tuple[tuple[str, ...], str]:
    """Return at most `most` features, in the order given, and the rule in words: empty where all of them lead.

    The first features of each measure's permutation importance by size, a feature of every measure in turn. Where
    that did not run before, the first of the data.

    Examples
    --------
    >>> leading(["a", "b", "c"], {}, 2)
    (('a', 'b'), 'the first 2 of 3 features')
    """
    if len(features) <= most:
        return tuple(features), ""
    result = next((result for result in prior.get(ids.PFI, ()) if result.id == ids.PFI), None)
    rule, ranked = f"the first {most} of {len(features)} features", list(features)
    if result is not None and len(result.estimates):
        rule = f"the {most} of {len(features)} features with the largest permutation importance, each measure in turn"
        table = result.estimates.assign(size=result.estimates[col.ESTIMATE].abs())
        table = table[table[col.FEATURE].isin(features)].sort_values("size", ascending=False, kind="stable")
        orders = [part[col.FEATURE].astype(str) for _, part in table.groupby(col.MEASURE, sort=False)]
        turns = filter(None, chain.from_iterable(zip_longest(*orders)))
        ranked = list(dict.fromkeys([*turns, *features]))
    chosen = set(ranked[:most])
    return tuple(feature for feature in features if feature in chosen), rule


def blocks(size: int, n: int, cells: int) -> Iterator[int]:
    """Yield how many of `size` draws of n rows to make at a time, of about `cells` numbers; limits are looked at.

    Examples
    --------
    >>> list(blocks(5, 10, 20))
    [2, 2, 1]
    """
    step = max(1, cells // n)
    for start in range(0, size, step):
        check_limits()
        yield min(step, size - start)
