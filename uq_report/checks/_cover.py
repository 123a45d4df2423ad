"""Whether the other features cover a feature's information about y, from the result of `evidence.information.Cid`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.arrays import FloatArray
from ..core.verdicts import holm
from ..evidence.information import COVERED, MUTUAL, Cid, ItemLine
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..evidence.view import by_feature
from ..rules.reading import freedom, two_sided
from ..rules.rule import Rule

ROW_TERMS = ("covered", "mutual")  # measures of the result's values by row


class Cover(NamedTuple):
    """Covered information of one feature, in nats: its share of I(X; Y), and the adjusted p-value of both excesses."""

    line: ItemLine
    share: float
    p_value: float
    cleared: bool

    @property
    def observed(self) -> dict[str, float]:
        """What the rule judges."""
        return {"p_covered": self.p_value, "covered": self.line.estimate, "covered_share": self.share}


def covers(rule: Rule, cid: Cid, run: Run) -> dict[str, Cover]:
    """Test every feature's covered information CI against `margin` nats and against `share` of I(X; Y).

    The p-value is for both ``CI - margin > 0`` and ``CI - share I(X; Y) > 0``: the larger of the two, two-sided
    and Holm-adjusted over features. *Cleared* needs one of them below 0 by its own two-sided test. The standard
    errors are over new rows, given the fitted field, as in the result.
    """
    lines, mutuals = (by_feature(line for line in cid.lines if line.item == item) for item in (COVERED, MUTUAL))
    both = [(line, mutuals[feature]) for feature, line in lines.items()]
    CI, MI = np.array([[one.estimate for one in pair] for pair in both]).reshape(-1, 2).T
    errors = np.array([[one.std_error for one in pair] for pair in both]).reshape(-1, 2).T
    margin, share, level = (rule.thresholds[name] for name in ("margin", "share", "level"))
    excess = np.stack([CI - margin, CI - share * MI])
    p_values = two_sided(excess, np.stack([errors[0], _error(cid, run, share, *errors)]), freedom(run))
    largest = np.where((excess > 0).all(axis=0), p_values.max(axis=0), 1.0)
    adjusted = holm(np.where(np.isnan(p_values).any(axis=0), np.nan, largest))
    cleared = np.any((excess < 0) & (p_values <= level), axis=0)
    # where nothing is shared with y, what is covered is all of it
    part = np.minimum(np.divide(np.maximum(CI, 0), MI, out=(CI > 0).astype(float), where=MI > 0), 1)
    return {
        line.feature: Cover(line, *numbers)
        for (line, _), *numbers in zip(both, part.tolist(), adjusted.tolist(), cleared.tolist(), strict=True)
    }


def _error(cid: Cid, run: Run, share: float, covered: FloatArray, mutual: FloatArray) -> FloatArray:
    """Return the standard error of CI - share I(X; Y).

    From the row terms where rows count alike; with weights or clusters, which a run does not keep, the
    sum of both standard errors, which it cannot exceed.
    """
    rows, facts = cid.result.rows, SubjectFacts.of(run)
    if rows is None or facts.weights is not False or facts.clusters:
        return covered + share * mutual
    own, all_of_it = (rows.values[rows.measures.index(measure)] for measure in ROW_TERMS)
    values = own - share * all_of_it
    return np.asarray(values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]))
