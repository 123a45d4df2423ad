"""Selective prediction: whether referring the most uncertain observations to a person removes errors."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import floor, isnan, log10, nan
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from scipy.special import ndtr, stdtr

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import VARIANCE, WIDTH
from ...core.model.results import Diagnostic, MeasureFacts, Result
from ...core.model.sampling import Sampling, t_quantile
from ...core.model.subject import Subject
from ...core.predictive import Distribution
from ...core.statistics.score_intervals import UNKNOWN, Ends, auc_rows, mid_cdf, normal_quantile, on_log_scale, wilson
from ...core.support import options as opt
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.numbers import OUTCOME_UNIT
from ...distributions import Categorical, Normal
from ...evidence import ids, selective as view
from ..shared.attributes import attributes, large_groups
from ..shared.cards import CardedExplainer
from ..shared.estimates import area_of, band_quantile, diagnostic, estimate, mean_of, rate_of, size_of

CHUNK = 20  # draws held at a time
DIGITS = 10  # of an uncertainty; what differs beyond is rounding


class CaseLosses(NamedTuple):
    """Each row's uncertainty, loss, the loss that the model expects (NaN if unknown) and interval width (NaN)."""

    uncertainty: FloatArray
    loss: FloatArray
    implied: FloatArray
    width: FloatArray
    classes: bool
    words: tuple[str, str]  # what the uncertainty and the loss are
    unit: str


def class_losses(q: Categorical, y: AnyArray) -> CaseLosses:
    """Return the error and the expected error, 1 − the probability of the class decided for, of class probabilities.

    Where the most probable class is decided for, that is 1 − max p, which of two classes orders as the entropy does.
    """
    decided = np.asarray(q.decisions())
    expected = 1 - q.probabilities[np.arange(len(q)), decided]
    error = np.asarray(decided != y, dtype=float)
    words = ("expected error (1 − probability of the predicted class)", "error rate")
    return CaseLosses(expected, error, expected, np.full(len(q), nan), True, words, "share of observations")


def number_losses(q: Distribution, y: AnyArray, rng: np.random.Generator, draws: int) -> CaseLosses:
    """Return the absolute error of the mean, ordered by the standard deviation, or by the width of intervals."""
    loss = np.abs(y - q.mean())
    none = np.full(len(loss), nan)
    words, unit = ("width of the prediction interval", "mean absolute error"), OUTCOME_UNIT
    if "intervals" in q.supports:
        width = np.asarray(WIDTH.rows(q, None, None))
        return CaseLosses(width, loss, none, width, False, words, unit)
    width = none
    if "quantile" in q.supports:
        width = q.quantile(np.array([0.05, 0.95])) @ np.array([-1.0, 1.0])
    deviation = np.sqrt(VARIANCE.rows(q, None, None))
    implied = expected_distance(q, rng, draws)
    return CaseLosses(deviation, loss, implied, width, False, ("standard deviation", words[1]), unit)


def expected_distance(q: Distribution, rng: np.random.Generator, draws: int) -> FloatArray:
    """Return E|Y − mean| under q, shape (n,): exact of a normal, else by draws; NaN where q cannot be drawn from.

    Examples
    --------
    >>> expected_distance(Normal([0.0, 5.0], [1.0, 2.0]), np.random.default_rng(0), 100).round(4)
    array([0.7979, 1.5958])
    """
    if isinstance(q, Normal):
        return np.asarray(np.sqrt(q.variance() * 2 / np.pi))
    if "sample" not in q.supports:
        return np.full(len(q), nan)
    total, mean = np.zeros(len(q)), q.mean()
    for start in range(0, draws, CHUNK):
        total += np.abs(q.sample(rng, min(CHUNK, draws - start)) - mean).sum(axis=0)
    return total / draws


def without_rounding(values: FloatArray) -> FloatArray:
    """Return values to ten digits of the largest, so that what only rounding sets apart is tied.

    Examples
    --------
    >>> without_rounding(np.array([0.1 + 0.2, 0.3, 0.25])).tolist()
    [0.3, 0.3, 0.25]
    """
    largest = float(np.abs(values).max())
    return np.round(values, DIGITS - 1 - floor(log10(largest))) if largest > 0 else values


WINDOW = 8  # rows on each side of a threshold, at least, that give the loss there
_DIGITS = 9  # of the share kept of rows of one uncertainty


@dataclass(frozen=True)
class RiskCoverage:
    """Rows with their uncertainty and loss, both of shape (n,), and how they enter a mean; weights are above 0.

    Examples
    --------
    >>> rows = Sampling(np.full(5, 0.2), 5)
    >>> one = RiskCoverage(np.arange(5.0), np.array([0.0, 0.0, 1.0, 0.0, 1.0]), rows)
    >>> [round(one.risk(k / 5), 4) for k in range(1, 6)]
    [0.0, 0.0, 0.3333, 0.25, 0.4]
    >>> round(one.augrc, 6), round(one.gain, 6)
    (0.12, 0.08)
    """

    uncertainty: FloatArray
    loss: FloatArray
    sampling: Sampling

    @property
    def weights(self) -> FloatArray:
        """The weights, which sum to 1."""
        return self.sampling.weights

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.loss)

    @cached_property
    def mean_loss(self) -> float:
        """L, the risk of keeping all."""
        return float(self.weights @ self.loss)

    @cached_property
    def place(self) -> FloatArray:
        """G, the share of rows below in uncertainty plus half of those beside."""
        return mid_cdf(self.uncertainty, self.weights)

    def share(self, kept: float) -> float:
        """Return the share nearest to `kept` that whole rows make up, where all weigh the same."""
        return round(kept * self.n) / self.n if np.ptp(self.weights) <= 1e-12 else kept

    def kept(self, share: float) -> FloatArray:
        """Return D, which part of each row is kept: 1 below the threshold, 0 above, between for rows tied there."""
        _, at, beside = self._levels
        below = np.cumsum(at) - at
        part = np.round((self.share(share) - below) / at, _DIGITS)
        return np.asarray(np.clip(part, 0.0, 1.0)[beside])

    @cached_property
    def _levels(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """The distinct uncertainties in order, the mass at each, and which of them each row has."""
        values, beside = np.unique(self.uncertainty, return_inverse=True)
        return values, np.bincount(beside, self.weights).astype(float), beside.astype(np.int64)

    def threshold(self, share: float) -> float:
        """Return the largest uncertainty of a kept row: referred are the rows above, and of tied rows some."""
        return float(self.uncertainty[self.kept(share) > 0].max())

    def mean_of(self, values: FloatArray, share: float) -> float:
        """Return the mean of any values over the kept rows."""
        kept = self.weights * self.kept(share)
        return float(kept @ values / kept.sum())

    def risk(self, share: float) -> float:
        """Return R(c)."""
        return self.mean_of(self.loss, share)

    def captured(self, share: float) -> float:
        """Return κ(c), the share of all loss among the referred rows."""
        return 1 - self.share(share) * self.risk(share) / self.mean_loss

    def oracle(self, share: float) -> float:
        """Return the risk if rows were kept in order of their loss, which nobody knows before."""
        return RiskCoverage(self.loss, self.loss, self.sampling).risk(share)

    def loss_at(self, share: float) -> float:
        """Return m, the mean loss of the max(8, n^(2/3)/2) rows on each side of the threshold."""
        order = np.argsort(self.uncertainty, kind="stable")
        at = round(float(self.kept(share).sum()))
        reach = max(WINDOW, round(self.n ** (2 / 3) / 2))
        near = order[max(at - reach, 0) : at + reach]
        _, mass, beside = self._levels
        shared = (np.bincount(beside, self.weights * self.loss) / mass)[beside]
        return float(np.average(shared[near], weights=self.weights[near]))

    def risk_influence(self, share: float) -> FloatArray:
        """Return the influence of each row on R(c), ``[D (ℓ − m) − mean D (ℓ − m)] / c``."""
        moved = self.kept(share) * (self.loss - self.loss_at(share))
        return np.asarray((moved - self.weights @ moved) / self.share(share))

    def saving_influence(self, share: float) -> FloatArray:
        """Return the influence of each row on the saving L − R(c)."""
        return np.asarray(self.loss - self.mean_loss - self.risk_influence(share))

    def captured_influence(self, share: float) -> FloatArray:
        """Return the influence of each row on κ(c)."""
        c, level = self.share(share), self.mean_loss
        beyond = c * self.risk(share) / level**2 * (self.loss - level)
        return np.asarray(beyond - c / level * self.risk_influence(share))

    @cached_property
    def augrc(self) -> float:
        """The area under the generalised risk-coverage curve; L/2 for a random order."""
        return float(self.weights @ (self.loss * (1 - self.place)))

    @cached_property
    def gain(self) -> float:
        """The gain over a random order in rank form, g = L/2 − AUGRC."""
        return self.mean_loss / 2 - self.augrc

    def gain_of(self, values: FloatArray) -> float:
        """Return cov(values, G): the gain of any loss in this order."""
        return float(self.weights @ (values * (self.place - 0.5)))

    @cached_property
    def augrc_influence(self) -> FloatArray:
        """The influence of each row on the AUGRC."""
        below = mid_cdf(self.uncertainty, self.weights * self.loss)
        return np.asarray(self.loss * (1 - self.place) + below - 2 * self.augrc)

    @cached_property
    def gain_influence(self) -> FloatArray:
        """The influence of each row on g."""
        return np.asarray((self.loss - self.mean_loss) / 2 - self.augrc_influence)


def order_statistic(curve: RiskCoverage) -> float:
    """Return z of the test that the order is a random one; NaN where losses or uncertainties do not differ.

    ``Σ (ℓ − L)(G − ½) / √(Σ (ℓ − L)² Σ (G − ½)² / (n − 1))``: of a loss of 0 or 1 Wilcoxon's statistic with ties. It
    takes rows as independent and of equal weight.
    """
    loss, place = curve.loss - curve.loss.mean(), curve.place - 0.5
    if not (np.ptp(curve.loss) > 0 and np.ptp(curve.uncertainty) > 0):
        return float("nan")
    return float(loss @ place / np.sqrt(np.square(loss).sum() * np.square(place).sum() / (curve.n - 1)))


LEAST_KEPT = 10  # rows at a point of the curve
SHARES = tuple(k / 20 for k in range(1, 21))
BAND_FROM = 0.5
ROUNDING = 1e-9
ALL_KEPT = dict.fromkeys(("saved", "captured"), 0.0)  # nothing is referred, without any error
CAP = 4.0  # times the rows (or errors) counted, which an effective number is at most
Record = dict[str, Any]


@dataclass(frozen=True)
class Assessed:
    """Losses in order of the uncertainty, with the limits of everything that is read off them."""

    losses: CaseLosses
    sampling: Sampling
    confidence: float

    @cached_property
    def curve(self) -> RiskCoverage:
        """The rows in order."""
        return RiskCoverage(self.losses.uncertainty, self.losses.loss, self.sampling)

    @cached_property
    def errors(self) -> int:
        """The rows with a loss."""
        return int((self.losses.loss > 0).sum())

    def error_of(self, influence: FloatArray) -> float:
        """Return a standard error from influence values."""
        return float(self.sampling.mean(influence)[1])

    def t(self, confidence: float) -> float:
        """Return the quantile of Student's t of a level."""
        return t_quantile(0.5 + confidence / 2, self.sampling.units - 1)

    def share_ends(self, share: float, influence: FloatArray, count: float, z: float) -> Ends:
        """Return Wilson's limits at the effective number of rows, at most 4 times those counted."""
        variance = self.error_of(influence) ** 2
        inside = 1e-12 < share < 1 - 1e-12 and variance > 0
        n = min(share * (1 - share) / variance, CAP * count) if inside else min(count, float(self.sampling.units))
        return wilson(min(max(share, 0.0), 1.0), n, z)

    def risk_ends(self, share: float, z: float) -> Ends:
        """Return the limits of R(c): Wilson's of an error rate, on the log scale of other losses."""
        risk, influence = self.curve.risk(share), self.curve.risk_influence(share)
        if self.losses.classes:
            return self.share_ends(risk, influence, float(self.curve.kept(share).sum()), z)
        return on_log_scale(risk, self.error_of(influence), z)

    def captured_ends(self, share: float) -> Ends:
        """Return the limits of κ(c): Wilson's of errors, of other losses those of log R(c)/L."""
        curve, z = self.curve, normal_quantile(self.confidence)
        if not curve.mean_loss > 0:
            return UNKNOWN
        captured = curve.captured(share)
        if self.losses.classes:
            return self.share_ends(captured, curve.captured_influence(share), float(self.errors), z)
        ratio = (1 - captured) / curve.share(share)
        if not ratio > 0:
            return UNKNOWN
        influence = curve.risk_influence(share) / curve.risk(share) - (curve.loss - curve.mean_loss) / curve.mean_loss
        lower, upper = on_log_scale(1 - captured, (1 - captured) * self.error_of(influence), z)
        return 1 - upper, 1 - lower

    def points(self, band: float) -> list[Record]:
        """Return a line for each share kept that has enough rows."""
        return [self._point(share, band) for share in SHARES if self.curve.kept(share).sum() >= LEAST_KEPT - ROUNDING]

    def _point(self, share: float, band: float) -> Record:
        curve, z = self.curve, normal_quantile(self.confidence)
        risk = curve.risk(share)
        line = estimate(risk, self.error_of(curve.risk_influence(share)), self.risk_ends(share, z), self.confidence)
        around = self.risk_ends(share, band) if share >= BAND_FROM and not isnan(band) else UNKNOWN
        line |= {"item": "risk", "x": share, "kept": float(curve.kept(share).sum())}
        line |= {"threshold": curve.threshold(share), "band_lower": around[0], "band_upper": around[1]}
        line |= {"implied": curve.mean_of(self.losses.implied, share), "oracle": curve.oracle(share)}
        line |= {"width": curve.mean_of(self.losses.width, share)}
        return line | (self._referred(share) if curve.share(share) < 1 else ALL_KEPT)

    def _referred(self, share: float) -> Record:
        """Return what the referred rows take with them: the fall of the mean loss, and their share of all loss."""
        curve = self.curve
        saved, reach = curve.mean_loss - curve.risk(share), self.error_of(curve.saving_influence(share))
        reach *= self.t(self.confidence)
        lower, upper = self.captured_ends(share)
        captured = {"captured": curve.captured(share) if curve.mean_loss > 0 else nan}
        captured |= {"captured_lower": lower, "captured_upper": upper}
        return captured | {"saved": saved, "saved_lower": saved - reach, "saved_upper": saved + reach}

    def band(self, rng: np.random.Generator, draws: int) -> float:
        """Return the quantile for limits at all shares from one half on at once."""
        shares = [share for share in SHARES if share >= BAND_FROM]
        influences = np.stack([self.curve.risk_influence(share) for share in shares])
        return band_quantile(influences, self.sampling, self.confidence, rng, draws)

    def numbers(self) -> list[Record]:
        """Return the lines on all rows: the one number, the gain with its test, the losses."""
        curve, losses = self.curve, self.losses
        records = [self._ordering(), self._gain()]
        if not np.isnan(losses.implied).any():
            implied = {
                view.IMPLIED_GAIN: curve.gain_of(losses.implied),
                view.IMPLIED_LOSS: float(curve.weights @ losses.implied),
            }
            records += [estimate(v, nan, UNKNOWN, nan) | {"item": k, "unit": losses.unit} for k, v in implied.items()]
        ends = self.risk_ends(1.0, normal_quantile(self.confidence))
        whole = estimate(curve.mean_loss, self.error_of(losses.loss), ends, self.confidence)
        return [*(r for r in records if r), whole | {"item": view.LOSS, "unit": losses.unit}]

    def _gain(self) -> Record:
        gain, error = self.curve.gain, self.error_of(self.curve.gain_influence)
        ends = (gain - self.t(self.confidence) * error, gain + self.t(self.confidence) * error)
        reach = self.t(0.9) * error
        line = estimate(gain, error, ends, self.confidence) | {"item": view.GAIN, "unit": self.losses.unit}
        return line | {"lower_90": gain - reach, "upper_90": gain + reach, "p_value": self._p_value(gain, error)}

    def _p_value(self, gain: float, error: float) -> float:
        """Return the one-sided p-value of a random order: exact variance of independent, equal rows, else t."""
        if self.sampling.codes is None and np.ptp(self.sampling.weights) <= 1e-12:
            return float(ndtr(-order_statistic(self.curve)))
        return float(stdtr(self.sampling.units - 1, -gain / error)) if error > 0 else nan

    def _ordering(self) -> Record:
        """Return the AUROC of failures, or the gain as a share of half the mean loss; empty without losses."""
        curve, losses = self.curve, self.losses
        if losses.classes:
            failed = losses.loss > 0
            if not 0 < failed.sum() < len(failed):
                return {}
            rows = auc_rows(losses.uncertainty, failed, self.sampling.weights)
            wide, narrow = (
                area_of(rows, self.sampling, level, score=losses.uncertainty, event=failed)
                for level in (self.confidence, 0.9)
            )
            item, unit = view.FAILURE_AUROC, "probability"
        elif curve.mean_loss > 0:
            share = 2 * curve.gain / curve.mean_loss
            moved = curve.gain_influence - curve.gain / curve.mean_loss * (curve.loss - curve.mean_loss)
            rows = share + 2 * moved / curve.mean_loss
            wide, narrow = (mean_of(rows, self.sampling, level) for level in (self.confidence, 0.9))
            item, unit = view.NORMALISED_GAIN, "share of the largest gain"
        else:
            return {}
        return wide | {"item": item, "unit": unit, "lower_90": narrow["lower"], "upper_90": narrow["upper"]}


LEAST_UNITS = 20  # independent rows, below which nothing is ordered
SUMMARY = ("item", "unit", "p_value", "lower_90", "upper_90")
CURVE = (
    *("item", "x", "kept", "threshold", "band_lower", "band_upper", "implied", "oracle", "saved", "saved_lower"),
    *("saved_upper", "captured", "captured_lower", "captured_upper", "width"),
)
GROUPS = ("item", "n", "unit")


@dataclass(frozen=True)
class Selective(CardedExplainer):
    """Risk and coverage when the most uncertain observations are referred to a person.

    Observations are kept in order of their uncertainty: of classes 1 − the probability of the class decided for (the
    error that the model expects), of numbers the standard deviation. The risk-coverage curve is the error rate, or the
    mean absolute error, of the kept share c, with Wilson limits at an effective number of observations (other losses:
    log scale) and a band for all c from 0.5 on. The one number is the area under the ROC curve by which the
    uncertainty tells wrong from right predictions; of numbers the gain ``cov(loss, G)`` over a random order, G the rank
    of the uncertainty, as a share of half the mean loss. No model is asked anything beside the audited observations.

    Parameters
    ----------
    n_draws : int
        Outcomes drawn from each distribution for the absolute error that the model expects; exact for a normal.
    n_band : int
        Multipliers of the band.
    n_min : int
        Smallest group (observations, or clusters) that is shown.
    max_levels : int
        Values of a protected attribute, above which it is cut at its quartiles.

    Notes
    -----
    Results: ``selective``, the numbers of all observations; ``selective.curve``; ``selective.groups``, the referral
    rate and the loss of the kept by protected group, at the threshold that keeps 90%. Times that may be censored are
    refused: a censored observation loses less by construction.

    References
    ----------
    El-Yaniv & Wiener (2010), JMLR 11:1605. Geifman & El-Yaniv (2017), arXiv:1705.08500. Traub et al. (2024),
    arXiv:2407.01032. Franc, Průša & Voráček (2023), JMLR 24:1. Jones et al. (2021), arXiv:2010.14134.

    Examples
    --------
    >>> Selective(n_band=10)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: selective.n_band must be an integer >= 99; got 10.
    """

    n_draws: int = opt.at_least(20, 200)
    n_band: int = opt.at_least(99, 400)
    n_min: int = opt.at_least(5, 30)
    max_levels: int = opt.at_least(2, 6)

    name: ClassVar[str] = ids.SELECTIVE
    section: ClassVar[str] = "uncertainty-quality.selective"
    priority: ClassVar[int] = 15

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``selective``, ``selective.curve``, and with protected attributes ``selective.groups``."""
        q, y = engine.baseline, engine.y
        if y is None:
            raise InputError("selective.y must be given; it was not. Pass the outcomes of the test observations.")
        if q.censored:
            raise InputError("selective.y must be free of censoring; it is not. A censored outcome has no error.")
        rows = np.flatnonzero(Sampling.of(subject).weights > 0)
        given = subject if len(rows) == subject.n else subject.take(rows)
        sampling = Sampling.of(given)
        if sampling.units < LEAST_UNITS:
            what = "observations" if sampling.codes is None else "clusters"
            got = f"independent {what}; got {sampling.units}. Give more."
            raise InputError(f"selective needs at least {LEAST_UNITS} {got}")
        assessed = self._assessed(engine, rows, np.asarray(y)[rows], sampling)
        results = [self._numbers(assessed), self._curve(assessed, engine)]
        return [*results, self._groups(assessed, given)] if given.protected else results

    def _assessed(self, engine: Engine, rows: AnyArray, y: AnyArray, sampling: Sampling) -> Assessed:
        q = engine.baseline.take(rows)
        lacking = sorted({"mean", "variance"} - q.supports)
        if "proba" in q.supports:
            losses = class_losses(cast("Categorical", q), y)
        elif lacking and not {"mean", "intervals"} <= q.supports:
            raise InputError(f"selective needs an uncertainty and a prediction: {q.why_not(lacking[0])}.")
        else:
            losses = number_losses(q, y, engine.rng("draws"), self.n_draws)
        endless = int((~np.isfinite(losses.uncertainty)).sum())
        if endless:
            raise InputError(f"selective needs finite uncertainties; {losses.words[0]} is infinite {endless} times.")
        return Assessed(losses._replace(uncertainty=without_rounding(losses.uncertainty)), sampling, engine.confidence)

    def _numbers(self, assessed: Assessed) -> Diagnostic:
        losses = assessed.losses
        uncertainty, loss = losses.words
        facts = {"n": len(losses.loss), "errors": assessed.errors, "classes": losses.classes}
        return diagnostic(
            ids.SELECTIVE,
            "How well the uncertainty orders the errors",
            assessed.numbers(),
            SUMMARY,
            x="std_error",
            options=asdict(self),
            notes=(f"Ordered by {uncertainty}; the loss is the {loss}.", *assessed.sampling.notes()),
            meta={**facts, "uncertainty": uncertainty, "loss": loss},
        )

    def _curve(self, assessed: Assessed, engine: Engine) -> Diagnostic:
        losses = assessed.losses
        return diagnostic(
            ids.SELECTIVE_CURVE,
            "Risk-coverage curve",
            assessed.points(assessed.band(engine.rng("band"), self.n_band)),
            CURVE,
            x="x",
            notes=(
                "x is the share kept, the least uncertain first. The threshold was read off these observations.",
                "Limits hold point by point; the band holds for all shares from 50% on at once.",
            ),
            meta={"loss": losses.words[1], "unit": losses.unit},
        )

    def _groups(self, assessed: Assessed, subject: Subject) -> Diagnostic:
        loss = assessed.losses.words[1]
        return diagnostic(
            ids.SELECTIVE_GROUPS,
            "Referral by protected group",
            self._by_group(assessed, subject),
            GROUPS,
            x="n",
            notes=(
                f"At the threshold that keeps {100 * view.KEPT:.0f}% of all observations, taken as fixed.",
                f"Groups of fewer than {self.n_min} observations or clusters are not shown.",
            ),
            meta={"kept": view.KEPT, "n_min": self.n_min},
            measures={
                view.REFERRAL_RATE: MeasureFacts("referral rate", "share of observations", "uncertainty"),
                view.KEPT_LOSS: MeasureFacts(f"{loss} of the kept", assessed.losses.unit, "loss"),
            },
        )

    def _by_group(self, assessed: Assessed, subject: Subject) -> Iterator[Record]:
        """Yield the referral rate and the loss of the kept of each group that may be shown."""
        sampling, confidence = assessed.sampling, assessed.confidence
        cut = attributes(subject.protected, self.max_levels)
        units = sampling.unit_codes
        kept = assessed.curve.kept(view.KEPT)
        every = large_groups(cut, np.ones(subject.n, dtype=bool), units, self.n_min)
        left = large_groups(cut, kept > 0, units, self.n_min)
        weighed = Sampling(sampling.weights * kept, sampling.units, sampling.codes)
        loss_of: Any = rate_of if assessed.losses.classes else size_of
        for key in sorted(every):
            attribute = cut[key[0]]
            members = attribute.codes == key[1]
            place = {"feature": attribute.name, "item": attribute.labels[key[1]]}
            referred = rate_of(1 - kept[members], sampling.part(members), confidence)
            facts = {"measure": view.REFERRAL_RATE, "n": int(members.sum()), "unit": "share of observations"}
            yield referred | place | facts
            inside = members & (kept > 0)
            if key in left:
                line = loss_of(assessed.losses.loss[inside], weighed.part(inside), confidence)
                unit = {"measure": view.KEPT_LOSS, "n": int(inside.sum()), "unit": assessed.losses.unit}
                yield line | place | unit
