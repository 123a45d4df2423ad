"""Claimed and delivered importance: the loss a model expects when values are wrong, and the loss that comes.

For a proper score S with divergence d(q, q̃) = E_{y~q}[S(q̃, y) - S(q, y)] (of the log score the Kullback-Leibler
divergence, of the Brier score the squared distance; quantiles have their mean pinball loss) and shuffles q̃ of the rows'
distributions q:

``claimed K = mean d(q_i, q̃_i)``, ``delivered L = mean [S(q̃_i, y_i) - S(q_i, y_i)]``, and E[L] = K if y follows q,
for every model, every set of features and any dependence between them: both sides are the same expectation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from ...core.engine.evaluator import rows_of
from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import BRIER, KL, NLL, Measure
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, MeasureFacts, Omission
from ...core.model.sampling import t_quantile
from ...core.predictive import Distribution
from ...core.statistics.inference import TIED, PairTerms, as_extreme, standard_error
from ...core.statistics.verdicts import effective_units, variance_freedom
from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.limits import check_limits
from ...core.support.numbers import OUTCOME_UNIT
from ...distributions import Categorical, Quantiles
from ...evidence import ids
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from ..shared.choice import blocks
from ..shared.estimates import estimate
from ..shared.terms import ChangedMeasures, ShuffledRows, exactly_zero, pair_terms, usual_margin
from .estimator import Shuffler

CONTRAST = np.array([[1.0, -1.0]])  # of what is claimed and what is delivered
DRAWS = 999
MOST_CLASSES = 20  # above, the exact test would cost more than the predictions
_CELLS = 65_536  # drawn at a time: what stays in the cache
Part = Callable[[Distribution], FloatArray]
Draws = Callable[[Distribution, np.random.Generator, int], Iterator[FloatArray]]


@dataclass(frozen=True)
class ProperScore:
    """A proper score: its loss, its divergence from the unchanged distribution, and, for the exact test, its terms.

    ``S(q, y) = sum_p coefficient_p(q) * statistic_p(y)`` up to what does not depend on both q and y; without
    coefficients the score is no such sum, and there is no exact test. ``draws(q, rng, size)`` yields the statistics
    of `size` outcomes a row drawn from q, block by block, shape (P, ., n).
    """

    loss: Measure
    divergence: Measure
    coefficients: tuple[Measure, ...] = ()
    statistics: Callable[[AnyArray], FloatArray] | None = None
    draws: Draws | None = None


def score_of(q: Distribution) -> ProperScore | None:
    """Return the proper score to claim in, or None where there is none.

    The log score; the Brier score where the model gives some class a probability of 0: there the log score's
    divergence may be infinite; of quantiles at five levels or more their mean pinball loss, since a density between
    them is not stated. None where outcomes may be censored: less is then delivered than was claimed.
    """
    if "proba" in q.supports:
        return _class_score(cast("Categorical", q))
    if isinstance(q, Quantiles):
        return ProperScore(PINBALL, PINBALL_DIVERGENCE) if len(q.levels) >= LEAST_LEVELS else None
    if q.censored or not {"kl", "log_prob"} <= q.supports:
        return None
    if q.family not in _FAMILIES:
        return ProperScore(NLL, KL)
    parts, statistics = _FAMILIES[q.family]

    def draws(q: Distribution, rng: np.random.Generator, size: int) -> Iterator[FloatArray]:
        """Yield the statistics of drawn numbers."""
        for some in blocks(size, len(q), _CELLS):
            yield statistics(q.sample(rng, some))

    return ProperScore(NLL, KL, _coefficients(parts), statistics, draws)


def why_no_score(q: Distribution) -> str:
    """Say why there is no proper score to claim in."""
    if q.censored:
        return (
            "outcomes may be censored: the realised importance covers the time under observation only, so that it "
            "falls short of the model-implied one even for a correct model"
        )
    if isinstance(q, Quantiles):
        few = f"quantiles at {len(q.levels)} levels are too few to compare model-implied with realised importance"
        return f"{few}; at least {LEAST_LEVELS} are needed"
    return q.why_not(next(need for need in ("kl", "log_prob") if need not in q.supports))


def _class_score(q: Categorical) -> ProperScore:
    classes = range(len(q.classes))
    brier = bool((q.probabilities == 0).any())
    loss, divergence = (BRIER, SQUARED_DISTANCE) if brier else (NLL, KL)
    if len(classes) > MOST_CLASSES:
        return ProperScore(loss, divergence)

    def statistics(y: AnyArray) -> FloatArray:
        """Return the indicator of each class but the first, shape (P, ...): the indicators sum to 1."""
        return np.stack([np.asarray(y == c, dtype=float) for c in classes[1:]])

    def part(c: int) -> Part:
        if brier:
            return lambda d: 2 * (_classes(d)[:, 0] - _classes(d)[:, c])
        return lambda d: _logs(d)[0] - _logs(d)[c]

    return ProperScore(loss, divergence, _coefficients(map(part, classes[1:])), statistics, _class_draws)


def _class_draws(q: Distribution, rng: np.random.Generator, size: int) -> Iterator[FloatArray]:
    """Yield the indicators of drawn classes but the first, by 32 random bits each: probabilities are met to 2^-32."""
    reached = np.cumsum(_classes(q), axis=1)
    beyond = np.minimum(np.ceil(reached[:, :-1] / reached[:, -1:] * 2.0**32), 2.0**32 - 1).astype(np.uint32)
    n = len(q)
    for some in blocks(size, n, _CELLS):
        bits = rng.integers(2**64, size=(some * n + 1) // 2, dtype=np.uint64).view(np.uint32)[: some * n]
        indicators = np.array([bits.reshape(some, n) >= least for least in beyond.T], dtype=float)
        indicators[:-1] -= indicators[1:]  # from "this class or a later one" to "this class"
        yield indicators


def _classes(dist: Distribution) -> FloatArray:
    return cast("Categorical", dist).probabilities


def _logs(dist: Distribution) -> FloatArray:
    return cast("Categorical", dist).logs


def _log(p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def _squared_distance(dist: Distribution, _: AnyArray | None, base: Distribution | None) -> FloatArray:
    """Return sum_c (p_c - p̃_c)²: the divergence of the Brier score."""
    return np.asarray(np.square(_classes(dist) - _classes(cast("Distribution", base))).sum(axis=1))


SQUARED_DISTANCE = Measure(
    "squared_distance", _squared_distance, "0 to 2", "prediction", frozenset({"proba"}), needs_base=True
)


def _pinball(dist: Distribution, y: AnyArray | None, _: Distribution | None) -> FloatArray:
    return cast("Quantiles", dist).pinball(cast("AnyArray", y))


def _pinball_divergence(dist: Distribution, _: AnyArray | None, base: Distribution | None) -> FloatArray:
    """Return the rise of the pinball loss that the unchanged quantiles expect."""
    return cast("Quantiles", base).pinball_divergence(cast("Quantiles", dist))


LEAST_LEVELS = 5  # simulated: with 3 an exact model is called over-claiming in up to 15% of audits
PINBALL = Measure("pinball_loss", _pinball, OUTCOME_UNIT, "loss", frozenset(), needs_y=True, title="pinball loss")
PINBALL_DIVERGENCE = Measure(
    "pinball_divergence", _pinball_divergence, OUTCOME_UNIT, "prediction", frozenset(), needs_base=True
)


def _coefficients(parts: Iterable[Part]) -> tuple[Measure, ...]:
    return tuple(_coefficient(f"coefficient {p}", part) for p, part in enumerate(parts))


def _coefficient(name: str, part: Part) -> Measure:
    return Measure(name, lambda dist, *_: part(dist), "", "prediction", frozenset())


# family -> the score's coefficients, and the statistics of y in their order
_FAMILIES: Mapping[str, tuple[Sequence[Part], Callable[[AnyArray], FloatArray]]] = {
    "normal": (  # (y - μ)²/(2σ²) in y and y²
        (lambda d: -d.mean() / d.variance(), lambda d: 1 / (2 * d.variance())),
        lambda y: np.stack([y, np.square(y)]),
    ),
    "Poisson": ((lambda d: -_log(d.mean()),), lambda y: np.asarray(y, dtype=float)[None]),  # -y log λ
}


class ModelImplied(NamedTuple):
    """What a set of features claims and delivers; the first axis is claimed and, with outcomes, delivered, difference.

    `unreliable` says why intervals are unreliable, `excess` (P, n) the coefficients of the score, averaged over the
    shuffles or all pairs, less those of the unchanged row. `freedom` has the degrees of freedom of the claim's error.
    """

    repeats: FloatArray
    estimate: FloatArray
    se: FloatArray
    unreliable: tuple[str, ...]
    share: float
    share_se: float
    excess: FloatArray
    freedom: float


def claim_terms(changes: ChangedMeasures, b: FloatArray, rows: ShuffledRows, excess: FloatArray) -> ModelImplied:
    """Return the claim of one set of features.

    Parameters
    ----------
    changes : Changes
        The divergence of the changed rows and, where there are outcomes, their loss; finite.
    b : ndarray of shape (1 or 2, n)
        Both unchanged.
    rows : Rows
    excess : ndarray of shape (P, n)
    """
    pairs = pair_terms(changes, b, rows)
    if len(b) > 1:
        difference = pair_terms(changes.combined(CONTRAST), CONTRAST @ b, rows)
        pairs = PairTerms(*map(np.concatenate, zip(pairs, difference, strict=True)))
    zero = exactly_zero(pairs, float(changes.sizes(b).max()))  # what is claimed or delivered is rounding
    estimate, repeats, terms = (np.where(zero, 0.0, part.T).T for part in pairs[:3])
    pairs = pairs._replace(estimate=estimate, repeats=repeats, rows=terms)
    se = np.where(zero, 0.0, standard_error(pairs, rows.weights, rows.clusters))
    share = share_se = float("nan")
    if len(b) > 1 and estimate[0] > 0:
        share = float(estimate[1] / estimate[0])
    if not np.isnan([share, se[0]]).any():
        # L - sK has mean 0 at the share s, and its error over K is that of the ratio (delta method)
        share_se = float(standard_error(_less(pairs, share), rows.weights, rows.clusters)[0] / estimate[0])
    errors = zip(pairs.rows, se.tolist(), strict=True)
    own = [rows.unreliable(g, error, outcomes=k > 0).reason for k, (g, error) in enumerate(errors)]
    # a difference, and a share, is no more reliable than either of its sides
    unreliable = (*own[:2], *(reason or own[0] or own[1] for reason in own[2:]))
    freedom = variance_freedom(effective_units(pairs.rows[0], rows.weights, rows.clusters), rows.units)
    return ModelImplied(pairs.repeats, estimate, se, unreliable, share, share_se, excess, freedom)


def _less(pairs: PairTerms, s: float) -> PairTerms:
    """Return the terms of L - sK from those of K, L and K - L: a variance at any s follows from those three."""
    C, squares = np.array([-s, 1.0, 0.0]), np.array([s * (s - 1), 1 - s, s])
    noise = (np.maximum(squares @ noise, 0.0)[None] for noise in (pairs.row_noise, pairs.mean_noise))
    return PairTerms(*((C @ part)[None] for part in (pairs.estimate, pairs.repeats, pairs.rows)), *noise)


def exact_p_values(
    claims: Sequence[ModelImplied], score: ProperScore, q: Distribution, y: AnyArray, rng: np.random.Generator
) -> FloatArray:
    """Return two-sided p-values of "y follows q" for each claim's delivered importance, given the shuffles.

    Outcomes are drawn from q itself; none needs a new prediction, since the score is a sum of coefficients, averaged
    over the shuffles, times statistics of the outcome. The observed outcomes run through the same lines. Sums that only
    rounding sets apart are equal, as many are where few values of a feature occur.
    """
    if score.statistics is None or score.draws is None:
        return np.full(len(claims), np.nan)
    draws = max(DRAWS, 40 * len(claims) - 1)  # else the smallest p-value could not survive Holm's method
    true = score.statistics(y)
    observed = np.array([np.vdot(claim.excess, true) for claim in claims])
    parts = np.stack([claim.excess for claim in claims], axis=-1)  # (P, n, claims)
    own = np.array([np.abs(part.rows(q, y, None)).sum() for part in score.coefficients] or [0.0])
    slack = TIED * (np.abs(true).max(axis=1) @ (np.abs(parts).sum(axis=1) + own[:, None]))
    counts = np.ones((2, len(claims)))
    for statistics in score.draws(q, rng, draws):
        check_limits()
        delivered = np.matmul(statistics, parts).sum(axis=0)  # of each statistic one product for all claims
        counts += as_extreme(delivered, observed, slack)
    return np.asarray(np.minimum(1.0, 2 * counts.min(axis=0) / (draws + 1)))


PARTS = (CLAIMED, DELIVERED, DIFFERENCE)


@dataclass
class Claiming:
    """The claims of one audit in work: what is compared, and what the shuffles gave so far.

    `measures` are those of the rows, changes of uncertainties and what the score adds to them, `base` (measures, n)
    their values unchanged. The first `n_full` are needed shuffle by shuffle, of the others, the coefficients, the mean.
    Without a score nothing is added to the measures, and there are no claims.
    """

    score: ProperScore | None
    engine: Engine
    rows: ShuffledRows
    compared: Sequence[Measure]
    measures: Sequence[Measure]
    base: FloatArray
    n_full: int
    claims: dict[str, ModelImplied] = field(default_factory=dict)
    omissions: list[Omission] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        score: ProperScore | None,
        engine: Engine,
        rows: ShuffledRows,
        changes: Sequence[Measure] = (),
        means: Sequence[Measure] = (),
        drawn: Sequence[Measure] = (),
    ) -> Claiming:
        """Return the claims before any shuffle: what to evaluate is what the rows have, and what they lack.

        So are `changes` of uncertainties, in full, and last those of which the mean is needed: `means`, which are 0 of
        unchanged rows, and those without the `drawn` members.
        """
        outcomes = engine.y is not None
        compared = () if score is None else (score.divergence, score.loss) if outcomes else (score.divergence,)
        own = (*rows.measures, *changes)
        lacking = tuple(measure for measure in compared if measure not in own)
        further = (*lacking, *(score.coefficients if score is not None and outcomes else ()))
        none = np.zeros((len(changes), rows.n)), np.zeros((len(means), rows.n))
        base = np.concatenate([rows.b, none[0], engine.unchanged(further), none[1], engine.unchanged(drawn)])
        return cls(score, engine, rows, compared, (*own, *further, *means, *drawn), base, len(own) + len(lacking))

    @cached_property
    def at(self) -> list[int]:
        """Positions of the compared measures."""
        return [self.measures.index(measure) for measure in self.compared]

    @cached_property
    def coefficients(self) -> FloatArray:
        """The coefficients unchanged, shape (P, n)."""
        count = 0 if self.score is None or len(self.compared) < 2 else len(self.score.coefficients)
        return self.base[self.n_full : self.n_full + count]

    def add(self, name: str, changes: ChangedMeasures, means: FloatArray) -> None:
        """Add a set of features: the first `n_full` measures of its changed rows, and means, first of coefficients."""
        self._add(name, changes.of(self.at), means[: len(self.coefficients)])

    def add_all(self, shuffler: Shuffler) -> None:
        """Add all features together: a row with all values of another has its distribution, so nothing is predicted."""
        q, y, further = self.engine.baseline, self.engine.y, self.coefficients
        held = shuffler.of_all(np.concatenate([self.base[self.at], further]), len(self.compared))
        for r in held.left(len(held.donors)):
            self.engine.check()
            sources = held.sources(r)
            held.take(np.concatenate([rows_of(q.take(sources), self.compared, y, q), further[:, sources]]))
        self._add(ALL_FEATURES, held.changes, held.means)

    def _add(self, name: str, changes: ChangedMeasures, means: FloatArray) -> None:
        if self.score is None:
            return
        base = self.base[self.at]
        if infinite := int((changes.hit | ~np.isfinite(base)).any(axis=0).sum()):
            what = "divergence or the loss" if len(base) > 1 else "divergence"
            reason = f"the {what} is infinite for {infinite} of {self.rows.n} observations, and none was dropped"
            self.omissions.append(Omission(self.score.loss.name, name, reason))
            return
        self.claims[name] = claim_terms(changes, base, self.rows, means - self.coefficients)

    def result(self, score: ProperScore, options: Mapping[str, Any]) -> Diagnostic:
        """Return the result, with exact p-values where the score allows them and rows count alike."""
        claims, y, q = list(self.claims.values()), self.engine.y, self.engine.baseline
        p_values = np.full(len(claims), np.nan)
        if claims and self.rows.exchangeable and y is not None:
            p_values = exact_p_values(claims, score, q, y, self.engine.rng("claims", 0))
        lines: list[dict[str, Any]] = []
        records: list[tuple[str, str, str, float, float]] = []
        for (name, claim), p in zip(self.claims.items(), p_values.tolist(), strict=True):
            lines += self._lines(score.loss.name, name, p)
            for part, values in zip(PARTS, claim.repeats.tolist(), strict=False):
                records += [(score.loss.name, name, part, float(repeat), value) for repeat, value in enumerate(values)]
        # without outcomes the mean loss is not known, so there is a margin in nats only
        loss = np.nan if y is None else float(self.base[self.at][1].mean())
        margin = usual_margin(score.loss, loss)
        return Diagnostic(
            id=ids.PFI_CLAIMS,
            explainer=ids.PFI,
            title="Model-implied importance" if y is None else "Model-implied and realised importance",
            frame=pd.DataFrame(records, columns=list(Diagnostic.columns)),
            estimates=pd.DataFrame(lines, columns=list(_COLUMNS)),
            options=options,
            notes=(_UNCONFIRMED,) if y is None else _NOTES,
            omissions=tuple(self.omissions),
            measures={PINBALL.name: MeasureFacts(PINBALL.title, PINBALL.unit, PINBALL.role)},
            meta=({"margin": margin} if np.isfinite(margin) else {}) | {"exact": bool(np.isfinite(p_values).any())},
        )

    def _lines(self, measure: str, name: str, p_value: float) -> list[dict[str, Any]]:
        """Return what a set of features claims and, with outcomes, delivers, and their difference with its test."""
        claim, confidence = self.claims[name], self.engine.confidence
        reach = t_quantile(0.5 + confidence / 2, self.rows.units - 1)
        lines = []
        for k, (part, value, se) in enumerate(zip(PARTS, claim.estimate, claim.se, strict=False)):
            interval = value - reach * se, value + reach * se
            if part == CLAIMED and value > 0:
                # symmetric in its logarithm: a claim is a mean of divergences, above 0 and skewed
                factor = float(np.exp(t_quantile(0.5 + confidence / 2, claim.freedom) * se / value))
                interval = value / factor, value * factor
            line = estimate(value, se, interval, confidence, measure, name)
            lines.append(line | {"item": part, "unreliable": claim.unreliable[k]})
        if len(lines) == len(PARTS):
            lower, upper = (claim.share + sign * reach * claim.share_se for sign in (-1, 1))
            lines[-1] |= {"p_value": p_value, "share": claim.share, "share_lower": lower, "share_upper": upper}
        return lines


_COLUMNS = (*ESTIMATE_COLUMNS, "item", "p_value", "share", "share_lower", "share_upper", "unreliable")
_CLAIMED = (
    "Model-implied: the increase in loss expected under the model's own distributions; realised: the increase observed "
    "in the outcomes. If outcomes follow the model, the two are equal in expectation for any model and any features."
)
_UNCONFIRMED = (
    "Model-implied: the increase in loss expected under the model's own distributions. Without outcomes, whether it is "
    "realised is unknown."
)
_NOTES = (_CLAIMED, "p-values are exact for the hypothesis that outcomes follow the model, given the permutations.")
