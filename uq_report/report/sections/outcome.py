"""Does y follow the predictive distribution: scores, calibration tests, reliability, PIT and coverage."""

from __future__ import annotations

import pandas as pd

from ...core.results import Result
from ...plots import draw
from ...plots.words import number
from ..blocks import intervals_caption, left_out, make_figure, make_table, notes_of
from ..document import Block, Callout, Column, Paragraph, Section
from ..evidence import Evidence
from ..tables import plain_table
from ..text import clean, name, value_words
from .extras import extras

FIGURES = (
    ("calibration.reliability", "Reliability: observed frequency against predicted probability."),
    ("calibration.pit", "Histogram of the probability integral transform; flat when calibrated."),
    ("calibration.coverage", "Coverage of central intervals: observed share against nominal level."),
)


def outcome(e: Evidence) -> Section:
    """Return outcomes and calibration, or why there is none."""
    result = e.find("calibration")
    gate = Callout(
        tone=e.gate.tone, title=f"Calibration gate: {e.gate.word}", text=e.gate.reason, evidence=("calibration",)
    )
    if result is None:
        blocks: list[Block] = [gate, Paragraph(text=e.why_missing("calibration"))]
    else:
        blocks = [Paragraph(text=_gap(result)), gate, _scores(result), *left_out(result)]
        for key, caption in FIGURES:
            part = e.find(key)
            if part is not None and len(part.estimates):
                blocks += _shown(part, key, caption)
    more = extras(e, "calibration", ("calibration", *(key for key, _ in FIGURES)))
    return Section(id="outcome", title="Outcome and calibration", blocks=tuple(blocks), sections=more)


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


def _scores(result: Result) -> Block:
    table = result.estimates
    columns = [
        Column("item"),
        Column("unit"),
        Column("estimate", "number"),
        Column("from", "number"),
        Column("to", "number"),
        Column("p", "pvalue"),
        Column("p, adjusted", "pvalue"),
        Column("mean if calibrated", "number"),
    ]
    kept = ("estimate", "lower", "upper", "p_value", "p_adjusted", "null_mean")
    rows = [
        (name(row["item"]).replace("_", " "), name(row["unit"]), *(row[c] for c in kept))
        for row in table.to_dict("records")
    ]
    caption = f"Scores and calibration tests. {intervals_caption(table)}"
    return make_table("outcome-scores", caption, columns, rows, evidence=result.id, note=notes_of(result))


def _shown(part: Result, key: str, caption: str) -> list[Block]:
    """Return a figure of observed against ideal values, and its numbers."""
    table, flat = part.estimates, key.endswith("pit")
    ideal = pd.Series(1.0, index=table.index) if flat else table["x"]
    held = int(((table["lower"] <= ideal) & (ideal <= table["upper"])).sum())
    at = int((table["estimate"] - ideal).abs().to_numpy().argmax())
    alt = (
        f"{caption} {held} of {len(table)} intervals hold the {'flat line' if flat else 'diagonal'}. Farthest from it: "
        f"{number(float(table['estimate'].iloc[at]))} where {number(float(ideal.iloc[at]))} is expected."
    )
    intervals = intervals_caption(table)
    anchor = key.replace(".", "-")
    numbers = plain_table(
        table, f"{anchor}-table", f"{clean(part.title)}: the numbers. {intervals}", part.id, notes_of(part)
    )
    return [make_figure(anchor, f"{caption} {intervals}", alt, lambda: draw(part), part.id), numbers]
