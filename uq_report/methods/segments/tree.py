"""Small trees that cut observations into segments, and leaves of trees on the residual with their means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from scipy.special import rel_entr

from ...checks.reading import two_sided
from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import MeasureFacts, Omission, Result
from ...core.model.sampling import Sampling, t_quantile
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, FloatArray, IntArray, as_numbers
from ...core.support.limits import check_limits
from ...core.support.numbers import number, plain, signed
from ...core.support.text import short
from ...distributions import Categorical
from ...evidence import ids
from ...evidence.segments import RESIDUAL
from ..shared.estimates import diagnostic, error_of, estimate, row_pieces
from ..shared.predicted import predicted

MISSING = -1
NAMED = 3
CUTS = 255  # of one ordered column at most, at quantiles of the growing rows
MISSING_LEVEL = "missing"


@dataclass(frozen=True)
class CodedFeature:
    """One feature as codes, shape (n,), `MISSING` or 0 to `last`; neighbours in the code are alike.

    Ordered columns have the end of each code but the last in words (`cuts`); of levels, `levels` names each code.
    `other` is the code of levels that no growing row has; None where all are known.
    """

    name: str
    codes: IntArray
    last: int
    cuts: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    dates: bool = False
    other: int | None = None

    def words(self, low: int, high: int) -> str:
        """Return codes `low` to `high` in words: ``"age above 47 and at most 60"``."""
        return f"{short(self.name)} {self._of_levels(low, high) if self.levels else self._of_range(low, high)}"

    def _of_range(self, low: int, high: int) -> str:
        if high == MISSING:
            return "missing"
        above, most = ("after", "up to") if self.dates else ("above", "at most")
        lower = f"{above} {self.cuts[low - 1]}" if low > 0 else ""
        upper = f"{most} {self.cuts[high]}" if high < self.last else ""
        ends = " and ".join(filter(None, (lower, upper))) or "not missing"
        return f"{ends} or missing" if low == MISSING and (self.codes == MISSING).any() else ends

    def _of_levels(self, low: int, high: int) -> str:
        """Name the levels inside or, where it is shorter or levels unknown to the tree are inside, those outside."""
        places = range(len(self.levels))
        inside, outside = ([self.levels[k] for k in places if (low <= k <= high) is side] for side in (True, False))
        unknown = self.other is not None and low <= self.other <= high
        if unknown or (self.other is None and len(outside) < len(inside)):
            return f"other than {_either(outside)}"
        return f"= {_either(inside)}"


def _either(names: list[str]) -> str:
    shown = names[:NAMED]
    more = f" or {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(shown)}{more}" if more or len(shown) < 2 else f"{', '.join(shown[:-1])} or {shown[-1]}"


@dataclass(frozen=True)
class Coding:
    """Codes of every feature, made from the growing `rows` only.

    Numbers and dates are coded by their order; levels by the mean of a target over the growing rows, which for a
    squared error loses no split (Fisher 1958). Levels that no growing row has stand at the mean.
    """

    subject: Subject
    rows: IntArray

    def by(self, target: FloatArray) -> list[CodedFeature]:
        """Return every feature as codes for a target, shape (n,)."""
        columns = {name: pd.Series(self.subject.values(name)) for name in self.subject.kinds}
        return [self._same.get(name) or _levels(name, values, self.rows, target) for name, values in columns.items()]

    @cached_property
    def _same(self) -> Mapping[str, CodedFeature]:
        """The features whose codes are the same for every target."""
        kinds = {name: kind for name, kind in self.subject.kinds.items() if kind != "categorical"}
        numbers = {name: as_numbers(pd.Series(self.subject.values(name)), kind) for name, kind in kinds.items()}
        return {name: _ordered(name, numbers[name], self.rows, kind == "datetime") for name, kind in kinds.items()}


def _ordered(name: str, values: FloatArray, rows: IntArray, dates: bool) -> CodedFeature:
    missing = np.isnan(values)
    steps = np.unique(values[rows][~missing[rows]])
    at = np.arange(len(steps) - 1)
    if len(at) > CUTS:
        spread = np.quantile(values[rows][~missing[rows]], np.linspace(0, 1, CUTS + 2)[1:-1], method="inverted_cdf")
        at = np.intersect1d(at, np.searchsorted(steps, spread))
    ends = steps[at] if dates else np.array([shortest(steps[k], steps[k + 1]) for k in at])
    codes = np.where(missing, MISSING, np.searchsorted(ends, values, side="left")).astype(np.int64)
    words = tuple(_date(end) for end in ends) if dates else tuple(map(_exact, ends))
    return CodedFeature(name, codes, len(ends), cuts=words, dates=dates)


def shortest(low: float, high: float) -> float:
    """Return the number of fewest digits in [low, high), for "at most" it and "above" it.

    Examples
    --------
    >>> shortest(47.0, 48.0), shortest(2.0731, 2.1944), shortest(-0.33, 0.2), shortest(1e-9, 2e-9)
    (47.0, 2.1, 0.0, 1e-09)
    """
    if low <= 0 < high:
        return 0.0
    middle = low + (high - low) / 2 if np.isfinite(low) and np.isfinite(high) else low
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 17) for value in (middle, low))
    return next((x for x in candidates if low <= x < high), low)


def _exact(value: float) -> str:
    """Return a cut with every digit that it has."""
    if not np.isfinite(value):
        return number(value)
    return plain(value) if float(f"{value:.6g}") == value else signed(repr(float(value)))


def _date(seconds: float) -> str:
    stamp = pd.Timestamp(seconds, unit="s")
    return stamp.date().isoformat() if stamp == stamp.normalize() else stamp.isoformat(sep=" ", timespec="seconds")


def _levels(name: str, values: pd.Series[Any], rows: IntArray, target: FloatArray) -> CodedFeature:
    codes, labels = pd.factorize(values.astype(object))
    names = [short(label, 24) for label in labels.tolist()]
    if (codes < 0).any():
        codes, names = np.where(codes < 0, len(names), codes), [*names, MISSING_LEVEL]
    counts = np.bincount(codes[rows], minlength=len(names))
    present = np.flatnonzero(counts)
    means = np.bincount(codes[rows], target[rows], len(names))[present] / counts[present]
    order = present[np.argsort(means, kind="stable")]
    other = int(np.abs(np.sort(means) - target[rows].mean()).argmin())
    place = np.full(len(names), other, dtype=np.int64)
    place[order] = np.arange(len(order))
    unknown: BoolArray = ~np.isin(codes, present)
    known = tuple(names[k] for k in order)
    return CodedFeature(name, place[codes], len(order) - 1, levels=known, other=other if unknown.any() else None)


FOLDS = 5
ROUNDING = 1e-9  # share of the variance that is no gain
Ranges = dict[int, tuple[int, int]]  # position of a feature -> lowest and highest code


class Segment(NamedTuple):
    """Rows that share ranges of some features: in words, which features, and a mask of the rows."""

    words: str
    features: tuple[str, ...]
    rows: BoolArray

    def unjudged(self, measure: str) -> Omission:
        """Say that too few independent observations judge it, or the others."""
        few = f"fewer than {LEAST_UNITS} independent observations judge it, or the others"
        return Omission(measure, "", f"{self.words}: {few}")


@dataclass(frozen=True)
class Grower:
    """Grows trees of at most `max_leaf_nodes` leaves on `rows`, whose independent units are `units`, shape (n,).

    The number of leaves, two at least, is the fewest of a squared error within one standard error of the least, over
    `FOLDS` folds of the growing units (Breiman et al. 1984): a target that is mostly noise parts the rows once, and the
    judging rows are not spent on fragments. Trees that are not `pruned` have as many leaves as they may.
    """

    rows: IntArray
    weights: FloatArray
    units: IntArray
    max_leaf_nodes: int
    min_samples_leaf: int
    seed: int
    pruned: bool = True

    def segments(self, columns: Sequence[CodedFeature], target: FloatArray) -> list[Segment]:
        """Return the leaves of the tree of `target`, shape (n,), as rows of all n; none where it does not split."""
        X = np.column_stack([c.codes for c in columns])
        leaves = self._leaves(X, target) if self.pruned else self.max_leaf_nodes
        tree = self._fit(X, target, self.rows, leaves)
        if tree.node_count < 2:
            return []
        return [_segment(columns, X, ranges) for ranges in _leaves(tree, columns)]

    def _fit(self, X: IntArray, target: FloatArray, rows: IntArray, leaves: int) -> Any:
        from sklearn.tree import DecisionTreeRegressor  # here: heavy, and a list of plugins grows no tree

        model = DecisionTreeRegressor(
            max_leaf_nodes=leaves, min_samples_leaf=self.min_samples_leaf, random_state=self.seed
        )
        return model.fit(X[rows], target[rows], sample_weight=self.weights[rows]).tree_

    def _leaves(self, X: IntArray, target: FloatArray) -> int:
        """Return the fewest leaves that no other number beats by more than one standard error, over folds of units."""
        order = np.random.default_rng(self.seed).permutation(np.unique(self.units[self.rows]))
        sizes = np.arange(2, self.max_leaf_nodes + 1)
        errors = np.zeros((len(sizes), len(target)))
        for fold in range(FOLDS):
            check_limits()
            out = np.isin(self.units[self.rows], order[fold::FOLDS])
            tree = self._fit(X, target, self.rows[~out], self.max_leaf_nodes)
            rows = self.rows[out]
            forecasts = np.stack([subtree_values(tree, X[rows], int(k)) for k in sizes])
            errors[:, rows] = np.square(target[rows] - forecasts) * self.weights[rows]
        worse = errors - errors[errors.sum(axis=1).argmin()]
        rounding = ROUNDING * self.weights[self.rows] @ np.square(target[self.rows] - target[self.rows].mean())
        return int(sizes[worse.sum(axis=1) <= np.sqrt(np.square(worse).sum(axis=1)) + rounding][0])


def subtree_values(tree: Any, X: IntArray, leaves: int) -> FloatArray:
    """Return the values of the tree of the first `leaves` leaves, shape (n,): best-first trees grow two nodes at once.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = np.arange(8)[:, None], np.array([0.0, 0, 1, 1, 5, 5, 9, 9])
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=4).fit(X, y).tree_
    >>> subtree_values(tree, X, 2).tolist()
    [0.5, 0.5, 0.5, 0.5, 7.0, 7.0, 7.0, 7.0]
    """
    path = tree.decision_path(X.astype(np.float32)).toarray()[:, : 2 * leaves - 1]
    deepest = path.shape[1] - 1 - path[:, ::-1].argmax(axis=1)
    return np.asarray(tree.value[deepest, 0, 0])


def _leaves(
    tree: Any, columns: Sequence[CodedFeature], node: int = 0, ranges: Ranges | None = None
) -> Iterator[Ranges]:
    """Yield the ranges of each leaf, from left to right."""
    ranges = ranges or {}
    left, right = tree.children_left[node], tree.children_right[node]
    if left == right:
        yield ranges
        return
    at = int(tree.feature[node])
    low, high = ranges.get(at, (MISSING, columns[at].last))
    cut = int(np.floor(tree.threshold[node]))
    yield from _leaves(tree, columns, left, {**ranges, at: (low, cut)})
    yield from _leaves(tree, columns, right, {**ranges, at: (cut + 1, high)})


def _segment(columns: Sequence[CodedFeature], X: IntArray, ranges: Ranges) -> Segment:
    chosen = dict(sorted(ranges.items()))
    inside = np.ones(len(X), dtype=bool)
    for at, (low, high) in chosen.items():
        inside &= (X[:, at] >= low) & (X[:, at] <= high)
    words = " and ".join(columns[at].words(*ends) for at, ends in chosen.items())
    return Segment(words, tuple(columns[at].name for at in chosen), inside)


LEAVES = 4
CLIP = 3.0  # standard deviations: a tree of squared error follows single large residuals otherwise
LEAST_UNITS = 10  # of a leaf that is judged, and of the other observations
LEAST_EVENTS = 10  # outcomes of a class, observed or expected
COLUMNS = (
    *("item", "segment", "level", "n", "units", "share", "n_rest", "outcome", "predicted", "unit", "nats"),
    *("difference", "difference_std_error", "freedom"),
)
FACTS = MeasureFacts("outcome less prediction", "standard deviations of the model", "loss")


class ResidualTarget(NamedTuple):
    """Outcome, mean and variance of each observation, shape (n,): of a number, or of one class (`level`)."""

    level: str
    unit: str
    outcome: FloatArray
    mean: FloatArray
    variance: FloatArray

    @property
    def of_class(self) -> bool:
        """Whether the outcome is 0 or 1."""
        return self.unit == "probability"

    @property
    def residual(self) -> FloatArray:
        """The outcome less the prediction."""
        return self.outcome - self.mean

    @property
    def grown_on(self) -> FloatArray:
        """The target of the tree: the residual, of a number in standard deviations and clipped."""
        if self.of_class:
            return self.residual
        scale = np.sqrt(self.variance)
        zeros = np.where(self.residual == 0, 0.0, CLIP * np.sign(self.residual))
        return np.clip(np.divide(self.residual, scale, out=zeros, where=scale > 0), -CLIP, CLIP)


def residual_targets(engine: Engine) -> tuple[list[ResidualTarget], tuple[Omission, ...]]:
    """Return the outcome's residuals: one of a number or of two classes, of more classes one each."""
    q, y = engine.baseline, engine.y
    if y is None:
        return [], (Omission(RESIDUAL, "", "it needs outcomes, which were not given"),)
    if q.censored:
        return [], (Omission(RESIDUAL, "", "outcomes that may be censored have no residual"),)
    missing = next((name for name in ("mean", "variance") if not {"proba", name} & q.supports), None)
    if missing is not None:
        return [], (Omission(RESIDUAL, "", q.why_not(missing)),)
    targets, omitted = [], []
    for one in predicted(engine):
        outcome, mean, variance = (np.asarray(part) for part in (one.y, one.rows, one.variance))
        level = "" if one.position is None else short(cast("Categorical", q).classes.tolist()[one.position])
        if one.position is not None and max(outcome.sum(), mean.sum()) < LEAST_EVENTS:
            few = f"{level}: fewer than {LEAST_EVENTS} outcomes are of this class, observed or expected"
            omitted.append(Omission(RESIDUAL, "", few))
        elif not (np.isfinite(mean) & np.isfinite(variance)).all():
            omitted.append(Omission(RESIDUAL, "", "a mean or a variance is infinite"))
        else:
            targets.append(ResidualTarget(level, one.unit, outcome, mean, variance))
    return targets, tuple(omitted)


class Contrast(NamedTuple):
    """The mean of a segment, and that mean less the mean of the rest, each with its standard error.

    `freedom` is one less than the fewer units of segment and rest: cautious where their spreads differ.
    """

    mean: float
    mean_std_error: float
    difference: float
    std_error: float
    units: int
    freedom: int

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the t-test of no difference."""
        return float(two_sided(self.difference, self.std_error, self.freedom))

    def intervals(self, confidence: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the t-intervals of the mean and of the difference."""
        own, both = (t_quantile(0.5 + confidence / 2, dof) for dof in (self.units - 1, self.freedom))
        means = (self.mean - own * self.mean_std_error, self.mean + own * self.mean_std_error)
        return means, (self.difference - both * self.std_error, self.difference + both * self.std_error)


def contrast(values: FloatArray, segment: BoolArray, rest: BoolArray, sampling: Sampling) -> Contrast:
    """Return a segment's mean against that of the rest; clusters with rows in both parts count as such.

    Examples
    --------
    >>> values, segment = np.array([1.0, 3.0, 0.0, 2.0]), np.array([True, True, False, False])
    >>> contrast(values, segment, ~segment, Sampling(np.full(4, 0.25), 4))[:4]
    (2.0, 1.0, 1.0, 1.4142135623730951)
    """
    own, other = (sampling.part(rows) for rows in (segment, rest))
    mean, mean_error = (float(number) for number in own.mean(values[segment]))
    error = error_of(row_pieces(values, segment, rest, sampling), segment | rest, sampling)
    difference = mean - float(other.mean(values[rest])[0])
    return Contrast(mean, mean_error, difference, error, own.units, min(own.units, other.units) - 1)


class JudgedLeaf(NamedTuple):
    """A leaf with the target whose tree made it, and the observations of the other half that judge it."""

    target: ResidualTarget
    segment: Segment
    judging: BoolArray

    def line(self, key: str, sampling: Sampling, confidence: float) -> dict[str, Any] | Omission:
        """Return the mean residual in standard deviations of the model, by itself and less that of the others.

        The standard error is the larger of the empirical one, over independent units, and of the one that the model's
        variances imply.
        """
        target, inside = self.target, self.segment.rows & self.judging
        rest = self.judging & ~inside
        part, other = sampling.part(inside), sampling.part(rest)
        if min(part.units, other.units) < LEAST_UNITS:
            return self.segment.unjudged(RESIDUAL)
        scale = float(np.sqrt(part.weights @ target.variance[inside]))
        if not scale > 0:
            return Omission(RESIDUAL, "", f"{self.segment.words}: the model's variance is 0")
        found = contrast(target.residual / scale, inside, rest, sampling)
        stated = [float(np.square(x.weights) @ target.variance[rows]) for x, rows in ((part, inside), (other, rest))]
        error, size = max(found.mean_std_error, np.sqrt(stated[0]) / scale), found.mean
        outcome, predicted = (float(part.weights @ x[inside]) for x in (target.outcome, target.mean))
        line = estimate(size, error, part.interval(size, error, confidence), confidence, RESIDUAL)
        return line | {
            "item": self.segment.words,
            "segment": key,
            "level": target.level,
            "n": int(inside.sum()),
            "units": found.units,
            "share": float(sampling.weights[inside].sum() / sampling.weights[self.judging].sum()),
            "n_rest": int(rest.sum()),
            "outcome": outcome,
            "predicted": predicted,
            "unit": target.unit,
            "nats": _bernoulli(outcome, predicted) if target.of_class else size**2 / 2,
            "difference": found.difference,
            "difference_std_error": max(found.std_error, np.sqrt(sum(stated)) / scale),
            "freedom": found.freedom,
        }


def _bernoulli(outcome: float, predicted: float) -> float:
    """Return the divergence of the mean prediction from the mean outcome, in nats.

    Examples
    --------
    >>> f"{_bernoulli(0.24, 0.04):.2f}, {_bernoulli(0.5, 0.5):.2f}"
    '0.25, 0.00'
    """
    p, q = (np.clip([x, 1 - x], np.finfo(float).tiny, None) for x in (outcome, predicted))
    return float(rel_entr(p, q).sum())


def residuals_result(
    leaves: Iterable[JudgedLeaf], omitted: Sequence[Omission], sampling: Sampling, confidence: float
) -> Result:
    """Return the result ``segments.residuals``."""
    lines, made_of = [], {}
    for k, leaf in enumerate(leaves, 1):
        check_limits()
        key = f"{RESIDUAL} {k}"
        lines.append(leaf.line(key, sampling, confidence))
        if not isinstance(lines[-1], Omission):
            made_of[key] = list(leaf.segment.features)
    return diagnostic(
        ids.SEGMENTS_RESIDUALS,
        "Segments by outcome less prediction",
        lines,
        COLUMNS,
        x="share",
        notes=(
            f"Trees of {LEAVES} leaves on the residual; each half of the observations judges the leaves of the other.",
            "Standard deviations are the root of the model's mean variance in the segment.",
            "nats: of a class, the divergence of the mean prediction from the mean outcome; else half the square.",
            *sampling.notes(),
        ),
        omissions=omitted,
        meta={"made_of": made_of},
        measures={RESIDUAL: FACTS},
    )
