"""Dependence: importance that partners hide, losses that a model does not notice, pairs that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import ClassVar

import numpy as np

from ...checks.family import Said, family, needed, outcome, require, together
from ...checks.reading import RuleOutcome, lacking, likelihood, listed, two_sided, with_reasons
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, NLL
from ...core.statistics.verdicts import holm
from ...core.support.errors import check_options
from ...core.support.numbers import number, share_words, value_words
from ...core.support.text import short
from ...evidence import ids
from ...evidence.finding import Outcome
from ...evidence.importance import CoverCorrected, Pfi
from ...evidence.information import WITHOUT_TARGET, ItemLine, RedundancyLine, RedundancyPartner, RedundancyView
from ...evidence.outcomes import LOG_SCORE_SKILL, scores_of
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import by_feature
from ..shared.checks import shares, span
from .losses import Covered, Unnoticed, affected, covered, main_loss, unnoticed

LEADING = 3  # places of the ranking that the sentence of UQ201 looks at


@dataclass(frozen=True)
class Dependence:
    """Reads importance corrected for cover, the part of a loss that the model does not notice, and redundancy.

    UQ201 is raised where permuted values of a feature cost more by the margin of the importance once those of its
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
        return (
            Rule(
                code="UQ201",
                title="Features that go together hide each other's importance",
                thresholds={"level": self.level},
                when="Wrong values of a feature cost more, by more than the margin of the importance, once the values "
                "of its partners are wrong too (interval, and level {level}, Holm-adjusted over features). Features "
                "that go together do that in an honest model too.",
                raised=("p_adjusted <= level and beyond > 0",),
                rests_on="pereira:definition 2.3",
            ),
            Rule(
                code="UQ202",
                title="The model does not notice when a feature is wrong",
                thresholds={"level": self.level, "margin": self.margin},
                when="With wrong values of a feature the loss rises (Likelihood-PFI is positive), and by more than "
                "{margin} nats more than the stated uncertainty does (Entropy-PFI); level {level}, Holm-adjusted over "
                "features.",
                raised=("p_likelihood <= level and p_unnoticed <= level and unnoticed > margin",),
                rests_on="L - E is the importance for the confidence gap: the damage that the model does not notice",
            ),
            Rule(
                code="UQ203",
                title="Two features repeat each other",
                thresholds={"level": self.level, "repeated": self.repeated},
                when="The R² of each of two features from the others is above {repeated} (level {level}, Holm-adjusted "
                "over features), and the association of the two is at least {repeated}.",
                raised=("p_one <= level and p_other <= level and association >= repeated",),
                grades=("low",),
                rests_on="wood:figure 9",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's importances, alone and corrected for cover, and redundancy."""
        return outcome(self, run, _covered, _not_noticed, _repeated)


def _covered(rule: Rule, run: Run) -> RuleOutcome:
    """Judge importance with the partners lost too against importance alone."""
    view = needed(CoverCorrected, run)
    measure = main_loss(view)
    require(measure, lacking(view, NLL.name))
    return family(
        rule,
        covered(view, measure),
        lambda feature: feature.observed,
        lambda *raised: _hidden(raised, view, run),
        by=together,
        undecided=lambda rest: [feature.line.feature for feature in rest if not feature.cleared],
        passed="No feature is shown to cost more once its partners are lost too.",
    )


def _hidden(raised: Sequence[Covered], view: CoverCorrected, run: Run) -> Said:
    """Return one finding on all features that their partners hide, the largest change first."""
    line, facts = raised[0].line, view.result.measures[raised[0].line.measure]
    more = f" So it is with {listed(feature.numbers() for feature in raised[1:])}." if len(raised) > 1 else ""
    lines = [feature.line for feature in raised]
    entering = [line.feature for line in lines if line.rank <= LEADING < line.plain_rank]
    lead = f"; only then {listed(entering)} {'is' if len(entering) == 1 else 'are'} among the first {LEADING}"
    return {
        "statement": f"{raised[0].sentences(facts.unit)}{lead if entering else ''}.{more}",
        "evidence": (ids.COVER, ids.CID_COVER),
        "remedy": "Read its importance together with that of its partners.",
        "measures": (line.measure,),
        "features": tuple(line.feature for line in lines),
        "threshold": line.margin,
        "size": _of_skill(line.change, run) if line.measure == NLL.name else None,
        **span(line.change, line.change_lower, line.change_upper),
    }


def _of_skill(value: float, run: Run) -> float | None:
    """Return nats as a share of the model's skill, where it has any."""
    skill = scores_of(run).get(LOG_SCORE_SKILL, nan)
    return value / skill if skill > 0 else None


def _not_noticed(rule: Rule, run: Run) -> RuleOutcome:
    """Judge by how much more the loss rises than the stated uncertainty."""
    importance, facts, margin = needed(Pfi, run), SubjectFacts.of(run), rule.thresholds["margin"]
    loss = likelihood(importance)
    require(loss, lacking(importance, NLL.name))
    require(ENTROPY.name in importance.measures, lacking(importance, ENTROPY.name))
    require(facts.weights is False and not facts.clusters, "the rows are weighted or in clusters")
    features = unnoticed(rule, importance)
    require(features, "permutation importance has no row terms")

    def unsure(rest: Sequence[Unnoticed]) -> tuple[str, ...]:
        return with_reasons(
            importance, [f.loss.feature for f in features if f in rest and f.may_exceed(margin)], loss, ENTROPY.name
        )

    return family(
        rule,
        sorted(features, key=lambda feature: -feature.estimate),
        lambda feature: feature.observed,
        lambda *raised: _unseen(margin, raised, run),
        by=together,
        undecided=unsure,
        passed="The model is not shown to miss that values of any feature are wrong.",
    )


def _unseen(margin: float, raised: Sequence[Unnoticed], run: Run) -> Said:
    """Return one finding on all features whose permuted values the model does not notice, the largest loss first."""
    worst, size = raised[0], _of_skill(raised[0].estimate, run)
    rows = affected(run, worst, margin)
    share = "" if size is None else f", {share_words(size)} of what it knows beyond the baseline"
    hit = "" if rows is None else f", in {share_words(rows)} of the rows"
    more = f" So it is with {listed(feature.numbers() for feature in raised[1:])}." if len(raised) > 1 else ""
    return {
        "statement": f"{worst.sentence()}{share}{hit}.{more}",
        "evidence": (ids.PFI, ids.PFI_READING),
        "remedy": "Watch the quality of these inputs. The stated uncertainty does not tell when they are wrong.",
        "measures": (NLL.name, ENTROPY.name),
        "features": tuple(feature.loss.feature for feature in raised),
        "threshold": margin,
        "size": size,
        **span(worst.estimate, worst.lower, worst.upper),
    }


def _repeated(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the R² of both features of every pair of partners."""
    partners, redundancy = needed(RedundancyPartner, run), RedundancyView.find(run)
    lines = by_feature(line for line in redundancy.lines if line.item == WITHOUT_TARGET) if redundancy else {}
    require(lines, "no feature could be predicted")
    p_above, cleared = _skills(rule, lines)
    return family(
        rule,
        _partners(partners.lines, rule.thresholds["repeated"]),
        lambda x: {"p_one": p_above.get(x[0], nan), "p_other": p_above.get(x[1], nan), "association": x[2]},
        lambda x: _pair(rule, lines[x[0]], lines[x[1]], x[2]),
        undecided=lambda rest: [f"{short(a)} with {short(b)}" for a, b, _ in rest if not {a, b} & cleared],
        passed="No two features are shown to repeat each other.",
    )


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


def _pair(rule: Rule, a: RedundancyLine, b: RedundancyLine, strength: float) -> Said:
    skills = listed(f"R² {value_words(x.estimate, x.lower, x.upper)}" for x in (a, b))
    weaker = min(a, b, key=lambda line: line.lower)
    return {
        "statement": f"{short(a.feature)} and {short(b.feature)} repeat each other: each is predicted by the other "
        f"features, with {skills}, and their association is {number(strength, 2)}. Exchanging one leaves what it says "
        "in the other.",
        "evidence": (ids.REDUNDANCY, ids.REDUNDANCY_PARTNER),
        "remedy": "Keep one of the two, or exchange them as a group.",
        "features": (a.feature, b.feature),
        "threshold": rule.thresholds["repeated"],
        **span(weaker.estimate, weaker.lower, weaker.upper),
    }
