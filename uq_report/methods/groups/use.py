"""Use: how far predictions, and their contrasts between groups, change when an attribute or its proxy is exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, FloatArray, IntArray
from ...core.distributions import Categorical
from ...core.errors import BudgetError, UnsupportedError
from ...core.measures import PREDICTION, Measure
from ...core.predictive import Distribution
from ...core.results import ESTIMATE_COLUMNS, Diagnostic, Omission
from ...core.variants import Variant
from ...evidence import columns as col
from ...evidence import ids
from ..shared.association import coded
from .plan import ALL, Plan
from .tests import Difference, difference, error_of, row_pieces
from .values import Predicted, predicted

POINTS = 20  # values of a feature that every row gets in turn
ROUNDING = 1e-12  # of the prediction's size: a smaller change is rounding
COLUMNS = (*ESTIMATE_COLUMNS, "item", "n", "unit", "p_value", "by", "association", "scale")


class Given(NamedTuple):
    """Rows whose value of a feature every row gets in turn, the share of rows each is for, and each row's own."""

    rows: IntArray
    shares: FloatArray
    codes: IntArray


def given_values(numbers: FloatArray, weights: FloatArray) -> Given:
    """Return every value of a feature of up to `POINTS` values, else the middle ones of as many equal parts.

    Examples
    --------
    >>> found = given_values(np.array([5.0, 7.0, 5.0, 5.0]), np.full(4, 0.25))
    >>> found.rows.tolist(), found.shares.tolist(), found.codes.tolist()
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
    kept = shares[codes[rows]] > 0
    return Given(rows[kept], shares[shares > 0], np.maximum(place[codes], 0))


@dataclass(frozen=True)
class Exchanged:
    """What a prediction changes by, shape (points, n), when each row gets a feature's values in turn."""

    plan: Plan
    of: Predicted
    given: Given
    change: FloatArray

    def lost(self, a: int, g: int) -> Difference:
        """Return the contrast of a group to the rest that is lost; rows count with their own change and their value."""
        sampling = self.plan.sampling
        group = self.plan.cut[a].members(g) & (sampling.weights > 0)
        rest = ~group & (sampling.weights > 0)
        rows = self.given.shares @ self.change
        found = difference(rows, group, rest, sampling, share=False)
        parts = [sampling.part(mask).weights for mask in (group, rest)]
        by_value = self.change[:, group] @ parts[0] - self.change[:, rest] @ parts[1]
        donated = sampling.weights * (by_value[self.given.codes] - found.estimate)
        pieces = row_pieces(rows, group, rest, sampling) + donated
        return found._replace(std_error=error_of(pieces, group | rest, sampling))

    @cached_property
    def size(self) -> tuple[float, float]:
        """The mean size of the change, and its standard error."""
        sampling, size = self.plan.sampling, np.abs(self.change)
        mean = float(sampling.weights @ (self.given.shares @ size))
        by_value = size @ sampling.weights
        rows = self.given.shares @ size + by_value[self.given.codes] - mean
        return mean, float(sampling.mean(rows)[1])


def use(plan: Plan, proxies: pd.DataFrame, most: int, least: float) -> Diagnostic:
    """Return the result ``groups.use``: of each attribute, and of the features that tell it best.

    Those are at most `most`, with an association of at least `least`.
    """
    records: list[dict[str, Any]] = []
    omissions = []
    known = _Model(plan)
    single = proxies[(proxies[col.COVERS] == "none") & (proxies[col.ESTIMATE] >= least)]
    for a, attribute in enumerate(plan.cut):
        best = single[single[col.FEATURE] == attribute.name].sort_values(col.ESTIMATE, ascending=False, kind="stable")
        told = dict(zip(best[col.ITEM].head(most), best[col.ESTIMATE].head(most).astype(float), strict=True))
        own = {attribute.name: 1.0} if attribute.name in plan.subject.features else {}
        try:
            for feature, association in (own | told).items():
                records += known.lines(a, feature, association)
        except (UnsupportedError, BudgetError) as error:
            omissions.append(Omission("", attribute.name, f"features could not be exchanged: {error}"))
    estimates = pd.DataFrame(records, columns=list(COLUMNS))
    return Diagnostic(
        id=ids.GROUPS_USE,
        explainer="groups",
        title="Predictions when an attribute, or a feature that tells it, is exchanged",
        frame=estimates.rename(columns={"n": "x", "estimate": "value"})[list(Diagnostic.columns)].astype({"x": float}),
        estimates=estimates,
        notes=(
            f"Every row gets each value of the feature in turn, at most {POINTS}, weighted by their share of rows.",
            "Of a group: the contrast of its prediction to the rest that is lost; of all rows: the mean change.",
        ),
        omissions=tuple(omissions),
    )


class _Model:
    """The model's predictions with features exchanged; each feature once, whatever the attributes it stands for."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.engine = plan, plan.engine
        self.parts = predicted(plan.engine)
        self.measures = [_measure(one) for one in self.parts]
        self._known: dict[str, list[Exchanged]] = {}

    def lines(self, a: int, feature: str, association: float) -> Iterator[dict[str, Any]]:
        """Yield the lines of one attribute and one feature."""
        every = np.ones(self.plan.subject.n, dtype=bool).tobytes()
        groups = [g for b, g in self.plan.compared.get(every, []) if b == a]
        if not groups:
            return
        for one in self.exchanged(feature):
            place = {"feature": self.plan.cut[a].name, "by": feature, "association": association}
            mean, error = one.size
            found = Difference(mean, error, self.plan.sampling.units - 1, mean)
            yield self._line(one, found) | place | {"item": ALL, "p_value": np.nan}
            for g in groups:
                lost = one.lost(a, g)
                count = int((self.plan.cut[a].members(g) & (self.plan.sampling.weights > 0)).sum())
                yield self._line(one, lost) | place | {"item": self.plan.cut[a].labels[g], "n": count}

    def _line(self, one: Exchanged, found: Difference) -> dict[str, Any]:
        lower, upper = found.interval(self.engine.confidence)
        return {
            "measure": one.of.name,
            "estimate": found.estimate,
            "std_error": found.std_error,
            "lower": lower,
            "upper": upper,
            "confidence": self.engine.confidence,
            "covers": "new test rows",
            "n": int((self.plan.sampling.weights > 0).sum()),
            "unit": one.of.unit,
            "p_value": found.p_value,
            "scale": one.of.scale,
        }

    def exchanged(self, feature: str) -> list[Exchanged]:
        """Return how every prediction changes when a feature is exchanged."""
        if feature not in self._known:
            subject = self.plan.subject
            given = given_values(coded(subject, feature).numbers, self.plan.sampling.weights)
            columns = subject.positions(feature)
            variants = [Variant(columns, donors=np.full(subject.n, row)) for row in given.rows]
            groups = self.engine.evaluate(variants, self.measures, total=len(variants))
            changed = np.concatenate([group.values for group in groups], axis=1)
            self._known[feature] = [
                Exchanged(self.plan, one, given, _change(one.rows, after))
                for one, after in zip(self.parts, changed, strict=True)
            ]
        return self._known[feature]


def _change(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return what each row's prediction was higher by before the exchange, without rounding."""
    change = before - after
    return np.where(np.abs(change) <= ROUNDING * np.abs(before).mean(), 0.0, change)


def _measure(one: Predicted) -> Measure:
    if one.position is None:
        return PREDICTION
    rows = partial(_probability, position=one.position)
    return Measure(one.name, rows, one.unit, "prediction", frozenset({"proba"}))


def _probability(dist: Distribution, _y: AnyArray | None, _base: Distribution | None, *, position: int) -> FloatArray:
    """Return the probability of one class."""
    return cast("Categorical", dist).probabilities[:, position]
