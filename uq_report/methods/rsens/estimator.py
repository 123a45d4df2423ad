"""R-sens as its paper states it: how fast the predictive distribution moves with a feature, or with two.

With λ(x) the parameters of q(y|x) and I(λ) their Fisher information (Paananen et al., eq. 4 to 6),

    R-sens(x, d) = √(α (∂λ/∂x_d)' I(λ) (∂λ/∂x_d)),   R-sens₂(x, d, e) = the same of ∂²λ/∂x_d∂x_e

1. Derivatives: exact where the model's family has a rule, else central differences with an estimate of their error.
2. Steps: where derivatives do not exist (trees), √(2 KL) / |Δx| of a step to either side, or √(4 D½) / |Δx| where a KL
   is infinite. A categorical feature moves to its other levels, by their shares.
3. Pairs: second derivatives by the same rules, on as many rows as their standard error needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.derivatives import Derivatives, floating, mixed_differences, numbers, predicted
from ...core.model.measures import Order, divergence, in_cells, sensitivity
from ...core.model.results import Omission
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.predictive import Distribution
from ...core.support.arrays import BoolArray, FloatArray, IntArray, take_rows
from ...distributions import Categorical, Laplace, Logistic, NegativeBinomial, Normal, Poisson, StudentT
from ...evidence.importance import RSENS2
from ..shared.choice import draw
from ..shared.grids import FeatureGrid, make_grid

Terms = dict[tuple[str, str], FloatArray]  # by measure and feature, shape (rows,)

PD_POINTS = 8
MAX_LEVELS = 10


@dataclass(frozen=True)
class DerivativeSample:
    """Rows of a subject with numeric columns as floats, an engine bound to them, and what varies in them.

    `rows` are positions in the `total` rows of the whole subject, `drawn` where others were left out at random.
    `spreads` holds the standard deviation of numeric features over the rows drawn first; that of a categorical one is
    the root of half the chance that two rows differ, which for two levels is that of a 0/1 column.
    """

    subject: Subject
    engine: Engine
    rows: IntArray
    total: int
    sampling: Sampling
    numeric: tuple[str, ...]
    grids: dict[str, FeatureGrid]
    spreads: dict[str, float]
    omissions: tuple[Omission, ...]
    drawn: bool

    def part(self, at: IntArray) -> DerivativeSample:
        """Return the sample of some of its rows, at positions `at` among them, with the spreads of all."""
        few = _rows_of(self.subject, at)
        engine = self.engine.bound(self.engine.explainer, few, at)
        return replace(self, subject=few, engine=engine, rows=self.rows[at], sampling=Sampling.of(few), drawn=True)

    @property
    def features(self) -> tuple[str, ...]:
        """Every feature that varies, in the order of the table."""
        return tuple(self.grids)

    @property
    def categorical(self) -> tuple[str, ...]:
        """Features whose levels are changed."""
        return tuple(f for f in self.grids if f not in self.numeric)

    def column(self, feature: str) -> int:
        """Return a feature's position in the table."""
        return self.subject.positions(feature)[0]

    def values(self, feature: str) -> FloatArray:
        """Return a numeric feature's values, or the positions of a categorical one's levels; NaN where unknown."""
        return self._own[feature]

    @cached_property
    def _own(self) -> dict[str, FloatArray]:
        own = {f: numbers(self.subject.X, self.column(f)) for f in self.numeric}
        levels = {f: self.grids[f].own_x(self.subject) for f in self.categorical}
        return levels | {f: np.where(np.isfinite(values), values, np.nan) for f, values in own.items()}

    def has_value(self, feature: str) -> BoolArray:
        """Return which rows have a value of the feature that can be moved."""
        return np.asarray(~np.isnan(self.values(feature)))

    def shares(self, feature: str) -> FloatArray:
        """Return the weighted shares of a categorical feature's levels, which sum to 1."""
        at, present = self.values(feature), self.has_value(feature)
        counts = np.bincount(at[present].astype(int), self.sampling.weights[present], len(self.grids[feature].steps))
        return np.asarray(counts / counts.sum())


def make_sample(subject: Subject, engine: Engine, features: Sequence[str], max_rows: int) -> DerivativeSample:
    """Draw at most `max_rows` rows of positive weight and sort the features by what can be done with them."""
    rows = draw(engine.rng("rows"), subject.n, max_rows, subject.weights)
    numeric = [f for f in features if subject.kinds[f] == "numeric"]
    part = _rows_of(subject, rows)
    part = replace(part, X=floating(part.X, [subject.positions(f)[0] for f in numeric]))
    sampling = Sampling.of(part)
    grids, spreads, omissions = {}, {}, []
    for feature in features:
        grid = make_grid(part, feature, PD_POINTS, (0.0, 1.0), MAX_LEVELS)
        reason = _why_not(part, feature, grid)
        if reason or grid is None:
            omissions.append(Omission("", feature, reason))
            continue
        grids[feature] = grid
        spreads[feature] = _spread(part, grid, sampling.weights)
    moved, bound = tuple(f for f in numeric if f in grids), engine.bound(engine.explainer, part, rows)
    drawn = len(rows) == max_rows < subject.n
    return DerivativeSample(part, bound, rows, subject.n, sampling, moved, grids, spreads, tuple(omissions), drawn)


def _rows_of(subject: Subject, rows: IntArray) -> Subject:
    """Return some rows of a subject, without outcomes and training rows."""
    return replace(
        subject,
        X=take_rows(subject.X, rows),
        y=None,
        weights=None if subject.weights is None else subject.weights[rows],
        clusters=None if subject.clusters is None else subject.clusters[rows],
        train=None,
    )


def _why_not(part: Subject, feature: str, grid: FeatureGrid | None) -> str:
    if grid is None:
        return "all of its values are missing or infinite in the sample used"
    if part.kinds[feature] == "datetime":
        return "a date has no unit to take a derivative in; pass a number, such as days since a start"
    return "it is constant in the sample used" if len(grid.steps) < 2 else ""


def _spread(part: Subject, grid: FeatureGrid, weights: FloatArray) -> float:
    at = grid.own_x(part)
    present = ~np.isnan(at)
    w = weights[present] / weights[present].sum()
    if grid.numeric:
        return float(np.sqrt(w @ np.square(at[present] - w @ at[present])))
    shares = pd.Series(w).groupby(at[present]).sum().to_numpy()
    return float(np.sqrt((1 - np.square(shares).sum()) / 2))


def level_chances(sample: DerivativeSample, feature: str) -> FloatArray:
    """Return the chance of a move of each row to each level of a feature, (levels, rows).

    It is the level's share among the others; 0 for the row's own level, and for all if it is unknown.
    """
    at, present, shares = sample.values(feature), sample.has_value(feature), sample.shares(feature)
    chance = np.repeat(shares[:, None], len(at), axis=1)
    chance[at[present].astype(int), np.flatnonzero(present)] = 0
    chance[:, ~present] = 0
    total = chance.sum(axis=0)
    return np.asarray(chance / np.where(total > 0, total, 1.0))


UNSTABLE_SHARE = 0.1  # of rows without a derivative, above which steps are used
_MEAN_FIRST = (Normal, Poisson, Laplace, Logistic, NegativeBinomial)  # families whose first parameter is the mean
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
    levels: dict[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    derivatives: Derivatives | None = None


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
    return replace(local, values={f: np.sqrt(alpha) * own for f, own in local.values.items()})


def _by_derivatives(sample: DerivativeSample, rates: Derivatives, steps: Local) -> Local:
    """Return derivatives of numeric features, beside the steps of the categorical ones."""
    base, values, changes = sample.engine.baseline, dict(steps.values), dict(steps.changes)
    at, norms = mean_position(base), base.fisher_norm(rates.first.swapaxes(0, 1))
    for j, feature in enumerate(sample.numeric):
        unknown = np.where(sample.has_value(feature), 0.0, np.nan)
        values[feature] = norms[j] + unknown
        if at is not None:
            changes[feature] = rates.first[:, j, at] + unknown
    method = f"{rates.method}; {steps.method}" if sample.categorical else rates.method
    ordered = {f: values[f] for f in sample.features}
    notes = (_rule(rates), *steps.notes)
    return Local(ordered, changes, method, steps.levels, notes, rates)


def mean_position(dist: Distribution) -> int | None:
    """Return which parameter is the mean (of classes, the positive one's probability), or None."""
    if isinstance(dist, Categorical):
        return dist.positive
    return 0 if isinstance(dist, _MEAN_FIRST) or (isinstance(dist, StudentT) and dist.moments) else None


def _rule(rates: Derivatives) -> str:
    if rates.error is None:
        return "Exact derivatives, compared with differences of the model's own predictions on a few observations."
    words = "No exact rule for this model: central differences at about 1/1300 of the standard deviation and at half"
    return f"{words} of that, combined by Richardson's rule; meta has the steps and the largest error estimates."


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
        "piecewise constant or kinked: its differences do not converge, or are 0 while a step is not, for "
        f"{shares[worst]:.0%} of the observations for {sample.numeric[worst]}"
    )


def _steps(sample: DerivativeSample, features: Sequence[str], step: float, reason: str) -> Local:
    """Return the finite-step form: √(2 KL) / |Δx|, or √(4 D_half) / |Δx| for all where a KL is infinite."""
    plans = {f: _plan(sample, f, step) for f in features}
    moved = _moved(sample, [v for variants, *_ in plans.values() for v in variants])
    infinite = int(np.isinf(moved["kl"]).sum())
    order: Order = "half" if infinite else "kl"
    lengths = sensitivity(moved[order], order)
    local = Local({}, {}, _words(order, step, reason), {}, _why(sample, infinite, reason))
    means = moved["means"]
    own, start = sample.engine.baseline.mean() if len(means) else np.empty(0), 0
    for f, (variants, chance, sign) in plans.items():
        part = slice(start, start + len(variants))
        start = part.stop
        unknown = np.where(sample.has_value(f), 0.0, np.nan)
        unit = 1.0 if f in sample.categorical else step * sample.spreads[f]
        with np.errstate(invalid="ignore"):  # no chance of an infinite move: only rows that are unknown
            local.values[f] = (chance * lengths[part]).sum(axis=0) / unit + unknown
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


def _moved(sample: DerivativeSample, variants: Sequence[Variant]) -> dict[str, FloatArray]:
    """Return what the variants of every row diverge by, and their means."""
    engine, n, edges = sample.engine, len(sample.rows), _edges(sample.engine.baseline)
    base = engine.baseline if edges is None else in_cells(engine.baseline, edges)
    moves: dict[str, list[FloatArray]] = {"kl": [], "half": [], "means": []}
    for dist in predicted(sample.subject.X, variants, engine.predict, engine.rows_together) if variants else ():
        width = len(dist) // n
        after = dist if edges is None else in_cells(dist, edges)
        before = base.take(np.repeat(np.arange(n), width))
        values = {"kl": divergence(before, after, "kl"), "half": divergence(before, after, "half")}
        if "mean" in engine.baseline.supports:
            values["means"] = np.array(dist.mean())
        for name, value in values.items():
            moves[name] += list(value.reshape(n, width).T)
    return {name: np.array(rows).reshape(-1, n) for name, rows in moves.items()}


def _edges(base: Distribution) -> FloatArray | None:
    """Return edges of cells for families without a divergence of their own: quantiles of their predictions."""
    if {"kl", "renyi_half"} <= base.supports or "quantile" not in base.supports:
        return None
    spread = base.quantile(np.linspace(0.02, 0.98, 25)).ravel()
    return np.unique(np.quantile(spread, np.linspace(0, 1, _CELLS - 1)))


def _words(order: Order, step: float, reason: str) -> str:
    form = "√(2 KL) / |Δx|" if order == "kl" else "√(4 D½) / |Δx| (Rényi divergence of order 1/2)"
    if not reason:
        return f"changes of level by {form}"
    return f"finite-step form {form}, steps of {step:g} standard deviations; changes of level likewise"


def _why(sample: DerivativeSample, infinite: int, reason: str) -> tuple[str, ...]:
    notes = []
    if reason:
        notes.append(
            f"The model is {reason}. Numeric features therefore use the finite-step form of Paananen et al. (section "
            "2.5): the change of the distribution over a step to either side, per unit. It is no derivative."
        )
    if infinite:
        notes.append(
            f"KL is infinite for {infinite} steps, where a positive probability becomes 0: the Rényi divergence of "
            "order 1/2 is used throughout, which has the same limit for small steps."
        )
    if _edges(sample.engine.baseline) is not None:
        notes.append(f"Divergences compare the probabilities of {_CELLS} cells of y, which can only lower them.")
    return tuple(notes)


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
        notes = (*notes, f"Second differences below {_NOISE:g} of the largest R-sens are rounding errors and set to 0.")
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
    rule = f"chosen so that, from {FIRST} of them, no standard error is above {aim:g} times the largest pair's mean"
    return used, bends, (f"Pairs are computed on {size} of {n} observations, drawn at random and {rule}.",)


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
        rough = carried = 0.0
        if errors is not None and not infinite:
            rough, carried = _disagreeing(values[a, b, present], errors[a, b, present], floor[a, b])
        if infinite:
            remedy = "a probability of 0 changes; calibrate or smooth the probabilities"
            reason = f"infinite for {infinite} observations: {remedy}"
        elif rough > UNSTABLE_SHARE:
            reason = f"its second differences do not converge for {rough:.0%} of the observations"
        elif carried > UNSTABLE_SHARE:
            reason = f"{carried:.0%} of its mean comes from kinks: second differences at two steps disagree"
        if reason:
            omissions.append(Omission(RSENS2, f"{names[a]} x {names[b]}", reason))
    return tuple(omissions)


def _disagreeing(values: FloatArray, errors: FloatArray, floor: float) -> tuple[float, float]:
    """Return the share of rows whose differences at two steps disagree, and the share of the sum that these rows make.

    A step across a kink gives its jump divided by the step: a few such rows make a mean that depends on the step alone.
    """
    if not len(values):
        return 0.0, 0.0
    rough, total = unstable_rows(values, errors, floor), float(values.sum())
    return float(rough.mean()), float(values[rough].sum()) / total if total else 0.0
