"""Sensitivities of single rows, and R-sens₂ of pairs: by derivatives where they exist, else by steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import BoolArray, FloatArray
from ...core.derivatives import Derivatives, mixed_differences, predicted
from ...core.distributions import Categorical, Laplace, Logistic, NegativeBinomial, Normal, Poisson, StudentT
from ...core.divergence import Order, divergence, sensitivity
from ...core.predictive import Distribution
from ...core.results import Omission
from ...core.variants import Variant
from ...evidence.importance import RSENS2
from .sample import Sample, level_chances

UNSTABLE_SHARE = 0.1  # of rows without a derivative, above which steps are used
_MEAN_FIRST = (Normal, Poisson, Laplace, Logistic, NegativeBinomial)  # families whose first parameter is the mean
_TOLERANCE = 0.05  # of a row's value
_FLOOR = 1e-3  # of the strongest feature's mean, below which an error does not matter
_CELLS = 64
_NOISE = 1e-7  # of the largest R-sens, below which a second difference is rounding


@dataclass(frozen=True)
class Local:
    """Sensitivity per unit of each feature and row, and the change of the prediction per unit, signed.

    Rows where a feature has no value hold NaN. `changes` is empty where the family has no mean; for a
    categorical feature it is the mean size of a level change.
    """

    values: dict[str, FloatArray]
    changes: dict[str, FloatArray]
    method: str
    levels: dict[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    derivatives: Derivatives | None = None


def local_values(sample: Sample, alpha: float, step: float) -> Local:
    """Return sensitivities by derivatives if they converge, else by steps for all numeric features alike."""
    base = sample.engine.baseline
    rates, reason = None, "of a family whose divergences are known but not its Fisher information"
    if sample.numeric and {"parameters", "fisher_norm"} <= base.supports:
        rates = sample.engine.derivatives([sample.column(f) for f in sample.numeric])
        reason = _unstable(rates, base, sample, step)
    local = _steps(sample, sample.features if rates is None or reason else sample.categorical, step, reason)
    if rates is not None and not reason:
        local = _by_derivatives(sample, rates, local)
    return replace(local, values={f: np.sqrt(alpha) * values for f, values in local.values.items()})


def _by_derivatives(sample: Sample, rates: Derivatives, steps: Local) -> Local:
    """Return derivatives of numeric features, beside the steps of the categorical ones."""
    base, values, changes = sample.engine.baseline, dict(steps.values), dict(steps.changes)
    at = mean_position(base)
    for j, feature in enumerate(sample.numeric):
        hidden = np.where(sample.has_value(feature), 0.0, np.nan)
        values[feature] = base.fisher_norm(rates.first[:, j]) + hidden
        if at is not None:
            changes[feature] = rates.first[:, j, at] + hidden
    method = f"{rates.method}; {steps.method}" if sample.categorical else rates.method
    ordered = {f: values[f] for f in sample.features}
    return Local(ordered, changes, method, steps.levels, (_rule(rates), *steps.notes), rates)


def mean_position(dist: Distribution) -> int | None:
    """Return which parameter is the mean (of classes, the positive one's probability), or None."""
    if isinstance(dist, Categorical):
        return dist.positive
    return 0 if isinstance(dist, _MEAN_FIRST) or (isinstance(dist, StudentT) and dist.moments) else None


def _rule(rates: Derivatives) -> str:
    if rates.error is None:
        return "Exact derivatives, compared with differences of the model's own predictions on a few rows."
    words = "No exact rule for this model: central differences at about 1/1300 of the standard deviation and at half"
    return f"{words} of that, joined by Richardson's rule; meta holds the steps and the largest error estimates."


def unstable_rows(norm: FloatArray, error: FloatArray, floor: Any) -> BoolArray:
    """Return where an estimated error is too large to believe the value."""
    return np.asarray(~(error <= _TOLERANCE * norm + floor))


def _unstable(rates: Derivatives, base: Distribution, sample: Sample, step: float) -> str:
    """Say why derivatives are not to be used, or return the empty string."""
    if rates.error is None:
        return ""
    spreads = np.array([sample.spreads[f] for f in sample.numeric])
    norms, errors = (
        np.stack([base.fisher_norm(part[:, j]) for j in range(len(spreads))]) for part in (rates.first, rates.error)
    )
    with np.errstate(invalid="ignore"):
        scale = np.where(np.isfinite(norms), norms, 0.0).mean(axis=1) * spreads
    floor = _FLOOR * scale.max() / spreads
    present = np.stack([sample.has_value(f) for f in sample.numeric])
    rough = present & unstable_rows(norms, errors, floor[:, None])
    still = (norms == 0) & (errors == 0)
    suspects = [f for f, s in zip(sample.numeric, still, strict=True) if s.mean() > UNSTABLE_SHARE]
    moved = _steps(sample, suspects, step, "").values
    for f, values in moved.items():
        j = sample.numeric.index(f)
        rough[j] |= still[j] & (np.nan_to_num(values, nan=0.0) > 0)
    shares = rough.mean(axis=1)
    worst = int(shares.argmax())
    if shares[worst] <= UNSTABLE_SHARE:
        return ""
    return (
        f"piecewise constant or kinked: its differences do not converge, or are 0 where a step is not, on "
        f"{shares[worst]:.0%} of the rows for {sample.numeric[worst]}"
    )


def _steps(sample: Sample, features: Sequence[str], step: float, reason: str) -> Local:
    """Return the finite-step form: √(2 KL) / |Δx|, or √(4 D_half) / |Δx| for all where a KL is infinite."""
    plans = {f: _plan(sample, f, step) for f in features}
    kl, half, means = _moved(sample, [v for variants, *_ in plans.values() for v in variants])
    infinite = int(np.isinf(kl).sum())
    order: Order = "half" if infinite else "kl"
    lengths = sensitivity(half if infinite else kl, order)
    local = Local({}, {}, _words(order, step, reason), {}, _why(sample, infinite, reason))
    own, start = sample.engine.baseline.mean() if len(means) else np.empty(0), 0
    for f, (variants, chance, sign) in plans.items():
        part = slice(start, start + len(variants))
        start = part.stop
        hidden = np.where(sample.has_value(f), 0.0, np.nan)
        unit = 1.0 if f in sample.categorical else step * sample.spreads[f]
        with np.errstate(invalid="ignore"):  # no chance of an infinite move: only rows that are hidden
            local.values[f] = (chance * lengths[part]).sum(axis=0) / unit + hidden
        if len(means):
            gained = means[part] - own
            size = gained * sign if f in sample.numeric else np.abs(gained)
            local.changes[f] = (chance * size).sum(axis=0) / unit + hidden
            if f in sample.categorical:
                local.levels[f] = means[part]
    return local


def _plan(sample: Sample, feature: str, step: float) -> tuple[list[Variant], FloatArray, FloatArray]:
    """Return the moves of one feature, the weight of each in a row's mean, and the direction of each."""
    at = (sample.column(feature),)
    if feature in sample.categorical:
        levels = sample.grids[feature].steps
        return [Variant(at, (level,)) for level in levels], level_chances(sample, feature), np.ones((len(levels), 1))
    reach = step * sample.spreads[feature]
    own = sample.values(feature)
    moves = [Variant(at, (own + reach,)), Variant(at, (own - reach,))]
    return moves, np.full((2, 1), 0.5), np.array([[1.0], [-1.0]])


def _moved(sample: Sample, variants: Sequence[Variant]) -> list[FloatArray]:
    """Return divergences of both orders, and the mean where there is one, of every row: each (variants, rows)."""
    engine, n = sample.engine, len(sample.rows)
    base, edges = engine.baseline, _edges(engine.baseline)
    moves: list[list[FloatArray]] = [[], [], []]
    for dist in predicted(sample.subject.X, variants, engine.predict, engine.batch_rows) if variants else ():
        width = len(dist) // n
        before = base.take(np.repeat(np.arange(n), width))
        values = [divergence(before, dist, "kl", edges), divergence(before, dist, "half", edges)]
        values += [np.array(dist.mean())] if "mean" in base.supports else []
        for rows, value in zip(moves, values, strict=False):
            rows += list(value.reshape(n, width).T)
    return [np.array(rows).reshape(-1, n) for rows in moves]


def _edges(base: Distribution) -> FloatArray | None:
    """Return edges of cells for families without a divergence of their own: quantiles of their predictions."""
    if {"kl", "renyi_half"} <= base.supports or "quantile" not in base.supports:
        return None
    spread = base.quantile(np.linspace(0.02, 0.98, 25)).ravel()
    return np.unique(np.quantile(spread, np.linspace(0, 1, _CELLS - 1)))


def _words(order: Order, step: float, reason: str) -> str:
    form = "√(2 KL) / |Δx|" if order == "kl" else "√(4 D½) / |Δx| (Rényi divergence of order 1/2)"
    if not reason:
        return f"level changes by {form}"
    return f"finite-step form {form}, steps of {step:g} standard deviations; level changes alike"


def _why(sample: Sample, infinite: int, reason: str) -> tuple[str, ...]:
    notes = []
    if reason:
        notes.append(
            f"The model is {reason}. Numeric features therefore use the finite-step form of Paananen et al. (section "
            "2.5): how far the distribution moves over a step to either side, per unit. It is no derivative."
        )
    if infinite:
        notes.append(
            f"KL is infinite for {infinite} moves, to a probability of 0 for what was possible: the Rényi divergence "
            "of order 1/2 is used for all of them, which has the same limit for small steps."
        )
    if _edges(sample.engine.baseline) is not None:
        notes.append(f"Divergences compare the probabilities of {_CELLS} cells of y, which can only lower them.")
    return tuple(notes)


# ---------------------------------------------------------------------- pairs


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
