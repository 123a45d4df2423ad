"""The predictions against simple references, and the curves of decisions and residuals.

References: outcome rate, majority class, training sample, treating all or none.

Facts beside the scores, each with an interval in its range; none of them is a test of the gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.special import ndtr

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import NLL, Measure
from ...core.model.results import Diagnostic, Omission
from ...core.model.sampling import Sampling
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
from ...evidence.comparisons import (
    ACCURACY_GAIN,
    EXPECTED_COST,
    IN_THE_LARGE,
    NET_BENEFIT,
    NET_BENEFIT_GAIN,
    TRAINING_GAP,
)
from ..shared.choice import at_most
from ..shared.estimates import diagnostic, estimate, mean_of, size_of
from .scores import class_baseline, class_scores, number_scores

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
    costs: tuple[float, ...] = ()

    @property
    def ideal(self) -> float | None:
        """The threshold from which deciding for the event costs least: alarm/(miss + alarm); None without costs."""
        return self.costs[1] / sum(self.costs) if self.costs else None

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
    records, gain = in_the_large(given), over_majority(given)
    omissions = [Omission(ACCURACY_GAIN, "", gain)] if isinstance(gain, str) else []
    records += [] if isinstance(gain, str) else [gain]
    if given.ideal is not None and len(given.q.classes) == 2:
        records.append(expected_cost(given, given.ideal))
    elif given.costs:
        omissions.append(Omission(EXPECTED_COST, "", "costs of a miss and of a false alarm are of two classes"))
    cut = _threshold(given.q)
    if isinstance(cut, str):
        return records, [*omissions, Omission(NET_BENEFIT, "", cut)], None
    return [*records, *net_benefit(given, *cut)], omissions, cut[1]


def in_the_large(given: ClassOutcomes) -> list[Record]:
    """Return the mean probability of a class less its share: of the positive one, or of each of several classes."""
    k = len(given.q.classes)
    return [_in_the_large(given, position) for position in ([given.q.positive] if k == 2 else range(k))]


def _in_the_large(given: ClassOutcomes, position: int) -> Record:
    q, sampling = given.q, given.sampling
    p, event = q.probabilities[:, position], np.asarray(given.y == position, dtype=float)
    rate, mean = (float(sampling.weights @ values) for values in (event, p))
    difference, error = (float(number) for number in sampling.mean(p - event))
    lower, upper = wilson(rate, sampling.effective_n(rate, error), given.z)
    columns = {"value": mean, "reference": rate, "unit": PROBABILITY, "of": str(q.classes.tolist()[position])}
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


def expected_cost(given: ClassOutcomes, threshold: float) -> Record:
    """Return the mean cost of the model's decisions less that of deciding from the threshold that the costs imply."""
    event, p = given.y == given.q.positive, given.q.probabilities[:, given.q.positive]
    chosen = (given.q.decisions() == given.q.positive, p >= threshold)
    own, ideal = (given.costs[0] * (event & ~each) + given.costs[1] * (~event & each) for each in chosen)
    value, reference = (float(given.sampling.weights @ rows) for rows in (own, ideal))
    line = mean_of(own - ideal, given.sampling, given.confidence)
    columns = {"item": EXPECTED_COST, "value": value, "reference": reference, "n": len(given.y), "p_value": np.nan}
    return line | columns | {"unit": "cost", "of": str(given.q.classes.tolist()[given.q.positive])}


def net_benefit(given: ClassOutcomes, position: int, threshold: float) -> Iterator[Record]:
    """Yield the net benefit of the decisions at a threshold t, and less that of treating all (Vickers & Elkin 2006).

    ``a − w b`` with the shares a of true and b of false positives and w = t/(1 − t).
    """
    weight = threshold / (1 - threshold)
    chosen, event = given.q.decisions() == position, given.y == position
    label = str(given.q.classes.tolist()[position])
    rate = float(given.sampling.weights @ event)
    all_treated = rate - weight * (1 - rate)
    own = worth(given, chosen, event, weight, given.z)
    columns = {"value": own[0], "reference": 0.0, "unit": SHARE, "of": label}
    yield given.record(NET_BENEFIT, own, **columns)
    gain = over_all(given, chosen, event, weight)
    columns = {"value": own[0], "reference": all_treated, "unit": SHARE, "of": label}
    yield given.record(NET_BENEFIT_GAIN, gain, **columns)


def worth(
    given: ClassOutcomes, chosen: BoolArray, event: BoolArray, weight: float, z: float
) -> tuple[float, float, Ends]:
    """Return the net benefit of decisions, its standard error and its limits at the quantile `z`."""
    return _less(given, _shares(given, chosen & event, z), _shares(given, chosen & ~event, z, weight))


def over_all(given: ClassOutcomes, chosen: BoolArray, event: BoolArray, weight: float) -> tuple[float, float, Ends]:
    """Return the net benefit of decisions less that of treating all, its standard error and its limits."""
    spared = _shares(given, ~chosen & ~event, given.z, weight)
    return _less(given, spared, _shares(given, ~chosen & event, given.z))


class WeightedShare(NamedTuple):
    """A share of the rows with its limits, all times a weight, and its rows."""

    share: float
    ends: Ends
    rows: FloatArray
    weight: float


def _shares(given: ClassOutcomes, hits: BoolArray, z: float, weight: float = 1.0) -> WeightedShare:
    rows = hits.astype(float)
    mean, error = (float(number) for number in given.sampling.mean(rows))
    share = min(max(mean, 0.0), 1.0)
    lower, upper = wilson(share, given.sampling.effective_n(share, error), z)
    return WeightedShare(share, (weight * lower, weight * upper), rows, weight)


def _less(given: ClassOutcomes, first: WeightedShare, second: WeightedShare) -> tuple[float, float, Ends]:
    """Return the difference of two weighted shares that exclude each other, its standard error and its interval."""
    values = [part.weight * part.share for part in (first, second)]
    error = float(given.sampling.mean(first.weight * first.rows - second.weight * second.rows)[1])
    correlation = exclusive(first.share, second.share)
    return values[0] - values[1], error, difference_interval(values[0], first.ends, values[1], second.ends, correlation)


class Training(NamedTuple):
    """The engine of the training rows, or of a sample of them, and of how many; or why there is none."""

    engine: Engine | None
    of: int = 0
    reason: str = ""

    @classmethod
    def of_subject(cls, engine: Engine) -> Training:
        """Predict the training rows, at most 1000 or as many as there are test rows."""
        training = engine.subject.training()
        if training is None or training.y is None:
            return cls(None, reason="no training rows with outcomes were given")
        own = engine.bound(engine.explainer, at_most(training, max(TRAIN_ROWS, engine.subject.n), engine))
        try:
            own.baseline  # noqa: B018 - predicts
        except UQReportError as error:
            return cls(None, training.n, str(error))
        return cls(own, training.n)


def training_scores(training: Training) -> dict[str, float]:
    """Return the mean scores of the training rows, by item; those without a number are left out."""
    own = training.engine
    if own is None or own.y is None or own.y.dtype.names is not None:  # times that may be censored
        return {}
    q, y, weights = own.baseline, own.y, Sampling.of(own.subject).weights
    if "proba" in q.supports:
        given = cast("Categorical", q)
        scores = class_scores(given, y, class_baseline(y, len(given.classes), weights, None), weights)
    else:
        scores = number_scores(q, np.asarray(y, dtype=float), None, weights)
    means = {score.item: float(weights @ score.rows) for score in scores if np.isfinite(score.rows).all()}
    return {item: mean for item, mean in means.items() if not item.endswith(("_baseline", "_skill"))}


def training_gap(
    engine: Engine, sampling: Sampling, training: Training
) -> tuple[list[Record], list[Omission], Mapping[str, int]]:
    """Return the mean score of the test rows less that of training rows, a fixed number; or why there is none.

    The log score where it is finite, else the usual loss.
    """
    own = training.engine
    if own is None:
        return [], [Omission(TRAINING_GAP, "", training.reason)], {}
    try:
        for measure in engine.select((NLL.name, "loss"))[0]:
            here, there = (each.unchanged([measure])[0] for each in (engine, own))
            if np.isfinite(here).all() and np.isfinite(there).all():
                rows = {"train_rows": own.subject.n, "train_of": training.of}
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


def comparisons(engine: Engine, classes: ClassOutcomes | None, sampling: Sampling, training: Training) -> Diagnostic:
    """Return the result ``calibration.comparisons``."""
    records, omissions, threshold = ([], [], None) if classes is None else class_comparisons(classes)
    trained, missing, counts = training_gap(engine, sampling, training)
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
        meta={"threshold": threshold, "ideal": None if classes is None else classes.ideal, **counts},
    )
