"""The brief: two pages for those who decide, the state on the first and the drivers on the second.

Every text in it has a most length, so that two pages hold it.
"""

from __future__ import annotations

from dataclasses import replace

from ...core.run import Run
from ...core.text import count, short
from ...plots import importance
from ..blocks import make_figure, make_table
from ..document import Badge, Block, Bullets, Callout, Cell, Column, Document, Facts, Paragraph, Section
from ..evidence import OPEN, Evidence, as_cell
from ..questions import Answer, answers
from ..sections.changes import in_short
from ..sections.comparison import comparison
from ..sections.findings import counted, ended, nothing_open
from ..sections.summary import agreement_of, scope
from ..telling import largest_words, ordered, ranks
from ..text import clean, joined, name, sentence, value_words
from .frame import framed

FINDINGS, FEATURES, GAPS = 4, 8, 3
STATEMENT, REASON, FACT, TITLE, LABEL = 220, 110, 60, 50, 22  # characters; of statements, what four have each
PEOPLE = ("purpose", "materiality", "intended_use", "owner", "validator", "approver", "independence")


def brief(run: Run) -> Document:
    """Return the brief of a run."""
    e = Evidence(run)
    first, second = (_state(e), _findings(e), _untested(e)), (_drivers(e), _compared(e), _identity(e))
    made = framed(
        e, "brief", f"Brief: {clean(e.fact('label'), TITLE)}", [s for s in (*first, *second) if s is not None]
    )
    facts = tuple((label, shortened(cell, FACT) if isinstance(cell, str) else cell) for label, cell in made.facts)
    return replace(made, facts=facts, subtitle=shortened(made.subtitle, REASON))


def shortened(text: str, most: int) -> str:
    """Return a text cut between words, which an ellipsis shows; the last section says where it stands in full.

    Examples
    --------
    >>> shortened("The gap is large.", 200), shortened("one two three", 9)
    ('The gap is large.', 'one two …')
    """
    said = clean(text)
    if len(said) <= most:
        return said
    head = said[: max(said.rfind(" ", most // 2, most), 0) or most]
    return f"{head} …"


def _state(e: Evidence) -> Section:
    """Return scope, counts and the calibration gate."""
    gaps = sum(len(result.omissions) for result in e.run.results)
    rows = (
        ("Waived findings", counted(tuple(one.finding for one in e.waived))),
        ("Checks", shortened(ended(e), REASON)),
        ("Not run", f"{count(len(e.run.not_run), 'part')}, {count(gaps, 'omission')} inside parts that ran"),
        (
            "Changes",
            "no previous run was given" if e.run.changes is None else shortened(in_short(e.run.changes), REASON),
        ),
    )
    purpose = shortened(e.about("purpose") or OPEN.text, STATEMENT)
    told = f"{shortened(scope(_named_short(e)), 2 * STATEMENT)} Purpose: {sentence(purpose)}"
    gate = Callout(tone=e.gate.tone, title=f"Calibration gate: {e.gate.word}", text=shortened(e.gate.reason, STATEMENT))
    return Section(id="state", title="Where it stands", blocks=(Paragraph(text=told), Facts(rows=rows), gate))


def _named_short(e: Evidence) -> Evidence:
    """Return the run under a name and a class that are not long, for a sentence."""
    cut = {key: name(e.run.subject[key]) for key in ("label", "model_class") if key in e.run.subject}
    return Evidence(replace(e.run, subject={**e.run.subject, **cut}))


def _said(e: Evidence, key: str, most: int = REASON) -> Cell:
    told = e.said(key)
    return shortened(told, most) if isinstance(told, str) else told


def _findings(e: Evidence) -> Section:
    shown = e.findings[:FINDINGS]
    most = FINDINGS * STATEMENT // max(1, len(shown))
    told = [
        f"{f.code} ({f.severity}): {shortened(f'{sentence(f.title)} {sentence(f.statement)}', most)}" for f in shown
    ]
    more = len(e.findings) - FINDINGS
    if more > 0:
        told.append(f"{count(more, 'further finding')}: see the register in the audit.")
    block = Bullets(items=tuple(told)) if told else Paragraph(text=nothing_open(e))
    return Section(id="findings", title="Worst open findings", blocks=(block,))


def _drivers(e: Evidence) -> Section:
    """Return one chart and one table of what drives the prediction, the loss and the uncertainty."""
    told = answers(e)
    title = "What drives the prediction, the loss and the uncertainty"
    if not told:
        return Section(id="drivers", title=title, blocks=(Paragraph(text="No importance was computed in this run."),))
    leader = next((answer for answer in told if answer.heading == "loss"), told[0])
    order = [str(f) for answer in (leader, *told) for f in ordered(answer.table)["feature"]]
    shown = list(dict.fromkeys(order))[:FEATURES]
    panels = [answer.panel() for answer in told]
    alt = " ".join(f"{a.heading.capitalize()}: {largest_words(a.table, a.said)}" for a in told)
    figure = make_figure(
        "drivers-chart",
        f"{count(len(shown), 'feature')}, ordered by {leader.said.title}.",
        alt,
        lambda: importance.draw_panels(panels, shown),
        leader.result.id,
    )
    blocks: tuple[Block, ...] = (Paragraph(text=shortened(agreement_of(told), STATEMENT)), figure, _table(told, shown))
    return Section(id="drivers", title=title, blocks=blocks)


def _table(told: list[Answer], features: list[str]) -> Block:
    columns = [Column("feature")]
    for answer in told:
        columns += [Column("rank", "integer"), Column(answer.heading, "text", answer.said.unit)]
    held = [answer.table.drop_duplicates("feature").set_index("feature").to_dict("index") for answer in told]
    places = [ranks(answer.table) for answer in told]
    rows = []
    for feature in features:
        cells: list[Cell] = [clean(short(feature, LABEL))]
        for values, place in zip(held, places, strict=True):
            row = values.get(feature)
            told_ = value_words(row["estimate"], row["lower"], row["upper"]) if row else None
            cells += [place.get(feature), told_]
        rows.append(cells)
    note = ". ".join(f"{a.heading.capitalize()}: {a.method}" for a in told)
    caption = "Importance with its interval, where the method gives one."
    return make_table("drivers-table", caption, columns, rows, evidence=told[-1].result.id, note=f"{note}.")


def _compared(e: Evidence) -> Section | None:
    """Return what sets two models apart, in words."""
    found = comparison(e)
    if found is None:
        return None
    told = [
        replace(block, text=shortened(block.text, STATEMENT)) for block in found.blocks if isinstance(block, Paragraph)
    ]
    return Section(id="comparison", title=found.title, blocks=tuple(told[:3]))


def _untested(e: Evidence) -> Section:
    """Return what was not run, not judged, and left to people."""
    told = [f"{name(one.name)}: {shortened(sentence(one.reason), REASON)}" for one in e.run.not_run[:GAPS]]
    if len(e.run.not_run) > GAPS:
        told.append(f"{count(len(e.run.not_run) - GAPS, 'further part')} did not run.")
    unjudged = [name(o.check) for o in e.run.outcomes if o.state in ("not_applicable", "skipped")]
    if unjudged:
        told.append(f"Checks that reached no verdict: {joined(unjudged)}.")
    silent = [key.replace("_", " ") for key in PEOPLE if not e.about(key)]
    if silent:
        told.append(f"Open, for people to complete: {joined(silent)}.")
    told.append("No interval covers the fitting of the model; importance is not a causal effect.")
    return Section(id="untested", title="What was not tested", blocks=(Bullets(items=tuple(told)),))


def _identity(e: Evidence) -> Section:
    hashes = e.mapping("hashes")
    rows: tuple[tuple[str, Cell | Badge], ...] = (
        ("Owner", _said(e, "owner", FACT)),
        ("Validator", _said(e, "validator", FACT)),
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
