"""The model against single features: whether one alone tells more of the outcome than the whole model does."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from ...core.errors import check_options
from ...core.text import short
from ...core.verdicts import holm
from ...evidence import ids
from ...evidence.finding import Finding, Outcome, Severity
from ...evidence.information import MUTUAL, Cid, ItemLine
from ...evidence.outcomes import LOG_SCORE_SKILL, Calibration, ScoreLine
from ...evidence.run import Run
from ...evidence.view import largest_first
from ...rules.reading import Part, absent, close, freedom, two_sided
from ...rules.rule import Grade, Limit, Rule
from ..shared.checks import LEAST, class_counts, events, line_words, too_few
from ..shared.options import shares


class Alone(NamedTuple):
    """What a feature alone tells beyond the model's skill, in nats, with the adjusted p-value of no difference."""

    line: ItemLine
    skill: ScoreLine
    p_adjusted: float

    @property
    def observed(self) -> dict[str, float]:
        """What the rule judges."""
        more = self.line.estimate - self.skill.estimate
        return {"p_adjusted": self.p_adjusted, "more": more, "share": self.skill.estimate / self.line.estimate}


@dataclass(frozen=True)
class SingleFeature:
    """Judges whether one feature alone tells more of a class than the whole model does (UQ003).

    What a feature tells is its mutual information with the class, the skill of the best prediction from it; the
    model's is the skill of its log score. Of numbers there is no skill in nats, so they are not judged.

    Parameters
    ----------
    level : float
        Of the tests, Holm-adjusted over features.
    margin : float
        In nats.
    """

    level: float = 0.05
    margin: float = 0.01

    name: ClassVar[str] = "single_feature"
    title: ClassVar[str] = "The model against single features"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        limits = (*shares(self, "level"), ("margin", self.margin >= 0, "a number >= 0"))
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule]:
        """The rule, with this check's thresholds."""
        return (
            Rule(
                code="UQ003",
                title="One feature alone tells more than the whole model",
                thresholds={"level": self.level, "margin": self.margin, "high": 0.5, "events": LEAST},
                when="What a feature alone tells of the class (mutual information) is more than the model's skill (log "
                "score) by more than {margin} nats (level {level}, Holm-adjusted over features), on at least {events} "
                "rows outside the most frequent class. High where the skill is below {high:pct} of it, else medium.",
                raised=(
                    {
                        "p_adjusted": Limit("at most", "level"),
                        "more": Limit("above", "margin"),
                        "events": Limit("at least", "events"),
                    },
                ),
                grades=(Grade("high", {"share": Limit("below", "high")}), Grade("medium")),
                rests_on="I(x; y) is the skill of the best prediction from x alone (Cover & Thomas 2006)",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the skill by what each feature tells alone."""
        return close(self.name, [_part(self.rules[0], run)])


def _part(rule: Rule, run: Run) -> Part:
    scores, information, counts = Calibration.find(run), Cid.find(run), class_counts(run)
    if scores is None or information is None:
        return Part(code=rule.code, absent=absent(run, ids.CALIBRATION if scores is None else ids.CID))
    skill = scores.of(LOG_SCORE_SKILL)
    if too_few(counts) or skill is None or not skill.has_interval:
        return Part(code=rule.code, absent=too_few(counts) or "the log score of the model has no interval")
    features = _alone(information, skill, run)
    grades = [(feature, rule.judge(**feature.observed, events=events(counts))) for feature in features]
    return Part(
        code=rule.code,
        findings=tuple(_finding(rule, feature, severity) for feature, severity in grades if severity)[:1],
        absent="" if features else "what a feature tells alone was not computed",
        passed="No feature alone is shown to tell more than the model.",
    )


def _alone(information: Cid, skill: ScoreLine, run: Run) -> list[Alone]:
    """Return every feature, the one that tells most first.

    Both are means over the same rows: taking their errors as independent makes the test the more careful.
    """
    lines = largest_first(line for line in information.lines if line.item == MUTUAL)
    more = np.array([line.estimate - skill.estimate for line in lines])
    errors = [sqrt(line.std_error**2 + skill.std_error**2) for line in lines]
    p_values = holm(np.where(more > 0, two_sided(more, errors, freedom(run)), 1.0))
    return [Alone(line, skill, p) for line, p in zip(lines, p_values.tolist(), strict=True)]


def _finding(rule: Rule, feature: Alone, severity: Severity) -> Finding:
    alone, model = (line_words(line, "nats") for line in (feature.line, feature.skill))
    return rule.finding(
        severity,
        f"{short(feature.line.feature)} alone tells {alone} of the outcome; the whole model tells {model}.",
        (ids.CALIBRATION, ids.CID),
        remedy="Compare the model with a small one of this feature alone. Check that columns and labels are matched as "
        "meant, in fitting and here.",
        threshold=rule.thresholds["margin"],
        observed=feature.observed["more"],
    )
