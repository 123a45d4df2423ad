"""Dependence: information that other features cover, losses that a model does not notice, pairs that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from typing import ClassVar

import numpy as np

from ..core.errors import check_options
from ..core.measures import ENTROPY, NLL
from ..core.text import short
from ..core.verdicts import holm
from ..evidence import ids
from ..evidence.finding import Finding, Outcome
from ..evidence.importance import Pfi
from ..evidence.information import COVERED, WITHOUT_TARGET, Cid, ItemLine, Redundancy, RedundancyLine, RedundancyPartner
from ..evidence.outcomes import LOG_SCORE, scores_of
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..evidence.view import by_feature
from ..rules.reading import Part, absent, amount, close, lacking, likelihood, spanned, two_sided
from ..rules.rule import Grade, Limit, Rule
from ._cover import Cover, covers
from ._unnoticed import Unnoticed, unnoticed

SKILL = f"{LOG_SCORE}_skill"
HOLDS = Limit("at most", "level")


@dataclass(frozen=True)
class Dependence:
    """Reads covered information, the part of a loss that the model does not notice, and redundancy.

    UQ201 is raised where the other features cover a feature's information about y by more than `margin` nats
    and by more than `share` of it, both at once and Holm-adjusted over features. UQ202 is raised where
    Likelihood-PFI is positive and larger than Entropy-PFI by more than `margin` nats. Both are observations:
    features that go together, and models that cannot know that a value is wrong, are no fault.

    Parameters
    ----------
    level : float, default=0.05
        Of each family of tests; all are two-sided, and raise on one side.
    share : float, default=0.5
        Covered share from which it is worth a note.
    margin : float, default=0.01
        Covered information and unnoticed loss that matter, in nats.
    repeated : float, default=0.9
        From which two features repeat each other: the R² of each from the others, and their association.
    """

    level: float = 0.05
    share: float = 0.5
    margin: float = 0.01
    repeated: float = 0.9

    name: ClassVar[str] = "dependence"
    title: ClassVar[str] = "Dependence between features"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        rules = (
            ("level", 0 < self.level < 1, "a number in (0, 1)"),
            ("share", 0 <= self.share < 1, "a number in [0, 1)"),
            ("margin", self.margin >= 0, "a number >= 0"),
            ("repeated", 0 < self.repeated < 1, "a number in (0, 1)"),
        )
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, Rule, Rule]:
        """The three rules, with this check's thresholds."""
        return self._covering, self._not_noticing, self._repeating

    @property
    def _covering(self) -> Rule:
        return Rule(
            code="UQ201",
            title="Other features cover a feature's information about the outcome",
            thresholds={"level": self.level, "margin": self.margin, "share": self.share},
            when="The other features cover more than {margin} nats and more than {share:pct} of a feature's "
            "information about the outcome (level {level}, Holm-adjusted over features).",
            raised=(
                {"p_covered": HOLDS, "covered": Limit("above", "margin"), "covered_share": Limit("above", "share")},
            ),
            grades=(Grade("observation"),),
            rests_on="pereira:definition 2.3",
        )

    @property
    def _not_noticing(self) -> Rule:
        return Rule(
            code="UQ202",
            title="The model does not notice when a feature is wrong",
            thresholds={"level": self.level, "margin": self.margin},
            when="With wrong values of a feature the loss rises (Likelihood-PFI is positive), and by more than "
            "{margin} nats more than the stated uncertainty does (Entropy-PFI); level {level}, Holm-adjusted over "
            "features.",
            raised=({"p_likelihood": HOLDS, "p_unnoticed": HOLDS, "unnoticed": Limit("above", "margin")},),
            grades=(Grade("observation"),),
            rests_on="L - E is the importance for the confidence gap: the damage that the model does not notice",
        )

    @property
    def _repeating(self) -> Rule:
        return Rule(
            code="UQ203",
            title="Two features repeat each other",
            thresholds={"level": self.level, "repeated": self.repeated},
            when="The R² of each of two features from the others is above {repeated} (level {level}, Holm-adjusted "
            "over features), and the association of the two is at least {repeated}.",
            raised=({"p_one": HOLDS, "p_other": HOLDS, "association": Limit("at least", "repeated")},),
            grades=(Grade("low"),),
            rests_on="wood:figure 9",
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's covered information, importances and redundancy."""
        covering, not_noticing, repeating = self.rules
        return close(self.name, [_covered(covering, run), _not_noticed(not_noticing, run), _repeated(repeating, run)])


def _covered(rule: Rule, run: Run) -> Part:
    """Judge covered information."""
    cid = Cid.find(run)
    covered = {} if cid is None else covers(rule, cid, run)
    if not covered:
        return Part(code=rule.code, absent=absent(run, ids.CID) if cid is None else lacking(cid, COVERED))
    raised = {f: cover for f, cover in covered.items() if rule.judge(**cover.observed) is not None}
    return Part(
        code=rule.code,
        findings=tuple(_cover(rule, *named) for named in raised.items()),
        undecided=tuple(f for f, cover in covered.items() if f not in raised and not cover.cleared),
        passed="No feature's information about the outcome is shown to be covered by the others.",
    )


def _cover(rule: Rule, feature: str, cover: Cover) -> Finding:
    line = cover.line
    words = amount(line.estimate, line.lower, line.upper, line.confidence)
    return rule.finding(
        rule.severity,
        f"The information of {short(feature)} about the outcome is covered by the other features to a share of "
        f"{100 * cover.share:.0f} %: {words}.",
        (ids.CID,),
        remedy="Read its importance together with that of the features it goes with.",
        features=(feature,),
        threshold=rule.thresholds["share"],
        observed=cover.share,
    )


def _not_noticed(rule: Rule, run: Run) -> Part:
    """Judge by how much more the loss rises than the stated uncertainty."""
    pfi, facts = Pfi.find(run), SubjectFacts.of(run)
    if pfi is None:
        return Part(code=rule.code, absent=absent(run, ids.PFI))
    if not likelihood(pfi) or ENTROPY.name not in pfi.measures:
        return Part(code=rule.code, absent=lacking(pfi, ENTROPY.name if likelihood(pfi) else NLL.name))
    if facts.weights is not False or facts.clusters:
        return Part(code=rule.code, absent="the rows are weighted or in clusters")
    every = unnoticed(rule, pfi)
    raised = {f: one for f, one in every.items() if rule.judge(**one.observed) is not None}
    return Part(
        code=rule.code,
        findings=tuple(_unseen(rule, one, scores_of(run).get(SKILL, nan)) for one in raised.values()),
        undecided=tuple(f for f, one in every.items() if f not in raised and one.may_exceed(rule.thresholds["margin"])),
        absent="" if every else "pfi has no row terms",
        passed="Of no feature the model is shown to miss that its values are wrong.",
    )


def _unseen(rule: Rule, one: Unnoticed, skill: float) -> Finding:
    loss, margin = one.loss, rule.thresholds["margin"]
    words = amount(one.estimate, one.lower, one.upper, loss.confidence)
    part = "all" if one.estimate >= loss.estimate else f"{100 * one.estimate / loss.estimate:.0f} %"
    return rule.finding(
        rule.severity,
        f"With wrong values of {short(loss.feature)} the model predicts worse by "
        f"{amount(loss.estimate, loss.lower, loss.upper, loss.confidence)}, and {part} of it does not show in how "
        f"unsure it is: {words}, above {margin:g}.",
        (ids.PFI, ids.PFI_READING),
        remedy="Watch the quality of this input: the stated uncertainty does not tell when it is wrong.",
        measures=(NLL.name, ENTROPY.name),
        features=(loss.feature,),
        threshold=margin,
        observed=one.estimate,
        lower=one.lower,
        upper=one.upper,
        size=one.estimate / skill if skill > 0 else None,
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
    skills = [f"{short(x.feature)} R² {spanned(x.estimate, x.lower, x.upper, x.confidence)}" for x in (a, b)]
    weaker = min(a, b, key=lambda line: line.lower)
    return rule.finding(
        rule.severity,
        f"{short(a.feature)} and {short(b.feature)} repeat each other: each is predicted by the other features "
        f"({'; '.join(skills)}), and their association is {strength:.2f}. Shuffling one of them leaves what it says in "
        "the other, so the importance of each is to be read together with the other's.",
        (ids.REDUNDANCY, ids.REDUNDANCY_PARTNER),
        remedy="Keep one of the two, or shuffle them as a group.",
        features=(a.feature, b.feature),
        threshold=rule.thresholds["repeated"],
        observed=weaker.estimate,
        lower=weaker.lower,
        upper=weaker.upper,
    )
