"""Reliability, PIT and coverage as results, and the coverage that intervals and label sets promise."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.special import betainc

from ...core.model.decisions import MOST_PROBABLE
from ...core.model.describe import scalar
from ...core.model.measures import INTERVAL_SCORE, MISCOVERAGE, SET_SIZE, WIDTH
from ...core.model.results import Diagnostic, Omission
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.text import count
from ...distributions import Categorical, Intervals, LabelSets
from ...evidence import ids
from ..shared.estimates import diagnostic, estimate, rate_of, share_of, size_of
from .recalibration import FLOOR
from .scores import LEVELS, CalibrationScore, event_of, with_skill

_RATES = (
    "Recall: of the observations of a class, the share predicted as it. Precision: of those predicted, the share of "
    "the class."
)
BIN = ("item", "x", "n")
PIT_BINS = 10
HISTOGRAM = 20  # bins of the stated probability
COUNTED = 20  # classes up to which every pair is counted


def bins_of(confidence: FloatArray, n_bins: int) -> IntArray:
    """Return each row's bin, of about equal numbers of rows; equal probabilities share a bin.

    Examples
    --------
    >>> bins_of(np.array([0.1, 0.2, 0.2, 0.2, 0.9]), 3)
    array([0, 0, 0, 0, 1])
    """
    edges = np.quantile(confidence, np.linspace(0, 1, n_bins + 1)[1:-1], method="inverted_cdf")
    bins = np.searchsorted(np.unique(edges), confidence, side="left")
    return np.asarray(np.unique(bins, return_inverse=True)[1], dtype=np.int64)


def in_bins(
    values: FloatArray, bins: IntArray, sampling: Sampling
) -> Iterator[tuple[BoolArray, Sampling, dict[str, Any]]]:
    """Yield the rows of each bin that has weight, their sampling, and the mean of `values` (x) with their number."""
    for b in range(int(bins.max()) + 1):
        rows = bins == b
        part = sampling.part(rows)
        if part.weights.any():
            yield rows, part, {"x": float(part.weights @ values[rows]), "n": int(rows.sum())}


def histogram(p: FloatArray, event: FloatArray) -> Mapping[str, list[int]]:
    """Return how many rows with and without the event have a probability in each of 20 equal bins of [0, 1].

    Examples
    --------
    >>> counts = histogram(np.array([0.01, 0.04, 1.0]), np.array([0.0, 1.0, 1.0]))
    >>> counts["event"][0], counts["event"][-1], sum(counts["other"])
    (1, 1, 1)
    """
    sides = (("event", event > 0), ("other", event <= 0))
    return {key: np.histogram(p[rows], HISTOGRAM, (0, 1))[0].tolist() for key, rows in sides}


def reliability(
    q: Categorical,
    y: IntArray,
    bins: IntArray,
    null: FloatArray,
    sampling: Sampling,
    level: float,
    grades: Sequence[str] | None = None,
) -> Diagnostic:
    """Return observed against predicted frequencies, in bins or named grades, with the range that q would give.

    ``meta["histogram"]`` counts the observations by stated probability, with and without the event.
    """
    confidence, hits = event_of(q)
    event = np.asarray(hits(y), dtype=float)
    names = grades or [f"bin {b + 1}" for b in range(int(bins.max()) + 1)]
    table = []
    for rows, part, place in in_bins(confidence, bins, sampling):
        b = int(bins[rows][0])
        low, high = (float(v) for v in np.quantile(null[:, b], [0.5 - level / 2, 0.5 + level / 2]))
        null_ends = {"null_lower": low, "null_upper": high}
        table.append(share_of(event[rows], part, level) | {"item": names[b]} | place | null_ends)
    two = len(q.classes) == 2
    event_name = f"P(y = {q.classes.tolist()[q.positive]})" if two else "P(the predicted class is right)"
    notes = (
        f"x is the mean predicted {event_name} of the bin, the estimate its observed frequency.",
        "Beside it is the range that a right model would give.",
    )
    meta: dict[str, Any] = {"event": event_name, "form": "positive class" if two else "top label"}
    meta |= {"histogram": histogram(confidence, event)}
    title = f"{'Calibration by grade' if grades else 'Reliability'}: observed against predicted frequency"
    key = ids.CALIBRATION_GRADES if grades else ids.CALIBRATION_RELIABILITY
    return diagnostic(key, title, table, (*BIN, "null_lower", "null_upper"), x="x", notes=notes, meta=meta)


def pit_histogram(
    q: Distribution, lower: FloatArray, upper: FloatArray, sampling: Sampling, level: float
) -> Diagnostic:
    """Return the PIT histogram, 1 everywhere when calibrated; for counts non-randomised (Czado et al. 2009).

    Row i spreads its weight evenly over [F(y_i-), F(y_i)].
    """
    edges = np.linspace(0, 1, PIT_BINS + 1)
    mass = upper - lower
    ranges = bool((mass > FLOOR).any())
    wide = np.where(mass > 0, mass, 1.0)
    reached = np.where(mass > 0, np.clip((edges[:, None] - lower) / wide, 0, 1), upper <= edges[:, None])
    reached[0], reached[-1] = 0.0, 1.0
    inside = np.diff(reached, axis=0)
    table = []
    for b, hits in enumerate(inside):
        mean, error = (float(value) for value in sampling.mean(hits))
        low, high = sampling.interval(mean, error, level)
        if not (ranges or q.atoms or q.censored):
            exact = share_of(hits, sampling, level)
            low, high = exact["lower"], exact["upper"]
        row = estimate(mean * PIT_BINS, error * PIT_BINS, (low * PIT_BINS, high * PIT_BINS), level)
        table.append(row | {"item": f"bin {b + 1}", "x": (edges[b] + edges[b + 1]) / 2, "n": len(hits)})
    cause = "y is a count" if q.discrete else "single values have a probability"
    form = f"non-randomised, because {cause}" if q.atoms else "F(y)"
    if ranges and not q.atoms:
        form = "an outcome counts for every value between the two stated levels around it"
    if q.censored:
        form = "an observation that is censored at t counts for every value from F(t) to 1"
    notes = (f"Probability integral transform ({form}); 1 in every bin when calibrated, a U when over-confident.",)
    return diagnostic(ids.CALIBRATION_PIT, "PIT histogram", table, BIN, x="x", notes=notes, meta={"form": form})


def coverage(
    q: Distribution, pit: FloatArray, widths: FloatArray | None, sampling: Sampling, level: float
) -> Diagnostic:
    """Return how often the central intervals hold y, with Clopper-Pearson intervals; `widths` is per level."""
    table = []
    for k, nominal in enumerate(LEVELS):
        hits = (np.abs(pit - 0.5) <= nominal / 2).astype(float)
        place = {"item": "coverage", "x": nominal, "n": len(pit), "width": np.nan if widths is None else widths[k]}
        table.append(share_of(hits, sampling, level) | place)
    notes = ["x is the nominal level of the central interval, the estimate the share of observations inside."]
    if q.atoms:
        cause = "intervals of counts" if q.discrete else "intervals that end at a value with a probability of its own"
        notes.append(f"Judged by the randomised PIT: {cause} hold more than their level by construction.")
    title = "Coverage of central intervals"
    return diagnostic(ids.CALIBRATION_COVERAGE, title, table, (*BIN, "width"), x="x", notes=tuple(notes))


def decisions(
    q: Categorical, y: IntArray, sampling: Sampling, level: float, order: IntArray | None = None
) -> Diagnostic:
    """Return recall and precision of each class at the model's own decisions, with Wilson intervals.

    ``meta["counts"]`` holds the rows of each observed class (row) by the class decided for (column), in
    the `order` of the classes.
    """
    decided, k = np.asarray(q.decisions()), len(q.classes)
    places = np.arange(k) if order is None else order
    counts = np.bincount(y * k + decided, minlength=k * k).reshape(k, k)[np.ix_(places, places)]
    return diagnostic(
        ids.CALIBRATION_DECISIONS,
        "Decisions of the model against what happened",
        _table(q, y, decided, sampling, level),
        ("item", "label", "n", "n_effective"),
        notes=(_RATES,),
        meta={
            "classes": [scalar(label) for label in q.classes[places].tolist()],
            "counts": counts.tolist() if k <= COUNTED else [],
            "rule": (q.rule or MOST_PROBABLE).words,
        },
    )


def _table(
    q: Categorical, y: IntArray, decided: IntArray, sampling: Sampling, level: float
) -> Iterator[dict[str, Any] | Omission]:
    """Yield recall and precision of each class, or why one of them is not defined."""
    for c, label in enumerate(map(str, q.classes.tolist())):
        for item, rows, none in (
            ("recall", y == c, "no observation is of this class"),
            ("precision", decided == c, "the model predicts this class for no observation"),
        ):
            part = sampling.part(rows)
            if not part.weights.any():
                yield Omission("", "", f"{item} of {label}: {none}")
                continue
            line = rate_of((decided == y)[rows].astype(float), part, level)
            n = part.effective_n(line["estimate"], line["std_error"])
            yield line | {"item": item, "label": label, "n": int(rows.sum()), "n_effective": n}


class Promise(NamedTuple):
    """The exact one-sided test of "no more is missed than stated"; `null` holds the share that may be missed."""

    item: str
    observed: float
    p_value: float
    null: FloatArray


def promised_scores(q: Distribution, y: AnyArray, train: AnyArray | None) -> list[CalibrationScore]:
    """Return interval score, width or set size, and what is missed, at the level nearest to 90%; [] without sets.

    The baseline of the interval score is the central interval of the training y, else of the other test rows.
    """
    if "covered" not in q.supports:
        return []
    scores = [CalibrationScore(MISCOVERAGE.name, MISCOVERAGE.unit, MISCOVERAGE.rows(q, y, None), share_of)]
    if isinstance(q, Intervals):
        own, unit = INTERVAL_SCORE.rows(q, y, None), INTERVAL_SCORE.unit
        if train is not None or len(y) > 1:
            base = INTERVAL_SCORE.rows(marginal(y, train, q.levels[q.main]), y, None)
            scores += with_skill(INTERVAL_SCORE.name, unit, own, base, size_of)
        else:
            scores.append(CalibrationScore(INTERVAL_SCORE.name, unit, own, size_of))
        scores.append(CalibrationScore("sharpness_width", WIDTH.unit, WIDTH.rows(q, y, None), size_of))
    if "label_sets" in q.supports:
        scores.append(CalibrationScore("sharpness_set_size", SET_SIZE.unit, SET_SIZE.rows(q, y, None), size_of))
    return scores


def marginal(y: AnyArray, train: AnyArray | None, level: float) -> Intervals:
    """Return the central interval of the training y for every row, else that of the other rows.

    Examples
    --------
    >>> marginal(np.array([0.0, 1.0, 5.0]), None, 0.5).upper[:, 0]
    array([4. , 3.75, 0.75])
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    if train is not None:
        lower, upper = np.tile(np.quantile(train, tails), (len(y), 1)).T
    else:
        lower, upper = np.array([np.quantile(np.delete(y, row), tails) for row in range(len(y))]).T
    return Intervals([level], lower, upper, (lower + upper) / 2)


def promise(q: Distribution, y: AnyArray, sampling: Sampling) -> Promise:
    """Return the exact binomial test of the level nearest to 90%, at the effective number of rows."""
    held = cast("Intervals | LabelSets", q)
    hits = held.covered(y)[:, held.main].astype(float)
    line = share_of(hits, sampling, 0.9)
    n, level = sampling.effective_n(line["estimate"], line["std_error"]), float(held.levels[held.main])
    return Promise(
        MISCOVERAGE.name, 1 - line["estimate"], at_most(line["estimate"] * n, n, level), np.array([1 - level])
    )


def promised_coverage(q: Distribution, y: AnyArray, sampling: Sampling, level: float) -> Diagnostic:
    """Return how often the intervals or sets of each level hold y, with Clopper-Pearson intervals."""
    held = cast("Intervals | LabelSets", q)
    covered = held.covered(y)
    sizes = held.upper - held.lower if isinstance(held, Intervals) else held.sets.sum(axis=1).astype(float)
    notes = ["x is the stated level, the estimate the share of outcomes covered."]
    table: list[dict[str, Any]] = []
    for k in np.argsort(held.levels):
        size = float(sampling.weights @ sizes[:, k])
        place = {"item": "coverage", "x": float(held.levels[k]), "n": len(y), "width": size}
        table.append(share_of(covered[:, k].astype(float), sampling, level) | place)
    if "label_sets" in q.supports:
        empty = int((sizes[:, held.main] == 0).sum())
        notes.append(
            f"width is the mean number of classes in a set; {count(empty, 'set')} of {len(y)} at "
            f"{100 * held.levels[held.main]:g}% hold no class at all."
        )
    title = f"Coverage of {'label sets' if 'label_sets' in q.supports else 'prediction intervals'}"
    return diagnostic(ids.CALIBRATION_COVERAGE, title, table, (*BIN, "width"), x="x", notes=tuple(notes))


def at_most(hits: float, n: float, share: float) -> float:
    """Return the probability of at most so many hits in `n` draws of a share; `n` need not be whole.

    Examples
    --------
    >>> round(at_most(0, 10, 0.2), 4), at_most(10, 10, 0.2)
    (0.1074, 1.0)
    """
    return float(betainc(n - hits, hits + 1, 1 - share)) if hits < n else 1.0
