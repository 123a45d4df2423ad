"""The card of page 1 on the usefulness of the uncertainty: whether referring uncertain cases removes errors."""

from __future__ import annotations

from ...document.document import Card
from ...document.text import sentence
from ...evidence import ids
from ...reading.referral import ordering_words, referral_words
from ...reading.run_reader import RunReader
from ..sections.usefulness import TITLE, UNTESTED, verdict


def usefulness(e: RunReader) -> Card:
    """Return the card: the verdict, the one number beside it, and what referring the 10% most uncertain does."""
    ended = next((outcome for outcome in e.run.outcomes if outcome.check == ids.SELECTIVE), None)
    headline = verdict(e)
    words = referral_words(e.run, brief=True)
    why = "" if ended is None or headline != UNTESTED else sentence(ended.reason)
    missing = "" if words or why else e.why_missing(ids.SELECTIVE)
    texts = tuple(filter(None, (words, why, missing)))
    return Card(title=TITLE, headline=headline, aside=ordering_words(e.run), texts=texts)
