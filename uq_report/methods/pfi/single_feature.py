"""The model against single features: whether one alone tells more of the outcome than the whole model does."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from ...checks.family import NotJudgedError, Said, family, needed, outcome, require, together
from ...checks.reading import RuleOutcome, freedom, two_sided
from ...checks.rule import Rule
from ...core.support.errors import check_options
from ...core.support.text import short
from ...evidence import ids
from ...evidence.finding import Outcome
from ...evidence.information import MUTUAL, Cid, ItemLine
from ...evidence.outcomes import LOG_SCORE_SKILL, CalibrationView, ScoreLine
from ...evidence.run import Run
from ...evidence.view import largest_first
from ..shared.checks import LEAST, class_counts, events, line_words, too_few
from ..shared.options import shares


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
                raised=("p_adjusted <= level and more > margin and events >= events",),
                grades=("high if share < high", "medium"),
                rests_on="I(x; y) is the skill of the best prediction from x alone (Cover & Thomas 2006)",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the skill by what each feature tells alone."""
        return outcome(self, run, _judge)


def _judge(rule: Rule, run: Run) -> RuleOutcome:
    """Test every feature, the one that tells most first.

    Both are means over the same rows: taking their errors as independent makes the test the more careful.
    """
    scores, information, counts = needed(CalibrationView, run), needed(Cid, run), class_counts(run)
    skill = scores.of(LOG_SCORE_SKILL)
    if skill is None or too_few(counts) or not skill.has_interval:
        raise NotJudgedError(too_few(counts) or "the log score of the model has no interval")
    lines = largest_first(line for line in information.lines if line.item == MUTUAL)
    require(lines, "what a feature tells alone was not computed")
    more = np.array([line.estimate - skill.estimate for line in lines])
    errors = [sqrt(line.std_error**2 + skill.std_error**2) for line in lines]
    return family(
        rule,
        lines,
        lambda x: {
            "more": x.estimate - skill.estimate,
            "share": skill.estimate / x.estimate,
            "events": events(counts),
        },
        lambda first, *_: _said(rule, first, skill),
        p_values=np.where(more > 0, two_sided(more, errors, freedom(run)), 1.0),
        by=together,
        passed="No feature alone is shown to tell more than the model.",
    )


def _said(rule: Rule, line: ItemLine, skill: ScoreLine) -> Said:
    alone, model = line_words(line, "nats"), line_words(skill, "nats")
    return {
        "statement": f"{short(line.feature)} alone tells {alone} of the outcome; the whole model tells {model}.",
        "evidence": (ids.CALIBRATION, ids.CID),
        "remedy": "Compare the model with a small one of this feature alone. Check that columns and labels are matched "
        "as meant, in fitting and here.",
        "threshold": rule.thresholds["margin"],
        "observed": line.estimate - skill.estimate,
    }
