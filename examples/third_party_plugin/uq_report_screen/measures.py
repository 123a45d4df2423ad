"""Two measures of one's own: numbers per row, with the words that the report needs to print them."""

from typing import Any

import numpy as np

from uq_report.core.model.measures import Measure
from uq_report.core.predictive import Distribution


def excess_loss(dist: Distribution, y: Any, _base: Distribution | None) -> Any:
    """Return nll - entropy of each row: 0 on average if y follows the predictive distribution."""
    return -dist.log_prob(y) - dist.entropy()


def confidence(dist: Any, _y: Any, _base: Distribution | None) -> Any:
    """Return the largest of the class probabilities."""
    return np.max(dist.probabilities, axis=1)


EXCESS = Measure(
    name="excess_loss",
    rows=excess_loss,
    unit="nats",
    role="uncertainty",
    requires=frozenset({"log_prob", "entropy"}),
    needs_y=True,
    title="log loss in excess of the entropy",
)
CONFIDENCE = Measure(
    name="confidence",
    rows=confidence,
    unit="probability",
    role="uncertainty",
    requires=frozenset({"proba"}),
    title="confidence in the most probable class",
    direction="smaller",  # less certain where it is smaller
)
