"""Use: how far predictions, and their contrasts between groups, change when an attribute or its proxy is exchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, FloatArray, IntArray
from ...core.distributions import Categorical
from ...core.errors import BudgetError, UnsupportedError
from ...core.measures import PREDICTION, Measure
from ...core.predictive import Distribution
from ...core.results import Diagnostic, Omission
from ...core.variants import Variant
from ...evidence import columns as col
from ...evidence import ids
from ..shared.association import coded
from ..shared.tidy import diagnostic, record
from .contrasts import Difference, difference, error_of, row_pieces
from .plan import ALL, Plan
from .values import Predicted, predicted

POINTS = 20  # values of a feature that every row gets in turn
ROUNDING = 1e-12  # of the prediction's size: a smaller change is rounding


class Grid(NamedTuple):
    """Rows whose value of a feature every row gets in turn, the share of rows each is for, and each row's own."""

    rows: IntArray
    shares: FloatArray
    codes: IntArray


def grid_of(numbers: FloatArray, weights: FloatArray) -> Grid:
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
    return Grid(rows[shares[codes[rows]] > 0], shares[shares > 0], np.maximum(place[codes], 0))


@dataclass(frozen=True)
class Exchange:
    """What a prediction changes by, shape (points, n), when each row gets a feature's values in turn."""

    plan: Plan
    number: Predicted
    grid: Grid
    change: FloatArray

    @cached_property
    def rows(self) -> FloatArray:
        """The mean change of each row."""
        return self.grid.shares @ self.change

    def lost(self, members: AnyArray) -> Difference:
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
    def size(self) -> Difference:
        """The mean size of the change."""
        sampling, size = self.plan.sampling, np.abs(self.change)
        rows = self.grid.shares @ size
        mean = float(sampling.weights @ rows)
        by_value = size @ sampling.weights
        error = float(sampling.mean(rows + by_value[self.grid.codes] - mean)[1])
        return Difference(mean, error, sampling.units - 1, mean)

    def line(self, change: Difference) -> dict[str, Any]:
        """Return the columns of a change of this prediction."""
        confidence = self.plan.engine.confidence
        return {
            **record(self.number.name, "", change.estimate, change.std_error, change.interval(confidence), confidence),
            "unit": self.number.unit,
            "scale": self.number.scale,
        }


def use(plan: Plan, proxies: pd.DataFrame, most: int, least: float) -> Diagnostic:
    """Return the result ``groups.use``: of each attribute, and of the features that tell it best.

    Those are at most `most`, with an association of at least `least`.
    """
    records: list[dict[str, Any]] = []
    omissions = []
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
            omissions.append(Omission("", attribute.name, f"features could not be exchanged: {error}"))
    return diagnostic(
        ids.GROUPS_USE,
        "Predictions when an attribute, or a feature that tells it, is exchanged",
        records,
        ("item", "n", "unit", "p_value", "by", "association", "scale"),
        x="n",
        notes=(
            f"Every row gets each value of the feature in turn, at most {POINTS}, weighted by their share of rows.",
            "Of a group: the contrast of its prediction to the rest that is lost; of all rows: the mean change.",
        ),
        omissions=tuple(omissions),
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


def _exchanges(plan: Plan, numbers: list[Predicted], feature: str) -> list[Exchange]:
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


def _measure(number: Predicted) -> Measure:
    if number.position is None:
        return PREDICTION
    rows = partial(_probability, position=number.position)  # no lambda: other processes get it, too
    return Measure(number.name, rows, number.unit, "prediction", frozenset({"proba"}))


def _probability(dist: Distribution, _y: AnyArray | None, _base: Distribution | None, *, position: int) -> FloatArray:
    """Return the probability of one class."""
    return cast("Categorical", dist).probabilities[:, position]
