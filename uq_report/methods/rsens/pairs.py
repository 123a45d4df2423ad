"""R-sens₂ of pairs of features: second derivatives where they exist, else second differences over a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...core.model.derivatives import mixed_differences
from ...core.model.results import Omission
from ...core.support.arrays import BoolArray, FloatArray
from ...evidence.importance import RSENS2
from .local import UNSTABLE_SHARE, Local, mean_position, unstable_rows
from .sample import DerivativeSample

FIRST = 25  # rows that tell how many more are needed
_NOISE = 1e-7  # of the largest R-sens, below which a second difference is rounding


class Pairs(NamedTuple):
    """Local values of pairs of features on a sample's rows, (features, features, rows), symmetric; NaN for none."""

    sample: DerivativeSample
    features: tuple[str, ...] = ()
    rsens2: FloatArray = np.empty((0, 0, 0))
    hessian: FloatArray | None = None
    method: str = ""
    notes: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()


class _Bends(NamedTuple):
    """Second derivatives of the parameters, (n, d, d, M), and their error, where there is one."""

    second: FloatArray
    error: FloatArray | None
    method: str


def pair_values(sample: DerivativeSample, local: Local, top: int, alpha: float, step: float, aim: float) -> Pairs:
    """Return the values of all pairs of the `top` numeric features with the largest R-sens per spread.

    Rows are all, or as many as bring the standard error of every pair to `aim` times the largest pair's mean.
    """
    base = sample.engine.baseline
    if "fisher_norm" not in base.supports:
        reason = f"R-sens₂ needs parameters and their Fisher information; {base.why_not('fisher_norm')}"
        return Pairs(sample, omissions=(Omission(RSENS2, "", reason),))
    names, notes = _strongest(sample, local, top)
    if len(names) < 2:
        reason = f"pairs need two numeric features that vary; got {len(names)}"
        return Pairs(sample, omissions=(Omission(RSENS2, "", reason),))
    sample, bends, drawn = _drawn(sample, names, aim, lambda part: _bends(part, names, step, local))
    second, error = bends.second, bends.error
    if error is not None:
        second[_rounding(sample, local, names, second)] = 0.0
        notes = (*notes, f"Second differences below {_NOISE:g} of the largest R-sens are rounding, and set to 0.")
    present = np.all([sample.has_value(f) for f in names], axis=0)
    hidden = np.where(present, 0.0, np.nan)
    values = _norms(sample, second) + hidden
    omissions = _rough(names, values, None if error is None else _norms(sample, error), sample, present)
    at = mean_position(base)
    hessian = None if at is None else np.moveaxis(second[..., at], 0, 2) + hidden
    rule = (f"R-sens₂ depends on the parametrisation: here ({', '.join(base.parametrisation)}).", *drawn, *notes)
    return Pairs(sample, names, np.sqrt(alpha) * values, hessian, bends.method, rule, omissions)


def _bends(sample: DerivativeSample, names: tuple[str, ...], step: float, local: Local) -> _Bends:
    """Return second derivatives by these features, or second differences over a step where there are no first ones."""
    columns, engine = [sample.column(f) for f in names], sample.engine
    if local.derivatives is not None:
        rates = engine.derivatives(columns, order=2)
        return _Bends(np.array(rates.second), rates.second_error, rates.method)
    reach = np.array([step * sample.spreads[f] for f in names])
    second, _ = mixed_differences(sample.subject.X, columns, reach, engine.predict, engine.batch_rows, halve=False)
    return _Bends(second, None, f"parameters differenced over steps of {step:g} standard deviations, no derivatives")


def _drawn(
    sample: DerivativeSample, names: tuple[str, ...], aim: float, bends_of: Callable[[DerivativeSample], _Bends]
) -> tuple[DerivativeSample, _Bends, tuple[str, ...]]:
    """Return the rows that pairs are computed on, their second derivatives, and a note on the choice."""
    n = len(sample.rows)
    if aim == 0 or n <= FIRST:
        return sample, bends_of(sample), ()
    order = sample.engine.rng("pairs").permutation(n)
    used = sample.part(np.sort(order[:FIRST]))
    bends = bends_of(used)
    size = min(n, _rows_needed(used, names, _norms(used, bends.second), aim))
    if size > FIRST:
        rest = sample.part(np.sort(order[FIRST:size]))
        places, more = np.argsort(np.concatenate([used.rows, rest.rows])), bends_of(rest)
        second = np.concatenate([bends.second, more.second])[places]
        known = bends.error is not None and more.error is not None
        error = np.concatenate([bends.error, more.error])[places] if known else None
        used, bends = sample.part(np.sort(order[:size])), _Bends(second, error, bends.method)
    if size == n:
        return sample, bends, ()
    rule = f"so many that, judged by {FIRST}, no standard error is above {aim:g} times the largest pair's mean"
    return used, bends, (f"Pairs are of {size} of {n} rows, at random: {rule}.",)


def _rows_needed(sample: DerivativeSample, names: tuple[str, ...], values: FloatArray, aim: float) -> int:
    """Return how many rows bring the standard error of every pair to `aim` times the largest mean, by these rows.

    These, or as many doubled until they are enough, so that two models are mostly compared on the same rows.
    """
    spread, (a, b) = np.array([sample.spreads[f] for f in names]), np.triu_indices(len(names), 1)
    present = np.all([sample.has_value(f) for f in names], axis=0)
    lengths = (values[a, b] * (spread[a] * spread[b])[:, None])[:, present]
    mean, error = sample.sampling.part(present).mean(lengths[np.isfinite(lengths).all(axis=1)])
    largest = float(mean.max(initial=0.0))
    if largest == 0 or not np.isfinite(error).all():
        return sample.total
    times = max(1.0, (float(error.max()) / (aim * largest)) ** 2)
    return len(sample.rows) * 2 ** math.ceil(math.log2(times))


def _strongest(sample: DerivativeSample, local: Local, top: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numeric features whose pairs are computed, in the order of the table, and notes on the others."""
    strength = {}
    for f in sample.numeric:
        finite = local.values[f][np.isfinite(local.values[f])]
        strength[f] = float(finite.mean()) * sample.spreads[f] if len(finite) else 0.0
    chosen = sorted(sample.numeric, key=lambda f: -strength[f])[:top]
    notes = []
    if len(chosen) < len(sample.numeric):
        notes.append(f"Pairs are among the {top} of {len(sample.numeric)} numeric features with the largest R-sens.")
    if sample.categorical:
        notes.append("Pairs with a categorical feature are left out: a second derivative needs two numbers.")
    return tuple(f for f in sample.numeric if f in chosen), tuple(notes)


def _rounding(sample: DerivativeSample, local: Local, names: tuple[str, ...], second: FloatArray) -> BoolArray:
    """Return where second differences, (n, d, d, M), are too small to be told from rounding: (n, d, d)."""
    largest = max(float(np.nanmean(local.values[f])) * sample.spreads[f] for f in sample.numeric)
    spread = np.array([sample.spreads[f] for f in names])
    norms = np.moveaxis(_norms(sample, second), 2, 0)
    return np.asarray(norms * np.outer(spread, spread) < _NOISE * largest)


def _norms(sample: DerivativeSample, second: FloatArray) -> FloatArray:
    """Return the Fisher length of second derivatives (n, d, d, M), shape (d, d, n), exactly symmetric."""
    a, b = np.triu_indices(second.shape[1])
    norms = np.empty((*second.shape[1:3], len(second)))
    norms[a, b] = norms[b, a] = sample.engine.baseline.fisher_norm(second[:, b, a].swapaxes(0, 1))
    return norms


def _rough(
    names: tuple[str, ...], values: FloatArray, errors: FloatArray | None, sample: DerivativeSample, present: BoolArray
) -> tuple[Omission, ...]:
    """Return the pairs whose values are infinite or whose differences do not converge."""
    unit = np.array([sample.spreads[f] for f in names])
    area = unit[:, None] * unit
    floor = 1e-3 * (np.where(np.isfinite(values), values, 0.0).mean(axis=2) * area).max() / area
    omissions = []
    for a, b in combinations(range(len(names)), 2):
        infinite, reason = int(np.isinf(values[a, b]).sum()), ""
        rough = errors is not None and unstable_rows(values[a, b], errors[a, b], floor[a, b])[present].mean()
        if infinite:
            reason = f"infinite on {infinite} rows: a probability of 0 changes; calibrate or smooth the probabilities"
        elif rough > UNSTABLE_SHARE:
            reason = f"its second differences do not converge on {rough:.0%} of the rows"
        if reason:
            omissions.append(Omission(RSENS2, f"{names[a]} x {names[b]}", reason))
    return tuple(omissions)
