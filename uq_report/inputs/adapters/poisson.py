"""Regressors fitted by the Poisson likelihood: a Poisson distribution per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.model.adapter import Match
from ...core.predictive import Distribution
from ...core.support.arrays import Table
from ...distributions import Poisson
from .outputs import point_prediction
from .sklearn_ import SklearnAdapter, is_a, transform, unwrap


@dataclass(frozen=True)
class PoissonAdapter(SklearnAdapter):
    """PoissonRegressor, and HistGradientBoostingRegressor with ``loss="poisson"``.

    Alone, last in a pipeline, or in a search object. ``predict`` gives the rate. y must hold
    counts: a model of rates per exposure (y divided by an exposure) is no Poisson distribution of
    its y; wrap it in a function that returns ``Poisson(rate * exposure)`` and audit the counts.
    """

    name: ClassVar[str] = "poisson"

    def matches(self, model: Any) -> Match | None:
        """Match the two by name."""
        if isinstance(model, type):
            return None
        final = unwrap(model)[1]
        boosted = is_a(final, ("HistGradientBoostingRegressor",)) and getattr(final, "loss", None) == "poisson"
        poisson = boosted or is_a(final, ("PoissonRegressor",))
        return Match(1, f"{type(final).__name__} with the Poisson loss") if poisson else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the predicted rates as Poisson distributions."""
        steps, final = unwrap(model)
        return Poisson(point_prediction(final, transform(steps, X)))
