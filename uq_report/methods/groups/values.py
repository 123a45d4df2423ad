"""What is averaged over the rows of a group: predictions, outcomes, losses, uncertainty and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Omission
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, BoolArray, FloatArray
from ...core.support.text import clean
from ...distributions import Categorical
from ...evidence.outcomes import CONFIDENCE_GAP

ERROR_RATES = ("false_positive_rate", "false_negative_rate")
OF_OUTCOMES = ("outcome", "residual", CONFIDENCE_GAP, "coverage_90", *ERROR_RATES)
TESTED = {"brier", "squared_error", "entropy", "excess_loss", *OF_OUTCOMES} - {"outcome"}


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


class PredictedNumber(NamedTuple):
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


def predicted(engine: Engine) -> list[PredictedNumber]:
    """Return what the model predicts: the probability of the positive of two classes, of each of more, or the mean."""
    q, y, weights = engine.baseline, engine.y, Sampling.of(engine.subject).weights
    if "proba" not in q.supports:
        if "mean" not in q.supports:
            return []
        rows, outcome = q.mean(), None if y is None or q.censored else np.asarray(y, dtype=float)
        values = rows if outcome is None else outcome
        scale = float(np.sqrt(weights @ np.square(values - weights @ values)))
        return [PredictedNumber("", "units of y", rows, outcome, scale)]
    q = cast("Categorical", q)
    two = len(q.classes) == 2
    numbers = []
    for c, label in enumerate(q.classes.tolist()):
        if two and c != q.positive:
            continue
        rows, outcome = q.probabilities[:, c], None if y is None else (y == c).astype(float)
        share = float(weights @ (rows if outcome is None else outcome))
        suffix = "" if two else f"[{clean(label)}]"
        numbers.append(PredictedNumber(suffix, "probability", rows, outcome, float(np.sqrt(share * (1 - share))), c))
    return numbers


def row_values(engine: Engine) -> tuple[list[Values], tuple[Omission, ...]]:
    """Return everything that can be averaged here, and why the rest cannot."""
    items = list(_items(engine))
    return [x for x in items if isinstance(x, Values)], tuple(x for x in items if isinstance(x, Omission))


def _items(engine: Engine) -> Iterator[Values | Omission]:
    measures, omitted = engine.select(("loss", "nll", "entropy"))
    yield from omitted
    numbers = predicted(engine)
    if not numbers:
        yield Omission("prediction", "", engine.baseline.why_not("mean"))
    for number in numbers:
        yield from _against_outcome(number)
    rows = dict(zip([measure.name for measure in measures], engine.unchanged(measures), strict=True))
    usual = engine.baseline.usual_loss
    scale = float(Sampling.of(engine.subject).weights @ rows[usual]) if usual in rows else np.nan
    for measure in measures:
        own_scale = scale if measure.name == usual else np.nan
        yield _of_every_row(measure.name, measure.unit, rows[measure.name], scale=own_scale)
    if engine.y is None:
        for name in OF_OUTCOMES:
            yield Omission(name, "", "it needs outcomes, which were not given")
    else:
        yield from _excess(engine, rows, scale)
        yield from _rates(engine, np.asarray(engine.y))


def _of_every_row(measure: str, unit: str, rows: FloatArray, *, share: bool = False, scale: float = np.nan) -> Values:
    return Values(measure, unit, rows, np.ones(len(rows), dtype=bool), share, scale)


def _against_outcome(number: PredictedNumber) -> Iterator[Values]:
    """Yield prediction, outcome and their difference, which is 0 on average in any rows of an honest model."""
    yield _of_every_row(number.name, number.unit, number.rows, scale=number.scale)
    if number.y is not None:
        share = number.position is not None
        unit = "share of rows" if share else number.unit
        yield _of_every_row(f"outcome{number.suffix}", unit, number.y, share=share, scale=number.scale)
        yield _of_every_row(f"residual{number.suffix}", number.unit, number.y - number.rows, scale=number.scale)


def _excess(engine: Engine, rows: dict[str, FloatArray], scale: float) -> Iterator[Values | Omission]:
    """Yield the loss less the loss that the model expects: of nll where it is finite, else also of the usual loss."""
    if {"nll", "entropy"} <= set(rows):
        with np.errstate(invalid="ignore"):
            gap = rows["nll"] - engine.baseline.expected_nll(np.asarray(engine.y))
        yield _of_every_row(CONFIDENCE_GAP, "nats", gap)
        if np.isfinite(gap).all():
            return
    else:
        yield Omission(CONFIDENCE_GAP, "", "it needs the loss and the entropy")
    loss, expected = engine.baseline.usual_loss, _expected_loss(engine.baseline)
    if loss in rows and expected is not None:
        yield _of_every_row("excess_loss", engine.measures[loss].unit, rows[loss] - expected, scale=scale)


def _expected_loss(q: Distribution) -> FloatArray | None:
    """Return the Brier score or squared error that the model expects of each row, or None where it has none."""
    if "proba" in q.supports:
        return np.asarray(1 - np.square(cast("Categorical", q).probabilities).sum(axis=1))
    return q.variance() if "variance" in q.supports and not q.censored else None


def _rates(engine: Engine, y: AnyArray) -> Iterator[Values | Omission]:
    """Yield the error rates of two classes, or the coverage of central intervals."""
    q = engine.baseline
    if "proba" in q.supports:
        yield from _errors(cast("Categorical", q), y)
    elif "cdf" in q.supports:
        low, high = q.pit_bounds(y)
        pit = low + engine.rng("pit").random(len(y)) * (high - low)
        yield _of_every_row("coverage_90", "share of rows", (np.abs(pit - 0.5) <= 0.45).astype(float), share=True)
    else:
        yield Omission("coverage_90", "", q.why_not("cdf"))


def _errors(q: Categorical, y: AnyArray) -> Iterator[Values | Omission]:
    if len(q.classes) != 2:
        for name in ERROR_RATES:
            yield Omission(name, "", f"it needs two classes; this model has {len(q.classes)}")
        return
    decided, event = q.decisions() == q.positive, y == q.positive
    yield Values(ERROR_RATES[0], "share of negatives", decided.astype(float), ~event, share=True)
    yield Values(ERROR_RATES[1], "share of positives", (~decided).astype(float), event, share=True)
