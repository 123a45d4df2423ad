"""What a model predicts of each row as numbers, and what its own distributions imply: expected loss, varentropy."""

from typing import NamedTuple, cast

import numpy as np
from scipy import special

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray
from ...core.support.numbers import OUTCOME_UNIT
from ...core.support.text import clean
from ...distributions import Categorical, Normal
from .choice import blocks

DRAWS = 200
CELLS = 2_000_000


class PredictedNumber(NamedTuple):
    """A number that the model predicts, of every row: its mean, or the probability of a class.

    `suffix` tells distance those of several classes; `y` is the outcome on the same scale, None if not known.
    `scale` is the standard deviation of the outcome; where none is known, the one that the predictions imply.
    """

    suffix: str
    unit: str
    rows: FloatArray
    y: FloatArray | None
    scale: float
    position: int | None = None
    variance: FloatArray | None = None

    @property
    def name(self) -> str:
        """The measure."""
        return f"prediction{self.suffix}"


def predicted(engine: Engine) -> list[PredictedNumber]:
    """Return what the model predicts: the probability of the positive of two classes, of each of more, or the mean."""
    q, y, weights = engine.baseline, engine.y, Sampling.of(engine.subject).weights
    if "proba" not in q.supports:
        if "mean" not in q.supports:
            return []
        rows, outcome = q.mean(), None if y is None or q.censored else np.asarray(y, dtype=float)
        values = rows if outcome is None else outcome
        scale = float(np.sqrt(weights @ np.square(values - weights @ values)))
        known = "variance" in q.supports and not q.censored
        return [PredictedNumber("", OUTCOME_UNIT, rows, outcome, scale, variance=q.variance() if known else None)]
    q = cast("Categorical", q)
    two = len(q.classes) == 2
    numbers = []
    for c, label in enumerate(q.classes.tolist()):
        if two and c != q.positive:
            continue
        rows, outcome = q.probabilities[:, c], None if y is None else (y == c).astype(float)
        share = float(weights @ (rows if outcome is None else outcome))
        suffix = "" if two else f"[{clean(label)}]"
        scale = float(np.sqrt(share * (1 - share)))
        numbers.append(PredictedNumber(suffix, "probability", rows, outcome, scale, c, rows * (1 - rows)))
    return numbers


def expected_loss(q: Distribution) -> FloatArray | None:
    """Return the Brier score or squared error that the model expects of each row; None where it has none."""
    if "proba" in q.supports:
        return np.asarray(1 - np.square(cast("Categorical", q).probabilities).sum(axis=1))
    return q.variance() if "variance" in q.supports and not q.censored else None


def varentropy(q: Distribution, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray | None:
    """Return Var_q(-log q(Y)) of each row, shape (n,): the variance of its confidence gap if outcomes follow q.

    The sum over classes, 1/2 of a normal, else the variance of `draws` outcomes of each row's own distribution; None
    where there is no density or none can be drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> varentropy(Categorical([[0.8, 0.2], [0.5, 0.5]]), rng).round(6)
    array([0.30749, 0.     ])
    >>> varentropy(Normal([0.0, 1.0], [1.0, 3.0]), rng)
    array([0.5, 0.5])
    """
    if "proba" in q.supports:
        p = cast("Categorical", q).probabilities
        squares = special.xlogy(p, p) * np.log(np.where(p > 0, p, 1.0))
        return np.asarray(np.maximum(squares.sum(axis=1) - np.square(q.entropy()), 0.0))
    if isinstance(q, Normal):
        return np.full(len(q), 0.5)
    if q.censored or not {"sample", "log_prob"} <= q.supports:
        return None
    losses = np.stack([q.log_prob(y) for some in blocks(draws, len(q), CELLS) for y in q.sample(rng, some)])
    with np.errstate(invalid="ignore"):
        return np.asarray(losses.var(axis=0, ddof=1))
