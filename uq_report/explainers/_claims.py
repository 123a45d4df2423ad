"""Claimed and delivered importance: the loss a model expects when values are wrong, and the loss that comes.

For a proper score S with divergence d(q, q̃) = E_{y~q}[S(q̃, y) - S(q, y)] (of the log score the Kullback-Leibler
divergence, of the Brier score the squared distance) and shuffles q̃ of the rows' distributions q:

``claimed K = mean d(q_i, q̃_i)``, ``delivered L = mean [S(q̃_i, y_i) - S(q_i, y_i)]``, and E[L] = K if y follows q,
for every model, every set of features and any dependence between them: both sides are the same expectation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from ..core.arrays import AnyArray, FloatArray, IntArray
from ..core.distributions import Categorical
from ..core.inference import MIN_SHUFFLES, PairTerms, all_pairs, shuffled_pairs, standard_error, two_way
from ..core.measures import BRIER, KL, NLL, Measure
from ..core.predictive import Distribution
from ._pfi_terms import Rows

# claimed, delivered and their difference as combinations of what there is: the divergence, and with outcomes the loss
PARTS_OF: Mapping[int, Sequence[Sequence[float]]] = {1: ((1.0,),), 2: ((1.0, 0.0), (0.0, 1.0), (1.0, -1.0))}
DRAWS = 999
MOST_CLASSES = 20  # above, the exact test would cost more than the predictions
_CELLS = 4_000_000
Part = Callable[[Distribution], FloatArray]


@dataclass(frozen=True)
class Score:
    """A proper score: its loss, its divergence from the unchanged distribution, and, for the exact test, its terms.

    ``S(q, y) = sum_p coefficient_p(q) * statistic_p(y)`` up to what does not depend on both q and y; without
    coefficients the score is no such sum, and there is no exact test.
    """

    loss: Measure
    divergence: Measure
    coefficients: tuple[Measure, ...] = ()
    statistics: Callable[[AnyArray], FloatArray] | None = None

    def measures(self, *, outcomes: bool) -> tuple[Measure, ...]:
        """Return what the prediction pass has to evaluate: the divergence, and with outcomes loss and coefficients."""
        return (self.divergence, self.loss, *self.coefficients) if outcomes else (self.divergence,)


def score_of(q: Distribution) -> Score | None:
    """Return the proper score to claim in, or None where there is none.

    The log score; the Brier score where the model gives some class a probability of 0: there the log score's
    divergence may be infinite.
    """
    if "proba" in q.supports:
        return _class_score(cast("Categorical", q))
    if not {"kl", "log_prob"} <= q.supports:
        return None
    parts, statistics = _FAMILIES.get(q.family, ((), None))
    return Score(NLL, KL, _coefficients(parts), statistics)


def _class_score(q: Categorical) -> Score:
    classes = range(len(q.classes))
    brier = bool((q.probabilities == 0).any())
    loss, divergence = (BRIER, SQUARED_DISTANCE) if brier else (NLL, KL)
    if len(classes) > MOST_CLASSES:
        return Score(loss, divergence)

    def statistics(y: AnyArray) -> FloatArray:
        """Return the indicator of each class but the first, shape (P, ...): the indicators sum to 1."""
        return np.stack([np.asarray(y == c, dtype=float) for c in classes[1:]])

    def part(c: int) -> Part:
        if brier:
            return lambda d: 2 * (_classes(d)[:, 0] - _classes(d)[:, c])
        return lambda d: _log(_classes(d)[:, 0]) - _log(_classes(d)[:, c])

    return Score(loss, divergence, _coefficients(map(part, classes[1:])), statistics)


def _classes(dist: Distribution) -> FloatArray:
    return cast("Categorical", dist).probabilities


def _log(p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def _squared_distance(dist: Distribution, _: AnyArray | None, base: Distribution | None) -> FloatArray:
    """Return sum_c (p_c - p̃_c)²: the divergence of the Brier score."""
    return np.asarray(np.square(_classes(dist) - _classes(cast("Distribution", base))).sum(axis=1))


SQUARED_DISTANCE = Measure(
    "squared_distance", _squared_distance, "0 to 2", "prediction", frozenset({"proba"}), needs_base=True
)


def _coefficients(parts: Iterable[Part]) -> tuple[Measure, ...]:
    return tuple(_coefficient(f"coefficient {p}", part) for p, part in enumerate(parts))


def _coefficient(name: str, part: Part) -> Measure:
    def rows(dist: Distribution, y: AnyArray | None, base: Distribution | None) -> FloatArray:  # noqa: ARG001 - as a measure's
        return part(dist)

    return Measure(name, rows, "", "prediction", frozenset())


# family -> the score's coefficients, and the statistics of y in their order
_FAMILIES: Mapping[str, tuple[Sequence[Part], Callable[[AnyArray], FloatArray]]] = {
    "normal": (  # (y - μ)²/(2σ²) in y and y²
        (lambda d: -d.mean() / d.variance(), lambda d: 1 / (2 * d.variance())),
        lambda y: np.stack([y, np.square(y)]),
    ),
    "Poisson": ((lambda d: -_log(d.mean()),), lambda y: np.asarray(y, dtype=float)[None]),  # -y log λ
}


class Claim(NamedTuple):
    """What a set of features claims and delivers; the first axis is claimed and, with outcomes, delivered, difference.

    `rows` are the terms of each row, `excess` (P, n) the coefficients of the score, averaged over the shuffles, less
    those of the unchanged row.
    """

    repeats: FloatArray
    estimate: FloatArray
    se: FloatArray
    rows: FloatArray
    share: float
    share_se: float
    excess: FloatArray


def claim_terms(T: FloatArray, b: FloatArray, donors: IntArray, rows: Rows, excess: FloatArray) -> Claim:
    """Return the claim of one set of features.

    Parameters
    ----------
    T : ndarray of shape (1 or 2, m, n)
        The divergence of the shuffled rows and, where there are outcomes, their loss; finite.
    b : ndarray of shape (1 or 2, n)
        Both unchanged.
    donors : ndarray of shape (m, n)
    rows : Rows
    excess : ndarray of shape (P, n)
    """
    fit = None if rows.exact or len(donors) < MIN_SHUFFLES else two_way(T, donors)

    def combined(*coefficients: Sequence[float]) -> tuple[PairTerms, FloatArray]:
        """Return the terms of linear combinations of divergence and loss, and their standard errors."""
        C = np.array(coefficients)
        effects = None if fit is None else (C @ fit[0], C @ fit[1])
        mixed = np.tensordot(C, T, 1)
        pairs = (
            all_pairs(mixed, C @ b, rows.weights)
            if rows.exact
            else shuffled_pairs(mixed, C @ b, donors, rows.weights, effects)
        )
        return pairs, standard_error(pairs, rows.weights, rows.clusters)

    pairs, se = combined(*PARTS_OF[len(T)])
    estimate = pairs.repeats.mean(axis=1)
    share = float(estimate[1] / estimate[0]) if len(T) > 1 and estimate[0] > 0 else float("nan")
    # L - sK has mean 0 at the share s, and its error over K is that of the ratio (delta method)
    share_se = float("nan") if np.isnan(share) else float(combined((-share, 1.0))[1][0] / estimate[0])
    return Claim(pairs.repeats, estimate, se, pairs.rows, share, share_se, excess)


def exact_p_values(
    claims: Sequence[Claim], score: Score, q: Distribution, y: AnyArray, rng: np.random.Generator, draws: int = 0
) -> FloatArray:
    """Return two-sided p-values of "y follows q" for each claim's delivered importance, given the shuffles.

    Outcomes are drawn from q itself; none needs a new prediction, since the score is a sum of coefficients, averaged
    over the shuffles, times statistics of the outcome. The observed outcomes run through the same lines.
    """
    if score.statistics is None:
        return np.full(len(claims), np.nan)
    draws = draws or max(DRAWS, 40 * len(claims) - 1)  # else the smallest p-value could not survive Holm's method
    excess = np.stack([claim.excess for claim in claims])  # (claims, P, n)
    n = excess.shape[2]
    below, above = np.ones(len(claims)), np.ones(len(claims))
    observed = np.einsum("cpn,pn->c", excess, score.statistics(y))
    step = max(1, _CELLS // (n * excess.shape[1]))
    for start in range(0, draws, step):
        outcomes = q.sample(rng, min(step, draws - start))
        # the sum over statistics and rows is one matrix product
        delivered = np.tensordot(score.statistics(outcomes), excess, axes=([0, 2], [1, 2]))
        slack = 1e-12 * np.abs(observed)
        below += (delivered <= observed + slack).sum(axis=0)
        above += (delivered >= observed - slack).sum(axis=0)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(below, above) / (draws + 1)))
