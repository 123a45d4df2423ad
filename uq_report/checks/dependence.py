"""Dependence: whose importance other features hide, copies the model keys on, and pairs that repeat each other."""

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
from ..evidence.importance import ABOUT_0, POSITIVE, UNDETERMINED, Pfi
from ..evidence.information import COVERED, WITHOUT_TARGET, Cid, ItemLine, Redundancy, RedundancyLine, RedundancyPartner
from ..evidence.run import Run
from ..evidence.view import by_feature
from ..rules.reading import Part, Sign, absent, close, lacking, likelihood, signs, spanned, two_sided
from ..rules.rule import Grade, Limit, Rule
from ._cover import Cover, covers

READING = "wood:section 3.5"
Pairs = Mapping[str, tuple[Sign, Sign]]
HOLDS = Limit("at most", "level")


@dataclass(frozen=True)
class Dependence:
    """Reads Likelihood- and Entropy-PFI together, covered information, and redundancy.

    Signs of the importances are Holm-adjusted over features, for each measure; ``about 0`` is two
    one-sided tests and needs no adjustment, as UQ202 asks for it and a positive Entropy-PFI at once. With
    independent features Entropy-PFI is 0 in expectation (Wood et al., proposition 1), so both readings
    together keep the level.

    UQ201 is also raised where the other features cover a feature's information about y by more than
    `margin` nats and by more than `share` of it, both at once and Holm-adjusted over features.

    Parameters
    ----------
    level : float, default=0.05
        Of each family of tests; all are two-sided, and raise on one side.
    share : float, default=0.5
        Covered share from which an importance is under-reported.
    margin : float, default=0.01
        Covered information that matters, in nats.
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
        return self._hiding, self._copying, self._repeating

    @property
    def _hiding(self) -> Rule:
        return Rule(
            code="UQ201",
            title="The importance of a feature is under-reported",
            thresholds={"level": self.level, "margin": self.margin, "share": self.share},
            when="Entropy-PFI and Likelihood-PFI of a feature are both positive, or the other features cover more than "
            "{margin} nats and more than {share:pct} of its information about y (level {level}, Holm-adjusted over "
            "features).",
            raised=(
                {"p_entropy": HOLDS, "p_likelihood": HOLDS},
                {"p_covered": HOLDS, "covered": Limit("above", "margin"), "covered_share": Limit("above", "share")},
            ),
            grades=(Grade("medium"),),
            rests_on=READING,
        )

    @property
    def _copying(self) -> Rule:
        return Rule(
            code="UQ202",
            title="The model keys on a feature that adds no likelihood",
            thresholds={"level": self.level},
            when="The Entropy-PFI of a feature is positive (level {level}, Holm-adjusted over features) and its "
            "Likelihood-PFI is about 0.",
            raised=({"p_entropy": HOLDS, "about 0": Limit("above", 0)},),
            grades=(Grade("medium"),),
            rests_on=READING,
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
        """Judge the run's importances, covered information and redundancy."""
        hiding, copying, repeating = self.rules
        pairs, unread = self._pairs(run)
        return close(
            self.name, [_hidden(hiding, run, pairs, unread), _copies(copying, pairs, unread), _repeated(repeating, run)]
        )

    def _pairs(self, run: Run) -> tuple[Pairs, str]:
        """Return Entropy- and Likelihood-PFI of every feature, or why there are none."""
        pfi = Pfi.find(run)
        if pfi is None:
            return {}, absent(run, ids.PFI)
        E, L = (signs(pfi, name, self.level) for name in (ENTROPY.name, likelihood(pfi)))
        pairs = {feature: (E[feature], L[feature]) for feature in E if feature in L}
        return pairs, "" if pairs else lacking(pfi, NLL.name if E else ENTROPY.name)


def _hidden(rule: Rule, run: Run, pairs: Pairs, unread: str) -> Part:
    """Judge by Wood's reading and by covered information."""
    cid = Cid.find(run)
    covered = {} if cid is None else covers(rule, cid, run)
    shared = {f: pair for f, pair in pairs.items() if rule.judge(**_reading(pair)) is not None}
    hidden = {f: cover for f, cover in covered.items() if rule.judge(**cover.observed) is not None}
    names = tuple(dict.fromkeys([*shared, *hidden]))
    unsure = [f for f, pair in pairs.items() if _may_be(pair, POSITIVE)]
    unsure += [f for f, cover in covered.items() if not cover.cleared]
    uncovered = "" if covered else absent(run, ids.CID) if cid is None else lacking(cid, COVERED)
    return Part(
        code=rule.code,
        findings=tuple(_under(rule, name, shared.get(name), hidden.get(name)) for name in names),
        undecided=tuple(name for name in dict.fromkeys(unsure) if name not in names),
        absent="" if pairs or covered else f"{unread}; {uncovered}",
        passed=f"No importance is shown to be under-reported{f' ({uncovered})' if uncovered else ''}.",
    )


def _copies(rule: Rule, pairs: Pairs, unread: str) -> Part:
    copies = [(f, *pair) for f, pair in pairs.items() if rule.judge(**_reading(pair)) is not None]
    return Part(
        code=rule.code,
        findings=tuple(_copied(rule, *copy) for copy in copies),
        undecided=tuple(f for f, pair in pairs.items() if _may_be(pair, ABOUT_0)),
        absent=unread,
        passed="The model keys on no feature that adds no likelihood.",
    )


def _reading(pair: tuple[Sign, Sign]) -> dict[str, float]:
    """Return what the rules judge of one feature's Entropy- and Likelihood-PFI."""
    E, L = pair
    p_values = {"p_entropy": E.p_for(POSITIVE), "p_likelihood": L.p_for(POSITIVE)}
    return {**p_values, "about 0": float(L.verdict == ABOUT_0)}


def _may_be(pair: tuple[Sign, Sign], wanted: str) -> bool:
    """Say whether a positive Entropy-PFI with the `wanted` Likelihood-PFI is neither shown nor excluded."""
    E, L = (sign.verdict for sign in pair)
    return UNDETERMINED in (E, L) and E in (POSITIVE, UNDETERMINED) and L in (wanted, UNDETERMINED)


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


def _under(rule: Rule, feature: str, pair: tuple[Sign, Sign] | None, cover: Cover | None) -> Finding:
    """Return the finding on one feature, by either evidence or both."""
    reasons: list[str] = []
    evidence: list[str] = []
    numbers: list[Sign | ItemLine] = []
    if pair is not None:
        E, L = pair
        reasons.append(
            f"Its Entropy-PFI ({E.words()}) and its Likelihood-PFI ({L.words()}) are both positive: it shares "
            "information about y with other features."
        )
        evidence += [ids.PFI, ids.PFI_READING]
        numbers.append(E)
    if cover is not None:
        words = spanned(cover.line.estimate, cover.line.lower, cover.line.upper, cover.line.confidence, "nats")
        reasons.append(
            f"The other features cover {words}, of its information about y: a share of {cover.share:.0%}, shown to be "
            f"above {rule.thresholds['share']:.0%}."
        )
        evidence.append(ids.CID)
        numbers.append(cover.line)
    return rule.finding(
        rule.severity,
        f"Shuffling {short(feature)} under-reports its importance. {' '.join(reasons)}",
        evidence,
        rests_on=READING if pair else "pereira:definition 2.3",
        remedy="Do not rank or drop the feature by its own importance; shuffle it together with those it depends on.",
        features=(feature,),
        threshold=0.0 if pair else rule.thresholds["margin"],
        observed=numbers[0].estimate,
        lower=numbers[0].lower,
        upper=numbers[0].upper,
    )


def _copied(rule: Rule, feature: str, E: Sign, L: Sign) -> Finding:
    return rule.finding(
        rule.severity,
        f"Shuffling {short(feature)} costs confidence (Entropy-PFI {E.words()}) but no likelihood (Likelihood-PFI "
        f"{L.words()}, about 0: within ±{L.margin:.3g}). It is a copy of what other features say, or a spurious link "
        "the model keys on.",
        (ids.PFI, ids.PFI_READING),
        remedy="Compare a model without the feature, by likelihood on held-out rows.",
        measures=(ENTROPY.name, NLL.name),
        features=(feature,),
        threshold=0.0,
        observed=E.estimate,
        lower=E.lower,
        upper=E.upper,
    )
