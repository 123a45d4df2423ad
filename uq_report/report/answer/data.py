"""The answer as plain data, whatever shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...document.document import Badge, Card, Step


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the evidence supports, why, and what to do; names of features are marked in its texts.

    Parameters
    ----------
    recommendation : Badge
    because : str
        What is good and what limits it, in one sentence.
    rule : str
        By which line of the rule, and who decides.
    unjudged : str
        What cannot be judged and why; empty where nothing stands against it.
    cards : tuple of Card
        How good the model is, whether its doubt can be believed, who is affected.
    drives : tuple of str
        What drives the prediction, the loss and the doubt.
    actions : tuple of Step
    foot : str
        Which run this is, and what was not tested.
    """

    recommendation: Badge
    because: str
    rule: str
    unjudged: str
    cards: tuple[Card, ...]
    drives: tuple[str, ...]
    actions: tuple[Step, ...]
    foot: str

    def texts(self) -> Iterator[str]:
        """Yield every sentence, in reading order."""
        yield from (self.recommendation.text, self.because, self.rule, self.unjudged)
        for card in self.cards:
            yield from (card.title, f"{card.headline} {card.aside}".strip(), *card.texts)
            yield from (" ".join(row) for row in card.counts)
        yield from self.drives
        for step in self.actions:
            yield from (step.lead, step.text, step.aside)
        yield self.foot
