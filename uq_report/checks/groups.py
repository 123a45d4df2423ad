"""Groups: whether errors or uncertainty differ by a protected attribute, and whether the model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import ClassVar, TypeVar

from ..core.errors import check_options
from ..core.measures import ENTROPY, NLL
from ..core.text import clean, short
from ..core.verdicts import holm
from ..evidence import ids
from ..evidence.finding import Finding, Outcome, Severity
from ..evidence.outcomes import CONFIDENCE_GAP, DifferenceLine, GroupLine, Groups, GroupsDifference
from ..evidence.run import Run
from ..evidence.view import of_measure
from ..rules.reading import Part, absent, close, listed
from ..rules.rule import Grade, Limit, Rule
from ._groups_drivers import MITCHELL, drivers, interval_words

GAP_RESTS = "E_q[-log q(Y)] = H(q): nll and entropy agree on average in any group of rows when y follows the model"
# measure -> which threshold its differences are judged by; every other measure is in nats
MARGINS = {
    "brier": "loss",
    "squared_error": "loss",
    "coverage_90": "rate",
    "false_positive_rate": "rate",
    "false_negative_rate": "rate",
}
WORDS = {
    "brier": "Brier score",
    "squared_error": "squared error",
    CONFIDENCE_GAP: "confidence gap",
    "coverage_90": "coverage of the central 90 % intervals",
    "false_positive_rate": "false-positive rate at a probability of 0.5",
    "false_negative_rate": "false-negative rate at a probability of 0.5",
}
UNJUDGED = Rule(
    code="UQ804",
    title="Groups are too small to be judged",
    when="A group has fewer rows or clusters than the least that is shown, or would give away one.",
    raised=({"withheld": Limit("above", 0)},),
    grades=(Grade("observation"),),
    rests_on=MITCHELL,
)
INFINITE = float("inf")
L = TypeVar("L", bound=GroupLine)


@dataclass(frozen=True)
class GroupsCheck:
    """Judges errors and uncertainty by protected attribute.

    UQ801 and UQ802 share `level` in halves, each Holm-adjusted over all its groups and measures, so that
    both together raise something in at most that share of audits of a model that treats all groups alike.

    Parameters
    ----------
    level : float
    loss : float
        Difference of the usual loss that matters, as a share of the loss of all rows.
    rate : float
        Difference of coverage or of an error rate that matters.
    effect : float
        Confidence gap, or difference of two, that matters, in nats.
    proxy : float
        Association with a protected attribute (0 to 1) from which a feature is its proxy.
    skill : float
        Out-of-bag R² from which all features together are one.
    """

    level: float = 0.05
    loss: float = 0.1
    rate: float = 0.05
    effect: float = 0.05
    proxy: float = 0.5
    skill: float = 0.5

    name: ClassVar[str] = ids.GROUPS
    title: ClassVar[str] = "Groups and protected attributes"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        shares = ("level", "rate", "proxy", "skill")
        rules = (
            *((name, 0 < getattr(self, name) < 1, "a number in (0, 1)") for name in shares),
            ("loss", self.loss > 0, "a number > 0"),
            ("effect", self.effect > 0, "a number > 0"),
        )
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, Rule, Rule, Rule]:
        """The four rules, with this check's thresholds."""
        return self._differing, self._misstating, self._driving, UNJUDGED

    @property
    def _differing(self) -> Rule:
        margins = {"loss": self.loss, "rate": self.rate, "effect": self.effect}
        adjusted = {"p_adjusted": Limit("at most", "level")}
        return Rule(
            code="UQ801",
            title="The model's errors differ for a group",
            thresholds={"level": self.level / 2, **margins},
            when="A group differs from the rest (level {level}, Holm-adjusted over groups and measures) and by at "
            "least {loss:pct} of the overall loss, {rate:points} percentage points of coverage or an error rate, or "
            "{effect} nats of confidence gap. High if the interval of the difference lies beyond that, else medium.",
            raised=tuple({**adjusted, name: Limit("at least", name)} for name in margins),
            grades=(
                *(Grade("high", {f"nearest {name}": Limit("at least", name)}) for name in margins),
                Grade("medium"),
            ),
            rests_on=MITCHELL,
        )

    @property
    def _misstating(self) -> Rule:
        return Rule(
            code="UQ802",
            title="The model's uncertainty is misstated for a group",
            thresholds={"level": self.level / 2, "effect": self.effect},
            when="The confidence gap of a group is not 0 (level {level}, Holm-adjusted over groups and measures) and "
            "at least {effect} nats. High if the interval lies beyond that, else medium.",
            raised=({"p_adjusted": Limit("at most", "level"), "effect": Limit("at least", "effect")},),
            grades=(Grade("high", {"nearest effect": Limit("at least", "effect")}), Grade("medium")),
            rests_on=GAP_RESTS,
        )

    @property
    def _driving(self) -> Rule:
        return Rule(
            code="UQ803",
            title="A protected attribute, or its proxy, is among the drivers",
            thresholds={"level": self.level, "proxy": self.proxy, "skill": self.skill},
            when="The permutation importance of a protected attribute, or of a feature associated with it by at least "
            "{proxy}, is positive (level {level}, Holm-adjusted over these features and all measures). Observation if "
            "all features together tell the attribute with an R² above {skill}.",
            raised=(
                {"p_positive": Limit("at most", "level"), "association": Limit("at least", "proxy")},
                {"skill": Limit("at least", "skill")},
            ),
            grades=(Grade("medium", {"p_positive": Limit("at most", "level")}), Grade("observation")),
            rests_on=MITCHELL,
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's results by group."""
        groups = Groups.find(run)
        if groups is None:
            reason = absent(run, ids.GROUPS)
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        differing, misstating, driving, unjudged = self.rules
        parts = [_differs(differing, run), _misstated(misstating, groups), drivers(driving, run, groups)]
        return close(self.name, [*parts, _small(unjudged, groups)])


def _tested(lines: Sequence[L]) -> list[tuple[L, float]]:
    """Return the lines that have a p-value, each with the adjusted one."""
    tested = [line for line in lines if not isnan(line.p_value)]
    return list(zip(tested, map(float, holm([line.p_value for line in tested])), strict=True))


def _differs(rule: Rule, run: Run) -> Part:
    differences = GroupsDifference.find(run)
    tested = _tested(differences.lines) if differences else []
    if not tested:
        return Part(code=rule.code, absent="no difference between groups could be tested")
    findings, unsure = [], []
    for line, p in tested:
        name = MARGINS.get(line.measure, "effect")
        scale = abs(line.overall) if name == "loss" else 1.0
        severity = rule.judge(p_adjusted=p, **_sizes(line, name, scale))
        if severity is not None:
            findings.append(_difference(rule, severity, line, p, rule.thresholds[name] * scale))
        elif max(abs(line.lower), abs(line.upper)) >= rule.thresholds[name] * scale:
            unsure.append(f"{WORDS.get(line.measure, line.measure)} of {_group(line)}")
    passed = f"No group differs from the rest beyond the margins, by {len(tested)} differences."
    return Part(code=rule.code, findings=tuple(findings), undecided=tuple(unsure), passed=passed)


def _difference(rule: Rule, severity: Severity, line: DifferenceLine, p: float, margin: float) -> Finding:
    return rule.finding(
        severity,
        f"For {_group(line)} ({line.n} rows) the {WORDS.get(line.measure, line.measure)} differs from that of the "
        f"other {line.n_rest} rows by {interval_words(line, line.unit)} (adjusted p = {p:.2g}). The estimate is at "
        f"least the margin of {margin:.3g}.",
        (ids.GROUPS_DIFFERENCE, ids.GROUPS),
        remedy="Look at the group by itself; say why its errors differ, or train and calibrate for it.",
        measures=(line.measure,),
        features=(line.feature,),
        threshold=margin,
        observed=line.estimate,
        lower=line.lower,
        upper=line.upper,
    )


def _misstated(rule: Rule, groups: Groups) -> Part:
    tested = _tested([line for line in of_measure(groups.lines, CONFIDENCE_GAP) if line.feature])
    if not tested:
        return Part(code=rule.code, absent="no group has a confidence gap")
    effect = rule.thresholds["effect"]
    findings, unsure = [], []
    for line, p in tested:
        severity = rule.judge(p_adjusted=p, **_sizes(line, "effect"))
        if severity is not None:
            findings.append(_gap(rule, severity, line, p))
        elif not (abs(line.lower) < effect and abs(line.upper) < effect):
            unsure.append(_group(line))
    passed = f"The confidence gap of each of {len(tested)} groups lies within ±{effect:g} nats."
    return Part(code=rule.code, findings=tuple(findings), undecided=tuple(unsure), passed=passed)


def _gap(rule: Rule, severity: Severity, line: GroupLine, p: float) -> Finding:
    side = "over-confident" if line.estimate > 0 else "under-confident"
    return rule.finding(
        severity,
        f"For {_group(line)} ({line.n} rows) the model is {side}: confidence gap {interval_words(line, 'nats')} "
        f"(adjusted p = {p:.2g}). Its entropy misstates this group's uncertainty.",
        (ids.GROUPS,),
        remedy="Recalibrate on rows of this group, or report its uncertainty with this gap.",
        measures=(CONFIDENCE_GAP, NLL.name, ENTROPY.name),
        features=(line.feature,),
        threshold=rule.thresholds["effect"],
        observed=line.estimate,
        lower=line.lower,
        upper=line.upper,
    )


def _sizes(line: GroupLine, name: str, scale: float = 1.0) -> dict[str, float]:
    """Return the size of an estimate, and that of the end of its interval next to 0, for the threshold `name`."""
    nearest = max(line.lower, -line.upper)
    return {name: abs(line.estimate) / scale, f"nearest {name}": nearest / scale} if scale else {name: INFINITE}


def _small(rule: Rule, groups: Groups) -> Part:
    """Say which groups are not shown; never how small they are."""
    findings = []
    for name, facts in groups.attributes.items():
        severity = rule.judge(withheld=len(facts["withheld"]))
        if severity is not None:
            findings.append(
                rule.finding(
                    severity,
                    f"Of {short(name)}, {listed(map(clean, facts['withheld']))} cannot be judged: fewer than "
                    f"{groups.n_min} rows or clusters, or held back to protect such a group. Nothing is known there.",
                    (ids.GROUPS,),
                    remedy="Audit the model on more rows of these groups.",
                    features=(name,),
                    threshold=float(groups.n_min),
                )
            )
    passed = f"Every group has at least {groups.n_min} rows or clusters."
    return Part(code=rule.code, findings=tuple(findings), passed=passed)


def _group(line: GroupLine) -> str:
    return f"{short(line.feature)} = {clean(line.item)}"
