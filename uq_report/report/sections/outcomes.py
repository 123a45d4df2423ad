"""Outcomes analysis: how well predictions agree with what happened, over all rows and by group."""

from __future__ import annotations

from collections.abc import Sequence

from ...document.blocks import interval_columns, intervals_caption, left_out, make_table
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.evidence import Evidence
from ...document.text import clean, joined, name, value_words
from ...evidence.outcomes import Calibration, DecisionLine, Decisions, ScoreLine
from ...evidence.view import table_of
from ..placing import Placed

TITLE = "Outcomes analysis"
SHOWN = 6  # classes up to which the table counts every pair
ITEMS = ("recall", "precision")
LEAD = (
    "Scores are means over the audited rows, given the fitted model. A baseline ignores the features; a skill is the "
    "baseline's score less the model's. Which score fits the use of the model is for people to judge."
)


def outcomes(e: Evidence, placed: Placed) -> Section:
    """Return scores against outcomes, and performance and uncertainty by group."""
    sections = (_scores(e), *placed.chapter("outcomes"))
    return Section(id="outcomes", title=TITLE, blocks=(Paragraph(text=LEAD),), sections=sections)


def _scores(e: Evidence) -> Section:
    view = Calibration.find(e.run)
    if view is None:
        blocks: tuple[Block, ...] = (Paragraph(text=e.why_missing(Calibration.id)),)
    else:
        lines = [line for line in view.lines if not line.judges_uncertainty]
        text = _skill(lines)
        caption = f"Scores on the audited rows. {intervals_caption(table_of(lines))}"
        table = scores_table(view, lines, "scores-table", caption, tests=False)
        blocks = (*([Paragraph(text=text)] if text else []), table, *left_out(view.result), *_decisions(e))
    return Section(id="scores", title="Scores", blocks=blocks)


def _decisions(e: Evidence) -> tuple[Block, ...]:
    """Return the rule of the model's decisions, and each class with its counts, recall and precision."""
    view = Decisions.find(e.run)
    if view is None:
        return ()
    labels = [str(label) for label in view.classes]
    counted = labels if len(labels) <= SHOWN and view.counts else []
    ends = interval_columns(view.result.estimates)
    columns: list[Column] = [Column("class"), *(Column(f"decided {name(label)}", "integer") for label in counted)]
    for item in ITEMS:
        columns += [Column(item, "number"), *ends]
    rows = []
    for number, label in enumerate(labels):
        lines = view.of_class(label)
        cells = [cell for item in ITEMS for cell in _share(lines.get(item), len(ends))]
        rows.append((name(label), *(view.counts[number][: len(counted)] if counted else ()), *cells))
    caption = f"Rows of each class by what the model decides. {intervals_caption(view.result.estimates)}"
    text = f"The model decides for {view.rule}."
    table = make_table("decisions-table", caption, columns, rows, of=view.result)
    return (Paragraph(text=clean(text)), table, *left_out(view.result))


def _share(line: DecisionLine | None, ends: int) -> tuple[float | None, ...]:
    if line is None:
        return (None,) * (1 + ends)
    return (line.estimate, line.lower, line.upper)[: 1 + ends]


def _skill(lines: Sequence[ScoreLine]) -> str:
    """Say whether the model beats its baseline, as far as the intervals tell."""
    sides: dict[str, list[str]] = {}
    for line in lines:
        if line.is_skill:
            side = "better than" if line.lower > 0 else "worse than" if line.upper < 0 else "not told apart from"
            words = value_words(line.estimate, line.lower, line.upper, line.unit)
            sides.setdefault(side, []).append(f"{_item(line)} {words}")
    parts = [f"{side} the baseline by {joined(skills)}" for side, skills in sides.items()]
    return f"The model is {'; '.join(parts)}." if parts else ""


def _item(line: ScoreLine) -> str:
    return name(line.item).replace("_", " ")


def scores_table(
    view: Calibration, lines: Sequence[ScoreLine], key: str, caption: str, *, tests: bool = False
) -> Table:
    """Return scores with their intervals, and with their tests where these are asked for and there are any."""
    interval = interval_columns(table_of(lines))
    tested = tests and any(line.is_tested for line in lines)
    columns = [Column("item"), Column("unit"), Column("estimate", "number"), *interval]
    columns += [Column("p", "pvalue"), Column("p, adjusted", "pvalue"), Column("mean if calibrated", "number")] * tested
    rows = [
        (
            *(_item(line), name(line.unit), line.estimate),
            *((line.lower, line.upper) if interval else ()),
            *((line.p_value, line.p_adjusted, line.null_mean) if tested else ()),
        )
        for line in lines
    ]
    return make_table(key, caption, columns, rows, of=view.result)
