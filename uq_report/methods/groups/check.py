"""Groups: predictions and losses that no honest model shows, the use of an attribute, and what base rates make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, ClassVar

from ...checks.family import Said, family, needed, outcome, require
from ...checks.reading import RuleOutcome, listed
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, NLL
from ...core.support.errors import check_options
from ...core.support.text import clean, short
from ...evidence import ids
from ...evidence.finding import Outcome, Symptom
from ...evidence.outcomes import CONFIDENCE_GAP, DifferenceLine, GroupLine, GroupsDifference, GroupsView
from ...evidence.run import Run
from ..shared.checks import observed, positive, shares
from .drivers import (
    MISPREDICTED,
    MITCHELL,
    Contrasts,
    Place,
    both_contrasts,
    contrast,
    drivers,
    group_words,
    of_class,
    place_of,
)
from .values import ERROR_RATES

MISJUDGED, USED, UNJUDGED, DIFFERING = "UQ802", "UQ803", "UQ804", "UQ805"
HONEST = "E_q[Y] = mean(q) and E_q[-log q(Y)] = H(q): both hold on average in any rows when y follows the model"
# measure -> which threshold its differences are judged by
RESIDUAL = {"residual": "spread"}
EXCESS = {CONFIDENCE_GAP: "effect", "coverage_90": "rate", "excess_loss": "loss"}
RATES = dict.fromkeys(ERROR_RATES, "rate")
PLAIN = {"brier": "loss", "squared_error": "loss", "entropy": "entropy", **RATES}
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
SMALL = Rule(
    code=UNJUDGED,
    title="Groups are too small to be judged",
    when="A group has fewer rows or clusters than the least that is shown, or would give away one.",
    raised=("withheld > 0",),
    rests_on=MITCHELL,
)


@dataclass(frozen=True)
class GroupsCheck:
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
    effect, entropy : float
        Loss beyond expectation, and difference of entropy, that matter, in nats.
    rate : float
        Difference of coverage or of an error rate that matters.
    loss : float
        Difference of the usual loss that matters, as a share of the loss of all rows.
    high : float
        Multiple of the margin from which a finding on predictions or losses is high.
    proxy, stand_in : float
        Association with an attribute (0 to 1) from which a feature is its proxy, and from which it replaces it.
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
        limits = (
            *shares(self, "level", "rate", "proxy", "stand_in", "skill"),
            *positive(self, "spread", "effect", "entropy", "loss"),
            ("high", self.high >= 1, "a number >= 1"),
        )
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule, Rule, Rule, Rule, Rule]:
        """The rules, with this check's thresholds."""
        used = ("level", "spread", "proxy", "stand_in", "skill")
        differing = {"loss": self.loss, "entropy": self.entropy, "rate": self.rate}
        return (
            Rule(
                code=MISPREDICTED,
                title="Predictions are too high or too low for a group",
                thresholds={"level": self.level / 2, "spread": self.spread, "high": self.high},
                when="Outcomes less predictions of a group differ from those of the rest (level {level}, "
                "Holm-adjusted over groups and classes), the interval beyond {spread:pct} of the outcome's standard "
                "deviation. High from {high} times that, else medium.",
                raised=("p_adjusted <= level and nearest_spread > spread",),
                grades=("high if times >= high", "medium"),
                rests_on=HONEST,
            ),
            Rule(
                code=MISJUDGED,
                title="The loss of a group is not the one that the model expects",
                thresholds={
                    "level": self.level / 2,
                    "effect": self.effect,
                    "rate": self.rate,
                    "loss": self.loss,
                    "high": self.high,
                },
                when="Loss less the loss that the model expects (its entropy) of a group differs from that of the "
                "rest (level {level}, Holm-adjusted over groups and measures), by at least {effect} nats, where the "
                "likelihood is not finite {loss:pct} of the usual loss; or coverage does, by {rate:points} percentage "
                "points. High if the interval lies beyond {high} times the margin, medium beyond the margin, else low.",
                raised=tuple(f"p_adjusted <= level and {name} >= {name}" for name in ("effect", "rate", "loss")),
                grades=("high if times >= high", "medium if times > 1", "low"),
                rests_on=HONEST,
            ),
            Rule(
                code=USED,
                title="Predictions change with a protected attribute, or its proxy",
                thresholds={name: getattr(self, name) for name in used},
                when="When an attribute, or a feature associated with it by at least {proxy}, is exchanged, a group's "
                "predictions lose some of their contrast to the rest (level {level}, Holm-adjusted), the interval "
                "beyond {spread:pct} of the outcome's standard deviation. Medium where predictions differ more than "
                "outcomes do, the interval beyond the same margin; low from an association of {stand_in}; else "
                "observation, also where all features together tell the attribute with an R² of at least {skill}.",
                raised=("p_adjusted <= level and lost > spread and association >= proxy", "skill >= skill"),
                grades=("medium if exceeding > spread", "low if association >= stand_in", "observation"),
                rests_on=MITCHELL,
            ),
            SMALL,
            Rule(
                code=DIFFERING,
                title="Losses, uncertainty or error rates differ between groups",
                thresholds={"level": self.level / 2, **differing},
                when="Usual loss, entropy or an error rate of a group differs from that of the rest (level {level}, "
                "Holm-adjusted over groups and measures), the interval beyond {loss:pct} of the loss of all rows, "
                "{entropy} nats or {rate:points} percentage points. Groups of different base rates do in an honest "
                "model.",
                raised=tuple(f"p_adjusted <= level and nearest_{name} > {name}" for name in differing),
                rests_on=MITCHELL,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's results by group."""
        return outcome(self, run, _predictions, _losses, drivers, _withheld, _plain)


@dataclass(frozen=True)
class _Test:
    """A tested difference, and how far its interval lies from 0, in the unit of its threshold."""

    line: DifferenceLine
    threshold: str
    margin: float

    @property
    def scale(self) -> float:
        """What the threshold is a share of; 1 where it has a unit."""
        return self.line.scale if self.threshold in ("spread", "loss") else 1.0

    @property
    def nearest(self) -> float:
        """How far the interval lies from 0; negative where it holds 0."""
        return max(self.line.lower, -self.line.upper)

    @property
    def open(self) -> bool:
        """Whether the interval reaches beyond the margin."""
        return not max(abs(self.line.lower), abs(self.line.upper)) <= self.margin * self.scale

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that the rules judge; NaN where the scale is 0 or not known."""
        unit = self.scale if self.scale > 0 else nan
        sizes = {self.threshold: abs(self.line.estimate) / unit, f"nearest_{self.threshold}": self.nearest / unit}
        return {"times": self.nearest / unit / self.margin, **sizes}

    @property
    def about(self) -> Said:
        """The fields of a finding on this difference."""
        evidence, line = (ids.GROUPS_DIFFERENCE, ids.GROUPS), self.line
        about = {"evidence": evidence, "features": (line.feature,), "measures": (line.measure,), **observed(line)}
        return {**about, "threshold": self.margin * self.scale}


def _tested(rule: Rule, run: Run, thresholds: Mapping[str, str]) -> list[_Test]:
    """Return the tested differences of some measures."""
    needed(GroupsView, run)
    measures = [(line, line.measure.partition("[")[0]) for line in _lines(run) if not isnan(line.p_value)]
    chosen = [(line, thresholds[measure]) for line, measure in measures if measure in thresholds]
    return [_Test(line, name, rule.thresholds[name]) for line, name in chosen]


def _lines(run: Run) -> Sequence[DifferenceLine]:
    apart = GroupsDifference.find(run)
    return () if apart is None else apart.lines


def _family(rule: Rule, tests: Sequence[_Test], said: Callable[..., Said], passed: str, **options: Any) -> RuleOutcome:
    p_values = [test.line.p_value for test in tests]
    return family(rule, tests, lambda test: test.numbers, said, p_values=p_values, passed=passed, **options)


def _unsure(rest: Sequence[_Test]) -> Iterable[str]:
    return dict.fromkeys(group_words(test.line) for test in rest if test.open)


def _predictions(rule: Rule, run: Run) -> RuleOutcome:
    """Judge outcomes less predictions."""
    tests, contrasts = _tested(rule, run, RESIDUAL), {place_of(line): line for line in _lines(run)}
    require(tests, "no difference of outcomes less predictions could be tested")
    passed = f"Predictions and outcomes part by the same in {len(tests)} groups and their rest."
    return _family(rule, tests, lambda x: _mispredicted(x, contrasts), passed, undecided=_unsure)


def _mispredicted(test: _Test, contrasts: Contrasts) -> Said:
    line = test.line
    sizes = [f"its {what} differ from theirs by {size}" for what, size in both_contrasts(line, contrasts)]
    return test.about | {
        "statement": f"Against the other {line.n_rest} rows, predictions{of_class(line.measure)} are too "
        f"{'high' if line.estimate < 0 else 'low'} for {group_words(line)} ({line.n} rows) by "
        f"{contrast(line, size=True)}{'; ' if sizes else ''}{' and '.join(sizes)}.",
        "remedy": "Find what the model lacks or overstates for this group. Refit it, or recalibrate by group.",
    }


def _losses(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the loss less the loss that the model expects."""
    has_gap = any(line.measure == CONFIDENCE_GAP for line in _lines(run))
    tests = _tested(rule, run, {m: n for m, n in EXCESS.items() if m != "excess_loss" or not has_gap})
    require(tests, "no difference of the loss less the expected loss could be tested")
    passed = f"The loss of {len(tests)} groups is as far from what the model expects as that of their rest."
    means = {place_of(line): line for line in needed(GroupsView, run).lines}
    return _family(rule, tests, lambda x: _misjudged(x, means), passed, undecided=_unsure)


def _misjudged(test: _Test, means: Mapping[Place, GroupLine]) -> Said:
    line = test.line
    return test.about | {
        "statement": f"For {group_words(line)} ({line.n} rows) {_against_expected(line, means.get(place_of(line)))}.",
        "remedy": "Look for wrong labels or missing features in the group. Report its uncertainty apart.",
        "measures": (NLL.name, ENTROPY.name) if line.measure == CONFIDENCE_GAP else (line.measure,),
        "explains": (Symptom(code=DIFFERING, feature=line.feature),),
    }


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


def _plain(rule: Rule, run: Run) -> RuleOutcome:
    """Name groups whose loss, entropy or error rates differ, attribute by attribute."""
    tests = _tested(rule, run, PLAIN)
    require(tests, "no difference of loss, entropy or error rates could be tested")
    passed = "No group is shown to differ from the rest in loss, entropy or error rates beyond the margins."
    return _family(rule, tests, _differs, passed, by=lambda x: x.line.feature)


def _differs(*tests: _Test) -> Said:
    lines = [test.line for test in tests]
    words = [
        f"the {WORDS[line.measure]} of {group_words(line)} is {'higher' if line.estimate > 0 else 'lower'} by "
        f"{contrast(line, size=True)}"
        for line in lines
    ]
    return max(tests, key=lambda test: test.nearest / (test.margin * test.scale)).about | {
        "statement": f"Compared with the rest, {listed(words)}. Groups of different base rates differ so in an honest "
        "model, too.",
        "remedy": "Weigh what such differences mean for the people concerned.",
        "measures": tuple(dict.fromkeys(line.measure for line in lines)),
    }


def _withheld(rule: Rule, run: Run) -> RuleOutcome:
    """Name the groups that are not shown; never how small they are."""
    view = needed(GroupsView, run)
    names = {feature: facts["withheld"] for feature, facts in view.attributes.items()}

    def said(feature: str) -> Said:
        return {
            "statement": f"Of {short(feature)}, {listed(map(clean, names[feature]))} cannot be judged: fewer than "
            f"{view.n_min} rows or clusters, or held back to protect such a group.",
            "evidence": (ids.GROUPS,),
            "remedy": "Audit the model on more rows of these groups.",
            "features": (feature,),
            "threshold": float(view.n_min),
        }

    passed = f"Every group has at least {view.n_min} rows or clusters."
    return family(rule, [*names], lambda feature: {"withheld": len(names[feature])}, said, passed=passed)
