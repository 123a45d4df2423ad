"""Segments: where the model is over-confident, where its uncertainty is concentrated, where predictions are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan, sqrt
from typing import ClassVar, NamedTuple

from ...checks.family import Judge, Said, TableCheck, family, needed, require
from ...checks.reading import RuleOutcome, listed, size_beyond
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, NLL
from ...core.model.sampling import t_quantile
from ...core.statistics.verdicts import holm, one_sided
from ...core.support import options as opt
from ...core.support.numbers import number, share_words, value_words
from ...core.support.text import short
from ...evidence import ids, segments as facts
from ...evidence.finding import Symptom
from ...evidence.outcomes import CONFIDENCE_GAP
from ...evidence.run import Run
from ...evidence.segments import ResidualLine, SegmentFeatures, SegmentLine, SegmentResiduals, SegmentsView
from ...evidence.view import of_measure
from ..shared.checks import about, wrong_level

OVERSURE, CONCENTRATED, WRONG_MEAN = "UQ121", "UQ122", "UQ123"
NATS = "nats"

OVER_CONFIDENT = Rule.stated(OVERSURE)
UNCERTAIN = Rule.stated(CONCENTRATED)
MISPREDICTED = Rule.stated(WRONG_MEAN)


def _oversure(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the loss beyond what the model expects, segment by segment."""
    view = needed(SegmentsView, run)
    lines = [x for x in view.tested() if x.measure in (CONFIDENCE_GAP, facts.EXCESS_LOSS)]
    require(lines, "no segment has a loss and the loss that the model expects")
    limits = {
        CONFIDENCE_GAP: rule.thresholds["margin"],
        facts.EXCESS_LOSS: rule.thresholds["loss"] * (view.usual_loss or 0.0),
    }
    margins = {x.segment: limits[x.measure] for x in lines}
    # the larger of two one-sided p-values: of a mean above the margin, and of one above that of the rest
    own = [one_sided(x.estimate - margins[x.segment], x.std_error, x.units - 1) for x in lines]
    more = [one_sided(x.difference, x.difference_std_error, x.freedom) for x in lines]
    return family(
        rule,
        lines,
        lambda x: _beyond(rule, x, margins[x.segment]),
        lambda x: _surer(x, margins[x.segment], view, run),
        p_values=[*map(max, own, more)],
        undecided=lambda rest: [x.item for x in rest if x.upper > margins[x.segment] and x.difference > 0],
        size=size_beyond(run, [(x.std_error, margins[x.segment]) for x in lines]),
        because="the interval of the loss beyond what the model expects reaches beyond the margin",
        passed=f"In none of {len(lines)} segments is the model shown to be over-confident.",
    )


def _beyond(rule: Rule, line: SegmentLine, margin: float) -> dict[str, float]:
    """Return the lower end of the interval, in margins, and the share of the rows; nothing where the margin is 0."""
    if not margin > 0:
        return {}
    name = "margin" if line.measure == CONFIDENCE_GAP else "loss"
    times = line.lower / margin
    return {"times": times, "share": line.share, name: times * rule.thresholds[name]}


def _surer(line: SegmentLine, margin: float, view: SegmentsView, run: Run) -> Said:
    own, more = _numbers(line)
    return {
        "statement": f"{_where(line)} the loss exceeds the model's expectation by {own}, and by {more} more "
        f"than for the other {line.n_rest} observations.{_closest(line, run)}",
        "remedy": f"Check these {line.n} observations for wrong labels and missing features.",
        "measures": (NLL.name, ENTROPY.name) if line.measure == CONFIDENCE_GAP else (line.measure,),
        "threshold": margin,
        **_about(line, view),
    }


def _numbers(line: SegmentLine) -> tuple[str, str]:
    """Return the mean of a segment and its difference to the rest, in words."""
    own = value_words(line.estimate, line.lower, line.upper, line.unit, confidence=line.confidence)
    return own, value_words(line.difference, line.difference_lower, line.difference_upper, line.unit)


def _about(line: SegmentLine, view: SegmentsView) -> Said:
    rows, features = f"{line.n} of {line.n + line.n_rest} observations", tuple(view.made_of.get(line.segment, ()))
    return about(line, ids.SEGMENTS, ids.SEGMENTS_FEATURES, features=features, affected=rows)


def _where(line: SegmentLine) -> str:
    """Name a segment with its rows, as a sentence begins."""
    return f"For {line.item} ({line.n} of the {line.n + line.n_rest} observations not used to define it)"


def _closest(line: SegmentLine, run: Run) -> str:
    """Say which feature's exchange brings the segment closest to the rest; empty if none is shown to."""
    view = SegmentFeatures.find(run)
    found = None if view is None else view.leading(line.segment, line.measure)
    if found is None:
        return ""
    change = f"{value_words(found.before)} to {value_words(found.after, unit=line.unit)}"
    return (
        f" Of all features, permuting {short(found.feature)} reduces the difference to the others most: from {change}."
    )


def _concentrated(rule: Rule, run: Run) -> RuleOutcome:
    """Name, for each measure of uncertainty, the segment of the largest mean that is far enough from the rest."""
    view = needed(SegmentsView, run)
    lines = [x for x in view.tested() if x.measure in view.uncertainty and x.segment != facts.OFF_SUPPORT]
    require(lines, "no measure of uncertainty divides the observations into segments")
    return family(
        rule,
        sorted(lines, key=lambda line: -line.difference),
        lambda x: _far(view, x),
        lambda first, *_: _unsure(rule, first, view, run),
        by=lambda x: x.measure,
        passed=f"In none of {len(lines)} segments is the uncertainty much higher than elsewhere.",
    )


def _far(view: SegmentsView, line: SegmentLine) -> dict[str, float]:
    """Return the lower end of the difference, in nats or as a share of the mean over all rows."""
    means = (x.estimate for x in of_measure(view.lines, line.measure) if x.segment == facts.ALL_ROWS)
    name, scale = ("entropy", 1.0) if line.unit == NATS else ("spread", next(means, 0.0))
    lower = line.difference_lower / scale if scale > 0 and not isnan(line.difference_lower) else line.difference
    return {"p_adjusted": line.p_adjusted, name: lower}


def _unsure(rule: Rule, line: SegmentLine, view: SegmentsView, run: Run) -> Said:
    own, more = _numbers(line)
    title = view.result.measures[line.measure].title if line.measure in view.result.measures else line.measure
    return {
        "statement": f"{_where(line)} the uncertainty is higher: {title} {own}, {more} more than for the other "
        f"{line.n_rest} observations.{_closest(line, run)}",
        "remedy": "Decide whether these observations need a human decision, or more data.",
        "measures": (line.measure,),
        "threshold": rule.thresholds["entropy" if line.unit == NATS else "spread"],
        **_about(line, view),
    }


class Offset(NamedTuple):
    """A segment's mean residual with its p-values beyond both margins, adjusted over segments and classes."""

    line: ResidualLine
    features: tuple[str, ...]
    p_adjusted: float
    p_small: float

    def numbers(self, margin: float) -> dict[str, float]:
        """Return the numbers that the rule judges; sizes are halves of squares."""
        line = self.line
        least = max(abs(line.estimate) - t_quantile(0.95, line.units - 1) * line.std_error, 0.0)
        sizes = {"nats": line.estimate**2 / 2, "times": least**2 / 2 / margin}
        return {"p_adjusted": self.p_adjusted, "p_small": self.p_small, **sizes}

    def like(self, other: Offset) -> bool:
        """Say whether another segment is about the same class and direction, and shares a feature: one finding."""
        same = self.line.level == other.line.level and (self.line.estimate > 0) == (other.line.estimate > 0)
        return same and bool({*self.features} & {*other.features})


def _mispredicted(rule: Rule, run: Run) -> RuleOutcome:
    """Judge outcome minus prediction, segment by segment."""
    view = needed(SegmentResiduals, run)
    require(view.lines, "; ".join(dict.fromkeys(gap.reason for gap in view.omissions)) or "no tree has a second leaf")
    margin, small = rule.thresholds["margin"], rule.thresholds["small"]
    adjusted = [holm([_p_offset(x, sqrt(2 * nats)) for x in view.lines]).tolist() for nats in (margin, small)]
    made_of = [tuple(view.made_of.get(x.segment, ())) for x in view.lines]
    tests = [Offset(*parts) for parts in zip(view.lines, made_of, *adjusted, strict=True)]
    tests.sort(key=lambda x: -abs(x.line.estimate))
    return family(
        rule,
        tests,
        lambda x: x.numbers(margin),
        lambda *raised: _wrong_on_average(rule, raised, level=bool(wrong_level(run))),
        by=lambda x: next(k for k, other in enumerate(tests) if x is other or x.like(other)),
        undecided=lambda rest: [x.line.item for x in rest if x.line.estimate**2 / 2 > margin],
        because="outcome minus prediction is beyond the margin, but not beyond chance",
        passed=f"In none of {len(tests)} segments are predictions shown to be wrong on average.",
    )


def _p_offset(line: ResidualLine, margin: float) -> float:
    """Return the larger p-value of a mean residual within the margin, and of one no further from 0 than the others'."""
    size, side = abs(line.estimate), 1 if line.estimate > 0 else -1
    own = sum(one_sided(size + end, line.std_error, line.units - 1) for end in (-margin, margin))
    return max(min(own, 1.0), one_sided(side * line.difference, line.difference_std_error, line.freedom))


def _wrong_on_average(rule: Rule, raised: Sequence[Offset], *, level: bool) -> Said:
    """Return what to say of segments that share a feature, the farthest first; `level`: all predictions are off."""
    first = raised[0]
    line, judging = first.line, first.line.n + first.line.n_rest
    graded = rule.judge(**first.numbers(rule.thresholds["margin"]))
    size = value_words(*_size(line), confidence=line.confidence)
    others = listed((x.line.item for x in raised[1:]), 3)
    also = f" So are they where {others}." if others else ""
    explained = (OVERSURE, *(("UQ101",) if graded in ("high", "medium") and not level else ()))
    return {
        "statement": f"For {line.item} ({line.n} of the {judging} observations not used to define it) {_means(line)}: "
        f"predictions are too {'low' if line.estimate > 0 else 'high'} by {size} standard deviations of the model, "
        f"about {number(line.nats, 2)} nats per observation.{also}",
        "remedy": "Look for a missing feature, an interaction or wrong labels here. Refit the model, or exclude the "
        "segment from its use.",
        "affected": f"{line.n} of {judging} observations",
        "threshold": sqrt(2 * rule.thresholds["margin"]),
        "explains": tuple(Symptom(code=code) for code in explained),
        **about(line, ids.SEGMENTS_RESIDUALS, features=first.features, measures=(NLL.name,)),
    }


def _means(line: ResidualLine) -> str:
    """Return the mean outcome and the mean prediction in words."""
    if line.level:
        return f"{share_words(line.outcome)} are {line.level}, at a mean probability of {share_words(line.predicted)}"
    return f"the mean outcome is {number(line.outcome)} and the mean prediction {number(line.predicted)}"


def _size(line: ResidualLine) -> tuple[float, float, float]:
    """Return the mean residual with its interval, without its sign."""
    if line.estimate > 0:
        return line.estimate, line.lower, line.upper
    return -line.estimate, -line.upper, -line.lower


@dataclass(frozen=True)
class SegmentsCheck(TableCheck):
    """Judges the segments that small trees found, on observations that the trees have not seen.

    UQ121 asks for a segment whose loss is above what the model expects there by more than a margin, and further
    above than for the other rows; both one-sided t-tests, their larger p-value Holm-adjusted over segments. UQ122 is
    an observation: where the model is most uncertain. In an honest model uncertainty differs between rows, too.

    UQ123 asks for a segment whose mean residual is beyond a margin, and further from 0 than that of the other
    observations; both one-sided t-tests, their larger p-value Holm-adjusted over the segments of both halves and over
    classes. A margin of d standard deviations is worth d²/2 nats. Smaller residuals are no finding: every fitted model
    shrinks, and predicts a little too high here and too low there.

    Parameters
    ----------
    level : float
        Of the rules on loss and uncertainty together, half of it for each; of that on predictions by itself.
    margin : float
        Loss beyond expectation, or by wrong predictions, that matters, in nats.
    small : float
        Loss by wrong predictions that is worth a sentence, in nats.
    loss : float
        The same where the likelihood is not finite, as a share of the usual loss of all rows.
    medium, high : float
        Multiples of the margin, by the lower end of the interval, from which a finding is medium, or high.
    share : float
        Share of the observations from which a finding may be high.
    entropy : float
        Difference of uncertainty to the other rows that is worth a sentence, in nats.
    spread : float
        The same of uncertainty in other units, as a share of its mean over all rows.
    """

    level: float = opt.share(0.05)
    margin: float = opt.positive(0.05)
    small: float = 0.02
    loss: float = opt.positive(0.1)
    medium: float = 2.0
    high: float = 4.0
    share: float = opt.share(0.1)
    entropy: float = opt.positive(0.2)
    spread: float = opt.positive(0.5)

    name: ClassVar[str] = ids.SEGMENTS
    title: ClassVar[str] = "Segments"
    table: ClassVar[tuple[Rule, ...]] = (OVER_CONFIDENT, UNCERTAIN, MISPREDICTED)
    judges: ClassVar[tuple[Judge, ...]] = (_oversure, _concentrated, _mispredicted)

    def limits(self) -> Iterable[opt.Limit]:
        """Return the limits of options that depend on each other."""
        yield "small", 0 < self.small <= self.margin, "a number > 0, at most margin"
        yield "medium", 1 <= self.medium < self.high, "numbers 1 <= medium < high"
