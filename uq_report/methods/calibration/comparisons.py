"""The predictions against simple references: outcome rate, majority class, training sample, treating all or none.

Facts beside the scores, each with an interval in its range; none of them is a test of the gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import NLL, Measure
from ...core.model.results import Diagnostic, Omission
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.statistics.score_intervals import (
    Ends,
    difference_interval,
    exclusive,
    normal_quantile,
    paired_share_interval,
    wilson,
)
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.errors import UQReportError
from ...distributions import Categorical
from ...evidence import ids
from ...evidence.comparisons import ACCURACY_GAIN, IN_THE_LARGE, NET_BENEFIT, NET_BENEFIT_GAIN, TRAINING_GAP
from ..shared.estimates import diagnostic, estimate, mean_of, size_of

TRAIN_ROWS = 1000  # predicted for the training score, or as many as there are test rows
COLUMNS = ("item", "value", "reference", "n", "unit", "of", "p_value")
SHARE, PROBABILITY = "share of observations", "probability"
Record = dict[str, Any]


class ClassOutcomes(NamedTuple):
    """Class probabilities, the outcomes of the rows and of the training rows, and how rows enter a mean."""

    q: Categorical
    y: IntArray
    train: AnyArray | None
    sampling: Sampling
    independent: IntArray
    confidence: float

    @property
    def z(self) -> float:
        """The normal quantile of the level."""
        return normal_quantile(self.confidence)

    def record(self, item: str, difference: tuple[float, float, Ends], **columns: Any) -> Record:
        """Return a line: estimate, standard error and limits, and further columns."""
        value, error, ends = difference
        line = estimate(value, error, ends, self.confidence)
        return line | {"item": item, "n": len(self.y), "p_value": np.nan, "of": ""} | columns


def class_comparisons(given: ClassOutcomes) -> tuple[list[Record], list[Omission], float | None]:
    """Return the comparisons of class probabilities, which there are not, and the threshold of the net benefit."""
    records: list[Record] = []
    omissions: list[Omission] = []
    for item, compare in ((IN_THE_LARGE, in_the_large), (ACCURACY_GAIN, over_majority)):
        found = compare(given)
        if isinstance(found, str):
            omissions.append(Omission(item, "", found))
        else:
            records.append(found)
    cut = _threshold(given.q)
    if isinstance(cut, str):
        return records, [*omissions, Omission(NET_BENEFIT, "", cut)], None
    return [*records, *net_benefit(given, *cut)], omissions, cut[1]


def in_the_large(given: ClassOutcomes) -> Record | str:
    """Return the mean probability of the positive class less its share: calibration in the large."""
    q, sampling = given.q, given.sampling
    if len(q.classes) != 2:
        return "it is of two classes"
    p, event = q.probabilities[:, q.positive], np.asarray(given.y == q.positive, dtype=float)
    rate, mean = (float(sampling.weights @ values) for values in (event, p))
    difference, error = (float(number) for number in sampling.mean(p - event))
    lower, upper = wilson(rate, sampling.effective_n(rate, error), given.z)
    columns = {"value": mean, "reference": rate, "unit": PROBABILITY, "of": str(q.classes.tolist()[q.positive])}
    p_value = level_p_value(p[given.independent], event[given.independent], sampling.weights[given.independent])
    return given.record(IN_THE_LARGE, (difference, error, (mean - upper, mean - lower)), **columns, p_value=p_value)


def level_p_value(p: FloatArray, event: FloatArray, weights: FloatArray) -> float:
    """Return the two-sided p-value of ``Σ w (p − y) / √Σ w² p (1 − p)``; NaN where every p is 0 or 1.

    Examples
    --------
    >>> round(level_p_value(np.full(100, 0.5), np.repeat([0.0, 1.0], [60, 40]), np.ones(100)), 4)
    0.0455
    """
    error = float(np.sqrt(np.square(weights) @ (p * (1 - p))))
    return float(2 * ndtr(-abs(weights @ (p - event)) / error)) if error > 0 else float("nan")


def over_majority(given: ClassOutcomes) -> Record | str:
    """Return the accuracy less that of always deciding for the majority class of the training rows."""
    if given.train is None:
        return "without a training sample the majority class would be read off the test sample"
    counts = np.bincount(np.asarray(given.train, dtype=np.int64), minlength=len(given.q.classes))
    majority = int(np.argmax(counts))
    right, usual = given.q.decisions() == given.y, given.y == majority
    gain = right.astype(float) - usual
    difference, error = (float(number) for number in given.sampling.mean(gain))
    ends = _paired(right & ~usual, usual & ~right, given, error)
    value, reference = (float(given.sampling.weights @ hits) for hits in (right, usual))
    columns = {"value": value, "reference": reference, "unit": SHARE, "of": str(given.q.classes.tolist()[majority])}
    return given.record(ACCURACY_GAIN, (difference, error, ends), **columns)


def _paired(won: BoolArray, lost: BoolArray, given: ClassOutcomes, error: float) -> Ends:
    """Return the interval by Agresti and Min at the effective number of rows."""
    sampling = given.sampling
    ahead, behind = (float(sampling.weights @ hits) for hits in (won, lost))
    spread = ahead + behind - (ahead - behind) ** 2
    n = min(float(sampling.units), 1 / float(np.square(sampling.weights).sum()))
    if error > 0 and spread > 0:
        n = spread / error**2 * sampling.units / (sampling.units - 1)
    return paired_share_interval(ahead * n, behind * n, n, given.z)


def _threshold(q: Categorical) -> tuple[int, float] | str:
    """Return the class that a threshold is of and the threshold, or why the decisions follow none."""
    if len(q.classes) != 2:
        return "it is of two classes"
    if q.rule is not None and q.rule.own:
        return "the model decides by a rule of its own, which is no threshold"
    if q.rule is None or q.rule.threshold is None:
        return q.positive, 0.5
    inside = 0 < q.rule.threshold < 1
    return (q.rule.position, q.rule.threshold) if inside else "a threshold of 0 or 1 weighs nothing against a miss"


def net_benefit(given: ClassOutcomes, position: int, threshold: float) -> Iterator[Record]:
    """Yield the net benefit of the decisions at a threshold t, and less that of treating all (Vickers & Elkin 2006).

    ``a − w b`` with the shares a of true and b of false positives and w = t/(1 − t).
    """
    weight = threshold / (1 - threshold)
    chosen, event = given.q.decisions() == position, given.y == position
    label = str(given.q.classes.tolist()[position])
    rate = float(given.sampling.weights @ event)
    all_treated = rate - weight * (1 - rate)
    hits, alarms = _shares(given, chosen & event), _shares(given, chosen & ~event, weight)
    own = _less(given, hits, alarms)
    columns = {"value": own[0], "reference": 0.0, "unit": SHARE, "of": label}
    yield given.record(NET_BENEFIT, own, **columns)
    spared, missed = _shares(given, ~chosen & ~event, weight), _shares(given, ~chosen & event)
    gain = _less(given, spared, missed)
    columns = {"value": own[0], "reference": all_treated, "unit": SHARE, "of": label}
    yield given.record(NET_BENEFIT_GAIN, gain, **columns)


class WeightedShare(NamedTuple):
    """A share of the rows with its limits, all times a weight, and its rows."""

    share: float
    ends: Ends
    rows: FloatArray
    weight: float


def _shares(given: ClassOutcomes, hits: BoolArray, weight: float = 1.0) -> WeightedShare:
    rows = hits.astype(float)
    mean, error = (float(number) for number in given.sampling.mean(rows))
    share = min(max(mean, 0.0), 1.0)
    lower, upper = wilson(share, given.sampling.effective_n(share, error), given.z)
    return WeightedShare(share, (weight * lower, weight * upper), rows, weight)


def _less(given: ClassOutcomes, first: WeightedShare, second: WeightedShare) -> tuple[float, float, Ends]:
    """Return the difference of two weighted shares that exclude each other, its standard error and its interval."""
    values = [part.weight * part.share for part in (first, second)]
    error = float(given.sampling.mean(first.weight * first.rows - second.weight * second.rows)[1])
    correlation = exclusive(first.share, second.share)
    return values[0] - values[1], error, difference_interval(values[0], first.ends, values[1], second.ends, correlation)


def training_gap(engine: Engine, sampling: Sampling) -> tuple[list[Record], list[Omission], Mapping[str, int]]:
    """Return the mean score of the test rows less that of training rows, a fixed number; or why there is none.

    The log score where it is finite, else the usual loss.
    """
    training = engine.subject.training()
    if training is None or training.y is None:
        return [], [Omission(TRAINING_GAP, "", "no training sample with outcomes was given")], {}
    sampled = _at_most(training, max(TRAIN_ROWS, engine.subject.n), engine)
    own = engine.bound(engine.explainer, sampled)
    try:
        for measure in engine.select((NLL.name, "loss"))[0]:
            here, there = (each.unchanged([measure])[0] for each in (engine, own))
            if np.isfinite(here).all() and np.isfinite(there).all():
                rows = {"train_rows": sampled.n, "train_of": training.n}
                return [_gap_record(measure, here, float(there.mean()), sampling, engine.confidence)], [], rows
    except UQReportError as error:
        return [], [Omission(TRAINING_GAP, "", str(error))], {}
    return [], [Omission(TRAINING_GAP, "", "no score is finite for every test and training observation")], {}


def _gap_record(measure: Measure, here: FloatArray, there: float, sampling: Sampling, confidence: float) -> Record:
    interval = size_of if (here >= 0).all() else mean_of
    line = interval(here, sampling, confidence)
    ends = line["lower"] - there, line["upper"] - there
    shifted = estimate(line["estimate"] - there, line["std_error"], ends, confidence)
    columns = {"value": line["estimate"], "reference": there, "unit": measure.unit, "of": measure.title}
    return shifted | columns | {"item": TRAINING_GAP, "n": len(here), "p_value": np.nan}


def _at_most(training: Subject, limit: int, engine: Engine) -> Subject:
    """Return the training subject with at most `limit` rows, drawn by a stream of their own."""
    if training.n <= limit:
        return training
    return training.take(np.sort(engine.rng("train rows").choice(training.n, limit, replace=False)))


def comparisons(engine: Engine, classes: ClassOutcomes | None, sampling: Sampling) -> Diagnostic:
    """Return the result ``calibration.comparisons``."""
    records, omissions, threshold = ([], [], None) if classes is None else class_comparisons(classes)
    trained, missing, counts = training_gap(engine, sampling)
    return diagnostic(
        ids.CALIBRATION_COMPARISONS,
        "Predictions against simple references",
        [*records, *trained],
        COLUMNS,
        x="reference",
        notes=(
            "Calibration in the large: mean probability minus the share of the event, with Wilson's limits of that.",
            "Accuracy minus that of the majority class of the training sample: Agresti and Min. Net benefit: MOVER.",
            "The training score is a fixed number; the interval of the difference is that of the test score.",
        ),
        omissions=(*omissions, *missing),
        meta={"threshold": threshold, **counts},
    )
