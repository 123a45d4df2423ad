"""Groups: predictions and losses that no honest model shows, the use of an attribute, and what base rates make."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan, sqrt
from typing import Any, ClassVar, NamedTuple, TypeVar

from ...checks.family import Judge, Said, TableCheck, family, needed, require
from ...checks.reading import RuleOutcome, absent, listed, size_beyond
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, NLL
from ...core.support import options as opt
from ...core.support.numbers import number, value_words
from ...core.support.text import clean, short
from ...evidence import ids, outcomes
from ...evidence.finding import Symptom
from ...evidence.outcomes import DifferenceLine, GroupLine, UseLine
from ...evidence.run import Run
from ..shared.checks import about, line_words
from .contrasts import ALL, ERROR_RATES

MISPREDICTED, MISJUDGED, USED, UNJUDGED, DIFFERING = "UQ801", "UQ802", "UQ803", "UQ804", "UQ805"
# measure -> which threshold its differences are judged by
EXCESS_THRESHOLDS = {outcomes.CONFIDENCE_GAP: "effect", "coverage_90": "rate", "excess_loss": "loss"}
PLAIN_THRESHOLDS = {
    "brier": "loss",
    "squared_error": "loss",
    "entropy": "entropy",
    **dict.fromkeys(ERROR_RATES, "rate"),
}
WORDS = {
    "brier": "Brier score",
    "squared_error": "squared error",
    outcomes.CONFIDENCE_GAP: "loss",
    "excess_loss": "loss",
    "coverage_90": "coverage of the central 90% prediction intervals",
    "false_positive_rate": "false-positive rate at a probability of 0.5",
    "false_negative_rate": "false-negative rate at a probability of 0.5",
    "entropy": "stated uncertainty",
}
POINTS = ("probability", "share of")  # how units begin that are told in percentage points
Place = tuple[str, str, str]  # a line's measure, attribute and group
Contrasts = Mapping[Place, DifferenceLine]
L = TypeVar("L", bound=GroupLine)

PREDICTIONS = Rule.stated(MISPREDICTED)
LOSSES = Rule.stated(MISJUDGED)
USE = Rule.stated(USED)
SMALL = Rule.stated(UNJUDGED)
PLAIN = Rule.stated(DIFFERING)


class GroupTest(NamedTuple):
    """A tested difference, and the margin of its threshold; `scale` is what the margin is a share of."""

    line: DifferenceLine
    threshold: str
    margin: float
    scale: float

    @property
    def nearest(self) -> float:
        """How far the interval lies from 0; negative where it holds 0."""
        return max(self.line.lower, -self.line.upper)

    @property
    def bound(self) -> float:
        """The margin in the unit of the line."""
        if self.threshold == "effect":
            return sqrt(2 * self.margin) * self.scale
        return self.margin * self.scale

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that the rules judge; NaN where the scale is 0 or not known."""
        unit = self.scale if self.scale > 0 else nan
        if self.threshold == "effect":
            saved = max(self.nearest, 0.0) / unit
            return {"effect": (self.line.estimate / unit) ** 2 / 2, "saved": saved**2 / 2}
        sizes = {self.threshold: abs(self.line.estimate) / unit, f"nearest_{self.threshold}": self.nearest / unit}
        return {"times": self.nearest / unit / self.margin, **sizes}

    @property
    def about(self) -> Said:
        """The fields of a finding on this difference."""
        fields = {"features": (self.line.feature,), "measures": (self.line.measure,), "threshold": self.bound}
        return about(self.line, ids.GROUPS_DIFFERENCE, ids.GROUPS, **fields)


def _differences(run: Run) -> Sequence[DifferenceLine]:
    view = outcomes.GroupsDifference.find(run)
    return () if view is None else view.lines


def _family(
    rule: Rule, run: Run, thresholds: Mapping[str, str], what: str, said: Callable[..., Said], passed: str, **more: Any
) -> RuleOutcome:
    """Judge the tested differences of some measures; `what` they are of, where none was tested."""
    needed(outcomes.GroupsView, run)
    tests = []
    for line in _differences(run):
        name = thresholds.get(line.measure.partition("[")[0])
        if name is not None and not isnan(line.p_value):
            scale = line.scale if name in ("spread", "loss", "effect") else 1.0
            tests.append(GroupTest(line, name, rule.thresholds[name], scale))
    require(tests, f"no difference of {what} could be tested")
    p_values, passed = [test.line.p_value for test in tests], passed.format(n=len(tests))
    size = size_beyond(run, [(test.line.std_error, test.bound) for test in tests])
    return family(rule, tests, lambda test: test.numbers, said, p_values=p_values, passed=passed, size=size, **more)


def _wide(rest: Sequence[GroupTest]) -> Iterable[str]:
    """Return the groups whose interval reaches beyond the margin."""
    ends = ((test, max(abs(test.line.lower), abs(test.line.upper))) for test in rest)
    return dict.fromkeys(group_words(test.line) for test, end in ends if not end <= test.bound)


def _predictions(rule: Rule, run: Run) -> RuleOutcome:
    """Judge outcomes less predictions."""
    contrasts = _by_place(_differences(run))
    passed = "In none of {n} groups do predictions differ from outcomes by more than elsewhere."
    of = {"residual": "spread"}, "outcomes less predictions"
    return _family(rule, run, *of, lambda x: _mispredicted(x, contrasts), passed, undecided=_wide)


def _mispredicted(test: GroupTest, contrasts: Contrasts) -> Said:
    line = test.line
    sizes = [f"its {what} differ by {size}" for what, size in both_contrasts(line, contrasts)]
    return test.about | {
        "statement": f"Compared with the other {line.n_rest} observations, predictions{of_class(line.measure)} are too "
        f"{'high' if line.estimate < 0 else 'low'} for {group_words(line)} ({line.n} observations) by "
        f"{contrast(line, size=True)}{'; ' if sizes else ''}{' and '.join(sizes)}.",
        "remedy": "Find out what the model lacks or overstates for this group. Refit it, or recalibrate by group.",
        "explains": tuple(Symptom(code=code, feature=line.feature) for code in (MISJUDGED, DIFFERING)),
    }


def _losses(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the loss less the loss that the model expects."""
    has_gap = any(line.measure == outcomes.CONFIDENCE_GAP for line in _differences(run))
    thresholds = {m: name for m, name in EXCESS_THRESHOLDS.items() if m != "excess_loss" or not has_gap}
    passed = "In none of {n} groups does the loss differ from its expectation by more than elsewhere."
    means, of = _by_place(needed(outcomes.GroupsView, run).lines), (thresholds, "the loss minus the expected loss")
    return _family(rule, run, *of, lambda x: _misjudged(x, means), passed, undecided=_wide)


def _misjudged(test: GroupTest, means: Mapping[Place, GroupLine]) -> Said:
    line = test.line
    return test.about | {
        "statement": f"For {group_words(line)} ({line.n} observations) "
        f"{_against_expected(line, means.get((line.measure, line.feature, line.item)))}.",
        "remedy": "Look for wrong labels or missing features in the group. Report its uncertainty separately.",
        "measures": (NLL.name, ENTROPY.name) if line.measure == outcomes.CONFIDENCE_GAP else (line.measure,),
        "explains": (Symptom(code=DIFFERING, feature=line.feature),),
    }


def _against_expected(line: DifferenceLine, own: GroupLine | None) -> str:
    """Say how far loss or coverage lies from what the model expects, by itself and against the rest."""
    side = "more" if line.estimate > 0 else "less"
    rest = f"{contrast(line, size=True)} {side} than for the other {line.n_rest} observations"
    if line.measure == "coverage_90":
        return f"the central 90% prediction intervals cover {rest}"
    if own is None:
        return f"the {WORDS[line.measure]} less its expectation is {rest}"
    place = "above" if own.estimate > 0 else "below"
    return f"the {WORDS[line.measure]} is {contrast(own, size=True)} {place} what the model expects, {rest}"


def _plain(rule: Rule, run: Run) -> RuleOutcome:
    """Name groups whose loss, entropy or error rates differ, attribute by attribute."""
    what = "loss, entropy or error rates"
    passed = f"No group is shown to differ from the other groups in {what} beyond the margins."
    return _family(rule, run, PLAIN_THRESHOLDS, what, _differs, passed, by=lambda x: x.line.feature)


def _differs(*tests: GroupTest) -> Said:
    lines = [test.line for test in tests]
    sides = [(line, "higher" if line.estimate > 0 else "lower", contrast(line, size=True)) for line in lines]
    words = [f"the {WORDS[x.measure]} of {group_words(x)} is {side} by {size}" for x, side, size in sides]
    return max(tests, key=lambda test: test.nearest / (test.margin * test.scale)).about | {
        "statement": f"Compared with the other groups, {listed(words)}. Such differences follow from different base "
        "rates in a correct model, too.",
        "remedy": "Assess what such differences mean for the people affected.",
        "measures": tuple(dict.fromkeys(line.measure for line in lines)),
    }


def _withheld(rule: Rule, run: Run) -> RuleOutcome:
    """Name the groups that are not shown; never how small they are."""
    view = needed(outcomes.GroupsView, run)
    names = {feature: facts["withheld"] for feature, facts in view.attributes.items()}

    def said(feature: str) -> Said:
        return {
            "statement": f"Of {short(feature)}, {listed(map(clean, names[feature]))} cannot be judged: fewer than "
            f"{view.n_min} observations or clusters.",
            "evidence": (ids.GROUPS,),
            "remedy": "Audit the model on more observations of these groups.",
            "features": (feature,),
            "threshold": float(view.n_min),
        }

    passed = f"Every group has at least {view.n_min} observations or clusters."
    return family(rule, [*names], lambda feature: {"withheld": len(names[feature])}, said, passed=passed)


def _use(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the contrasts that are lost when an attribute or a proxy is exchanged, Holm-adjusted over all of them."""
    views = (outcomes.GroupsUse, outcomes.GroupsProxy, outcomes.GroupsDifference)
    require(all(view.find(run) is not None for view in views), absent(run, ids.GROUPS_USE))
    used, proxies = needed(outcomes.GroupsUse, run), needed(outcomes.GroupsProxy, run)
    unable = listed(gap.feature for gap in used.omissions)
    require(used.lines or not used.omissions, f"no feature could be permuted for {unable}")
    contrasts = _by_place(_differences(run))
    lines = [x for x in used.lines if not isnan(x.p_value) and x.association >= rule.thresholds["proxy"]]
    part = family(
        rule,
        lines,
        lambda x: _numbers(x, contrasts),
        lambda *raised: _use_words(rule, raised, contrasts),
        p_values=[line.p_value for line in lines],
        by=lambda x: (x.feature, x.by),
        undecided=lambda rest: _open(rest, lines, rule.thresholds["spread"]),
        size=size_beyond(run, [(x.std_error, rule.thresholds["spread"] * x.scale) for x in lines]),
        passed="No difference of predictions between groups is attributable to an attribute or a proxy, beyond the "
        "margin.",
    )
    named = {finding.features for finding in part.findings}
    own = family(
        rule,
        [x for x in used.lines if x.item == ALL and x.by == x.feature and (x.feature,) not in named],
        lambda line: {"used": line.estimate / line.scale if line.scale > 0 else nan},
        lambda *lines: _input_words(rule, max(lines, key=lambda line: line.estimate / line.scale)),
        by=lambda line: line.feature,
    )
    raised = (*part.findings, *own.findings)
    by_all = family(
        rule,
        [line for line in proxies.lines if line.feature not in {finding.features[-1] for finding in raised}],
        lambda line: {"skill": line.lower},
        lambda line: _all_features(rule, line),
    )
    return replace(part, findings=(*raised, *by_all.findings))


def _open(rest: Sequence[UseLine], lines: Sequence[UseLine], margin: float) -> list[str]:
    """Return the features that raise nothing for an attribute, and have an interval beyond the margin."""
    raised = {(x.feature, x.by) for x in lines if x not in rest}
    wide = (x for x in rest if max(abs(x.lower), abs(x.upper)) > margin * x.scale)
    return [short(by) for _, by in dict.fromkeys((x.feature, x.by) for x in wide if (x.feature, x.by) not in raised)]


def _numbers(line: UseLine, contrasts: Contrasts) -> dict[str, float]:
    """Return the numbers of one contrast that is lost; none where the outcome does not vary."""
    if not line.scale > 0:
        return {}
    rest = contrasts.get((line.measure.replace("prediction", "residual", 1), line.feature, line.item))
    # by how much, at least, predictions differ more than outcomes in the direction that is lost
    exceeding = nan if rest is None else (-rest.upper if line.estimate > 0 else rest.lower) / line.scale
    lost = max(line.lower, -line.upper) / line.scale
    return {"lost": lost, "association": line.association, "exceeding": exceeding}


def _use_words(rule: Rule, raised: Sequence[UseLine], contrasts: Contrasts) -> Said:
    """Return what to say of one feature that stands for an attribute.

    The group whose predictions exceed its outcomes most leads, in the direction that goes through the feature: it is
    the one at a disadvantage, whichever contrast is the largest.
    """
    grades = [rule.judge(p_adjusted=0.0, **_numbers(x, contrasts)) or rule.severity for x in raised]
    line = max(raised, key=lambda x: _disadvantage(x, contrasts))
    proxy = f", which is associated with {short(line.feature)} ({number(line.association, 2)}),"
    in_all = listed(f"{what} differ by {size}" for what, size in both_contrasts(line, contrasts))
    return {
        "statement": f"Permuting {short(line.by)}{'' if line.by == line.feature else proxy} changes the predictions"
        f"{of_class(line.measure)} for {group_words(line)} relative to the other groups by {contrast(line, size=True)}."
        f"{f' In all, {in_all}.' if in_all else ''}",
        "remedy": _basis(line),
        "features": tuple(dict.fromkeys((line.by, line.feature))),
        "threshold": rule.thresholds["spread"] * line.scale,
        "explains": () if {*grades} == {"observation"} else (Symptom(code=MISPREDICTED, feature=line.feature),),
        **about(line, ids.GROUPS_USE, ids.GROUPS_DIFFERENCE, ids.GROUPS_PROXY, measures=(line.measure,)),
    }


def _disadvantage(line: UseLine, contrasts: Contrasts) -> tuple[float, float]:
    """Return how far predictions exceed outcomes at least, then the size of the contrast; unknown numbers come last."""
    exceeding = _numbers(line, contrasts).get("exceeding", nan)
    return -inf if isnan(exceeding) else exceeding, abs(line.estimate)


def _basis(line: UseLine) -> str:
    other = f"Otherwise remove {short(line.feature)} and its proxies."
    return f"Document the legal basis for using {short(line.by)}. {other}"


def _input_words(rule: Rule, line: UseLine) -> Said:
    """Return what to say of an attribute that is an input of the model, of the class whose probability changes most."""
    return {
        "statement": f"The model uses {short(line.feature)} as an input: permuting it changes predictions"
        f"{of_class(line.measure)} by {contrast(line)} on average. No group's predictions are shown to depend on it "
        "beyond the margin.",
        "remedy": _basis(line),
        "threshold": rule.thresholds["used"] * line.scale,
        **about(line, ids.GROUPS_USE, features=(line.feature,), measures=(line.measure,)),
    }


def _all_features(rule: Rule, line: outcomes.ProxyLine) -> Said:
    """Return what to say of an attribute that all features together tell."""
    return {
        "statement": f"The features of the model together predict {short(line.feature)}, with R² "
        f"{line_words(line, confidence=line.confidence)} on held-out observations. Omitting the attribute does not "
        "hide it from the model.",
        "remedy": "Document why the features that predict the attribute are needed.",
        **about(line, ids.GROUPS_PROXY, features=(line.feature,), threshold=rule.thresholds["skill"]),
    }


def _by_place(lines: Iterable[L]) -> dict[Place, L]:
    """Return lines by measure, attribute and group."""
    return {(line.measure, line.feature, line.item): line for line in lines}


def contrast(line: GroupLine, *, size: bool = False) -> str:
    """Return a difference with its interval, probabilities and shares in points; without its sign if `size`."""
    sign = -1 if size and line.estimate < 0 else 1
    points = line.unit.startswith(POINTS)
    low, high = sorted((sign * line.lower, sign * line.upper))
    value, low, high = ((100 if points else 1) * number for number in (sign * line.estimate, low, high))
    return value_words(value, low, high, "points" if points else line.unit, confidence=line.confidence)


def both_contrasts(line: GroupLine, contrasts: Contrasts) -> list[tuple[str, str]]:
    """Return how far predictions and outcomes of a group differ from the rest, of the same class as `line`."""
    label = line.measure[len(line.measure.partition("[")[0]) :]
    places = [(name, (f"{name}{label}", line.feature, line.item)) for name in ("prediction", "outcome")]
    return [(f"{name}s", contrast(contrasts[place])) for name, place in places if place in contrasts]


def group_words(line: GroupLine) -> str:
    """Name a group by its attribute."""
    return f"{short(line.feature)} = {clean(line.item)}"


def of_class(measure: str) -> str:
    """Say which class a measure is about; empty where there is one."""
    label = measure.partition("[")[2].removesuffix("]")
    return f" of {short(label)}" if label else ""


@dataclass(frozen=True)
class GroupsCheck(TableCheck):
    """Judges predictions, losses and the use of protected attributes by group.

    Above an observation is only what an honest model cannot show, whatever the groups' base rates: predictions too
    high or too low for a group against its outcomes, a loss other than the model expects there, and the use of an
    attribute, or of a feature that replaces it, by size. Losses, entropies and error rates differ between groups
    of different base rates in every honest model; they are observations.

    Parameters
    ----------
    level : float
        Of each of these rules: half of it for predictions, losses and observations, each Holm-adjusted over its
        groups and measures; all of it for the use.
    spread : float
        Contrast of predictions that matters, as a share of the outcome's standard deviation.
    effect, some, much : float
        What a recalibration of a group would save, in nats: from which UQ802 is raised, medium and high.
    entropy : float
        Difference of entropy that matters, in nats.
    rate : float
        Difference of coverage or of an error rate that matters.
    loss : float
        Difference of the usual loss that matters, as a share of the loss of all observations.
    high : float
        Multiple of the margin from which a finding on predictions or losses is high.
    used : float
        Mean size of the change of predictions from which an attribute counts as used, as a share of the outcome's
        standard deviation.
    proxy, stand_in : float
        Association with an attribute (0 to 1) from which a feature is its proxy, and from which it replaces it.
    skill : float
        Out-of-bag R² from which all features together tell an attribute.
    """

    level: float = opt.share(0.05)
    spread: float = opt.positive(0.1)
    effect: float = opt.positive(0.02)
    some: float = 0.05
    much: float = 0.1
    entropy: float = opt.positive(0.05)
    rate: float = opt.share(0.05)
    loss: float = opt.positive(0.1)
    high: float = opt.option(4.0, "a number >= 1", lambda value: value >= 1)
    used: float = opt.share(0.01)
    proxy: float = opt.share(0.5)
    stand_in: float = opt.share(0.7)
    skill: float = opt.share(0.5)

    name: ClassVar[str] = ids.GROUPS
    title: ClassVar[str] = "Groups and protected attributes"
    table: ClassVar[tuple[Rule, ...]] = (PREDICTIONS, LOSSES, USE, SMALL, PLAIN)
    judges: ClassVar[tuple[Judge, ...]] = (_predictions, _losses, _use, _withheld, _plain)

    def limits(self) -> Iterable[opt.Limit]:
        """Return the limits of options that depend on each other."""
        return (("some", self.effect <= self.some < self.much, "numbers effect <= some < much"),)
