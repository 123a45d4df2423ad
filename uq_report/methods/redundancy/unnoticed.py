"""The loss that a model does not notice when a feature's values are wrong: Likelihood- less Entropy-PFI."""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ...core.measures import ENTROPY, NLL
from ...core.numbers import fixed, number, places, value_words
from ...core.text import short
from ...core.verdicts import holm
from ...evidence.importance import POSITIVE, UNDETERMINED, Pfi, PfiDelta
from ...evidence.run import Run
from ...rules.reading import Sign, likelihood, signs, two_sided
from ...rules.rule import Rule


class Unnoticed(NamedTuple):
    """L - E of one feature with its interval, in nats, and the adjusted p-value of its excess over the margin."""

    loss: Sign
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


def affected(run: Run, one: Unnoticed, margin: float) -> float | None:
    """Return the share of rows whose own loss rises by more than `margin` nats above their own stated uncertainty."""
    view = PfiDelta.find(run)
    rows, feature = None if view is None else view.result.rows, one.loss.feature
    if rows is None or feature not in rows.features or not {NLL.name, ENTROPY.name} <= set(rows.measures):
        return None
    return float((rows.of(NLL.name, feature) - rows.of(ENTROPY.name, feature) > margin).mean())


def unnoticed(rule: Rule, pfi: Pfi) -> dict[str, Unnoticed]:
    """Return what the model does not notice, by feature, from the paired row terms; rows count alike.

    Both importances come from the same shuffles, so the standard error is that of the differences of their
    row terms. Their noise of the shuffles is left in: never too narrow. Where either has an interval that is not to
    be trusted there is no p-value.
    """
    rows, pair = pfi.result.rows, (likelihood(pfi), ENTROPY.name)
    if rows is None or not set(pair) <= set(rows.measures):
        return {}
    level, df = rule.thresholds["level"], pfi.degrees_of_freedom
    losses, doubts = (signs(pfi, measure, level) for measure in pair)
    table = {}
    features = [feature for feature in losses if feature in doubts]
    estimates = np.array([losses[f].estimate - doubts[f].estimate for f in features])
    terms = [rows.of(pair[0], feature) - rows.of(pair[1], feature) for feature in features]
    errors = np.array([term.std(ddof=1) / np.sqrt(len(term)) for term in terms])
    excess = estimates - rule.thresholds["margin"]
    tested = np.where([bool(losses[f].distrust or doubts[f].distrust) for f in features], np.nan, errors)
    p_values = holm(np.where(excess > 0, two_sided(excess, tested, df), np.where(np.isnan(tested), np.nan, 1.0)))
    for feature, value, error, p in zip(features, estimates, errors, p_values, strict=True):
        reach = float(stdtrit(df, (1 + losses[feature].confidence) / 2)) * error
        table[feature] = Unnoticed(losses[feature], float(value), float(value - reach), float(value + reach), float(p))
    return table
