"""Policy: thresholds that the owner of the model has set, judged with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..core.errors import InputError, check_options
from ..core.text import clean
from ..evidence.finding import SEVERITIES, Finding, Outcome, Severity
from ..evidence.run import Run
from .policy_rules import Ruling, parse
from .rule import Grade, Limit, Rule, verbatim

# verdict and remedy of a broken rule, and of an open one
VERDICTS = (
    ("is broken", "Change the model, or restrict its use. Or have the owner waive the rule until a day."),
    ("can neither be called kept nor broken", "Audit the model on more unseen rows, or run what the rule needs."),
)
RESTS_ON = "A rule of the model's owner, in the settings of this audit"


@dataclass(frozen=True)
class Policy:
    """Judges the rules of the model's owner; each by its own interval, and none passes while it is undetermined.

    A rule is one of::

        FEATURE [not] in top K of MEASURE [by METHOD]     'postcode not in top 3 of entropy'
        coverage LEVEL >= VALUE                           'coverage 90 >= 0.88'
        QUANTITY <= VALUE                                 'nll <= 0.6', 'off-support share <= 0.1'

    ``<=`` and ``>=`` both work. A feature may stand in single quotes. METHOD is ``pfi`` by default, MEASURE
    one that it ranked, or ``loss``. LEVEL is in percent. QUANTITY is nll, brier, crps, squared_error,
    confidence_gap, recalibration_gain, mean_error, accuracy, roc_auc, nll_skill, brier_skill, crps_skill,
    off-support share (by construction 5 % for rows drawn as the training rows), or one of ece, pit_distance and
    coverage_gap, which have no interval and so stay undetermined.

    A rule is broken if the interval excludes what it asks for (UQ951), holds if it excludes everything
    else, and cannot be judged otherwise (UQ952). Rules are not adjusted for their number: at a true value
    just at the threshold, each is called broken in at most 2.5 % of samples (95 % intervals).

    Parameters
    ----------
    require : tuple of str
        The rules: ``options={"rules.policy": {"require": [...]}}``.
    severity : {"critical", "high", "medium", "low"}
        Of a broken rule; a rule that cannot be judged is one step lower, at least low.

    Examples
    --------
    >>> Policy(require=("postcode in the top 3",))
    Traceback (most recent call last):
    uq_report.core.errors.InputError: policy.require[0] must be 'FEATURE [not] in top K of MEASURE ...
    """

    require: tuple[str, ...] = ()
    severity: Severity = "high"

    name: ClassVar[str] = "policy"
    title: ClassVar[str] = "Policy of the model's owner"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse rules that do not follow the grammar."""
        require: Sequence[str] = self.require  # a text is a sequence of texts too
        if isinstance(require, str):
            raise InputError(f"policy.require must be a list of rules; got the text {require!r}.")
        object.__setattr__(self, "require", tuple(require))
        allowed = SEVERITIES[:-1]
        check_options(self.name, self, (("severity", self.severity in allowed, f"one of {allowed}"),))
        parse(self.require)

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two ways a rule can fail, with the owner's rules; the second is one step less severe, at least low."""
        lower = SEVERITIES[min(SEVERITIES.index(self.severity) + 1, SEVERITIES.index("low"))]
        words = f"The owner's rules: {'; '.join(self.require)}." if self.require else "The owner has set no rule."
        return (
            Rule(
                code="UQ951",
                title="A policy rule is broken",
                when=f"The interval of what a rule names excludes what the rule asks for. {verbatim(words)}",
                raised=({"broken": Limit("above", 0)},),
                grades=(Grade(self.severity),),
                rests_on=RESTS_ON,
            ),
            Rule(
                code="UQ952",
                title="A policy rule cannot be judged",
                when="The interval allows both that a rule holds and that it is broken, there is no interval, or what "
                "it names is not in the results.",
                raised=({"undetermined": Limit("above", 0)},),
                grades=(Grade(lower),),
                rests_on=RESTS_ON,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge every rule on its own."""
        if not self.require:
            return Outcome(check=self.name, state="not_applicable", reason="the owner has set no rule")
        rulings = [rule.judge(run) for rule in parse(self.require)]
        findings = tuple(finding for ruling in rulings for finding in self._findings(ruling))
        if findings:
            return Outcome(check=self.name, state="found", findings=findings)
        words = [f"'{clean(ruling.rule)}' holds: {ruling.words}." for ruling in rulings]
        return Outcome(check=self.name, state="passed", reason=" ".join(words))

    def _findings(self, ruling: Ruling) -> Iterator[Finding]:
        for rule, (verdict, remedy) in zip(self.rules, VERDICTS, strict=True):
            severity = rule.judge(**{ruling.state: 1.0})
            if severity is not None:
                end = "" if ruling.words[-1] in ".?" else "."
                yield rule.finding(
                    severity,
                    f"The rule '{clean(ruling.rule)}' {verdict}: {ruling.words}{end}",
                    ruling.evidence,
                    remedy=remedy,
                    measures=ruling.measures,
                    features=ruling.features,
                    threshold=ruling.threshold,
                    observed=ruling.observed,
                    lower=ruling.lower,
                    upper=ruling.upper,
                )
