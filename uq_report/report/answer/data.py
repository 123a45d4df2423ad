"""The answer as plain data; as lines of text, for terminals; and as a small piece of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from ...document.document import Badge, Card, Step
from ...document.text import unmarked


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What the evidence supports, why, and what to do; names of features are marked in its texts.

    Parameters
    ----------
    recommendation : Badge
    because : str
        What is good and what limits it, in one sentence.
    rule : str
        By which line of the rule, and who decides.
    assumption : str
        What was laid over predictions that come without an uncertainty; empty where the model states its own.
    undecidable : str
        What cannot be judged and why; empty where nothing stands against it.
    cards : tuple of Card
        How good the model is, whether its uncertainty is calibrated, who is affected.
    drives : tuple of str
        What drives the prediction, the loss and the uncertainty.
    actions : tuple of Step
    foot : str
        Which run this is, and what was not tested.
    """

    recommendation: Badge
    because: str
    rule: str
    assumption: str
    undecidable: str
    cards: tuple[Card, ...]
    drives: tuple[str, ...]
    actions: tuple[Step, ...]
    foot: str

    def texts(self) -> Iterator[str]:
        """Yield every sentence, in reading order."""
        yield from (self.recommendation.text, self.because, self.rule, self.assumption, self.undecidable)
        for card in self.cards:
            yield from (card.title, _head(card), *card.texts)
            yield from (" ".join(row) for row in card.counts)
        yield from self.drives
        for step in self.actions:
            yield from (step.lead, step.text, step.aside)
        yield self.foot


def as_lines(answer: Conclusion) -> list[str]:
    """Return the answer in about ten lines."""
    lines = [f"{answer.recommendation.text}. {answer.because}", answer.assumption, answer.undecidable]
    lines += [f"{card.title} {_head(card)}." for card in answer.cards]
    lines += [f"{k}. {text}" for k, text in enumerate(answer.drives, 1)]
    lines += [f"To do: {step.lead}{_aside(step)}" for step in answer.actions]
    return [unmarked(line) for line in (*lines, answer.foot) if line]


def as_html(title: str, answer: Conclusion) -> str:
    """Return the answer as HTML without styles; every text from outside is escaped."""
    return "".join(_html(title, answer))


def _html(title: str, answer: Conclusion) -> Iterator[str]:
    yield f"<p><strong>{_escaped(title)}</strong></p>"
    yield f"<p><strong>{_escaped(answer.recommendation.text)}.</strong> {_escaped(answer.because)}</p>"
    yield from (f"<p>{_escaped(text)}</p>" for text in (answer.assumption, answer.undecidable) if text)
    yield _list("ul", [f"<b>{_escaped(card.title)}</b> {_escaped(_full(card))}" for card in answer.cards])
    yield _list("ol", [_escaped(text) for text in answer.drives])
    steps = answer.actions
    yield _list("ul", [f"<b>{_escaped(s.lead)}</b> {_escaped(s.text)}{_escaped(_aside(s))}" for s in steps])
    yield f"<p><small>{_escaped(answer.rule)} {_escaped(answer.foot)}</small></p>"


def _list(tag: str, items: list[str]) -> str:
    return f"<{tag}>{''.join(f'<li>{item}</li>' for item in items)}</{tag}>"


def _head(card: Card) -> str:
    return f"{card.headline} {card.aside}".strip()


def _aside(step: Step) -> str:
    return f" ({step.aside})" if step.aside else ""


def _full(card: Card) -> str:
    """Return a card's answer and its sentences; a sentence that leads to counts is for pages."""
    return " ".join([f"{_head(card)}.", *(text for text in card.texts if not text.endswith(":"))])


def _escaped(text: str) -> str:
    return escape(unmarked(text))
