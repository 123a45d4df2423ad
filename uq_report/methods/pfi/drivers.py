"""What drives the predictive uncertainty: how far permuting a unit of features changes it, as a size.

With u(x) the uncertainty (the entropy of the predictive distribution), b_i = u(x_i) and T_ik = u(x_i with the values of
unit S from row k), and means over pairs of different rows:

``A_S = mean |T_ik - b_i|``, the size; ``D = mean |b_i - b_k|``, the average difference between two observations;
``R_S = A_S / D``; ``T_S = mean (T_ik - b_i)² / (2 var b)``, Jansen's total-effect index (Jansen 1999).

A is 0 exactly where u does not use S. For S independent of the other features 0 <= R <= 1 and 0 <= T <= 1, and the
mean change E_S = mean (T_ik - b_i) is 0 for every u, since x with S permuted has the law of x: so E names no driver.
Strongly associated features form a unit and are permuted together: apart, they make combinations that do not occur.

The changes of a row are kernels of the two-way fit like those of any measure (`core.statistics.inference`), so sizes
have intervals over new test samples; they are symmetric on the log scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import CHANGES, ENTROPY, EPISTEMIC, Change, Measure
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission, Result, RowValues
from ...core.model.sampling import t_quantile
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.statistics.inference import PairTerms, standard_error
from ...core.statistics.ranking import normal_draws, rank_intervals, term_covariance
from ...core.statistics.verdicts import EQUIVALENCE
from ...core.support.arrays import FloatArray
from ...core.traits.stochastic import Members
from ...evidence import ids, importance as readings
from ...evidence.importance import ABOUT_0, DIFFERENCE, POSITIVE, UNDETERMINED, UNIT
from ..shared.association import associations, coded
from ..shared.estimates import diagnostic, estimate
from ..shared.terms import ROUNDING, ChangedMeasures, ShuffledRows, pair_terms

ASSOCIATED = 0.6  # features of which every two are associated so strongly are permuted together
NEGLIGIBLE = 0.1  # share of the average difference between two observations
CONSTANT_NATS, CONSTANT_SHARE, CONSTANT_SPREAD = 0.02, 0.05, 0.02  # in nats, of a mean entropy, of a mean spread
SHIFT = 0.25  # share of a size from which a mean change shows combinations that do not occur
DRAWS = 2000
_LARGEST = 100.0  # logarithm of a factor beyond which an interval says nothing


def followed(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """Return the change, and its square, of each uncertainty among the measures that has one."""
    changes = [CHANGES[measure.name] for measure in measures if measure.name in CHANGES]
    return tuple(each for change in changes for each in (change, _power(change, "squared", 2)))


def counted(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """Return whether each uncertainty among the measures changes at all."""
    return tuple(_power(CHANGES[measure.name], "any", 0) for measure in measures if measure.name in CHANGES)


def _power(change: Measure, name: str, power: int) -> Measure:
    rule = change.rows
    rows = replace(rule, power=power) if isinstance(rule, Change) else rule
    return replace(change, name=f"{change.name}_{name}", rows=rows)


def associated(subject: Subject, features: Sequence[str]) -> list[tuple[str, ...]]:
    """Return sets of features, in their order, of which every two are associated by `ASSOCIATED` or more.

    Complete linkage: Spearman's rank correlation by size, Cramér's V, or the correlation ratio.
    """
    if len(features) < 2:
        return []
    from scipy.cluster.hierarchy import fcluster, linkage  # here: heavy, and a list of plugins clusters nothing
    from scipy.spatial.distance import squareform

    apart = 1 - associations([coded(subject, feature) for feature in features])
    np.fill_diagonal(apart, 0.0)
    codes = fcluster(linkage(squareform(apart, checks=False), "complete"), 1 - ASSOCIATED, "distance")
    sets = [tuple(f for f, own in zip(features, codes, strict=True) if own == code) for code in dict.fromkeys(codes)]
    return [members for members in sets if len(members) > 1]


class UnitTerms(NamedTuple):
    """What permuting a set of features does to one uncertainty: terms of |change|, its square, and the change.

    `shift` is None where the change itself was not evaluated, `changed` the share of pairs of rows whose uncertainty
    differs, `why` says why there is no interval.
    """

    size: PairTerms
    square: PairTerms
    shift: PairTerms | None
    changed: float
    zero: bool
    why: str


@dataclass(frozen=True)
class Spread:
    """How an uncertainty varies between the rows: `d` each row's mean difference to others, `squares` about the mean.

    `scale` turns means over all pairs of rows into means over pairs of different rows or clusters.

    Examples
    --------
    >>> rows = ShuffledRows((), np.zeros((0, 3)), np.zeros(3), np.ones(3), None)
    >>> spread = Spread.of(np.array([0.0, 1.0, 3.0]), rows)
    >>> round(spread.difference, 9), round(spread.variance, 9), spread.d.round(9).tolist()
    (2.0, 2.333333333, [2.0, 1.5, 2.5])
    """

    b: FloatArray
    d: FloatArray
    squares: FloatArray
    omega: FloatArray
    scale: float

    @classmethod
    def of(cls, b: FloatArray, rows: ShuffledRows) -> Spread:
        """Return the spread of values b, shape (n,), in O(n log n)."""
        omega = rows.weights / rows.weights.sum()
        clusters = None if rows.blocks else rows.clusters
        shares = omega if clusters is None else np.bincount(clusters, omega)
        scale = 1 / (1 - float(np.square(shares).sum())) if shares.max() < 1 else np.nan
        centred = b - b @ omega
        order = np.argsort(centred, kind="stable")
        values, weights = centred[order], omega[order]
        below, sums = np.cumsum(weights), np.cumsum(weights * values)
        d = np.empty_like(b)
        d[order] = np.maximum(values * (2 * below - 1) + sums[-1] - 2 * sums, 0.0)
        return cls(b, scale * d, np.square(centred), omega, scale)

    @property
    def difference(self) -> float:
        """The average difference between two rows, D."""
        return float(self.d @ self.omega)

    @property
    def variance(self) -> float:
        """The variance of the rows, of equal ones with n - 1."""
        return self.scale * float(self.squares @ self.omega)


@dataclass
class Drivers:
    """The terms of every set of features for every uncertainty, collected as sets are shuffled.

    `rows` has the uncertainties unchanged; `discrete` says that outcomes have probabilities,
    `floors` by how much two calls of the model change an uncertainty.
    """

    rows: ShuffledRows
    confidence: float
    discrete: bool
    floors: Mapping[str, float]
    terms: dict[str, dict[str, UnitTerms]] = field(default_factory=dict)

    @classmethod
    def of(cls, engine: Engine, rows: ShuffledRows) -> Drivers | None:
        """Return the drivers before any shuffle; None without an uncertainty, and of rows shuffled within clusters."""
        at = [m for m, measure in enumerate(rows.measures) if measure.name in CHANGES]
        if not at or rows.within:
            return None
        own = replace(rows, measures=tuple(rows.measures[m] for m in at), b=rows.b[at])
        return cls(own, engine.confidence, engine.baseline.discrete, _floors(engine, own))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The uncertainties, then what follows them."""
        return (*self.rows.measures, *followed(self.rows.measures), *counted(self.rows.measures))

    @property
    def base(self) -> FloatArray:
        """All measures unchanged, shape (measures, n): no row changes without a shuffle."""
        return np.concatenate([self.rows.b, np.zeros((3 * len(self.rows.b), self.rows.n))])

    @property
    def uncertainties(self) -> Iterator[tuple[Measure, Change, FloatArray]]:
        """Yield each change, its rule, and the uncertainty of the rows unchanged, shape (n,)."""
        for measure, b in zip(self.rows.measures, self.rows.b, strict=True):
            change = CHANGES.get(measure.name)
            if change is not None and isinstance(change.rows, Change):
                yield change, change.rows, change.rows.uncertainty(b)

    def add(self, name: str, changes: ChangedMeasures, means: FloatArray, measures: Sequence[Measure]) -> None:
        """Add a set of features by the `measures` of its changed rows; what is infinite in a row is left out.

        The last `means` say in which share of pairs each row changes at all.
        """
        at = {measure.name: m for m, measure in enumerate(measures)}
        own = self.terms.setdefault(name, {})
        why = self.rows.why_no_interval(len(changes.donors), exact=changes.exact)
        omega = self.rows.weights / self.rows.weights.sum()
        shares = means[len(means) - len(self.rows.b) :] @ omega
        for (change, rule, b), moved in zip(self.uncertainties, shares.tolist(), strict=True):
            m = at[change.name]
            part = changes.of(slice(m, m + 2))
            if part.infinite.any() or not np.isfinite(b).all():
                continue
            pairs = pair_terms(part, np.zeros((2, self.rows.n)), self.rows)
            size, square = (PairTerms(*(each[k : k + 1] for each in pairs)) for k in (0, 1))
            tolerance = ROUNDING * float(np.abs(b).max())
            zero = not moved and float(np.abs(size.repeats).max()) <= tolerance
            whole = changes.of(slice(at[rule.of.name], at[rule.of.name] + 1))
            shift = None if rule.is_root else pair_terms(whole, b[None], self.rows)
            own[change.name] = UnitTerms(size, square, shift, moved, zero, why)

    def results(
        self, features: Sequence[str], units: Mapping[str, tuple[str, ...]], options: Mapping[str, Any]
    ) -> list[Result]:
        """Return the size of every one of `features`, and of `units`, members by name; none where no size exists."""
        judges = [
            Judge(self, change, Spread.of(b, self.rows), own)
            for change, _, b in self.uncertainties
            if (own := {name: each[change.name] for name, each in self.terms.items() if change.name in each})
        ]
        return [_sizes(judges, features, options), _units(judges, units, options)] if judges else []


def _floors(engine: Engine, rows: ShuffledRows) -> dict[str, float]:
    """Return how far a second call of a random model changes each uncertainty on average; none of other models."""
    if not isinstance(engine.subject.adapter, Members):
        return {}
    unchanged = Variant((0,), donors=np.arange(rows.n))
    (again,) = (group.values[:, 0] for group in engine.evaluate([unchanged], rows.measures))
    omega, floors = rows.weights / rows.weights.sum(), {}
    for measure, values, b in zip(rows.measures, again, rows.b, strict=True):
        rule = CHANGES[measure.name].rows if measure.name in CHANGES else None
        if isinstance(rule, Change):
            floors[CHANGES[measure.name].name] = float(rule.between(values, rule.uncertainty(b)) @ omega)
    return floors


@dataclass(frozen=True)
class Judge:
    """Judges the sizes of one uncertainty, by the `terms` of each set of features, against its spread."""

    drivers: Drivers
    change: Measure
    spread: Spread
    terms: Mapping[str, UnitTerms]

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return self.drivers.confidence

    @property
    def margin(self) -> float:
        """The size below which a unit is negligible: a tenth of D, or what two calls of the model differ by."""
        return max(NEGLIGIBLE * self.spread.difference, self.drivers.floors.get(self.change.name, 0.0))

    @property
    def tolerance(self) -> float:
        """The difference between two rows below which the uncertainty is practically constant."""
        mean = float(np.abs(self.spread.b) @ self.spread.omega)
        if self.change.unit != ENTROPY.unit:
            return CONSTANT_SPREAD * mean
        return min(CONSTANT_NATS, CONSTANT_SHARE * mean) if self.drivers.discrete else CONSTANT_NATS

    def error(self, g: FloatArray, row_noise: FloatArray, mean_noise: FloatArray) -> float:
        """Return the standard error of the mean of row terms g, shape (n,)."""
        rows, none = self.drivers.rows, np.zeros((1, 1))
        pairs = PairTerms(none[0], none, g[None], row_noise, mean_noise)
        return float(standard_error(pairs, rows.weights, rows.clusters)[0])

    def reach(self, level: float) -> float:
        """Return the quantile of an interval of a level."""
        return t_quantile(0.5 + level / 2, self.drivers.rows.units - 1)

    def around(self, value: float, se: float, level: float) -> tuple[float, float]:
        """Return the interval of a positive value on the log scale; of 0 it is 0."""
        if value == 0:
            return 0.0, 0.0
        factor = float(np.exp(min(self.reach(level) * se / value, _LARGEST)))
        return value / factor, value * factor

    def difference(self) -> dict[str, Any]:
        """Return D with its interval, and whether it is beyond what is practically constant."""
        value, none = self.spread.difference, np.zeros(1)
        se = self.error(2 * self.spread.d, none, none)
        ends = self.around(value, se, self.level)
        state = readings.DIFFERS if ends[0] > self.tolerance else readings.OPEN
        if self.around(value, se, 1 - 2 * EQUIVALENCE)[1] < self.tolerance or value == 0:
            state = readings.CONSTANT
        return estimate(value, se, ends, self.level, self.change.name) | {
            "item": DIFFERENCE,
            "verdict": state,
            "margin": self.tolerance,
            "exact_zero": value == 0,
        }

    def line(self, name: str) -> dict[str, Any]:
        """Return the size of a set, its share R of D, its total effect T and its mean change, and the verdict."""
        own, c, D = self.terms[name], self.spread.scale, self.spread.difference
        size, g, noises = self._size(own), c * own.size.rows[0], c * c * np.stack(own.size[3:])
        se = self._unless(own, self.error(g, *noises))
        share = part = np.nan
        if D > 0:
            share = size / D
            part = self._unless(own, self.error((g - 2 * share * self.spread.d) / D, *noises / D**2))
        around, pairs = self.around(share, part, self.level), min(c * own.changed, 1.0)
        unreliable = self.drivers.rows.unreliable(g, se, outcomes=False).reason
        shift = self._shift(own)
        shifted = max(shift[1], -shift[2]) > 0 and abs(shift[0]) >= SHIFT * size
        flag = readings.SHIFTED if shifted else readings.WIDER if around[0] > 1 else ""
        verdict = UNDETERMINED if unreliable else self._verdict(share, part)
        return estimate(size, se, self.around(size, se, self.level), self.level, self.change.name, name) | {
            "verdict": ABOUT_0 if own.zero else verdict,
            "margin": self.margin,
            **dict(zip(("share", "share_lower", "share_upper"), (share, *around), strict=True)),
            **dict(zip(("total", "total_lower", "total_upper"), self._total(own), strict=True)),
            **dict(zip(("shift", "shift_lower", "shift_upper"), shift, strict=True)),
            "changed": pairs,
            "where_changed": size / pairs if pairs else 0.0,
            "flag": flag,
            "exact_zero": own.zero,
            "unreliable": unreliable,
        }  # fmt: skip

    def _size(self, own: UnitTerms) -> float:
        return 0.0 if own.zero else self.spread.scale * float(own.size.estimate[0])

    def _unless(self, own: UnitTerms, se: float) -> float:
        """Return a standard error: NaN where there is no interval, 0 of what is exactly 0."""
        return np.nan if own.why else 0.0 if own.zero else se

    def _total(self, own: UnitTerms) -> tuple[float, float, float]:
        """Return the total effect index with its interval."""
        if not self.spread.variance > 0:
            return np.nan, np.nan, np.nan
        c, square = self.spread.scale / (2 * self.spread.variance), own.square
        total = 0.0 if own.zero else c * float(square.estimate[0])
        g = c * (square.rows[0] - 2 * total * self.spread.squares)
        se = self._unless(own, self.error(g, c * c * square.row_noise, c * c * square.mean_noise))
        return total, *self.around(total, se, self.level)

    def _shift(self, own: UnitTerms) -> tuple[float, float, float]:
        """Return the mean change with its t interval."""
        if own.shift is None:
            return np.nan, np.nan, np.nan
        value = 0.0 if own.zero else float(own.shift.estimate[0])
        se = self._unless(own, self.error(own.shift.rows[0], own.shift.row_noise, own.shift.mean_noise))
        reach = self.reach(self.level) * se
        return value, value - reach, value + reach

    def _verdict(self, share: float, se: float) -> str:
        """Return whether a unit is shown to matter, negligible, or neither."""
        limit = self.margin / self.spread.difference if self.spread.difference else np.nan
        if self.around(share, se, 1 - 2 * EQUIVALENCE)[1] < limit:
            return ABOUT_0
        return POSITIVE if self.around(share, se, self.level)[0] > limit else UNDETERMINED

    def is_above(self, high: str, low: str, kernel: str = "size") -> bool:
        """Say whether a size (or mean square) is larger than another: the paired interval is above 0."""
        if self.terms[high].why or self.terms[low].why:
            return False
        a, b = (getattr(self.terms[name], kernel) for name in (high, low))
        se = self.error(a.rows[0] - b.rows[0], a.row_noise + b.row_noise, a.mean_noise + b.mean_noise)
        return bool(a.estimate[0] - b.estimate[0] > self.reach(self.level) * se)

    def units(self, units: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, Any]]:
        """Yield the line of each unit with the ranks that it may have, largest first, and what qualifies it.

        `apart` counts members that are larger alone, `rare` says that the unit leads by mean squares and not by size.
        """
        lines = sorted((self.line(name) for name in units if name in self.terms), key=lambda line: -line["estimate"])
        widest = max(lines, key=lambda line: float(np.nan_to_num(line["total"])), default={})
        for line, (first, last) in zip(lines, self._ranks(lines), strict=True):
            name, members = line["feature"], units[line["feature"]]
            apart = [m for m in members if m != name and m in self.terms and self.is_above(m, name)]
            rare = line is widest and first > 1 and self.is_above(name, lines[0]["feature"], "square")
            yield line | {"item": UNIT, "first": first, "last": last, "apart": len(apart), "rare": rare}

    def _ranks(self, lines: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
        """Return the first and the last rank of each unit that intervals leave, for all units together."""
        errors = np.array([line["std_error"] for line in lines])
        if len(lines) < 2 or np.isnan(errors).any():
            return [(1, len(lines))] * len(lines)
        rows, own = self.drivers.rows, [self.terms[line["feature"]] for line in lines]
        g = np.stack([np.where(each.zero, 0.0, self.spread.scale * each.size.rows[0]) for each in own])
        K = term_covariance(g, rows.weights, rows.clusters)
        draws, sizes = normal_draws(K, DRAWS, np.random.default_rng(0)), np.array([line["estimate"] for line in lines])
        found = rank_intervals(sizes, K, errors, draws, rows.units, confidence=self.level)
        return list(zip(found.lower.tolist(), found.upper.tolist(), strict=True))


_OWN = (
    *("verdict", "margin", "share", "share_lower", "share_upper", "total", "total_lower", "total_upper"),
    *("shift", "shift_lower", "shift_upper", "changed", "where_changed", "flag", "exact_zero", "unreliable"),
)
_SIZE = (
    "Size: mean absolute change of the uncertainty over pairs of different observations, in its unit; share: size over "
    "the average difference between two observations; total effect: Jansen's index, by squares."
)
_TOGETHER = (
    f"Features with pairwise association of at least {ASSOCIATED} are a unit and permuted together, as are "
    "groups that the owner named."
)
_NOTES = (
    _SIZE,
    "Intervals cover new test samples for the fixed model; intervals of sizes are symmetric on the log scale.",
)


def _sizes(judges: Sequence[Judge], features: Sequence[str], options: Mapping[str, Any]) -> Importance:
    """Return the result of single features and of owner's groups; a part of the uncertainty is not ranked."""
    lines, frames, gaps = [], [], []
    rows = np.full((len(judges), len(features), judges[0].drivers.rows.n), np.nan)
    infinite = "the uncertainty is infinite for some observation with or without its own values"
    for k, judge in enumerate(judges):
        for j, name in enumerate(features):
            if name not in judge.terms:
                gaps.append(Omission(judge.change.name, name, infinite))
                continue
            own = judge.terms[name]
            lines.append(judge.line(name) | {"ranked": judge.change.name != CHANGES[EPISTEMIC.name].name})
            rows[k, j] = np.where(own.zero, 0.0, judge.spread.scale * own.size.rows[0])
            values = np.where(own.zero, 0.0, judge.spread.scale * own.size.repeats[0])
            keys = {"measure": judge.change.name, "feature": name, "repeat": range(len(values))}
            frames.append(pd.DataFrame(keys | {"value": values}))

    return Importance(
        id=ids.PFI_UNCERTAINTY,
        explainer=ids.PFI,
        title="Size of the change of the predictive uncertainty",
        frame=pd.concat(frames, ignore_index=True),
        estimates=pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, *_OWN, "ranked"]),
        rows=RowValues(tuple(judge.change.name for judge in judges), tuple(features), rows),
        options=options,
        omissions=tuple(gaps),
        notes=_NOTES,
        meta={"sizes": True},
    )


def _units(judges: Sequence[Judge], units: Mapping[str, tuple[str, ...]], options: Mapping[str, Any]) -> Diagnostic:
    """Return the result of units of associated features, beside the average difference between two rows."""
    lines = [line for judge in judges for line in (judge.difference(), *judge.units(units))]
    return diagnostic(
        ids.PFI_DRIVERS,
        "Drivers of the predictive uncertainty",
        lines,
        ("item", *_OWN, "first", "last", "apart", "rare"),
        x="share",
        options=options,
        notes=(*_NOTES, _TOGETHER),
        meta={"units": {name: list(members) for name, members in units.items() if members != (name,)}},
    )
