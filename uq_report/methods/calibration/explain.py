"""Outcome and calibration: whether y follows the predictive distribution, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd

from ...checks.reading import two_sided
from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.measures import MISCOVERAGE
from ...core.model.results import ESTIMATE_COLUMNS, Omission, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.predictive import Distribution
from ...core.statistics.verdicts import holm
from ...core.support.arrays import AnyArray
from ...core.support.errors import InputError, check_options
from ...distributions import Categorical
from ...distributions.families.lifetime_families import Lifetimes
from ..shared.checks import at_least
from ..shared.estimates import estimate, share_of
from .nulls import MonteCarlo
from .outcome import Setting, class_parts, events_of, number_parts
from .promised import Promise, promise, promised_coverage, promised_scores
from .scores import CalibrationScore, confidence_gap
from .tables import diagnostic

COLUMNS = (*ESTIMATE_COLUMNS, "item", "unit", "p_value", "p_adjusted", "null_mean", "lower_90", "upper_90")
EXACT = 1e-12  # below, a mean is 0 up to rounding
UNITS = {"ece": "probability", "pit_distance": "probability", "coverage_gap": "share of rows"}


@dataclass(frozen=True)
class Calibration(BuiltInExplainer):
    """Scores, calibration tests and reliability of the predictive distribution on the test rows.

    The confidence gap ``G = mean_i(nll_i - entropy_i)``, in nats, is 0 in expectation when y follows
    q: above 0 the model is over-confident, below under-confident. Its test is a t-test over rows
    (clusters summed); Brier score, ECE, CRPS, PIT distance and coverage are tested against outcomes
    drawn from q itself. P-values are adjusted together by Holm's method. The recalibration gain is
    what a cross-fitted recalibration would save in nll: temperature and class offsets for classes, an
    affine map of the normal score of the PIT for numbers (for a normal q: of mean and sd). Intervals
    are at the run's level; ``lower_90`` and ``upper_90`` are always at 90 %.

    Parameters
    ----------
    n_draws : int
        Outcomes drawn from q per test; p-values are multiples of 1/(n_draws + 1).
    n_bins : int
        Bins of equal numbers of rows for ECE and the reliability table.
    n_splits : int
        Folds of the recalibration gain.

    References
    ----------
    Bröcker & Smith (2007), doi:10.1175/WAF993.1. Gneiting, Balabdaoui & Raftery (2007),
    doi:10.1111/j.1467-9868.2007.00587.x. Czado, Gneiting & Held (2009), doi:10.1111/j.1541-0420.2009.01191.x.
    """

    n_draws: int = 999
    n_bins: int = 10
    n_splits: int = 5

    name: ClassVar[str] = "calibration"
    section: ClassVar[str] = "uncertainty-quality.calibration"
    priority: ClassVar[int] = 2
    card: ClassVar[MethodCard] = MethodCard(
        title="Calibration and the gate",
        definition="Confidence gap G = mean of (negative log-likelihood − entropy), in nats; scores and tests against "
        "outcomes drawn from the model's own distributions, adjusted together by Holm's method.",
        assumes="Rows are independent, or dependent only inside the stated clusters.",
        fails="Over- and under-confidence in different regions can cancel in G; read PIT and reliability beside it.",
        interval="Over new test rows, for the fixed model.",
        references="broecker; czado",
    )

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        check_options("calibration", self, at_least(self, n_draws=99, n_bins=2, n_splits=2))

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``calibration`` and its tables: ``.reliability``, or ``.pit`` and ``.coverage``."""
        q, y = engine.baseline, engine.y
        if y is None:
            raise InputError("calibration.y must be given; it was not. Pass the outcomes of the test rows.")
        sampling = Sampling.of(subject)
        train = None if subject.train is None or subject.train[1] is None else q.encode(subject.train[1])
        setting = Setting(y, train, sampling, engine.rng, confidence=engine.confidence, **asdict(self))
        classes = "proba" in q.supports
        parts = class_parts(cast("Categorical", q), setting) if classes else number_parts(q, setting)
        held = "covered" in q.supports
        tables = [*parts.results, *([promised_coverage(q, y, sampling, engine.confidence)] if held else [])]
        tests: list[MonteCarlo | Promise] = [*parts.tests, *([promise(q, y, sampling)] if held else [])]
        gap, missing = _gap(q, y)
        infinite = int(np.isneginf(q.log_prob(y)).sum()) if "log_prob" in q.supports else 0  # rows
        scores = [*gap, *parts.scores, *promised_scores(q, y, train)]
        gaps = {score.item: _infinite(score) for score in scores if not np.isfinite(score.rows).all()}
        finite = [score for score in scores if score.item not in gaps]
        result = diagnostic(
            self.name,
            "Scores and calibration of the predictive distribution",
            _estimates(finite, tests, setting),
            options=asdict(self),
            notes=(*parts.notes, *sampling.notes(), *self._test_notes(sampling)),
            omissions=(*missing, *parts.omissions, *gaps.values()),
            meta={"family": q.family, "n": subject.n, "infinite_nll": infinite, **_events(q, y)},
        )
        return [result, *tables]

    def _test_notes(self, sampling: Sampling) -> tuple[str, ...]:
        note = (
            f"Tests: {self.n_draws} outcomes drawn from the model's own distributions; p_adjusted is Holm's over all."
        )
        if sampling.codes is None:
            return (note,)
        return (note, "With clusters the tests, ECE, PIT distance and coverage gap use one row of each, drawn once.")


def _estimates(
    scores: Sequence[CalibrationScore], tests: Sequence[MonteCarlo | Promise], setting: Setting
) -> pd.DataFrame:
    """Return a line per item: scores with their intervals, tests with their p-values."""
    table = {score.item: _score(score, setting) for score in scores}
    for test in tests:
        bare = estimate(test.observed, np.nan, (np.nan, np.nan), np.nan)
        line = table.setdefault(test.item, bare | {"item": test.item, "unit": UNITS.get(test.item, "units of y")})
        line |= {"p_value": test.p_value, "null_mean": float(test.null.mean())}
    words = ("measure", "feature", "covers", "item", "unit")
    numbers = dict.fromkeys([name for name in COLUMNS if name not in words], float)
    estimates = pd.DataFrame(list(table.values()), columns=list(COLUMNS)).astype(numbers)
    tested = estimates["p_value"].notna().to_numpy()
    estimates.loc[tested, "p_adjusted"] = holm(estimates.loc[tested, "p_value"].to_numpy())
    return estimates


def _score(score: CalibrationScore, setting: Setting) -> dict[str, Any]:
    sampling, level = setting.sampling, setting.confidence
    mean, error = (float(value) for value in sampling.mean(score.rows))
    low, high = sampling.interval(mean, error, 0.9)
    line = estimate(mean, error, sampling.interval(mean, error, level), level)
    if score.item == MISCOVERAGE.name:
        line, narrow = (share_of(score.rows, sampling, x) for x in (level, 0.9))
        low, high = narrow["lower"], narrow["upper"]
    line |= {"item": score.item, "unit": score.unit, "lower_90": low, "upper_90": high}
    if score.item == "confidence_gap":
        centred = 0.0 if abs(mean) < EXACT else mean
        line |= {"p_value": float(two_sided(centred, error, sampling.units - 1)), "null_mean": 0.0}
    return line


def _gap(q: Distribution, y: AnyArray) -> tuple[list[CalibrationScore], tuple[Omission, ...]]:
    """Return the confidence gap, or why there is none."""
    lacking = sorted({"log_prob", "entropy"} - q.supports)
    if lacking:
        return [], (Omission("confidence_gap", "", q.why_not(lacking[0])),)
    return [CalibrationScore("confidence_gap", "nats", confidence_gap(q, y))], ()


def _events(q: Distribution, y: AnyArray) -> dict[str, float]:
    """Return the events seen and expected where outcomes may be censored."""
    return events_of(cast("Lifetimes", q), y)._asdict() if q.censored else {}


def _infinite(score: CalibrationScore) -> Omission:
    """Return why a score with infinite rows has no mean."""
    rows = int((~np.isfinite(score.rows)).sum())
    reason = f"infinite in {rows} of {len(score.rows)} rows"
    if score.unit == "nats":
        reason += (
            ", usually because the model gave what happened a probability of 0; calibrate or smooth its probabilities"
        )
    return Omission(score.item, "", reason)
