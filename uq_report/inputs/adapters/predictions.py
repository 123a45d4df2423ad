"""Stored predictions in place of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.adapter import Adapter, Match
from ...core.arrays import IntArray, Table
from ...core.predictive import Distribution
from ...core.scored import ONLY_GIVEN, ScoredRows


@dataclass(frozen=True)
class PredictionsAdapter(Adapter):
    """A `ScoredRows`: a table that was scored elsewhere, audited without its model.

    Whatever looks at predictions as they are can be computed.
    Whatever changes a row and asks again is refused by the engine, with `only_given_rows` as the reason.

    Examples
    --------
    >>> import numpy as np
    >>> scored = ScoredRows(np.array([[1.0], [2.0]]), np.array([[0.5, 0.5], [0.9, 0.1]]), classes=("no", "yes"))
    >>> PredictionsAdapter().predict(scored, np.array([[2.0]])).probabilities
    array([[0.9, 0.1]])
    """

    name: ClassVar[str] = "predictions"
    only_given_rows: ClassVar[str] = ONLY_GIVEN

    def matches(self, model: Any) -> Match | None:
        """Match `ScoredRows` alone."""
        if not isinstance(model, ScoredRows):
            return None
        kind = "mean and std: taken to be normal" if model.classes is None else "class probabilities"
        return Match(0, f"stored predictions ({kind}); the model itself was not at hand")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the stored distributions of these rows, if they were all predicted."""
        return model.predict(X)

    def take(self, model: Any, rows: IntArray) -> ScoredRows:
        """Return the stored predictions of some rows, for a subject that keeps only these."""
        return model.take(rows)
