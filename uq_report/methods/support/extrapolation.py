"""Extrapolation: what the model does on combinations of values that the data does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from ...checks.family import NotJudgedError, Said, family, needed, outcome, require, together
from ...checks.reading import RuleOutcome, absent, lacking, listed, two_sided, with_reasons
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, LOG_ODDS, PREDICTION
from ...core.statistics.curve_gap import LEAST, widest_parting
from ...core.support.errors import check_options
from ...core.support.numbers import number, plain, share_words, value_words
from ...core.support.text import short
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.finding import Outcome
from ...evidence.importance import Pfi, PfiLine
from ...evidence.information import RedundancyJoint
from ...evidence.profiles import Ale, Pdp
from ...evidence.rows import SHUFFLED, SupportView
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import largest_first, of_measure
from ..shared.checks import observed, shares, span

NO_SCALE = "no average and local effect on a scale where models are additive (log-odds, the prediction of a number)"
FLAT = 1e-9


@dataclass(frozen=True)
class Extrapolation:
    """Looks for what the model does where shuffles and partial dependence take it.

    Both are observations: whether the model is right there, is inconclusive on these observations.

    UQ311 asks for an Entropy-PFI below -`margin`, Holm-adjusted over features.

    UQ312 asks for a point where a PDP and an ALE have changed by amounts that differ by more than the sum
    of their standard errors allows (`uq_report.core.statistics.curve_gap`), by more than `part` of the largest range of
    any feature's curve, and by more than the grid of the PDP leaves open: between its points the PDP may be
    anything from one neighbour to the other. Compared is the scale on which models are additive: log-odds, or
    the prediction of a regression; on any other, curves part for additive models with dependent features. All
    points and features are Bonferroni-adjusted together, at half the level, so that both rules together keep it.

    Parameters
    ----------
    level : float, default=0.05
    margin : float, default=0.01
        By how much more confident the model must become, in nats.
    part : float, default=0.1
        By which part of the largest range curves must differ.
    """

    level: float = 0.05
    margin: float = 0.01
    part: float = LEAST

    name: ClassVar[str] = "extrapolation"
    title: ClassVar[str] = "Extrapolation"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        limits = (*shares(self, "level", "part"), ("margin", self.margin >= 0, "a number >= 0"))
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two rules, with this check's thresholds."""
        return (
            Rule(
                code="UQ311",
                title="The model becomes surer when a feature is exchanged",
                thresholds={"level": self.level, "margin": self.margin},
                when="With exchanged values of a feature the model becomes surer by more than {margin} nats "
                "(Entropy-PFI below −{margin}; level {level}, Holm-adjusted over features).",
                raised=("surer > margin and p_adjusted <= level",),
                rests_on="wood:section 3.5",
            ),
            Rule(
                code="UQ312",
                title="Average and local effect of a feature disagree",
                thresholds={"level": self.level / 2, "range": self.part},
                when="On the scale where models are additive (log-odds, or the prediction of a regression) PDP and "
                "ALE along a numeric feature change by amounts that differ by more than their errors and the grid "
                "allow (level {level}, adjusted over all points and curves), and by more than {range:pct} of the "
                "largest range of any curve.",
                raised=("share > range and p_adjusted <= level",),
                rests_on="apley:section 1",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's Entropy-PFI and profiles."""
        return outcome(self, run, _surer, _parted)


def _parted(rule: Rule, run: Run) -> RuleOutcome:
    """Judge PDP against ALE on the scale where models are additive."""
    missing = [view.id for view in (Ale, Pdp) if view.find(run) is None]
    require(not missing, " and ".join(absent(run, name) for name in missing))
    local, average = needed(Ale, run), needed(Pdp, run)
    # models are additive in the log-odds, and a regression in its prediction: on other scales curves part anyway
    scales = (LOG_ODDS, PREDICTION) if SubjectFacts.of(run).task == "regression" else (LOG_ODDS,)
    measure = next((x for x in scales if x.name in local.measures and x.name in average.measures), None)
    if measure is None:
        raise NotJudgedError(NO_SCALE)
    pairs = curves(local, average, measure.name)
    require(pairs, "no numeric feature has both an average and a local effect")
    largest = max(float(np.ptp(curve[col.ESTIMATE])) for pair in pairs.values() for curve in pair)
    unknown = [name for name, pair in pairs.items() if _unknown(*pair)]
    known = {name: pair for name, pair in pairs.items() if name not in unknown}
    compared = (_compared(name, *pair, rule.thresholds, len(pairs), largest) for name, pair in known.items())
    return family(
        rule,
        sorted((x for x in compared if x is not None), key=lambda x: -x.share),
        lambda x: {"share": x.share, "p_adjusted": x.p_adjusted},
        lambda *apart: _difference(measure.title, measure.name, apart, run),
        by=together,
        undecided=lambda _: unknown,
        passed="No average effect is shown to part from the local effect.",
    )


class Apart(NamedTuple):
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


def curves(local: Ale, average: Pdp, measure: str) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Return the local and the average effect of numeric features in order of x, where both are there."""
    if average.result.options.get("mode", "plain") == "derivative":
        return {}
    first, second = (
        {str(f): curve.sort_values(col.X) for f, curve in e[e[col.MEASURE] == measure].groupby(col.FEATURE, sort=False)}
        for e in (local.result.estimates, average.result.estimates)
    )
    return {f: (curve, second[f]) for f, curve in first.items() if f in second and (curve[col.LEVEL] == "").all()}


def _unknown(local: pd.DataFrame, partial: pd.DataFrame) -> bool:
    """Return whether curves that are not flat have an error that is not known."""
    return not _flat(local, partial) and bool(
        local[col.STD_ERROR_CHANGE].isna().any() or partial[col.STD_ERROR].isna().any()
    )


def _flat(*curves: pd.DataFrame) -> bool:
    values = [curve[col.ESTIMATE].to_numpy(dtype=float) for curve in curves]
    return bool(max(map(np.ptp, values)) <= FLAT * max(np.abs(value).max() for value in values))


def _compared(
    name: str,
    local: pd.DataFrame,
    partial: pd.DataFrame,
    thresholds: Mapping[str, float],
    n_curves: int,
    largest: float,
) -> Apart | None:
    """Return where ALE and PDP of a feature part most, None where they cannot.

    `largest` is the largest range of the `n_curves` curves.
    """
    if _flat(local, partial):
        return None
    confidence = 1 - thresholds["level"] / n_curves
    widest = widest_parting(local, nearest_partial(local, partial), confidence, thresholds["range"], largest)
    if widest is None:
        return None
    end, start, change, nearest = widest.at
    x, level = (partial[name].to_numpy(dtype=float) for name in (col.X, col.ESTIMATE))
    before, after = np.interp([start, end], x, level)
    p_adjusted, reach = widest.p_value * n_curves, widest.reach(confidence)
    return Apart(name, start, end, change, float(after - before), widest.share, p_adjusted, change - nearest, reach)


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


def pictured(run: Run, *features: str) -> tuple[str, ...]:
    """Return the result that shows one of the features and its partner before and after a shuffle, if there is one."""
    joint = RedundancyJoint.find(run)
    return (joint.id,) if joint is not None and joint.result.frame[col.FEATURE].isin(features).any() else ()


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
        passed="Of no feature the model becomes surer when it is exchanged, beyond the margin.",
    )


def _exchanged(margin: float, lines: Sequence[PfiLine], run: Run) -> Said:
    """Return one finding on all features whose exchange makes the model more confident, the largest first."""
    line, features = lines[0], tuple(line.feature for line in lines)
    words = value_words(-line.estimate, -line.upper, -line.lower, "nats", confidence=line.confidence)
    others = [f"{short(other.feature)} ({number(-other.estimate, 2)} nats)" for other in lines[1:]]
    more = f"; so with {listed(others)}" if others else ""
    outside = _outside(run, features)
    return {
        "statement": f"With exchanged values of {short(line.feature)} the model becomes surer by {words}{more}. "
        f"{outside or 'Yet'} whether it is right there these rows cannot tell.",
        "evidence": (ids.PFI, *((ids.SUPPORT,) if outside else ()), *pictured(run, *features)),
        "remedy": "Collect outcomes for such rows before relying on its confidence.",
        "measures": (ENTROPY.name,),
        "features": features,
        "threshold": -margin,
        **observed(line),
    }


def _outside(run: Run, features: Sequence[str]) -> str:
    """Say how many of the exchanged rows are outside the support; empty where that is not known."""
    view = SupportView.find(run)
    lines = view.lines if view else ()
    shares = [line.estimate for line in lines if line.item == SHUFFLED and line.feature in features]
    if not shares:
        return ""
    up_to = "Up to " if len(features) > 1 else ""
    return f"{up_to}{share_words(max(shares))} of the exchanged rows are unlike any training row, and"


def _difference(title: str, measure: str, parted: Sequence[Apart], run: Run) -> Said:
    """Return one finding on all features whose curves part, the widest first."""
    first, features = parted[0], tuple(apart.feature for apart in parted)
    others = [f"{short(apart.feature)} ({share_words(apart.share)})" for apart in parted[1:]]
    more = f", and so along {listed(others)}" if others else ""
    return {
        "statement": f"Between {short(first.feature)} = {plain(first.start)} and {plain(first.end)} the {title} "
        f"changes by {number(first.local)} near the data, and by {number(first.average)} when every row is set to "
        f"these values: apart by {share_words(first.share)} of the largest range of any curve{more}. What happens "
        "there depends on features that go together.",
        "evidence": (ids.ALE, ids.PDP, *pictured(run, *features)),
        "remedy": "Read the local effect of these features, not the average one.",
        "measures": (measure,),
        "features": features,
        "threshold": 0.0,
        **span(first.least, first.least - first.reach, first.least + first.reach),
    }
