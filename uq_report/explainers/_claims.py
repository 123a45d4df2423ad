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
from ..core.inference import PairTerms, all_pairs, shuffled_pairs, standard_error
from ..core.measures import BRIER, KL, NLL, Measure
from ..core.predictive import Distribution
from ._pfi_terms import Rows

DRAWS = 999
MOST_CLASSES = 20  # above, the exact test would cost more than the predictions
_CELLS = 4_000_000
Part = Callable[[Distribution], FloatArray]


@dataclass(frozen=True)
class Score:
    """A proper score: its loss, its divergence from the unchanged distribution, and, for the exact test, its terms.

    ``S(q, y) = sum_p coefficient_p(q) * statistic_p(y)`` up to what does not depend on q; without coefficients the
    score is no such sum, and there is no exact test.
    """

    loss: Measure
    divergence: Measure
    coefficients: tuple[Measure, ...] = ()
    statistics: Callable[[AnyArray], FloatArray] | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What the prediction pass has to evaluate: divergence, loss, coefficients."""
        return (self.divergence, self.loss, *self.coefficients)


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
        """Return the indicator of each class, then a constant, shape (P, ...)."""
        return np.stack([*(np.asarray(y == c, dtype=float) for c in classes), np.ones(np.shape(y))])

    def part(c: int) -> Part:
        return (lambda d: -2 * _classes(d)[:, c]) if brier else (lambda d: -_log(_classes(d)[:, c]))

    constant: Part = (lambda d: np.square(_classes(d)).sum(axis=1)) if brier else (lambda d: np.zeros(len(d)))
    return Score(loss, divergence, _coefficients([*map(part, classes), constant]), statistics)


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


# family -> the score's coefficients, and the statistics of y in their order, constants last
_FAMILIES: Mapping[str, tuple[Sequence[Part], Callable[[AnyArray], FloatArray]]] = {
    "normal": (  # (y - μ)²/(2σ²) + log σ in y, y² and 1
        (
            lambda d: -d.mean() / d.variance(),
            lambda d: 1 / (2 * d.variance()),
            lambda d: d.mean() ** 2 / (2 * d.variance()) + np.log(d.variance()) / 2,
        ),
        lambda y: np.stack([y, np.square(y), np.ones(np.shape(y))]),
    ),
    "Poisson": (  # λ - y log λ
        (lambda d: -_log(d.mean()), lambda d: d.mean()),
        lambda y: np.stack([np.asarray(y, dtype=float), np.ones(np.shape(y))]),
    ),
}


class Claim(NamedTuple):
    """What a set of features claims and delivers; the first axis is claimed, delivered, difference.

    `excess` (P, n): the coefficients of the score, averaged over the shuffles, less those of the unchanged row.
    """

    repeats: FloatArray
    estimate: FloatArray
    se: FloatArray
    share: float
    share_se: float
    excess: FloatArray


def claim_terms(
    divergence: FloatArray, loss: FloatArray, b: FloatArray, donors: IntArray, rows: Rows, excess: FloatArray
) -> Claim:
    """Return the claim of one set of features.

    Parameters
    ----------
    divergence, loss : ndarray of shape (m, n)
        Of the shuffled rows, finite.
    b : ndarray of shape (n,)
        The loss unchanged.
    donors : ndarray of shape (m, n)
    rows : Rows
    excess : ndarray of shape (P, n)
    """
    T = np.stack([divergence, loss, divergence - loss])
    pairs = _pairs(T, np.stack([np.zeros_like(b), b, -b]), donors, rows)
    estimate = pairs.repeats.mean(axis=1)
    claimed, delivered = float(estimate[0]), float(estimate[1])
    share = delivered / claimed if claimed > 0 else float("nan")
    se = standard_error(pairs, rows.weights, rows.clusters)
    # L - sK has mean 0 at the share s, and its error over K is that of the ratio (delta method)
    share_se = float("nan")
    if claimed > 0:
        ratio = _pairs((loss - share * divergence)[None], b[None], donors, rows)
        share_se = float(standard_error(ratio, rows.weights, rows.clusters)[0]) / claimed
    return Claim(pairs.repeats, estimate, se, share, share_se, excess)


def _pairs(T: FloatArray, b: FloatArray, donors: IntArray, rows: Rows) -> PairTerms:
    return all_pairs(T, b, rows.weights) if rows.exact else shuffled_pairs(T, b, donors, rows.weights)


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
