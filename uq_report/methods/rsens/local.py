"""Sensitivities of single rows: from derivatives where they exist, else from divergences over a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import FloatArray
from ...core.derivatives import Derivatives, predicted
from ...core.distributions import Categorical, Normal, Poisson, StudentT
from ...core.divergence import Order, divergence, sensitivity
from ...core.predictive import Distribution
from ...core.variants import Variant
from .sample import Sample, level_moves

UNSTABLE_SHARE = 0.1  # of rows without a derivative, above which steps are used
_TOLERANCE = 0.05  # of a row's value
_FLOOR = 1e-3  # of the strongest feature's mean, below which an error does not matter
_CELLS = 64


@dataclass(frozen=True)
class Local:
    """Sensitivity per unit of each feature and row, and the change of the prediction per unit, signed.

    Rows where a feature has no value hold NaN. `changes` is empty where the family has no mean; for a
    categorical feature it is the mean size of a level change.
    """

    values: dict[str, FloatArray]
    changes: dict[str, FloatArray]
    method: str
    smooth: bool
    levels: dict[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    derivatives: Derivatives | None = None


@dataclass
class _Moves:
    """Divergences of both orders and predictions of every row under each variant, (variants, rows)."""

    kl: list[FloatArray] = field(default_factory=list)
    half: list[FloatArray] = field(default_factory=list)
    mean: list[FloatArray] = field(default_factory=list)


def local_values(sample: Sample, alpha: float, step: float) -> Local:
    """Return sensitivities by derivatives if they converge, else by steps for all numeric features alike."""
    base = sample.engine.baseline
    found, reason = None, "of a family whose divergences are known but not its Fisher information"
    if sample.numeric and {"parameters", "fisher_norm"} <= base.supports:
        found = sample.engine.derivatives([sample.column(f) for f in sample.numeric])
        reason = _unstable(found, base, sample, step)
    moved = sample.categorical if found is not None and not reason else sample.features
    steps = _steps(sample, moved, step, reason)
    if found is None or reason:
        return _scaled(steps, alpha)
    values, changes = dict(steps.values), dict(steps.changes)
    at = mean_position(base)
    for j, feature in enumerate(sample.numeric):
        hidden = np.where(sample.known(feature), 0.0, np.nan)
        values[feature] = base.fisher_norm(found.first[:, j]) + hidden
        if at is not None:
            changes[feature] = found.first[:, j, at] + hidden
    method = f"{found.method}; {steps.method}" if sample.categorical else found.method
    ordered = {f: values[f] for f in sample.features}
    return _scaled(Local(ordered, changes, method, True, steps.levels, (*_told(found), *steps.notes), found), alpha)


def mean_position(dist: Distribution) -> int | None:
    """Return which parameter is the mean (of classes, the positive one's probability), or None."""
    if isinstance(dist, Categorical):
        return dist.positive
    return 0 if isinstance(dist, Normal | Poisson) or (isinstance(dist, StudentT) and dist.moments) else None


def _scaled(local: Local, alpha: float) -> Local:
    values = {f: np.sqrt(alpha) * v for f, v in local.values.items()}
    return Local(values, local.changes, local.method, local.smooth, local.levels, local.notes, local.derivatives)


def _told(found: Derivatives) -> tuple[str, ...]:
    if found.error is None:
        return ("Exact derivatives, compared with differences of the model's own predictions on a few rows.",)
    words = "No exact rule for this model: central differences at about 1/1300 of the standard deviation and at half"
    return (f"{words} of that, joined by Richardson's rule; meta holds the steps and the largest error estimates.",)


def unstable_rows(norm: FloatArray, error: FloatArray, floor: float) -> FloatArray:
    """Return where an estimated error is too large to believe the value."""
    return np.asarray(~(error <= _TOLERANCE * norm + floor))


def _unstable(found: Derivatives, base: Distribution, sample: Sample, step: float) -> str:
    """Say why derivatives are not to be used, or return the empty string."""
    spreads = np.array([sample.spreads[f] for f in sample.numeric])
    norms = np.stack([base.fisher_norm(found.first[:, j]) for j in range(len(spreads))])
    if found.error is None:
        return ""
    errors = np.stack([base.fisher_norm(found.error[:, j]) for j in range(len(spreads))])
    with np.errstate(invalid="ignore"):
        scale = np.where(np.isfinite(norms), norms, 0.0).mean(axis=1) * spreads
    floor = _FLOOR * scale.max() / spreads
    known = np.stack([sample.known(f) for f in sample.numeric])
    rough = known & np.stack([unstable_rows(n, e, f) for n, e, f in zip(norms, errors, floor, strict=True)])
    still = (norms == 0) & (errors == 0)
    suspects = [f for f, s in zip(sample.numeric, still, strict=True) if s.mean() > UNSTABLE_SHARE]
    if suspects:
        moved = _steps(sample, suspects, step, "")
        for f in suspects:
            j = sample.numeric.index(f)
            rough[j] |= still[j] & (np.nan_to_num(moved.values[f], nan=0.0) > 0)
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
    variants = [v for plan in plans.values() for v in plan[0]]
    moves = _evaluated(sample, variants) if variants else _Moves()
    infinite = int(sum(np.isinf(row).sum() for row in moves.kl))
    order: Order = "half" if infinite else "kl"
    lengths = [sensitivity(d, order) for d in (moves.half if infinite else moves.kl)]
    own = sample.engine.baseline.mean() if moves.mean else np.empty(0)
    values: dict[str, FloatArray] = {}
    changes: dict[str, FloatArray] = {}
    levels: dict[str, FloatArray] = {}
    start = 0
    for f, (some, chance, sign) in plans.items():
        part = slice(start, start + len(some))
        start += len(some)
        hidden = np.where(sample.known(f), 0.0, np.nan)
        unit = 1.0 if f in sample.categorical else step * sample.spreads[f]
        with np.errstate(invalid="ignore"):  # no chance of an infinite move: only rows that are hidden
            values[f] = (chance * np.stack(lengths[part])).sum(axis=0) / unit + hidden
        if moves.mean:
            gained = np.stack(moves.mean[part]) - own
            size = gained * sign if f in sample.numeric else np.abs(gained)
            changes[f] = (chance * size).sum(axis=0) / unit + hidden
            if f in sample.categorical:
                levels[f] = np.stack(moves.mean[part])
    return Local(values, changes, _words(order, step, reason), False, levels, _why(sample, infinite, reason))


def _plan(sample: Sample, feature: str, step: float) -> tuple[list[Variant], FloatArray, FloatArray]:
    """Return the moves of one feature, the weight of each in a row's mean, and the direction of each."""
    at = (sample.column(feature),)
    if feature in sample.categorical:
        levels, chance = level_moves(sample, feature)
        return [Variant(at, (level,)) for level in levels], chance, np.ones((len(levels), 1))
    reach = step * sample.spreads[feature]
    own = sample.values(feature)
    moves = [Variant(at, (own + reach,)), Variant(at, (own - reach,))]
    return moves, np.full((2, 1), 0.5), np.array([[1.0], [-1.0]])


def _evaluated(sample: Sample, variants: Sequence[Variant]) -> _Moves:
    engine, n = sample.engine, len(sample.rows)
    base, moves = engine.baseline, _Moves()
    edges = _edges(base)
    for dist in predicted(sample.subject.X, variants, engine.predict, engine.batch_rows):
        width = len(dist) // n
        before = base.take(np.repeat(np.arange(n), width))
        moves.kl += list(divergence(before, dist, "kl", edges).reshape(n, width).T)
        moves.half += list(divergence(before, dist, "half", edges).reshape(n, width).T)
        if "mean" in base.supports:
            moves.mean += list(np.array(dist.mean()).reshape(n, width).T)
    return moves


def _edges(base: Distribution) -> FloatArray | None:
    """Return edges of cells for families without a divergence of their own: quantiles of their predictions."""
    if isinstance(base, Normal | StudentT | Poisson | Categorical) or "quantile" not in base.supports:
        return None
    spread = base.quantile(np.linspace(0.02, 0.98, 25)).ravel()
    return np.unique(np.quantile(spread, np.linspace(0, 1, _CELLS - 1)))


def _words(order: Order, step: float, reason: str) -> str:
    form = "√(2 KL) / |Δx|" if order == "kl" else "√(4 D½) / |Δx| (Rényi divergence of order 1/2)"
    if not reason:
        return f"level changes by {form}"
    return f"finite-step form {form}, steps of {step:g} standard deviations; level changes alike"


def _why(sample: Sample, infinite: int, reason: str) -> tuple[str, ...]:
    found = []
    if reason:
        found.append(
            f"The model is {reason}. Numeric features therefore use the finite-step form of Paananen et al. (section "
            "2.5): how far the distribution moves over a step to either side, per unit. It is no derivative."
        )
    if infinite:
        found.append(
            f"KL is infinite for {infinite} moves, to a probability of 0 for what was possible: the Rényi divergence "
            "of order 1/2 is used for all of them, which has the same limit for small steps."
        )
    if _edges(sample.engine.baseline) is not None:
        found.append(f"Divergences compare the probabilities of {_CELLS} cells of y, which can only lower them.")
    return tuple(found)
