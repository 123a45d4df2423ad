"""Training domain: observations, permuted observations and values outside it, and what the model does there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from ...checks.family import Said, TableCheck, family, needed, outcome, together
from ...checks.reading import RuleOutcome, and_with, freedom, listed, size_beyond, two_sided
from ...checks.rule import Rule
from ...core.support.errors import check_options
from ...core.support.numbers import interval, share_words
from ...core.support.text import short
from ...evidence import ids
from ...evidence import rows as facts
from ...evidence.finding import Outcome, Symptom
from ...evidence.rows import (
    CopiesLine,
    ShiftLine,
    SupportCopies,
    SupportLine,
    SupportShift,
    SupportValues,
    SupportView,
    ValueLine,
)
from ...evidence.run import Run
from ...evidence.view import largest_first
from ..shared.checks import observed, shares

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

OUTSIDE = Rule(
    code=OUTSIDE_ROWS,
    title="Observations lie outside the training domain",
    options=("level/2", "margin"),
    thresholds={"high": 0.25, "medium": 0.1},
    when="More observations are outside the training domain than of a sample drawn as the training sample (exact test, "
    "level {level}). High if the excess over the share expected by construction is at least {high:pct} of the "
    "observations, medium from {medium:pct}, low from {margin:pct}, else an observation.",
    raised=("p_value <= level",),
    grades=("high if excess >= high", "medium if excess >= medium", "low if excess >= margin", "observation"),
    rests_on="Conformal p-values: observations drawn as the training sample are exchangeable with it (Vovk et al. "
    "2005)",
)
SHUFFLED = Rule(
    code="UQ302",
    title="Permuted values leave the training domain",
    options=("level", "shuffled"),
    when="More than {shuffled:pct} of the observations are outside the training domain after the feature is permuted "
    "(level {level}, Holm-adjusted over features): correlated features alone cause that.",
    raised=("share > shuffled and p_adjusted <= level",),
    rests_on="lecture:extrapolation",
)
UNSEEN = Rule(
    code=NEW_VALUES,
    title="Values do not occur in the training sample",
    options=("level/2",),
    thresholds={"low": 0.02, "medium": 0.05, "high": 0.5},
    when="More values lie beyond the training range, have a new level or are newly missing than chance explains "
    "(exact tests, level {level}, Holm-adjusted over features). High if at least {high:pct} of the observations are "
    "affected, medium from {medium:pct}, low from {low:pct}, else an observation.",
    raised=("p_adjusted <= level",),
    grades=("high if share >= high", "medium if share >= medium", "low if share >= low", "observation"),
    rests_on="Two samples of one population are exchangeable: every assignment of observations to them is equally "
    "likely",
)
SHIFTED = Rule(
    code="UQ304",
    title="The distribution of a feature differs from training",
    options=("low", "medium", "high"),
    when="The distance of a column's distributions in the test sample and the training sample is at least {low:pct}, "
    "by the lower end of its interval (all columns at once). High from {high:pct}, medium from {medium:pct}, else low.",
    raised=("lower >= low",),
    grades=("high if lower >= high", "medium if lower >= medium", "low"),
    rests_on="Uniform bounds on empirical distributions (Massart 1990; Weissman et al. 2003)",
)
NEAR_COPIES = Rule(
    code="UQ305",
    title="Observations are near copies of training observations",
    options=("copies", "copies_medium", "copies_high"),
    when="More observations of the test than of the training sample lie far closer to one training observation than "
    "to the next (ratio of both distances, at most its 1 % point among training observations). The excess, by its "
    "one-sided lower limit (99.5 %), is above {copies:pct}. High above {copies_high:pct}, medium above "
    "{copies_medium:pct}, else low.",
    raised=("excess > copies",),
    grades=("high if excess > copies_high", "medium if excess > copies_medium", "low"),
    rests_on="Test and training observations of one population have the same ratio of distances to training "
    "observations",
)


def _shuffled(rule: Rule, run: Run) -> RuleOutcome:
    view, _ = _views(run)
    limit = rule.thresholds["shuffled"]
    lines = largest_first(line for line in view.lines if line.item == facts.SHUFFLED)
    excess, errors = np.array([(line.estimate - limit, line.std_error) for line in lines]).reshape(-1, 2).T
    return family(
        rule,
        lines,
        lambda x: {"share": x.estimate},
        lambda *raised: _extrapolates(raised, limit),
        p_values=np.where(excess > 0, two_sided(excess, errors, freedom(run, view.units - 1)) / 2, 1.0),
        by=together,
        undecided=lambda rest: [
            f"{short(x.feature)} ({interval(100 * x.lower, 100 * x.upper)} % of the observations)"
            for x in view.lines
            if x in rest and x.upper > limit
        ],
        because=f"permuted values may leave the training domain; the limit is {share_words(limit)}",
        passed=f"Permuting no feature moves more than {share_words(limit)} of the observations outside the training "
        "domain.",
    )


def _views(run: Run) -> tuple[SupportView, SupportValues]:
    return needed(SupportView, run), needed(SupportValues, run)


def _symptoms(codes: Sequence[str], size: float, rule: Rule) -> tuple[Symptom, ...]:
    """Return what a shift explains: a cause is claimed from medium on, below it may be related; none of small ones."""
    if size < rule.thresholds[LOW[rule.code]]:
        return ()
    return tuple(Symptom(code=code, possible=size < rule.thresholds["medium"]) for code in codes)


def _outside(rule: Rule, line: SupportLine) -> Said:
    return {
        "statement": f"{_share(line)} of the observations lie outside the training domain; of observations drawn as "
        f"the training sample at most {share_words(line.expected)} would. There the model extrapolates, and its stated "
        "uncertainty is not tested.",
        "evidence": (ids.SUPPORT, ids.SUPPORT_ROWS),
        "remedy": "Restrict the use of the model to its training domain. Otherwise train it on observations like those "
        "outside.",
        "threshold": line.expected,
        "explains": _symptoms(OF_MODEL, line.estimate - line.expected, rule),
        **observed(line),
    }


def _extrapolates(lines: Sequence[SupportLine], limit: float) -> Said:
    """Return one finding on all features whose shuffle leaves the support, the farthest first."""
    others = [f"{short(other.feature)} ({share_words(other.estimate)})" for other in lines[1:]]
    return {
        "statement": f"Permuting {short(lines[0].feature)} moves {_share(lines[0])} of the observations outside the "
        f"training domain{and_with('; so does', others)}. Permutation importance then describes extrapolation, not the "
        "value of the feature.",
        "evidence": (ids.SUPPORT,),
        "remedy": "Read the local effect beside the permutation importance. Alternatively, permute the feature "
        "together with those it depends on.",
        "features": tuple(line.feature for line in lines),
        "threshold": limit,
        **observed(lines[0]),
    }


def _values(rule: Rule, run: Run) -> RuleOutcome:
    _, view = _views(run)
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


def _unseen(lines: Sequence[ValueLine], rule: Rule) -> Said:
    """Return the finding on one feature with values that the training rows do not have."""
    largest = max(lines, key=lambda line: line.share)
    return {
        "statement": f"{short(largest.feature)} has values that do not occur in the training sample: "
        f"{listed(WORDS[line.item].format(line=line) for line in lines)}, of {largest.n} observations. That is more "
        "than chance explains.",
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
    lines = needed(SupportCopies, run).lines
    words = [f"{share_words(x.share)} of the test and {share_words(x.share_train)} of the training" for x in lines]
    return family(
        rule,
        lines,
        lambda x: {"excess": x.least},
        lambda x: _near_copies(rule, x),
        passed=f"Near copies of a training observation are {listed(words)} observations.",
    )


def _near_copies(rule: Rule, line: CopiesLine) -> Said:
    return {
        "statement": f"{share_words(line.share)} of {line.n} observations lie far closer to one training "
        f"observation than to the next; of training observations {share_words(line.share_train)} do, an excess of at "
        f"least {share_words(line.least)}. These are copies with small changes, or repeated measurements of the same "
        "units: the model was fitted to them.",
        "evidence": (SupportCopies.id,),
        "remedy": "Find out where these observations come from. Split the data so that measurements of one unit stay "
        "together, and audit again.",
        "threshold": rule.thresholds["copies"],
        "affected": f"at least {share_words(line.least)} of {line.n} observations",
        **observed(line),
    }


def _share(line: SupportLine) -> str:
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

    level: float = 0.05
    shuffled: float = 0.2
    margin: float = 0.05
    tolerance: float = 0.1
    copies: float = 0.02
    copies_medium: float = 0.05
    copies_high: float = 0.2

    name: ClassVar[str] = ids.SUPPORT
    title: ClassVar[str] = "Training support"
    table: ClassVar[tuple[Rule, ...]] = (OUTSIDE, SHUFFLED, UNSEEN, NEAR_COPIES)

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        limits = ("copies", self.copies < self.copies_medium < self.copies_high, "numbers copies < medium < high")
        check_options(self.name, self, (*shares(self, *asdict(self)), limits))

    def check(self, run: Run) -> Outcome:
        """Judge the run's results on support."""
        return outcome(self, run, self._rows_outside, _shuffled, _values, _copies)

    def _rows_outside(self, rule: Rule, run: Run) -> RuleOutcome:
        view, _ = _views(run)
        line = next(line for line in view.lines if line.item == facts.OUTSIDE)
        wide = line.upper > line.expected + self.tolerance
        return family(
            rule,
            [line],
            lambda x: {"p_value": x.p_value, "excess": x.estimate - x.expected},
            lambda x: _outside(rule, x),
            undecided=lambda rest: [f"the share of observations outside, {_share(line)}"] if rest and wide else [],
            size=size_beyond(run, [(line.std_error, self.tolerance)]),
            passed=f"{_share(line)} of the observations are outside the training domain; of observations drawn as the "
            f"training sample {share_words(line.expected)} would be.",
        )


def _shifted(rule: Rule, run: Run) -> RuleOutcome:
    lines, limit = needed(SupportShift, run).lines, share_words(rule.thresholds["low"])
    passed = f"No feature is shown to be farther than {limit} from its distribution in training."
    return family(rule, lines, lambda line: {"lower": line.lower}, lambda line: _shift(rule, line), passed=passed)


def _shift(rule: Rule, line: ShiftLine) -> Said:
    least = share_words(line.lower)
    return {
        "statement": f"The distribution of {short(line.feature)} differs from training: at least {least} of the "
        f"observations would have to change for both to agree ({line.item}). The results of this audit hold for this "
        "test sample, not for the training population.",
        "evidence": (SupportShift.id,),
        "remedy": "Find out whether the population or the data changed. A column may be filled or scaled in another "
        "way.",
        "features": (line.feature,),
        "threshold": rule.thresholds["low"],
        "affected": f"at least {least} of {line.n} observations",
        "explains": (
            Symptom(code=NEW_VALUES, feature=line.feature),
            *_symptoms((OUTSIDE_ROWS, *OF_MODEL), line.lower, rule),
        ),
        **observed(line),
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

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        rules = (("low", 0 < self.low < self.medium < self.high < 1, "numbers 0 < low < medium < high < 1"),)
        check_options(self.name, self, rules)

    def check(self, run: Run) -> Outcome:
        """Judge the run's distances."""
        return outcome(self, run, _shifted)
