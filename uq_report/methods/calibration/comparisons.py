"""The predictions against simple references, and the curves of decisions and residuals.

References: outcome rate, majority class, training sample, treating all or none.

Facts beside the scores, each with an interval in its range; none of them is a test of the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, nan, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from scipy.special import fdtrc, ndtr

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import NLL, Measure
from ...core.model.results import Diagnostic, Omission
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.statistics import score_intervals as intervals
from ...core.statistics.verdicts import holm
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.errors import UQReportError
from ...distributions import Categorical
from ...evidence import comparisons as facts, ids
from ..shared.choice import at_most
from ..shared.estimates import band_quantile, diagnostic, estimate, mean_of, rate_of, size_of
from .scores import class_baseline, class_scores, class_tests, number_scores
from .tables import bins_of, in_bins, reliability

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
        return intervals.normal_quantile(self.confidence)

    def record(
        self, item: str, difference: tuple[float, float, intervals.Ends], position: int, **columns: Any
    ) -> Record:
        """Return a line on a class: estimate, standard error and limits, and further columns."""
        line = estimate(*difference, self.confidence)
        label = str(self.q.classes.tolist()[position])
        return line | {"item": item, "n": len(self.y), "p_value": np.nan, "of": label, "unit": SHARE} | columns


def class_comparisons(given: ClassOutcomes) -> tuple[list[Record], list[Omission], float | None]:
    """Return the comparisons of class probabilities, which there are not, and the threshold of the net benefit."""
    found: list[Record | Omission] = [*in_the_large(given), over_majority(given)]
    found += [expected_cost(given)] if given.costs else []
    cut = _threshold(given.q)
    found += [Omission(facts.NET_BENEFIT, "", cut)] if isinstance(cut, str) else net_benefit(given, *cut)
    records = [line for line in found if not isinstance(line, Omission)]
    omissions = [line for line in found if isinstance(line, Omission)]
    return records, omissions, None if isinstance(cut, str) else cut[1]


def in_the_large(given: ClassOutcomes) -> Iterator[Record]:
    """Yield the mean probability of a class less its share: of the positive one, or of each of several classes."""
    q, sampling, rows = given.q, given.sampling, given.independent
    for position in [q.positive] if len(q.classes) == 2 else range(len(q.classes)):
        p, event = q.probabilities[:, position], np.asarray(given.y == position, dtype=float)
        rate, mean = (float(sampling.weights @ values) for values in (event, p))
        difference, error = (float(number) for number in sampling.mean(p - event))
        lower, upper = intervals.wilson(rate, sampling.effective_n(rate, error), given.z)
        p_value = level_p_value(p[rows], event[rows], sampling.weights[rows])
        columns = {"value": mean, "reference": rate, "unit": PROBABILITY, "p_value": p_value}
        yield given.record(facts.IN_THE_LARGE, (difference, error, (mean - upper, mean - lower)), position, **columns)


def level_p_value(p: FloatArray, event: FloatArray, weights: FloatArray) -> float:
    """Return the two-sided p-value of ``Σ w (p − y) / √Σ w² p (1 − p)``; NaN where every p is 0 or 1.

    Examples
    --------
    >>> round(level_p_value(np.full(100, 0.5), np.repeat([0.0, 1.0], [60, 40]), np.ones(100)), 4)
    0.0455
    """
    error = float(np.sqrt(np.square(weights) @ (p * (1 - p))))
    return float(2 * ndtr(-abs(weights @ (p - event)) / error)) if error > 0 else float("nan")


def over_majority(given: ClassOutcomes) -> Record | Omission:
    """Return the accuracy less that of always deciding for the majority class of the training rows.

    The interval is that of Agresti and Min at the effective number of rows.
    """
    if given.train is None:
        reason = "without a training sample the majority class would be read off the test sample"
        return Omission(facts.ACCURACY_GAIN, "", reason)
    sampling = given.sampling
    majority = int(np.argmax(np.bincount(np.asarray(given.train, dtype=np.int64), minlength=len(given.q.classes))))
    right, usual = given.q.decisions() == given.y, given.y == majority
    difference, error = (float(number) for number in sampling.mean(right.astype(float) - usual))
    shares = (float(sampling.weights @ hits) for hits in (right, usual, right & ~usual, usual & ~right))
    value, reference, ahead, behind = shares
    spread = ahead + behind - (ahead - behind) ** 2
    n = min(float(sampling.units), 1 / float(np.square(sampling.weights).sum()))
    if error > 0 and spread > 0:
        n = spread / error**2 * sampling.units / (sampling.units - 1)
    ends = intervals.paired_share_interval(ahead * n, behind * n, n, given.z)
    return given.record(facts.ACCURACY_GAIN, (difference, error, ends), majority, value=value, reference=reference)


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


def expected_cost(given: ClassOutcomes) -> Record | Omission:
    """Return the mean cost of the model's decisions less that of deciding from the threshold that the costs imply."""
    if given.ideal is None or len(given.q.classes) != 2:
        return Omission(facts.EXPECTED_COST, "", "costs of a miss and of a false alarm are of two classes")
    event, p = given.y == given.q.positive, given.q.probabilities[:, given.q.positive]
    chosen = (given.q.decisions() == given.q.positive, p >= given.ideal)
    own, ideal = (given.costs[0] * (event & ~each) + given.costs[1] * (~event & each) for each in chosen)
    value, reference = (float(given.sampling.weights @ rows) for rows in (own, ideal))
    difference, error = (float(number) for number in given.sampling.mean(own - ideal))
    ends = given.sampling.interval(difference, error, given.confidence)
    columns = {"value": value, "reference": reference, "unit": "cost"}
    return given.record(facts.EXPECTED_COST, (difference, error, ends), given.q.positive, **columns)


def net_benefit(given: ClassOutcomes, position: int, threshold: float) -> Iterator[Record]:
    """Yield the net benefit of the decisions at a threshold t, and less that of treating all (Vickers & Elkin 2006).

    ``a − w b`` with the shares a of true and b of false positives and w = t/(1 − t).
    """
    weight = threshold / (1 - threshold)
    chosen, event = given.q.decisions() == position, given.y == position
    rate = float(given.sampling.weights @ event)
    own, gain = worth(given, chosen, event, weight, given.z), over_all(given, chosen, event, weight)
    yield given.record(facts.NET_BENEFIT, own, position, value=own[0], reference=0.0)
    yield given.record(facts.NET_BENEFIT_GAIN, gain, position, value=own[0], reference=rate - weight * (1 - rate))


def worth(
    given: ClassOutcomes, chosen: BoolArray, event: BoolArray, weight: float, z: float
) -> tuple[float, float, intervals.Ends]:
    """Return the net benefit of decisions, its standard error and its limits at the quantile `z`."""
    return _less(given, (chosen & event, 1.0), (chosen & ~event, weight), z)


def over_all(
    given: ClassOutcomes, chosen: BoolArray, event: BoolArray, weight: float
) -> tuple[float, float, intervals.Ends]:
    """Return the net benefit of decisions less that of treating all, its standard error and its limits."""
    return _less(given, (~chosen & ~event, weight), (~chosen & event, 1.0), given.z)


def _less(
    given: ClassOutcomes, first: tuple[BoolArray, float], second: tuple[BoolArray, float], z: float
) -> tuple[float, float, intervals.Ends]:
    """Return the difference of two weighted shares that exclude each other, its standard error and its interval."""
    shares, ends = [], []
    for hits, weight in (first, second):
        mean, error = (float(number) for number in given.sampling.mean(hits.astype(float)))
        shares.append(min(max(mean, 0.0), 1.0))
        lower, upper = intervals.wilson(shares[-1], given.sampling.effective_n(shares[-1], error), z)
        ends.append((weight * lower, weight * upper))
    value, other = first[1] * shares[0], second[1] * shares[1]
    error = float(given.sampling.mean(first[1] * first[0] - second[1] * second[0])[1])
    return (
        value - other,
        error,
        intervals.difference_interval(value, ends[0], other, ends[1], intervals.exclusive(*shares)),
    )


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
    own, reason = training.engine, training.reason
    try:
        for measure in () if own is None else engine.select((NLL.name, "loss"))[0]:
            here, there = (each.unchanged([measure])[0] for each in (engine, cast("Engine", own)))
            if np.isfinite(here).all() and np.isfinite(there).all():
                rows = {"train_rows": len(there), "train_of": training.of}
                return [_gap_record(measure, here, float(there.mean()), sampling, engine.confidence)], [], rows
    except UQReportError as error:
        reason = str(error)
    reason = reason or "no score is finite for every test and training observation"
    return [], [Omission(facts.TRAINING_GAP, "", reason)], {}


def _gap_record(measure: Measure, here: FloatArray, there: float, sampling: Sampling, confidence: float) -> Record:
    line = (size_of if (here >= 0).all() else mean_of)(here, sampling, confidence)
    shifted = {name: line[name] - there for name in ("estimate", "lower", "upper")}
    columns = {"value": line["estimate"], "reference": there, "unit": measure.unit, "of": measure.title}
    return line | shifted | columns | {"item": facts.TRAINING_GAP, "n": len(here), "p_value": np.nan}


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


POINTS = 50  # of the ROC curve, at most
THRESHOLDS = 20  # of the net benefit
LEAST_EVENTS = 50  # for a band: below, its coverage falls to 0.80
BAND_DRAWS = 400
SHOWN = 400  # residuals that are drawn
PATTERNS, LEAST_ROWS = 3, 10  # features with residuals of their own; rows of a quantile group for its mean


def roc(given: ClassOutcomes) -> Diagnostic | None:
    """Return the ROC curve: the true-positive rate at each false-positive rate, with Wilson's limits."""
    q, sampling = given.q, given.sampling
    event = given.y == q.positive
    if len(q.classes) != 2 or not (sampling.weights[event] > 0).any() or not (sampling.weights[~event] > 0).any():
        return None
    p = q.probabilities[:, q.positive]
    cuts = np.unique(np.quantile(p, np.linspace(0, 1, POINTS), method="inverted_cdf"))
    within, without = sampling.part(event), sampling.part(~event)
    records = [
        rate_of((p[event] >= cut).astype(float), within, given.confidence)
        | {"item": "true positives", "x": float(without.weights @ (p[~event] >= cut)), "threshold": float(cut)}
        for cut in cuts[::-1]
    ]
    chosen = q.decisions() == q.positive
    decided = [float(part.weights @ chosen[rows]) for part, rows in ((without, ~event), (within, event))]
    return diagnostic(
        ids.CALIBRATION_ROC,
        "ROC curve",
        records,
        ("item", "x", "threshold"),
        x="x",
        notes=("x is the false-positive rate at a threshold, the estimate the true-positive rate.",),
        meta={"decided": decided, "event": str(q.classes.tolist()[q.positive])},
    )


def net_benefit_curve(given: ClassOutcomes, threshold: float | None, rng: np.random.Generator) -> Diagnostic | None:
    """Return the net benefit of deciding for the positive class from each threshold on, and that of treating all.

    Limits at one threshold by MOVER; those of the band take the quantile of a multiplier bootstrap over all of them,
    where there are 50 events and as many others.
    """
    q, event = given.q, given.y == given.q.positive
    if len(q.classes) != 2 or not event.any() or event.all():
        return None
    p, sampling = q.probabilities[:, q.positive], given.sampling
    rate = float(sampling.weights @ event)
    reach = np.nanmax([2 * rate, np.quantile(p, 0.95), threshold or nan, given.ideal or nan])
    top = min(ceil(10 * reach - 1e-9), 10) / 10
    grid = [t for t in top * np.arange(1, THRESHOLDS + 1) / THRESHOLDS if t < 1]
    z, influences = intervals.normal_quantile(given.confidence), []
    for t in grid:
        gained = event * (p >= t) - t / (1 - t) * (~event & (p >= t))
        influences.append(gained - sampling.weights @ gained)
    few = min(int(event.sum()), int((~event).sum())) < LEAST_EVENTS
    wide = nan if few else band_quantile(np.stack(influences), sampling, given.confidence, rng, BAND_DRAWS)
    records = []
    for t in grid:
        value, error, ends = worth(given, p >= t, event, t / (1 - t), z)
        band = intervals.UNKNOWN if np.isnan(wide) else worth(given, p >= t, event, t / (1 - t), wide)[2]
        line = {"item": "net benefit", "x": t, "band_lower": band[0], "band_upper": band[1]}
        line |= {"gain_lower": over_all(given, p >= t, event, t / (1 - t))[2][0]}
        treated = rate - t / (1 - t) * (1 - rate)
        records.append(estimate(value, error, ends, given.confidence) | line | {"all": treated})
    return diagnostic(
        ids.CALIBRATION_NET_BENEFIT,
        "Net benefit by decision threshold",
        records,
        ("item", "x", "all", "gain_lower", "band_lower", "band_upper"),
        x="x",
        notes=(
            "Share of true positives minus t/(1 − t) times the share of false positives; a threshold t is x.",
            "gain_lower is the lower limit of the net benefit minus that of treating all, at one threshold.",
        ),
        meta={"event": str(q.classes.tolist()[q.positive]), "threshold": threshold, "ideal": given.ideal},
    )


def by_grade(given: ClassOutcomes, grades: Sequence[float], n_draws: int, rng: np.random.Generator) -> Diagnostic:
    """Return observed and mean predicted frequency in each of the owner's grades of the stated probability.

    A grade holds the probabilities from its lower cut on, up to below its upper one.
    """
    q, rows = given.q, given.independent
    place, bins = np.unique(np.digitize(q.probabilities[:, q.positive], grades), return_inverse=True)
    member = np.eye(len(place))[bins[rows]]
    part = given.sampling.part(rows).weights
    null = class_tests(q.take(rows), given.y[rows], part, member, rng, n_draws)[1]
    cuts = [f"{100 * cut:g}" for cut in grades]
    ends = [f"below {cuts[0]}%", *(f"{low} to {high}%" for low, high in pairwise(cuts)), f"from {cuts[-1]}% on"]
    names = [ends[grade] for grade in place.tolist()]
    return reliability(q, given.y, bins, null, given.sampling, given.confidence, names)


def residuals(
    q: Distribution,
    y: FloatArray,
    n_bins: int,
    sampling: Sampling,
    level: float,
    rng: np.random.Generator,
    numbers: Mapping[str, FloatArray] = MappingProxyType({}),
) -> list[Diagnostic]:
    """Return mean residual and root mean squared error by quantile of the prediction, and a sample of the residuals.

    `implied` is the error that the model's own variances imply. Of the features with `numbers` those with the strongest
    pattern follow, with mean residuals by quantile of the feature.
    """
    if "mean" not in q.supports:
        return []
    fitted = q.mean()
    rest, bins = y - fitted, bins_of(fitted, n_bins)
    variance = q.variance() if "variance" in q.supports else np.full(len(y), np.nan)
    records: list[Record] = []
    for rows, part, place in in_bins(fitted, bins, sampling):
        implied, size = sqrt(part.weights @ variance[rows]), size_of(np.square(rest[rows]), part, level)
        records.append(mean_of(rest[rows], part, level) | {"item": facts.RESIDUAL, "implied": nan} | place)
        records.append(_root(size) | {"item": facts.ERROR_SIZE, "implied": implied} | place)
    records += patterns(numbers, rest, n_bins, sampling, level)
    result = diagnostic(
        ids.CALIBRATION_RESIDUALS,
        "Residuals and errors by prediction",
        records,
        ("item", "x", "n", "implied", "p_adjusted"),
        x="x",
        notes=(
            "A residual is the outcome minus the prediction; x is the mean prediction of a quantile group.",
            f"Then {PATTERNS} features: the smallest p of Welch's test of their quantile groups, adjusted by Holm.",
            f"The frame holds the residuals of at most {SHOWN} observations, drawn at random.",
        ),
    )
    some = np.arange(len(y)) if len(y) <= SHOWN else np.sort(rng.choice(len(y), SHOWN, replace=False))
    points = {"measure": "", "feature": "", "item": some.astype(str), "x": fitted[some], "value": rest[some]}
    return [replace(result, frame=pd.DataFrame(points)[list(Diagnostic.columns)])]


def welch(means: FloatArray, errors: FloatArray, freedoms: FloatArray) -> float:
    """Return the p-value of equal means of groups with unequal variances (Welch 1951).

    Examples
    --------
    >>> round(welch(np.array([0.0, 1.0]), np.array([0.3, 0.4]), np.array([19.0, 29.0])), 4)  # Welch's t-test
    0.0512
    """
    k, weights = len(means), errors**-2
    share = weights / weights.sum()
    spread = float(np.square(1 - share) @ (1 / freedoms))
    q = float(weights @ np.square(means - share @ means)) / (k - 1)
    return float(fdtrc(k - 1, (k**2 - 1) / (3 * spread), q / (1 + 2 * (k - 2) / (k**2 - 1) * spread)))


def patterns(
    numbers: Mapping[str, FloatArray], rest: FloatArray, n_bins: int, sampling: Sampling, level: float
) -> list[Record]:
    """Return mean residuals by quantile of the features whose groups differ most, by Welch's test, adjusted by Holm."""
    tested: list[tuple[float, list[Record]]] = []
    for feature, values in numbers.items():
        bins = np.full(len(values), -1)
        known = np.isfinite(values)
        bins[known] = bins_of(values[known], n_bins) if known.any() else -1
        lines: list[Record] = []
        freedoms: list[float] = []
        for rows, part, place in in_bins(values, bins, sampling):
            if place["n"] >= LEAST_ROWS:
                line = mean_of(rest[rows], part, level, feature=feature)
                lines.append(line | {"item": facts.RESIDUAL, "implied": nan} | place)
                freedoms.append(max(part.freedom, 1.0))
        if len(lines) > 1 and all(line["std_error"] > 0 for line in lines):
            means, errors = (np.array([line[key] for line in lines]) for key in ("estimate", "std_error"))
            tested.append((welch(means, errors, np.array(freedoms)), lines))
    adjusted = holm([p for p, _ in tested])
    strongest = sorted(range(len(tested)), key=lambda k: tested[k][0])[:PATTERNS]
    return [line | {"p_adjusted": float(adjusted[k])} for k in strongest for line in tested[k][1]]


def _root(line: Record) -> Record:
    """Return the square root of a mean square, with its limits."""
    value, lower, upper = (sqrt(line[key]) for key in ("estimate", "lower", "upper"))
    error = line["std_error"] / (2 * value) if value > 0 else 0.0
    return line | {"estimate": value, "std_error": error, "lower": lower, "upper": upper}


def class_curves(
    given: ClassOutcomes,
    threshold: float | None,
    grades: Sequence[float],
    n_draws: int,
    rng: Callable[[str], np.random.Generator],
) -> tuple[list[Diagnostic], list[Omission]]:
    """Return the curves of two classes, and which there are not."""
    found = (roc(given), net_benefit_curve(given, threshold, rng("net benefit")))
    curves, omissions = [curve for curve in found if curve is not None], []
    if grades and len(given.q.classes) == 2:
        curves.append(by_grade(given, grades, n_draws, rng("grades")))
    elif grades:
        omissions.append(Omission(ids.CALIBRATION_GRADES, "", "grades are of the probability of one of two classes"))
    return curves, omissions
