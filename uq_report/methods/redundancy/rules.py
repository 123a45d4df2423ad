"""Dependence: importance that partners hide, losses that a model does not notice, pairs that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import ClassVar

import numpy as np

from ...core.errors import check_options
from ...core.measures import ENTROPY, NLL
from ...core.numbers import number, share_words, value_words
from ...core.text import short
from ...core.verdicts import holm
from ...evidence import ids
from ...evidence.finding import Finding, Outcome
from ...evidence.importance import CoverCorrected, Pfi
from ...evidence.information import WITHOUT_TARGET, ItemLine, Redundancy, RedundancyLine, RedundancyPartner
from ...evidence.outcomes import LOG_SCORE_SKILL, scores_of
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import by_feature
from ...rules.reading import Part, absent, close, lacking, likelihood, listed, two_sided, with_reasons
from ...rules.rule import Grade, Limit, Rule
from ..shared.options import shares
from .losses import Covered, Unnoticed, affected, covered, main_loss, unnoticed

HOLDS = Limit("at most", "level")
LEADING = 3  # places of the ranking that the sentence of UQ201 looks at


@dataclass(frozen=True)
class Dependence:
    """Reads importance corrected for cover, the part of a loss that the model does not notice, and redundancy.

    UQ201 is raised where wrong values of a feature cost more by the margin of the importance once those of its
    partners are wrong too, of the likelihood, or else of the loss. UQ202 is raised where Likelihood-PFI is positive
    and larger than Entropy-PFI by more than `margin` nats. Neither is a fault: features that go together, and models
    that cannot know that a value is wrong. Each is one finding that names its features.

    Parameters
    ----------
    level : float, default=0.05
        Of each family of tests, Holm-adjusted over features; all are two-sided, and raise on one side.
    margin : float, default=0.01
        Unnoticed loss that matters, in nats.
    repeated : float, default=0.9
        From which two features repeat each other: the R² of each from the others, and their association.
    """

    level: float = 0.05
    margin: float = 0.01
    repeated: float = 0.9

    name: ClassVar[str] = "dependence"
    title: ClassVar[str] = "Dependence between features"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        limits = (*shares(self, "level", "repeated"), ("margin", self.margin >= 0, "a number >= 0"))
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule, Rule, Rule]:
        """The three rules, with this check's thresholds."""
        covering = Rule(
            code="UQ201",
            title="Features that go together hide each other's importance",
            thresholds={"level": self.level},
            when="Wrong values of a feature cost more, by more than the margin of the importance, once the values of "
            "its partners are wrong too (interval, and level {level}, Holm-adjusted over features). Features that "
            "go together do that in an honest model too.",
            raised=({"p_adjusted": HOLDS, "beyond": Limit("above", 0)},),
            rests_on="pereira:definition 2.3",
        )
        not_noticing = Rule(
            code="UQ202",
            title="The model does not notice when a feature is wrong",
            thresholds={"level": self.level, "margin": self.margin},
            when="With wrong values of a feature the loss rises (Likelihood-PFI is positive), and by more than "
            "{margin} nats more than the stated uncertainty does (Entropy-PFI); level {level}, Holm-adjusted over "
            "features.",
            raised=({"p_likelihood": HOLDS, "p_unnoticed": HOLDS, "unnoticed": Limit("above", "margin")},),
            rests_on="L - E is the importance for the confidence gap: the damage that the model does not notice",
        )
        repeating = Rule(
            code="UQ203",
            title="Two features repeat each other",
            thresholds={"level": self.level, "repeated": self.repeated},
            when="The R² of each of two features from the others is above {repeated} (level {level}, Holm-adjusted "
            "over features), and the association of the two is at least {repeated}.",
            raised=({"p_one": HOLDS, "p_other": HOLDS, "association": Limit("at least", "repeated")},),
            grades=(Grade("low"),),
            rests_on="wood:figure 9",
        )
        return covering, not_noticing, repeating

    def check(self, run: Run) -> Outcome:
        """Judge the run's importances, alone and corrected for cover, and redundancy."""
        covering, not_noticing, repeating = self.rules
        return close(self.name, [_covered(covering, run), _not_noticed(not_noticing, run), _repeated(repeating, run)])


def _covered(rule: Rule, run: Run) -> Part:
    """Judge importance with the partners lost too against importance alone."""
    view = CoverCorrected.find(run)
    measure = "" if view is None else main_loss(view)
    if view is None or not measure:
        return Part(code=rule.code, absent=absent(run, ids.COVER) if view is None else lacking(view, NLL.name))
    features = covered(view, measure)
    raised = [feature for feature in features if rule.judge(**feature.observed) is not None]
    return Part(
        code=rule.code,
        findings=(_hidden(rule, raised, view, run),) if raised else (),
        undecided=tuple(feature.line.feature for feature in features if feature not in raised and not feature.cleared),
        passed="No feature is shown to cost more once its partners are lost too.",
    )


def _hidden(rule: Rule, raised: Sequence[Covered], view: CoverCorrected, run: Run) -> Finding:
    """Return one finding on all features that their partners hide, the largest change first."""
    line, facts = raised[0].line, view.result.measures[raised[0].line.measure]
    more = f" So it is with {listed(feature.numbers() for feature in raised[1:])}." if len(raised) > 1 else ""
    lines = [feature.line for feature in raised]
    entering = [line.feature for line in lines if line.rank <= LEADING < line.plain_rank]
    lead = f"; only then {listed(entering)} {'is' if len(entering) == 1 else 'are'} among the first {LEADING}"
    return rule.finding(
        rule.severity,
        f"{raised[0].sentences(facts.unit)}{lead if entering else ''}.{more}",
        (ids.COVER, ids.CID_COVER),
        remedy="Read its importance together with that of its partners.",
        measures=(line.measure,),
        features=tuple(line.feature for line in lines),
        threshold=line.margin,
        observed=line.change,
        lower=line.change_lower,
        upper=line.change_upper,
        size=_of_skill(line.change, run) if line.measure == NLL.name else None,
    )


def _of_skill(value: float, run: Run) -> float | None:
    """Return nats as a share of the model's skill, where it has any."""
    skill = scores_of(run).get(LOG_SCORE_SKILL, nan)
    return value / skill if skill > 0 else None


def _not_noticed(rule: Rule, run: Run) -> Part:
    """Judge by how much more the loss rises than the stated uncertainty."""
    importance, facts = Pfi.find(run), SubjectFacts.of(run)
    if importance is None:
        return Part(code=rule.code, absent=absent(run, ids.PFI))
    loss = likelihood(importance)
    if not loss or ENTROPY.name not in importance.measures:
        return Part(code=rule.code, absent=lacking(importance, ENTROPY.name if loss else NLL.name))
    if facts.weights is not False or facts.clusters:
        return Part(code=rule.code, absent="the rows are weighted or in clusters")
    features = unnoticed(rule, importance)
    raised = [feature for feature in features if rule.judge(**feature.observed) is not None]
    margin = rule.thresholds["margin"]
    unsure = [f.loss.feature for f in features if f not in raised and f.may_exceed(margin)]
    return Part(
        code=rule.code,
        findings=(_unseen(rule, sorted(raised, key=lambda f: -f.estimate), run),) if raised else (),
        undecided=with_reasons(importance, unsure, loss, ENTROPY.name),
        absent="" if features else "permutation importance has no row terms",
        passed="The model is not shown to miss that values of any feature are wrong.",
    )


def _unseen(rule: Rule, raised: Sequence[Unnoticed], run: Run) -> Finding:
    """Return one finding on all features whose wrong values the model does not notice, the largest loss first."""
    worst, margin, size = raised[0], rule.thresholds["margin"], _of_skill(raised[0].estimate, run)
    rows = affected(run, worst, margin)
    share = "" if size is None else f", {share_words(size)} of what it knows beyond the baseline"
    hit = "" if rows is None else f", in {share_words(rows)} of the rows"
    more = f" So it is with {listed(feature.numbers() for feature in raised[1:])}." if len(raised) > 1 else ""
    return rule.finding(
        rule.severity,
        f"{worst.sentence()}{share}{hit}.{more}",
        (ids.PFI, ids.PFI_READING),
        remedy="Watch the quality of these inputs. The stated uncertainty does not tell when they are wrong.",
        measures=(NLL.name, ENTROPY.name),
        features=tuple(feature.loss.feature for feature in raised),
        threshold=margin,
        observed=worst.estimate,
        lower=worst.lower,
        upper=worst.upper,
        size=size,
    )


def _repeated(rule: Rule, run: Run) -> Part:
    """Judge the R² of both features of every pair of partners."""
    redundancy, partners = Redundancy.find(run), RedundancyPartner.find(run)
    lines = by_feature(line for line in redundancy.lines if line.item == WITHOUT_TARGET) if redundancy else {}
    if partners is None or not lines:
        reason = absent(run, ids.REDUNDANCY_PARTNER) if partners is None else "no feature could be predicted"
        return Part(code=rule.code, absent=reason)
    p_above, cleared = _skills(rule, lines)
    findings, unsure = [], []
    for a, b, strength in _partners(partners.lines, rule.thresholds["repeated"]):
        if rule.judge(p_one=p_above.get(a, nan), p_other=p_above.get(b, nan), association=strength) is not None:
            findings.append(_pair(rule, lines[a], lines[b], strength))
        elif not {a, b} & cleared:
            unsure.append(f"{short(a)} with {short(b)}")
    passed = "No two features are shown to repeat each other."
    return Part(code=rule.code, findings=tuple(findings), undecided=tuple(unsure), passed=passed)


def _skills(rule: Rule, lines: Mapping[str, RedundancyLine]) -> tuple[dict[str, float], set[str]]:
    """Return each feature's adjusted p-value of an R² above the threshold, 1 below it; and those shown to be below."""
    excess = np.array([line.estimate for line in lines.values()]) - rule.thresholds["repeated"]
    errors, n = (np.array([getattr(line, name) for line in lines.values()]) for name in ("std_error", "n"))
    p_values = holm(two_sided(excess, errors, np.maximum(n - 1, 1)))
    p_above = dict(zip(lines, np.where(excess > 0, p_values, 1.0).tolist(), strict=True))
    below = (excess < 0) & (p_values <= rule.thresholds["level"])
    return p_above, {feature for feature, is_below in zip(lines, below, strict=True) if is_below}


def _partners(lines: Iterable[ItemLine], least: float) -> list[tuple[str, str, float]]:
    """Return every pair of a feature and its partner once, from an association of `least`."""
    pairs: dict[frozenset[str], tuple[str, str, float]] = {}
    for line in lines:
        if line.estimate >= least:
            pairs.setdefault(frozenset((line.feature, line.item)), (line.feature, line.item, line.estimate))
    return list(pairs.values())


def _pair(rule: Rule, a: RedundancyLine, b: RedundancyLine, strength: float) -> Finding:
    skills = listed(f"R² {value_words(x.estimate, x.lower, x.upper)}" for x in (a, b))
    weaker = min(a, b, key=lambda line: line.lower)
    return rule.finding(
        rule.severity,
        f"{short(a.feature)} and {short(b.feature)} repeat each other: each is predicted by the other features, with "
        f"{skills}, and their association is {number(strength, 2)}. Exchanging one leaves what it says in the other.",
        (ids.REDUNDANCY, ids.REDUNDANCY_PARTNER),
        remedy="Keep one of the two, or exchange them as a group.",
        features=(a.feature, b.feature),
        threshold=rule.thresholds["repeated"],
        observed=weaker.estimate,
        lower=weaker.lower,
        upper=weaker.upper,
    )
