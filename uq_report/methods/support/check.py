"""Training domain: observations and permuted observations outside it, and what the model does there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from ...checks import reading
from ...checks.family import Judge, NotJudgedError, Said, TableCheck, family, needed, outcome, require, together
from ...checks.reading import RuleOutcome, listed
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, LOG_ODDS, PREDICTION, Measure
from ...core.statistics.curve_gap import LEAST, widest_parting
from ...core.support import options as opt
from ...core.support.numbers import interval, number, plain, share_words, value_words
from ...core.support.text import short
from ...evidence import columns as col, ids, rows as facts
from ...evidence.finding import Outcome, Symptom
from ...evidence.importance import Pfi, PfiLine
from ...evidence.information import RedundancyJoint
from ...evidence.profiles import Ale, Pdp
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import largest_first, of_measure
from ..shared.checks import about

WORDS = {
    facts.BELOW_RANGE: "{line.estimate:.0f} below the training minimum {line.bound}",
    facts.ABOVE_RANGE: "{line.estimate:.0f} above the training maximum {line.bound}",
    facts.UNSEEN_LEVEL: "{line.estimate:.0f} with a level that does not occur in training ({line.bound})",
    facts.NEWLY_MISSING: "{line.estimate:.0f} missing, while no value is missing in training",
}
# what a column that left its training range, or is distributed otherwise, explains: rows outside, faults of the model
OUTSIDE_ROWS, NEW_VALUES = "UQ301", "UQ303"
LOW = {OUTSIDE_ROWS: "margin", NEW_VALUES: "low", "UQ304": "low"}  # the threshold of a low finding
OF_MODEL = ("UQ101", "UQ121", "UQ123", "UQ401", "UQ402", "UQ001", "UQ003")

OUTSIDE = Rule.stated(OUTSIDE_ROWS)
SHUFFLED = Rule.stated("UQ302")
UNSEEN = Rule.stated(NEW_VALUES)
SHIFTED = Rule.stated("UQ304")
NEAR_COPIES = Rule.stated("UQ305")


def _shuffled(rule: Rule, run: Run) -> RuleOutcome:
    view = needed(facts.SupportView, run)
    limit = rule.thresholds["shuffled"]
    lines = largest_first(line for line in view.lines if line.item == facts.SHUFFLED)
    excess, errors = np.array([(line.estimate - limit, line.std_error) for line in lines]).reshape(-1, 2).T
    return family(
        rule,
        lines,
        lambda x: {"share": x.estimate},
        lambda *raised: _extrapolates(raised, limit),
        p_values=np.where(excess > 0, reading.two_sided(excess, errors, reading.freedom(run, view.units - 1)) / 2, 1.0),
        by=together,
        undecided=lambda rest: [
            f"{short(x.feature)} ({interval(100 * x.lower, 100 * x.upper)}% of the observations)"
            for x in view.lines
            if x in rest and x.upper > limit
        ],
        because=f"permuted values may leave the training domain; the limit is {share_words(limit)}",
        passed=f"Permuting no feature moves more than {share_words(limit)} of the observations outside the training "
        "domain.",
    )


def _symptoms(codes: Sequence[str], size: float, rule: Rule) -> tuple[Symptom, ...]:
    """Return what a shift explains: a cause is claimed from medium on, below it may be related; none of small ones."""
    if size < rule.thresholds[LOW[rule.code]]:
        return ()
    return tuple(Symptom(code=code, possible=size < rule.thresholds["medium"]) for code in codes)


def _outside(rule: Rule, line: facts.SupportLine) -> Said:
    return {
        "statement": f"{_share(line)} of the observations lie outside the training domain; of observations drawn as "
        f"the training sample at most {share_words(line.expected)} would. There the model extrapolates, and its stated "
        "uncertainty is not tested.",
        "remedy": "Restrict the use of the model to its training domain. Otherwise train it on observations like those "
        "outside.",
        "explains": _symptoms(OF_MODEL, line.estimate - line.expected, rule),
        **about(line, ids.SUPPORT, ids.SUPPORT_ROWS, threshold=line.expected),
    }


def _extrapolates(lines: Sequence[facts.SupportLine], limit: float) -> Said:
    """Return one finding on all features whose shuffle leaves the support, the farthest first."""
    others = [f"{short(other.feature)} ({share_words(other.estimate)})" for other in lines[1:]]
    return {
        "statement": f"Permuting {short(lines[0].feature)} moves {_share(lines[0])} of the observations outside the "
        f"training domain{reading.and_with('; so does', others)}. Permutation importance then describes extrapolation, "
        "not the value of the feature.",
        "remedy": "Read the local effect beside the permutation importance. Alternatively, permute the feature "
        "together with those it depends on.",
        **about(lines[0], ids.SUPPORT, features=tuple(line.feature for line in lines), threshold=limit),
    }


def _values(rule: Rule, run: Run) -> RuleOutcome:
    view = needed(facts.SupportValues, run)
    untested = [1.0] * (view.tests - len(view.lines))  # tests without such a value: they count, and have no line
    return family(
        rule,
        view.lines,
        lambda x: {"share": x.share},
        lambda *lines: _unseen(lines, rule),
        p_values=[*(line.p_value for line in view.lines), *untested],
        by=lambda x: x.feature,
        passed="Values that do not occur in training are no more than chance explains.",
    )


def _unseen(lines: Sequence[facts.ValueLine], rule: Rule) -> Said:
    """Return the finding on one feature with values that the training rows do not have."""
    largest = max(lines, key=lambda line: line.share)
    return {
        "statement": f"{short(largest.feature)} has more values that do not occur in the training sample than chance "
        f"explains: {listed(WORDS[line.item].format(line=line) for line in lines)}, of {largest.n} observations.",
        "evidence": (ids.SUPPORT_VALUES,),
        "remedy": "Check how the column was filled and coded. Document how the model treats such values.",
        "features": (largest.feature,),
        "threshold": 0.0,
        "observed": largest.share,
        "explains": (
            *_symptoms((OUTSIDE_ROWS, "UQ302", *OF_MODEL), largest.share, rule),
            *(Symptom(code="UQ705", feature=largest.feature) for line in lines if line.item == facts.NEWLY_MISSING),
        ),
    }


def _copies(rule: Rule, run: Run) -> RuleOutcome:
    lines = needed(facts.SupportCopies, run).lines
    words = [f"{share_words(x.share)} of the test and {share_words(x.share_train)} of the training" for x in lines]
    passed = f"Near copies of a training observation are {listed(words)} observations."
    return family(rule, lines, lambda x: {"excess": x.least}, lambda x: _near_copies(rule, x), passed=passed)


def _near_copies(rule: Rule, line: facts.CopiesLine) -> Said:
    return {
        "statement": f"{share_words(line.share)} of {line.n} observations lie far closer to one training "
        f"observation than to the next; of training observations {share_words(line.share_train)} do, an excess of at "
        f"least {share_words(line.least)}. These are copies with small changes, or repeated measurements of the same "
        "units: the model was fitted to them.",
        "remedy": "Find out where these observations come from. Split the data so that measurements of one unit stay "
        "together, and audit again.",
        "affected": f"at least {share_words(line.least)} of {line.n} observations",
        **about(line, facts.SupportCopies.id, threshold=rule.thresholds["copies"]),
    }


def _share(line: facts.SupportLine) -> str:
    """Return a share with its interval in words."""
    return share_words(line.estimate, line.lower, line.upper, confidence=line.confidence)


@dataclass(frozen=True)
class SupportCheck(TableCheck):
    """Judges whether audited rows, and the rows that permutations make, lie where the model was trained.

    UQ301 asks for an exact one-sided test, at half of `level`: more rows outside than rows drawn as the
    training rows would be. By fewer than `margin` of the rows it is an observation. UQ302 asks for a share of
    shuffled rows outside above `shuffled`, by a one-sided t-test, Holm-adjusted over the features at `level`: there
    the feature's permutation results rest on rows that do not occur. UQ303 asks for more values beyond the training
    range, unseen levels or newly missing values than chance gives, at the other half of `level`, Holm-adjusted.
    UQ305 asks for more near copies of training rows than training rows are of each other.

    Parameters
    ----------
    level : float
    shuffled : float
        Share of shuffled rows outside.
    margin : float
        Share of rows outside, beyond the expected share, below which UQ301 is an observation.
    tolerance : float
        UQ301 is undetermined, not cleared, if the interval of the share reaches this far above the expected share.
    copies, copies_medium, copies_high : float
        Share of near copies in excess of that of training rows.
    """

    level: float = opt.share(0.05)
    shuffled: float = opt.share(0.2)
    margin: float = opt.share(0.05)
    tolerance: float = opt.share(0.1)
    copies: float = opt.share(0.02)
    copies_medium: float = opt.share(0.05)
    copies_high: float = opt.share(0.2)

    name: ClassVar[str] = ids.SUPPORT
    title: ClassVar[str] = "Training support"
    table: ClassVar[tuple[Rule, ...]] = (OUTSIDE, SHUFFLED, UNSEEN, NEAR_COPIES)

    def limits(self) -> Iterable[opt.Limit]:
        """Return the limits of options that depend on each other."""
        order = self.copies < self.copies_medium < self.copies_high
        return (("copies", order, "numbers copies < medium < high"),)

    def check(self, run: Run) -> Outcome:
        """Judge the run's results on support."""
        return outcome(self, run, self._rows_outside, _shuffled, _values, _copies)

    def _rows_outside(self, rule: Rule, run: Run) -> RuleOutcome:
        view = needed(facts.SupportView, run)
        line = next(line for line in view.lines if line.item == facts.OUTSIDE)
        wide = line.upper > line.expected + self.tolerance
        return family(
            rule,
            [line],
            lambda x: {"p_value": x.p_value, "excess": x.estimate - x.expected},
            lambda x: _outside(rule, x),
            undecided=lambda rest: [f"the share of observations outside, {_share(line)}"] if rest and wide else [],
            size=reading.size_beyond(run, [(line.std_error, self.tolerance)], "no more than expected are outside"),
            passed=f"{_share(line)} of the observations are outside the training domain; of observations drawn as the "
            f"training sample {share_words(line.expected)} would be.",
        )


def _shifted(rule: Rule, run: Run) -> RuleOutcome:
    lines, limit = needed(facts.SupportShift, run).lines, share_words(rule.thresholds["low"])
    passed = f"No feature is shown to be farther than {limit} from its distribution in training."
    return family(rule, lines, lambda line: {"lower": line.lower}, lambda line: _shift(rule, line), passed=passed)


def _shift(rule: Rule, line: facts.ShiftLine) -> Said:
    least = share_words(line.lower)
    return {
        "statement": f"The distribution of {short(line.feature)} differs from training: at least {least} of the "
        f"observations would have to change for both to agree ({line.item}). The results of this audit hold for this "
        "test sample, not for the training population.",
        "remedy": "Find out whether the population or the data changed. A column may be filled or scaled in another "
        "way.",
        "affected": f"at least {least} of {line.n} observations",
        "explains": (
            Symptom(code=NEW_VALUES, feature=line.feature),
            *_symptoms((OUTSIDE_ROWS, *OF_MODEL), line.lower, rule),
        ),
        **about(line, facts.SupportShift.id, features=(line.feature,), threshold=rule.thresholds["low"]),
    }


@dataclass(frozen=True)
class Shift(TableCheck):
    """Judges whether a column of the audited rows is distributed as in training (UQ304).

    The lower end of the interval of the distance decides, which holds for all columns at once.

    Parameters
    ----------
    low, medium, high : float
        Share of the rows that would have to change.
    """

    low: float = 0.1
    medium: float = 0.25
    high: float = 0.5

    name: ClassVar[str] = "shift"
    title: ClassVar[str] = "Shift"
    table: ClassVar[tuple[Rule, ...]] = (SHIFTED,)
    judges: ClassVar[tuple[Judge, ...]] = (_shifted,)

    def limits(self) -> Iterable[opt.Limit]:
        """Return the limits of options that depend on each other."""
        return (("low", 0 < self.low < self.medium < self.high < 1, "numbers 0 < low < medium < high < 1"),)


NO_SCALE = "no average and local effect on a scale where models are additive (log-odds, the prediction of a number)"
FLAT = 1e-9

LOWERED = Rule.stated("UQ311")
CURVES_DIFFER = Rule.stated("UQ312")


def _surer(rule: Rule, run: Run) -> RuleOutcome:
    """Judge by how much the model becomes more confident when a feature is exchanged."""
    view = needed(Pfi, run)
    lines = largest_first(of_measure(view.lines, ENTROPY.name), sign=-1)
    require(lines, reading.lacking(view, ENTROPY.name))
    margin = rule.thresholds["margin"]
    excess, errors = np.array([(-x.estimate - margin, np.nan if x.unreliable else x.std_error) for x in lines]).T

    def inconclusive(rest: Sequence[PfiLine]) -> tuple[str, ...]:
        features = [x.feature for x in view.lines if x in rest and (x.unreliable or not x.lower >= -margin)]
        return reading.with_reasons(view, features, ENTROPY.name)

    return family(
        rule,
        lines,
        lambda x: {"lowered": -x.estimate},
        lambda *raised: _exchanged(margin, raised, run),
        p_values=np.where(excess > 0, reading.two_sided(excess, errors, view.degrees_of_freedom), 1.0),
        by=together,
        undecided=inconclusive,
        size=reading.size_within(run, lines),
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
        f"{reading.and_with('; so does', others)}. {outside or UNTESTED}",
        "remedy": "Collect outcomes there before relying on the stated uncertainty.",
        "measures": (ENTROPY.name,),
        "threshold": -margin,
        **about(line, ids.PFI, *((ids.SUPPORT,) if outside else ()), *_pictured(run, features), features=features),
    }


UNTESTED = "Whether it is calibrated there is not tested."


def _exchanged_outside(run: Run, features: Sequence[str]) -> str:
    """Say how many of the exchanged rows are outside the support; empty where that is not known."""
    view = facts.SupportView.find(run)
    lines = view.lines if view else ()
    parts = [line.estimate for line in lines if line.item == facts.SHUFFLED and line.feature in features]
    if not parts:
        return ""
    share = f"{'Up to ' if len(features) > 1 else ''}{share_words(max(parts))} of the permuted observations"
    return f"{share} are outside the training domain; whether the uncertainty is calibrated there is not tested."


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
    require(not missing, " and ".join(reading.absent(run, name) for name in missing))
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
    errors = {f: pd.concat([ale[col.STD_ERROR_CHANGE], pdp[col.STD_ERROR]]) for f, (ale, pdp) in curved.items()}
    unknown = [name for name in curved if errors[name].isna().any()]
    known = [name for name in curved if name not in unknown]
    compared = (_compared(name, *pairs[name], rule.thresholds, len(pairs), largest) for name in known)
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
    interval = (first.least, first.least - first.reach, first.least + first.reach)
    others = [f"{short(one.feature)} ({share_words(one.share)})" for one in differences[1:]]
    return {
        "statement": f"Between {short(first.feature)} = {plain(first.start)} and {plain(first.end)} the "
        f"{measure.title} changes by {number(first.local)} near the data, and by {number(first.average)} when every "
        f"observation is set to these values: a difference of {share_words(first.share)} of the largest range of any "
        f"curve{reading.and_with(', and so along', others)}. The effect there depends on correlated features.",
        "remedy": "Read the local effect of these features, not the average one.",
        "measures": (measure.name,),
        "features": features,
        "threshold": 0.0,
        **about(interval, ids.ALE, ids.PDP, *_pictured(run, features)),
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
    table: ClassVar[tuple[Rule, ...]] = (LOWERED, CURVES_DIFFER)
    judges: ClassVar[tuple[Judge, ...]] = (_surer, _curves)
