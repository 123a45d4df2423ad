"""What the calibration explainer says of class probabilities, and of numeric distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from ...core.model.results import Diagnostic, Omission
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.numbers import number
from ...distributions import Categorical
from ...distributions.families.weibull import Lifetimes
from .nulls import LEVELS, MonteCarlo, class_tests, crps_test, event_of, pit_tests
from .recalibration import class_gain, number_gain
from .scores import CalibrationScore, class_baseline, class_scores, crps_baseline, number_scores
from .tables import bins_of, coverage, decisions, pit_histogram, reliability

_FAR = 3.0  # standard deviations between the events observed and those expected


@dataclass(frozen=True)
class Setting:
    """The outcomes (encoded), how rows enter a mean, the random streams and the explainer's options."""

    y: AnyArray
    train: AnyArray | None
    sampling: Sampling
    rng: Callable[[str], np.random.Generator]
    n_draws: int
    n_bins: int
    n_splits: int
    confidence: float

    @property
    def independent(self) -> IntArray:
        """The rows that the Monte-Carlo tests use: all, or one of each cluster."""
        return self.sampling.independent_rows(self.rng("units"))

    @property
    def baseline(self) -> str:
        """Where the marginal baseline comes from, in words."""
        return "the other test rows" if self.train is None else "the training rows"

    def folds(self) -> tuple[IntArray | None, tuple[Omission, ...]]:
        """Return the fold of each row for the recalibration, one for the rows of a cluster; or why there is none."""
        least = 10 * self.n_splits
        if self.sampling.units < least:
            what = "rows" if self.sampling.codes is None else "clusters"
            reason = f"recalibration in {self.n_splits} folds needs {least} {what}; there are {self.sampling.units}"
            return None, (Omission("recalibration_gain", "", reason),)
        units = np.arange(len(self.y)) if self.sampling.codes is None else self.sampling.codes
        return self.rng("folds").permutation(int(units.max()) + 1)[units] % self.n_splits, ()


class Parts(NamedTuple):
    """What one kind of target contributes to the result."""

    scores: list[CalibrationScore]
    tests: list[MonteCarlo]
    results: list[Diagnostic]
    notes: tuple[str, ...]
    omissions: tuple[Omission, ...]


def class_parts(q: Categorical, setting: Setting) -> Parts:
    """Return scores, tests, the reliability table and the decisions of class probabilities."""
    y, weights, rows = setting.y, setting.sampling.weights, setting.independent
    scores = class_scores(q, y, class_baseline(y, len(q.classes), weights, setting.train), weights)
    fold, omissions = setting.folds()
    if fold is not None:
        scores.append(CalibrationScore("recalibration_gain", "nats", class_gain(q.probabilities, y, weights, fold)))
    bins = bins_of(event_of(q)[0], setting.n_bins)
    member = np.eye(int(bins.max()) + 1)[bins[rows]]
    part = setting.sampling.part(rows).weights
    tests, null = class_tests(q.take(rows), y[rows], part, member, setting.rng("draws"), setting.n_draws)
    table = reliability(q, y, bins, null, setting.sampling, setting.confidence)
    baseline = (
        f"Baseline: class frequencies of {setting.baseline}, half a row added to each class. "
        "Skills are the baseline's score less the model's."
    )
    forms = (
        f"ECE: {member.shape[1]} bins of about equally many rows, {table.meta['form']}. "
        "The ECE of a right model is not 0, but the mean beside it. Brier is the sum over all classes, 0 to 2."
    )
    decided = decisions(q, y, setting.sampling, setting.confidence)
    return Parts(scores, tests, [table, decided], (baseline, forms), omissions)


def number_parts(q: Distribution, setting: Setting) -> Parts:
    """Return scores, tests, PIT histogram and coverage of a numeric predictive distribution."""
    y, rows = setting.y, setting.independent
    part = setting.sampling.part(rows).weights
    scores = number_scores(q, y, None if q.censored else crps_baseline(y, setting.train))
    tests: list[MonteCarlo] = []
    if {"crps", "sample"} <= q.supports:
        tests.append(crps_test(q.take(rows), y[rows], part, setting.rng("draws"), setting.n_draws))
    note = f"CRPS baseline: the empirical distribution of y in {setting.baseline}. Its skill is a difference."
    if "intervals" in q.supports:
        return Parts(scores, [], [], (), (Omission("pit", "", q.why_not("pit")),))
    if q.censored:
        note = lifetimes_note(cast("Lifetimes", q), y)
    if "cdf" not in q.supports:
        return Parts(scores, tests, [], (note,), (Omission("pit", "", q.why_not("cdf")),))
    lower, upper = q.pit_bounds(y)
    pit = lower + setting.rng("pit").random(len(y)) * (upper - lower)
    tests += pit_tests(pit[rows], part, setting.rng("uniform"), setting.n_draws)
    fold, omissions = setting.folds()
    if fold is not None and "log_prob" in q.supports:
        gain = number_gain(lower, upper, pit, setting.sampling.weights, fold)
        scores.append(CalibrationScore("recalibration_gain", "nats", gain))
    figures = [
        pit_histogram(q, lower, upper, setting.sampling, setting.confidence),
        coverage(q, pit, _widths(q, setting.sampling), setting.sampling, setting.confidence),
    ]
    return Parts(scores, tests, figures, (note,), omissions)


def _widths(q: Distribution, sampling: Sampling) -> FloatArray | None:
    """Return the mean width of each central interval, in units of y."""
    if "quantile" not in q.supports:
        return None
    tails = np.array([(1 - level) / 2 for level in LEVELS])
    return np.asarray(sampling.weights @ (q.quantile(1 - tails) - q.quantile(tails)))


class Events(NamedTuple):
    """How many events were seen up to the model's horizon, and how many it expects in the times observed."""

    seen: int
    expected: float


def events_of(q: Lifetimes, y: AnyArray) -> Events:
    """Return the events seen and those that the model expects: the sum of the rows' cumulative hazards.

    The variance of the difference is about the same sum (Aalen, Borgan & Gjessing 2008, section 2.2).
    """
    return Events(int((y["event"] & (y["time"] <= q.horizon)).sum()), float(q.cumulative_hazard(y["time"]).sum()))


def lifetimes_note(q: Lifetimes, y: AnyArray) -> str:
    """Return how outcomes were read, and whether the flags look like those of censored rows."""
    events, n = int(y["event"].sum()), len(y)
    within, expected = events_of(q, y)
    until = f", up to {number(q.horizon)}, where {within} were seen" if within < events else ""
    note = (
        f"{events} of {n} rows had an event and {n - events} were censored; the model expects {expected:.0f} in "
        f"the times observed{until}. The confidence gap compares the loss with what the model expects of it in that "
        "time; the PIT of a row censored at t is drawn between F(t) and 1. Both hold if censoring does not depend on "
        "the event's time, given the features."
    )
    reach = _FAR * max(expected, 1.0) ** 0.5
    if abs(within - expected) > reach and abs(n - events - expected) <= reach:
        note += f" If 1 stood for censored, the events would be {n - events}, which fits: check the sign of the flags."
    impossible = int(np.isneginf(q.log_prob(y)).sum())
    if impossible:
        note += (
            f" In {impossible} rows the event fell into a cell of the time axis without mass: fewer cells (n_cells or "
            "ends of the adapter) or, of trees, larger leaves avoid that."
        )
    return note
