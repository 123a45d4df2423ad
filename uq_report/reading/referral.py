"""Sentences on selective prediction: what referring the most uncertain observations saves, for page 1 and sections."""

from __future__ import annotations

from math import isnan

from ..core.support.numbers import number, value_words
from ..document.text import joined, name
from ..evidence.run import Run
from ..evidence.selective import (
    KEPT,
    KEPT_LOSS,
    REFERRAL_RATE,
    RiskCoverageView,
    RiskLine,
    SelectiveGroups,
    SelectiveView,
)
from ..evidence.view import of_measure
from .sentences import is_share, percent, scaled


def referral_words(run: Run, kept: float = KEPT) -> str:
    """Say what referring the most uncertain observations does to the loss of the others; empty without a curve.

    ``"Referring the 10% most uncertain observations lowers the error rate of the others from 23.5% to 20.9% (18.1 to
    24.0)."``
    """
    view, curve = SelectiveView.find(run), RiskCoverageView.find(run)
    line = None if curve is None else curve.at(kept)
    if view is None or curve is None or line is None:
        return ""
    whole = line.estimate + line.saved
    verb, open_ = _change(line)
    change = f"{verb} the {view.loss} of the others from {_size(whole, curve.unit)} to {_risk(line, curve)}{open_}"
    return f"Referring the {100 * (1 - kept):.0f}% most uncertain observations {change}."


def referred_words(run: Run, kept: float = KEPT) -> str:
    """Say which observations are the most uncertain, and which share of all errors is theirs; empty without a curve.

    ``"The 10% most uncertain observations (expected error above 0.46) have 20% (16 to 25) of all errors, 10% by
    chance."``
    """
    view, curve = SelectiveView.find(run), RiskCoverageView.find(run)
    line = None if curve is None else curve.at(kept)
    if view is None or line is None or isnan(line.captured):
        return ""
    share, what = 100 * (1 - kept), "errors" if view.classes else "absolute error"
    which = f"{view.uncertainty.partition(' (')[0]} above {number(line.threshold)}"
    part = percent(line.captured, line.captured_lower, line.captured_upper)
    return f"The {share:.0f}% most uncertain observations ({which}) have {part} of all {what}, {share:.0f}% by chance."


def lowers_loss(run: Run, kept: float = KEPT) -> bool:
    """Say whether referring the most uncertain observations is shown to lower the loss of the others."""
    curve = RiskCoverageView.find(run)
    line = None if curve is None else curve.at(kept)
    return line is not None and line.saved_lower > 0


def _change(line: RiskLine) -> tuple[str, str]:
    """Return the verb, and what is said of a change whose interval holds 0."""
    if line.saved_lower > 0:
        return "lowers", ""
    return ("raises", "") if line.saved_upper < 0 else ("changes", ", not established")


def _size(value: float, unit: str) -> str:
    return f"{100 * value:.1f}%" if is_share(unit) else number(value)


def _risk(line: RiskLine, curve: RiskCoverageView) -> str:
    return scaled(line.estimate, line.lower, line.upper, curve.unit, "%").replace(" units of the outcome", "")


def ordering_words(run: Run) -> str:
    """Return the one number of selective prediction with its interval; empty without one."""
    view = SelectiveView.find(run)
    line = None if view is None else view.number
    if view is None or line is None:
        return ""
    if view.classes:
        return f"AUROC of failures {value_words(line.estimate, line.lower, line.upper)}, 0.5 by chance"
    return f"gain {percent(line.estimate, line.lower, line.upper)} of the largest possible, 0% by chance"


def group_words(run: Run) -> str:
    """Say which protected groups are referred most and least, and what the kept lose; empty without groups."""
    view, what = SelectiveGroups.find(run), SelectiveView.find(run)
    if view is None:
        return ""
    sentences = []
    for attribute in view.features:
        rates = [x for x in of_measure(view.lines, REFERRAL_RATE) if x.feature == attribute]
        if len(rates) < 2:
            continue
        losses = {x.item: x for x in of_measure(view.lines, KEPT_LOSS) if x.feature == attribute}
        ordered = sorted(rates, key=lambda x: -x.estimate)
        ends = (ordered[0], ordered[-1])
        shares = [f"{name(x.item)} {percent(x.estimate, x.lower, x.upper)}" for x in ends]
        kept = [scaled(y.estimate, y.lower, y.upper, y.unit, "%") for x in ends if (y := losses.get(x.item))]
        others = f"; {what.loss} of the others {joined(kept)}" if what is not None and len(kept) == len(ends) else ""
        sentences.append(f"Referred by {name(attribute)}: {joined(shares)}{others}.")
    return " ".join(sentences)
