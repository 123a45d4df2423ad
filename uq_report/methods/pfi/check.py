"""Checks on the importance of features: over-claiming, leaks, and single features that outdo the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, isnan, nan, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import entr, stdtrit

from ...checks.family import NotJudgedError, Said, TableCheck, family, needed, outcome, require, together
from ...checks.reading import RuleOutcome, absent, by_reason, freedom, lacking, listed, measure_words, two_sided
from ...checks.rule import Rule
from ...core.model.measures import NLL
from ...core.statistics.verdicts import holm
from ...core.support.errors import check_options
from ...core.support.numbers import number, share_words
from ...core.support.text import clean, short
from ...evidence import ids
from ...evidence.finding import Outcome, Symptom
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims, Pfi
from ...evidence.information import MUTUAL, OF_ENTROPY, OF_VARIANCE, Cid, ItemLine
from ...evidence.outcomes import LOG_SCORE_SKILL, CalibrationView, ScoreLine, scores_of
from ...evidence.run import Run
from ...evidence.subject import FeatureFacts, SubjectFacts
from ...evidence.view import by_feature, largest_first, of_measure
from ..shared.checks import LEAST, class_counts, events, line_words, observed, shares, span, too_few

OVER, UNDER = "UQ401", "UQ402"
RESTS_ON = "E[S(q̃, Y) − S(q, Y)] = divergence of q̃ from q if Y follows q, for a proper score S"
NAMED = 3  # features named
PASSED = {
    OVER: "Unseen rows confirm what the model claims its features to be worth.",
    UNDER: "No feature is shown to be worth more than the model makes of it.",
}


class Tested(NamedTuple):
    """A difference of claimed and delivered importance, with its p-value adjusted over all of them.

    `claimed` is what is claimed, `claim` the same as a share of the largest claim of a feature.
    """

    line: ClaimLine
    p_adjusted: float
    margin: float
    claimed: float
    claim: float

    @property
    def observed(self) -> dict[str, float]:
        """The numbers that the rules judge."""
        missing = self.line.lower / self.claimed if self.claimed > 0 else nan
        return {"p_adjusted": self.p_adjusted, "beyond": self.beyond, "claim": self.claim, "missing": missing}

    @property
    def beyond(self) -> float:
        """How far the interval lies above the margin, or below its negative; at most 0 where it does not."""
        return max(self.line.lower - self.margin, -self.margin - self.line.upper)


OVER_CLAIMED = Rule(
    code=OVER,
    title="The model claims more than unseen rows confirm",
    options=("level", "min_size", "min_share", "medium", "high"),
    when="Claimed less delivered importance of all features together, or of one that claims at least "
    "{min_size:pct} of the largest claim of one, is above the margin and above {min_share:pct} of the "
    "claim (level {level}, adjusted over features; lower end of the interval). "
    "High if unseen rows confirm at most {high:pct} of what all features together claim, medium up to "
    "{medium:pct}, else low. Named are features that do so themselves and deliver less than {high:pct} of "
    "their claim, the smallest share first.",
    raised=("p_adjusted <= level and beyond > 0 and claim >= min_size and missing > min_share",),
    grades=("high if share <= high", "medium if share <= medium", "low"),
    rests_on=RESTS_ON,
)
UNDER_CLAIMED = Rule(
    code=UNDER,
    title="The model makes less of a feature than it could",
    options=("level",),
    when="Claimed less delivered importance of a feature, or of all together, is below the margin's "
    "negative (level {level}, adjusted over features).",
    raised=("p_adjusted <= level and beyond > 0",),
    rests_on=RESTS_ON,
)


@dataclass(frozen=True)
class ClaimsCheck(TableCheck):
    """Holds the importance that a model claims against the importance that unseen rows deliver.

    Claimed is the mean divergence of the shuffled rows' distributions from the unchanged ones, delivered the rise of
    the score's loss. If outcomes follow the model both are equal in expectation, for every model and any dependence
    between features. Tests are exact where the evidence has them, else t-tests; Holm-adjusted over features and all
    of them together. An interval that is not to be trusted leaves its feature undecided.

    Parameters
    ----------
    level : float, default=0.05
        Of all tests together.
    min_size : float
        Share of the largest claim from which a feature's claim is large enough to speak of over-claiming.
    min_share : float
        Share of a claim that must be missing, by the lower end of the interval.
    medium, high : float
        Share of all features' claim, delivered by unseen rows, up to which over-claiming is medium or high. Features
        over-claiming by themselves that deliver less than `high` of their claim are named, the smallest share first.
    """

    level: float = 0.05
    min_size: float = 0.05
    min_share: float = 0.05
    medium: float = 0.8
    high: float = 0.5

    name: ClassVar[str] = "claims"
    title: ClassVar[str] = "Claimed and delivered importance"
    table: ClassVar[tuple[Rule, ...]] = (OVER_CLAIMED, UNDER_CLAIMED)

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        check_options(self.name, self, shares(self, "level", "min_size", "min_share", "high", "medium"))

    def check(self, run: Run) -> Outcome:
        """Judge the run's claims."""
        return outcome(self, run, self._over, _under)

    def _over(self, rule: Rule, run: Run) -> RuleOutcome:
        view = _view(run)
        whole = by_feature(view.part(DIFFERENCE)).get(ALL_FEATURES)
        share = {"share": nan if whole is None else whole.share}
        return _part(
            rule, view, run, 1, lambda t: t.observed | share, lambda *raised: self._claimed(view, whole, raised)
        )

    def _claimed(self, view: Claims, whole: ClaimLine | None, raised: Sequence[Tested]) -> Said:
        """Return the finding, with the features that deliver least of what they claim, worst first."""
        features = self._named(raised)
        alone = [t.line.feature for t in raised if t.line.feature != ALL_FEATURES]
        singles = (features or ([] if len(alone) < len(raised) else alone))[:NAMED]
        sentences = [f"{'; '.join(_claims(view, feature) for feature in singles)}."] if singles else []
        if whole is not None:  # first where it over-claims itself, else after the features that do
            sentences.insert(0 if len(alone) < len(raised) else 1, f"{_together(view, whole)}.")
        return {
            "statement": " ".join(sentences),
            "remedy": "Regularise the model, and leave out what it learnt by heart. Look for leaks in the training "
            "data.",
            "features": tuple(features),
            "explains": _symptoms(features, whole),
            **_about(view, max(raised, key=lambda t: t.beyond).line),
        }

    def _named(self, raised: Sequence[Tested]) -> list[str]:
        """Return the features that deliver little of what they claim, the smallest share first."""
        lines = sorted((t.line for t in raised if t.line.feature != ALL_FEATURES), key=lambda line: line.share)
        return [line.feature for line in lines if line.share < self.high]


def _view(run: Run) -> Claims:
    """Return the claims; without any the rules are not judged, with the reason."""
    view = Claims.find(run)
    if view is None:
        raise NotJudgedError(_unclaimed(run))
    if not view.part(DIFFERENCE):
        raise NotJudgedError(_unjudged(view))
    return view


def _part(
    rule: Rule,
    view: Claims,
    run: Run,
    side: int,
    numbers: Callable[[Tested], dict[str, float]],
    said: Callable[..., Said],
) -> RuleOutcome:
    """Judge the differences above 0 (`side` 1), or all others; intervals not to be trusted leave theirs undecided."""
    table = differences(view, run)
    reasons = {t.line.feature: t.line.unreliable or "no interval" * isnan(t.p_adjusted) for t in table}
    doubted = by_reason({feature: reason for feature, reason in reasons.items() if reason})
    sure = [t for t in table if not reasons[t.line.feature] and (t.line.estimate > 0) == (side > 0)]
    passed = PASSED[rule.code]
    return family(rule, sure, numbers, said, by=together, undecided=lambda _: doubted, passed=passed)


def _unclaimed(run: Run) -> str:
    """Say why there are no claims: permutation importance did not run, or there is no proper score to claim in."""
    pfi = Pfi.find(run)
    if pfi is None:
        return absent(run, ids.PFI_CLAIMS)
    reasons = (clean(gap.reason) for gap in pfi.omissions if gap.measure == CLAIMED)
    return next(reasons, lacking(pfi, NLL.name))


def _unjudged(view: Claims) -> str:
    """Say why nothing can be compared."""
    if view.lines:
        return "there are no outcomes to show what is delivered"
    reasons = dict.fromkeys(clean(gap.reason) for gap in view.omissions)
    return f"no claim could be computed: {listed(reasons)}" if reasons else "no claim could be computed"


def _symptoms(features: Sequence[str], whole: ClaimLine | None) -> tuple[Symptom, ...]:
    """Return what over-claiming explains: what is left for others, and where it has a place, the bad fit as a whole.

    That the model is of no use it explains only where unseen rows confirm some of what is claimed.
    """
    confirmed = whole is not None and whole.share_lower > 0
    codes = (UNDER, *(("UQ101",) if features else ()), *(("UQ001", "UQ003") if features and confirmed else ()))
    return tuple(Symptom(code=code) for code in codes)


def differences(view: Claims, run: Run) -> list[Tested]:
    """Return every difference with its p-value, Holm-adjusted over features and all of them together."""
    lines, claims = view.part(DIFFERENCE), by_feature(view.part(CLAIMED))
    largest = max((claim.estimate for name, claim in claims.items() if name != ALL_FEATURES), default=nan)
    tested = two_sided([line.estimate for line in lines], [line.std_error for line in lines], freedom(run))
    p_values = [t if isnan(line.p_value) else line.p_value for line, t in zip(lines, tested.tolist(), strict=True)]
    rows = [(line, p, claims[line.feature].estimate) for line, p in zip(lines, holm(p_values).tolist(), strict=True)]
    return [Tested(line, p, view.margin, claim, claim / largest if largest > 0 else nan) for line, p, claim in rows]


def _together(view: Claims, whole: ClaimLine) -> str:
    """Say what all features together claim and deliver, and the share with its interval."""
    claimed, delivered = (number(line.estimate, 2) + _unit(line) for line in _sides(view, ALL_FEATURES))
    share = f", {share_words(whole.share, whole.share_lower, whole.share_upper)}" if isfinite(whole.share) else ""
    return (
        f"The model claims that wrong values of all features together cost {claimed} a row; unseen rows "
        f"confirm {delivered}{share}"
    )


def _sides(view: Claims, feature: str) -> tuple[ClaimLine, ClaimLine]:
    """Return what a feature claims and delivers."""
    return by_feature(view.part(CLAIMED))[feature], by_feature(view.part(DELIVERED))[feature]


def _claims(view: Claims, feature: str) -> str:
    claimed, delivered = _sides(view, feature)
    value = line_words(delivered, _unit(delivered).strip())
    claims, delivers = ("claim", "deliver") if feature == ALL_FEATURES else ("claims", "delivers")
    return f"{_called([feature])} {claims} {number(claimed.estimate, 2)}{_unit(claimed)} and {delivers} {value}"


def _called(features: Sequence[str]) -> str:
    """Return features in words, all of them together included."""
    return listed("all features together" if feature == ALL_FEATURES else short(feature) for feature in features)


def _under(rule: Rule, run: Run) -> RuleOutcome:
    view = _view(run)
    return _part(rule, view, run, -1, lambda t: t.observed, lambda *raised: _underclaimed(view, raised))


def _underclaimed(view: Claims, raised: Sequence[Tested]) -> Said:
    lines = sorted((t.line for t in raised), key=lambda line: line.estimate)
    names = [line.feature for line in lines]
    return {
        "statement": f"Wrong values of {_called(names)} cost more on unseen rows than the model expects: "
        f"{_claims(view, names[0])}.",
        "remedy": "Try a weaker penalty or a richer model. Compare the loss on held-out rows.",
        "features": tuple(name for name in names if name != ALL_FEATURES),
        **_about(view, lines[0]),
    }


def _about(view: Claims, worst: ClaimLine) -> Said:
    evidence = (view.id, ids.PFI)
    return {"evidence": evidence, "measures": (worst.measure,), "threshold": view.margin, **observed(worst)}


def _unit(line: ClaimLine) -> str:
    """Return the unit of a claim with the blank before it."""
    return " nats" if line.measure == NLL.name else f" of {measure_words(line.measure)}"


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
    title="A feature alone gives almost the whole outcome",
    options=("share", "variance"),
    thresholds={"critical": 0.98, "events": LEAST},
    when="What the feature alone tells is at least {share:pct} of the entropy of a class, on at least "
    "{events} rows outside the most frequent class, or at least {variance:pct} of the variance of a number "
    "(Gaussian copula); by the lower end of its interval, the run's level shared out over the features. "
    "Critical from {critical:pct} of the entropy, else high.",
    raised=("share >= share and events >= events", "variance >= variance"),
    grades=("critical if share >= critical", "high"),
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

    share: float = 0.9
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
    require(features, "what a feature tells alone was not computed")
    first = max(features, key=lambda feature: feature.share)
    return family(
        rule,
        features,
        lambda x: {scale: x.lower, "events": events(counts)},
        lambda x: _leak(rule, x, run),
        undecided=lambda rest: [x.name for x in rest if not x.upper < rule.thresholds[scale] * x.most],
        passed=f"No feature alone gives the outcome: {short(first.name)} tells most, "
        f"{_percent(first.share)} (at most {_percent(first.upper)}) of {_whole(counts)}.",
    )


def _scale(counts: Sequence[int]) -> str:
    return OF_ENTROPY if counts else OF_VARIANCE


def _alone(view: Cid, run: Run) -> list[SingleFeatureInfo]:
    """Return what each feature tells alone."""
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
    return "what there is to know about the outcome" if counts else "the variance of the outcome (as normal scores)"


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
    others = "." if counts else "; an earlier value of a slow series looks the same."
    return {
        "statement": f"{short(feature.name)} alone gives {_percent(feature.share)} (at least "
        f"{_percent(feature.lower)}) of {_whole(counts)}: it may be recorded after the outcome, or made from it"
        f"{others}{cost}",
        "evidence": (ids.CID, *((ids.PFI,) if cost else ()), *((ids.CALIBRATION,) if comparable else ())),
        "remedy": "Find out when and from what the column is filled. If that is after the outcome or from it, leave it "
        "out, fit and audit again: the scores of this run would not hold in use.",
        "features": (feature.name,),
        "threshold": rule.thresholds["share" if counts else "variance"],
        "size": min(feature.nats / skill, 1.0) if comparable else None,
        "explains": tuple(Symptom(code=code) for code in SYMPTOMS),
        **span(feature.share, feature.lower, feature.upper),
    }


def _cost(feature: SingleFeatureInfo, run: Run) -> str:
    """Say what the model makes of the feature, where that is known; a leak of these rows alone is of no use to it."""
    view = Pfi.find(run)
    line = None if view is None else by_feature(of_measure(view.lines, NLL.name)).get(feature.name)
    if line is None:
        return ""
    cost = f" Wrong values of it cost the model {line_words(line, 'nats')} a row"
    if line.upper < USED * feature.nats:
        return f"{cost}: it makes little of it, so the leak is in these rows and not in those it was fitted to."
    return f"{cost}."


OUTDONE = Rule(
    code="UQ003",
    title="One feature alone tells more than the whole model",
    options=("level", "margin"),
    thresholds={"high": 0.5, "events": LEAST},
    when="What a feature alone tells of the class (mutual information) is more than the model's skill (log "
    "score) by more than {margin} nats (level {level}, Holm-adjusted over features), on at least {events} "
    "rows outside the most frequent class. High where the skill is below {high:pct} of it, else medium.",
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
        lambda first, *_: _outdoes(rule, first, skill),
        p_values=np.where(more > 0, two_sided(more, errors, freedom(run)), 1.0),
        by=together,
        passed="No feature alone is shown to tell more than the model.",
    )


def _outdoes(rule: Rule, line: ItemLine, skill: ScoreLine) -> Said:
    alone, model = line_words(line, "nats"), line_words(skill, "nats")
    return {
        "statement": f"{short(line.feature)} alone tells {alone} of the outcome; the whole model tells {model}.",
        "evidence": (ids.CALIBRATION, ids.CID),
        "remedy": "Compare the model with a small one of this feature alone. Check that columns and labels are matched "
        "as meant, in fitting and here.",
        "threshold": rule.thresholds["margin"],
        "observed": line.estimate - skill.estimate,
    }
