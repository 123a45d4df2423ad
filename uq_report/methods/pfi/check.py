"""Checks of model-implied against realised importance, of leaks, and of single features that outdo the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, isnan, nan, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import entr, stdtrit

from ...checks.family import Judge, NotJudgedError, Said, TableCheck, family, needed, outcome, require, together
from ...checks.reading import RuleOutcome, absent, by_reason, freedom, lacking, listed, measure_words, two_sided
from ...checks.rule import Rule
from ...core.model.measures import NLL
from ...core.statistics.verdicts import holm, one_sided
from ...core.support import options as opt
from ...core.support.numbers import number, share_words, value_words
from ...core.support.text import clean, short
from ...evidence import ids
from ...evidence.finding import Outcome, Symptom
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims, Pfi
from ...evidence.information import MUTUAL, OF_ENTROPY, OF_VARIANCE, Cid, ItemLine
from ...evidence.outcomes import LOG_SCORE_SKILL, CalibrationView, ScoreLine, scores_of
from ...evidence.run import Run
from ...evidence.subject import FeatureFacts, SubjectFacts
from ...evidence.view import by_feature, largest_first, of_measure
from ..shared.checks import LEAST, about, class_counts, events, line_words, too_few, wrong_level

OVER, UNDER = "UQ401", "UQ402"
NAMED = 3  # features named
_REMEDY = "Reduce over-fitting: regularise, and remove memorised features. Look for leaks in the training data."
_REMEDY_OF_COUNTS = (
    "Test for over-dispersion: a Poisson model that states too small a variance implies too much importance. Fit a "
    "distribution with a dispersion of its own, such as the negative binomial."
)
_REMEDY_OF_CAUSE = (
    "Check how the feature is populated, coded and signed in both samples. Correct or remove it, then repeat the audit."
)
PASSED = {
    OVER: "The importance implied by the model is realised out of sample.",
    UNDER: "No feature is shown to have a realised importance above the model-implied one.",
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


OVER_CLAIMED = Rule.stated(OVER)
UNDER_CLAIMED = Rule.stated(UNDER)


@dataclass(frozen=True)
class ClaimsCheck(TableCheck):
    """Compares the importance that a model implies with the importance that is realised out of sample.

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
        over-claiming by themselves that surely deliver less than `high` of their claim are named, the smallest first.
    """

    level: float = opt.share(0.05)
    min_size: float = opt.share(0.05)
    min_share: float = opt.share(0.15)
    medium: float = opt.share(0.8)
    high: float = opt.share(0.5)

    name: ClassVar[str] = "claims"
    title: ClassVar[str] = "Model-implied and realised importance"
    table: ClassVar[tuple[Rule, ...]] = (OVER_CLAIMED, UNDER_CLAIMED)

    def check(self, run: Run) -> Outcome:
        """Judge the run's claims."""
        return outcome(self, run, self._over, _underclaimed)

    def _over(self, rule: Rule, run: Run) -> RuleOutcome:
        view = _view(run)
        whole = by_feature(view.part(DIFFERENCE)).get(ALL_FEATURES)
        share = nan if whole is None else whole.share
        return _part(rule, view, run, lambda *raised: self._claimed(view, whole, raised, run), share=share)

    def _claimed(self, view: Claims, whole: ClaimLine | None, raised: Sequence[Tested], run: Run) -> Said:
        """Return the finding: with the features that make predictions worse, else with those that deliver least."""
        largest = sorted(raised, key=lambda t: -t.line.estimate)
        alone = [t.line.feature for t in largest if t.line.feature != ALL_FEATURES]
        harmful = [line for line in _harmful(view, self.level, freedom(run)) if line.feature in alone]
        features = [line.feature for line in harmful[:1]] or self._named(raised, freedom(run))
        singles = features[:NAMED] or alone[: 1 if len(alone) < len(raised) else NAMED]
        sentences = [f"{'; '.join(_claims(view, feature) for feature in singles)}."] if singles else []
        if whole is not None:  # first where it over-claims itself, else after the features that do
            sentences.insert(0 if len(alone) < len(raised) else 1, f"{_together(view, whole)}.")
        if harmful:
            sentences.insert(0, _worse(harmful))
        remedy = _REMEDY_OF_COUNTS if SubjectFacts.of(run).family == "Poisson" else _REMEDY
        return {
            "statement": " ".join(sentences),
            "remedy": _REMEDY_OF_CAUSE if harmful else remedy,
            "features": tuple(features),
            "explains": () if wrong_level(run) else self._symptoms(features, whole, cause=bool(harmful)),
            **_about(view, max(raised, key=lambda t: t.beyond).line),
        }

    def _symptoms(self, features: Sequence[str], whole: ClaimLine | None, *, cause: bool) -> tuple[Symptom, ...]:
        """Return what over-claiming explains: what is left for others, and of named features the bad fit as a whole.

        That the model is of no use it explains only where unseen rows confirm some of what is claimed, or where a
        feature makes predictions worse. Such a feature may also be what puts rows outside the training domain. Where
        almost all that is claimed is confirmed, a bad fit is possibly related, no consequence.
        """
        confirmed = cause or (whole is not None and whole.share_lower > 0)
        codes = (*(("UQ101",) if features else ()), *(("UQ001", "UQ003") if features and confirmed else ()))
        codes += ("UQ123", "UQ301") if cause else ()
        possible = not cause and not (whole is not None and whole.share <= self.medium)
        return (Symptom(code=UNDER), *(Symptom(code=code, possible=possible) for code in codes))

    def _named(self, raised: Sequence[Tested], dof: float) -> list[str]:
        """Return the features that surely deliver little of what they claim, the smallest share first."""
        lines = sorted((t.line for t in raised if t.line.feature != ALL_FEATURES), key=lambda line: line.share)
        return [line.feature for line in lines if _upper_80(line, dof) < self.high]


def _upper_80(line: ClaimLine, dof: float) -> float:
    """Return the upper end of the 80% interval of a share."""
    narrower = stdtrit(dof, 0.9) / stdtrit(dof, 0.5 + line.confidence / 2)
    return float(line.share + narrower * (line.share_upper - line.share))


def _view(run: Run) -> Claims:
    """Return the claims with a difference; a rule that has none is not judged."""
    view, pfi = Claims.find(run), Pfi.find(run)
    if view is None:
        unknown = absent(run, ids.PFI_CLAIMS) if pfi is None else lacking(pfi, NLL.name)
        gaps = () if pfi is None else pfi.omissions
        raise NotJudgedError(next((clean(gap.reason) for gap in gaps if gap.measure == CLAIMED), unknown))
    none = "realised importance needs outcomes, which were not given"
    if not view.lines:
        reasons = dict.fromkeys(clean(gap.reason) for gap in view.omissions)
        none = f"model-implied importance could not be computed{': ' if reasons else ''}{listed(reasons)}"
    require(view.part(DIFFERENCE), none)
    return view


def _part(rule: Rule, view: Claims, run: Run, said: Callable[..., Said], **numbers: float) -> RuleOutcome:
    """Judge the differences of the rule's sign: those of unreliable intervals stay open."""
    table = differences(view, run)
    reasons = {t.line.feature: t.line.unreliable or "no interval" * isnan(t.p_adjusted) for t in table}
    doubted = by_reason({feature: reason for feature, reason in reasons.items() if reason})
    sure = [t for t in table if not reasons[t.line.feature] and (t.line.estimate > 0) == (rule.code == OVER)]
    ends: Said = {"by": together, "undecided": lambda _: doubted, "passed": PASSED[rule.code]}
    return family(rule, sure, lambda t: t.observed | numbers, said, **ends)


def _harmful(view: Claims, level: float, dof: float) -> list[ClaimLine]:
    """Return the features whose delivered importance is below the margin's negative, the lowest first."""
    lines = [x for x in view.part(DELIVERED) if x.feature != ALL_FEATURES and not x.unreliable]
    tests = [one_sided(-view.margin - x.estimate, x.std_error, dof) for x in lines]
    below = [x for x, p in zip(lines, holm(tests).tolist(), strict=True) if p <= level]
    return sorted(below, key=lambda line: line.estimate)


def _worse(lines: Sequence[ClaimLine]) -> str:
    """Say by how much permuting the first of the features lowers the loss, and which others do so."""
    first = lines[0]
    size = value_words(-first.estimate, -first.upper, -first.lower, _unit(first).strip(), confidence=first.confidence)
    others = f"; so does {listed(line.feature for line in lines[1:])}" if len(lines) > 1 else ""
    words = f"On these observations {short(first.feature)} makes predictions worse"
    return f"{words}: permuting it lowers the loss by {size}{others}."


def differences(view: Claims, run: Run) -> list[Tested]:
    """Return every difference with its p-value, Holm-adjusted over features and all of them together."""
    lines, claims = view.part(DIFFERENCE), by_feature(view.part(CLAIMED))
    largest = max((claim.estimate for name, claim in claims.items() if name != ALL_FEATURES), default=nan)
    tested = two_sided([line.estimate for line in lines], [line.std_error for line in lines], freedom(run))
    p_values = [t if isnan(line.p_value) else line.p_value for line, t in zip(lines, tested.tolist(), strict=True)]
    rows = [(line, p, claims[line.feature].estimate) for line, p in zip(lines, holm(p_values).tolist(), strict=True)]
    return [Tested(line, p, view.margin, claim, claim / largest if largest > 0 else nan) for line, p, claim in rows]


def _together(view: Claims, whole: ClaimLine) -> str:
    """State the model-implied and the realised importance of all features together, and their ratio."""
    claimed, delivered = (number(line.estimate, 2) + _unit(line) for line in _sides(view, ALL_FEATURES))
    share = f", or {share_words(whole.share, whole.share_lower, whole.share_upper)}," if isfinite(whole.share) else ""
    return (
        f"By the model's own distributions, permuting all features together increases the loss by {claimed} per "
        f"observation; {delivered}{share} of this is realised out of sample"
    )


def _sides(view: Claims, feature: str) -> tuple[ClaimLine, ClaimLine]:
    """Return the model-implied and the realised importance of a feature."""
    return by_feature(view.part(CLAIMED))[feature], by_feature(view.part(DELIVERED))[feature]


def _claims(view: Claims, feature: str) -> str:
    claimed, delivered = _sides(view, feature)
    value = line_words(delivered, _unit(delivered).strip())
    implied = f"a model-implied importance of {number(claimed.estimate, 2)}{_unit(claimed)}"
    return f"{_called([feature])}: {implied}, a realised importance of {value}"


def _called(features: Sequence[str]) -> str:
    """Return features in words, all of them together included."""
    return listed("all features together" if feature == ALL_FEATURES else short(feature) for feature in features)


def _underclaimed(rule: Rule, run: Run) -> RuleOutcome:
    view = _view(run)

    def said(*raised: Tested) -> Said:
        lines = sorted((t.line for t in raised), key=lambda line: line.estimate)
        names = [line.feature for line in lines]
        return {
            "statement": f"Permuting {_called(names)} increases the loss by more than the model implies. "
            f"{_claims(view, names[0])}.",
            "remedy": "Try a weaker penalty or a richer model. Compare the loss on held-out observations.",
            "features": tuple(name for name in names if name != ALL_FEATURES),
            **_about(view, lines[0]),
        }

    return _part(rule, view, run, said)


def _about(view: Claims, worst: ClaimLine) -> Said:
    return about(worst, view.id, ids.PFI, measures=(worst.measure,), threshold=view.margin)


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


LEAKS = Rule.stated("UQ411", events=LEAST)


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
        passed=f"No single feature determines the outcome: {short(first.name)} explains most, "
        f"{_percent(first.share)} (at most {_percent(first.upper)}) of {_whole(counts)}.",
    )


def _alone(view: Cid, run: Run) -> list[SingleFeatureInfo]:
    """Return the information of each feature about the outcome."""
    counts = class_counts(run)
    lines = [line for line in view.lines if line.item == (OF_ENTROPY if counts else OF_VARIANCE)]
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
    if facts is None or facts.kind == "categorical" or view.estimator != DISCRETE:
        return False
    return (facts.distinct or 0) > view.bins


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
    ('46%', '97.9%', '99.9%', 'an unknown share')
    """
    if isnan(share):
        return "an unknown share"
    return f"{min(floor(1000 * share) / 10, 99.9):.1f}%" if share > 0.9 else f"{100 * share:.0f}%"


def _leak(rule: Rule, feature: SingleFeatureInfo, run: Run) -> Said:
    counts, skill, cost = class_counts(run), scores_of(run).get(LOG_SCORE_SKILL, 0.0), _cost(feature, run)
    comparable = bool(counts) and skill > 0
    evidence = (ids.CID, *((ids.PFI,) if cost else ()), *((ids.CALIBRATION,) if comparable else ()))
    others = "." if counts else "; a lagged value of a slowly varying series has the same effect."
    return {
        "statement": f"{short(feature.name)} alone explains {_percent(feature.share)} (at least "
        f"{_percent(feature.lower)}) of {_whole(counts)}: it may be recorded after the outcome, or derived from it"
        f"{others}{cost}",
        "remedy": "Establish when and from what source the column is populated. If it is recorded after the outcome or "
        "derived from it, remove it, refit the model and repeat the audit: the scores of this run would not be "
        "attained in use.",
        "features": (feature.name,),
        "threshold": rule.thresholds["share" if counts else "variance"],
        "size": min(feature.nats / skill, 1.0) if comparable else None,
        "explains": tuple(Symptom(code=code) for code in SYMPTOMS),
        **about((feature.share, feature.lower, feature.upper), *evidence),
    }


def _cost(feature: SingleFeatureInfo, run: Run) -> str:
    """State the importance of the feature for the model, where it is known; a leak of the test sample has none."""
    view = Pfi.find(run)
    line = None if view is None else by_feature(of_measure(view.lines, NLL.name)).get(feature.name)
    if line is None:
        return ""
    little = ": the model makes little use of it, so the leak is in the test sample and not in the training sample"
    leak = little if line.upper < USED * feature.nats else ""
    return f" Permuting it increases the log loss by {line_words(line, 'nats')}{leak}."


OUTDONE = Rule.stated("UQ003", events=LEAST)


def _outdone(rule: Rule, run: Run) -> RuleOutcome:
    """Test every feature, the one that tells most first.

    Both are means over the same rows: taking their errors as independent makes the test the more careful.
    """
    scores, information, counts = needed(CalibrationView, run), needed(Cid, run), class_counts(run)
    skill = scores.of(LOG_SCORE_SKILL)
    if skill is None or too_few(counts) or not skill.has_interval:
        raise NotJudgedError(too_few(counts) or "the log loss of the model has no interval")
    lines = largest_first(line for line in information.lines if line.item == MUTUAL)
    require(lines, "the mutual information of features and outcome was not computed")
    more = np.array([line.estimate - skill.estimate for line in lines])
    errors, observed = [sqrt(line.std_error**2 + skill.std_error**2) for line in lines], {"events": events(counts)}
    return family(
        rule,
        lines,
        lambda x: observed | {"more": x.estimate - skill.estimate, "share": skill.estimate / x.estimate},
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

    share: float = opt.share(0.75)
    variance: float = opt.share(0.98)

    name: ClassVar[str] = "leak"
    title: ClassVar[str] = "Leaks"
    table: ClassVar[tuple[Rule, ...]] = (LEAKS,)
    judges: ClassVar[tuple[Judge, ...]] = (_leaks,)


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

    level: float = opt.share(0.05)
    margin: float = opt.not_negative(0.01)

    name: ClassVar[str] = "single_feature"
    title: ClassVar[str] = "The model against single features"
    table: ClassVar[tuple[Rule, ...]] = (OUTDONE,)
    judges: ClassVar[tuple[Judge, ...]] = (_outdone,)
