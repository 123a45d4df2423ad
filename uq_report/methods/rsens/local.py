"""Sensitivities of single rows: by derivatives where they exist, else by steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.derivatives import Derivatives, predicted
from ...core.model.divergence import Members, Order, divergence, divergences_of_members, in_cells, sensitivity
from ...core.model.variants import Variant
from ...core.predictive import Distribution
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...distributions import Categorical, Laplace, Logistic, NegativeBinomial, Normal, Poisson, StudentT
from ...evidence.importance import RSENS, RSENS_HIDDEN, RSENS_MEMBERS
from .members import hidden, hidden_rate
from .sample import DerivativeSample, Terms, level_chances

UNSTABLE_SHARE = 0.1  # of rows without a derivative, above which steps are used
_MEAN_FIRST = (Normal, Poisson, Laplace, Logistic, NegativeBinomial)  # families whose first parameter is the mean
_TOLERANCE = 0.05  # of a row's value
_FLOOR = 1e-3  # of the strongest feature's mean, below which an error does not matter
_CELLS = 64


@dataclass(frozen=True)
class Local:
    """Sensitivity per unit of each feature and row, and the change of the prediction per unit, signed.

    Rows where a feature has no value hold NaN. `changes` is empty where the family has no mean; for a
    categorical feature it is the mean size of a level change. `members` holds, by measure and feature, what an
    ensemble's members have; nothing without members.
    """

    values: dict[str, FloatArray]
    changes: dict[str, FloatArray]
    method: str
    levels: dict[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    derivatives: Derivatives | None = None
    members: Terms = field(default_factory=dict)


def local_values(sample: DerivativeSample, alpha: float, step: float) -> Local:
    """Return sensitivities by derivatives if they converge, else by steps for all numeric features alike."""
    base = sample.engine.baseline
    rates, reason = None, "of a family whose divergences are known but not its Fisher information"
    if sample.numeric and {"parameters", "fisher_norm"} <= base.supports:
        rates = sample.engine.derivatives([sample.column(f) for f in sample.numeric])
        reason = _unstable(rates, base, sample, step)
    local = _steps(sample, sample.features if rates is None or reason else sample.categorical, step, reason)
    if rates is not None and not reason:
        local = _by_derivatives(sample, rates, local)
    values = {f: np.sqrt(alpha) * own for f, own in local.values.items()}
    return replace(local, values=values, members={key: np.sqrt(alpha) * own for key, own in local.members.items()})


def _by_derivatives(sample: DerivativeSample, rates: Derivatives, steps: Local) -> Local:
    """Return derivatives of numeric features, beside the steps of the categorical ones."""
    base, values, changes, members = sample.engine.baseline, dict(steps.values), dict(steps.changes), {}
    at, norms = mean_position(base), base.fisher_norm(rates.first.swapaxes(0, 1))
    for j, feature in enumerate(sample.numeric):
        unknown = np.where(sample.has_value(feature), 0.0, np.nan)
        values[feature] = norms[j] + unknown
        if at is not None:
            changes[feature] = rates.first[:, j, at] + unknown
        if "members" in base.supports:
            rest = hidden_rate(sample, feature, rates.precision)
            members[RSENS_MEMBERS, feature] = np.hypot(values[feature], rest)
            members[RSENS_HIDDEN, feature] = rest + unknown
    method = f"{rates.method}; {steps.method}" if sample.categorical else rates.method
    ordered = {f: values[f] for f in sample.features}
    notes = (_rule(rates), *steps.notes)
    return Local(ordered, changes, method, steps.levels, notes, rates, members | steps.members)


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


def _unstable(rates: Derivatives, base: Distribution, sample: DerivativeSample, step: float) -> str:
    """Say why derivatives are not to be used, or return the empty string."""
    if rates.error is None:
        return ""
    spreads = np.array([sample.spreads[f] for f in sample.numeric])
    norms, errors = (base.fisher_norm(part.swapaxes(0, 1)) for part in (rates.first, rates.error))
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


def _steps(sample: DerivativeSample, features: Sequence[str], step: float, reason: str) -> Local:
    """Return the finite-step form: √(2 KL) / |Δx|, or √(4 D_half) / |Δx| for all where a KL is infinite."""
    plans = {f: _plan(sample, f, step) for f in features}
    moved = _moved(sample, [v for variants, *_ in plans.values() for v in variants])
    infinite = {RSENS: moved.kl, RSENS_MEMBERS: moved.joint_kl}
    counts = {measure: int(np.isinf(kl).sum()) for measure, kl in infinite.items()}
    order: Order = "half" if any(counts.values()) else "kl"
    lengths = {m: sensitivity(d, order) for m, d in moved.divergences(order).items()}
    local = Local({}, {}, _words(order, step, reason), {}, _why(sample, counts, reason))
    means = moved.means
    own, start = sample.engine.baseline.mean() if len(means) else np.empty(0), 0
    for f, (variants, chance, sign) in plans.items():
        part = slice(start, start + len(variants))
        start = part.stop
        unknown = np.where(sample.has_value(f), 0.0, np.nan)
        unit = 1.0 if f in sample.categorical else step * sample.spreads[f]
        with np.errstate(invalid="ignore"):  # no chance of an infinite move: only rows that are unknown
            rates = {m: (chance * length[part]).sum(axis=0) / unit + unknown for m, length in lengths.items()}
        local.values[f] = rates.pop(RSENS)
        local.members.update({(m, f): rate for m, rate in rates.items()})
        if len(means):
            gained = means[part] - own
            size = gained * sign if f in sample.numeric else np.abs(gained)
            local.changes[f] = (chance * size).sum(axis=0) / unit + unknown
            if f in sample.categorical:
                local.levels[f] = means[part]
    return local


def _plan(sample: DerivativeSample, feature: str, step: float) -> tuple[list[Variant], FloatArray, FloatArray]:
    """Return the moves of one feature, the weight of each in a row's mean, and the direction of each."""
    at = (sample.column(feature),)
    if feature in sample.categorical:
        levels = sample.grids[feature].steps
        return [Variant(at, (level,)) for level in levels], level_chances(sample, feature), np.ones((len(levels), 1))
    reach = step * sample.spreads[feature]
    own = sample.values(feature)
    moves = [Variant(at, (own + reach,)), Variant(at, (own - reach,))]
    return moves, np.full((2, 1), 0.5), np.array([[1.0], [-1.0]])


class _Moved(NamedTuple):
    """Divergences in nats and the mean after each move, (variants, rows); empty where there are no members, no mean."""

    kl: FloatArray
    half: FloatArray
    means: FloatArray
    joint_kl: FloatArray
    joint_half: FloatArray

    def divergences(self, order: Order) -> dict[str, FloatArray]:
        """Return those of the prediction, and, where there are members, of these and of what they hide."""
        mixed, joint = (self.kl, self.joint_kl) if order == "kl" else (self.half, self.joint_half)
        if not len(joint):
            return {RSENS: mixed}
        return {RSENS: mixed, RSENS_MEMBERS: np.maximum(joint, mixed), RSENS_HIDDEN: hidden(joint, mixed)}


def _moved(sample: DerivativeSample, variants: Sequence[Variant]) -> _Moved:
    """Return what the variants of every row diverge by, and their means."""
    engine, n, edges = sample.engine, len(sample.rows), _edges(sample.engine.baseline)
    base = engine.baseline if edges is None else in_cells(engine.baseline, edges)
    members = list(base.members()) if "members" in base.supports else []
    moves: dict[str, list[FloatArray]] = {name: [] for name in _Moved._fields}
    for dist in predicted(sample.subject.X, variants, engine.predict, engine.rows_together) if variants else ():
        width = len(dist) // n
        after = dist if edges is None else in_cells(dist, edges)
        values = _divergences(engine, base, members, after, np.repeat(np.arange(n), width))
        if "mean" in engine.baseline.supports:
            values["means"] = np.array(dist.mean())
        for name, value in values.items():
            moves[name] += list(value.reshape(n, width).T)
    return _Moved(**{name: np.array(rows).reshape(-1, n) for name, rows in moves.items()})


def _divergences(
    engine: Engine, base: Distribution, members: Members, after: Distribution, rows: IntArray
) -> dict[str, FloatArray]:
    """Return the divergences of both orders from `base` of the given rows to `after`, and of the members."""

    def one(member: Distribution) -> Distribution:
        engine.check()
        return member.take(rows)

    before = base.take(rows)
    values = {"kl": divergence(before, after, "kl"), "half": divergence(before, after, "half")}
    if members:
        own = ((weight, one(member)) for weight, member in members)
        values["joint_kl"], values["joint_half"] = divergences_of_members(own, after.members())
    return values


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


def _why(sample: DerivativeSample, infinite: Mapping[str, int], reason: str) -> tuple[str, ...]:
    notes = []
    if reason:
        notes.append(
            f"The model is {reason}. Numeric features therefore use the finite-step form of Paananen et al. (section "
            "2.5): how far the distribution moves over a step to either side, per unit. It is no derivative."
        )
    if any(infinite.values()):
        where = f"{infinite[RSENS]} moves" if infinite[RSENS] else f"members on {infinite[RSENS_MEMBERS]} moves"
        notes.append(
            f"KL is infinite for {where}, to a probability of 0 for what was possible: the Rényi divergence "
            "of order 1/2 is used for all of them, which has the same limit for small steps."
        )
    if _edges(sample.engine.baseline) is not None:
        notes.append(f"Divergences compare the probabilities of {_CELLS} cells of y, which can only lower them.")
    return tuple(notes)
