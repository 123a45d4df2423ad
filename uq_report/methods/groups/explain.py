"""Groups: predictions, errors and uncertainty for each protected attribute, with small groups held back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import PREDICTION, Measure
from ...core.model.results import Diagnostic, Omission, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.predictive import Distribution
from ...core.support import options as opt
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, take_rows
from ...core.support.errors import BudgetError, InputError, UnsupportedError
from ...distributions import Categorical
from ...evidence import columns as col, ids
from ..shared.association import NumericColumn, association, coded, forecasts, row_groups, skill
from ..shared.attributes import attributes
from ..shared.cards import CardedExplainer
from ..shared.estimates import diagnostic, error_of, estimate, row_pieces
from ..shared.predicted import PredictedNumber, predicted
from .contrasts import ALL, EXACT_UNITS, GroupDifference, Plan, difference, row_values

MOST_ROWS = 1000
SINGLE_ROWS = 10_000
LEAST_ROWS = 10
TOGETHER = "all features"
POINTS = 20  # values of a feature that every row gets in turn
ROUNDING = 1e-12  # of the prediction's size: a smaller change is rounding


def proxies(engine: Engine, targets: Mapping[str, FloatArray]) -> Diagnostic:
    """Return the result ``groups.proxy``.

    `targets` holds, for each attribute, the values to predict, shape (n, k): a centred number, or the indicators
    of the groups shown; rows that take no part are NaN.
    """
    columns = [coded(engine.subject, name) for name in engine.subject.features]
    records: list[dict[str, Any] | Omission] = []
    for name, target in targets.items():
        rows = np.flatnonzero(~np.isnan(target).any(axis=1))
        others = [column for column in columns if column.name != name]
        if reason := _impossible(target[rows], others):
            records.append(Omission("", name, reason))
            continue
        order = engine.rng("proxy rows", name).permutation(rows)
        chosen, wider = np.sort(order[:MOST_ROWS]), np.sort(order[:SINGLE_ROWS])
        records.append(_together(engine, name, target[chosen], others, chosen))
        records += [_single(name, target, other, wider) for other in others]
    return diagnostic(
        ids.GROUPS_PROXY,
        "How well the model's features tell a protected attribute",
        records,
        ("item", "n"),
        x="n",
        notes=(
            (
                f"'{TOGETHER}': out-of-bag R² of a random forest of 100 trees, at most {MOST_ROWS} observations; for "
                "groups the Brier skill of their indicators. The interval covers new observations for the fitted "
                "forest."
            ),
            (
                f"Other lines: the association of one feature with the attribute, 0 to 1, by {SINGLE_ROWS} "
                "observations at most. An attribute that the model uses does not predict itself."
            ),
        ),
    )


def _impossible(target: FloatArray, others: Sequence[NumericColumn]) -> str:
    if not others:
        return "there is no other feature to predict it from"
    if len(target) < LEAST_ROWS:
        return f"fewer than {LEAST_ROWS} observations can be used"
    return "fewer than two values or groups can be used" if not np.ptp(target, axis=0).any() else ""


def _together(
    engine: Engine, name: str, truth: FloatArray, others: Sequence[NumericColumn], rows: IntArray
) -> dict[str, Any] | Omission:
    """Return the skill of all features together, or why there is none."""
    subject = engine.subject
    columns = [(pd.Series(other.numbers[rows]), other.ordered) for other in others]
    X = np.column_stack([values.rank(method="dense") if ordered else values for values, ordered in columns])
    clusters = None if subject.clusters is None else subject.clusters[rows]
    blocks = row_groups(take_rows(subject.X, rows), clusters)
    forecast = forecasts(X, truth, blocks, engine.rng("proxy", name))
    if np.isnan(forecast).any():
        return Omission("", name, "too few different observations to leave some out of every tree")
    sampling = Sampling.of(subject, rows)
    measure = "brier_skill" if truth.shape[1] > 1 else "r_squared"
    line = skill(truth, forecast, sampling, engine.confidence, measure, name)
    return line | {"item": TOGETHER, "n": len(rows)}


def _single(name: str, target: FloatArray, other: NumericColumn, rows: IntArray) -> dict[str, Any]:
    """Return the association of one feature with the attribute."""
    ordered = target.shape[1] == 1
    numbers = target[rows, 0] if ordered else target[rows].argmax(axis=1).astype(float)
    measure, size = association(
        NumericColumn(name, numbers, ordered=ordered), NumericColumn(other.name, other.numbers[rows], other.ordered)
    )
    return {"measure": measure, "feature": name, "estimate": size, "covers": "none", "item": other.name, "n": len(rows)}


class ProxyGrid(NamedTuple):
    """Rows whose value of a feature every row gets in turn, the share of rows each is for, and each row's own."""

    rows: IntArray
    shares: FloatArray
    codes: IntArray


def grid_of(numbers: FloatArray, weights: FloatArray) -> ProxyGrid:
    """Return every value of a feature of up to `POINTS` values, else the middle ones of as many equal parts.

    Examples
    --------
    >>> grid = grid_of(np.array([5.0, 7.0, 5.0, 5.0]), np.full(4, 0.25))
    >>> grid.rows.tolist(), grid.shares.tolist(), grid.codes.tolist()
    ([0, 1], [0.75, 0.25], [0, 1, 0, 0])
    """
    values, codes = np.unique(numbers, return_inverse=True)
    middle = np.zeros(len(numbers))
    if len(values) > POINTS:
        order = np.argsort(numbers, kind="stable")
        reached = np.empty(len(numbers))
        reached[order] = (np.cumsum(weights[order]) - weights[order] / 2) * POINTS
        codes = np.clip(reached.astype(np.int64), 0, POINTS - 1)
        middle = np.abs(reached - codes - 0.5)
    shares = np.bincount(codes, weights).astype(float)
    place = np.cumsum(shares > 0) - 1
    first = np.lexsort((middle, weights == 0, codes))
    rows = first[np.unique(codes[first], return_index=True)[1]]
    return ProxyGrid(rows[shares[codes[rows]] > 0], shares[shares > 0], np.maximum(place[codes], 0))


@dataclass(frozen=True)
class Exchange:
    """What a prediction changes by, shape (points, n), when each row gets a feature's values in turn."""

    plan: Plan
    number: PredictedNumber
    grid: ProxyGrid
    change: FloatArray

    @cached_property
    def rows(self) -> FloatArray:
        """The mean change of each row."""
        return self.grid.shares @ self.change

    def lost(self, members: BoolArray) -> GroupDifference:
        """Return the contrast of a group to the rest that is lost; rows count with their own change and their value."""
        sampling, counted = self.plan.sampling, self.plan.counted
        group, rest = members & counted, ~members & counted
        contrast = difference(self.rows, group, rest, sampling, share=False)
        weights = [sampling.part(mask).weights for mask in (group, rest)]
        by_value = self.change[:, group] @ weights[0] - self.change[:, rest] @ weights[1]
        # a row also counts as a donor: its value is one of those that all others get
        donated = sampling.weights * (by_value[self.grid.codes] - contrast.estimate)
        pieces = row_pieces(self.rows, group, rest, sampling) + donated
        return contrast._replace(std_error=error_of(pieces, group | rest, sampling))

    @cached_property
    def size(self) -> GroupDifference:
        """The mean size of the change."""
        sampling, size = self.plan.sampling, np.abs(self.change)
        rows = self.grid.shares @ size
        mean = float(sampling.weights @ rows)
        by_value = size @ sampling.weights
        error = float(sampling.mean(rows + by_value[self.grid.codes] - mean)[1])
        return GroupDifference(mean, error, sampling.units - 1, mean)

    def line(self, change: GroupDifference) -> dict[str, Any]:
        """Return the columns of a change of this prediction."""
        confidence = self.plan.engine.confidence
        interval, name = change.interval(confidence), self.number.name
        line = estimate(change.estimate, change.std_error, interval, confidence, name)
        return line | {"unit": self.number.unit, "scale": self.number.scale}


def use(plan: Plan, proxies: pd.DataFrame, most: int, least: float) -> Diagnostic:
    """Return the result ``groups.use``: of each attribute, and of the features that tell it best.

    Those are at most `most`, with an association of at least `least`.
    """
    records: list[dict[str, Any] | Omission] = []
    # each feature is exchanged once, whatever the attributes it stands for
    exchanges = cache(partial(_exchanges, plan, predicted(plan.engine)))
    single = proxies[(proxies[col.COVERS] == "none") & (proxies[col.ESTIMATE] >= least)]
    for a, attribute in enumerate(plan.attributes):
        best = single[single[col.FEATURE] == attribute.name].sort_values(col.ESTIMATE, ascending=False, kind="stable")
        related = best.head(most).set_index(col.ITEM)[col.ESTIMATE].astype(float).to_dict()
        own = {attribute.name: 1.0} if attribute.name in plan.engine.subject.features else {}
        try:
            for feature, association in (own | related).items():
                lines = _lines(plan, a, partial(exchanges, feature))
                records += [line | {"by": feature, "association": association} for line in lines]
        except (UnsupportedError, BudgetError) as error:
            records.append(Omission("", attribute.name, f"features could not be permuted: {error}"))
    return diagnostic(
        ids.GROUPS_USE,
        "Predictions when an attribute, or a feature associated with it, is permuted",
        records,
        ("item", "n", "unit", "p_value", "by", "association", "scale"),
        x="n",
        notes=(
            f"Every observation gets each value of the feature in turn, at most {POINTS}, weighted by their share.",
            (
                "Of a group: the contrast of its prediction to the other groups that is lost; of all observations: the "
                "mean change."
            ),
        ),
    )


def _lines(plan: Plan, a: int, exchanges: Callable[[], list[Exchange]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of one attribute and one feature."""
    every = np.ones(plan.engine.subject.n, dtype=bool).tobytes()
    keys = [key for key in plan.compared.get(every, []) if key[0] == a]
    for exchange in exchanges() if keys else ():
        whole = {"feature": plan.attributes[a].name, "item": ALL, "n": int(plan.counted.sum())}
        yield exchange.line(exchange.size) | whole
        for key in keys:
            lost, members = exchange.lost(plan.members(key)), plan.members(key)
            tested = {"n": int((members & plan.counted).sum()), "p_value": lost.p_value}
            yield exchange.line(lost) | plan.place(key) | tested


def _exchanges(plan: Plan, numbers: list[PredictedNumber], feature: str) -> list[Exchange]:
    """Return how every prediction changes when a feature is exchanged."""
    engine, subject = plan.engine, plan.engine.subject
    grid = grid_of(coded(subject, feature).numbers, plan.sampling.weights)
    columns = subject.positions(feature)
    variants = [Variant(columns, donors=np.full(subject.n, row)) for row in grid.rows]
    blocks = engine.evaluate(variants, [_measure(number) for number in numbers], total=len(variants))
    after = np.concatenate([block.values for block in blocks], axis=1)
    return [Exchange(plan, n, grid, _change(n.rows, values)) for n, values in zip(numbers, after, strict=True)]


def _change(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return what each row's prediction was higher by before the exchange, without rounding."""
    change = before - after
    return np.where(np.abs(change) <= ROUNDING * np.abs(before).mean(), 0.0, change)


def _measure(number: PredictedNumber) -> Measure:
    if number.position is None:
        return PREDICTION
    rows = partial(_probability, position=number.position)  # no lambda: other processes get it, too
    return Measure(number.name, rows, number.unit, "prediction", frozenset({"proba"}))


def _probability(dist: Distribution, _y: AnyArray | None, _base: Distribution | None, *, position: int) -> FloatArray:
    """Return the probability of one class."""
    return cast("Categorical", dist).probabilities[:, position]


COLUMNS = ("item", "n", "unit", "p_value")
DIFFERENCES = (*COLUMNS, "n_rest", "overall", "scale")


@dataclass(frozen=True)
class Groups(CardedExplainer):
    """Predictions against outcomes, losses and uncertainty by group of each protected attribute, and its proxies.

    Attributes of more than `max_levels` ordered values are cut at their quartiles. For each group: prediction and
    outcome (of more than two classes, of each class), the residual ``mean(outcome - prediction)``, the usual loss,
    nll, entropy, calibration gap ``mean(nll - entropy)`` and, where they exist, the coverage of central 90%
    intervals and the error rates at a probability of 0.5; each with the interval for new rows of the group, and its
    difference to all other rows. If outcomes follow the model, residual and gap are 0 on average in every group;
    loss, entropy and error rates differ wherever base rates do. Groups of up to 500 rows are tested exactly: the
    gap by outcomes drawn from the model, a difference by random groups of the same size.

    An attribute that is a feature, and the features that tell it best, are exchanged: every row gets each of their
    values in turn. The contrast of a group's prediction that is lost is what goes through that feature; it is
    exactly 0 for one the model does not use.

    A group of fewer than `n_min` rows (clusters) is not shown, nor any mean from which it could be worked out.

    Parameters
    ----------
    n_min : int
        Rows (clusters) that a group must have to be shown.
    max_levels : int
        Numbers and dates of more different values are cut at their quartiles.
    n_draws : int
        Draws of each exact test, at least; 100 for each test there is.
    n_proxies : int
        Features that are exchanged, those that tell the attribute best.
    min_association : float
        Association with the attribute (0 to 1) that such a feature must have.

    References
    ----------
    Mitchell et al. (2019), doi:10.1145/3287560.3287596, section 4.
    """

    n_min: int = opt.at_least(5, 30)
    max_levels: int = opt.at_least(2, 6)
    n_draws: int = opt.at_least(99, 999)
    n_proxies: int = opt.at_least(0, 2)
    min_association: float = opt.option(0.3, "a number in (0, 1]", lambda value: 0 < value <= 1)

    name: ClassVar[str] = "groups"
    section: ClassVar[str] = "outcomes.groups"
    priority: ClassVar[int] = 5

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``groups``, ``groups.difference``, ``groups.proxy`` and ``groups.use``."""
        if not subject.protected:
            raise InputError("groups.protected must be given; got none. Pass protected=[...] to `explain`.")
        values, omitted = row_values(engine)
        cut = attributes(subject.protected, self.max_levels)
        plan = Plan(self.n_min, self.n_draws, engine, cut, values)
        finite = [value for value in values if value.measure not in plan.infinite]
        of_clusters = ["With clusters the exact test of the calibration gap uses one observation of each."]
        notes = (
            f"Groups of fewer than {self.n_min} observations or clusters are not shown.",
            f"Exact tests up to {EXACT_UNITS} observations, {plan.draws} draws; else t-tests. No p-value is adjusted.",
            *([] if plan.sampling.codes is None else of_clusters),
            *plan.sampling.notes(),
        )
        facts: dict[str, Any] = {"options": asdict(self), "notes": notes, "meta": plan.meta()}
        omissions = (*omitted, *dict.fromkeys(plan.omissions()))
        means = [line for value in finite for line in plan.means(value)]
        differences = [line for value in finite for line in plan.differences(value)]
        related = proxies(engine, {x.name: plan.target(a, x) for a, x in enumerate(cut)})
        title, other_title = "Predictions, errors and uncertainty by group", "Each group against all other observations"
        return [
            diagnostic(ids.GROUPS, title, means, COLUMNS, x="n", omissions=omissions, **facts),
            diagnostic(ids.GROUPS_DIFFERENCE, other_title, differences, DIFFERENCES, x="n", **facts),
            related,
            use(plan, related.estimates, self.n_proxies, self.min_association),
        ]
