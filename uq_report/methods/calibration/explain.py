"""Outcome and calibration: whether y follows the predictive distribution, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import nan
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import pandas as pd

from ...checks.reading import two_sided
from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.predictive import Distribution
from ...core.statistics.verdicts import holm
from ...core.support import options as opt
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.numbers import OUTCOME_UNIT, number
from ...distributions import Categorical, Quantiles
from ...distributions.families.weibull import Lifetimes
from ...evidence.outcomes import ROW_GAIN, SHAPE_GAIN
from ..shared.association import NumericColumn, coded
from ..shared.cards import CardedExplainer
from ..shared.checks import LEAST_UNITS
from ..shared.estimates import diagnostic, estimate
from ..shared.members import covers, n_drawn
from ..shared.predicted import varentropy
from . import scores as scoring, tables
from .comparisons import ClassOutcomes, Training, class_curves, comparisons, residuals, training_scores
from .recalibration import NAMED, class_gain, normal_score, row_gain, shape_gain

_FAR = 3.0  # standard deviations between the events observed and those expected


@dataclass(frozen=True)
class Setting:
    """The outcomes (encoded), how rows enter a mean, the random streams and the explainer's options.

    `left_out` has the mean scores without each drawn member of a random model, by their items.
    """

    y: AnyArray
    train: AnyArray | None
    sampling: Sampling
    rng: Callable[[str], np.random.Generator]
    options: Calibration
    confidence: float
    columns: Callable[[], list[NumericColumn]]
    left_out: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def independent(self) -> IntArray:
        """The rows that the Monte-Carlo tests use: all, or one of each cluster."""
        return self.sampling.independent_rows(self.rng("units"))

    def classes(self, q: Distribution) -> ClassOutcomes | None:
        """Return what comparisons of class probabilities need; None of other distributions."""
        if "proba" not in q.supports:
            return None
        own = (self.sampling, self.independent, self.confidence, self.options.costs)
        return ClassOutcomes(cast("Categorical", q), self.y, self.train, *own)

    @property
    def baseline(self) -> str:
        """Where the marginal baseline comes from, in words."""
        return "the other test observations" if self.train is None else "the training sample"

    def order_of(self, q: Categorical) -> IntArray | None:
        """Return the positions of the classes in their order; None where they have none."""
        labels = [*map(str, q.classes.tolist())]
        order = list(self.options.order) or (labels if q.family == "ordinal" else [])
        if order and sorted(order) != sorted(labels):
            raise InputError(
                f"calibration.order must name each class once, {', '.join(map(repr, labels))}; got {order}. "
                "Begin with the lowest class."
            )
        return np.array([labels.index(label) for label in order]) if order else None

    def folds(self) -> tuple[IntArray | None, tuple[Omission, ...]]:
        """Return the fold of each row for the recalibration, one for the rows of a unit; or why there is none."""
        sampling, reason = self.sampling, ""
        if sampling.units < LEAST_UNITS:
            what = "observations" if sampling.codes is None else "clusters or blocks"
            reason = f"recalibration needs {LEAST_UNITS} {what}; there are {sampling.units}"
        elif sampling.blocks is not None and sampling.blocks.cut:
            reason = "the autocorrelation asks for longer blocks of time than the sample has room for"
        if reason:
            return None, (Omission(SHAPE_GAIN, "", reason),)
        units = sampling.unit_codes
        return self.rng("folds").permutation(int(units.max()) + 1)[units] % self.options.n_splits, ()


class Parts(NamedTuple):
    """What one kind of target contributes to the result."""

    scores: list[scoring.CalibrationScore]
    tests: list[scoring.MonteCarlo]
    results: list[Diagnostic]
    notes: tuple[str, ...]
    omissions: tuple[Omission, ...]
    features: tuple[str, ...] = ()  # by which a spread by segment gains more than a change of shape


def class_parts(q: Categorical, setting: Setting) -> Parts:
    """Return scores, tests, the reliability table and the decisions of class probabilities."""
    y, weights, rows = setting.y, setting.sampling.weights, setting.independent
    marginal, order = scoring.class_baseline(y, len(q.classes), weights, setting.train), setting.order_of(q)
    scores = scoring.class_scores(q, y, marginal, weights)
    if order is not None:
        scores += scoring.order_scores(q, y, marginal, order)
    fold, omissions = setting.folds()
    if fold is not None:
        scores.append(scoring.CalibrationScore(SHAPE_GAIN, "nats", class_gain(q.probabilities, y, weights, fold)))
    bins = tables.bins_of(scoring.event_of(q)[0], setting.options.n_bins)
    member = np.eye(int(bins.max()) + 1)[bins[rows]]
    part = setting.sampling.part(rows).weights
    draws = setting.rng("draws"), setting.options.n_draws
    tests, null = scoring.class_tests(q.take(rows), y[rows], part, member, *draws)
    table = tables.reliability(q, y, bins, null, setting.sampling, setting.confidence)
    baseline = (
        f"Baseline: class frequencies of {setting.baseline}, half an observation added to each class. "
        "Skills are the baseline's score less the model's."
    )
    forms = (
        f"ECE: {member.shape[1]} bins of about equally many observations, {table.meta['form']}. "
        "The ECE of a calibrated model is not 0, but the mean beside it. Brier is the sum over all classes, 0 to 2."
    )
    decided = tables.decisions(q, y, setting.sampling, setting.confidence, order)
    return Parts(scores, tests, [table, decided], (baseline, forms), omissions)


def number_parts(q: Distribution, setting: Setting) -> Parts:
    """Return scores, tests, PIT histogram and coverage of a numeric predictive distribution."""
    y, rows = setting.y, setting.independent
    part = setting.sampling.part(rows).weights
    baseline = None if q.censored else scoring.crps_baseline(y, setting.train)
    scores = scoring.number_scores(q, y, baseline, setting.sampling.weights)
    tests: list[scoring.MonteCarlo] = []
    if {"crps", "sample"} <= q.supports and not isinstance(q, Quantiles):  # between quantiles nothing is stated
        tests.append(scoring.crps_test(q.take(rows), y[rows], part, setting.rng("draws"), setting.options.n_draws))
    note = f"CRPS baseline: the empirical distribution of y in {setting.baseline}. Its skill is a difference."
    if "intervals" in q.supports:
        return Parts(scores, [], [], (), (Omission("pit", "", q.why_not("pit")),))
    if q.censored:
        note = lifetimes_note(cast("Lifetimes", q), y)
    if "cdf" not in q.supports:
        return Parts(scores, tests, [], (note,), (Omission("pit", "", q.why_not("cdf")),))
    lower, upper = q.pit_bounds(y)
    pit = lower + setting.rng("pit").random(len(y)) * (upper - lower)
    tests += scoring.pit_tests(pit[rows], part, setting.rng("uniform"), setting.options.n_draws)
    gains, features, omissions = _gains(q, lower, upper, pit, setting)
    figures = [
        tables.pit_histogram(q, lower, upper, setting.sampling, setting.confidence),
        tables.coverage(q, pit, _widths(q, setting.sampling), setting.sampling, setting.confidence),
    ]
    notes = (note, OF_CELLS) if isinstance(q, Quantiles) else (note,)
    return Parts([*scores, *gains], tests, figures, notes, omissions, features)


OF_CELLS = (
    "Calibration is judged by the levels that the quantiles state: the PIT of an outcome is drawn between the levels "
    "around it, and beyond the outermost ones the calibration gap uses the mean loss of the tail. Log loss and entropy "
    "need a density: constant between quantiles, with exponential tails that have the mean distance of a logistic."
)


def _gains(
    q: Distribution, lower: FloatArray, upper: FloatArray, pit: FloatArray, setting: Setting
) -> tuple[list[scoring.CalibrationScore], tuple[str, ...], tuple[Omission, ...]]:
    """Return the gains of a recalibrated shape and of one by segment, and the features that the second rests on."""
    sampling = setting.sampling
    fold, omissions = setting.folds()
    if fold is None or "log_prob" not in q.supports:
        return [], (), omissions
    columns = setting.columns()
    of_shape = shape_gain(lower, upper, pit, sampling.weights, fold)
    by_rows, shares = row_gain(columns, normal_score(pit), sampling.weights, fold)
    gains = [scoring.CalibrationScore(SHAPE_GAIN, "nats", of_shape)]
    if not shares.any():
        return gains, (), (Omission(ROW_GAIN, "", "the sample is too small for segments"),)
    mean, error = sampling.mean(by_rows - of_shape)
    features: tuple[str, ...] = ()
    if sampling.interval(mean, error, 0.9)[0] > 0:  # else segments show no more than the whole sample does
        features = tuple(columns[j].name for j in np.argsort(-shares, kind="stable") if shares[j] >= NAMED)
    return [*gains, scoring.CalibrationScore(ROW_GAIN, "nats", by_rows)], features, ()


def _widths(q: Distribution, sampling: Sampling) -> FloatArray | None:
    """Return the mean width of each central interval, in units of y."""
    if "quantile" not in q.supports:
        return None
    tails = np.array([(1 - level) / 2 for level in scoring.LEVELS])
    return np.asarray(sampling.weights @ (q.quantile(1 - tails) - q.quantile(tails)))


def events_of(q: Lifetimes, y: AnyArray) -> tuple[int, float]:
    """Return the events seen and those that the model expects: the sum of the rows' cumulative hazards.

    The variance of the difference is about the same sum (Aalen, Borgan & Gjessing 2008, section 2.2).
    """
    return int((y["event"] & (y["time"] <= q.horizon)).sum()), float(q.cumulative_hazard(y["time"]).sum())


def lifetimes_note(q: Lifetimes, y: AnyArray) -> str:
    """Return how outcomes were read, and whether the flags look like those of censored rows."""
    events, n = int(y["event"].sum()), len(y)
    within, expected = events_of(q, y)
    until = f", up to {number(q.horizon)}, where {within} were seen" if within < events else ""
    note = (
        f"{events} of {n} observations had an event and {n - events} were censored; the model expects {expected:.0f} "
        f"in the times observed{until}. The calibration gap compares the loss with what the model expects of it in "
        "that time; the PIT of an observation censored at t is drawn between F(t) and 1. Both hold if censoring does "
        "not depend on the event's time, given the features."
    )
    reach = _FAR * max(expected, 1.0) ** 0.5
    if abs(within - expected) > reach and abs(n - events - expected) <= reach:
        note += f" If 1 stood for censored, the events would be {n - events}, which fits: check the sign of the flags."
    impossible = int(np.isneginf(q.log_prob(y)).sum())
    if impossible:
        note += (
            f" In {impossible} observations the event fell into a cell of the time axis without mass: fewer cells "
            "(n_cells or ends of the adapter) or, of trees, larger leaves avoid that."
        )
    return note


COLUMNS = (*ESTIMATE_COLUMNS, "item", "unit", "p_value", "p_adjusted", "null_mean", "lower_90", "upper_90", "training")
EXACT = 1e-12  # below, a mean is 0 up to rounding
UNITS = {
    "ece": "probability",
    "pit_distance": "probability",
    "coverage_gap": "share of observations",
    "smooth_statistic": "chi-squared, 4 degrees of freedom",
}


@dataclass(frozen=True)
class Calibration(CardedExplainer):
    """Scores, calibration tests and reliability of the predictive distribution on the test rows.

    The calibration gap ``G = mean_i(nll_i - entropy_i)``, in nats, is 0 in expectation when y follows
    q: above 0 the model is over-confident, below under-confident. Its test is a t-test over rows
    (clusters summed); Brier score, ECE, CRPS, PIT distance, coverage and Neyman's smooth statistic of the PIT are
    tested against outcomes drawn from q itself. P-values are adjusted together by Holm's method. The recalibration
    gain is what a cross-fitted recalibration lowers the nll by: temperature and class offsets for classes; shift,
    scale, skewness and tails of the PIT for numbers (sinh-arcsinh). A second gain is that of a mean and a spread by
    segment, from a small regression tree; it names the features that the segments are made of. Both need at least 20
    observations, clusters or blocks. Intervals are at the run's level; ``lower_90`` and ``upper_90`` are always at
    90%.

    Parameters
    ----------
    n_draws : int
        Outcomes drawn from q per test; p-values are multiples of 1/(n_draws + 1).
    n_bins : int
        Bins of equal numbers of rows for ECE and the reliability table.
    n_splits : int
        Folds of the recalibration gain.
    grades : tuple of float
        Ascending probabilities of the event between which calibration is shown too: the owner's grades.
    costs : tuple of float
        What a miss and a false alarm cost, in any unit: ``(5.0, 1.0)``. They imply a threshold, whose expected cost
        is compared with that of the model's decisions.
    order : tuple of str
        The classes from the lowest to the highest, where they have an order: ``("low", "medium", "high")``. Then the
        ranked probability score is computed, and how far predictions are off. Classes of `Ordinal` have their own.

    References
    ----------
    Bröcker & Smith (2007), doi:10.1175/WAF993.1. Gneiting, Balabdaoui & Raftery (2007),
    doi:10.1111/j.1467-9868.2007.00587.x. Czado, Gneiting & Held (2009), doi:10.1111/j.1541-0420.2009.01191.x.
    Jones & Pewsey (2009), doi:10.1093/biomet/asp053.
    """

    n_draws: int = opt.at_least(99, 999)
    n_bins: int = opt.at_least(2, 10)
    n_splits: int = opt.at_least(2, 5)
    grades: tuple[float, ...] = opt.option(
        (),
        "ascending numbers between 0 and 1",
        lambda value: value == tuple(sorted(set(value))) and all(0 < grade < 1 for grade in value),
    )
    costs: tuple[float, ...] = opt.option(
        (),
        "two numbers above 0, of a miss and of a false alarm",
        lambda value: len(value) in (0, 2) and all(cost > 0 for cost in value),
    )
    order: tuple[str, ...] = opt.option((), "three or more classes", lambda value: len(value) not in (1, 2))

    name: ClassVar[str] = "calibration"
    section: ClassVar[str] = "uncertainty-quality.calibration"
    priority: ClassVar[int] = 2

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``calibration``, its tables and curves, and ``.comparisons`` with simple references."""
        q, y = engine.baseline, engine.y
        if y is None:
            raise InputError("calibration.y must be given; it was not. Pass the outcomes of the test rows.")
        sampling = Sampling.of(subject)
        train = None if subject.train is None or subject.train[1] is None else q.encode(subject.train[1])
        left_out = scoring.left_out_scores(q, y, sampling.weights) if n_drawn(engine) else {}
        level, own = engine.confidence, partial(coded, subject)
        setting = Setting(y, train, sampling, engine.rng, self, level, lambda: [*map(own, subject.features)], left_out)
        classes = "proba" in q.supports
        parts = class_parts(cast("Categorical", q), setting) if classes else number_parts(q, setting)
        held = "covered" in q.supports
        covered = [tables.promised_coverage(q, y, sampling, engine.confidence)] if held else []
        promised = [tables.promise(q, y, sampling)] if held else []
        gap, missing = _gap(q, y)
        infinite = int(np.isneginf(q.log_prob(y)).sum()) if "log_prob" in q.supports else 0  # rows
        scores = [*gap, *parts.scores, *tables.promised_scores(q, y, train)]
        gaps = {score.item: _infinite(score) for score in scores if not np.isfinite(score.rows).all()}
        finite = [score for score in scores if score.item not in gaps]
        training, given = Training.of_subject(engine), setting.classes(q)
        compared = comparisons(engine, given, sampling, training)
        drawn: list[Diagnostic] = []
        ungraded: list[Omission] = []
        if given is None and y.dtype.names is None and not q.censored:
            values, rng = np.asarray(y, dtype=float), engine.rng("residuals")
            columns = (coded(subject, feature) for feature in subject.features if subject.kinds[feature] == "numeric")
            numbers = {column.name: column.numbers for column in columns}
            drawn = residuals(q, values, self.n_bins, sampling, engine.confidence, rng, numbers)
        elif given is not None:
            drawn, ungraded = class_curves(given, compared.meta["threshold"], self.grades, self.n_draws, engine.rng)
        result = diagnostic(
            self.name,
            "Scores and calibration of the predictive distribution",
            _estimates(finite, [*parts.tests, *promised], setting, training_scores(training)),
            options=asdict(self),
            notes=(*parts.notes, *sampling.notes(), *self._test_notes(sampling)),
            omissions=(*missing, *parts.omissions, *ungraded, *gaps.values()),
            meta={
                "family": q.family,
                "n": subject.n,
                "infinite_nll": infinite,
                "units": sampling.units,
                "blocks_cut": sampling.blocks is not None and sampling.blocks.cut,
                "gain_features": list(parts.features),
                **_gap_variance(q, gap, setting),
                **(
                    dict(zip(("seen", "expected"), events_of(cast("Lifetimes", q), y), strict=True))
                    if q.censored
                    else {}
                ),
            },
        )
        return [result, *parts.results, *covered, compared, *drawn]

    def _test_notes(self, sampling: Sampling) -> tuple[str, ...]:
        """Say how the tests were made."""
        drawn = f"Tests: {self.n_draws} outcomes drawn from the model's own distributions"
        note = f"{drawn}; adjusted p-values are Holm's over all."
        one = "With clusters the tests, ECE, PIT distance and coverage gap use one observation of each, drawn once."
        return (note,) if sampling.codes is None else (note, one)


def _estimates(
    scores: Sequence[scoring.CalibrationScore],
    tests: Sequence[scoring.MonteCarlo | tables.Promise],
    setting: Setting,
    training: Mapping[str, float],
) -> pd.DataFrame:
    """Return a line per item: scores with their intervals and their values on training rows, tests with p-values."""
    table = {score.item: _score(score, setting) | {"training": training.get(score.item, nan)} for score in scores}
    for test in tests:
        bare = estimate(test.observed, np.nan, (np.nan, np.nan), np.nan)
        line = table.setdefault(test.item, bare | {"item": test.item, "unit": UNITS.get(test.item, OUTCOME_UNIT)})
        line |= {"p_value": test.p_value, "null_mean": float(test.null.mean())}
    words = ("measure", "feature", "covers", "item", "unit")
    numbers = dict.fromkeys([name for name in COLUMNS if name not in words], float)
    estimates = pd.DataFrame(list(table.values()), columns=list(COLUMNS)).astype(numbers)
    tested = estimates["p_value"].notna().to_numpy()
    estimates.loc[tested, "p_adjusted"] = holm(estimates.loc[tested, "p_value"].to_numpy())
    return estimates


def _score(score: scoring.CalibrationScore, setting: Setting) -> dict[str, Any]:
    sampling, level, left_out = setting.sampling, setting.confidence, setting.left_out.get(score.item)
    if left_out is not None:
        sampling = sampling.over_draws(score.rows, left_out)
    line, narrow = (score.of(score.rows, sampling, x) for x in (level, 0.9))
    line |= {"item": score.item, "unit": score.unit, "lower_90": narrow["lower"], "upper_90": narrow["upper"]}
    if score.item == "confidence_gap":
        centred = 0.0 if abs(line["estimate"]) < EXACT else line["estimate"]
        line |= {"p_value": float(two_sided(centred, line["std_error"], sampling.freedom)), "null_mean": 0.0}
    return line if left_out is None else line | {"covers": covers(line["covers"], len(left_out))}


def _gap(q: Distribution, y: AnyArray) -> tuple[list[scoring.CalibrationScore], tuple[Omission, ...]]:
    """Return the calibration gap, or why there is none."""
    lacking = sorted({"log_prob", "entropy"} - q.supports)
    if lacking:
        return [], (Omission("confidence_gap", "", q.why_not(lacking[0])),)
    return [scoring.CalibrationScore("confidence_gap", "nats", scoring.confidence_gap(q, y))], ()


def _gap_variance(q: Distribution, gap: list[scoring.CalibrationScore], setting: Setting) -> dict[str, float]:
    """Return n times the variance of the mean gap if outcomes follow the model, where it can be computed.

    Of the model's own distributions, times the design effect of clusters. Where outcomes are censored, that of the
    gaps observed.
    """
    sampling, n = setting.sampling, len(setting.y)
    if not gap or not np.isfinite(gap[0].rows).all():
        return {}
    by_unit = float(sampling.mean(gap[0].rows)[1])
    variance = n * by_unit**2
    own = varentropy(q, setting.rng("varentropy"))
    if own is not None:
        by_row = float(replace(sampling, codes=None, units=n).mean(gap[0].rows)[1])
        design = max(1.0, (by_unit / by_row) ** 2) if by_row > 0 else 1.0
        variance = float(n * np.square(sampling.weights) @ own) * design
    return {"gap_variance": variance} if np.isfinite(variance) else {}


def _infinite(score: scoring.CalibrationScore) -> Omission:
    """Say that a score has no finite mean."""
    rows = int((~np.isfinite(score.rows)).sum())
    cause = ", usually because the model gave what happened a probability of 0; calibrate or smooth its probabilities"
    reason = f"infinite in {rows} of {len(score.rows)} observations{cause if score.unit == 'nats' else ''}"
    return Omission(score.item, "", reason)
