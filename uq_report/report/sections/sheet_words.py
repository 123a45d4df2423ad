"""The reading of a feature's sheet in two or three sentences, each only as far as its evidence goes."""

from __future__ import annotations

from ...document.effects import FALLS, RISES, Move, curve, move
from ...document.ledger import Ledger
from ...document.telling import mark
from ...document.text import interval, joined, mentions, value_words
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE

FEW = 2  # partners named


def reading(ledger: Ledger, feature: str) -> str:
    """Return what the feature does to the prediction and the doubt, what wrong values cost, and who covers it.

    Intervals stand in the table and in the figure; here numbers are rounded to them.
    """
    return " ".join(filter(None, (effect(ledger, feature), cost(ledger, feature), cover(ledger, feature))))


def effect(ledger: Ledger, feature: str) -> str:
    """Say how the average prediction moves along a feature, and whether the doubt moves with it."""
    measure = ledger.measures.get("prediction")
    points = curve(ledger.average, measure or "", feature)
    if measure is None or points.empty:
        return ""
    unit = ledger.e.words(measure).unit
    found = move(points)
    if found is None:
        return f"The prediction has no clear direction{_doubt_alone(ledger, feature)}."
    what = f"predicted {unit}" if unit.startswith("probability") else "prediction"
    return f"The {what} {_moves(found, unit)}{_doubt(ledger, feature, found)}."


def _moves(found: Move, unit: str) -> str:
    one, other = found.ends
    start, end = rounded(one.estimate, one.lower, one.upper, unit), rounded(other.estimate, other.lower, other.upper)
    at = "for" if found.levels else "at"
    if found.direction in (RISES, FALLS):
        verb = "rises" if found.direction == RISES else "falls"
        return f"{verb} from {start} at {one.where} to {end} at {other.where}"
    return f"is lowest {at} {one.where} ({start}) and highest {at} {other.where} ({end})"


def _doubt(ledger: Ledger, feature: str, found: Move) -> str:
    """Say how the doubt moves where the prediction does."""
    measure = ledger.measures.get("uncertainty", "")
    points = curve(ledger.average, measure, feature)
    if points.empty:
        return ""
    unit, own = ledger.e.words(measure).unit, move(points)
    if own is None:
        return "; the model's doubt has no clear direction"
    ends = [rounded(one.estimate, one.lower, one.upper) for one in own.ends]
    span = " to ".join(filter(None, (ends[0], f"{ends[1]} {unit}".strip())))
    if own.direction and own.direction == found.direction:
        return f", and so does the model's doubt ({span})"
    if own.direction and own.direction == -found.direction:
        return f", while the model's doubt {'rises' if own.direction == RISES else 'falls'} ({span})"
    return (
        f"; the model's doubt is highest {'for' if own.levels else 'at'} {own.high.where} ({ends[_last(own)]} {unit})"
    )


def _last(own: Move) -> int:
    """Return which of the two ends is the highest."""
    return 0 if own.direction == FALLS else 1


def _doubt_alone(ledger: Ledger, feature: str) -> str:
    """Say how the doubt moves where the prediction does not."""
    measure = ledger.measures.get("uncertainty", "")
    points = curve(ledger.average, measure, feature)
    if points.empty:
        return ""
    own = move(points)
    if own is None:
        return ", nor has the model's doubt"
    return f"; the model's doubt {_moves(own, ledger.e.words(measure).unit)}"


def cost(ledger: Ledger, feature: str) -> str:
    """Say what wrong values cost on unseen rows, against what the model claims, and whether its doubt notices."""
    line = ledger.losses.get(feature)
    if line is None or ledger.loss is None or ledger.loss.sign < 0:
        return ""
    unit = ledger.loss.unit
    value = rounded(line.estimate, line.lower, line.upper, unit)
    if line.verdict == POSITIVE:
        return f"Wrong values cost {value} on unseen rows{_claim(ledger, feature)}{_noticed(ledger, feature)}."
    if line.verdict == NEGATIVE:
        less = rounded(-line.estimate, line.lower, line.upper, unit)
        return f"Wrong values lower the loss on unseen rows by {less}{_doubted(ledger, feature)}."
    if line.verdict == ABOUT_0:
        return f"Wrong values cost about nothing on unseen rows ({value}){_doubted(ledger, feature)}."
    ends = interval(line.lower, line.upper)
    between = f" ({f'{ends} {unit}'.strip()}){mark(line)}" if ends else ""
    return f"What wrong values cost on unseen rows is open{between}{_doubted(ledger, feature)}."


def _claim(ledger: Ledger, feature: str) -> str:
    """Compare a cost that is shown with what the model claims."""
    said, side = _claimed(ledger, feature)
    if not said or not side:
        return f", against {said} claimed" if said else ""
    return f", {'less' if side > 0 else 'more'} than the {said} the model claims"


def _doubted(ledger: Ledger, feature: str) -> str:
    """Say what the model claims where no cost is shown, if it claims more than unseen rows confirm."""
    said, side = _claimed(ledger, feature)
    return f", though the model claims {said}" if side > 0 else ""


def _claimed(ledger: Ledger, feature: str) -> tuple[str, int]:
    """Return what the model claims, and 1 where that is shown to be too much, -1 too little, else 0."""
    claimed, excess = ledger.claimed.get(feature), ledger.excess.get(feature)
    if claimed is None or excess is None:
        return "", 0
    said = rounded(claimed.estimate, claimed.lower, claimed.upper)
    if excess.distrust or not excess.has_interval:
        return said, 0
    return said, int(excess.lower > 0) - int(excess.upper < 0)


def _noticed(ledger: Ledger, feature: str) -> str:
    """Say whether the doubt rises with a loss that does; nothing where that cannot be told."""
    line = ledger.doubts.get(feature)
    if line is None or ledger.doubt is None or ledger.doubt.sign < 0:
        return ""
    size = rounded(abs(line.estimate), line.lower, line.upper, ledger.doubt.unit)
    return {
        ABOUT_0: ", but the doubt hardly changes then",
        POSITIVE: f", and the doubt then rises by {size}",
        NEGATIVE: f", yet the doubt then falls by {size}",
    }.get(line.verdict, "")


def cover(ledger: Ledger, feature: str) -> str:
    """Say what others hide of a feature, where that is shown."""
    line = ledger.covered.get(feature)
    others = ledger.partners.get(feature, ())
    if line is None or line.distrust or not others or ledger.loss is None:
        return ""
    if not line.change_lower > 0 or line.change < line.margin:
        return ""
    more = rounded(line.change, line.change_lower, line.change_upper, ledger.loss.unit)
    return f"Where {joined(mentions(others), FEW)} cannot stand in for it, wrong values cost {more} more."


def rounded(estimate: float, lower: float, upper: float, unit: str = "") -> str:
    """Return an estimate rounded to its interval, without the interval.

    Examples
    --------
    >>> rounded(0.03674, 0.00079, 0.0726, "nats")
    '0.037 nats'
    """
    return value_words(estimate, lower, upper, unit).partition(" (")[0]
