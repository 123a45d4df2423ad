"""Champion against challenger: paired differences, and what only one of the two relies on."""

from __future__ import annotations

import pandas as pd

from ...core.results import Result
from ...plots import draw
from ..blocks import interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ..document import Block, Bullets, Column, Paragraph, Section
from ..evidence import Evidence
from ..text import joined, name, value_words

TITLE = "Champion against challenger"
LEAD = (
    "Both models predicted the same rows, and importance shuffled them alike. A difference is challenger less "
    "champion; its interval is paired. Where the interval holds 0 the data do not tell the models apart."
)


def comparison(e: Evidence) -> Section | None:
    """Return the section, or None for an audit of one model."""
    challenger = e.run.challenger
    if challenger is None:
        return None
    names = f"Champion: {name(e.run.subject.get('label'))}. Challenger: {name(challenger.subject.get('label'))}."
    blocks: list[Block] = [Paragraph(text=names), Paragraph(text=LEAD)]
    scores, importance, reliance = (e.find(f"compare.{part}") for part in ("scores", "importance", "reliance"))
    if scores is not None:
        blocks += [Paragraph(text=_scores_told(e, scores.estimates)), _table(e, scores), *left_out(scores)]
    if reliance is not None:
        blocks += [_reliance(e, reliance.frame), Paragraph(text=notes_of(reliance))]
    sections = () if importance is None else _importance(e, importance)
    return Section(id="comparison", title=TITLE, blocks=tuple(blocks), sections=sections)


def _scores_told(e: Evidence, table: pd.DataFrame) -> str:
    """Say which scores differ beyond their interval."""
    lower = [e.words(str(r["measure"])).title for r in table.to_dict("records") if r["upper"] < 0]
    higher = [e.words(str(r["measure"])).title for r in table.to_dict("records") if r["lower"] > 0]
    told = []
    if lower:
        told.append(f"lower for the challenger: {joined(lower)}")
    if higher:
        told.append(f"higher for the challenger: {joined(higher)}")
    return f"Beyond the interval, {'; '.join(told)}." if told else "No score differs beyond its interval."


def _reliance(e: Evidence, frame: pd.DataFrame) -> Block:
    if not len(frame):
        return Paragraph(text="No feature is shown to be relied on by one model alone.")
    told = (
        f"{name(row['feature'])} ({e.words(str(row['measure'])).title}): {row['item']} relies on it."
        for row in frame.to_dict("records")
    )
    return Bullets(items=tuple(told))


def _table(e: Evidence, result: Result, measure: str = "") -> Block:
    table = result.estimates if not measure else result.estimates[result.estimates["measure"] == measure]
    first = Column("feature" if measure else "measure")
    verdicts = (Column("champion says"), Column("challenger says")) if measure else (Column("unit"),)
    columns = (
        first,
        Column("champion", "number"),
        Column("challenger", "number"),
        Column("difference", "number"),
        *interval_columns(table),
        *verdicts,
    )
    interval = ("lower", "upper") if len(interval_columns(table)) else ()
    rows = []
    for row in table.to_dict("records"):
        said = e.words(str(row["measure"]))
        last = (row["champion_verdict"], row["challenger_verdict"]) if measure else (said.unit,)
        label = name(row["feature"]) if measure else said.title
        rows.append((label, row["champion"], row["challenger"], row["estimate"], *(row[i] for i in interval), *last))
    caption = f"Challenger less champion{f', {e.words(measure).title}' if measure else ''}. {intervals_caption(table)}"
    key = f"comparison-table-{measure or 'scores'}"
    return make_table(key, caption, columns, rows, evidence=result.id, note=notes_of(result))


def _importance(e: Evidence, result: Result) -> tuple[Section, ...]:
    """Return one sub-section per measure: the sentence, the figure, the table."""
    found = []
    for measure in dict.fromkeys(map(str, result.estimates["measure"])):
        table = result.estimates[result.estimates["measure"] == measure]
        apart = table[(table["lower"] > 0) | (table["upper"] < 0)]
        told = [
            f"{name(row['feature'])} {value_words(row['estimate'], row['lower'], row['upper'])}"
            for row in apart.to_dict("records")
        ]
        sentence = f"Importance differs for {joined(told)}." if told else "No importance differs beyond its interval."
        title = e.words(measure).title
        figure = make_figure(
            f"comparison-figure-{measure}",
            f"Importance for {title}, challenger less champion. {intervals_caption(table)}",
            sentence,
            lambda measure=measure: draw(result, measure=measure),  # type: ignore[misc] # the loop's value, bound now
            result.id,
        )
        blocks = (Paragraph(text=sentence), figure, _table(e, result, measure))
        found.append(Section(id=f"comparison-{measure}", title=f"Importance for {title}", blocks=blocks))
    return tuple(found)
