"""The brief: two pages for those who decide, the state on the first and the drivers on the second.

Every text in it has a most length, so that two pages hold it.
"""

from __future__ import annotations

from dataclasses import replace

from ...core.text import count, short
from ...document.blocks import make_figure, make_table
from ...document.document import Block, Bullets, Callout, Cell, Document, Facts, Paragraph, Section
from ...document.evidence import OPEN, Evidence, as_cell
from ...document.questions import Answer, answers, leader, leading
from ...document.telling import largest_words
from ...document.text import clean, joined, name, sentence
from ...evidence.run import Run
from ...plots import importance
from ..assemble import read
from ..rating import counted, rests_on
from ..sections.changes import in_short
from ..sections.comparison import comparison
from ..sections.findings import nothing_open
from ..sections.ranking import answer_cells, answer_columns
from ..sections.rules import ended
from ..sections.summary import agreement_of, scope
from ..unjudged import confirmed, unjudged
from .frame import framed

FINDINGS, FEATURES, GAPS = 4, 8, 3
STATEMENT, REASON, FACT, TITLE, LABEL = 220, 110, 60, 50, 22  # characters; of statements, what four have each
PEOPLE = ("purpose", "materiality", "intended_use", "owner", "validator", "approver", "independence")


def brief(run: Run) -> Document:
    """Return the brief of a run."""
    e = read(run)
    sections = (_state(e), _findings(e), _untested(e), _drivers(e), _compared(e), _identity(e))
    title = f"Brief: {clean(as_cell(e.subject.label), TITLE)}"
    whole = framed(e, "brief", title, [section for section in sections if section is not None])
    facts = tuple((label, shortened(cell, FACT) if isinstance(cell, str) else cell) for label, cell in whole.facts)
    return replace(whole, facts=facts, subtitle=shortened(whole.subtitle, REASON))


def shortened(text: str, most: int) -> str:
    """Return a text cut between words, which an ellipsis shows; the last section says where it stands in full.

    Examples
    --------
    >>> shortened("The gap is large.", 200), shortened("one two three", 9)
    ('The gap is large.', 'one two …')
    """
    line = clean(text)
    if len(line) <= most:
        return line
    head = line[: max(line.rfind(" ", most // 2, most), 0) or most]
    return f"{head} …"


def _state(e: Evidence) -> Section:
    """Return scope, counts and the calibration gate."""
    gaps = sum(len(result.omissions) for result in e.run.results)
    changes = "no previous run was given" if e.run.changes is None else shortened(in_short(e.run.changes), REASON)
    rows = (
        ("Rating", shortened(rests_on(e.run.outcomes), REASON)),
        ("Waived findings", counted(tuple(one.finding for one in e.waived))),
        ("Checks", shortened(ended(e), REASON)),
        ("Not run", f"{count(len(e.run.not_run), 'part')}, {count(gaps, 'omission')} inside parts that ran"),
        ("Changes", changes),
    )
    purpose = shortened(e.about("purpose") or OPEN.text, STATEMENT)
    text = f"{shortened(scope(_named_short(e)), 2 * STATEMENT)} Purpose: {sentence(purpose)}"
    gate = Callout(tone=e.gate.tone, title=f"Calibration gate: {e.gate.word}", text=shortened(e.gate.reason, STATEMENT))
    first, last = ([Paragraph(text=told)] if told else [] for told in (unjudged(e), confirmed(e)))
    blocks: tuple[Block, ...] = (*first, Paragraph(text=text), Facts(rows=rows), gate, *last)
    return Section(id="state", title="Where it stands", blocks=blocks)


def _named_short(e: Evidence) -> Evidence:
    """Return the run under a name and a class that are not long, for a sentence."""
    short_names = {"label": name(e.subject.label), "model_class": name(e.subject.model_class)}
    return Evidence(replace(e.run, subject={**e.run.subject, **short_names}))


def _text(e: Evidence, key: str) -> Cell:
    cell = e.said(key)
    return shortened(cell, FACT) if isinstance(cell, str) else cell


def _findings(e: Evidence) -> Section:
    worst = e.findings[:FINDINGS]
    most = FINDINGS * STATEMENT // max(1, len(worst))
    items = [
        f"{f.code} ({f.severity}): {shortened(f'{sentence(f.title)} {sentence(f.statement)}', most)}" for f in worst
    ]
    more = len(e.findings) - FINDINGS
    if more > 0:
        items.append(f"{count(more, 'further finding')}: see the register in the audit.")
    block = Bullets(items=tuple(items)) if items else Paragraph(text=nothing_open(e))
    return Section(id="findings", title="Worst open findings", blocks=(block,))


def _drivers(e: Evidence) -> Section:
    """Return one chart and one table of what drives the prediction, the loss and the uncertainty."""
    answered = answers(e)
    title = "What drives the prediction, the loss and the uncertainty"
    if not answered:
        return Section(id="drivers", title=title, blocks=(Paragraph(text="No importance was computed in this run."),))
    features, first = leading(answered, FEATURES), leader(answered)
    panels = [answer.panel() for answer in answered]
    figure = make_figure(
        "drivers-chart",
        f"{count(len(features), 'feature')}, ordered by {first.facts.title}.",
        " ".join(f"{a.heading.capitalize()}: {largest_words(a.table, a.facts)}" for a in answered),
        lambda: importance.draw_panels(panels, features),
        first.result.id,
    )
    agreement = Paragraph(text=shortened(agreement_of(answered), STATEMENT))
    return Section(id="drivers", title=title, blocks=(agreement, figure, _table(answered, features)))


def _table(answered: list[Answer], features: list[str]) -> Block:
    rows = [[clean(short(feature, LABEL)), *answer_cells(answered, feature)] for feature in features]
    note = ". ".join(f"{a.heading.capitalize()}: {a.method}" for a in answered)
    caption = "Importance with its interval, where the method gives one."
    evidence = answered[-1].result.id
    return make_table("drivers-table", caption, answer_columns(answered), rows, evidence=evidence, note=f"{note}.")


def _compared(e: Evidence) -> Section | None:
    """Return what sets two models apart, in words."""
    section = comparison(e)
    if section is None:
        return None
    texts = [block.text for block in section.blocks if isinstance(block, Paragraph)][:3]
    blocks = tuple(Paragraph(text=shortened(text, STATEMENT)) for text in texts)
    return Section(id="comparison", title=section.title, blocks=blocks)


def _untested(e: Evidence) -> Section:
    """Return what was not run, not judged, and left to people."""
    items = [f"{name(one.name)}: {shortened(sentence(one.reason), REASON)}" for one in e.run.not_run[:GAPS]]
    if len(e.run.not_run) > GAPS:
        items.append(f"{count(len(e.run.not_run) - GAPS, 'further part')} did not run.")
    unjudged = [name(o.check) for o in e.run.outcomes if o.state in ("not_applicable", "skipped")]
    if unjudged:
        items.append(f"Checks that reached no verdict: {joined(unjudged)}.")
    silent = [key.replace("_", " ") for key in PEOPLE if not e.about(key)]
    if silent:
        items.append(f"Open, for people to complete: {joined(silent)}.")
    items.append("No interval covers the fitting of the model; importance is not a causal effect.")
    return Section(id="untested", title="What was not tested", blocks=(Bullets(items=tuple(items)),))


def _identity(e: Evidence) -> Section:
    hashes = e.subject.hashes
    rows: tuple[tuple[str, Cell], ...] = (
        ("Owner", _text(e, "owner")),
        ("Validator", _text(e, "validator")),
        ("SHA-256 of the model", as_cell(hashes.get("model"))),
        ("SHA-256 of the rows", as_cell(hashes.get("X"))),
        ("SHA-256 of the outcomes", as_cell(hashes.get("y"))),
        ("SHA-256 of the training rows", as_cell(hashes.get("train_X"))),
    )
    text = (
        "The audit made from the same run.json (its SHA-256 stands on the first page) holds every number, its "
        "evidence, the rules of the checks, and in full what ends in “…” here. Its command is “uq-report render RUN”."
    )
    return Section(id="identity", title="Identity", blocks=(Facts(rows=rows), Paragraph(text=text)))
