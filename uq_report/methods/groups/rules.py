"""Groups: predictions and losses that no honest model shows, the use of an attribute, and what base rates make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import ClassVar

from ...core.errors import check_options
from ...core.measures import ENTROPY, NLL
from ...core.text import clean, short
from ...core.verdicts import holm
from ...evidence import ids
from ...evidence.finding import Finding, Outcome, Severity, Symptom
from ...evidence.outcomes import CONFIDENCE_GAP, DifferenceLine, GroupLine, Groups, GroupsDifference
from ...evidence.run import Run
from ...rules.reading import Part, absent, close, listed
from ...rules.rule import Grade, Limit, Rule
from .drivers import MITCHELL, drivers
from .words import contrast, group_words, of_class

MISPREDICTED, MISJUDGED, USED, UNJUDGED, DIFFERING = "UQ801", "UQ802", "UQ803", "UQ804", "UQ805"
HONEST = "E_q[Y] = mean(q) and E_q[-log q(Y)] = H(q): both hold on average in any rows when y follows the model"
# measure -> which threshold its differences are judged by
EXCESS = {CONFIDENCE_GAP: "effect", "coverage_90": "rate", "excess_loss": "loss"}
PLAIN = {
    "brier": "loss",
    "squared_error": "loss",
    "entropy": "entropy",
    "false_positive_rate": "rate",
    "false_negative_rate": "rate",
}
WORDS = {
    "brier": "Brier score",
    "squared_error": "squared error",
    CONFIDENCE_GAP: "loss",
    "excess_loss": "loss",
    "coverage_90": "coverage of the central 90 % intervals",
    "false_positive_rate": "false-positive rate at a probability of 0.5",
    "false_negative_rate": "false-negative rate at a probability of 0.5",
    "entropy": "stated uncertainty",
}
HIGH = Grade("high", {"times": Limit("at least", "high")})
SMALL = Rule(
    code=UNJUDGED,
    title="Groups are too small to be judged",
    when="A group has fewer rows or clusters than the least that is shown, or would give away one.",
    raised=({"withheld": Limit("above", 0)},),
    grades=(Grade("observation"),),
    rests_on=MITCHELL,
)


@dataclass(frozen=True)
class GroupsCheck:
    """Judges predictions, losses and the use of protected attributes by group.

    Above an observation is only what an honest model cannot show, whatever the groups' base rates: predictions too
    high or too low for a group against its outcomes, a loss other than the model expects there, and the use of an
    attribute, or of a feature that stands in for it, by size. Losses, entropies and error rates differ between groups
    of different base rates in every honest model; they are observations.

    Parameters
    ----------
    level : float
        Of each of these rules: half of it for predictions, losses and observations, each Holm-adjusted over its
        groups and measures; all of it for the use.
    spread : float
        Contrast of predictions that matters, as a share of the outcome's standard deviation.
    effect, entropy : float
        Loss beyond expectation, and difference of entropy, that matter, in nats.
    rate : float
        Difference of coverage or of an error rate that matters.
    loss : float
        Difference of the usual loss that matters, as a share of the loss of all rows.
    high : float
        Multiple of the margin from which a finding on predictions or losses is high.
    proxy, stand_in : float
        Association with an attribute (0 to 1) from which a feature is its proxy, and from which it stands in for it.
    skill : float
        Out-of-bag R² from which all features together tell an attribute.
    """

    level: float = 0.05
    spread: float = 0.1
    effect: float = 0.02
    entropy: float = 0.05
    rate: float = 0.05
    loss: float = 0.1
    high: float = 4.0
    proxy: float = 0.5
    stand_in: float = 0.7
    skill: float = 0.5

    name: ClassVar[str] = ids.GROUPS
    title: ClassVar[str] = "Groups and protected attributes"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        shares = ("level", "rate", "proxy", "stand_in", "skill")
        rules = (
            *((name, 0 < getattr(self, name) < 1, "a number in (0, 1)") for name in shares),
            *((name, getattr(self, name) > 0, "a number > 0") for name in ("spread", "effect", "entropy", "loss")),
            ("high", self.high >= 1, "a number >= 1"),
        )
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, Rule, Rule, Rule, Rule]:
        """The rules, with this check's thresholds."""
        return self._mispredicted, self._misjudged, self._used, SMALL, self._differing

    @property
    def _mispredicted(self) -> Rule:
        return Rule(
            code=MISPREDICTED,
            title="Predictions are too high or too low for a group",
            thresholds={"level": self.level / 2, "spread": self.spread, "high": self.high},
            when="Outcomes less predictions of a group differ from those of the rest (level {level}, Holm-adjusted "
            "over groups and classes), the interval beyond {spread:pct} of the outcome's standard deviation. High from "
            "{high} times that, else medium.",
            raised=({"p_adjusted": Limit("at most", "level"), "nearest spread": Limit("above", "spread")},),
            grades=(HIGH, Grade("medium")),
            rests_on=HONEST,
        )

    @property
    def _misjudged(self) -> Rule:
        margins = {"effect": self.effect, "rate": self.rate, "loss": self.loss}
        return Rule(
            code=MISJUDGED,
            title="The loss of a group is not the one that the model expects",
            thresholds={"level": self.level / 2, **margins, "high": self.high},
            when="Loss less the loss that the model expects (its entropy) of a group differs from that of the rest "
            "(level {level}, Holm-adjusted over groups and measures), by at least {effect} nats, where the likelihood "
            "is not finite {loss:pct} of the usual loss; or coverage does, by {rate:points} percentage points. High if "
            "the interval lies beyond {high} times the margin, medium beyond the margin, else low.",
            raised=tuple({"p_adjusted": Limit("at most", "level"), name: Limit("at least", name)} for name in margins),
            grades=(HIGH, Grade("medium", {"times": Limit("above", 1)}), Grade("low")),
            rests_on=HONEST,
        )

    @property
    def _used(self) -> Rule:
        numbers = ("level", "spread", "proxy", "stand_in", "skill")
        beyond = Limit("above", "spread")
        return Rule(
            code=USED,
            title="Predictions change with a protected attribute, or its proxy",
            thresholds={name: getattr(self, name) for name in numbers},
            when="When an attribute, or a feature associated with it by at least {proxy}, is exchanged, a group's "
            "predictions lose some of their contrast to the rest (level {level}, Holm-adjusted), the interval beyond "
            "{spread:pct} of the outcome's standard deviation. Medium where predictions differ more than outcomes do, "
            "the interval beyond the same margin; low from an association of {stand_in}; else observation, also where "
            "all features together tell the attribute with an R² of at least {skill}.",
            raised=(
                {"p_adjusted": Limit("at most", "level"), "lost": beyond, "association": Limit("at least", "proxy")},
                {"skill": Limit("at least", "skill")},
            ),
            grades=(
                Grade("medium", {"exceeding": beyond}),
                Grade("low", {"association": Limit("at least", "stand_in")}),
                Grade("observation"),
            ),
            rests_on=MITCHELL,
        )

    @property
    def _differing(self) -> Rule:
        margins = {"loss": self.loss, "entropy": self.entropy, "rate": self.rate}
        return Rule(
            code=DIFFERING,
            title="Losses, uncertainty or error rates differ between groups",
            thresholds={"level": self.level / 2, **margins},
            when="Usual loss, entropy or an error rate of a group differs from that of the rest (level {level}, "
            "Holm-adjusted over groups and measures), the interval beyond {loss:pct} of the loss of all rows, "
            "{entropy} nats or {rate:points} percentage points. Groups of different base rates do in an honest model.",
            raised=tuple(
                {"p_adjusted": Limit("at most", "level"), f"nearest {name}": Limit("above", name)} for name in margins
            ),
            grades=(Grade("observation"),),
            rests_on=MITCHELL,
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's results by group."""
        groups = Groups.find(run)
        if groups is None:
            reason = absent(run, ids.GROUPS)
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        apart = GroupsDifference.find(run)
        reading = _Reading(groups, () if apart is None else apart.lines)
        mispredicted, misjudged, used, small, differing = self.rules
        parts = [reading.predictions(mispredicted), reading.losses(misjudged), drivers(used, run)]
        return close(self.name, [*parts, _small(small, groups), reading.plain(differing)])


@dataclass(frozen=True)
class _Seen:
    """A difference with its adjusted p-value, and how far its interval lies from 0, in the unit of its threshold."""

    line: DifferenceLine
    p: float
    threshold: str
    margin: float

    @property
    def scale(self) -> float:
        """What the threshold is a share of; 1 where it has a unit."""
        return self.line.scale if self.threshold in ("spread", "loss") else 1.0

    def judge(self, rule: Rule) -> Severity | None:
        """Return the severity; none where the scale is 0 or not known."""
        unit = self.scale if self.scale > 0 else nan
        sizes = {self.threshold: abs(self.line.estimate) / unit, f"nearest {self.threshold}": self.nearest / unit}
        return rule.judge(p_adjusted=self.p, times=self.nearest / unit / self.margin, **sizes)

    @property
    def nearest(self) -> float:
        """How far the interval lies from 0; negative where it holds 0."""
        return max(self.line.lower, -self.line.upper)

    @property
    def open(self) -> bool:
        """Whether the interval reaches beyond the margin."""
        return not max(abs(self.line.lower), abs(self.line.upper)) <= self.margin * self.scale

    def finding(self, rule: Rule, severity: Severity, statement: str, **parts: object) -> Finding:
        """Return a finding on this difference."""
        return rule.finding(
            severity,
            statement,
            (ids.GROUPS_DIFFERENCE, ids.GROUPS),
            features=(self.line.feature,),
            threshold=self.margin * self.scale,
            observed=self.line.estimate,
            lower=self.line.lower,
            upper=self.line.upper,
            **parts,
        )


@dataclass(frozen=True)
class _Reading:
    """Means by group and differences to the rest."""

    groups: Groups
    differences: Sequence[DifferenceLine]

    def _seen(self, rule: Rule, thresholds: dict[str, str]) -> list[_Seen]:
        """Return the tested differences of some measures, adjusted over all of them."""
        lines = [x for x in self.differences if _base(x.measure) in thresholds and not isnan(x.p_value)]
        adjusted = holm([line.p_value for line in lines]).tolist() if lines else []
        names = [thresholds[_base(line.measure)] for line in lines]
        return [_Seen(x, float(p), n, rule.thresholds[n]) for x, p, n in zip(lines, adjusted, names, strict=True)]

    def predictions(self, rule: Rule) -> Part:
        """Judge outcomes less predictions."""
        seen = self._seen(rule, {"residual": "spread"})
        if not seen:
            return Part(code=rule.code, absent="no difference of outcomes less predictions could be tested")
        found = [(one, severity) for one in seen if (severity := one.judge(rule)) is not None]
        unsure = [group_words(one.line) for one in seen if one.judge(rule) is None and one.open]
        return Part(
            code=rule.code,
            findings=tuple(self._mispredicted(rule, *pair) for pair in found),
            undecided=tuple(dict.fromkeys(unsure)),
            passed=f"Predictions and outcomes part by the same in {len(seen)} groups and their rest.",
        )

    def _mispredicted(self, rule: Rule, seen: _Seen, severity: Severity) -> Finding:
        line, suffix = seen.line, seen.line.measure.removeprefix("residual")
        side = "high" if line.estimate < 0 else "low"
        told = [(what, self.difference(line, f"{name}{suffix}")) for what, name in
                (("predictions", "prediction"), ("outcomes", "outcome"))]  # fmt: skip
        beside = " and ".join(f"its {what} differ from theirs by {contrast(one)}" for what, one in told if one)
        return seen.finding(
            rule,
            severity,
            f"Against the other {line.n_rest} rows, predictions{of_class(line.measure)} are too {side} for "
            f"{group_words(line)} ({line.n} rows) by {contrast(line, size=True)}{'; ' if beside else ''}{beside}.",
            remedy="Find what the model lacks or overstates for this group. Refit it, or recalibrate by group.",
            measures=(line.measure,),
        )

    def difference(self, line: DifferenceLine, measure: str) -> DifferenceLine | None:
        """Return the difference of another measure for the same group."""
        same = (x for x in self.differences if (x.measure, x.feature, x.item) == (measure, line.feature, line.item))
        return next(same, None)

    def losses(self, rule: Rule) -> Part:
        """Judge the loss less the loss that the model expects."""
        has_gap = any(line.measure == CONFIDENCE_GAP for line in self.differences)
        seen = self._seen(rule, {m: n for m, n in EXCESS.items() if m != "excess_loss" or not has_gap})
        if not seen:
            return Part(code=rule.code, absent="no difference of the loss less the expected loss could be tested")
        found = [(one, severity) for one in seen if (severity := one.judge(rule)) is not None]
        unsure = [group_words(one.line) for one in seen if one.judge(rule) is None and one.open]
        return Part(
            code=rule.code,
            findings=tuple(self._misjudged(rule, *pair) for pair in found),
            undecided=tuple(dict.fromkeys(unsure)),
            passed=f"The loss of {len(seen)} groups is as far from what the model expects as that of their rest.",
        )

    def _misjudged(self, rule: Rule, seen: _Seen, severity: Severity) -> Finding:
        line = seen.line
        own = next((x for x in self.groups.lines if _place(x) == _place(line)), None)
        return seen.finding(
            rule,
            severity,
            f"For {group_words(line)} ({line.n} rows) {_against_expected(line, own)}.",
            remedy="Look for wrong labels or missing features in the group. Report its uncertainty apart.",
            measures=(NLL.name, ENTROPY.name) if line.measure == CONFIDENCE_GAP else (line.measure,),
            explains=(Symptom(code=DIFFERING, feature=line.feature),),
        )

    def plain(self, rule: Rule) -> Part:
        """Name groups whose loss, entropy or error rates differ, attribute by attribute."""
        seen = self._seen(rule, PLAIN)
        if not seen:
            return Part(code=rule.code, absent="no difference of loss, entropy or error rates could be tested")
        found: dict[str, list[_Seen]] = {}
        for one in seen:
            if one.judge(rule) is not None:
                found.setdefault(one.line.feature, []).append(one)
        findings = tuple(_differs(rule, several) for several in found.values())
        passed = "No group is shown to differ from the rest in loss, entropy or error rates beyond the margins."
        return Part(code=rule.code, findings=findings, passed=passed)


def _base(measure: str) -> str:
    return measure.partition("[")[0]


def _place(line: GroupLine) -> tuple[str, str, str]:
    return line.measure, line.feature, line.item


def _against_expected(line: DifferenceLine, own: GroupLine | None) -> str:
    """Say how far loss or coverage lies from what the model expects, by itself and against the rest."""
    side = "more" if line.estimate > 0 else "less"
    rest = f"{contrast(line, size=True)} {side} than for the other {line.n_rest} rows"
    if line.measure == "coverage_90":
        return f"the central 90 % intervals cover {rest}"
    if own is None:
        return f"the {WORDS[line.measure]} less its expectation is {rest}"
    place = "above" if own.estimate > 0 else "below"
    return f"the {WORDS[line.measure]} is {contrast(own, size=True)} {place} what the model expects, {rest}"


def _differs(rule: Rule, several: Sequence[_Seen]) -> Finding:
    first = max(several, key=lambda one: one.nearest / (one.margin * one.scale))
    words = [f"the {WORDS[x.line.measure]} of {group_words(x.line)} is {_more(x.line)}" for x in several]
    return first.finding(
        rule,
        rule.severity,
        f"Compared with the rest, {listed(words)}. Groups of different base rates differ so in an honest model, too.",
        remedy="Weigh what such differences mean for the people concerned.",
        measures=tuple(dict.fromkeys(one.line.measure for one in several)),
    )


def _more(line: DifferenceLine) -> str:
    """Say by how much a number of a group is higher or lower than that of the rest."""
    return f"{'higher' if line.estimate > 0 else 'lower'} by {contrast(line, size=True)}"


def _small(rule: Rule, groups: Groups) -> Part:
    """Say which groups are not shown; never how small they are."""
    passed = f"Every group has at least {groups.n_min} rows or clusters."
    return Part(code=rule.code, findings=tuple(_withheld(rule, groups)), passed=passed)


def _withheld(rule: Rule, groups: Groups) -> Iterator[Finding]:
    for name, facts in groups.attributes.items():
        severity = rule.judge(withheld=len(facts["withheld"]))
        if severity is not None:
            yield rule.finding(
                severity,
                f"Of {short(name)}, {listed(map(clean, facts['withheld']))} cannot be judged: fewer than "
                f"{groups.n_min} rows or clusters, or held back to protect such a group.",
                (ids.GROUPS,),
                remedy="Audit the model on more rows of these groups.",
                features=(name,),
                threshold=float(groups.n_min),
            )
