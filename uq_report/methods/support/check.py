"""Support: rows, shuffled rows and values where the model had nothing to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from ...checks.family import Said, family, needed, outcome, together
from ...checks.reading import RuleOutcome, freedom, listed, two_sided
from ...checks.rule import Rule
from ...core.support.errors import check_options
from ...core.support.numbers import interval, share_words
from ...core.support.text import short
from ...evidence import ids
from ...evidence import rows as facts
from ...evidence.finding import Outcome, Symptom
from ...evidence.rows import SupportLine, SupportValues, SupportView, ValueLine
from ...evidence.run import Run
from ...evidence.view import largest_first
from ..shared.checks import observed, shares
from .shift_check import OF_MODEL, OUTSIDE_ROWS

CONFORMAL = "Conformal p-values: rows drawn as the training rows are exchangeable with them (Vovk et al. 2005)"
WORDS = {
    facts.BELOW_RANGE: "{line.estimate:.0f} below the training minimum {line.bound}",
    facts.ABOVE_RANGE: "{line.estimate:.0f} above the training maximum {line.bound}",
    facts.UNSEEN_LEVEL: "{line.estimate:.0f} with a level that no training row has ({line.bound})",
    facts.NEWLY_MISSING: "{line.estimate:.0f} missing, while no training row lacks it",
}
# what a column that left its training range as a whole explains
SYMPTOMS = (OUTSIDE_ROWS, "UQ302", *OF_MODEL)


@dataclass(frozen=True)
class SupportCheck:
    """Judges whether audited rows, and the rows that permutations make, lie where the model was trained.

    UQ301 asks for an exact one-sided test, at half of `level`: more rows outside than rows drawn as the
    training rows would be. By fewer than `margin` of the rows it is an observation. UQ302 asks for a share of
    shuffled rows outside above `shuffled`, by a one-sided t-test, Holm-adjusted over the features at `level`: there
    the feature's permutation results rest on rows that do not occur. UQ303 asks for more values beyond the training
    range, unseen levels or newly missing values than chance gives, at the other half of `level`, Holm-adjusted.

    Parameters
    ----------
    level : float
    shuffled : float
        Share of shuffled rows outside.
    margin : float
        Share of rows outside, beyond the expected share, below which UQ301 is an observation.
    tolerance : float
        UQ301 is undetermined, not cleared, if the interval of the share reaches this far above the expected share.
    """

    level: float = 0.05
    shuffled: float = 0.2
    margin: float = 0.05
    tolerance: float = 0.1

    name: ClassVar[str] = ids.SUPPORT
    title: ClassVar[str] = "Training support"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        check_options(self.name, self, shares(self, *asdict(self)))

    @property
    def rules(self) -> tuple[Rule, Rule, Rule]:
        """The three rules, with this check's thresholds."""
        return (
            Rule(
                code="UQ301",
                title="Audited rows lie outside what the model was trained on",
                thresholds={"level": self.level / 2, "high": 0.25, "medium": 0.1, "margin": self.margin},
                when="More audited rows are outside than rows drawn as the training rows would be (exact test, level "
                "{level}). High if the excess over the share expected by construction is at least {high:pct} of the "
                "rows, medium from {medium:pct}, low from {margin:pct}, else an observation.",
                raised=("p_value <= level",),
                grades=(
                    "high if excess >= high",
                    "medium if excess >= medium",
                    "low if excess >= margin",
                    "observation",
                ),
                rests_on=CONFORMAL,
            ),
            Rule(
                code="UQ302",
                title="Exchanged values make rows unlike any training row",
                thresholds={"level": self.level, "shuffled": self.shuffled},
                when="More than {shuffled:pct} of the rows are outside after the feature is shuffled (level {level}, "
                "Holm-adjusted over features): correlated features alone do that.",
                raised=("share > shuffled and p_adjusted <= level",),
                rests_on="lecture:extrapolation",
            ),
            Rule(
                code="UQ303",
                title="Audited rows hold values that training never had",
                thresholds={"level": self.level / 2, "low": 0.02, "medium": 0.05, "high": 0.5},
                when="More audited values lie beyond the training range, have an unseen level or are newly missing "
                "than chance gives (exact tests, level {level}, Holm-adjusted over features). High if at least "
                "{high:pct} of the rows are concerned, medium from {medium:pct}, low from {low:pct}, else an "
                "observation.",
                raised=("p_adjusted <= level",),
                grades=("high if share >= high", "medium if share >= medium", "low if share >= low", "observation"),
                rests_on="Audited and training rows drawn alike are exchangeable: any deal of them is as likely",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's results on support."""
        return outcome(self, run, self._outside, self._shuffled, _values)

    def _outside(self, rule: Rule, run: Run) -> RuleOutcome:
        view, _ = _views(run)
        line = next(line for line in view.lines if line.item == facts.OUTSIDE)
        unsure = line.upper > line.expected + self.tolerance
        return family(
            rule,
            [line],
            lambda x: {"p_value": x.p_value, "excess": x.estimate - x.expected},
            _outside_words,
            undecided=lambda rest: [f"the share of rows outside, {_span(x)}" for x in rest if unsure],
            passed=f"{_span(line)} of the audited rows are unlike the training rows; of rows drawn alike "
            f"{share_words(line.expected)} would be.",
        )

    def _shuffled(self, rule: Rule, run: Run) -> RuleOutcome:
        view, _ = _views(run)
        lines = largest_first(line for line in view.lines if line.item == facts.SHUFFLED)
        excess = np.array([line.estimate for line in lines]) - self.shuffled
        errors, df = [line.std_error for line in lines], freedom(run, view.units - 1)
        limit = share_words(self.shuffled)
        return family(
            rule,
            lines,
            lambda x: {"share": x.estimate},
            lambda *raised: _extrapolates(raised, self.shuffled),
            p_values=np.where(excess > 0, two_sided(excess, errors, df) / 2, 1.0),
            by=together,
            undecided=lambda rest: [
                f"{short(x.feature)} ({interval(100 * x.lower, 100 * x.upper)} % of the rows)"
                for x in sorted(rest, key=view.lines.index)
                if x.upper > self.shuffled
            ],
            because=f"exchanged values make rows unlike training; the limit is {limit}",
            passed=f"No feature's exchange makes more than {limit} of the rows unlike training.",
        )


def _views(run: Run) -> tuple[SupportView, SupportValues]:
    return needed(SupportView, run), needed(SupportValues, run)


def _outside_words(line: SupportLine) -> Said:
    return {
        "statement": f"{_span(line)} of the audited rows are farther from the training rows than rows drawn alike "
        f"usually are; of those at most {share_words(line.expected)} would be. There the model extrapolates, and so "
        "does its uncertainty.",
        "evidence": (ids.SUPPORT, ids.SUPPORT_ROWS),
        "remedy": "Restrict the model's use to rows like its training rows. Or train it on rows like those outside.",
        "threshold": line.expected,
        **observed(line),
    }


def _extrapolates(lines: Sequence[SupportLine], limit: float) -> Said:
    """Return one finding on all features whose shuffle leaves the support, the farthest first."""
    line, others = lines[0], [f"{short(other.feature)} ({share_words(other.estimate)})" for other in lines[1:]]
    more = f"; so with {listed(others)}" if others else ""
    return {
        "statement": f"With exchanged values of {short(line.feature)}, {_span(line)} of the rows are unlike any "
        f"training row{more}. Permutation importance then says what the model does there, not what the feature is "
        "worth.",
        "evidence": (ids.SUPPORT,),
        "remedy": "Read the local effect beside the permutation importance. Or exchange it together with the features "
        "it depends on.",
        "features": tuple(line.feature for line in lines),
        "threshold": limit,
        **observed(line),
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
        passed="Values new to the model are no more than chance gives.",
    )


def _unseen(lines: Sequence[ValueLine], rule: Rule) -> Said:
    """Return the finding on one feature with values that the training rows do not have."""
    largest = max(lines, key=lambda line: line.share)
    words = [WORDS[line.item].format(line=line) for line in lines]
    return {
        "statement": f"{short(largest.feature)} has values that the model never saw in training: {listed(words)}, of "
        f"{largest.n} rows. That is more than chance gives.",
        "evidence": (ids.SUPPORT_VALUES,),
        "remedy": "Check how the column was filled and coded. Say what the model does with such values.",
        "features": (largest.feature,),
        "threshold": 0.0,
        "observed": largest.share,
        "explains": tuple(Symptom(code=code) for code in SYMPTOMS)
        if largest.share >= rule.thresholds["medium"]
        else (),
    }


def _span(line: SupportLine) -> str:
    """Return a share with its interval in words."""
    return share_words(line.estimate, line.lower, line.upper, confidence=line.confidence)
