"""Extrapolation: what the model does where permutations and partial dependence leave the training domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from ...checks.family import Judge, NotJudgedError, Said, TableCheck, family, needed, require, together
from ...checks.reading import RuleOutcome, absent, and_with, lacking, size_within, two_sided, with_reasons
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, LOG_ODDS, PREDICTION, Measure
from ...core.statistics.curve_gap import LEAST, widest_parting
from ...core.support import options as opt
from ...core.support.numbers import number, plain, share_words, value_words
from ...core.support.text import short
from ...evidence import columns as col
from ...evidence import ids
from ...evidence import rows as facts
from ...evidence.importance import Pfi, PfiLine
from ...evidence.information import RedundancyJoint
from ...evidence.profiles import Ale, Pdp
from ...evidence.rows import SupportView
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import largest_first, of_measure
from ..shared.checks import observed, span

NO_SCALE = "no average and local effect on a scale where models are additive (log-odds, the prediction of a number)"
FLAT = 1e-9

SURER = Rule(
    code="UQ311",
    title="Permuting a feature lowers the stated uncertainty",
    options=("level", "margin"),
    when="Permuting a feature lowers the entropy by more than {margin} nats on average (Entropy-PFI below "
    "−{margin}; level {level}, Holm-adjusted over features).",
    raised=("surer > margin and p_adjusted <= level",),
    rests_on="wood:section 3.5",
)
CURVES_DIFFER = Rule(
    code="UQ312",
    title="Average and local effect of a feature disagree",
    options=("level/2", "min_share"),
    when="On the scale where models are additive (log-odds, or the prediction of a regression) PDP and ALE along a "
    "numeric feature change by amounts that differ by more than their errors and the grid allow (level {level}, "
    "adjusted over all points and curves), and by more than {min_share:pct} of the largest range of any curve.",
    raised=("share > min_share and p_adjusted <= level",),
    rests_on="apley:section 1",
)


def _surer(rule: Rule, run: Run) -> RuleOutcome:
    """Judge by how much the model becomes more confident when a feature is exchanged."""
    view = needed(Pfi, run)
    lines = largest_first(of_measure(view.lines, ENTROPY.name), sign=-1)
    require(lines, lacking(view, ENTROPY.name))
    margin = rule.thresholds["margin"]
    excess, errors = np.array([(-x.estimate - margin, np.nan if x.unreliable else x.std_error) for x in lines]).T

    def unsure(rest: Sequence[PfiLine]) -> tuple[str, ...]:
        features = [x.feature for x in view.lines if x in rest and (x.unreliable or not x.lower >= -margin)]
        return with_reasons(view, features, ENTROPY.name)

    return family(
        rule,
        lines,
        lambda x: {"surer": -x.estimate},
        lambda *raised: _exchanged(margin, raised, run),
        p_values=np.where(excess > 0, two_sided(excess, errors, view.degrees_of_freedom), 1.0),
        by=together,
        undecided=unsure,
        size=size_within(run, lines),
        passed="Permuting no feature lowers the stated uncertainty beyond the margin.",
    )


def _exchanged(margin: float, lines: Sequence[PfiLine], run: Run) -> Said:
    """Return one finding on all features whose exchange makes the model more confident, the largest first."""
    line, features = lines[0], tuple(line.feature for line in lines)
    words = value_words(-line.estimate, -line.upper, -line.lower, "nats", confidence=line.confidence)
    others = [f"{short(other.feature)} ({number(-other.estimate, 2)} nats)" for other in lines[1:]]
    outside = _exchanged_outside(run, features)
    return {
        "statement": f"Permuting {short(line.feature)} lowers the stated uncertainty by {words}"
        f"{and_with('; so does', others)}. {outside or UNTESTED}",
        "evidence": (ids.PFI, *((ids.SUPPORT,) if outside else ()), *_pictured(run, features)),
        "remedy": "Collect outcomes there before relying on the stated uncertainty.",
        "measures": (ENTROPY.name,),
        "features": features,
        "threshold": -margin,
        **observed(line),
    }


UNTESTED = "Whether it is calibrated there is not tested."


def _exchanged_outside(run: Run, features: Sequence[str]) -> str:
    """Say how many of the exchanged rows are outside the support; empty where that is not known."""
    view = SupportView.find(run)
    lines = view.lines if view else ()
    parts = [line.estimate for line in lines if line.item == facts.SHUFFLED and line.feature in features]
    up_to = "Up to " if len(features) > 1 else ""
    return (
        f"{up_to}{share_words(max(parts))} of the permuted observations are outside the training domain; whether "
        "the uncertainty is calibrated there is not tested."
        if parts
        else ""
    )


def _pictured(run: Run, features: Sequence[str]) -> tuple[str, ...]:
    """Return the result that shows one of the features and its partner before and after a shuffle, if there is one."""
    joint = RedundancyJoint.find(run)
    return (joint.id,) if joint is not None and joint.result.frame[col.FEATURE].isin(features).any() else ()


class CurveDifference(NamedTuple):
    """Between which points the curves of a feature change otherwise, by how much, and by which share of the range.

    `p_adjusted` is adjusted for points and curves. `least` is the difference of the changes that the grid leaves at
    least, `reach` half the width of its interval.
    """

    feature: str
    start: float
    end: float
    local: float
    average: float
    share: float
    p_adjusted: float
    least: float
    reach: float


def _curves(rule: Rule, run: Run) -> RuleOutcome:
    """Judge PDP against ALE on the scale where models are additive."""
    missing = [view.id for view in (Ale, Pdp) if view.find(run) is None]
    require(not missing, " and ".join(absent(run, name) for name in missing))
    local, average = needed(Ale, run), needed(Pdp, run)
    # models are additive in the log-odds, and a regression in its prediction: on other scales curves differ anyway
    scales = (LOG_ODDS, PREDICTION) if SubjectFacts.of(run).task == "regression" else (LOG_ODDS,)
    measure = next((x for x in scales if x.name in local.measures and x.name in average.measures), None)
    if measure is None:
        raise NotJudgedError(NO_SCALE)
    pairs = _curve_pairs(local, average, measure.name)
    require(pairs, "no numeric feature has both an average and a local effect")
    largest = max(float(np.ptp(curve[col.ESTIMATE])) for pair in pairs.values() for curve in pair)
    curved = {name: pair for name, pair in pairs.items() if not _flat(*pair)}
    unknown = [
        name
        for name, (ale, pdp) in curved.items()
        if ale[col.STD_ERROR_CHANGE].isna().any() or pdp[col.STD_ERROR].isna().any()
    ]
    known = {name: pair for name, pair in curved.items() if name not in unknown}
    compared = (_compared(name, *pair, rule.thresholds, len(pairs), largest) for name, pair in known.items())
    return family(
        rule,
        sorted((x for x in compared if x is not None), key=lambda x: -x.share),
        lambda x: {"share": x.share, "p_adjusted": x.p_adjusted},
        lambda *differences: _curve_difference(measure, differences, run),
        by=together,
        undecided=lambda _: unknown,
        passed="No average effect is shown to differ from the local effect.",
    )


def _curve_pairs(local: Ale, average: Pdp, measure: str) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Return the local and the average effect of numeric features in order of x, where both are there."""
    if average.result.options.get("mode", "plain") == "derivative":
        return {}
    first, second = (
        {str(f): curve.sort_values(col.X) for f, curve in e[e[col.MEASURE] == measure].groupby(col.FEATURE, sort=False)}
        for e in (local.result.estimates, average.result.estimates)
    )
    return {f: (curve, second[f]) for f, curve in first.items() if f in second and (curve[col.LEVEL] == "").all()}


def _flat(*curves: pd.DataFrame) -> bool:
    values = [curve[col.ESTIMATE].to_numpy(dtype=float) for curve in curves]
    return bool(max(map(np.ptp, values)) <= FLAT * max(np.abs(value).max() for value in values))


def _compared(
    name: str, local: pd.DataFrame, partial: pd.DataFrame, thresholds: Mapping[str, float], curves: int, largest: float
) -> CurveDifference | None:
    """Return where ALE and PDP of a feature differ most, None where they cannot.

    `largest` is the largest range of all `curves`.
    """
    confidence = 1 - thresholds["level"] / curves
    widest = widest_parting(local, nearest_partial(local, partial), confidence, thresholds["min_share"], largest)
    if widest is None:
        return None
    end, start, change, nearest = widest.at
    before, after = np.interp([start, end], partial[col.X].astype(float), partial[col.ESTIMATE].astype(float))
    p_adjusted, reach = widest.p_value * curves, widest.reach(confidence)
    rises = change, float(after - before)
    return CurveDifference(name, start, end, *rises, widest.share, p_adjusted, change - nearest, reach)


def nearest_partial(local: pd.DataFrame, partial: pd.DataFrame) -> pd.DataFrame:
    """Return the PDP at the points of the ALE, as near to it as its neighbouring grid points allow.

    Between two grid points the PDP may be anything from one of their values to the other: a step of the
    model that the ALE's bins and the PDP's grid place differently is no difference.

    Examples
    --------
    >>> local = pd.DataFrame({"x": [0.0, 1.0, 2.0], "estimate": [0.0, 1.0, 1.0]})
    >>> partial = pd.DataFrame({"x": [0.0, 0.9, 2.0], "estimate": [0.0, 0.0, 1.0], "std_error": 0.1})
    >>> nearest_partial(local, partial)["estimate"].tolist()
    [0.0, 1.0, 1.0]
    """
    at, level, error = (partial[name].to_numpy(dtype=float) for name in (col.X, col.ESTIMATE, col.STD_ERROR))
    local = local[(local[col.X] >= at[0]) & (local[col.X] <= at[-1])]
    if not len(local):
        return partial
    x = local[col.X].to_numpy(dtype=float)
    after = np.searchsorted(at, x, side="left")
    before = np.where(at[after] == x, after, after - 1)
    ends = np.stack([level[before], level[after]])
    accumulated = local[col.ESTIMATE].to_numpy(dtype=float)
    target = accumulated - accumulated[0] + np.interp(x[0], at, level)
    value = np.clip(target, ends.min(axis=0), ends.max(axis=0))
    return pd.DataFrame({col.X: x, col.ESTIMATE: value, col.STD_ERROR: np.maximum(error[before], error[after])})


def _curve_difference(measure: Measure, differences: Sequence[CurveDifference], run: Run) -> Said:
    """Return one finding on all features whose curves differ, the widest first."""
    first, features = differences[0], tuple(one.feature for one in differences)
    others = [f"{short(one.feature)} ({share_words(one.share)})" for one in differences[1:]]
    return {
        "statement": f"Between {short(first.feature)} = {plain(first.start)} and {plain(first.end)} the "
        f"{measure.title} changes by {number(first.local)} near the data, and by {number(first.average)} when every "
        f"observation is set to these values: a difference of {share_words(first.share)} of the largest range of any "
        f"curve{and_with(', and so along', others)}. The effect there depends on correlated features.",
        "evidence": (ids.ALE, ids.PDP, *_pictured(run, features)),
        "remedy": "Read the local effect of these features, not the average one.",
        "measures": (measure.name,),
        "features": features,
        "threshold": 0.0,
        **span(first.least, first.least - first.reach, first.least + first.reach),
    }


@dataclass(frozen=True)
class Extrapolation(TableCheck):
    """Looks for what the model does where shuffles and partial dependence take it.

    Both are observations: whether the model is right there, is inconclusive on these observations.

    UQ311 asks for an Entropy-PFI below -`margin`, Holm-adjusted over features.

    UQ312 asks for a point where a PDP and an ALE have changed by amounts that differ by more than the sum
    of their standard errors allows (`uq_report.core.statistics.curve_gap`), by more than `min_share` of the largest
    range of any feature's curve, and by more than the grid of the PDP leaves open: between its points the PDP may be
    anything from one neighbour to the other. Compared is the scale on which models are additive: log-odds, or
    the prediction of a regression; on any other, curves differ for additive models with dependent features. All
    points and features are Bonferroni-adjusted together, at half the level, so that both rules together keep it.

    Parameters
    ----------
    level : float, default=0.05
    margin : float, default=0.01
        By how much more confident the model must become, in nats.
    min_share : float, default=0.1
        By which share of the largest range curves must differ.
    """

    level: float = opt.share(0.05)
    margin: float = opt.not_negative(0.01)
    min_share: float = opt.share(LEAST)

    name: ClassVar[str] = "extrapolation"
    title: ClassVar[str] = "Extrapolation"
    table: ClassVar[tuple[Rule, ...]] = (SURER, CURVES_DIFFER)
    judges: ClassVar[tuple[Judge, ...]] = (_surer, _curves)
