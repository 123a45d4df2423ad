"""Whether the other features cover a feature's information about y, from the result ``cid``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.arrays import FloatArray
from ..core.results import Result
from ..core.run import Run
from ..core.verdicts import holm
from ._reading import freedom, lines, two_sided


class Cover(NamedTuple):
    """Covered information CI of one feature, in nats, and its state: covered, not covered or undetermined."""

    feature: str
    covered: float
    lower: float
    upper: float
    confidence: float
    share: float
    state: str


def covers(result: Result, run: Run, margin: float, share: float, level: float) -> list[Cover]:
    """Judge every feature's covered information CI against `margin` nats and against `share` of I(X; Y).

    *Covered* needs both ``CI - margin > 0`` and ``CI - share I(X; Y) > 0``: the larger of the two p-values,
    two-sided and Holm-adjusted over features, is at most `level`. *Not covered* needs one of them below 0
    by its own two-sided test. The standard errors are over new rows, given the fitted field, as in ``cid``.
    """
    table = lines(result, item="covered information").reset_index(drop=True)
    mutual = lines(result, item="mutual information").set_index("feature").loc[table["feature"]]
    CI, MI = (one["estimate"].to_numpy(dtype=float) for one in (table, mutual))
    errors = [one["std_error"].to_numpy(dtype=float) for one in (table, mutual)]
    excess = np.stack([CI - margin, CI - share * MI])
    p_values = two_sided(excess, np.stack([errors[0], _error(result, run, share, *errors)]), freedom(run))
    raised = np.where((excess > 0).all(axis=0), p_values.max(axis=0), 1.0)
    raised = holm(np.where(np.isnan(p_values).any(axis=0), np.nan, raised))
    cleared = ((excess < 0) & (p_values <= level)).any(axis=0)
    states = np.where(raised <= level, "covered", np.where(cleared, "not covered", "undetermined"))
    net = np.divide(np.maximum(CI, 0), MI, out=np.zeros_like(CI), where=MI > 0)
    return [
        Cover(
            feature=str(line["feature"]),
            covered=float(line["estimate"]),
            lower=float(line["lower"]),
            upper=float(line["upper"]),
            confidence=float(line["confidence"]),
            share=part,
            state=state,
        )
        for line, part, state in zip(table.to_dict("records"), net.tolist(), states.tolist(), strict=True)
    ]


def _error(result: Result, run: Run, share: float, covered: FloatArray, mutual: FloatArray) -> FloatArray:
    """Return the standard error of CI - share I(X; Y).

    From the row terms where rows count alike; with weights or clusters, which a run does not keep, the
    sum of both standard errors, which it cannot exceed.
    """
    rows, facts = result.rows, run.subject
    if rows is None or facts.get("weights", True) or facts.get("clusters"):
        return covered + share * mutual
    values = rows.values[rows.measures.index("covered")] - share * rows.values[rows.measures.index("mutual")]
    return np.asarray(values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]))
