"""The card of page 1 on the usefulness of the uncertainty: whether referring uncertain cases removes errors."""

from __future__ import annotations

from ...document.document import Card
from ...document.text import sentence
from ...evidence import ids
from ...evidence.selective import SelectiveView
from ...reading.referral import ordering_words, referral_words
from ...reading.run_reader import RunReader
from ..sections.usefulness import TITLE

USEFUL, UNSHOWN, OPEN, UNTESTED = "Useful", "Not shown", "Inconclusive", "Not assessed"
HEADLINES = {"passed": USEFUL, "found": UNSHOWN, "ignored": UNSHOWN, "skipped": OPEN}


def usefulness(e: RunReader) -> Card:
    """Return the card: the verdict, the one number beside it, and what referring the 10 % most uncertain does."""
    ended = next((outcome for outcome in e.run.outcomes if outcome.check == ids.SELECTIVE), None)
    headline = UNTESTED if ended is None else HEADLINES.get(ended.state, UNTESTED)
    view = SelectiveView.find(e.run)
    if headline == USEFUL and view is not None and view.number is not None and view.number.lower <= 0.5 * view.classes:
        headline = OPEN  # the check asks for a 90 % interval, the card prints that of the run
    words = referral_words(e.run)
    why = "" if ended is None or headline != UNTESTED else sentence(ended.reason)
    missing = "" if words or why else e.why_missing(ids.SELECTIVE)
    texts = tuple(filter(None, (words, why, missing)))
    return Card(title=TITLE, headline=headline, aside=ordering_words(e.run), texts=texts)
