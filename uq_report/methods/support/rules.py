"""Support: rows, shuffled rows and values where the model had nothing to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from ...core.errors import check_options
from ...core.numbers import interval, share_words
from ...core.text import short
from ...core.verdicts import holm
from ...evidence import ids
from ...evidence import rows as facts
from ...evidence.finding import Finding, Outcome, Severity, Symptom
from ...evidence.rows import Support, SupportLine, SupportValues, ValueLine
from ...evidence.run import Run
from ...evidence.view import largest_first
from ...rules.reading import Part, absent, close, freedom, listed, two_sided
from ...rules.rule import Grade, Limit, Rule
from ..shared.checks import observed
from ..shared.options import shares
from ..shared.tidy import grouped
from .shift_rules import OF_MODEL, OUTSIDE_ROWS

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
            self._of_rows(),
            Rule(
                code="UQ302",
                title="Exchanged values make rows unlike any training row",
                thresholds={"level": self.level, "shuffled": self.shuffled},
                when="More than {shuffled:pct} of the rows are outside after the feature is shuffled (level {level}, "
                "Holm-adjusted over features): correlated features alone do that.",
                raised=({"share": Limit("above", "shuffled"), "p_adjusted": Limit("at most", "level")},),
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
                raised=({"p_adjusted": Limit("at most", "level")},),
                grades=_graded("share", "high", "medium", "low"),
                rests_on="Audited and training rows drawn alike are exchangeable: any deal of them is as likely",
            ),
        )

    def _of_rows(self) -> Rule:
        return Rule(
            code="UQ301",
            title="Audited rows lie outside what the model was trained on",
            thresholds={"level": self.level / 2, "high": 0.25, "medium": 0.1, "margin": self.margin},
            when="More audited rows are outside than rows drawn as the training rows would be (exact test, level "
            "{level}). High if the excess over the share expected by construction is at least {high:pct} of the "
            "rows, medium from {medium:pct}, low from {margin:pct}, else an observation.",
            raised=({"p_value": Limit("at most", "level")},),
            grades=_graded("excess", "high", "medium", "margin"),
            rests_on=CONFORMAL,
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's results on support."""
        view, values = Support.find(run), SupportValues.find(run)
        if view is None or values is None:
            reason = absent(run, (Support if view is None else SupportValues).id)
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        outside, shuffled, unseen = self.rules
        parts = (self._outside(outside, view), self._shuffled(shuffled, view, run), _values(unseen, values))
        return close(self.name, parts)

    def _outside(self, rule: Rule, view: Support) -> Part:
        line = next(line for line in view.lines if line.item == facts.OUTSIDE)
        severity = rule.judge(p_value=line.p_value, excess=line.estimate - line.expected)
        if severity is None:
            unsure = line.upper > line.expected + self.tolerance
            return Part(
                code=rule.code,
                undecided=(f"the share of rows outside, {_span(line)}",) if unsure else (),
                passed=f"{_span(line)} of the audited rows are unlike the training rows; of rows drawn alike "
                f"{share_words(line.expected)} would be.",
            )
        finding = rule.finding(
            severity,
            f"{_span(line)} of the audited rows are farther from the training rows than rows drawn alike usually are; "
            f"of those at most {share_words(line.expected)} would be. There the model extrapolates, and so does its "
            "uncertainty.",
            (ids.SUPPORT, ids.SUPPORT_ROWS),
            remedy="Restrict the model's use to rows like its training rows. Or train it on rows like those outside.",
            threshold=line.expected,
            **observed(line),
        )
        return Part(code=rule.code, findings=(finding,))

    def _shuffled(self, rule: Rule, view: Support, run: Run) -> Part:
        lines = largest_first(line for line in view.lines if line.item == facts.SHUFFLED)
        excess = np.array([line.estimate for line in lines]) - self.shuffled
        errors, df = [line.std_error for line in lines], freedom(run, view.units - 1)
        p_values = holm(np.where(excess > 0, two_sided(excess, errors, df) / 2, 1.0)).tolist()
        raised = [x for x, p in zip(lines, p_values, strict=True) if rule.judge(share=x.estimate, p_adjusted=p)]
        unsure = [x for x in view.lines if x in lines and x not in raised and x.upper > self.shuffled]
        return Part(
            code=rule.code,
            findings=(_extrapolates(rule, raised),) if raised else (),
            undecided=tuple(
                f"{short(x.feature)} ({interval(100 * x.lower, 100 * x.upper)} % of the rows)" for x in unsure
            ),
            because=f"exchanged values make rows unlike training; the limit is {share_words(self.shuffled)}",
            passed=f"No feature's exchange makes more than {share_words(self.shuffled)} of the rows unlike training.",
        )


def _graded(number: str, high: str, medium: str, low: str) -> tuple[Grade, ...]:
    """Return the grades by one observed number, an observation where it is small."""
    steps: tuple[tuple[Severity, str], ...] = (("high", high), ("medium", medium), ("low", low))
    return (*(Grade(name, {number: Limit("at least", at)}) for name, at in steps), Grade("observation"))


def _extrapolates(rule: Rule, lines: Sequence[SupportLine]) -> Finding:
    """Return one finding on all features whose shuffle leaves the support, the farthest first."""
    line, others = lines[0], [f"{short(other.feature)} ({share_words(other.estimate)})" for other in lines[1:]]
    more = f"; so with {listed(others)}" if others else ""
    return rule.finding(
        rule.severity,
        f"With exchanged values of {short(line.feature)}, {_span(line)} of the rows are unlike any training row{more}. "
        "Permutation importance then says what the model does there, not what the feature is worth.",
        (ids.SUPPORT,),
        remedy="Read the local effect beside the permutation importance. Or exchange it together with the features it "
        "depends on.",
        features=tuple(line.feature for line in lines),
        threshold=rule.thresholds["shuffled"],
        **observed(line),
    )


def _values(rule: Rule, view: SupportValues) -> Part:
    untested = [1.0] * (view.tests - len(view.lines))  # tests without such a value: they count, and have no line
    adjusted = holm([*(line.p_value for line in view.lines), *untested]).tolist()
    graded = [(x, rule.judge(p_adjusted=p, share=x.share)) for x, p in zip(view.lines, adjusted, strict=False)]
    raised = grouped([(line, severity) for line, severity in graded if severity], lambda pair: pair[0].feature)
    return Part(
        code=rule.code,
        findings=tuple(_unseen(rule, lines) for lines in raised.values()),
        passed="Values new to the model are no more than chance gives.",
    )


def _unseen(rule: Rule, lines: Sequence[tuple[ValueLine, Severity]]) -> Finding:
    """Return the finding on one feature with values that the training rows do not have."""
    largest, severity = max(lines, key=lambda pair: pair[0].share)
    words = [WORDS[line.item].format(line=line) for line, _ in lines]
    return rule.finding(
        severity,
        f"{short(largest.feature)} has values that the model never saw in training: {listed(words)}, of {largest.n} "
        "rows. That is more than chance gives.",
        (ids.SUPPORT_VALUES,),
        remedy="Check how the column was filled and coded. Say what the model does with such values.",
        features=(largest.feature,),
        threshold=0.0,
        observed=largest.share,
        explains=tuple(Symptom(code=code) for code in SYMPTOMS) if severity in ("high", "medium") else (),
    )


def _span(line: SupportLine) -> str:
    """Return a share with its interval in words."""
    return share_words(line.estimate, line.lower, line.upper, confidence=line.confidence)
