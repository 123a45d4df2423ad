"""What is averaged over the rows of a group: predictions, outcomes, losses, uncertainty and errors."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from ...core.arrays import BoolArray, FloatArray
from ...core.distributions import Categorical
from ...core.engine import Engine
from ...core.results import Omission
from ...core.sampling import Sampling
from ...core.text import clean

TESTED = frozenset(
    {
        *("residual", "brier", "squared_error", "entropy", "confidence_gap", "excess_loss", "coverage_90"),
        *("false_positive_rate", "false_negative_rate"),
    }
)
OF_OUTCOMES = ("outcome", "residual", "confidence_gap", "coverage_90", "false_positive_rate", "false_negative_rate")


class Values(NamedTuple):
    """One number per row, averaged over the rows `inside`.

    `share` where they are 0 or 1; `scale` is what a reader knows their size by: the outcome's standard deviation,
    or the loss of all rows; NaN where the unit says it.
    """

    measure: str
    unit: str
    rows: FloatArray
    inside: BoolArray
    share: bool = False
    scale: float = np.nan

    @property
    def tested(self) -> bool:
        """Whether differences between groups get a p-value."""
        return self.measure.partition("[")[0] in TESTED


class Predicted(NamedTuple):
    """A number that the model predicts, of every row: its mean, or the probability of a class.

    `suffix` tells apart those of several classes; `y` is the outcome on the same scale, None if not known.
    `scale` is the standard deviation of the outcome; where none is known, the one that the predictions imply.
    """

    suffix: str
    unit: str
    rows: FloatArray
    y: FloatArray | None
    scale: float
    position: int | None = None

    @property
    def name(self) -> str:
        """The measure."""
        return f"prediction{self.suffix}"


def predicted(engine: Engine) -> list[Predicted]:
    """Return what the model predicts: the probability of the positive of two classes, of each of more, or the mean."""
    q, y, weights = engine.baseline, engine.y, Sampling.of(engine.subject).weights
    if "proba" not in q.supports:
        known = None if y is None else np.asarray(y, dtype=float)
        if "mean" not in q.supports:
            return []
        rows = q.mean()
        return [Predicted("", "units of y", rows, known, _spread(rows if known is None else known, weights))]
    q = cast("Categorical", q)
    k = len(q.classes)
    names = ["" if k == 2 else f"[{clean(label)}]" for label in q.classes.tolist()]
    found = []
    for c in [q.positive] if k == 2 else range(k):
        rows, event = q.probabilities[:, c], None if y is None else (y == c).astype(float)
        share = float(weights @ (rows if event is None else event))
        found.append(Predicted(names[c], "probability", rows, event, float(np.sqrt(share * (1 - share))), c))
    return found


def _spread(values: FloatArray, weights: FloatArray) -> float:
    return float(np.sqrt(weights @ np.square(values - weights @ values)))


def row_values(engine: Engine) -> tuple[list[Values], tuple[Omission, ...]]:
    """Return everything that can be averaged here, and why the rest cannot."""
    measures, omitted = engine.select(("loss", "nll", "entropy"))
    every = np.ones(engine.subject.n, dtype=bool)
    found = [value for one in predicted(engine) for value in _against_outcome(one, every)]
    if not found:
        omitted = (*omitted, Omission("prediction", "", engine.baseline.why_not("mean")))
    own = dict(zip([measure.name for measure in measures], engine.unchanged(measures), strict=True))
    usual = engine.baseline.usual_loss
    found += [
        Values(
            one.name,
            one.unit,
            own[one.name],
            every,
            scale=_mean(engine, own[one.name]) if one.name == usual else np.nan,
        )
        for one in measures
    ]
    if engine.y is None:
        return found, (
            *omitted,
            *(Omission(name, "", "it needs outcomes, which were not given") for name in OF_OUTCOMES),
        )
    more, lacking = _with_y(engine, own, every)
    return [*found, *more], (*omitted, *lacking)


def _mean(engine: Engine, rows: FloatArray) -> float:
    return float(Sampling.of(engine.subject).weights @ rows)


def _against_outcome(one: Predicted, every: BoolArray) -> list[Values]:
    """Return prediction, outcome and their difference, which is 0 on average in any rows of an honest model."""
    found = [Values(one.name, one.unit, one.rows, every, scale=one.scale)]
    if one.y is None:
        return found
    is_share = one.position is not None
    unit = "share of rows" if is_share else one.unit
    outcome = Values(f"outcome{one.suffix}", unit, one.y, every, is_share, one.scale)
    return [*found, outcome, Values(f"residual{one.suffix}", one.unit, one.y - one.rows, every, scale=one.scale)]


def _with_y(engine: Engine, own: dict[str, FloatArray], every: BoolArray) -> tuple[list[Values], tuple[Omission, ...]]:
    found, lacking = _excess(engine, own, every)
    q = engine.baseline
    if "proba" in q.supports:
        rates, reasons = _errors(cast("Categorical", q), np.asarray(engine.y), every)
        return [*found, *rates], (*lacking, *reasons)
    if "cdf" not in q.supports:
        return found, (*lacking, Omission("coverage_90", "", q.why_not("cdf")))
    y = np.asarray(engine.y, dtype=float)
    low, high = q.cdf(np.nextafter(y, -np.inf)), q.cdf(y)
    pit = low + engine.rng("pit").random(len(y)) * (high - low)
    inside = (np.abs(pit - 0.5) <= 0.45).astype(float)
    return [*found, Values("coverage_90", "share of rows", inside, every, share=True)], lacking


def _excess(engine: Engine, own: dict[str, FloatArray], every: BoolArray) -> tuple[list[Values], tuple[Omission, ...]]:
    """Return the loss less the loss that the model expects: of nll where it is finite, else also of the usual loss."""
    found: list[Values] = []
    lacking: tuple[Omission, ...] = ()
    if {"nll", "entropy"} <= set(own):
        with np.errstate(invalid="ignore"):
            found.append(Values("confidence_gap", "nats", own["nll"] - own["entropy"], every))
        if np.isfinite(found[0].rows).all():
            return found, lacking
    else:
        lacking = (Omission("confidence_gap", "", "it needs the loss and the entropy"),)
    loss = engine.baseline.usual_loss
    expected = _expected_loss(engine)
    if loss not in own or expected is None:
        return found, lacking
    unit = engine.measures[loss].unit
    return [*found, Values("excess_loss", unit, own[loss] - expected, every, scale=_mean(engine, own[loss]))], lacking


def _expected_loss(engine: Engine) -> FloatArray | None:
    """Return the Brier score or squared error that the model expects of each row, or None where it has none."""
    q = engine.baseline
    if "proba" in q.supports:
        return np.asarray(1 - np.square(cast("Categorical", q).probabilities).sum(axis=1))
    return q.variance() if "variance" in q.supports else None


def _errors(q: Categorical, y: FloatArray, every: BoolArray) -> tuple[list[Values], tuple[Omission, ...]]:
    if len(q.classes) != 2:
        reason = f"it needs two classes; this model has {len(q.classes)}"
        names = ("false_positive_rate", "false_negative_rate")
        return [], tuple(Omission(name, "", reason) for name in names)
    called, event = q.decisions() == q.positive, y == q.positive
    return [
        Values("false_positive_rate", "share of negatives", called.astype(float), every & ~event, share=True),
        Values("false_negative_rate", "share of positives", (~called).astype(float), every & event, share=True),
    ], ()
