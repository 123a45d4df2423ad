"""The first page, findings first: rating and rule, top findings, scope, the gate, and one chart."""

from __future__ import annotations

from ...core.text import count
from ..document import Badge, Block, Bullets, Callout, Facts, Paragraph, Section
from ..evidence import Evidence
from ..questions import Answer, answers
from ..rating import RULE, rating
from ..telling import agreement_words, ordered
from ..text import clean, sentence
from .changes import in_short
from .findings import counted, ended, nothing_open
from .ranking import side_by_side

TITLE = "Executive summary"
SHARED = 3
TOP = 3
SHOWN = 6  # features in the chart, so that the summary stays on one page


def summary(e: Evidence) -> Section:
    """Return the summary."""
    told = answers(e)
    blocks: list[Block] = [Facts(rows=_counts(e)), Paragraph(text=RULE), top_findings(e), Paragraph(text=scope(e))]
    blocks.append(_gate(e))
    if told:
        blocks += [Paragraph(text=agreement_of(told)), *side_by_side(told, SHOWN)]
    return Section(id="summary", title=TITLE, blocks=tuple(blocks))


def scope(e: Evidence) -> str:
    """Say in one sentence what was examined."""
    n, d = e.number("n"), e.number("d")
    rows = f"{count(n, 'row')} of {count(d, 'feature')}" if n is not None and d is not None else "the rows given"
    total = e.number("sampled_from")
    sampled = f", drawn at random from {total}" if total else ""
    truth = "" if e.run.subject.get("has_y") else " The outcomes of these rows were not given."
    return (
        f"This report examines “{e.fact('label')}” ({e.fact('model_class')}). Its {e.fact('family')} predictive "
        f"distribution was evaluated on {rows}{sampled}, as of {clean(e.run.as_of, 20)}.{truth}"
    )


def top_findings(e: Evidence, top: int = TOP) -> Block:
    """Return the worst findings, and how many there are beside them."""
    if not e.findings:
        return Paragraph(text=nothing_open(e))
    told = [f"{f.code} ({f.severity}): {sentence(f.title)} {sentence(f.statement)}" for f in e.findings[:top]]
    more = len(e.findings) - top
    if more > 0:
        told.append(f"{count(more, 'further finding')}: see “Findings register”.")
    return Bullets(items=tuple(told))


def _gate(e: Evidence) -> Callout:
    text = e.gate.reason if e.gate.passed else f"{e.gate.reason} Explanations of uncertainty below carry this warning."
    return Callout(tone=e.gate.tone, title=f"Calibration gate: {e.gate.word}", text=text, evidence=("calibration",))


def _counts(e: Evidence) -> tuple[tuple[str, str | Badge], ...]:
    """Return the overall rating and the counts that must not be hidden."""
    gaps = sum(len(result.omissions) for result in e.run.results)
    missing = f"{count(len(e.run.not_run), 'part')} not run, {count(gaps, 'omission')} inside parts that ran"
    changes = e.run.changes
    return (
        ("Overall rating", rating(e.run.outcomes)),
        ("Open findings", counted(e.findings)),
        ("Waived findings", counted(tuple(one.finding for one in e.waived))),
        ("Checks", ended(e)),
        ("Not run", missing),
        ("Changes", "No previous run was given." if changes is None else in_short(changes)),
    )


def agreement_of(told: list[Answer]) -> str:
    """Say which leading features the questions share."""
    lead = "What drives a model's prediction, its loss and its uncertainty need not be the same."
    tops = [(a.heading, [str(f) for f in ordered(a.table)["feature"].head(SHARED)]) for a in told]
    return f"{lead} {agreement_words(tops)}".strip()
