"""Usefulness of the uncertainty: what referring the most uncertain observations saves, in words and a figure."""

from __future__ import annotations

from ...document.blocks import make_figure, make_section, paragraphs
from ...document.document import Block, Section
from ...document.text import sentence, spaced
from ...evidence import ids
from ...evidence.selective import RiskCoverageView, SelectiveView
from ...reading.referral import group_words, lowers_loss, referral_words, referred_words
from ...reading.run_reader import RunReader

TITLE = "Usefulness of the uncertainty"
USEFUL, UNSHOWN, OPEN, UNTESTED = "Useful", "Not shown", "Inconclusive", "Not assessed"
HEADLINES = {"passed": USEFUL, "found": UNSHOWN, "ignored": UNSHOWN, "skipped": OPEN}


def verdict(e: RunReader) -> str:
    """Return the verdict of the card and of the section: useful only where the printed intervals agree."""
    ended = next((outcome for outcome in e.run.outcomes if outcome.check == ids.SELECTIVE), None)
    headline, view = UNTESTED if ended is None else HEADLINES.get(ended.state, UNTESTED), SelectiveView.find(e.run)
    if headline != USEFUL or view is None:
        return headline
    # the check asks for a 90% CI of the order alone
    above = view.number is None or view.number.lower > 0.5 * view.classes
    return USEFUL if above and lowers_loss(e.run) else OPEN


def useful(e: RunReader) -> Section | None:
    """Return the sentences and the risk-coverage curve; None where selective prediction was not computed."""
    view, curve = SelectiveView.find(e.run), RiskCoverageView.find(e.run)
    if view is None or curve is None:
        return None
    lead = spaced(f"{verdict(e)}. The uncertainty is the {view.uncertainty}.", referred_words(e.run))
    blocks: tuple[Block, ...] = paragraphs(lead, spaced(verdict_words(e), group_words(e.run)))
    if curve.lines:
        caption = f"{curve.loss.capitalize()} of the observations kept, the most uncertain referred first."
        alt = f"The {curve.loss} of the kept observations by the share kept. {referral_words(e.run)}"
        figure = make_figure("sure-selective", caption, alt, lambda: e.draw(curve.result), curve.id)
        blocks = (*blocks, figure)
    return make_section("sure-useful", TITLE, blocks)


def verdict_words(e: RunReader) -> str:
    """Say how the check ended where it neither passed nor found anything; empty otherwise."""
    ended = next((outcome for outcome in e.run.outcomes if outcome.check == ids.SELECTIVE), None)
    if ended is None or ended.state in ("passed", "found", "ignored"):
        return ""
    return f"Not judged: {sentence(ended.reason)}"
