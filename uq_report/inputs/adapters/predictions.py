"""Stored predictions in place of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.model.adapter import Adapter, Match
from ...core.predictive import Distribution
from ...core.support.arrays import IntArray, Table
from ...core.traits.stored_predictions import ONLY_GIVEN, FixedRows, GivenDistributions, ScoredRows


@dataclass(frozen=True)
class PredictionsAdapter(Adapter):
    """Predictions that were made elsewhere, audited without their model: a scored table, or a `Distribution`.

    Whatever looks at predictions as they are can be computed.
    Whatever changes a row and asks again is refused by the engine, with `only_given_rows` as the reason.

    Examples
    --------
    >>> import numpy as np
    >>> scored = ScoredRows(np.array([[1.0], [2.0]]), np.array([[0.5, 0.5], [0.9, 0.1]]), classes=("no", "yes"))
    >>> PredictionsAdapter().predict(scored, np.array([[2.0]])).probabilities
    array([[0.9, 0.1]])
    >>> import uq_report as uq
    >>> from uq_report.distributions import Normal
    >>> uq.explain(Normal([0.0, 1.0], 2.0), np.array([[1.0], [2.0]])).adapter_reason
    'stored predictions (normal); the model itself was not at hand'
    """

    name: ClassVar[str] = "predictions"
    only_given_rows: ClassVar[str] = ONLY_GIVEN

    def matches(self, model: Any) -> Match | None:
        """Match stored rows, and distributions, which are then of the rows of the audit."""
        if isinstance(model, Distribution | GivenDistributions):
            family = (model if isinstance(model, Distribution) else model.distributions).family
            return Match(0, f"stored predictions ({family}); the model itself was not at hand")
        if not isinstance(model, ScoredRows):
            return None
        kind = "mean and std: taken to be normal" if model.classes is None else "class probabilities"
        return Match(0, f"stored predictions ({kind}); the model itself was not at hand")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the stored distributions of these rows, if they were all predicted."""
        return model.predict(X)

    def bind(self, model: Any, X: Table) -> FixedRows:
        """Return distributions with the rows they are of; stored rows as they are."""
        return GivenDistributions(X, model) if isinstance(model, Distribution) else model

    def take(self, model: Any, rows: IntArray) -> FixedRows:
        """Return the stored predictions of some rows, for a subject that keeps only these."""
        return model.take(rows)
