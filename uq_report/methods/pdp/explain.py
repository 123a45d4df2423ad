"""Partial dependence (PDP) and individual conditional expectation (ICE) of any measure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model import results as kinds
from ...core.model.describe import scalar
from ...core.model.measures import Measure
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.support import options as opt
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...distributions import Categorical
from ...evidence import columns as col, ids
from ..shared.cards import CardedExplainer
from ..shared.choice import leading, row_measures
from ..shared.estimates import estimate, points
from ..shared.grids import FeatureGrid, are_pairs, features_of, fill, make_grid, stacked, surface_places

MODES = ("plain", "centred", "derivative")
ROUNDING = 1e-12
SPREAD_NOTE = (
    "The standard deviation, over the points of one feature, of the standard deviation of the joint partial dependence "
    "along the other; the mean of both directions, in the unit of the measure (Greenwell et al. 2018). It has no "
    "interval."
)


@dataclass(frozen=True)
class ProfileRows:
    """What every curve shares.

    `ice` holds the rows that keep a curve; `infinite`, shape (measures, n), the rows whose measure is
    infinite at their own value.
    """

    measures: tuple[Measure, ...]
    sampling: Sampling
    ice: IntArray
    infinite: BoolArray


@dataclass
class Curves:
    """The average and the ICE curves of all measures along one feature, or the surface of two.

    ``plain`` values are the measure; ``centred`` ones its change from the first point; a
    ``derivative`` is the slope between neighbours, placed half-way (Goldstein et al. 2015).
    """

    grids: tuple[FeatureGrid, ...]
    rows: ProfileRows
    mode: str = "plain"
    means: list[FloatArray] = field(default_factory=list)
    errors: list[FloatArray] = field(default_factory=list)
    ice: list[FloatArray] = field(default_factory=list)
    anchor: FloatArray | None = None

    def __post_init__(self) -> None:
        """Start from the rows that are infinite at their own value."""
        self.infinite = self.rows.infinite.copy()

    def variants(self) -> Iterator[Variant]:
        """Yield the points: all rows with this feature (these features) set to one value each."""
        columns = tuple(grid.column for grid in self.grids)
        for values in product(*(grid.steps for grid in self.grids)):
            yield Variant(columns, values)

    def add(self, values: FloatArray) -> None:
        """Take the values at the next point, shape (measures, n)."""
        self.infinite |= np.isinf(values)
        first = self.anchor is None
        anchor = values if self.anchor is None else self.anchor
        self.anchor = values if self.mode == "derivative" else anchor
        if self.mode == "derivative" and first:
            return  # a slope needs a left neighbour
        with np.errstate(invalid="ignore"):
            if self.mode == "centred":
                values = values - anchor
            elif self.mode == "derivative":
                k, x = len(self.means), self.grids[0].x
                values = (values - anchor) / (x[k + 1] - x[k])
            mean, error = self.rows.sampling.mean(values)
        self.means.append(mean)
        self.errors.append(error)
        self.ice.append(values[:, self.rows.ice])

    def omission(self, m: int) -> kinds.Omission | None:
        """Return why one measure has no curve here: the rows that are infinite somewhere on the grid; None if none."""
        infinite, n = int(self.infinite[m].sum()), self.infinite.shape[1]
        measure = self.rows.measures[m].name
        reason = (
            f"{measure} is infinite for {infinite} of {n} observations somewhere on the grid, usually because the "
            "model assigns probability 0 to an outcome; calibrate or smooth its probabilities"
        )
        return kinds.Omission(measure, " x ".join(grid.feature for grid in self.grids), reason) if infinite else None

    def places(self) -> dict[str, Any]:
        """Return the columns that say where each point is."""
        if len(self.grids) == 2:
            first, second = self.grids
            return surface_places((first.x, first.levels), (second.x, second.levels))
        x, levels = self.grids[0].x, self.grids[0].levels
        if self.mode == "derivative":
            x, levels = (x[1:] + x[:-1]) / 2, levels[1:]
        return {"x": x, "level": np.array(levels, dtype=object), "x_2": np.nan, "level_2": ""}

    def lines(self, m: int) -> dict[str, Any]:
        """Return one measure's average (curve -1), then its ICE curves, in the columns of a Profile."""
        values, curves = np.array(self.means)[:, [m]], np.array([-1])
        if len(self.grids) == 1:
            values = np.column_stack([values, np.array(self.ice)[:, m]])
            curves = np.append(curves, self.rows.ice)
        places = {k: np.tile(v, len(curves)) if np.ndim(v) else v for k, v in self.places().items()}
        repeated = np.repeat(curves, len(self.means))
        return self.names(m) | places | {"curve": repeated, "value": values.T.ravel()}

    def estimates(self, m: int, confidence: float) -> dict[str, Any]:
        """Return one measure's average with its pointwise interval over new test samples."""
        mean, error = np.array(self.means)[:, m], np.array(self.errors)[:, m]
        interval = self.rows.sampling.interval(mean, error, confidence)
        return estimate(mean, error, interval, confidence) | self.names(m) | self.places()

    def names(self, m: int) -> dict[str, Any]:
        """Return the measure and the features."""
        second = self.grids[1].feature if len(self.grids) == 2 else ""
        return {"measure": self.rows.measures[m].name, "feature": self.grids[0].feature, "feature_2": second}


N_BINS = 20


def own_values(subject: Subject, curves: Sequence[Curves], base: FloatArray, engine: Engine) -> kinds.Diagnostic:
    """Return where each ICE row itself stands: ``x`` its own value, ``value`` its own measure."""
    labels, items, tables = _labels(subject, engine), np.arange(subject.n).astype(str).astype(object), []
    own = [(curve, curve.grids[0].own_x(subject)[curve.rows.ice]) for curve in curves]
    for m, (curve, x) in product(range(len(base)), own):
        ice, value = curve.rows.ice, base[m, curve.rows.ice]
        if curve.mode == "centred" and curve.anchor is not None:
            with np.errstate(invalid="ignore"):
                value = value - curve.anchor[m, ice]
        placed = np.isfinite(x) & (curve.omission(m) is None)
        names = {"measure": curve.rows.measures[m].name, "feature": curve.grids[0].feature}
        tables.append(names | {"item": items[ice[placed]], "x": x[placed], "value": value[placed]})
    every = max((curve.rows.ice for curve in curves), key=len, default=np.arange(0))
    meta = {} if labels is None else {"row_class": {str(row): str(labels[row]) for row in every}}
    note = "item is the observation. Observations whose value is missing or not on the axis have no dot."
    frame = stacked(tables, kinds.Diagnostic.columns)
    return points("pdp.own", "Observed values of the ICE observations", frame, notes=(note,), meta=meta)


def distributions(subject: Subject, grids: Sequence[FeatureGrid], engine: Engine) -> kinds.Diagnostic:
    """Return the histogram of every feature, by class where there are classes."""
    labels = _labels(subject, engine)
    parts = {"all": np.ones(subject.n, dtype=bool)}
    if labels is not None:
        parts = {str(label): labels == label for label in cast("Categorical", engine.baseline).classes.tolist()}
    tables, edges = [], {}
    for grid in grids:
        own = grid.own_x(subject)
        bins = np.linspace(-0.5, len(grid.steps) - 0.5, len(grid.steps) + 1)
        if grid.numeric:
            bins = bin_edges(own[np.isfinite(own)])
            edges[grid.feature] = bins.tolist()
        centres, names = (bins[1:] + bins[:-1]) / 2, {"measure": "", "feature": grid.feature}
        for item, member in parts.items():
            counts = np.histogram(own[member & np.isfinite(own)], bins)[0].astype(float)
            tables.append(names | {"item": item, "x": centres, "value": counts})
    title = "Distribution of the features" + ("" if labels is None else " by class")
    note = "value is the number of observations in the bin around x, or at the level with position x."
    frame = stacked(tables, kinds.Diagnostic.columns)
    return points("pdp.distribution", title, frame, notes=(note,), meta={"edges": edges})


def bin_edges(values: FloatArray) -> FloatArray:
    """Return the edges of `N_BINS` bins from the smallest to the largest of some numbers, however alike they are.

    Examples
    --------
    >>> bin_edges(np.array([0.0, 40.0]))[:3]
    array([0., 2., 4.])
    >>> bool((np.diff(bin_edges(np.array([2.0**60, 2.0**60 + 256]))) > 0).all())
    True
    """
    low, high = float(values.min()), float(values.max())
    least = N_BINS * float(np.spacing(max(abs(low), abs(high))))  # narrower bins would have no width
    if high - low < least:
        reach = max(0.5 * (low == high), least)
        low, high = low - reach, high + reach
    return np.linspace(low, high, N_BINS + 1)


def _labels(subject: Subject, engine: Engine) -> AnyArray | None:
    """Return each row's class label, or None unless y is a class."""
    return subject.y if "proba" in engine.baseline.supports else None


@dataclass(frozen=True)
class PartialDependence(CardedExplainer):
    """PDP and ICE of all measures from one prediction pass.

    ``ICE_i(x; j) = measure(q(.|x_-j^(i), x_j = x), y_i)`` and ``PDP(x; j) = mean_i ICE_i(x; j)``
    (Wood et al., eq. 8-11; Friedman 2001; Goldstein et al. 2015). The average is over all rows, its
    pointwise t-interval covers new test samples. Values have the unit of the measure (nats for nll
    and entropy).

    Parameters
    ----------
    measures : tuple of str, optional
        What is explained, by the names of measures: prediction, nll and entropy by default, log-odds where there
        are two classes, and the aleatoric and epistemic part of the uncertainty where a prediction has members.
    features : tuple of str, optional
        All features by default.
    pairs : tuple of (str, str)
        Pairs of features with a joint average, as the result ``pdp.surface``, and the interaction that it shows,
        ``pdp.interaction``: the importance of one feature is the standard deviation of the joint average along its
        points; ``½ (sd_k[sd_j PD_jk] + sd_j[sd_k PD_jk])`` is how much that differs between the points of the other
        (Greenwell et al. 2018). It is 0 where the average is additive.
    grid_resolution : int
        Points of a numeric feature: observed quantiles at equally spaced levels, deduplicated.
    percentiles : tuple of float
        The lowest and the highest of those levels.
    custom_values : mapping of str to sequence
        Points of a feature, instead of its quantiles or levels.
    mode : {"plain", "centred", "derivative"}
        The measure, its change from the first point, or its slope between neighbours (surfaces: the measure).
    max_ice : int
        ICE curves kept: rows at equally spaced ranks of the prediction. Of more than 20 features those that lead in
        permutation importance keep curves, unless `features` names them.
    max_levels : int
        Levels of a categorical feature; the most frequent ones above that.

    References
    ----------
    Wood et al., section 4. Goldstein et al. (2015), doi:10.1080/10618600.2014.907095. Greenwell et al. (2018),
    arXiv:1805.04755.
    """

    measures: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    pairs: tuple[tuple[str, str], ...] = opt.option((), "pairs of two features", are_pairs)
    grid_resolution: int = opt.at_least(2, 20)
    percentiles: tuple[float, float] = opt.option(
        (0.0, 1.0), "two increasing numbers in [0, 1]", lambda value: 0 <= value[0] < value[1] <= 1
    )
    custom_values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    mode: str = opt.one_of(MODES, "plain")
    max_ice: int = opt.at_least(0, 60)
    max_levels: int = opt.at_least(1, 30)

    name: ClassVar[str] = "pdp"
    section: ClassVar[str] = "soundness.profiles"
    priority: ClassVar[int] = 7

    def __post_init__(self) -> None:
        """Refuse options that cannot be used; ``"centered"`` is ``"centred"``."""
        if self.mode == "centered":
            object.__setattr__(self, "mode", "centred")
        super().__post_init__()

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted."""
        features = len(subject.features if self.features is None else self.features)
        points = features * self.grid_resolution + len(self.pairs) * self.grid_resolution**2
        return subject.n * points

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[kinds.Result]:
        """Return ``pdp``, ``pdp.own`` and ``pdp.distribution``; ``pdp.surface`` and ``.interaction`` of pairs."""
        measures, omitted = row_measures(self.name, engine, self.measures)
        features, names = features_of(self.name, subject, self.features, self.pairs, self.custom_values)
        grids, unknown = self._grids(subject, names)
        base = engine.unchanged(measures)
        ice, rule = _ice_rows(engine, self.max_ice)
        led, which = (features, "") if self.features else leading(features, prior)
        rule += f" Only {which} have them." if which else ""
        rows = ProfileRows(measures, Sampling.of(subject), ice, np.isinf(base))
        profiled = [grids[name] for name in features if name in grids]
        sloped, flat = self._sloped(profiled)
        bare = replace(rows, ice=ice[:0])
        single = [Curves((grid,), rows if grid.feature in led else bare, self.mode) for grid in sloped]
        joint = "plain" if self.mode == "derivative" else self.mode  # a slope has no meaning along two features
        double = [Curves((grids[a], grids[b]), rows, joint) for a, b in self.pairs if {a, b} <= set(grids)]
        fill([(variant, c.add) for c in (*single, *double) for variant in c.variants()], engine, measures)
        notes = (*rows.sampling.notes(), *(note for grid in grids.values() for note in grid.notes))
        results: list[kinds.Result] = [self._profile(single, engine, (rule, *notes), (*omitted, *unknown, *flat))]
        if self.pairs:
            surface = self._profile(double, engine, notes, (*omitted, *unknown), joint=True)
            results += [surface, self._interaction(double, surface)]
        if self.mode != "derivative":
            results.append(own_values(subject, single, base, engine))
        return [*results, distributions(subject, profiled, engine)]

    def _grids(self, subject: Subject, names: Sequence[str]) -> tuple[dict[str, FeatureGrid], list[kinds.Omission]]:
        """Return the grid of every feature, and those that have no value to put on one."""
        grids, empty = {}, []
        for name in names:
            custom = _points(subject, name, self.custom_values[name]) if name in self.custom_values else None
            grid = make_grid(subject, name, self.grid_resolution, self.percentiles, self.max_levels, custom)
            if grid is None:
                empty.append(kinds.Omission("", name, "all of its values are missing, so it has no grid"))
            else:
                grids[name] = grid
        return grids, empty

    def _sloped(self, grids: list[FeatureGrid]) -> tuple[list[FeatureGrid], list[kinds.Omission]]:
        """Return the grids that have a curve, and the features that have no slope where slopes are asked for."""
        if self.mode != "derivative":
            return grids, []
        sloped = [grid for grid in grids if grid.numeric and len(grid.steps) > 1]
        reason = "a slope needs a numeric feature with two values or more"
        return sloped, [kinds.Omission("", grid.feature, reason) for grid in grids if grid not in sloped]

    def _profile(
        self,
        curves: Sequence[Curves],
        engine: Engine,
        notes: tuple[str, ...],
        omissions: tuple[kinds.Omission, ...],
        *,
        joint: bool = False,
    ) -> kinds.Profile:
        """Return the finite curves as one result, and the others as omissions."""
        every = [(m, c) for m in range(len(curves[0].rows.measures) if curves else 0) for c in curves]
        gaps = [c.omission(m) for m, c in every]
        finite = [curve for curve, gap in zip(every, gaps, strict=True) if gap is None]
        places = ("feature_2", "x", "level", "x_2", "level_2") if joint else ("x", "level")
        points = {name: [scalar(value) for value in values] for name, values in self.custom_values.items()}
        return kinds.Profile(
            id="pdp.surface" if joint else "pdp",
            explainer=self.name,
            title="Joint partial dependence" if joint else "Partial dependence and ICE",
            frame=stacked([c.lines(m) for m, c in finite], kinds.Profile.columns),
            estimates=stacked(
                [c.estimates(m, engine.confidence) for m, c in finite], (*kinds.ESTIMATE_COLUMNS, *places)
            ),
            options=asdict(self) | {"custom_values": points},
            notes=(*notes, "Intervals are pointwise and cover new test samples for the fixed model."),
            omissions=(*omissions, *filter(None, gaps)),
        )

    def _interaction(self, curves: Sequence[Curves], surface: kinds.Profile) -> kinds.Interaction:
        """Return how much the spread along one feature differs between the points of the other, by pair."""
        lines = []
        for c in curves:
            values = np.array(c.means).reshape(*(len(grid.steps) for grid in c.grids), -1)
            if min(values.shape[:2]) > 1:
                strength = np.mean([values.std(axis=k, ddof=1).std(axis=0, ddof=1) for k in (0, 1)], axis=0)
                strength = np.where(strength < ROUNDING * np.abs(values).max(axis=(0, 1)), 0.0, strength)
                lines += [{**c.names(m), "value": s} for m, s in enumerate(strength) if c.omission(m) is None]
        keys = [col.MEASURE, col.FEATURE, col.FEATURE_2, col.VALUE]
        estimates = kinds.bare_estimates(pd.DataFrame(lines, columns=keys), col.FEATURE_2)
        return kinds.Interaction(
            id=ids.PDP_INTERACTION,
            explainer=self.name,
            title="Interaction strength: partial dependence",
            frame=estimates.assign(repeat=0, value=estimates["estimate"])[list(kinds.Interaction.columns)],
            estimates=estimates,
            options=surface.options,
            notes=(SPREAD_NOTE, "A pair whose features have effects of their own has a larger value than one without."),
            omissions=surface.omissions,
        )


def _points(subject: Subject, feature: str, custom: Sequence[Any]) -> tuple[Any, ...]:
    """Return the user's points in the column's own type; refuse those it cannot hold exactly."""
    series, kind = pd.Series(subject.values(feature)), subject.kinds[feature]
    raw = pd.Series(list(custom), dtype=object)
    refusal = (
        f"pdp.custom_values[{feature!r}] must hold at least one value, none missing, that a column of type "
        f"{series.dtype} can hold; got {list(custom)!r}. Pass such values, or convert the column in X."
    )
    try:
        cast = raw.astype(series.dtype)
        exact = bool(len(cast)) and bool(cast.notna().all()) and (kind == "datetime" or bool((cast == raw).all()))
    except (TypeError, ValueError) as error:
        raise InputError(refusal) from error
    if not exact:
        raise InputError(refusal)
    points = cast if kind == "categorical" else cast.sort_values()
    return tuple(points.drop_duplicates())


def _ice_rows(engine: Engine, most: int) -> tuple[IntArray, str]:
    """Return at most `most` rows at equally spaced ranks of the prediction (else the entropy), and the rule."""
    dist, n = engine.baseline, engine.subject.n
    if n <= most:
        return np.arange(n), f"ICE curves of all {n} observations."
    by = next((name for name in ("mean", "entropy") if name in dist.supports), "")
    key = getattr(dist, by)() if by else np.arange(n)
    order = np.argsort(key, kind="stable")
    rows = np.sort(order[np.linspace(0, n - 1, most).round().astype(int)])
    words = {"mean": "the prediction", "entropy": "the entropy", "": "the position"}[by]
    rule = f"ICE curves of {most} of {n} observations, at equally spaced ranks of {words}"
    return rows, f"{rule}. Averages use all observations."
