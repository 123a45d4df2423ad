"""The recommendation by one printed rule: the most severe open finding decides, and the approver decides on it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ..core.support.text import count
from ..document.document import Badge
from ..document.text import clean, first_sentence, items, joined, name
from ..evidence.finding import SEVERITIES, Finding, Outcome, Waived
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..evidence.view import by_key
from .run_reader import FAILED, SEVERITY_TONES, gate_of, not_acceptable

FIT, CONDITIONAL = Badge("Fit for purpose", "good"), Badge("Fit for purpose with conditions", "warning")
UNFIT, INCONCLUSIVE = Badge("Not fit for purpose", "bad"), Badge("Inconclusive", "unknown")
ATTRIBUTE = "UQ803"  # predictions that use a protected attribute, or its proxy
SEVERE, MEDIUM = "a critical or high finding is open", "a medium finding is open"
CALIBRATION, USES = "calibration is not acceptable", "predictions use a protected attribute or its proxy"
UNJUDGED, NONE = "neither calibration nor skill could be judged", "no open finding is above low"
RULE = (
    f"{UNFIT.text}: {SEVERE}. {CONDITIONAL.text}: {MEDIUM}, {CALIBRATION} ({FAILED} of low or above), or {USES} "
    f"({ATTRIBUTE} of low or above). {INCONCLUSIVE.text}: {UNJUDGED}. {FIT.text}: otherwise."
)
DECIDES = "Recommendation of the validation; the decision rests with the approver."
WORDS: Mapping[str, Badge] = {badge.text: badge for badge in (UNFIT, CONDITIONAL, INCONCLUSIVE, FIT)}
NO_VERDICT = ("skipped", "not_applicable")
PERFORMANCE = "performance"
# what must hold for the model to be used, by the finding that says why; the remedy where no line is here
CONDITIONS: Mapping[str, str] = {
    FAILED: "recalibrate the model before its probabilities or intervals are used",
    ATTRIBUTE: "document the legal basis for using {features}",
    "UQ301": "restrict use to observations inside the training domain",
}
TO_BE_SET = "to be set by the approver"
MOST = 3  # conditions in a line


@dataclass(frozen=True)
class UseCondition:
    """What must hold for the model to be used, and the code of the finding that makes it a condition."""

    code: str
    text: str
    features: tuple[str, ...] = ()

    @property
    def as_json(self) -> dict[str, str | list[str]]:
        """The condition as JSON values."""
        return {"code": self.code, "text": self.text, "features": list(self.features)}


@dataclass(frozen=True)
class Recommendation:
    """The recommendation of a run.

    Parameters
    ----------
    badge : Badge
        One of `WORDS`, with its tone.
    reasons : tuple of str
        The parts of `RULE` that apply, with the codes of their findings.
    conditions : tuple of UseCondition
        From the findings that caused the grade; empty where no condition follows from a finding.
    not_judged : str
        ``"calibration inconclusive at n = 250"`` where that is so; empty where it was judged.
    waived : int
        Findings that a waiver keeps from being open.
    """

    badge: Badge
    reasons: tuple[str, ...]
    conditions: tuple[UseCondition, ...] = ()
    not_judged: str = ""
    waived: int = 0

    @property
    def basis(self) -> str:
        """Which part of the rule applies, and who decides."""
        aside = f"; {count(self.waived, 'finding')} waived" if self.waived else ""
        reasons = "; ".join(filter(None, (*self.reasons, self.not_judged)))
        return f"By rule: {reasons}{aside}. {DECIDES}"

    @property
    def conditions_of_use(self) -> str:
        """The conditions in one line."""
        if self.badge == UNFIT:
            return f"Conditions of use: none can be set while {SEVERE}."
        texts = [f"{condition.text} ({condition.code})" for condition in self.conditions[:MOST]]
        more = len(self.conditions) - len(texts)
        texts += [f"{more} more (see the findings)"] if more else []
        return f"Conditions of use: {'; '.join(texts) or TO_BE_SET}."


def rating(outcomes: Iterable[Outcome]) -> Badge:
    """Return the recommendation by `RULE`; without a comparison with outcomes it is never fit for purpose.

    Examples
    --------
    >>> rating([]).text, rating([Outcome(check="calibration", state="passed")]).text
    ('Inconclusive', 'Fit for purpose')
    """
    return recommend(outcomes).badge


def recommended(run: Run) -> Recommendation:
    """Return the recommendation for the model of a run."""
    return recommend(run.outcomes, SubjectFacts.of(run).n)


def recommend(outcomes: Iterable[Outcome], n: int | None = None) -> Recommendation:
    """Return the recommendation with its reasons and conditions.

    Parameters
    ----------
    outcomes : iterable of Outcome
    n : int, optional
        The size of the test sample.

    Examples
    --------
    >>> result = recommend([Outcome(check="performance", state="passed")], 250)
    >>> result.basis.partition(". ")[0]
    'By rule: no open finding is above low; calibration not tested'
    """
    ended = tuple(outcomes)
    waived = sum(len(outcome.waived) for outcome in ended)
    findings = [finding for outcome in ended for finding in outcome.findings]
    severe = [finding for finding in findings if SEVERITY_TONES[finding.severity] == "bad"]
    if severe:
        return Recommendation(UNFIT, (_reason(SEVERE, severe),), waived=waived)
    gate = gate_of(ended)
    size = "" if n is None else f" at n = {n}"
    open_ = f"calibration inconclusive{size}" if gate.tone == "warning" else "calibration not tested"
    not_judged = "" if gate.tone in ("good", "bad") else open_
    causes = _causes(ended)
    if causes:
        reasons = tuple(_reason(words, group) for words, group in causes.items())
        return Recommendation(CONDITIONAL, reasons, _conditions(ended, causes), not_judged, waived)
    # outcomes can judge the predictions by their skill, or by their calibration
    skill = any(outcome.check == PERFORMANCE and outcome.state not in NO_VERDICT for outcome in ended)
    if not skill and not_judged:
        return Recommendation(INCONCLUSIVE, (UNJUDGED,), waived=waived)
    return Recommendation(FIT, (NONE,), not_judged=not_judged, waived=waived)


def _causes(ended: Sequence[Outcome]) -> dict[str, list[Finding]]:
    """Return the findings that make use conditional by the part of the rule, those of calibration even if waived."""
    findings = sorted(
        (finding for outcome in ended for finding in outcome.findings if finding.severity != "observation"),
        key=lambda finding: SEVERITIES.index(finding.severity),
    )
    parts = {
        CALIBRATION: not_acceptable(ended),
        USES: [finding for finding in findings if finding.code == ATTRIBUTE],
        MEDIUM: [f for f in findings if f.severity == "medium" and f.code not in (FAILED, ATTRIBUTE)],
    }
    return {words: group for words, group in parts.items() if group}


def _reason(words: str, findings: Iterable[Finding]) -> str:
    """Return a part of the rule with the codes of its findings."""
    codes = dict.fromkeys(clean(finding.code, 20) for finding in findings)
    return f"{words} ({joined([*codes], 4)})"


def _conditions(ended: Sequence[Outcome], causes: Mapping[str, Sequence[Finding]]) -> tuple[UseCondition, ...]:
    """Return a condition for each code, or for each remedy of a code."""
    waivers = [waived for outcome in ended for waived in outcome.waived]
    every = [finding for group in causes.values() for finding in group]
    shared = by_key(((clean(each.code, 20), _condition(each, waivers)), each.features) for each in every)
    return tuple(
        UseCondition(code, text.replace("{features}", joined(items(of), 3) or "the attribute"), of)
        for (code, text), features in shared.items()
        for of in [tuple(dict.fromkeys(chain.from_iterable(features)))]
    )


def _condition(finding: Finding, waivers: Iterable[Waived]) -> str:
    """Return what must hold after a finding, inside a sentence: who accepted it, else what is to be done."""
    if waiver := next((waived.waiver for waived in waivers if waived.finding == finding), None):
        until = f"until {clean(waiver.expires, 20)}"
        return f"calibration that is not acceptable is accepted by {name(waiver.owner)} {until}"
    if finding.code in CONDITIONS:
        return CONDITIONS[finding.code]
    text = (first_sentence(finding.remedy) or f"Resolve: {clean(finding.title)}").rstrip(".")
    return f"{text[0].lower()}{text[1:]}" if text[1:2].islower() else text


def tally(outcomes: Iterable[Outcome], ends: Iterable[tuple[Sequence[str], str]]) -> str:
    """Count checks by how they ended; `ends` are states that count as one, and their words.

    Examples
    --------
    >>> tally([Outcome(check="a", state="passed")] * 2, [(("found",), "with findings"), (("passed",), "passed")])
    '2 passed'
    """
    states = [outcome.state for outcome in outcomes]
    numbers = ((sum(state in among for state in states), words) for among, words in ends)
    return joined([f"{number} {words}" for number, words in numbers if number])


def counted(findings: Iterable[Finding]) -> str:
    """Count findings by severity, most severe first: ``"1 high and 2 low; 1 observation"``."""
    severities = [finding.severity for finding in findings]
    *graded, (_, noted) = [(severity, severities.count(severity)) for severity in SEVERITIES]
    words = joined([f"{many} {severity}" for severity, many in graded if many]) or "none"
    return f"{words}; {count(noted, 'observation')}" if noted else words
