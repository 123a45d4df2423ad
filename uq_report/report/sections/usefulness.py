"""Usefulness of the uncertainty: what referring the most uncertain observations saves, in words and a figure."""

from __future__ import annotations

from math import isnan

from ...core.support.numbers import number, value_words
from ...document.blocks import make_figure, make_section, paragraphs
from ...document.document import Block, Section
from ...document.text import joined, name, sentence, spaced
from ...evidence import ids, selective
from ...evidence.run import Run
from ...evidence.view import of_measure
from ...reading.run_reader import RunReader
from ...reading.sentences import is_share, percent, scaled


def referral_words(run: Run, kept: float = selective.KEPT) -> str:
    """Say what referring the most uncertain observations does to the loss of the others; empty without a curve.

    ``"Referring the 10% most uncertain observations lowers the error rate of the others from 23.5% to 20.9% (18.1 to
    24.0)."``
    """
    view, curve = selective.SelectiveView.find(run), selective.RiskCoverageView.find(run)
    line = None if curve is None else curve.at(kept)
    if view is None or curve is None or line is None:
        return ""
    whole = line.estimate + line.saved
    verb, open_ = _change(line)
    change = f"{verb} the {view.loss} of the others from {_size(whole, curve.unit)} to {_risk(line, curve)}{open_}"
    return f"Referring the {100 * (1 - kept):.0f}% most uncertain observations {change}."


def referred_words(run: Run, kept: float = selective.KEPT) -> str:
    """Say which observations are the most uncertain, and which share of all errors is theirs; empty without a curve.

    ``"The 10% most uncertain observations (expected error above 0.46) have 20% (16 to 25) of all errors, 10% by
    chance."``
    """
    view, curve = selective.SelectiveView.find(run), selective.RiskCoverageView.find(run)
    line = None if curve is None else curve.at(kept)
    if view is None or line is None or isnan(line.captured):
        return ""
    share, what = 100 * (1 - kept), "errors" if view.classes else "absolute error"
    which = f"{view.uncertainty.partition(' (')[0]} above {number(line.threshold)}"
    part = percent(line.captured, line.captured_lower, line.captured_upper)
    return f"The {share:.0f}% most uncertain observations ({which}) have {part} of all {what}, {share:.0f}% by chance."


def lowers_loss(run: Run, kept: float = selective.KEPT) -> bool:
    """Say whether referring the most uncertain observations is shown to lower the loss of the others."""
    curve = selective.RiskCoverageView.find(run)
    line = None if curve is None else curve.at(kept)
    return line is not None and line.saved_lower > 0


def _change(line: selective.RiskLine) -> tuple[str, str]:
    """Return the verb, and what is said of a change whose interval holds 0."""
    if line.saved_lower > 0:
        return "lowers", ""
    return ("raises", "") if line.saved_upper < 0 else ("changes", ", not established")


def _size(value: float, unit: str) -> str:
    return f"{100 * value:.1f}%" if is_share(unit) else number(value)


def _risk(line: selective.RiskLine, curve: selective.RiskCoverageView) -> str:
    return scaled(line.estimate, line.lower, line.upper, curve.unit, "%").replace(" units of the outcome", "")


def ordering_words(run: Run) -> str:
    """Return the one number of selective prediction with its interval; empty without one."""
    view = selective.SelectiveView.find(run)
    line = None if view is None else view.number
    if view is None or line is None:
        return ""
    if view.classes:
        return f"AUROC of failures {value_words(line.estimate, line.lower, line.upper)}, 0.5 by chance"
    return f"gain {percent(line.estimate, line.lower, line.upper)} of the largest possible, 0% by chance"


def group_words(run: Run) -> str:
    """Say which protected groups are referred most and least, and what the kept lose; empty without groups."""
    view, what = selective.SelectiveGroups.find(run), selective.SelectiveView.find(run)
    if view is None:
        return ""
    sentences = []
    for attribute in view.features:
        rates = [x for x in of_measure(view.lines, selective.REFERRAL_RATE) if x.feature == attribute]
        if len(rates) < 2:
            continue
        losses = {x.item: x for x in of_measure(view.lines, selective.KEPT_LOSS) if x.feature == attribute}
        ordered = sorted(rates, key=lambda x: -x.estimate)
        ends = (ordered[0], ordered[-1])
        shares = [f"{name(x.item)} {percent(x.estimate, x.lower, x.upper)}" for x in ends]
        kept = [scaled(y.estimate, y.lower, y.upper, y.unit, "%") for x in ends if (y := losses.get(x.item))]
        others = f"; {what.loss} of the others {joined(kept)}" if what is not None and len(kept) == len(ends) else ""
        sentences.append(f"Referred by {name(attribute)}: {joined(shares)}{others}.")
    return " ".join(sentences)


TITLE = "Usefulness of the uncertainty"
USEFUL, UNSHOWN, OPEN, UNTESTED = "Useful", "Not shown", "Inconclusive", "Not assessed"
HEADLINES = {"passed": USEFUL, "found": UNSHOWN, "ignored": UNSHOWN, "skipped": OPEN}


def verdict(e: RunReader) -> str:
    """Return the verdict of the card and of the section: useful only where the printed intervals agree."""
    ended = next((outcome for outcome in e.run.outcomes if outcome.check == ids.SELECTIVE), None)
    headline, view = (
        UNTESTED if ended is None else HEADLINES.get(ended.state, UNTESTED),
        selective.SelectiveView.find(e.run),
    )
    if headline != USEFUL or view is None:
        return headline
    # the check asks for a 90% CI of the order alone
    above = view.number is None or view.number.lower > 0.5 * view.classes
    return USEFUL if above and lowers_loss(e.run) else OPEN


def useful(e: RunReader) -> Section | None:
    """Return the sentences and the risk-coverage curve; None where selective prediction was not computed."""
    view, curve = selective.SelectiveView.find(e.run), selective.RiskCoverageView.find(e.run)
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
    ended = e.ended(ids.SELECTIVE)
    if ended is None or ended.state in ("passed", "found", "ignored"):
        return ""
    return f"Not judged: {sentence(ended.reason)}"
