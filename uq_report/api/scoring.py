"""Measures as scorers of scikit-learn."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import runner
from ..core.engine.fast_path_evaluator import Engine
from ..core.model.measures import Measure
from ..core.support.calls import known_arguments
from ..core.support.errors import InputError, UnsupportedError, nearest
from .explaining import explain


@dataclass(frozen=True)
class Scorer:
    """A measure's mean as a score of scikit-learn: greater is better, so losses and uncertainties are negative."""

    measure: str | Measure

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the score of a fitted model on data."""
        subject = explain(estimator, X, y)
        extra = {self.measure.name: self.measure} if isinstance(self.measure, Measure) else {}
        engine = Engine(subject, {**runner.load_measures(), **extra})
        selected, omitted = engine.select([self.measure if isinstance(self.measure, str) else self.measure.name])
        if not selected:
            raise UnsupportedError(f"scorer.measure must apply here; got {omitted[0].measure!r}: {omitted[0].reason}.")
        chosen = selected[0]
        if chosen.role == "prediction":
            raise InputError(
                f"scorer.measure must be a loss or an uncertainty; got {chosen.name!r}. Use nll or entropy."
            )
        sign = 1.0 if chosen.direction == "smaller" else -1.0
        rows, target = engine.unchanged([chosen])[0], engine.y
        if chosen.statistic is None or target is None:
            return sign * float(rows.mean())
        return sign * float(chosen.statistic.value(rows, target, np.ones(subject.n)))


@known_arguments
def scorer(measure: str | Measure = "nll") -> Scorer:
    """Return a scorer for ``cross_val_score`` and searches: the negative mean of a loss or an uncertainty.

    Parameters
    ----------
    measure : str or Measure

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/measures.html

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 1, 1, 0])
    >>> round(scorer("entropy")(LogisticRegression().fit(X, y), X, y), 3)
    -0.693
    """
    if not isinstance(measure, Measure) and measure not in runner.load_measures():
        raise InputError(
            f"scorer.measure must be a registered measure; got {measure!r}. "
            f"{nearest(str(measure), runner.load_measures())}"
        )
    return Scorer(measure)
