"""How good the model is: its skill against a baseline without features, its score, and its decisions."""

from __future__ import annotations

from typing import NamedTuple

from ...document.amounts import apart, percent, scaled, unbracketed
from ...document.document import Card
from ...document.evidence import Evidence
from ...document.text import clean, interval, name, sentence, value_words
from ...evidence.outcomes import LOG_SCORE, Calibration, Decisions, ScoreLine

TITLE = "How good is it?"
SCORES = {LOG_SCORE: "log score", "brier": "Brier score", "crps": "CRPS"}  # the first with a skill is shown
AREA, ACCURACY = "roc_auc", "accuracy"
SHOWN = (AREA, ACCURACY, *SCORES)  # what the card can show
CHANCE = 0.5  # area of a model that orders no better than chance
MOST = 3  # classes whose decisions are counted
BASELINE = "a baseline that ignores the features"


class Skill(NamedTuple):
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


def skill_of(e: Evidence) -> Skill | None:
    """Return the skill of the first score that has a baseline."""
    for score in SCORES:
        own, line, base = (_score(e, f"{score}{end}") for end in ("", "_skill", "_baseline"))
        if own is not None and line is not None and base is not None and base.estimate > 0 and line.has_interval:
            of = base.estimate
            return Skill(line.estimate / of, line.lower / of, line.upper / of, own, of)
    return None


def good(e: Evidence) -> tuple[str, int]:
    """Return what is shown of the model's skill as a clause, and its side: 1 better than the baseline, -1 worse."""
    skill = skill_of(e)
    if skill is None:
        why = "" if e.subject.has_y else ", because no outcomes were given"
        how = "tested" if not any(_score(e, item) for item in SHOWN) else "compared with a baseline"
        return f"How good the model is was not {how}{why}", 0
    words = {1: "predicts unseen rows better than", -1: "predicts unseen rows worse than"}
    told = f"It {words.get(skill.side, 'is not shown to predict unseen rows better than')} {BASELINE}"
    area = _score(e, AREA)
    if area is None:
        loss = unbracketed(skill.words)
        return (
            f"{told} (loss {'lower' if skill.side > 0 else 'higher'} by {loss})" if skill.side else told
        ), skill.side
    within = f"AUC {unbracketed(value_words(area.estimate, area.lower, area.upper))}"
    orders = "though it orders them better than chance " if skill.side < 1 and area.lower > CHANCE else ""
    return f"{told}{', ' if orders else ' '}{orders}({within})", skill.side


def performance(e: Evidence) -> Card:
    """Return the card on skill, score and decisions."""
    skill, view = skill_of(e), Decisions.find(e.run)
    headline, aside = _headline(e, skill)
    if not headline:
        why = e.why_missing(Calibration.id) if e.subject.has_y else "No outcomes were given to compare with."
        return Card(title=TITLE, headline="Not tested", texts=(sentence(why),))
    shown = aside.startswith(_SHARE)
    texts = ((_losses if shown else _closed)(skill),) if skill is not None else ()
    return Card(title=TITLE, headline=headline, aside=aside, texts=(*texts, *_decided(view)), counts=_counts(view))


_SHARE = "of the baseline's loss removed"


def _headline(e: Evidence, skill: Skill | None) -> tuple[str, str]:
    """Return the score that a reader knows best, and what stands beside it."""
    area, right = _score(e, AREA), _score(e, ACCURACY)
    if area is not None:
        return _beside(value_words(area.estimate, area.lower, area.upper), "AUC")
    if right is not None:
        return _beside(percent(right.estimate, right.lower, right.upper), "of rows decided rightly")
    if skill is not None and skill.side > 0:
        return _beside(skill.words, _SHARE)
    score = next((line for key in SCORES if (line := _score(e, key)) is not None), None)
    return _beside(_amount(score), "loss") if score is not None else ("", "")


def _beside(words: str, what: str) -> tuple[str, str]:
    """Return a number, and its name with its interval."""
    number, around = apart(words)
    return number, f"{what}{around}"


def _amount(score: ScoreLine) -> str:
    return scaled(score.estimate, score.lower, score.upper, score.unit)


def _closed(skill: Skill) -> str:
    """Say what share of the baseline's loss the model removes or adds."""
    if skill.side > 0:
        return f"Removes {skill.words} of the loss of {BASELINE}."
    if skill.side < 0:
        return f"Adds {skill.words} to the loss of {BASELINE}."
    lower, _, upper = interval(100 * skill.lower, 100 * skill.upper).partition(" to ")
    return f"Not shown to lose less than {BASELINE}: it removes between {lower} and {upper} % of its loss."


def _losses(skill: Skill) -> str:
    """Return the score of the model beside that of the baseline."""
    called = SCORES[skill.score.item]
    return f"Its loss ({called}) is {_amount(skill.score)}; that of {BASELINE} {value_words(skill.baseline)}."


def _score(e: Evidence, item: str) -> ScoreLine | None:
    view = Calibration.find(e.run)
    return None if view is None else view.of(item)


def _decided(view: Decisions | None) -> tuple[str, ...]:
    """Say how the model decides; of many classes which it finds least."""
    if view is None:
        return ()
    rule = f"Decides for {clean(view.rule)}"
    found = [line for line in view.lines if line.item == "recall" and line.has_interval]
    if _counts(view) or not found:
        return (f"{rule}{':' if _counts(view) else '.'}",)
    least = min(found, key=lambda line: line.estimate)
    words = percent(least.estimate, least.lower, least.upper)
    return (f"{rule}; of the {least.n} rows of “{name(least.label)}” it finds {words}, the least of all classes.",)


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
