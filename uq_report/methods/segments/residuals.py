"""Segments where predictions are wrong on average: leaves of trees on the residual, each judged on the other half."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.special import rel_entr

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import MeasureFacts, Omission, Result
from ...core.model.sampling import Sampling
from ...core.support.arrays import BoolArray, FloatArray
from ...core.support.limits import check_limits
from ...core.support.text import short
from ...distributions import Categorical
from ...evidence import ids
from ...evidence.segments import RESIDUAL
from ..shared.estimates import diagnostic, error_of, estimate, row_pieces
from ..shared.predicted import predicted
from .tree import Segment

LEAVES = 4
CLIP = 3.0  # standard deviations: a tree of squared error follows single large residuals otherwise
LEAST_UNITS = 10  # of a leaf that is judged, and of the other observations
LEAST_EVENTS = 10  # outcomes of a class, observed or expected
COLUMNS = (
    *("item", "segment", "level", "n", "units", "share", "n_rest", "outcome", "predicted", "unit", "nats"),
    *("difference", "difference_std_error", "freedom"),
)
FACTS = MeasureFacts("outcome less prediction", "standard deviations of the model", "loss")


class ResidualTarget(NamedTuple):
    """Outcome, mean and variance of each observation, shape (n,): of a number, or of one class (`level`)."""

    level: str
    unit: str
    outcome: FloatArray
    mean: FloatArray
    variance: FloatArray

    @property
    def of_class(self) -> bool:
        """Whether the outcome is 0 or 1."""
        return self.unit == "probability"

    @property
    def residual(self) -> FloatArray:
        """The outcome less the prediction."""
        return self.outcome - self.mean

    @property
    def grown_on(self) -> FloatArray:
        """The target of the tree: the residual, of a number in standard deviations and clipped."""
        if self.of_class:
            return self.residual
        scale = np.sqrt(self.variance)
        zeros = np.where(self.residual == 0, 0.0, CLIP * np.sign(self.residual))
        return np.clip(np.divide(self.residual, scale, out=zeros, where=scale > 0), -CLIP, CLIP)


def residual_targets(engine: Engine) -> tuple[list[ResidualTarget], tuple[Omission, ...]]:
    """Return the outcome's residuals: one of a number or of two classes, of more classes one each."""
    q, y = engine.baseline, engine.y
    if y is None:
        return [], (Omission(RESIDUAL, "", "it needs outcomes, which were not given"),)
    if q.censored:
        return [], (Omission(RESIDUAL, "", "outcomes that may be censored have no residual"),)
    missing = next((name for name in ("mean", "variance") if not {"proba", name} & q.supports), None)
    if missing is not None:
        return [], (Omission(RESIDUAL, "", q.why_not(missing)),)
    targets, omitted = [], []
    for number in predicted(engine):
        outcome, mean, variance = (np.asarray(part) for part in (number.y, number.rows, number.variance))
        level = "" if number.position is None else short(cast("Categorical", q).classes.tolist()[number.position])
        if number.position is not None and max(outcome.sum(), mean.sum()) < LEAST_EVENTS:
            few = f"{level}: fewer than {LEAST_EVENTS} outcomes are of this class, observed or expected"
            omitted.append(Omission(RESIDUAL, "", few))
        elif not (np.isfinite(mean) & np.isfinite(variance)).all():
            omitted.append(Omission(RESIDUAL, "", "a mean or a variance is infinite"))
        else:
            targets.append(ResidualTarget(level, number.unit, outcome, mean, variance))
    return targets, tuple(omitted)


class JudgedLeaf(NamedTuple):
    """A leaf with the target whose tree made it, and the observations of the other half that judge it."""

    target: ResidualTarget
    segment: Segment
    judging: BoolArray

    def line(self, key: str, sampling: Sampling, confidence: float) -> dict[str, Any] | Omission:
        """Return the mean residual in standard deviations of the model, by itself and less that of the others.

        The standard error is the larger of the empirical one, over independent units, and of the one that the model's
        variances imply.
        """
        target, inside = self.target, self.segment.rows & self.judging
        rest = self.judging & ~inside
        part, other = sampling.part(inside), sampling.part(rest)
        if min(part.units, other.units) < LEAST_UNITS:
            few = f"fewer than {LEAST_UNITS} independent observations judge it, or the others"
            return Omission(RESIDUAL, "", f"{self.segment.words}: {few}")
        scale = float(np.sqrt(part.weights @ target.variance[inside]))
        if not scale > 0:
            return Omission(RESIDUAL, "", f"{self.segment.words}: the model's variance is 0")
        residual = target.residual
        mean, empirical = (float(number) for number in part.mean(residual[inside]))
        stated = [float(np.square(x.weights) @ target.variance[rows]) for x, rows in ((part, inside), (other, rest))]
        error = max(empirical, np.sqrt(stated[0])) / scale
        both = error_of(row_pieces(residual, inside, rest, sampling), inside | rest, sampling)
        outcome, predicted = (float(part.weights @ x[inside]) for x in (target.outcome, target.mean))
        size, whole = mean / scale, sampling.weights[self.judging].sum()
        line = estimate(size, error, part.interval(size, error, confidence), confidence, RESIDUAL)
        return line | {
            "item": self.segment.words,
            "segment": key,
            "level": target.level,
            "n": int(inside.sum()),
            "units": part.units,
            "share": float(sampling.weights[inside].sum() / whole),
            "n_rest": int(rest.sum()),
            "outcome": outcome,
            "predicted": predicted,
            "unit": target.unit,
            "nats": _bernoulli(outcome, predicted) if target.of_class else size**2 / 2,
            "difference": size - float(other.mean(residual[rest])[0]) / scale,
            "difference_std_error": max(both, np.sqrt(sum(stated))) / scale,
            "freedom": min(part.units, other.units) - 1,
        }


def _bernoulli(outcome: float, predicted: float) -> float:
    """Return the divergence of the mean prediction from the mean outcome, in nats.

    Examples
    --------
    >>> f"{_bernoulli(0.24, 0.04):.2f}, {_bernoulli(0.5, 0.5):.2f}"
    '0.25, 0.00'
    """
    p, q = (np.clip([x, 1 - x], np.finfo(float).tiny, None) for x in (outcome, predicted))
    return float(rel_entr(p, q).sum())


def residuals_result(
    leaves: Iterable[JudgedLeaf], omitted: Sequence[Omission], sampling: Sampling, confidence: float
) -> Result:
    """Return the result ``segments.residuals``."""
    lines, made_of = [], {}
    for number, leaf in enumerate(leaves, 1):
        check_limits()
        key = f"{RESIDUAL} {number}"
        lines.append(leaf.line(key, sampling, confidence))
        if not isinstance(lines[-1], Omission):
            made_of[key] = list(leaf.segment.features)
    return diagnostic(
        ids.SEGMENTS_RESIDUALS,
        "Segments by outcome less prediction",
        lines,
        COLUMNS,
        x="share",
        notes=(
            f"Trees of {LEAVES} leaves on the residual; each half of the observations judges the leaves of the other.",
            "Standard deviations are the root of the model's mean variance in the segment.",
            "nats: of a class, the divergence of the mean prediction from the mean outcome; else half the square.",
            *sampling.notes(),
        ),
        omissions=omitted,
        meta={"made_of": made_of},
        measures={RESIDUAL: FACTS},
    )
