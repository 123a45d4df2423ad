"""Friedman and Popescu's H-statistic: how much of a measure is interaction."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations, product
from math import comb
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import Measure
from ...core.model.results import Interaction, Omission, Result, bare_estimates
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.support import options as opt
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.errors import InputError
from ..shared.cards import CardedExplainer
from ..shared.choice import INFINITE_REMEDY, draw, row_measures
from ..shared.grids import features_of

ROUNDING = 1e-12


class Strength(NamedTuple):
    """H², the square root of its numerator (in the measure's unit), and the spread of its denominator."""

    h2: float
    strength: float
    joint_sd: float


@dataclass(frozen=True)
class HStatistic(CardedExplainer):
    """H² of every pair of features, and of each feature with all others, of any measure.

    ``H²_jk = Σ_i [PD_jk - PD_j - PD_k]² / Σ_i PD_jk²`` and ``H²_j = Σ_i [F - PD_j - PD_-j]² / Σ_i F²``
    with every PD centred by its mean (Friedman & Popescu 2008). PDs average over the same rows they
    are evaluated at. 0 for an additive measure; it may exceed 1, and is undefined where the joint PD
    is constant. Where the joint PD hardly varies the ratio is unstable: such pairs keep their number,
    and ``ranked`` is False. ``strength``, the root of the numerator per row, has the measure's unit.

    Parameters
    ----------
    measures : tuple of str
        What is explained, by the names of measures.
    features : tuple of str, optional
        All features by default.
    max_rows : int
        Rows used, drawn at random; n rows cost n (n - 1) predictions per feature and per pair.
    top : int, optional
        Pairs only among so many features, those with the largest total H²; None for all pairs.
    unstable_below : float
        Joint PDs with a standard deviation below this share of the measure's are not ranked.

    References
    ----------
    Friedman and Popescu (2008), doi:10.1214/07-AOAS148.
    """

    measures: tuple[str, ...] = ("prediction", "entropy")
    features: tuple[str, ...] | None = None
    max_rows: int = opt.at_least(3, 50)
    top: int | None = opt.option(6, "an integer >= 2 or None", lambda value: value is None or value >= 2)
    unstable_below: float = opt.option(0.01, "a number in [0, 1)", lambda value: 0 <= value < 1)

    name: ClassVar[str] = "h_statistic"
    section: ClassVar[str] = "robustness.interactions"
    priority: ClassVar[int] = 12

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted: every row with another row's values."""
        features = len(subject.features if self.features is None else self.features)
        pairs = comb(features if self.top is None else min(self.top, features), 2)
        rows = min(subject.n, self.max_rows)
        return rows * (rows - 1) * (features + pairs)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``h_statistic``: pairs, and rows with an empty ``feature_2`` for one feature with all others."""
        measures, omitted = row_measures(self.name, engine, self.measures)
        features, _ = features_of(self.name, subject, self.features)
        if len(features) < 2:
            raise InputError(f"h_statistic.features must be two or more; got {len(features)}. Nothing can interact.")
        rows = draw(engine.rng("rows"), subject.n, self.max_rows, subject.weights)
        if len(rows) < 3:
            raise InputError(f"h_statistic.X must have at least 3 rows; got {len(rows)}.")
        weights = Sampling.of(subject, rows).weights
        base = engine.unchanged(measures)[:, rows]
        dependences = partial(_dependences, engine, measures, rows, base)
        single = dependences([(f,) for f in features])
        strengths = {(f, ""): _of_measures(single[f,][0], single[f,][1], base, weights) for f in features}
        joint = dependences(list(combinations(self._leading(features, strengths), 2)))
        strengths |= {(a, b): _of_measures(single[a,][0], single[b,][0], joint[a, b][0], weights) for a, b in joint}
        table, gaps = [], list(omitted)
        for (m, measure), ((a, b), by_measure) in product(enumerate(measures), strengths.items()):
            if reason := _why_undefined(by_measure[m]):
                gaps.append(Omission(measure.name, f"{a} x {b}" if b else a, reason))
            else:
                ranked = bool(by_measure[m].joint_sd >= self.unstable_below * base[m].std())
                table.append((measure.name, a, b, *by_measure[m], ranked))
        further = ["feature_2", "strength", "joint_sd", "ranked"]
        columns = ["measure", "feature", "feature_2", "value", *further[1:]]
        estimates = bare_estimates(pd.DataFrame(table, columns=columns), *further)
        used = f"{len(rows)} of" if len(rows) < subject.n else "all"
        screened = f" Pairs are among the {self.top} features with the largest total H²." if self.top else ""
        interaction = Interaction(
            id=self.name,
            explainer=self.name,
            title="Interaction strength: H-statistic",
            frame=estimates.assign(repeat=0, value=estimates["estimate"])[list(Interaction.columns)],
            estimates=estimates,
            options=asdict(self),
            notes=(
                f"PDs are evaluated at and averaged over {used} {subject.n} observations.{screened}",
                "H² of a small sample is biased upwards; it has no interval.",
                f"Joint PDs with a standard deviation below {self.unstable_below:.0%} of the measure's are not ranked.",
            ),
            omissions=tuple(gaps),
        )
        return [interaction]

    def _leading(self, features: tuple[str, ...], totals: dict[tuple[str, str], list[Strength]]) -> tuple[str, ...]:
        """Return the features whose pairs are computed: those leading by total H² of any measure, in order."""
        if self.top is None or self.top >= len(features):
            return features
        lead = {f: max(np.nan_to_num(s.h2, nan=0.0) for s in totals[f, ""]) for f in features}
        chosen = sorted(features, key=lambda f: -lead[f])[: self.top]
        return tuple(f for f in features if f in chosen)


def _dependences(
    engine: Engine, measures: Sequence[Measure], rows: IntArray, base: FloatArray, sets: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], FloatArray]:
    """Return, per feature set S, PD_S and PD_-S at every row, shape (2, measures, rows).

    PD_S is at its own values over all rests, PD_-S at its rest over all values. Shift s gives row i the values of
    row i + s, so n - 1 shifts and the unchanged rows are all pairs.
    """
    subject, n = engine.subject, len(rows)
    weights = Sampling.of(subject, rows).weights
    sums = {features: np.stack([base * weights] * 2) for features in sets}
    donors, receivers = ((np.arange(n) + sign * np.arange(1, n)[:, None]) % n for sign in (1, -1))
    for features, total in sums.items():
        columns = tuple(subject.positions(f)[0] for f in features)
        variants = (Variant(columns, donors=own) for own in rows[donors])
        for group in engine.evaluate(variants, measures, rows, len(donors)):
            at = slice(group.first, group.first + group.values.shape[1])
            total[0] += np.take_along_axis(group.values * weights, receivers[None, at], axis=2).sum(axis=1)
            total[1] += (group.values * weights[donors[at]]).sum(axis=1)
    return sums


def _of_measures(first: FloatArray, second: FloatArray, both: FloatArray, weights: FloatArray) -> list[Strength]:
    return [pairwise(a, b, c, weights) for a, b, c in zip(first, second, both, strict=True)]


def pairwise(first: FloatArray, second: FloatArray, both: FloatArray, weights: FloatArray) -> Strength:
    """Return H²_jk from PD_j, PD_k and PD_jk at every row; H²_j from PD_j, PD_-j and the measure itself.

    Examples
    --------
    >>> a, b, w = np.array([0.0, 1.0, 2.0]), np.array([5.0, 1.0, 0.0]), np.full(3, 1 / 3)
    >>> bool(np.isclose(pairwise(a, b, a + b, w).h2, 0))
    True
    """
    rounding = ROUNDING * max(float(np.abs(part).max()) for part in (first, second, both))
    first, second, both = (part - weights @ part for part in (first, second, both))
    interaction, joint = (np.where(np.abs(part) < rounding, 0.0, part) for part in (both - first - second, both))
    above, below = (float(np.sqrt(weights @ part**2)) for part in (interaction, joint))
    return Strength((above / below) ** 2 if below > 0 else float("nan"), above, below)


def _why_undefined(strength: Strength) -> str:
    if not np.isfinite(strength.strength):
        return f"the measure is infinite for some observations: {INFINITE_REMEDY}"
    return "the joint partial dependence is constant, so H² is undefined" if np.isnan(strength.h2) else ""
