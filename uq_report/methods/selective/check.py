"""Whether the uncertainty finds the errors: its order against the one that the model's own distributions imply."""

from dataclasses import dataclass
from math import isnan
from typing import ClassVar

from ...checks.family import Judge, NotJudgedError, Said, TableCheck, family, needed, require
from ...checks.reading import RuleOutcome
from ...checks.rule import Rule
from ...core.support import options as opt
from ...core.support.numbers import number, value_words
from ...core.support.text import count
from ...evidence import ids
from ...evidence.run import Run
from ...evidence.selective import SelectiveLine, SelectiveView
from ..shared.checks import about

UNORDERED = Rule.stated("UQ111")


def _unordered(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the gain in loss over a random order."""
    view = needed(SelectiveView, run)
    least, gain = rule.thresholds["errors"], view.gain
    if gain is None or view.errors < least:
        few = f"{count(view.errors, 'error')} among {view.n} observations; {least:g} are needed"
        raise NotJudgedError(few)
    require(not isnan(view.implied_gain), "the distributions give no expected loss")
    share = f"{100 * max(view.implied_share, 0.0):.1f}% of the largest possible gain"
    constant = f"the uncertainty is practically constant: it implies {share}"
    require(view.implied_share >= rule.thresholds["constant"], constant)
    observed = {"lower": gain.lower_90, "upper": gain.upper_90 / view.implied_gain, "power": view.power}
    observed |= {"errors": float(view.errors), "implied": view.implied_share}
    return family(
        rule,
        [gain],
        lambda _: observed,
        lambda x: _said(rule, view, x),
        undecided=lambda rest: [f"the order of the errors ({number_words(view)})" for x in rest if not x.lower_90 > 0],
        size=view.size,
        passed=f"The uncertainty finds errors better than chance: {number_words(view)}.",
    )


def number_words(view: SelectiveView) -> str:
    """Return the one number with its interval."""
    line = view.number
    if line is None:
        return "no error to be found"
    what = "AUROC of failures" if view.classes else "gain over a random order"
    return f"{what} {value_words(line.estimate, line.lower, line.upper, confidence=line.confidence)}"


def _said(rule: Rule, view: SelectiveView, gain: SelectiveLine) -> Said:
    ends = gain.estimate, gain.lower_90, gain.upper_90
    amount = value_words(*ends, confidence=0.9)
    return {
        "statement": f"Uncertain observations are not shown to be the wrong ones: {number_words(view)}. Ordering by "
        f"the {view.uncertainty} changes the {view.loss} by {amount} in rank form, where the model's own "
        f"distributions imply {number(view.implied_gain)}.",
        "remedy": "Do not refer cases by this uncertainty; look for another score on held-out observations.",
        **about(ends, ids.SELECTIVE, ids.SELECTIVE_CURVE, threshold=rule.thresholds["part"] * view.implied_gain),
    }


@dataclass(frozen=True)
class SelectiveCheck(TableCheck):
    """Judges whether the uncertainty orders the errors better than chance.

    UQ111 compares the gain in loss over a random order, by its 90% CI, with the gain that the model's own
    distributions imply. It is no verdict on calibration: over-confidence that keeps the order is not seen.

    Parameters
    ----------
    errors : int
        Observations with an error, below which nothing is judged.
    constant : float
        Share of the largest possible gain, below which an implied gain counts as none.
    part : float
        Share of the implied gain, below which the interval ends for a finding to be low.
    """

    errors: int = opt.positive(10)
    constant: float = opt.share(0.05)
    part: float = opt.share(0.5)

    name: ClassVar[str] = ids.SELECTIVE
    title: ClassVar[str] = "Selective prediction"
    table: ClassVar[tuple[Rule, ...]] = (UNORDERED,)
    judges: ClassVar[tuple[Judge, ...]] = (_unordered,)
