"""Dependence: whose importance other features hide, copies the model keys on, and pairs that repeat each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule
from ..core.run import Run
from ..core.text import short
from ..core.verdicts import holm
from ._cover import Cover, covers
from ._reading import Part, Sign, absent, close, lacking, likelihood, lines, signs, spanned, two_sided

UNDER = "The importance of a feature is under-reported"
COPY = "The model keys on a feature that adds no likelihood"
PAIR = "Two features repeat each other"
ALONE = "without target"
Pairs = Mapping[str, tuple[Sign, Sign]]


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
    def rules(self) -> tuple[Rule, ...]:
        """The three rules, with this check's thresholds."""
        adjusted = f"level {self.level:g}, Holm-adjusted over features"
        return (
            Rule(
                code="UQ201",
                title=UNDER,
                severity="medium",
                when="Entropy-PFI and Likelihood-PFI of a feature are both positive, or the other features cover more "
                f"than {self.margin:g} nats and more than {100 * self.share:g} % of its information about y "
                f"({adjusted}).",
                rests_on="wood:section 3.5",
            ),
            Rule(
                code="UQ202",
                title=COPY,
                severity="medium",
                when=f"The Entropy-PFI of a feature is positive ({adjusted}) and its Likelihood-PFI is about 0.",
                rests_on="wood:section 3.5",
            ),
            Rule(
                code="UQ203",
                title=PAIR,
                severity="low",
                when=f"The R² of each of two features from the others is above {self.repeated:g} ({adjusted}), and the "
                f"association of the two is at least {self.repeated:g}.",
                rests_on="wood:figure 9",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's importances, covered information and redundancy."""
        pairs, unread = self._pairs(run)
        return close(self.name, [self._hidden(run, pairs, unread), self._copies(pairs, unread), self._repeating(run)])

    def _pairs(self, run: Run) -> tuple[Pairs, str]:
        """Return Entropy- and Likelihood-PFI of every feature, or why there are none."""
        pfi = run.find("pfi")
        if pfi is None:
            return {}, absent(run, "pfi")
        measure = likelihood(pfi)
        E, L = (signs(pfi, name, self.level) for name in ("entropy", measure))
        pairs = {feature: (E[feature], L[feature]) for feature in E if feature in L}
        return pairs, "" if pairs else lacking(pfi, "nll" if E else "entropy")

    def _hidden(self, run: Run, pairs: Pairs, unread: str) -> Part:
        """Judge UQ201 by Wood's reading and by covered information."""
        cid = run.find("cid")
        covered = [] if cid is None else covers(cid, run, self.margin, self.share, self.level)
        held = {cover.feature: cover for cover in covered if cover.state == "covered"}
        shared = {f: pair for f, pair in pairs.items() if [s.verdict for s in pair] == ["positive", "positive"]}
        names = tuple(dict.fromkeys([*shared, *held]))
        unsure = [f for f, pair in pairs.items() if _may_be(pair, "positive")]
        unsure += [cover.feature for cover in covered if cover.state == "undetermined"]
        uncovered = "" if covered else absent(run, "cid") if cid is None else lacking(cid, "covered information")
        return Part(
            code="UQ201",
            findings=tuple(_under(name, shared.get(name), held.get(name), (self.margin, self.share)) for name in names),
            undecided=tuple(name for name in dict.fromkeys(unsure) if name not in names),
            absent="" if pairs or covered else f"{unread}; {uncovered}",
            passed=f"No importance is shown to be under-reported{f' ({uncovered})' if uncovered else ''}.",
        )

    def _copies(self, pairs: Pairs, unread: str) -> Part:
        found = [(f, *pair) for f, pair in pairs.items() if [s.verdict for s in pair] == ["positive", "about 0"]]
        return Part(
            code="UQ202",
            findings=tuple(_copied(*one) for one in found),
            undecided=tuple(f for f, pair in pairs.items() if _may_be(pair, "about 0")),
            absent=unread,
            passed="The model keys on no feature that adds no likelihood.",
        )

    def _repeating(self, run: Run) -> Part:
        """Judge the R² of both features of every pair of partners."""
        result, partners = run.find("redundancy"), run.find("redundancy.partner")
        table = lines(result, item=ALONE) if result is not None else pd.DataFrame()
        if partners is None or not len(table):
            reason = absent(run, "redundancy.partner") if partners is None else "no feature could be predicted"
            return Part(code="UQ203", absent=reason)
        excess = table["estimate"].to_numpy(dtype=float) - self.repeated
        p_values = holm(two_sided(excess, table["std_error"], np.maximum(table["n"].to_numpy(dtype=float) - 1, 1)))
        state = np.where(p_values <= self.level, np.sign(excess), 0)
        above = dict(zip(table["feature"], state.tolist(), strict=True))
        rows = {str(line["feature"]): line for line in table.to_dict("records")}
        findings, unsure = [], []
        for a, b, strength in _partners(partners.estimates, self.repeated):
            states = [above.get(a, 0), above.get(b, 0)]
            if states == [1, 1]:
                findings.append(self._pair(a, b, strength, rows))
            elif -1 not in states:
                unsure.append(f"{short(a)} with {short(b)}")
        return Part(
            code="UQ203",
            findings=tuple(findings),
            undecided=tuple(unsure),
            passed="No two features are shown to repeat each other.",
        )

    def _pair(self, a: str, b: str, strength: float, rows: Mapping[str, Mapping[Hashable, Any]]) -> Finding:
        told = []
        for name in (a, b):
            estimate, lower, upper, confidence = (
                float(rows[name][column]) for column in ("estimate", "lower", "upper", "confidence")
            )
            told.append(f"{short(name)} R² {spanned(estimate, lower, upper, confidence)}")
        weaker = min((rows[name] for name in (a, b)), key=lambda line: float(line["lower"]))
        return Finding(
            code="UQ203",
            title=PAIR,
            severity="low",
            statement=f"{short(a)} and {short(b)} repeat each other: each is predicted by the other features "
            f"({told[0]}; {told[1]}), and their association is {strength:.2f}. Shuffling one of them leaves what it "
            "says in the other, so the importance of each is to be read together with the other's.",
            evidence=("redundancy", "redundancy.partner"),
            rests_on="wood:figure 9",
            remedy="Keep one of the two, or shuffle them as a group.",
            features=(a, b),
            threshold=self.repeated,
            observed=float(weaker["estimate"]),
            lower=float(weaker["lower"]),
            upper=float(weaker["upper"]),
        )


def _may_be(pair: tuple[Sign, Sign], wanted: str) -> bool:
    """Say whether a positive Entropy-PFI with the `wanted` Likelihood-PFI is neither shown nor excluded."""
    (E, L), open_ = (sign.verdict for sign in pair), "undetermined"
    return open_ in (E, L) and E in ("positive", open_) and L in (wanted, open_)


def _partners(table: pd.DataFrame, least: float) -> list[tuple[str, str, float]]:
    """Return every pair of a feature and its partner once, from an association of `least`."""
    pairs: dict[frozenset[str], tuple[str, str, float]] = {}
    for feature, partner, strength in zip(table["feature"], table["item"], table["estimate"], strict=True):
        if strength >= least:
            pairs.setdefault(frozenset((feature, partner)), (str(feature), str(partner), float(strength)))
    return list(pairs.values())


def _under(feature: str, pair: tuple[Sign, Sign] | None, cover: Cover | None, limits: tuple[float, float]) -> Finding:
    """Return the finding on one feature, by either evidence or both; `limits` are margin and share."""
    said, evidence = [], []
    if pair is not None:
        E, L = pair
        said.append(
            f"Its Entropy-PFI ({E.words()}) and its Likelihood-PFI ({L.words()}) are both positive: it shares "
            "information about y with other features."
        )
        evidence += ["pfi", "pfi.reading"]
        observed = (E.estimate, E.lower, E.upper)
    if cover is not None:
        told = spanned(cover.covered, cover.lower, cover.upper, cover.confidence, "nats")
        said.append(
            f"The other features cover {told}, of its information about y: a share of {cover.share:.0%}, shown to be "
            f"above {limits[1]:.0%}."
        )
        evidence.append("cid")
        observed = observed if pair is not None else (cover.covered, cover.lower, cover.upper)
    return Finding(
        code="UQ201",
        title=UNDER,
        severity="medium",
        statement=f"Shuffling {short(feature)} under-reports its importance. {' '.join(said)}",
        evidence=tuple(evidence),
        rests_on="wood:section 3.5" if pair is not None else "pereira:definition 2.3",
        remedy="Do not rank or drop the feature by its own importance; shuffle it together with those it depends on.",
        features=(feature,),
        threshold=limits[0] if pair is None else 0.0,
        observed=observed[0],
        lower=observed[1],
        upper=observed[2],
    )


def _copied(feature: str, E: Sign, L: Sign) -> Finding:
    return Finding(
        code="UQ202",
        title=COPY,
        severity="medium",
        statement=f"Shuffling {short(feature)} costs confidence (Entropy-PFI {E.words()}) but no likelihood "
        f"(Likelihood-PFI {L.words()}, about 0: within ±{L.margin:.3g}). It is a copy of what other features say, or a "
        "spurious link the model keys on.",
        evidence=("pfi", "pfi.reading"),
        rests_on="wood:section 3.5",
        remedy="Compare a model without the feature, by likelihood on held-out rows.",
        measures=("entropy", "nll"),
        features=(feature,),
        threshold=0.0,
        observed=E.estimate,
        lower=E.lower,
        upper=E.upper,
    )
