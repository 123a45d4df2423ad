"""The losses that UQ201 and UQ202 judge: more with the partners lost too, and what a model does not notice."""

from __future__ import annotations

from math import isnan, nan
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ...checks.reading import SignVerdict, likelihood, listed, signs, two_sided
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, NLL, NLL_CLIPPED
from ...core.statistics.verdicts import holm
from ...core.support.arrays import FloatArray
from ...core.support.numbers import fixed, number, places, unit_phrase, value_words
from ...core.support.text import short
from ...evidence.importance import POSITIVE, UNDETERMINED, CoverCorrected, CoverCorrectedLine, Pfi, PfiDelta
from ...evidence.run import Run
from ...evidence.view import of_measure


class Covered(NamedTuple):
    """A feature with partners, and the adjusted p-value of corrected less plain importance beyond the margin."""

    line: CoverCorrectedLine
    partners: str
    p_value: float

    @property
    def observed(self) -> dict[str, float]:
        """What the rule judges."""
        line = self.line
        return {"p_adjusted": self.p_value, "beyond": line.change_lower - line.margin}

    @property
    def cleared(self) -> bool:
        """Whether the interval stays within the margin."""
        return not self.line.unreliable and self.line.change_upper <= self.line.margin

    def numbers(self) -> str:
        """Return the feature with both importances, in short."""
        line = self.line
        return f"{short(line.feature)} ({number(line.plain, 2)} alone, {number(line.estimate, 2)} with {self.partners})"

    def sentences(self, unit: str) -> str:
        """Return what its permuted values cost alone, with its partners lost too, and the difference."""
        line = self.line
        more = value_words(line.change, line.change_lower, line.change_upper, unit, confidence=line.confidence)
        in_unit = f" {unit_phrase(unit)}".rstrip()
        return (
            f"Wrong values of {short(line.feature)} alone cost {number(line.plain, 2)}{in_unit}; with those of "
            f"{self.partners} wrong too they cost {number(line.estimate, 2)}{in_unit}, more by {more}"
        )


def main_loss(view: CoverCorrected) -> str:
    """Return the likelihood measure, else the first loss, else the empty string."""
    facts = view.result.measures
    losses = [name for name in view.measures if name in facts and facts[name].role == "loss"]
    return next((name for name in (NLL.name, NLL_CLIPPED.name, *losses) if name in view.measures), "")


def covered(view: CoverCorrected, measure: str) -> list[Covered]:
    """Test every feature with partners: two-sided, Holm-adjusted over these features, largest change first."""
    lines = [line for line in of_measure(view.lines, measure) if view.partners.get(line.feature)]
    excess = np.array([line.change - line.margin for line in lines])
    errors = np.array([nan if line.unreliable else line.change_std_error for line in lines])
    p_values = _above_zero(excess, errors, view.degrees_of_freedom)
    features = [Covered(line, listed(view.partners[line.feature]), p) for line, p in zip(lines, p_values, strict=True)]
    return sorted(features, key=lambda feature: -feature.line.change)


def _above_zero(excess: FloatArray, errors: FloatArray, df: float) -> list[float]:
    """Return two-sided p-values, Holm-adjusted; 1 for what is not above 0, NaN without an error."""
    p_values = np.where(excess > 0, two_sided(excess, errors, df), np.where(np.isnan(errors), np.nan, 1.0))
    return list(holm(p_values).tolist())


class Unnoticed(NamedTuple):
    """L - E of one feature with its interval, in nats, and the adjusted p-value of its excess over the margin."""

    loss: SignVerdict
    estimate: float
    lower: float
    upper: float
    p_value: float

    @property
    def observed(self) -> dict[str, float]:
        """What the rule judges."""
        p_values = {"p_likelihood": self.loss.p_for(POSITIVE), "p_unnoticed": self.p_value}
        return {**p_values, "unnoticed": self.estimate}

    def sentence(self) -> str:
        """Return by how much the model predicts worse, and how much of it goes unnoticed."""
        loss = self.loss
        part = value_words(self.estimate, self.lower, self.upper, "nats", confidence=loss.confidence)
        whole = fixed(loss.estimate, places(self.lower, self.upper) or 3)
        cause = f"that wrong values of {short(loss.feature)} cost"
        if self.estimate < loss.estimate:
            return f"The model does not notice {part} of the {whole} nats a row {cause}"
        return f"The model notices nothing of the loss {cause}, {part} a row"

    def numbers(self) -> str:
        """Return the feature with what goes unnoticed, in short."""
        return f"{short(self.loss.feature)} ({number(self.estimate, 2)} of {number(self.loss.estimate, 2)} nats)"

    def may_exceed(self, margin: float) -> bool:
        """Say whether more than `margin` nats may go unnoticed; an interval not to be trusted rules nothing out."""
        return (isnan(self.p_value) or self.upper > margin) and self.loss.verdict in (POSITIVE, UNDETERMINED)


def affected(run: Run, feature: Unnoticed, margin: float) -> float | None:
    """Return the share of rows whose own loss rises by more than `margin` nats above their own stated uncertainty."""
    view = PfiDelta.find(run)
    rows, name = None if view is None else view.result.rows, feature.loss.feature
    if rows is None or name not in rows.features or not {NLL.name, ENTROPY.name} <= set(rows.measures):
        return None
    return float((rows.of(NLL.name, name) - rows.of(ENTROPY.name, name) > margin).mean())


def unnoticed(rule: Rule, view: Pfi) -> list[Unnoticed]:
    """Return what the model does not notice, feature by feature, from the paired row terms; rows count alike.

    Both importances come from the same shuffles, so the standard error is that of the differences of their
    row terms. Their noise of the shuffles is left in: never too narrow. Where either has an interval that is not to
    be trusted there is no p-value.
    """
    rows, pair = view.result.rows, (likelihood(view), ENTROPY.name)
    if rows is None or not set(pair) <= set(rows.measures):
        return []
    level, df = rule.thresholds["level"], view.degrees_of_freedom
    losses, doubts = (signs(view, measure, level) for measure in pair)
    both = [(losses[f], doubts[f]) for f in losses if f in doubts]
    terms = [rows.of(pair[0], loss.feature) - rows.of(pair[1], loss.feature) for loss, _ in both]
    estimates = np.array([loss.estimate - doubt.estimate for loss, doubt in both])
    errors = np.array([term.std(ddof=1) / np.sqrt(len(term)) for term in terms])
    trusted = np.where([bool(loss.unreliable or doubt.unreliable) for loss, doubt in both], np.nan, errors)
    p_values = _above_zero(estimates - rule.thresholds["margin"], trusted, df)
    features = []
    for (loss, _), value, error, p in zip(both, estimates.tolist(), errors.tolist(), p_values, strict=True):
        reach = float(stdtrit(df, (1 + loss.confidence) / 2)) * error
        features.append(Unnoticed(loss, value, value - reach, value + reach, p))
    return features
