"""Checks on what a feature alone says of the outcome: leaks, and single features that outdo the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isnan, nan, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import entr, stdtrit

from ...checks.family import NotJudgedError, Said, TableCheck, family, needed, outcome, require, together
from ...checks.reading import RuleOutcome, freedom, two_sided
from ...checks.rule import Rule
from ...core.model.measures import NLL
from ...core.support.errors import check_options
from ...core.support.text import short
from ...evidence import ids
from ...evidence.finding import Outcome, Symptom
from ...evidence.importance import Pfi
from ...evidence.information import MUTUAL, OF_ENTROPY, OF_VARIANCE, Cid, ItemLine
from ...evidence.outcomes import LOG_SCORE_SKILL, CalibrationView, ScoreLine, scores_of
from ...evidence.run import Run
from ...evidence.subject import FeatureFacts, SubjectFacts
from ...evidence.view import by_feature, largest_first, of_measure
from ..shared.checks import LEAST, class_counts, events, line_words, shares, span, too_few

DISCRETE = "discrete field"
SYMPTOMS = ("UQ003", "UQ101", "UQ201", "UQ202", "UQ401", "UQ402")  # what a leak explains
USED = 0.1  # share of what the feature tells below which the model is said to make little of it


class SingleFeatureInfo(NamedTuple):
    """What a feature alone tells about the outcome, in nats and as a share, with its interval over all features.

    `most` is the largest share that the estimator could have given.
    """

    name: str
    nats: float
    share: float
    lower: float
    upper: float
    most: float


LEAKS = Rule(
    code="UQ411",
    title="A single feature almost determines the outcome",
    options=("share", "variance"),
    thresholds={"high": 0.9, "critical": 0.98, "events": LEAST},
    when=(
        "The mutual information of the feature and the outcome is at least {share:pct} of the entropy of a class, with "
        "at least {events} observations outside the most frequent class, or corresponds to at least {variance:pct} of "
        "the variance of a number (Gaussian copula); by the lower end of its interval (the run's level, "
        "Bonferroni-adjusted over features). Critical from {critical:pct} of the entropy, medium below {high:pct}, "
        "else high."
    ),
    raised=("share >= share and events >= events", "variance >= variance"),
    grades=("critical if share >= critical", "medium if share < high", "high"),
    rests_on="I(x; y) is at most H(y), and reaches it only where x fixes y (Cover & Thomas 2006)",
)


@dataclass(frozen=True)
class Leak(TableCheck):
    """Judges whether a feature alone gives almost the whole outcome (UQ411).

    For classes: its mutual information with the outcome as a share of the outcome's entropy. For numbers, whose
    entropy is no such bound: the squared correlation of normal scores, ``1 - exp(-2 I)`` of a Gaussian copula. The
    lower end of the interval decides, with the run's level shared out over the features. A feature that was cut into
    cells too coarse for a leak to show is undetermined where it gives almost all that its cells could.

    Parameters
    ----------
    share : float
        Share of the entropy of a class.
    variance : float
        Share of the variance of a number.
    """

    share: float = 0.75
    variance: float = 0.98

    name: ClassVar[str] = "leak"
    title: ClassVar[str] = "Leaks"
    table: ClassVar[tuple[Rule, ...]] = (LEAKS,)

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        check_options(self.name, self, shares(self, "share", "variance"))

    def check(self, run: Run) -> Outcome:
        """Judge the run's mutual information."""
        return outcome(self, run, _leaks)


def _leaks(rule: Rule, run: Run) -> RuleOutcome:
    view, counts = needed(Cid, run), class_counts(run)
    require(not too_few(counts), too_few(counts))
    features, scale = _alone(view, run), "share" if counts else "variance"
    require(features, "the mutual information of features and outcome was not computed")
    first = max(features, key=lambda feature: feature.share)
    return family(
        rule,
        features,
        lambda x: {scale: x.lower, "events": events(counts)},
        lambda x: _leak(rule, x, run),
        undecided=lambda rest: [x.name for x in rest if not x.upper < rule.thresholds[scale] * x.most],
        passed=(
            f"No single feature determines the outcome: {short(first.name)} explains most, {_percent(first.share)} (at "
            f"most {_percent(first.upper)}) of {_whole(counts)}."
        ),
    )


def _scale(counts: Sequence[int]) -> str:
    return OF_ENTROPY if counts else OF_VARIANCE


def _alone(view: Cid, run: Run) -> list[SingleFeatureInfo]:
    """Return the information of each feature about the outcome."""
    counts = class_counts(run)
    lines = [line for line in view.lines if line.item == _scale(counts)]
    nats = {line.feature: line.estimate for line in view.lines if line.item == MUTUAL}
    facts = {feature.name: feature for feature in SubjectFacts.of(run).features}
    rows = []
    for line in lines:
        tail = (1 - line.confidence) / (2 * len(lines))
        reach = float(stdtrit(freedom(run), 1 - tail)) * line.std_error
        share, low, high = np.clip(line.estimate + np.array([0, -reach, reach]), 0, 1).tolist()
        most = most_by_cells(counts, view.bins) if counts and _cut(facts.get(line.feature), view) else 1.0
        rows.append(SingleFeatureInfo(line.feature, nats.get(line.feature, nan), share, low, high, most))
    return rows


def _cut(facts: FeatureFacts | None, view: Cid) -> bool:
    """Say whether the values of a feature were cut into cells."""
    return (
        view.estimator == DISCRETE
        and facts is not None
        and facts.kind != "categorical"
        and (facts.distinct or 0) > view.bins
    )


def most_by_cells(counts: Sequence[int], cells: int) -> float:
    """Return the share of the entropy that equal cells of a feature tell whose order is that of the classes.

    Examples
    --------
    >>> f"{most_by_cells([50, 50], 4):.3f}, {most_by_cells([97, 3], 4):.3f}"
    '1.000, 0.319'
    """
    ends = np.concatenate([[0.0], np.cumsum(counts) / sum(counts)])
    edges = np.linspace(0, 1, cells + 1)
    joint = np.minimum(ends[1:, None], edges[1:]) - np.maximum(ends[:-1, None], edges[:-1])
    entropy = float(entr(np.diff(ends)).sum())
    return 1 - float(entr(np.maximum(joint, 0)).sum() - np.log(cells)) / entropy


def _whole(counts: Sequence[int]) -> str:
    return "the entropy of the outcome" if counts else "the variance of the outcome (as normal scores)"


def _percent(share: float) -> str:
    """Return a share in words, near 1 rounded down and never to all.

    Examples
    --------
    >>> _percent(0.4567), _percent(0.9799), _percent(1.0), _percent(float("nan"))
    ('46 %', '97.9 %', '99.9 %', 'an unknown share')
    """
    if isnan(share):
        return "an unknown share"
    return f"{min(floor(1000 * share) / 10, 99.9):.1f} %" if share > 0.9 else f"{100 * share:.0f} %"


def _leak(rule: Rule, feature: SingleFeatureInfo, run: Run) -> Said:
    counts, skill, cost = class_counts(run), scores_of(run).get(LOG_SCORE_SKILL, 0.0), _cost(feature, run)
    comparable = bool(counts) and skill > 0
    others = "." if counts else "; a lagged value of a slowly varying series has the same effect."
    return {
        "statement": f"{short(feature.name)} alone explains {_percent(feature.share)} (at least "
        f"{_percent(feature.lower)}) of {_whole(counts)}: it may be recorded after the outcome, or derived from it"
        f"{others}{cost}",
        "evidence": (ids.CID, *((ids.PFI,) if cost else ()), *((ids.CALIBRATION,) if comparable else ())),
        "remedy": "Establish when and from what source the column is populated. If it is recorded after the outcome or "
        "derived from it, remove it, refit the model and repeat the audit: the scores of this run would not be "
        "attained in use.",
        "features": (feature.name,),
        "threshold": rule.thresholds["share" if counts else "variance"],
        "size": min(feature.nats / skill, 1.0) if comparable else None,
        "explains": tuple(Symptom(code=code) for code in SYMPTOMS),
        **span(feature.share, feature.lower, feature.upper),
    }


def _cost(feature: SingleFeatureInfo, run: Run) -> str:
    """State the importance of the feature for the model, where it is known; a leak of the test sample has none."""
    view = Pfi.find(run)
    line = None if view is None else by_feature(of_measure(view.lines, NLL.name)).get(feature.name)
    if line is None:
        return ""
    cost = f" Permuting it increases the log loss by {line_words(line, 'nats')}"
    if line.upper < USED * feature.nats:
        return (
            f"{cost}: the model makes little use of it, so the leak is in the test sample and not in the training "
            "sample."
        )
    return f"{cost}."


OUTDONE = Rule(
    code="UQ003",
    title="A single feature is more informative than the whole model",
    options=("level", "margin"),
    thresholds={"high": 0.5, "events": LEAST},
    when=(
        "The mutual information of a feature and the class exceeds the model's skill (log score) by more than {margin} "
        "nats (level {level}, Holm-adjusted over features), with at least {events} observations outside the most "
        "frequent class. High where the skill is below {high:pct} of the mutual information, else medium."
    ),
    raised=("p_adjusted <= level and more > margin and events >= events",),
    grades=("high if share < high", "medium"),
    rests_on="I(x; y) is the skill of the best prediction from x alone (Cover & Thomas 2006)",
)


@dataclass(frozen=True)
class SingleFeature(TableCheck):
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
    table: ClassVar[tuple[Rule, ...]] = (OUTDONE,)

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        limits = (*shares(self, "level"), ("margin", self.margin >= 0, "a number >= 0"))
        check_options(self.name, self, limits)

    def check(self, run: Run) -> Outcome:
        """Judge the skill by what each feature tells alone."""
        return outcome(self, run, _outdone)


def _outdone(rule: Rule, run: Run) -> RuleOutcome:
    """Test every feature, the one that tells most first.

    Both are means over the same rows: taking their errors as independent makes the test the more careful.
    """
    scores, information, counts = needed(CalibrationView, run), needed(Cid, run), class_counts(run)
    skill = scores.of(LOG_SCORE_SKILL)
    if skill is None or too_few(counts) or not skill.has_interval:
        raise NotJudgedError(too_few(counts) or "the log score of the model has no interval")
    lines = largest_first(line for line in information.lines if line.item == MUTUAL)
    require(lines, "the mutual information of features and outcome was not computed")
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
        lambda first, *_: _outdoes(rule, first, skill),
        p_values=np.where(more > 0, two_sided(more, errors, freedom(run)), 1.0),
        by=together,
        passed="No single feature is shown to be more informative than the model.",
    )


def _outdoes(rule: Rule, line: ItemLine, skill: ScoreLine) -> Said:
    alone, model = line_words(line, "nats"), line_words(skill, "nats")
    return {
        "statement": f"{short(line.feature)} alone has {alone} of information about the outcome; the skill of the "
        f"whole model is {model}.",
        "evidence": (ids.CALIBRATION, ids.CID),
        "remedy": "Compare the model with a simple one that uses this feature alone. Check that columns and labels are "
        "matched correctly in training and in the audit.",
        "threshold": rule.thresholds["margin"],
        "observed": line.estimate - skill.estimate,
    }
