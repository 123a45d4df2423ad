"""Which groups are shown, the numbers of each row that are averaged by group, and contrasts of their means."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import special

from ...checks.reading import two_sided
from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Omission
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.statistics.inference import as_extreme, n_units
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from ...distributions import Categorical
from ...evidence.outcomes import CONFIDENCE_GAP
from ..shared.attributes import Attribute, Key, large_groups
from ..shared.choice import blocks
from ..shared.estimates import error_of, estimate, mean_of, row_pieces, share_of
from ..shared.predicted import PredictedNumber, expected_loss, predicted, varentropy

ERROR_RATES = ("false_positive_rate", "false_negative_rate")
OF_OUTCOMES = ("outcome", "residual", CONFIDENCE_GAP, "coverage_90", *ERROR_RATES)
TESTED = {"brier", "squared_error", "entropy", "excess_loss", *OF_OUTCOMES} - {"outcome"}


class Values(NamedTuple):
    """One number per row, averaged over the rows `inside`.

    `share` where they are 0 or 1; `scale` is what a reader knows their size by: the outcome's standard deviation,
    or the loss of all rows; NaN where the unit says it. `variance` is that of each row if outcomes follow the model;
    None where it is not known.
    """

    measure: str
    unit: str
    rows: FloatArray
    inside: BoolArray
    share: bool = False
    scale: float = np.nan
    variance: FloatArray | None = None

    @property
    def tested(self) -> bool:
        """Whether differences between groups get a p-value."""
        return self.measure.partition("[")[0] in TESTED


def row_values(engine: Engine) -> tuple[list[Values], tuple[Omission, ...]]:
    """Return everything that can be averaged here, and why the rest cannot."""
    items = list(_items(engine))
    return [x for x in items if isinstance(x, Values)], tuple(x for x in items if isinstance(x, Omission))


def _items(engine: Engine) -> Iterator[Values | Omission]:
    measures, omitted = engine.select(("loss", "nll", "entropy"))
    yield from omitted
    numbers = predicted(engine)
    if not numbers:
        yield Omission("prediction", "", engine.baseline.why_not("mean"))
    for number in numbers:
        yield from _against_outcome(number)
    rows = dict(zip([measure.name for measure in measures], engine.unchanged(measures), strict=True))
    usual = engine.baseline.usual_loss
    scale = float(Sampling.of(engine.subject).weights @ rows[usual]) if usual in rows else np.nan
    for measure in measures:
        own_scale = scale if measure.name == usual else np.nan
        yield _of_every_row(measure.name, measure.unit, rows[measure.name], scale=own_scale)
    if engine.y is None:
        for name in OF_OUTCOMES:
            yield Omission(name, "", "it needs outcomes, which were not given")
    else:
        yield from _excess(engine, rows, scale)
        yield from _rates(engine, np.asarray(engine.y))


def _of_every_row(measure: str, unit: str, rows: FloatArray, *, share: bool = False, scale: float = np.nan) -> Values:
    return Values(measure, unit, rows, np.ones(len(rows), dtype=bool), share, scale)


def _against_outcome(number: PredictedNumber) -> Iterator[Values]:
    """Yield prediction, outcome and their difference, which is 0 on average in any rows of an honest model."""
    yield _of_every_row(number.name, number.unit, number.rows, scale=number.scale)
    if number.y is not None:
        share = number.position is not None
        unit = "share of observations" if share else number.unit
        yield _of_every_row(f"outcome{number.suffix}", unit, number.y, share=share, scale=number.scale)
        residual = _of_every_row(f"residual{number.suffix}", number.unit, number.y - number.rows, scale=number.scale)
        yield residual._replace(variance=number.variance)


def _excess(engine: Engine, rows: dict[str, FloatArray], scale: float) -> Iterator[Values | Omission]:
    """Yield the loss less the loss that the model expects: of nll where it is finite, else also of the usual loss."""
    if {"nll", "entropy"} <= set(rows):
        with np.errstate(invalid="ignore"):
            gap = rows["nll"] - engine.baseline.expected_nll(np.asarray(engine.y))
        yield _of_every_row(CONFIDENCE_GAP, "nats", gap)._replace(variance=_of_counted(engine))
        if np.isfinite(gap).all():
            return
    else:
        yield Omission(CONFIDENCE_GAP, "", "it needs the loss and the entropy")
    loss, expected = engine.baseline.usual_loss, expected_loss(engine.baseline)
    if loss in rows and expected is not None:
        yield _of_every_row("excess_loss", engine.measures[loss].unit, rows[loss] - expected, scale=scale)


def _of_counted(engine: Engine) -> FloatArray | None:
    """Return the varentropy of the rows that have a weight, 0 for others; None where it has no value."""
    counted = Sampling.of(engine.subject).weights > 0
    drawn = varentropy(engine.baseline.take(np.flatnonzero(counted)), engine.rng("varentropy"), DRAWN)
    if drawn is None or not np.isfinite(drawn).all():
        return None
    variance = np.zeros(len(counted))
    variance[counted] = drawn
    return variance


def _rates(engine: Engine, y: AnyArray) -> Iterator[Values | Omission]:
    """Yield the error rates of two classes, or the coverage of central intervals."""
    q = engine.baseline
    if "proba" in q.supports:
        yield from _errors(cast("Categorical", q), y)
    elif "cdf" in q.supports:
        low, high = q.pit_bounds(y)
        pit = low + engine.rng("pit").random(len(y)) * (high - low)
        inside = (np.abs(pit - 0.5) <= 0.45).astype(float)
        yield _of_every_row("coverage_90", "share of observations", inside, share=True)
    else:
        yield Omission("coverage_90", "", q.why_not("cdf"))


def _errors(q: Categorical, y: AnyArray) -> Iterator[Values | Omission]:
    if len(q.classes) != 2:
        for name in ERROR_RATES:
            yield Omission(name, "", f"it needs two classes; this model has {len(q.classes)}")
        return
    decided, event = q.decisions() == q.positive, y == q.positive
    yield Values(ERROR_RATES[0], "share of negatives", decided.astype(float), ~event, share=True)
    yield Values(ERROR_RATES[1], "share of positives", (~decided).astype(float), event, share=True)


DRAWN = 32  # outcomes of each distribution whose varentropy has no closed form
EXACT_UNITS = 500
CELLS = 2_000_000


class GroupDifference(NamedTuple):
    """Mean of a group less that of the rest, its standard error and degrees of freedom; `centre` is of its interval."""

    estimate: float
    std_error: float
    dof: float
    centre: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the t-interval, about `centre`."""
        reach = float(special.stdtrit(self.dof, 0.5 + confidence / 2)) * self.std_error
        return self.centre - reach, self.centre + reach

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the t-test of no difference."""
        return float(two_sided(self.centre, self.std_error, self.dof))


def difference(
    values: FloatArray,
    group: BoolArray,
    rest: BoolArray,
    sampling: Sampling,
    share: bool,
    variance: FloatArray | None = None,
) -> GroupDifference:
    """Return the difference of two means (Welch 1947); clusters with rows in both parts count as such.

    Where the `variance` of each value is stated, the standard error is at least the one that follows from it: a group
    with few events shows too little spread by itself.

    Shares of 0 and 1 take Agresti & Caffo's (2000) interval, one hit and one miss added to each part, as a
    part without a hit has no spread.

    Examples
    --------
    >>> values, group = np.array([1.0, 3.0, 0.0, 2.0]), np.array([True, True, False, False])
    >>> difference(values, group, ~group, Sampling(np.full(4, 0.25), 4), False)[:3]
    (1.0, 1.4142135623730951, 2.0)
    """
    parts = [sampling.part(rows) for rows in (group, rest)]
    means, errors = np.array([part.mean(values[rows]) for part, rows in zip(parts, (group, rest), strict=True)]).T
    estimate = float(means[0] - means[1])
    if share:
        hits = zip(parts, np.clip(means, 0.0, 1.0), errors, strict=True)
        sizes = np.array([part.effective_n(float(mean), float(error)) for part, mean, error in hits])
        moved = (means * sizes + 1) / (sizes + 2)
        variances = moved * (1 - moved) / (sizes + 2)
        dof = _welch(variances, sizes + 1)
        return GroupDifference(estimate, float(np.sqrt(variances.sum())), dof, float(moved[0] - moved[1]))
    dof = _welch(np.square(errors), np.array([part.units - 1 for part in parts]))
    error = error_of(row_pieces(values, group, rest, sampling), group | rest, sampling)
    if variance is not None:
        stated = (np.square(part.weights) @ variance[rows] for part, rows in zip(parts, (group, rest), strict=True))
        error = max(error, float(np.sqrt(sum(stated))))
    return GroupDifference(estimate, error, dof, estimate)


def _welch(variances: FloatArray, dofs: AnyArray) -> float:
    total, varies = variances.sum(), variances > 0
    if not total > 0:
        return float(dofs.min())
    return float(total**2 / (variances[varies] ** 2 / dofs[varies]).sum())


def shuffled_p_values(
    values: Mapping[str, tuple[FloatArray, bool]], group: BoolArray, rng: np.random.Generator, draws: int
) -> dict[str, float]:
    """Return two-sided p-values of "the group is a random part of these rows", from random parts of its size.

    `values` maps a measure to its rows and whether they are shares. The statistic is Welch's t (Janssen
    1997), which also holds where only the means are equal; of shares, the difference. Exact up to the number of draws.
    """
    rows, shares = zip(*values.values(), strict=True)
    table = np.array(rows)
    table = table - table.mean(axis=1, keepdims=True)
    size, n = int(group.sum()), len(group)
    sums = [_sums(table, np.flatnonzero(group)[None])]
    sums += [_sums(table, _parts(n, size, rng, some)) for some in blocks(draws, size * len(table), CELLS)]
    squares = np.square(table).sum(axis=1)
    statistics = _statistics(np.concatenate(sums, axis=1), squares, np.array(shares), (size, n - size))
    above = (statistics[1:] >= statistics[0] * (1 - 1e-9)).sum(axis=0)
    return {name: float((1 + count) / (draws + 1)) for name, count in zip(values, above, strict=True)}


def _parts(n: int, size: int, rng: np.random.Generator, count: int) -> IntArray:
    """Return random parts of n rows, shape (count, size)."""
    parts = np.empty((count, size), dtype=np.int64)
    for part in parts:
        check_limits()
        part[:] = rng.choice(n, size, replace=False, shuffle=False)
    return parts


def _sums(table: FloatArray, rows: IntArray) -> FloatArray:
    """Return sums and sums of squares over sets of rows, shape (2, sets, measures)."""
    parts = table[:, rows]
    return np.array([parts.sum(axis=2).T, np.square(parts).sum(axis=2).T])


def _statistics(sums: FloatArray, squares: FloatArray, share: BoolArray, sizes: tuple[int, int]) -> FloatArray:
    """Return |t| or, of shares, |difference|, shape (draws, measures), of centred values."""
    means = sums[0] / sizes[0], -sums[0] / sizes[1]  # both parts of a centred row sum to 0
    spreads = [
        np.maximum(total - n * mean**2, 0.0) / (n * max(n - 1, 1))
        for total, mean, n in zip((sums[1], squares - sums[1]), means, sizes, strict=True)
    ]
    distance = np.abs(means[0] - means[1])
    error = np.sqrt(spreads[0] + spreads[1])
    t = np.divide(distance, error, out=np.where(distance > 0, np.inf, 0.0), where=error > 0)
    return np.asarray(np.where(share, distance, t))


def gap_p_values(
    q: Distribution, y: AnyArray, groups: list[BoolArray], weights: FloatArray, rng: np.random.Generator, draws: int
) -> list[float]:
    """Return for each group the two-sided Monte-Carlo p-value of its confidence gap, if y follows q.

    Outcomes are drawn from q; as the entropy does not depend on them, nll - entropy of the drawn ones is
    exchangeable with that of the observed ones.
    """
    member = np.column_stack(groups) * weights[:, None]
    entropy = q.entropy()
    observed = (-q.log_prob(y) - entropy) @ member
    null = []
    for some in blocks(draws, len(y), CELLS):
        null += [(-q.log_prob(sample) - entropy) @ member for sample in q.sample(rng, some)]
    table = np.array(null)
    fewer = np.minimum(*as_extreme(table, observed))
    return [float(value) for value in np.minimum(1.0, 2 * (1 + fewer) / (draws + 1))]


ALL = "all observations"


@dataclass(frozen=True)
class Plan:
    """The groups that may be shown for every set of rows, and the lines about them.

    Groups need `n_min` rows or clusters; exact tests take `n_draws` draws at least.
    """

    n_min: int
    n_draws: int
    engine: Engine
    attributes: Sequence[Attribute]
    values: Sequence[Values]

    @cached_property
    def sampling(self) -> Sampling:
        """How rows enter a mean."""
        return Sampling.of(self.engine.subject)

    @cached_property
    def counted(self) -> BoolArray:
        """The rows with a weight."""
        return self.sampling.weights > 0

    def members(self, key: Key) -> BoolArray:
        """Return the mask of a group's rows."""
        a, g = key
        return self.attributes[a].codes == g

    def place(self, key: Key) -> dict[str, str]:
        """Return the columns that name a group."""
        a, g = key
        return {"feature": self.attributes[a].name, "item": self.attributes[a].labels[g]}

    @cached_property
    def base(self) -> frozenset[Key]:
        """The groups shown for means over all rows."""
        return large_groups(self.attributes, self.counted, self.sampling.unit_codes, self.n_min)

    @cached_property
    def shown(self) -> dict[bytes, frozenset[Key]]:
        """The groups shown for each set of rows that a measure is a mean over."""
        sets = {value.inside.tobytes(): value.inside & self.counted for value in self.values}
        units = self.sampling.unit_codes
        return {key: large_groups(self.attributes, rows, units, self.n_min) for key, rows in sets.items()}

    def _enough(self, rows: BoolArray) -> bool:
        """Say whether rows have as many units as a group needs."""
        return n_units(rows & self.counted, self.sampling.unit_codes) >= self.n_min

    @cached_property
    def infinite(self) -> dict[str, int]:
        """Measures that are infinite somewhere, with the number of rows."""
        counts = {value.measure: int((~np.isfinite(value.rows[value.inside])).sum()) for value in self.values}
        return {name: count for name, count in counts.items() if count}

    @cached_property
    def compared(self) -> dict[bytes, list[Key]]:
        """The groups that are compared with enough other rows: of two groups of an attribute the smaller one."""
        compared = {}
        for rows, groups in self.shown.items():
            inside, larger = np.frombuffer(rows, dtype=bool), set()
            for a, attribute in enumerate(self.attributes):
                if len(attribute.labels) == 2 and {(a, 0), (a, 1)} <= groups:
                    sizes = np.bincount(attribute.codes[inside], minlength=2)
                    larger.add((a, 1 - int(np.argmin(sizes))))
            compared[rows] = [key for key in sorted(groups - larger) if self._enough(inside & ~self.members(key))]
        return compared

    @property
    def draws(self) -> int:
        """Draws of each exact test, so many that Holm's adjustment can still reject."""
        tests = sum(len(self.compared[value.inside.tobytes()]) for value in self.values if value.tested)
        return max(self.n_draws, 100 * tests)

    def means(self, value: Values) -> Iterator[dict[str, Any]]:
        """Yield the line of all rows and those of the groups shown."""
        if self._enough(value.inside):
            yield self._mean(value, value.inside) | {"item": ALL}
        for key in sorted(self.shown[value.inside.tobytes()]):
            tested = {"p_value": self.gap_tests[key]} if value.measure == CONFIDENCE_GAP else {}
            yield self._mean(value, value.inside & self.members(key)) | self.place(key) | tested

    def _mean(self, value: Values, rows: BoolArray) -> dict[str, Any]:
        part, confidence = self.sampling.part(rows), self.engine.confidence
        line = (share_of if value.share else mean_of)(value.rows[rows], part, confidence)
        return {**line, "measure": value.measure, "n": int((rows & self.counted).sum()), "unit": value.unit}

    @cached_property
    def gap_tests(self) -> dict[Key, float]:
        """The p-value of each group's confidence gap: by draws from q for groups up to 500 units, else by t."""
        gap = next(value for value in self.values if value.measure == CONFIDENCE_GAP)
        masks = {key: self.members(key) for key in sorted(self.shown[gap.inside.tobytes()])}
        p_values = {}
        for key, mask in masks.items():
            part = self.sampling.part(mask)
            p_values[key] = float(two_sided(*part.mean(gap.rows[mask]), part.units - 1))
        rows = self.sampling.independent_rows(self.engine.rng("units"))
        small = [key for key, mask in masks.items() if mask[rows].sum() <= EXACT_UNITS]
        drawn = "sample" in self.engine.baseline.supports and not self.engine.baseline.censored
        if small and self.engine.y is not None and drawn:
            used = rows[np.any([masks[key][rows] for key in small], axis=0)]
            q, y, weights = self.engine.baseline.take(used), self.engine.y[used], self.sampling.weights[used]
            members = [masks[key][used] for key in small]
            exact = gap_p_values(q, y, members, weights, self.engine.rng("outcomes"), self.draws)
            p_values |= dict(zip(small, exact, strict=True))
        return p_values

    def differences(self, value: Values) -> Iterator[dict[str, Any]]:
        """Yield each group's difference to the rest of the rows."""
        confidence, inside = self.engine.confidence, value.inside & self.counted
        for key in self.compared[value.inside.tobytes()]:
            group, rest = inside & self.members(key), inside & ~self.members(key)
            if not rest.any():
                continue
            contrast = difference(value.rows, group, rest, self.sampling, value.share, value.variance)
            low, high = contrast.interval(confidence)
            ends = min(low, contrast.estimate), max(high, contrast.estimate)
            exact = self._shuffled.get((value.inside.tobytes(), key), {})
            line = estimate(contrast.estimate, contrast.std_error, ends, confidence, value.measure) | self.place(key)
            line |= {"n": int(group.sum()), "n_rest": int(rest.sum()), "unit": value.unit}
            line |= {"scale": self._spread(value, group) if value.measure == CONFIDENCE_GAP else value.scale}
            overall = float(self.sampling.part(value.inside).mean(value.rows[value.inside])[0])
            p_value = exact.get(value.measure, contrast.p_value) if value.tested else np.nan
            if value.variance is not None:  # groups of other base rates are not exchangeable
                p_value = max(p_value, contrast.p_value)
            yield line | {"p_value": p_value, "overall": overall}

    def _spread(self, value: Values, group: BoolArray) -> float:
        """Return the standard deviation that the model states for the values of a group, else the observed one."""
        part = self.sampling.part(group)
        mean = part.mean(value.rows[group])[0]
        squares = np.square(value.rows - mean) if value.variance is None else value.variance
        return float(np.sqrt(part.weights @ squares[group]))

    @cached_property
    def _shuffled(self) -> dict[tuple[bytes, Key], dict[str, float]]:
        """The exact p-values of differences by measure, where rows are exchangeable and few."""
        weights = self.sampling.weights
        if self.sampling.codes is not None or np.ptp(weights[weights > 0]) > 0:
            return {}
        p_values = {}
        for rows, keys in self.compared.items():
            inside = np.frombuffer(rows, dtype=bool) & self.counted
            tested = {
                value.measure: (value.rows[inside], value.share)
                for value in self.values
                if value.inside.tobytes() == rows and value.tested and value.measure not in self.infinite
            }
            for key in keys:
                group = self.members(key)[inside]
                smaller = group if 2 * group.sum() <= len(group) else ~group
                if tested and smaller.any() and smaller.sum() <= EXACT_UNITS:
                    rng = self.engine.rng("shuffle", self.attributes[key[0]].name, key[1], int(inside.sum()))
                    p_values[rows, key] = shuffled_p_values(tested, smaller, rng, self.draws)
        return p_values

    def omissions(self) -> Iterator[Omission]:
        """Yield what is not shown, and why; never how many rows."""
        for name, count in self.infinite.items():
            yield Omission(name, "", f"infinite in {count} observations; calibrate or smooth the model's probabilities")
        for a, attribute in enumerate(self.attributes):
            for key in ((a, g) for g in range(len(attribute.labels))):
                if key not in self.base:
                    yield Omission("", attribute.name, f"a group has fewer than {self.n_min} observations or clusters")
                for value in self.values:
                    if key in self.base - self.shown[value.inside.tobytes()]:
                        reason = f"a group has fewer than {self.n_min} {value.unit.removeprefix('share of ')}"
                        yield Omission(value.measure, attribute.name, reason)

    def target(self, a: int, attribute: Attribute) -> FloatArray:
        """Return what the features are to tell of an attribute, shape (n, k); NaN for rows that take no part."""
        if attribute.numbers is not None:
            numbers = np.where(np.isfinite(attribute.numbers), attribute.numbers, np.nan)[:, None]
            return np.asarray(numbers - np.nanmean(numbers))
        groups = [g for g in range(len(attribute.labels)) if (a, g) in self.base]
        if len(groups) < 2:
            return np.full((self.engine.subject.n, 1), np.nan)
        indicators = (attribute.codes[:, None] == np.array(groups)).astype(float)
        indicators[indicators.sum(axis=1) == 0] = np.nan
        return indicators

    def meta(self) -> dict[str, Any]:
        """Return what a reader must know about the attributes."""
        facts = {}
        for a, attribute in enumerate(self.attributes):
            labels = list(enumerate(attribute.labels))
            facts[attribute.name] = {
                "groups": [label for g, label in labels if (a, g) in self.base],
                "withheld": [label for g, label in labels if (a, g) not in self.base],
                "edges": list(attribute.edges) or None,
                "feature": attribute.name in self.engine.subject.features,
            }
        return {"n_min": self.n_min, "attributes": facts}
