"""Uncertainty quality: does y follow the predictive distribution, and can its uncertainty be told apart."""

from __future__ import annotations

from typing import NamedTuple

from ...document.blocks import intervals_caption, make_figure, notes_of
from ...document.document import Block, Callout, Paragraph, Section
from ...document.evidence import Evidence
from ...document.tables import plain_table
from ...document.text import clean, joined, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.outcomes import CONFIDENCE_GAP, Bins, Calibration, Coverage, Pit, Reliability
from ...evidence.view import table_of
from ...plots.words import number
from ..placing import Placed
from .outcomes import scores_table

TITLE = "Uncertainty quality"
SPLIT = ("aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance")


class Diagram(NamedTuple):
    """A figure of calibration: the result it draws, its heading and its caption."""

    view: type[Bins]
    title: str
    caption: str


DIAGRAMS = (
    Diagram(Reliability, "Reliability", "Reliability: observed frequency against predicted probability."),
    Diagram(
        Pit,
        "Probability integral transform",
        "Histogram of the probability integral transform; flat when calibrated.",
    ),
    Diagram(
        Coverage,
        "Coverage of intervals",
        "Coverage of central intervals: observed share against nominal level.",
    ),
)


def uncertainty(e: Evidence, placed: Placed) -> Section:
    """Return the gate, tests and scores of calibration, reliability, PIT and coverage, and the parts of uncertainty."""
    view = Calibration.find(e.run)
    blocks: list[Block] = [gate(e, e.gate.reason)]
    if view is None:
        blocks.append(Paragraph(text=e.why_missing(Calibration.id)))
    else:
        lines = [line for line in view.lines if line.judges_uncertainty or line.is_tested]
        caption = f"Calibration tests and sharpness. {intervals_caption(table_of(lines))}"
        blocks += [Paragraph(text=_gap(view)), scores_table(view, lines, "calibration-table", caption, tests=True)]
    diagrams = (_diagram(e, diagram) for diagram in DIAGRAMS)
    sections = (*filter(None, diagrams), _parts(e), *placed.chapter("uncertainty-quality"))
    return Section(id="uncertainty-quality", title=TITLE, blocks=tuple(blocks), sections=sections)


def gate(e: Evidence, text: str) -> Callout:
    """Return the state of the calibration gate with a text."""
    title = f"Calibration gate: {e.gate.word}"
    return Callout(tone=e.gate.tone, title=title, text=text, evidence=(ids.CALIBRATION,))


def _gap(view: Calibration) -> str:
    """Explain the confidence gap, and say what its interval allows."""
    lead = (
        "If outcomes follow the model's own distributions, the mean negative log-likelihood equals the mean entropy. "
        "Their difference, the confidence gap, is above 0 for an over-confident model and below 0 for an "
        "under-confident one. It is necessary for calibration, not sufficient."
    )
    gap = next((line for line in view.lines if line.item == CONFIDENCE_GAP), None)
    if gap is None:
        return lead
    side = "over-confident" if gap.lower > 0 else "under-confident" if gap.upper < 0 else "of no clear direction"
    return f"{lead} Here it is {value_words(gap.estimate, gap.lower, gap.upper, 'nats')}: {side}."


def _diagram(e: Evidence, diagram: Diagram) -> Section | None:
    """Return observed against ideal values: a sentence, a figure, and the numbers."""
    view = diagram.view.find(e.run)
    if view is None or not view.lines:
        return None
    result, anchor = view.result, view.id.replace(".", "-")
    intervals, text = intervals_caption(result.estimates), _against_ideal(view)
    caption = f"{diagram.caption} {intervals}"
    figure = make_figure(anchor, caption, f"{diagram.caption} {text}", lambda: e.draw(result), result.id)
    title = f"{clean(result.title)}: the numbers. {intervals}"
    table = plain_table(result.estimates, f"{anchor}-table", title, result.id, notes_of(result))
    key = view.id.removeprefix(f"{ids.CALIBRATION}.")
    return Section(id=key, title=diagram.title, blocks=(Paragraph(text=text), figure, table))


def _against_ideal(view: Bins) -> str:
    """Say how many intervals hold the ideal, and where the estimates are farthest from it."""
    ideals = [(line, view.ideal(line)) for line in view.lines]
    inside = sum(line.lower <= ideal <= line.upper for line, ideal in ideals)
    line, ideal = max(ideals, key=lambda pair: abs(pair[0].estimate - pair[1]))
    return (
        f"{inside} of {len(ideals)} intervals hold the {'flat line' if view.flat else 'diagonal'}. Farthest from it: "
        f"{number(line.estimate)} where {number(ideal)} is expected. Each interval holds by itself, not all at once."
    )


def _parts(e: Evidence) -> Section:
    """Say where the aleatoric and epistemic parts are explained, or that they were not told apart."""
    measures = {str(measure) for result in e.results for measure in result.estimates[col.MEASURE]}
    parts = [e.words(measure).title for measure in SPLIT if measure in measures]
    if parts:
        text = f"This run explains {joined(parts)} apart; see “Drivers of the uncertainty”."
    else:
        text = (
            "Not told apart in this run: the model gives one distribution without parts, or the measures "
            f"{joined(list(SPLIT))} were not asked for. What more data could remove is therefore not known."
        )
    return Section(id="parts", title="Aleatoric and epistemic uncertainty", blocks=(Paragraph(text=text),))
