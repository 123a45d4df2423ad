"""Curves for the eye of an analyst: ROC, net benefit by threshold, calibration by grade, residuals by prediction.

Facts with intervals; none of them is a test of the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, nan, sqrt
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from ...core.model.results import Diagnostic, Omission
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.statistics.score_intervals import UNKNOWN, normal_quantile
from ...core.statistics.verdicts import holm
from ...core.support.arrays import FloatArray
from ...evidence import ids
from ...evidence.comparisons import ERROR_SIZE, RESIDUAL
from ..shared.estimates import band_quantile, diagnostic, estimate, mean_of, rate_of, size_of
from .comparisons import ClassOutcomes, over_all, worth
from .scores import class_tests
from .tables import bins_of, reliability

POINTS = 50  # of the ROC curve, at most
THRESHOLDS = 20  # of the net benefit
LEAST_EVENTS = 50  # for a band: below, its coverage falls to 0.80
BAND_DRAWS = 400
SHOWN = 400  # residuals that are drawn
PATTERNS, LEAST_ROWS = 3, 10  # features with residuals of their own; rows of a quantile group for its mean
Record = dict[str, Any]


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
    z, influences = normal_quantile(given.confidence), []
    for t in grid:
        gained = event * (p >= t) - t / (1 - t) * (~event & (p >= t))
        influences.append(gained - sampling.weights @ gained)
    few = min(int(event.sum()), int((~event).sum())) < LEAST_EVENTS
    wide = nan if few else band_quantile(np.stack(influences), sampling, given.confidence, rng, BAND_DRAWS)
    records = []
    for t in grid:
        value, error, ends = worth(given, p >= t, event, t / (1 - t), z)
        band = UNKNOWN if np.isnan(wide) else worth(given, p >= t, event, t / (1 - t), wide)[2]
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
    for b in range(int(bins.max()) + 1):
        rows = bins == b
        part = sampling.part(rows)
        if not part.weights.any():
            continue
        place = {"x": float(part.weights @ fitted[rows]), "n": int(rows.sum())}
        implied = sqrt(part.weights @ variance[rows])
        records.append(mean_of(rest[rows], part, level) | {"item": RESIDUAL, "implied": nan} | place)
        records.append(
            _root(size_of(np.square(rest[rows]), part, level)) | {"item": ERROR_SIZE, "implied": implied} | place
        )
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
        for b in range(int(bins.max()) + 1):
            rows = bins == b
            part = sampling.part(rows)
            if rows.sum() >= LEAST_ROWS and part.weights.any():
                place = {"x": float(part.weights @ values[rows]), "n": int(rows.sum()), "implied": nan}
                lines.append(mean_of(rest[rows], part, level, feature=feature) | {"item": RESIDUAL} | place)
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
    """Return the curves of class probabilities, and why there are no grades where some were asked for."""
    found: Iterable[Diagnostic | None] = (
        roc(given),
        net_benefit_curve(given, threshold, rng("net benefit")),
    )
    curves, omissions = [curve for curve in found if curve is not None], []
    if grades and len(given.q.classes) == 2:
        curves.append(by_grade(given, grades, n_draws, rng("grades")))
    elif grades:
        omissions.append(Omission(ids.CALIBRATION_GRADES, "", "grades are of the probability of one of two classes"))
    return curves, omissions
