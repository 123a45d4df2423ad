"""The loss that a model does not notice when a feature's values are wrong: Likelihood- less Entropy-PFI."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..core.measures import ENTROPY
from ..core.verdicts import holm
from ..evidence.importance import POSITIVE, UNDETERMINED, Pfi
from ..rules.reading import Sign, likelihood, signs, two_sided
from ..rules.rule import Rule


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

    def may_exceed(self, margin: float) -> bool:
        """Say whether more than `margin` nats may go unnoticed."""
        return self.upper > margin and self.loss.verdict in (POSITIVE, UNDETERMINED)


def unnoticed(rule: Rule, pfi: Pfi) -> dict[str, Unnoticed]:
    """Return what the model does not notice, by feature, from the paired row terms; rows count alike.

    Both importances come from the same shuffles, so the standard error is that of the differences of their
    row terms. Their noise of the shuffles is left in: never too narrow.
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
    p_values = holm(np.where(excess > 0, two_sided(excess, errors, df), np.where(np.isnan(errors), np.nan, 1.0)))
    for feature, value, error, p in zip(features, estimates, errors, p_values, strict=True):
        reach = float(stdtrit(df, (1 + losses[feature].confidence) / 2)) * error
        table[feature] = Unnoticed(losses[feature], float(value), float(value - reach), float(value + reach), float(p))
    return table
