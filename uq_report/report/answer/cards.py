"""Two cards of page 1: how good the model is, and whether what it says of its own uncertainty is calibrated."""

from __future__ import annotations

from math import isfinite, isnan
from typing import NamedTuple

from ...core.support.text import count
from ...document.document import Card
from ...document.text import clean, interval, name, sentence, value_words
from ...evidence.finding import Finding
from ...evidence.importance import ALL_FEATURES, CLAIMED, DIFFERENCE, Claims
from ...evidence.outcomes import CONFIDENCE_GAP, CalibrationView, Decisions, ScoreLine
from ...evidence.view import by_feature
from ...reading.run_reader import RunReader
from ...reading.sentences import amount, apart, estimate_words, percent, scaled, share, unbracketed
from ..sections.outcomes import SCORE_NAMES

SKILL = "How good is it?"
AREA, ACCURACY = "roc_auc", "accuracy"
ITEMS = (AREA, ACCURACY, *SCORE_NAMES)  # what the card can show
CHANCE = 0.5  # area of a model that orders no better than chance
MOST = 3  # classes whose decisions are counted
BASELINE = "a baseline that ignores the features"
SHARE = "of the baseline's loss removed"
BELIEF = "Can its doubt be believed?"
YES, PARTLY, NO, OPEN, UNTESTED = "Yes", "In part", "No", "Cannot be told", "Not tested"
# findings that limit a uncertainty which is right over all rows: rows unlike the training rows, claims, attributes
LIMITS = ("UQ301", "UQ401", "UQ802")
HEADLINES = {"bad": NO, "warning": OPEN, "unknown": UNTESTED}


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
    for score in SCORE_NAMES:
        own, line, base = (_score(e, f"{score}{end}") for end in ("", "_skill", "_baseline"))
        if own is not None and line is not None and base is not None and base.estimate > 0 and line.has_interval:
            of = base.estimate
            return SkillEstimate(line.estimate / of, line.lower / of, line.upper / of, own, of)
    return None


def good(e: RunReader) -> tuple[str, int]:
    """Return what is shown of the model's skill as a clause, and its side: 1 better than the baseline, -1 worse."""
    skill = skill_of(e)
    if skill is None:
        why = "" if e.subject.has_y else ", because no outcomes were given"
        how = "tested" if not any(_score(e, item) for item in ITEMS) else "compared with a baseline"
        return f"How good the model is was not {how}{why}", 0
    words = {1: "predicts unseen rows better than", -1: "predicts unseen rows worse than"}
    text = f"It {words.get(skill.side, 'is not shown to predict unseen rows better than')} {BASELINE}"
    area = _score(e, AREA)
    if area is None:
        loss = f" (loss {'lower' if skill.side > 0 else 'higher'} by {unbracketed(skill.words)})"
        return f"{text}{loss if skill.side else ''}", skill.side
    within = f"AUC {unbracketed(estimate_words(area))}"
    orders = "though it orders them better than chance " if skill.side < 1 and area.lower > CHANCE else ""
    return f"{text}{', ' if orders else ' '}{orders}({within})", skill.side


def performance(e: RunReader) -> Card:
    """Return the card on skill, score and decisions."""
    skill, view = skill_of(e), Decisions.find(e.run)
    headline, aside = _headline(e, skill)
    if not headline:
        why = e.why_missing(CalibrationView.id) if e.subject.has_y else "No outcomes were given to compare with."
        return Card(title=SKILL, headline="Not tested", texts=(sentence(why),))
    texts = ((_losses if aside.startswith(SHARE) else _closed)(skill),) if skill is not None else ()
    return Card(title=SKILL, headline=headline, aside=aside, texts=(*texts, *_decided(view)), counts=_counts(view))


def _headline(e: RunReader, skill: SkillEstimate | None) -> tuple[str, str]:
    """Return the score that a reader knows best, and what stands beside it."""
    area, right = _score(e, AREA), _score(e, ACCURACY)
    if area is not None:
        words, what = estimate_words(area), "AUC"
    elif right is not None:
        words, what = share(right), "of rows decided rightly"
    elif skill is not None and skill.side > 0:
        words, what = skill.words, SHARE
    else:
        score = next((line for key in SCORE_NAMES if (line := _score(e, key)) is not None), None)
        words, what = (amount(score, "points"), "loss") if score is not None else ("", "")
    number, around = apart(words)
    return number, f"{what}{around}"


def _closed(skill: SkillEstimate) -> str:
    """Say what share of the baseline's loss the model removes or adds."""
    if skill.side > 0:
        return f"Removes {skill.words} of the loss of {BASELINE}."
    if skill.side < 0:
        return f"Adds {skill.words} to the loss of {BASELINE}."
    lower, _, upper = interval(100 * skill.lower, 100 * skill.upper).partition(" to ")
    return f"Not shown to lose less than {BASELINE}: it removes between {lower} and {upper} % of its loss."


def _losses(skill: SkillEstimate) -> str:
    """Return the score of the model beside that of the baseline."""
    called = SCORE_NAMES[skill.score.item]
    return f"Its loss ({called}) is {amount(skill.score, 'points')}; that of {BASELINE} {value_words(skill.baseline)}."


def _score(e: RunReader, item: str) -> ScoreLine | None:
    view = CalibrationView.find(e.run)
    return None if view is None else view.of(item)


def _decided(view: Decisions | None) -> tuple[str, ...]:
    """Say how the model decides; of many classes which it finds least."""
    if view is None:
        return ()
    rule = f"Decides for {clean(view.rule)}"
    recalls = [line for line in view.lines if line.item == "recall" and line.has_interval]
    if _counts(view) or not recalls:
        return (f"{rule}{':' if _counts(view) else '.'}",)
    least = min(recalls, key=lambda line: (line.upper, line.estimate))  # a class of few rows may be found by luck
    rows = f"{least.n} rows of “{name(least.label)}”"
    return (f"{rule}; of the {rows} it finds {share(least)}, by the upper end the least of all classes.",)


def _counts(view: Decisions | None) -> tuple[tuple[str, ...], ...]:
    """Return observed classes by what the model decided, with heads; none for many classes."""
    if view is None or not view.counts or len(view.classes) > MOST:
        return ()
    labels = [name(label) for label in view.classes]
    rows = zip(labels, view.counts, strict=True)
    return (
        ("observed", *(f"said {label}" for label in labels)),
        *((f"{round(sum(row))} {label}", *(f"{round(cell)}" for cell in row)) for label, row in rows),
    )


def believed(e: RunReader) -> str:
    """Return the answer in a word or two; never yes without a calibration that was tested and passed."""
    if e.gate.tone != "good":
        return HEADLINES[e.gate.tone]
    return PARTLY if _limit(e) is not None else YES


def _limit(e: RunReader) -> Finding | None:
    """Return the worst open finding that limits the uncertainty."""
    return next((f for f in e.findings if f.code in LIMITS and f.severity != "observation"), None)


def clause(e: RunReader) -> str:
    """Return the answer as a clause."""
    rows = "these rows" if e.subject.n is None else count(e.subject.n, "row")
    return {
        YES: "what it says of its own doubt holds on them",
        PARTLY: "what it says of its own doubt holds in part",
        OPEN: f"{rows} cannot tell whether its own doubt can be believed",
        UNTESTED: "whether its own doubt can be believed was not tested",
        NO: "what it says of its own doubt does not hold",
    }[believed(e)]


def belief(e: RunReader) -> Card:
    """Return the card: the answer, what it rests on, and what unseen rows confirm of the model's claims."""
    headline, n = believed(e), e.subject.n
    aside = f"on {count(n, 'row')}" if headline == OPEN and n is not None else ""
    texts = (_reason(e, headline), confirmed(e))
    return Card(title=BELIEF, headline=headline, aside=aside, texts=tuple(filter(None, texts)))


def _reason(e: RunReader, headline: str) -> str:
    """Say what the answer rests on."""
    view = CalibrationView.find(e.run)
    gap = None if view is None else view.of(CONFIDENCE_GAP)
    if view is None or gap is None or headline == UNTESTED:
        return sentence(e.gate.reason)
    if headline == NO:
        return _wrong(view, gap)
    differ, margin = f"Stated and real uncertainty differ by {_words(gap)}", e.gap_margin
    if headline == OPEN:
        return _undecided(view, gap, differ, margin)
    agree = f"{differ}, within ±{margin:g}." if isfinite(margin) else f"{differ}."
    limit = _limit(e)
    return agree if limit is None else f"{agree} But: {sentence(limit.title)} ({clean(limit.code, 20)})"


def _wrong(view: CalibrationView, gap: ScoreLine) -> str:
    """Say in which direction the uncertainty is wrong, as far as its interval tells."""
    if view.infinite_nll:
        return f"In {count(view.infinite_nll, 'row')} it gave what happened a probability of 0."
    events = f" {view.events_words}." if view.events_words else ""
    if gap.lower_90 > 0:
        return f"It is too sure: a row costs {_words(gap)} more than it states.{events}"
    if gap.upper_90 < 0:
        return f"It is not sure enough: a row costs {_words(gap, -1)} less than it states.{events}"
    return f"Outcomes do not follow its stated probabilities; the gap of {_words(gap)} has no clear direction."


def _undecided(view: CalibrationView, gap: ScoreLine, differ: str, margin: float) -> str:
    """Say what keeps the answer open, and how many rows would do where these are too few."""
    if not isfinite(margin) or max(-gap.lower_90, gap.upper_90) < margin:
        return f"{differ}."
    size = view.gap_size(margin)
    return f"{differ}; tolerance ±{margin:g}.{'' if size is None else f' {size.sentence}'}"


def _words(gap: ScoreLine, sign: int = 1) -> str:
    """Return the gap with its 90 % interval."""
    return scaled(gap.estimate, gap.lower_90, gap.upper_90, gap.unit, sign=sign)


def confirmed(e: RunReader) -> str:
    """Return what share of its claims unseen rows confirm; empty without an interval of it that is to be trusted."""
    view = Claims.find(e.run)
    if view is None:
        return ""
    claimed, whole = (by_feature(view.part(item)).get(ALL_FEATURES) for item in (CLAIMED, DIFFERENCE))
    if claimed is None or whole is None or whole.unreliable or isnan(whole.share_lower):
        return ""
    if claimed.estimate < view.margin:  # a share of next to nothing
        return ""
    share = value_words(100 * whole.share, 100 * whole.share_lower, 100 * whole.share_upper, "%")
    if whole.share_lower > 1:
        return f"Its features are worth more on unseen rows than the model claims: {share} of it."
    return f"Of what the model claims its features to be worth, unseen rows confirm {share}."
