"""Two cards of page 1: the performance of the model, and the calibration of its predictive distributions."""

from math import isfinite, isnan
from typing import NamedTuple

from ...core.support.text import count
from ...document.document import Card
from ...document.text import clean, interval, name, sentence, spaced, value_words
from ...evidence import ids
from ...evidence.comparisons import ACCURACY_GAIN, Comparisons
from ...evidence.importance import ALL_FEATURES, CLAIMED, DIFFERENCE, Claims
from ...evidence.outcomes import CONFIDENCE_GAP, LOG_SCORE, CalibrationView, Decisions, ScoreLine
from ...evidence.view import by_feature
from ...reading.run_reader import FAILED, RunReader
from ...reading.sentences import amount, apart, estimate_words, percent, share, unbracketed
from ..sections.outcomes import ITEMS_WITH_SKILL, in_the_large
from ..sections.uncertainty import UNTESTED, USEFULNESS, ordering_words, referral_words, score_name, verdict

PERFORMANCE, CALIBRATION = "Performance", "Calibration"
NOT_TESTED = "Not tested"
AREA, ACCURACY, RECALL = "roc_auc", "accuracy", "recall"
ITEMS = (AREA, ACCURACY, *ITEMS_WITH_SKILL)  # what the card can show
CHANCE = 0.5  # area under the ROC curve of a model without discrimination
MOST = 3  # classes of a confusion matrix on the card
BASELINE = "a no-feature baseline"
LOWER = "lower "  # begins the aside of a headline that is a reduction
# findings that limit calibrated distributions: observations outside the training domain, realised importance, groups
LIMITS = ("UQ301", "UQ401", "UQ802")


class SkillEstimate(NamedTuple):
    """A baseline's score less the model's, as shares of the baseline's."""

    share: float
    lower: float
    upper: float
    score: ScoreLine
    baseline: float

    @property
    def side(self) -> int:
        """1 where the model is shown to be better than the baseline, -1 where worse, else 0."""
        return (self.lower > 0) - (self.upper < 0)

    @property
    def words(self) -> str:
        """The share with its interval, without a sign where the model is worse."""
        return percent(self.share, self.lower, self.upper, -1 if self.side < 0 else 1)


def skill_of(e: RunReader) -> SkillEstimate | None:
    """Return the skill of the first score that has a baseline."""
    for score in ITEMS_WITH_SKILL:
        own, line, base = (e.score(f"{score}{end}") for end in ("", "_skill", "_baseline"))
        if own is not None and line is not None and base is not None and base.estimate > 0 and line.has_interval:
            of = base.estimate
            return SkillEstimate(line.estimate / of, line.lower / of, line.upper / of, own, of)
    return None


def performance_sentence(e: RunReader) -> str:
    """Return what is shown of the skill of the model, in a sentence."""
    skill = skill_of(e)
    if skill is None:
        why = "" if e.subject.has_y else ": no outcomes were given"
        how = "tested" if not any(e.score(item) for item in ITEMS) else "compared with a baseline"
        return f"Performance was not {how}{why}."
    verb = {1: "outperforms", -1: "performs worse than"}.get(skill.side, "is not shown to outperform")
    text = f"The model {verb} {BASELINE}"
    area = e.score(AREA)
    if area is None:
        way = "lower" if skill.side > 0 else "higher"
        change = f"{score_name(e, skill.score.item)} {way} by {unbracketed(skill.words)}"
        return f"{text} ({change})." if skill.side else f"{text}."
    within = f"AUC {unbracketed(estimate_words(area))}"
    ranks = skill.side < 1 and area.lower > CHANCE
    return f"{text}, but ranks observations better than chance ({within})." if ranks else f"{text} ({within})."


def performance(e: RunReader) -> Card:
    """Return the card on scores, baselines and the missed share of the rarest class."""
    skill, view = skill_of(e), Decisions.find(e.run)
    headline, aside = _headline(e, skill)
    if not headline:
        why = e.why_missing(CalibrationView.id) if e.subject.has_y else "No outcomes were given."
        return Card(title=PERFORMANCE, headline=NOT_TESTED, texts=(sentence(why),))
    against = _against(e, skill, headed=aside.startswith(LOWER)) if skill is not None else ""
    far = e.score("off_by_more")
    ordinal = "" if far is None else f"Two or more classes off: {share(far)}."
    texts = (against, _accuracy(e, aside), _trained(e, skill), _decided(view), ordinal)
    return Card(title=PERFORMANCE, headline=headline, aside=aside, texts=tuple(filter(None, texts)))


def _headline(e: RunReader, skill: SkillEstimate | None) -> tuple[str, str]:
    """Return the score that is best known, and its name with the interval."""
    area, accuracy = e.score(AREA), e.score(ACCURACY)
    if area is not None:
        words, what = estimate_words(area), "AUC"
    elif accuracy is not None:
        words, what = share(accuracy), ACCURACY
    elif skill is not None and skill.side > 0:
        words, what = skill.words, f"{LOWER}{score_name(e, skill.score.item)} than {BASELINE}"
    else:
        score = next((line for key in ITEMS_WITH_SKILL if (line := e.score(key)) is not None), None)
        words, what = (amount(score, "points"), score_name(e, score.item)) if score is not None else ("", "")
    number, around = apart(words)
    return number, f"{what}{around}"


def _against(e: RunReader, skill: SkillEstimate, *, headed: bool) -> str:
    """Return the score of the model against that of the baseline; the reduction stands in the headline if `headed`."""
    lead = f"{score_name(e, skill.score.item)} {apart(amount(skill.score, 'points'))[0]}"
    text, base = f"{lead[0].upper()}{lead[1:]}", f"that of {BASELINE} ({value_words(skill.baseline)})"
    if headed:
        return f"{text}; {BASELINE} {value_words(skill.baseline)}."
    if skill.side:
        return f"{text}, {skill.words} {'below' if skill.side > 0 else 'above'} {base}."
    reduction = interval(100 * skill.lower, 100 * skill.upper)
    return f"{text}, not shown to be below {base}; reduction {reduction}%."


def _accuracy(e: RunReader, aside: str) -> str:
    """Return the accuracy, where the headline is another score, against that of always predicting one class."""
    accuracy, counts, view = e.score(ACCURACY), e.subject.class_counts, Comparisons.find(e.run)
    if accuracy is None or not counts:
        return ""
    gain = None if view is None else view.line(ACCURACY_GAIN)  # of the class that prevails in the training sample
    if gain is None:
        majority = f"majority class {100 * max(counts) / sum(counts):.0f}%"
    else:
        trained = ", the majority in training:" if 2 * gain.reference < 1 else ""
        majority = f"always predicting {name(gain.of)}{trained} {100 * gain.reference:.1f}%"
    if aside.startswith(ACCURACY):
        return f"{majority[0].upper()}{majority[1:]}."
    return f"Accuracy {share(accuracy)}; {majority}."


def _trained(e: RunReader, skill: SkillEstimate | None) -> str:
    """Return the leading score of the training observations; empty where they were not predicted."""
    line = e.score(AREA) or (None if skill is None else skill.score)
    if line is None or not isfinite(line.training):
        return ""
    what = "AUC" if line.item == AREA else score_name(e, line.item)
    return f"On training observations: {what} {value_words(line.training)}."


def _decided(view: Decisions | None) -> str:
    """Say which share of the rarest class is missed, of many classes of the one that is missed most."""
    if view is None:
        return ""
    recalls = [line for line in view.lines if line.item == RECALL and line.has_interval]
    few = len(view.classes) <= MOST
    if not recalls:
        return "" if few else f"It predicts {clean(view.rule)}."
    if few:
        line, which = min(recalls, key=lambda line: line.n), "rarest" if len(view.classes) > 2 else "rarer"
    else:  # a class of few observations may be recalled by chance
        line, which = min(recalls, key=lambda line: (line.upper, line.estimate)), "most often missed"
    words = percent(1 - line.estimate, 1 - line.upper, 1 - line.lower)
    return f"Missed: {words} of {line.n} in the {which} class, “{name(line.label)}”."


def calibration_sentence(e: RunReader) -> str:
    """Return the verdict in a sentence."""
    verdict, n = e.gate.word, "" if e.subject.n is None else f" at n = {e.subject.n}"
    if e.gate.tone == "unknown":
        return "Calibration was not tested."
    return f"Calibration is {verdict}{n if e.gate.tone == 'warning' else ''}."


def calibration(e: RunReader) -> Card:
    """Return the card: the verdict, its direction and size, and which importance is realised out of sample."""
    n = e.subject.n
    aside = f"n = {n}" if e.gate.tone == "warning" and n is not None else ""
    texts = tuple(filter(None, (*_reasons(e), realised(e))))
    return Card(title=CALIBRATION, headline=e.gate.word.capitalize(), aside=aside, texts=texts)


def _reasons(e: RunReader) -> tuple[str, ...]:
    """Say what the verdict rests on."""
    view, gap = CalibrationView.find(e.run), e.score(CONFIDENCE_GAP)
    if view is None or gap is None or e.gate.tone == "unknown":
        return (sentence(e.gate.reason),)
    if e.gate.tone == "bad":
        return _direction(e, view, gap), gain_words(view)
    if e.gate.tone == "warning":
        return (_undecided(e, view, gap),)
    within = f", within the tolerance of ±{e.gap_margin:g}" if isfinite(e.gap_margin) else ""
    rejects = f"A test rejects calibration, without a material loss ({FAILED}, observation)."
    rejected = rejects * any(finding.code == FAILED for finding in e.findings)
    return spaced(f"Calibration gap {_words(gap)}{within}.", rejected), _limited(e)


def _direction(e: RunReader, view: CalibrationView, gap: ScoreLine) -> str:
    """Say in which direction the distributions are wrong, as far as the interval shows it."""
    if view.infinite_nll:
        return f"For {count(view.infinite_nll, 'observation')} the outcome had a stated probability of 0."
    comparisons = Comparisons.find(e.run)
    if comparisons is not None and comparisons.wrong_level:
        return in_the_large(comparisons)
    events, loss = f" {view.events_words}." if view.events_words else "", f"mean {score_name(e, LOG_SCORE)}"
    if gap.lower_90 > 0:
        return f"The model is over-confident: {loss} exceeds mean entropy by {_words(gap)}.{events}"
    if gap.upper_90 < 0:
        return f"The model is under-confident: {loss} is below mean entropy by {_words(gap, -1)}.{events}"
    return f"Outcomes do not follow the stated distributions. The calibration gap, {_words(gap)}, has no clear sign."


def gain_words(view: CalibrationView) -> str:
    """Say what recalibration gains, where its interval is above 0."""
    gain = view.of("recalibration_gain")
    if gain is None or not gain.lower > 0:
        return ""
    return f"Recalibration gains {estimate_words(gain, 'nats')}."


def _limited(e: RunReader) -> str:
    """Return the most severe open finding that limits calibrated distributions."""
    finding = next((f for f in e.findings if f.code in LIMITS and f.severity != "observation"), None)
    return "" if finding is None else f"Limitation: {sentence(finding.title)[:-1]} ({clean(finding.code, 20)})."


def _undecided(e: RunReader, view: CalibrationView, gap: ScoreLine) -> str:
    """Return the gap against its tolerance, and how many observations are needed where these are too few."""
    margin, text = e.gap_margin, f"Calibration gap {_words(gap)}"
    if not isfinite(margin) or max(-gap.lower_90, gap.upper_90) < margin:
        return f"{text}."
    outside, size = gap.lower_90 > margin or gap.upper_90 < -margin, view.gap_size(margin)
    needed = "" if size is None else size.sentence
    return spaced(f"{text}; tolerance ±{margin:g}.", sentence(e.gate.reason) if outside else needed)


def _words(gap: ScoreLine, sign: int = 1) -> str:
    """Return the gap with its 90% interval."""
    low, high = sorted((sign * gap.lower_90, sign * gap.upper_90))
    return value_words(sign * gap.estimate, low, high, gap.unit, confidence=0.9)


def realised(e: RunReader) -> str:
    """Return realised over model-implied importance; empty without a reliable interval of the ratio."""
    view = Claims.find(e.run)
    if view is None:
        return ""
    implied, whole = (by_feature(view.part(item)).get(ALL_FEATURES) for item in (CLAIMED, DIFFERENCE))
    if implied is None or whole is None or whole.unreliable or isnan(whole.share_lower):
        return ""
    if implied.estimate < view.margin:  # a share of next to nothing
        return ""
    ratio = value_words(whole.share, whole.share_lower, whole.share_upper)
    over = ", over-dispersion or over-fitting" if e.subject.family == "Poisson" else ", over-fitting"
    return f"Realisation ratio of the importance: {ratio}{over if whole.share_upper < 1 else ''}."


def usefulness(e: RunReader) -> Card:
    """Return the card: the verdict, the one number beside it, and what referring the 10% most uncertain does."""
    ended, headline, words = e.ended(ids.SELECTIVE), verdict(e), referral_words(e.run)
    why = "" if ended is None or headline != UNTESTED else sentence(ended.reason)
    missing = "" if words or why else e.why_missing(ids.SELECTIVE)
    texts = tuple(filter(None, (words, why, missing)))
    return Card(title=USEFULNESS, headline=headline, aside=ordering_words(e.run), texts=texts)
