"""Over-fitting: what matters on the training rows only, and what the model is better without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import ClassVar, NamedTuple

from ..core.errors import check_options
from ..core.measures import NLL
from ..core.text import short
from ..core.verdicts import holm
from ..evidence import ids
from ..evidence.finding import Finding, Outcome
from ..evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, UNDETERMINED, Pfi, PfiLine, PfiTrain
from ..evidence.run import Run
from ..rules.reading import Part, Sign, absent, close, lacking, likelihood, signs, spanned, titles, two_sided
from ..rules.rule import Grade, Limit, Rule

MANY = 10**6


@dataclass(frozen=True)
class OverFit:
    """Compares importance on test and training rows, and looks for features that do harm.

    UQ401 asks for all of these, for a loss: the test verdict is about 0 or negative; the training
    importance is above the margin and above the test interval; and it is above the test importance by
    more than both samples of rows explain, ``t = (train - test) / (se √(1 + units_test/units_train))``,
    two-sided and Holm-adjusted over features and losses. The standard error is that of the test rows: a
    model that has learnt nothing of its own from the training rows has the same row terms on both. The
    training value itself is given without an interval, as none holds for any population.

    UQ402 asks for a negative Likelihood-PFI, Holm-adjusted over features.

    Parameters
    ----------
    level : float, default=0.05
    """

    level: float = 0.05

    name: ClassVar[str] = "overfit"
    title: ClassVar[str] = "Over-fitting"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a level that cannot be used."""
        check_options(self.name, self, (("level", 0 < self.level < 1, "a number in (0, 1)"),))

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two rules, with this check's level."""
        significant = Limit("at most", "level")
        return (
            Rule(
                code="UQ401",
                title="A feature matters on the training rows only",
                thresholds={"level": self.level},
                when="For a loss, the importance on test rows is about 0 or negative, and that on training rows is "
                "above the margin, above the test interval, and above what both samples explain (level {level}, "
                "Holm-adjusted over features).",
                raised=(
                    {"above_margin": Limit("above", 0), "above_test": Limit("above", 0), "p_adjusted": significant},
                ),
                grades=(Grade("high"),),
                rests_on="lecture:train against test",
            ),
            Rule(
                code="UQ402",
                title="The model does better without a feature",
                thresholds={"level": self.level},
                when="The Likelihood-PFI of a feature is negative (level {level}, Holm-adjusted over features).",
                raised=({"p_adjusted": significant},),
                grades=(Grade("high"),),
                rests_on="wood:section 3.5",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's permutation importances."""
        test = Pfi.find(run)
        if test is None:
            reason = absent(run, ids.PFI)
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        trained, harmful = self.rules
        return close(self.name, [_trained(trained, run, test), _harmful(harmful, test)])


class Pair(NamedTuple):
    """Importance of a feature for a loss on test and on training rows, and the p-value of their difference."""

    test: PfiLine
    trained: float
    p_adjusted: float

    @property
    def is_suspect(self) -> bool:
        """Whether the feature matters on the training rows, and is not shown to matter on the test rows."""
        return self.trained > self.test.margin and self.test.verdict != POSITIVE

    def is_raised(self, rule: Rule) -> bool:
        """Judge the pair; where the test importance is neither about 0 nor negative, nothing was observed."""
        fits = self.test.verdict in (ABOUT_0, NEGATIVE)
        above_margin, above_test = self.trained - self.test.margin, self.trained - self.test.upper
        p = self.p_adjusted if fits else nan
        return rule.judge(above_margin=above_margin, above_test=above_test, p_adjusted=p) is not None


def _trained(rule: Rule, run: Run, test: Pfi) -> Part:
    """Judge training against test importance, all losses together."""
    train = PfiTrain.find(run)
    if train is None:
        has_train = run.subject.get("has_train", True)
        reason = absent(run, ids.PFI_TRAIN) if has_train else "no training rows were given"
        return Part(code=rule.code, absent=reason)
    pairs = both(test, train)
    if not pairs:
        return Part(code=rule.code, absent="no loss has an importance on test and on training rows")
    raised: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.is_raised(rule):
            raised.setdefault(pair.test.feature, []).append(pair)
    names = titles(test)
    losses = ", ".join(names.get(m, m) for m in dict.fromkeys(pair.test.measure for pair in pairs))
    return Part(
        code=rule.code,
        findings=tuple(_learnt(rule, lines, names) for lines in raised.values()),
        undecided=tuple(dict.fromkeys(p.test.feature for p in pairs if p.is_suspect and p.test.feature not in raised)),
        passed=f"No feature matters on the training rows only, by {losses}.",
    )


def both(test: Pfi, train: PfiTrain) -> list[Pair]:
    """Return test and training importance by loss and feature, and the p-value of their difference.

    The p-value is two-sided and Holm-adjusted over the pairs; it is NaN where no shuffle changed a test
    row, as such a feature cannot be judged on them.
    """
    trained = {(line.measure, line.feature): line.estimate for line in train.lines}
    losses = {name for name, facts in test.result.measures.items() if facts.role == "loss"}
    lines = [line for line in test.lines if line.measure in losses and (line.measure, line.feature) in trained]
    values = [trained[line.measure, line.feature] for line in lines]
    df, trained_df = (MANY if view.degrees_of_freedom == inf else view.degrees_of_freedom for view in (test, train))
    both_samples = sqrt(1 + (df + 1) / (trained_df + 1))
    errors = [line.std_error * both_samples if line.std_error else nan for line in lines]
    differences = [value - line.estimate for line, value in zip(lines, values, strict=True)]
    adjusted = holm(two_sided(differences, errors, df)).tolist()
    return [Pair(line, value, p) for line, value, p in zip(lines, values, adjusted, strict=True)]


def _learnt(rule: Rule, pairs: Sequence[Pair], names: Mapping[str, str]) -> Finding:
    """Return the finding on one feature, in the loss in which it stands out most."""
    test, trained, _ = max(pairs, key=lambda pair: pair.trained / pair.test.margin if pair.test.margin else inf)
    interval = spanned(test.estimate, test.lower, test.upper, test.confidence)
    return rule.finding(
        rule.severity,
        f"Shuffling {short(test.feature)} raises the {names.get(test.measure, test.measure)} by {trained:.3g} on the "
        f"training rows, but on the test rows its importance is {test.verdict}: {interval}. What the model learnt "
        "from it does not hold on new rows.",
        (ids.PFI, ids.PFI_TRAIN),
        remedy="Leave the feature out or regularise the model, and compare the loss on held-out rows.",
        measures=tuple(pair.test.measure for pair in pairs),
        features=(test.feature,),
        threshold=test.margin,
        observed=trained,
    )


def _harmful(rule: Rule, test: Pfi) -> Part:
    """Judge the signs of Likelihood-PFI."""
    measure = likelihood(test)
    if not measure:
        return Part(code=rule.code, absent=lacking(test, NLL.name))
    table = signs(test, measure, rule.thresholds["level"])
    return Part(
        code=rule.code,
        findings=tuple(_harm(rule, s, measure) for s in table.values() if rule.judge(p_adjusted=s.p_for(NEGATIVE))),
        undecided=tuple(name for name, sign in table.items() if sign.verdict == UNDETERMINED),
        passed="No feature has a negative Likelihood-PFI.",
    )


def _harm(rule: Rule, sign: Sign, measure: str) -> Finding:
    return rule.finding(
        rule.severity,
        f"The Likelihood-PFI of {short(sign.feature)} is negative: {sign.words()}. The model predicts these rows "
        "better when the feature is shuffled, so it is over-fitted to it.",
        (ids.PFI,),
        remedy="Leave the feature out or regularise the model, and compare the likelihood on held-out rows.",
        measures=(measure,),
        features=(sign.feature,),
        threshold=0.0,
        observed=sign.estimate,
        lower=sign.lower,
        upper=sign.upper,
    )
