"""Champion against challenger: paired differences, and what only one of the two relies on."""

from __future__ import annotations

from collections.abc import Sequence

from ...document.blocks import interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ...document.document import Block, Bullets, Column, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import joined, name, value_words
from ...evidence.comparison import CompareImportance, CompareReliance, CompareScores, PairedImportanceLine, PairedLine
from ...evidence.subject import SubjectFacts
from ...evidence.view import of_measure, table_of

TITLE = "Champion against challenger"
LEAD = (
    "Both models predicted the same rows, and importance shuffled them alike. A difference is challenger less "
    "champion; its interval is paired. Where the interval holds 0 the data do not tell the models apart."
)


def comparison(e: Evidence) -> Section | None:
    """Return the section, or None for an audit of one model."""
    if e.run.challenger is None:
        return None
    names = f"Champion: {name(e.subject.label)}. Challenger: {name(SubjectFacts.of(e.run.challenger).label)}."
    blocks: list[Block] = [Paragraph(text=names), Paragraph(text=LEAD)]
    scores, importance = CompareScores.find(e.run), CompareImportance.find(e.run)
    reliance = CompareReliance.find(e.run)
    if scores is not None:
        blocks += [Paragraph(text=_differing(e, scores)), _scores(e, scores), *left_out(scores.result)]
    if reliance is not None:
        blocks += [_reliance(e, reliance), Paragraph(text=notes_of(reliance.result))]
    sections = () if importance is None else tuple(_importance(e, importance, m) for m in importance.measures)
    return Section(id="comparison", title=TITLE, blocks=tuple(blocks), sections=sections)


def _differing(e: Evidence, view: CompareScores) -> str:
    """Say which scores differ beyond their interval."""
    lower = [e.words(line.measure).title for line in view.lines if line.upper < 0]
    higher = [e.words(line.measure).title for line in view.lines if line.lower > 0]
    sides = [f"{side} for the challenger: {joined(t)}" for side, t in (("lower", lower), ("higher", higher)) if t]
    return f"Beyond the interval, {'; '.join(sides)}." if sides else "No score differs beyond its interval."


def _reliance(e: Evidence, view: CompareReliance) -> Block:
    if not view.reliances:
        return Paragraph(text="No feature is shown to be relied on by one model alone.")
    items = (f"{name(one.feature)} ({e.words(one.measure).title}): {one.who} relies on it." for one in view.reliances)
    return Bullets(items=tuple(items))


def _scores(e: Evidence, view: CompareScores) -> Block:
    facts = [e.words(line.measure) for line in view.lines]
    rows = [(f.title, *_numbers(line, view.lines), f.unit) for f, line in zip(facts, view.lines, strict=True)]
    caption = f"Challenger less champion. {intervals_caption(view.result.estimates)}"
    columns = _columns("measure", view.lines, "unit")
    return make_table("comparison-table-scores", caption, columns, rows, of=view.result)


def _importances(e: Evidence, view: CompareImportance, measure: str) -> Block:
    lines = of_measure(view.lines, measure)
    rows = [(name(x.feature), *_numbers(x, lines), x.champion_verdict, x.challenger_verdict) for x in lines]
    caption = f"Challenger less champion, {e.words(measure).title}. {intervals_caption(table_of(lines))}"
    columns = _columns("feature", lines, "champion says", "challenger says")
    return make_table(f"comparison-table-{measure}", caption, columns, rows, of=view.result)


def _columns(first: str, lines: Sequence[PairedLine], *last: str) -> tuple[Column, ...]:
    numbers = (Column(label, "number") for label in ("champion", "challenger", "difference"))
    return (Column(first), *numbers, *interval_columns(table_of(lines)), *map(Column, last))


def _numbers(line: PairedLine, lines: Sequence[PairedLine]) -> tuple[float, ...]:
    """Return the numbers of a line, with its interval where any of `lines` has one."""
    interval = (line.lower, line.upper) if any(one.has_interval for one in lines) else ()
    return (line.champion, line.challenger, line.estimate, *interval)


def _importance(e: Evidence, view: CompareImportance, measure: str) -> Section:
    """Return one measure: the sentence, the figure, the table."""
    lines, title = of_measure(view.lines, measure), e.words(measure).title
    text = _apart(lines)
    figure = make_figure(
        f"comparison-figure-{measure}",
        f"Importance for {title}, challenger less champion. {intervals_caption(table_of(lines))}",
        text,
        lambda: e.draw(view.result, measure=measure),
        view.id,
    )
    blocks = (Paragraph(text=text), figure, _importances(e, view, measure))
    return Section(id=f"comparison-{measure}", title=f"Importance for {title}", blocks=blocks)


def _apart(lines: Sequence[PairedImportanceLine]) -> str:
    """Say for which features the importance differs beyond its interval."""
    apart = [line for line in lines if line.lower > 0 or line.upper < 0]
    words = joined([f"{name(x.feature)} {value_words(x.estimate, x.lower, x.upper)}" for x in apart])
    return f"Importance differs for {words}." if words else "No importance differs beyond its interval."
