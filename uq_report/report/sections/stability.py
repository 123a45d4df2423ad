"""Stability: loss, calibration and uncertainty by period, and the features that shifted since training."""

from __future__ import annotations

from ...document.blocks import make_figure, make_section, paragraphs
from ...document.document import Block, Section
from ...document.plots.frames import interval_words
from ...document.text import clean, joined, mentions, sentence, spaced, unmarked
from ...evidence.rows import SupportDistribution
from ...evidence.segments import ALL_ROWS, LEVEL, SegmentLine, SegmentPeriods
from ...reading.run_reader import RunReader
from ...reading.sentences import estimate_words

SHIFTED = ("UQ303", "UQ304")  # new values, and another distribution than in training
DRAWN = 4


def stability(e: RunReader) -> Section | None:
    """Return the means by period and the features that shifted since training; None without either."""
    blocks = (*_periods(e), *_shifted(e))
    return make_section("performance-stability", "Stability", blocks) if blocks else None


def _shifted(e: RunReader) -> tuple[Block, ...]:
    """Return the distributions in training and test sample of the features with a finding about their shift."""
    view = SupportDistribution.find(e.run)
    named = dict.fromkeys(x for f in e.findings if f.code in SHIFTED for x in f.features)
    features = [feature for feature in named if view is not None and feature in view.edges]
    if view is None or not features:
        return ()
    shown, more = joined(mentions(features[:DRAWN])), len(features) - DRAWN
    figure = make_figure(
        "performance-shift-figure",
        f"Distribution in the training and the test sample{f'; {more} more features shifted' if more > 0 else ''}.",
        f"A histogram of each sample for {unmarked(shown)}.",
        lambda: e.draw(view.result, features=features[:DRAWN]),
        view.id,
    )
    return (*paragraphs(f"The test sample differs from the training sample in {joined(mentions(features))}."), figure)


def _periods(e: RunReader) -> tuple[Block, ...]:
    """Return the means by period and the periods that differ; empty without a time."""
    view = SegmentPeriods.find(e.run)
    if view is None:
        return ()
    lines = [line for line in view.lines if line.segment != ALL_ROWS]
    number = len({line.segment for line in lines})
    titles = joined([e.words(measure, view.result).title for measure in view.measures])
    figure = make_figure(
        "performance-periods-figure",
        f"Means by period. Intervals: {interval_words(view.result.estimates)}.",
        spaced(f"A dot with its interval for each of {number} periods.", *(_means(e, lines, m) for m in view.measures)),
        lambda: e.draw(view.result),
        view.id,
    )
    apart = [line for line in lines if line.p_adjusted <= LEVEL and line.difference > 0]
    text = f"{number} periods of about equally many observations are compared by {titles}."
    none = "No period is shown to differ from the others." if not apart else ""
    return (*paragraphs(spaced(text, none, *(_differs(e, line) for line in apart))), figure)


def _means(e: RunReader, lines: list[SegmentLine], measure: str) -> str:
    title, own = e.words(measure).title, [estimate_words(line) for line in lines if line.measure == measure]
    return sentence(joined([f"in period {k} the mean {title} is {mean}" for k, mean in enumerate(own, 1)]))


def _differs(e: RunReader, line: SegmentLine) -> str:
    """Say that the mean of a period is above or below that of the others, adjusted for all comparisons."""
    facts, side = e.words(line.measure), "above" if line.difference > 0 else "below"
    size = estimate_words(line, facts.unit)
    return f"From {clean(line.item)} the mean {facts.title}, {size}, is {side} that of the other periods."
