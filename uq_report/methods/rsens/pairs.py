"""R-sens₂ of pairs of features: second derivatives where they exist, else second differences over a step."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

import numpy as np

from ...core.arrays import BoolArray, FloatArray
from ...core.derivatives import mixed_differences
from ...core.results import Omission
from ...evidence.importance import RSENS2
from .local import UNSTABLE_SHARE, Local, mean_position, unstable_rows
from .sample import Sample

_NOISE = 1e-7  # of the largest R-sens, below which a second difference is rounding


class Pairs(NamedTuple):
    """Local values of pairs of features, (features, features, rows), symmetric; NaN where a row has none."""

    features: tuple[str, ...] = ()
    rsens2: FloatArray = np.empty((0, 0, 0))
    hessian: FloatArray | None = None
    method: str = ""
    notes: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()


def pair_values(sample: Sample, local: Local, top: int, alpha: float, step: float) -> Pairs:
    """Return the values of all pairs of the `top` numeric features with the largest R-sens per spread."""
    base = sample.engine.baseline
    if "fisher_norm" not in base.supports:
        reason = f"R-sens₂ needs parameters and their Fisher information; {base.why_not('fisher_norm')}"
        return Pairs(omissions=(Omission(RSENS2, "", reason),))
    names, notes = _strongest(sample, local, top)
    if len(names) < 2:
        reason = f"pairs need two numeric features that vary; got {len(names)}"
        return Pairs(omissions=(Omission(RSENS2, "", reason),))
    columns = [sample.column(f) for f in names]
    error: FloatArray | None = None
    if local.derivatives is not None:
        rates = sample.engine.derivatives(columns, order=2)
        second, error, method = np.array(rates.second), rates.second_error, rates.method
    else:
        reach, engine = np.array([step * sample.spreads[f] for f in names]), sample.engine
        second, _ = mixed_differences(sample.subject.X, columns, reach, engine.predict, engine.batch_rows, halve=False)
        method = f"parameters differenced over steps of {step:g} standard deviations, no derivatives"
    if error is not None:
        second[_rounding(sample, local, names, second)] = 0.0
        notes = (*notes, f"Second differences below {_NOISE:g} of the largest R-sens are rounding, and set to 0.")
    present = np.all([sample.has_value(f) for f in names], axis=0)
    hidden = np.where(present, 0.0, np.nan)
    values = _norms(sample, second) + hidden
    omissions = _rough(names, values, None if error is None else _norms(sample, error), sample, present)
    at = mean_position(base)
    hessian = None if at is None else np.moveaxis(second[..., at], 0, 2) + hidden
    rule = (f"R-sens₂ depends on the parametrisation: here ({', '.join(base.parametrisation)}).", *notes)
    return Pairs(names, np.sqrt(alpha) * values, hessian, method, rule, omissions)


def _strongest(sample: Sample, local: Local, top: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
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


def _rounding(sample: Sample, local: Local, names: tuple[str, ...], second: FloatArray) -> BoolArray:
    """Return where second differences, (n, d, d, M), are too small to be told from rounding: (n, d, d)."""
    largest = max(float(np.nanmean(local.values[f])) * sample.spreads[f] for f in sample.numeric)
    spread = np.array([sample.spreads[f] for f in names])
    norms = np.moveaxis(_norms(sample, second), 2, 0)
    return np.asarray(norms * np.outer(spread, spread) < _NOISE * largest)


def _norms(sample: Sample, second: FloatArray) -> FloatArray:
    """Return the Fisher length of second derivatives (n, d, d, M), shape (d, d, n), exactly symmetric."""
    d, base = second.shape[1], sample.engine.baseline
    norms = np.empty((d, d, len(second)))
    for a, b in combinations_with_replacement(range(d), 2):
        norms[a, b] = norms[b, a] = base.fisher_norm(second[:, b, a])
    return norms


def _rough(
    names: tuple[str, ...], values: FloatArray, errors: FloatArray | None, sample: Sample, present: BoolArray
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
