"""The answer as lines of text, for terminals, and as a small piece of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ...document.document import Card, Step
from ...document.text import unmarked
from .data import Answer


def as_lines(answer: Answer) -> list[str]:
    """Return the answer in about ten lines."""
    told = [f"{answer.recommendation.text}. {answer.because}", answer.unjudged]
    told += [f"{card.title} {_head(card)}." for card in answer.cards]
    told += [f"{k}. {text}" for k, text in enumerate(answer.drives, 1)]
    told += [f"To do: {step.lead} ({step.aside})" if step.aside else f"To do: {step.lead}" for step in answer.actions]
    return [unmarked(line) for line in (*told, answer.foot) if line]


def as_html(title: str, answer: Answer) -> str:
    """Return the answer as HTML without styles; every text from outside is escaped."""
    return "".join(_html(title, answer))


def _html(title: str, answer: Answer) -> Iterator[str]:
    yield f"<p><strong>{_escaped(title)}</strong></p>"
    yield f"<p><strong>{_escaped(answer.recommendation.text)}.</strong> {_escaped(answer.because)}</p>"
    yield from (f"<p>{_escaped(text)}</p>" for text in (answer.unjudged,) if text)
    yield _list("ul", [f"<b>{_escaped(card.title)}</b> {_escaped(_full(card))}" for card in answer.cards])
    yield _list("ol", [_escaped(text) for text in answer.drives])
    yield _list("ul", [_todo(step) for step in answer.actions])
    yield f"<p><small>{_escaped(answer.rule)} {_escaped(answer.foot)}</small></p>"


def _todo(step: Step) -> str:
    aside = f" ({_escaped(step.aside)})" if step.aside else ""
    return f"<b>{_escaped(step.lead)}</b> {_escaped(step.text)}{aside}"


def _list(tag: str, items: list[str]) -> str:
    return f"<{tag}>{''.join(f'<li>{item}</li>' for item in items)}</{tag}>"


def _head(card: Card) -> str:
    return f"{card.headline} {card.aside}".strip()


def _full(card: Card) -> str:
    """Return a card's answer and its sentences; a sentence that leads to counts is for pages."""
    return " ".join([f"{_head(card)}.", *(text for text in card.texts if not text.endswith(":"))])


def _escaped(text: str) -> str:
    return escape(unmarked(text))
