"""Accumulated local effects (ALE), first and second order, of any measure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree
from scipy.special import stdtrit

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import Measure
from ...core.model.results import ESTIMATE_COLUMNS, Omission, Profile, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.statistics.verdicts import carrying, heavy_tails, variance_freedom
from ...core.support import options as opt
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ..shared.cards import CardedExplainer
from ..shared.choice import INFINITE_REMEDY, row_measures
from ..shared.estimates import estimate
from ..shared.grids import are_pairs, features_of, fill, frequent_levels, stacked, surface_places


class AxisSide(NamedTuple):
    """One move of every row: over step ``step[i]`` (-1: none), from ``lower[i]`` to ``upper[i]``."""

    step: IntArray
    lower: Any
    upper: Any


class AleAxis(NamedTuple):
    """One feature: its K + 1 points, the moves of its rows over the K steps, and the data at each point.

    ``mass`` sums to one; the mean of a curve over the data is ``mass @ curve``. A row inside a bin
    counts half at either edge (Apley & Zhu), a row on a level wholly there.
    """

    feature: str
    column: int
    x: FloatArray
    levels: tuple[str, ...]
    sides: tuple[AxisSide, ...]
    mass: FloatArray
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """Number of steps between points."""
        return len(self.x) - 1


def make_axis(
    subject: Subject,
    feature: str,
    n_bins: int,
    edges: Sequence[float] | None = None,
    max_levels: int = 30,
    min_rows: int = 1,
) -> AleAxis | str:
    """Return the axis of a feature, or why it has none.

    Quantile bins of fewer than `min_rows` rows are merged, of given edges only those without any.
    """
    values = subject.values(feature)
    present = np.asarray(pd.notna(values)) & (Sampling.of(subject).weights > 0)
    if subject.kinds[feature] == "categorical":
        return _levels(subject, feature, present, max_levels)
    if reason := _no_bins(subject.kinds[feature], values, present):
        return reason
    series = np.asarray(values[present], dtype=float)
    points = _quantile_edges(series, n_bins) if edges is None else _option_edges(subject, feature, edges)
    if len(points) < 2:
        return "it has one value, so no effect accumulates"
    inside = present.copy()
    inside[present] = (series >= points[0]) & (series <= points[-1])
    if not inside.any():
        return f"no observation lies between its edges {points[0]:g} and {points[-1]:g}"
    return _bins(subject, feature, values, inside, points, min_rows if edges is None else 1)


def _no_bins(kind: str, values: Any, present: BoolArray) -> str:
    """Say why a feature that is no category has no bins, or nothing."""
    if kind == "datetime":
        return "accumulated effects need a number or levels; it is a datetime"
    if not present.any():
        return "it has no value, so no effect accumulates"
    finite = np.isfinite(np.asarray(values[present], dtype=float))
    return "" if finite.all() else "it has infinite values, which lie in no bin"


def _quantile_edges(values: FloatArray, n_bins: int) -> FloatArray:
    """Return observed values at equally spaced cumulative shares, deduplicated: the inverse empirical cdf.

    The share k/K of n rows is reached at row ceil(k n / K), in whole numbers, so no rounding moves an edge.
    """
    ordered = np.sort(values)
    at = -(-np.arange(n_bins + 1) * len(ordered) // n_bins) - 1
    return np.unique(ordered[np.maximum(at, 0)])


def _option_edges(subject: Subject, feature: str, edges: Sequence[float]) -> FloatArray:
    points = np.unique(np.asarray(edges, dtype=float))
    dtype = np.asarray(subject.values(feature)).dtype
    if not np.isfinite(points).all() or (dtype.kind in "iu" and (points != np.round(points)).any()):
        must = f"ale.edges[{feature!r}] must be finite numbers that a column of type {dtype} holds"
        raise InputError(f"{must}; got {list(edges)!r}.")
    return points


def _bins(subject: Subject, feature: str, values: Any, inside: BoolArray, points: FloatArray, least: int) -> AleAxis:
    """Return quantile bins (z_0..z_K], the first closed on the left, those of fewer than `least` rows merged."""
    x = np.where(inside, np.asarray(pd.Series(values).fillna(points[0]), dtype=float), points[0])
    step = np.maximum(np.searchsorted(points, x, side="left") - 1, 0)
    right = _merged(np.bincount(step[inside], minlength=len(points) - 1), least)
    merged = len(points) - 1 - len(right)
    points = points[[0, *right]]
    step = np.maximum(np.searchsorted(points, x, side="left") - 1, 0)
    ends = points.astype(np.asarray(values[inside]).dtype)
    side = AxisSide(np.where(inside, step, -1), ends[step], ends[step + 1])
    share = np.bincount(step[inside], Sampling.of(subject, np.flatnonzero(inside)).weights, len(points) - 1)
    mass = (np.append(share, 0) + np.append(0, share)) / 2
    notes = []
    if merged:
        few = "empty bins" if least == 1 else f"bins of fewer than {least} observations"
        notes.append(f"{feature}: {merged} {few} are merged with their neighbours.")
    if not inside.all():
        outside = f"{int((~inside).sum())} observations without weight, or without a value between the edges,"
        notes.append(f"{feature}: {outside} are excluded.")
    return AleAxis(feature, subject.positions(feature)[0], points, ("",) * len(points), (side,), mass, tuple(notes))


def _merged(counts: IntArray, least: int) -> list[int]:
    """Return the right edges, by their position, of bins that hold at least so many rows, as far as there are any.

    A bin that holds fewer is joined with the next one, the last with the one before; those after the last row are cut.

    Examples
    --------
    >>> _merged(np.array([0, 3, 0, 2, 0]), 1), _merged(np.array([5, 5, 10, 9, 0]), 10), _merged(np.array([3, 2]), 10)
    ([2, 4], [2, 4], [2])
    """
    ends, held, filled = [], 0, np.flatnonzero(counts).tolist()
    for place in filled:
        held += counts[place]
        if held >= least:
            ends.append(place + 1)
            held = 0
    return [*ends[:-1], filled[-1] + 1]


def _leading(feature: str, values: Any, present: BoolArray, max_levels: int) -> tuple[BoolArray, list[str]]:
    """Return the rows with one of the most frequent levels, and a note if there are others.

    Distances are of all pairs of levels, each over all values of the other features: of thousands, more than
    memory holds, and a level of few rows has no distribution to compare.
    """
    levels, number = frequent_levels(pd.Series(values[present]), max_levels)
    if number <= max_levels:
        return present, []
    kept = present & np.asarray(pd.Series(values).isin(levels))
    rest = f"{int(present.sum() - kept.sum())} observations of another level are excluded."
    return kept, [f"{feature}: the {max_levels} most frequent of {number} levels; {rest}"]


def _levels(subject: Subject, feature: str, valued: BoolArray, max_levels: int) -> AleAxis | str:
    """Return the levels in the order of their similarity, each row moving to the next and the previous one."""
    values = subject.values(feature)
    present, others = _leading(feature, values, valued, max_levels)
    own_codes, names = pd.factorize(pd.Series(values[present]), sort=True)
    codes = np.full(subject.n, -1)
    codes[present] = own_codes
    if len(names) < 2:
        return "it has one level, so no effect accumulates"
    order = _similarity_order(subject, feature, codes, len(names))
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    position = np.where(present, place[codes], -1)
    example = np.array([int(np.flatnonzero(codes == level)[0]) for level in order])
    top = len(names) - 1
    own = np.arange(subject.n)
    up, down = present & (position < top), present & (position > 0)
    following = np.where(up, example[np.minimum(position + 1, top)], own)
    previous = np.where(down, example[np.maximum(position - 1, 0)], own)
    sides = (
        AxisSide(np.where(up, position, -1), values, values[following]),
        AxisSide(np.where(down, position - 1, -1), values[previous], values),
    )
    weights = Sampling.of(subject, np.flatnonzero(present)).weights
    mass: FloatArray = np.bincount(position[present], weights, len(names)).astype(float)
    notes = [f"{feature}: levels are ordered by the similarity of the distributions of the other features.", *others]
    if not valued.all():
        notes.append(f"{feature}: {int((~valued).sum())} observations without weight or value are excluded.")
    x, text = np.arange(len(names), dtype=float), tuple(str(names[level]) for level in order)
    return AleAxis(feature, subject.positions(feature)[0], x, text, sides, mass, tuple(notes))


def _similarity_order(subject: Subject, feature: str, codes: IntArray, k: int) -> IntArray:
    """Return the levels along the first axis of classical scaling of their distances (Apley & Zhu 2020, appendix).

    The distance of two levels is the sum over the other features of the Kolmogorov-Smirnov distance
    (numbers) or half the sum of frequency differences (levels) within them. The end with the earlier
    level in alphabetical order comes first.
    """
    distance = np.zeros((k, k))
    for other in subject.features:
        check_limits()
        if other == feature:
            continue
        cells = pd.factorize(pd.Series(subject.values(other)), sort=True)[0]
        both = (codes >= 0) & (cells >= 0)
        table = np.zeros((k, cells.max() + 1))
        table += np.bincount(codes[both] * table.shape[1] + cells[both], minlength=table.size).reshape(table.shape)
        table /= np.maximum(table.sum(axis=1, keepdims=True), 1)
        ordered = subject.kinds[other] != "categorical"
        shares = np.cumsum(table, axis=1) if ordered else table
        for level, share in enumerate(shares):  # one at a time: all at once are levels x levels x values
            gaps = np.abs(share - shares)
            distance[level] += gaps.max(axis=1, initial=0.0) if ordered else gaps.sum(axis=1) / 2
    centring = np.eye(k) - 1 / k
    scores = np.linalg.eigh(-0.5 * centring @ distance**2 @ centring)[1][:, -1]
    order = np.argsort(np.round(scores, 12), kind="stable")
    return order if order[0] < order[-1] else order[::-1]


class AleCurve(NamedTuple):
    """A centred curve at the points of an axis, its standard error, and that of the change from the first point.

    `carriers` has how many observations or clusters carry the variance of each point.
    """

    value: FloatArray
    std_error: FloatArray
    std_error_change: FloatArray
    carriers: FloatArray


class Surface(NamedTuple):
    """The pure interaction at the points of two axes, which points are extrapolated, and how many cells were empty.

    A point is extrapolated where none of the cells that meet in it holds a row.
    """

    value: FloatArray
    extrapolated: BoolArray
    empty: int


@dataclass
class Effects:
    """The measures at the ends of every row's moves along one axis, or at the corners of its cells along two."""

    axes: tuple[AleAxis, ...]
    ends: list[FloatArray] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The features moved."""
        return " x ".join(axis.feature for axis in self.axes)

    @property
    def moves(self) -> list[tuple[AxisSide, ...]]:
        """One side per axis: two or more for levels, where a row moves both ways."""
        return list(product(*(axis.sides for axis in self.axes)))

    def variants(self) -> Iterator[Variant]:
        """Yield, per move, the rows at every combination of lower (first) and upper ends."""
        columns = tuple(axis.column for axis in self.axes)
        for sides in self.moves:
            for ends in product(*((side.lower, side.upper) for side in sides)):
                yield Variant(columns, ends)

    def infinite(self, m: int) -> int:
        """Return how many rows are infinite at an end."""
        return int(np.any([np.isinf(values[m]) for values in self.ends], axis=0).sum())

    def differences(self, m: int) -> Iterator[tuple[list[IntArray], FloatArray]]:
        """Yield, per move, the steps along each axis and the local effect of every row (its mixed difference)."""
        corners = 2 ** len(self.axes)
        signs = np.array([(-1) ** (len(self.axes) - sum(c)) for c in product((0, 1), repeat=len(self.axes))])
        for number, sides in enumerate(self.moves):
            values = np.stack([v[m] for v in self.ends[number * corners : (number + 1) * corners]])
            yield [side.step for side in sides], signs @ values


def curve(effect: Effects, m: int, sampling: Sampling) -> AleCurve:
    """Return one measure's first-order curve, centred by its mean over the data."""
    (axis,) = effect.axes
    steps, rows, local = _long(effect, m)
    weights = sampling.weights[rows]
    total = np.bincount(steps, weights, axis.steps)
    means = np.bincount(steps, weights * local, axis.steps) / total
    change = np.append(0, np.cumsum(means))
    # A row's part in a step's mean, scaled so that equal weights give s²/n with the unbiased s².
    counts = np.bincount(steps, minlength=axis.steps)
    unbiased = np.sqrt(counts / np.maximum(counts - 1, 1))
    parts = weights * (local - means[steps]) / total[steps] * unbiased[steps]
    units = rows if sampling.codes is None else sampling.codes[rows]
    table = np.zeros((int(units.max()) + 1, axis.steps))
    np.add.at(table, (units, steps), parts)
    accumulate = np.triu(np.ones((axis.steps, axis.steps + 1)), 1)
    centred = accumulate - accumulate @ axis.mass[:, None]
    value = change - axis.mass @ change
    # where a row lies moves the mean that is taken off the curve
    own, present = _own_values(axis, value)
    shares = sampling.weights[present] / sampling.weights[present].sum()
    places: FloatArray = np.zeros(len(table))
    np.add.at(places, present if sampling.codes is None else sampling.codes[present], shares * own)
    errors, change_errors = (
        _norms(table, combination, counts < 2, moved)
        for combination, moved in ((centred, places), (accumulate, np.zeros(len(table))))
    )
    squares = np.square(table @ centred - places[:, None])
    return AleCurve(value, errors, change_errors, np.array([carrying(column) for column in squares.T]))


def _own_values(axis: AleAxis, value: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the curve where each row that takes part lies, within a bin half way, and the positions of these rows."""
    first, last = axis.sides[0].step, axis.sides[-1].step  # of levels: to the next, and from the one before
    present = np.flatnonzero((first >= 0) | (last >= 0))
    first, last = first[present], last[present]
    if len(axis.sides) == 1:
        return (value[first] + value[first + 1]) / 2, present
    return np.where(first >= 0, value[first], value[last + 1]), present


def _long(effect: Effects, m: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return step, row and local effect of every move that crosses a step."""
    parts = []
    for (step,), local in effect.differences(m):
        rows = np.flatnonzero(step >= 0)
        parts.append((step[rows], rows, local[rows]))
    steps, rows, local = map(np.concatenate, zip(*parts, strict=True))
    return steps, rows, local


def _norms(table: FloatArray, combination: FloatArray, unknown: BoolArray, moved: FloatArray) -> FloatArray:
    """Return the standard errors of combinations of step means; NaN where a step of `unknown` error takes part.

    `moved` is by how much each row or cluster moves the mean of the curve beside.
    """
    errors: FloatArray = np.sqrt(np.square(table @ combination - moved[:, None]).sum(axis=0))
    errors[(np.abs(combination[unknown]) > 0).any(axis=0)] = np.nan
    return errors


def surface(effect: Effects, m: int, sampling: Sampling) -> Surface:
    """Return one measure's second-order effect: the accumulated mixed differences less both main effects."""
    a, b = effect.axes
    total, mass = np.zeros((a.steps, b.steps)), np.zeros((a.steps, b.steps))
    for (step_a, step_b), local in effect.differences(m):
        rows = np.flatnonzero((step_a >= 0) & (step_b >= 0))
        np.add.at(total, (step_a[rows], step_b[rows]), sampling.weights[rows] * local[rows])
        np.add.at(mass, (step_a[rows], step_b[rows]), sampling.weights[rows])
    means = _nearest_filled(total, mass, (a.x, b.x))
    h = np.zeros((a.steps + 1, b.steps + 1))
    h[1:, 1:] = means.cumsum(axis=0).cumsum(axis=1)
    h = h - _main(h, mass)[:, None] - _main(h.T, mass.T)[None]
    corners = (h[1:, 1:] + h[1:, :-1] + h[:-1, 1:] + h[:-1, :-1]) / 4
    filled = np.pad(mass > 0, 1)
    near = filled[1:, 1:] | filled[1:, :-1] | filled[:-1, 1:] | filled[:-1, :-1]
    return Surface(h - (corners * mass).sum() / mass.sum(), ~near, int((mass == 0).sum()))


def _nearest_filled(total: FloatArray, mass: FloatArray, points: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the cell means; an empty cell takes that of the nearest filled one.

    As in ALEPlot, the distance is between the middles of the cells, with either axis scaled to its range.
    """
    filled, empty = np.argwhere(mass > 0), np.argwhere(mass == 0)
    means = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)
    if len(empty):
        middles = [(x[1:] + x[:-1]) / (x[-1] - x[0]) for x in points]  # twice as far apart
        places, gaps = (np.column_stack([m[at] for m, at in zip(middles, c.T, strict=True)]) for c in (filled, empty))
        near = filled[cKDTree(places).query(gaps)[1]]
        means[tuple(empty.T)] = means[tuple(near.T)]
    return means


def _main(h: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the first-order effect of the first axis within a surface, accumulated over its steps."""
    rise = h[1:] - h[:-1]
    middle = (rise[:, 1:] + rise[:, :-1]) / 2
    weight = mass.sum(axis=1)
    means = np.divide((middle * mass).sum(axis=1), weight, out=np.zeros_like(weight), where=weight > 0)
    return np.append(0, np.cumsum(means))


CENTRED = "Curves are centred by their mean over the data."
NAMED = 4  # curves with unreliable intervals
# further columns of the estimates of curves, and of surfaces
PLACES = (("x", "level", "std_error_change"), ("feature_2", "x", "level", "x_2", "level_2", "extrapolated"))


@dataclass(frozen=True)
class AccumulatedLocalEffects(CardedExplainer):
    """ALE of all measures from one prediction pass (Apley & Zhu 2020).

    ``h(x) = Σ_{k ≤ k(x)} mean_{i in bin k} [g(z_k, x_-j^(i)) - g(z_{k-1}, x_-j^(i))]``, centred by its
    mean over the data. Only values near each row's own are tried, so correlated features do not lead
    into empty regions, where a PDP goes. Categorical levels are ordered by the similarity of the
    other features in them. The second order, of pairs, holds the interaction alone; a cell without rows
    takes the effect of the nearest one with rows, by distance scaled to the ranges, and points that touch
    no cell with rows are ``extrapolated``.

    The interval is of the centred curve over new test samples, given the edges; ``std_error_change`` is
    of the change from the first point, ``sqrt(Σ s²_k / n_k)`` for independent rows.

    Parameters
    ----------
    measures : tuple of str, optional
        What is explained, by the names of measures: prediction, nll and entropy by default, log-odds where there
        are two classes, and the aleatoric and epistemic part of the uncertainty where a prediction has members.
    features : tuple of str, optional
        All features by default.
    pairs : tuple of (str, str)
        Pairs with an interaction, as the result ``ale.interaction``.
    n_bins : int
        Quantile bins of a numeric feature.
    min_rows : int
        Rows of such a bin, at least: fewer have no variance to speak of, and are joined with a neighbour.
    edges : mapping of str to sequence
        Edges of a numeric feature, instead of its quantiles.
    max_levels : int
        Levels of a text feature, the most frequent ones; rows of others take no part in its curve.

    References
    ----------
    Apley and Zhu (2020), doi:10.1111/rssb.12377.
    """

    measures: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    pairs: tuple[tuple[str, str], ...] = opt.option((), "pairs of two features", are_pairs)
    n_bins: int = opt.at_least(1, 20)
    min_rows: int = opt.at_least(1, 10)
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    max_levels: int = opt.at_least(2, 30)

    name: ClassVar[str] = "ale"
    section: ClassVar[str] = "soundness.local-effects"
    priority: ClassVar[int] = 6

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted: two ends of a bin, four corners of a cell."""
        features = len(subject.features if self.features is None else self.features)
        return subject.n * (2 * features + 4 * len(self.pairs))

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``ale``, and ``ale.interaction`` where pairs are asked for."""
        measures, omitted = row_measures(self.name, engine, self.measures)
        features, names = features_of(self.name, subject, self.features, self.pairs, self.edges)
        every = {
            name: make_axis(subject, name, self.n_bins, self.edges.get(name), self.max_levels, self.min_rows)
            for name in names
        }
        axes = {name: axis for name, axis in every.items() if isinstance(axis, AleAxis)}
        gaps = (*omitted, *(Omission("", name, why) for name, why in every.items() if isinstance(why, str)))
        single = [Effects((axes[f],)) for f in features if f in axes]
        double = [Effects((axes[a], axes[b])) for a, b in self.pairs if {a, b} <= set(axes)]
        fill([(variant, e.ends.append) for e in (*single, *double) for variant in e.variants()], engine, measures)
        notes = tuple(note for axis in axes.values() for note in axis.notes) + Sampling.of(subject).notes()
        results: list[Result] = [self._profile("ale", single, measures, engine, notes, gaps)]
        if self.pairs:
            results.append(self._profile("ale.interaction", double, measures, engine, notes, gaps))
        return results

    def _profile(
        self,
        id: str,
        effects: Sequence[Effects],
        measures: Sequence[Measure],
        engine: Engine,
        notes: tuple[str, ...],
        omissions: tuple[Omission, ...],
    ) -> Profile:
        joint, sampling = id != "ale", Sampling.of(engine.subject)
        tables, gaps, empty, short = [], list(omissions), [], []
        for m, measure in enumerate(measures):
            for effect in effects:
                engine.check()
                infinite = effect.infinite(m)
                if infinite:
                    reason = f"{measure.name} is infinite for {infinite} observations at an edge: {INFINITE_REMEDY}"
                    gaps.append(Omission(measure.name, effect.name, reason))
                elif joint:
                    interaction = surface(effect, m, sampling)
                    empty += [_empty_note(effect, interaction)] if interaction.empty else []
                    tables.append(_surface_rows(measure.name, effect, interaction))
                else:
                    points = curve(effect, m, sampling)
                    tables.append(_curve_rows(measure.name, effect.axes[0], points, sampling.units, engine.confidence))
                    few = sum(bool(heavy_tails(carriers, sampling.units).reason) for carriers in points.carriers)
                    short += [f"{effect.name}, {measure.name}: at {few} of {len(points.value)} points"] if few else []
        return Profile(
            id=id,
            explainer=self.name,
            title="Second-order accumulated local effects" if joint else "Accumulated local effects",
            frame=stacked([t | {"curve": -1, "value": t["estimate"]} for t in tables], Profile.columns),
            estimates=stacked(tables, [*ESTIMATE_COLUMNS, *PLACES[joint]]),
            options=asdict(self) | {"edges": {k: [float(v) for v in values] for k, values in self.edges.items()}},
            notes=(*notes, *dict.fromkeys(empty), *_unreliable(short), CENTRED),
            omissions=tuple(gaps),
        )


def _curve_rows(measure: str, axis: AleAxis, points: AleCurve, units: int, confidence: float) -> dict[str, Any]:
    freedom = [variance_freedom(carriers, units) for carriers in points.carriers]
    reach = stdtrit(freedom, 0.5 + confidence / 2) * points.std_error
    interval = points.value - reach, points.value + reach
    covers = "new test samples, given the edges"
    columns = estimate(points.value, points.std_error, interval, confidence, measure, axis.feature, covers)
    places = {"feature_2": "", "x": axis.x, "level": np.array(axis.levels, dtype=object), "x_2": np.nan, "level_2": ""}
    return columns | places | {"std_error_change": points.std_error_change}


def _surface_rows(measure: str, effect: Effects, points: Surface) -> dict[str, Any]:
    a, b = effect.axes
    columns = estimate(points.value.ravel(), np.nan, (np.nan, np.nan), np.nan, measure, a.feature)
    places = {"feature_2": b.feature, "extrapolated": points.extrapolated.ravel()}
    return columns | surface_places((a.x, a.levels), (b.x, b.levels)) | places


def _unreliable(places: Sequence[str]) -> tuple[str, ...]:
    """Say where intervals are unreliable, of the first curves by name."""
    if not places:
        return ()
    others = [f"at points of {len(places) - NAMED} other curves"] if len(places) > NAMED else []
    where = "; ".join([*places[:NAMED], *others])
    return (f"Unreliable intervals, which may be too short, as few observations carry the variance: {where}.",)


def _empty_note(effect: Effects, points: Surface) -> str:
    a, b = effect.axes
    cells = f"{points.empty} of {a.steps * b.steps} cells have no observation and take the effect of the nearest cell"
    extrapolated = f"{points.extrapolated.sum()} of {points.value.size} points are extrapolated"
    return f"{effect.name}: {cells} that has one. {extrapolated} (crossed out in the figure)."
