"""Uncertainty quality: does y follow the predictive distribution, and can its uncertainty be told apart."""

from __future__ import annotations

import pandas as pd

from ...core.results import Result
from ...plots import draw
from ...plots.words import number
from ..blocks import intervals_caption, make_figure, notes_of
from ..document import Block, Callout, Paragraph, Section
from ..evidence import Evidence
from ..tables import plain_table
from ..text import clean, joined, value_words
from .extras import extras
from .outcomes import about_uncertainty, items_table

TITLE = "Uncertainty quality"
FIGURES = (
    ("calibration.reliability", "Reliability: observed frequency against predicted probability."),
    ("calibration.pit", "Histogram of the probability integral transform; flat when calibrated."),
    ("calibration.coverage", "Coverage of central intervals: observed share against nominal level."),
)
HEADS = {
    "calibration.reliability": "Reliability",
    "calibration.pit": "Probability integral transform",
    "calibration.coverage": "Coverage of intervals",
}
SPLIT = ("aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance")


def uncertainty(e: Evidence) -> Section:
    """Return the gate, tests and scores of calibration, reliability, PIT and coverage, and the parts of uncertainty."""
    result = e.find("calibration")
    gate = Callout(
        tone=e.gate.tone, title=f"Calibration gate: {e.gate.word}", text=e.gate.reason, evidence=("calibration",)
    )
    if result is None:
        blocks: list[Block] = [gate, Paragraph(text=e.why_missing("calibration"))]
    else:
        table = about_uncertainty(result.estimates)
        caption = f"Calibration tests and sharpness. {intervals_caption(table)}"
        blocks = [gate, Paragraph(text=_gap(result)), items_table(result, table, "calibration-table", caption)]
    more = extras(e, "calibration", ("calibration", *HEADS))
    return Section(
        id="uncertainty-quality", title=TITLE, blocks=tuple(blocks), sections=(*_figures(e), _parts(e), *more)
    )


def _gap(result: Result) -> str:
    """Explain the confidence gap, and say what its interval allows."""
    lead = (
        "If outcomes follow the model's own distributions, the mean negative log-likelihood equals the mean entropy. "
        "Their difference, the confidence gap, is above 0 for an over-confident model and below 0 for an "
        "under-confident one. It is necessary for calibration, not sufficient."
    )
    row = result.estimates[result.estimates["item"] == "confidence_gap"]
    if row.empty:
        return lead
    gap = row.iloc[0]
    side = "over-confident" if gap["lower"] > 0 else "under-confident" if gap["upper"] < 0 else "of no clear direction"
    return f"{lead} Here it is {value_words(gap['estimate'], gap['lower'], gap['upper'], 'nats')}: {side}."


def _figures(e: Evidence) -> tuple[Section, ...]:
    found = []
    for key, caption in FIGURES:
        part = e.find(key)
        if part is not None and len(part.estimates):
            found.append(Section(id=key.removeprefix("calibration."), title=HEADS[key], blocks=_shown(part, caption)))
    return tuple(found)


def _shown(part: Result, caption: str) -> tuple[Block, ...]:
    """Return observed against ideal values: a sentence, a figure, and the numbers."""
    table, flat = part.estimates, part.id.endswith("pit")
    ideal = pd.Series(1.0, index=table.index) if flat else table["x"]
    held = int(((table["lower"] <= ideal) & (ideal <= table["upper"])).sum())
    at = int((table["estimate"] - ideal).abs().to_numpy().argmax())
    told = (
        f"{held} of {len(table)} intervals hold the {'flat line' if flat else 'diagonal'}. Farthest from it: "
        f"{number(float(table['estimate'].iloc[at]))} where {number(float(ideal.iloc[at]))} is expected. Each interval "
        "holds by itself, not all at once."
    )
    intervals = intervals_caption(table)
    anchor = part.id.replace(".", "-")
    title = f"{clean(part.title)}: the numbers. {intervals}"
    figure = make_figure(anchor, f"{caption} {intervals}", f"{caption} {told}", lambda: draw(part), part.id)
    return (Paragraph(text=told), figure, plain_table(table, f"{anchor}-table", title, part.id, notes_of(part)))


def _parts(e: Evidence) -> Section:
    """Say where the aleatoric and epistemic parts are explained, or that they were not told apart."""
    held = {str(m) for result in e.results for m in result.estimates["measure"]} & set(SPLIT)
    if held:
        names = joined([e.words(m).title for m in SPLIT if m in held])
        text = f"This run explains {names} apart; see “Drivers of the uncertainty”."
    else:
        text = (
            "Not told apart in this run: the model gives one distribution without parts, or the measures "
            f"{joined(list(SPLIT))} were not asked for. What more data could remove is therefore not known."
        )
    return Section(id="parts", title="Aleatoric and epistemic uncertainty", blocks=(Paragraph(text=text),))
