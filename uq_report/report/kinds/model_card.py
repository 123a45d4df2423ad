"""The model card, under the headings of Mitchell et al. 2019; what only people know stands open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...core.references import cite
from ...core.run import Run
from ...core.text import count
from ..blocks import make_table
from ..document import Block, Bullets, Callout, Cell, Column, Document, Facts, Paragraph, Section, Table
from ..evidence import OPEN, Evidence, as_cell
from ..questions import answers
from ..sections.data import data
from ..sections.missing import not_run
from ..sections.outcomes import outcomes
from ..sections.ranking import side_by_side
from ..sections.summary import agreement_of, scope
from ..text import clean, items, joined, sentence
from .frame import framed

GROUPS = "UQ8"  # codes of findings on groups
FINDINGS = 10


def model_card(run: Run) -> Document:
    """Return the model card of a run."""
    e = Evidence(run)
    sections = (
        _details(e),
        _use(e),
        _factors(e),
        _metrics(e),
        _evaluation(e),
        _training(e),
        _quantitative(e),
        _ethics(e),
        _caveats(e),
    )
    return framed(e, "model-card", f"Model card: {clean(e.fact('label'), 120)}", sections)


def _details(e: Evidence) -> Section:
    rows: tuple[tuple[str, Cell], ...] = (
        ("Name", e.fact("label")),
        ("Version", e.said("version")),
        ("Class", e.fact("model_class")),
        ("Task", e.fact("task")),
        ("Predictive distribution", e.fact("family")),
        ("Classes", e.fact("classes")),
        ("Owner, for questions", e.said("owner")),
        ("Tier", e.said("tier")),
        ("SHA-256 of the model", as_cell(e.mapping("hashes").get("model"))),
    )
    return Section(id="details", title="Model details", blocks=(Facts(rows=rows),))


def _use(e: Evidence) -> Section:
    said = (
        ("Purpose", "purpose"),
        ("Intended use", "intended_use"),
        ("Intended users", "users"),
        ("Out-of-scope use", "out_of_scope"),
    )
    return Section(
        id="use", title="Intended use", blocks=(Facts(rows=tuple((label, e.said(key)) for label, key in said)),)
    )


def _factors(e: Evidence) -> Section:
    protected = e.run.subject.get("protected")
    rows: tuple[tuple[str, Cell], ...] = (
        ("Protected attributes", as_cell(protected) if protected else "none named"),
        ("Groups of features, changed together", e.group_words or "none"),
        ("Factors that matter in use, instruments and environments included", OPEN),
    )
    return Section(id="factors", title="Factors", blocks=(Facts(rows=rows), *_table(data(e), "data-features")))


def _metrics(e: Evidence) -> Section:
    """Return the measures of this run, and how their variation is told."""
    told = [answer.measure for answer in answers(e)]
    permuted = [str(m) for result in e.of("pfi") for m in result.estimates["measure"] if m]
    known = {m: e.words(m) for m in dict.fromkeys((*told, *permuted))}
    rows = [(said.title, said.role, said.unit) for said in known.values() if said.role]
    columns = [Column("measure"), Column("what it is about"), Column("unit")]
    table = make_table("metrics-table", "Measures that are explained in this card.", columns, rows) if rows else None
    text = (
        "Intervals are over new test rows for the fitted model, unless a caption says otherwise. No threshold for "
        "decisions is part of the model as audited; which measure fits the use is for people to say."
    )
    return Section(id="metrics", title="Metrics", blocks=(Paragraph(text=text), *((table,) if table else ())))


def _evaluation(e: Evidence) -> Section:
    rows: tuple[tuple[str, Cell], ...] = (
        ("Origin", e.said("data_origin")),
        ("How rows were split", e.said("data_split")),
        ("Licence", e.said("data_licence")),
        ("Rows", e.fact("n")),
        ("Features", e.fact("d")),
        ("Outcomes given", e.fact("has_y")),
        ("SHA-256 of the rows", as_cell(e.mapping("hashes").get("X"))),
    )
    return Section(id="evaluation", title="Evaluation data", blocks=(Paragraph(text=scope(e)), Facts(rows=rows)))


def _training(e: Evidence) -> Section:
    given = bool(e.run.subject.get("has_train"))
    rows: tuple[tuple[str, Cell], ...] = (
        ("Training rows given to the audit", f"yes, {count(e.number('n_train') or 0, 'row')}" if given else "no"),
        ("SHA-256 of the training rows", as_cell(e.mapping("hashes").get("train_X"))),
        ("Collection, consent and preprocessing", OPEN),
    )
    return Section(id="training", title="Training data", blocks=(Facts(rows=rows),))


def _quantitative(e: Evidence) -> Section:
    """Return scores over all rows and by group, then what drives the three questions."""
    told = answers(e)
    driven = (Paragraph(text=agreement_of(told)), *side_by_side(told)) if told else ()
    drivers: tuple[Section, ...] = ()
    if driven:
        title = "What drives the prediction, the loss and the uncertainty"
        drivers = (Section(id="card-drivers", title=title, blocks=driven),)
    gate = Callout(tone=e.gate.tone, title=f"Calibration gate: {e.gate.word}", text=e.gate.reason)
    return Section(
        id="quantitative",
        title="Quantitative analyses",
        blocks=(gate,),
        sections=(*outcomes(e).sections, *drivers),
    )


def _ethics(e: Evidence) -> Section:
    found = [f for f in e.findings if f.code.startswith(GROUPS)]
    rows: tuple[tuple[str, Cell], ...] = (
        ("Risks, harms and how they are reduced", OPEN),
        ("Sensitive data and human life", OPEN),
        ("Open findings on groups and protected attributes", joined([f.code for f in found]) or "none"),
    )
    blocks: list[Block] = [Facts(rows=rows)]
    if not e.run.subject.get("protected"):
        blocks.append(Paragraph(text="No protected attribute was named, so nothing was looked for by group."))
    if found:
        blocks.append(Bullets(items=tuple(f"{f.code}: {sentence(f.statement)}" for f in found)))
    return Section(id="ethics", title="Ethical considerations", blocks=tuple(blocks))


def _caveats(e: Evidence) -> Section:
    told = [f"{f.code} ({f.severity}): {sentence(f.title)} {sentence(f.remedy)}".strip() for f in e.findings[:FINDINGS]]
    if len(e.findings) > FINDINGS:
        told.append(f"{count(len(e.findings) - FINDINGS, 'further finding')}: see the audit.")
    missing = items(one.name for one in e.run.not_run)
    told.append(f"Not run: {joined(missing)}." if missing else "Every part that was asked for ran.")
    told.append("No interval covers the fitting of the model: one fitted to other rows would give other numbers.")
    told.append("Importance is that of the model on these rows; it is no causal effect.")
    told.append(f"The headings of this card are those of {cite('mitchell')}.")
    return Section(
        id="caveats",
        title="Caveats and recommendations",
        blocks=(Bullets(items=tuple(told)), *_table(not_run(e), "not-run-table")),
    )


def _table(section: Section, key: str) -> tuple[Table, ...]:
    """Return the table of this id from a section, if it has one."""
    return tuple(table for table in _tables((section,)) if table.id == key)


def _tables(sections: Iterable[Section]) -> Iterator[Table]:
    for section in sections:
        yield from (block for block in section.blocks if isinstance(block, Table))
        yield from _tables(section.sections)
