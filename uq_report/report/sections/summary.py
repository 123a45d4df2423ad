"""The first page, findings first: rating and rule, top findings, scope, the gate, and one chart."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.text import count
from ...document.document import Badge, Block, Bullets, Facts, Paragraph, Section
from ...document.evidence import Evidence, as_cell
from ...document.questions import Answer, answers
from ...document.telling import agreement_words
from ...document.text import clean, sentence
from ..rating import counted, rating, rests_on
from ..unjudged import confirmed, unjudged
from .changes import in_short
from .findings import nothing_open
from .ranking import side_by_side
from .rules import ended
from .uncertainty import gate

TITLE = "Executive summary"
SHARED = 3
TOP = 3
IN_CHART = 6  # features in the chart, so that the summary stays on one page


def summary(e: Evidence) -> Section:
    """Return the summary."""
    answered = answers(e)
    blocks: list[Block] = [*_paragraphs(rests_on(e.run.outcomes), unjudged(e)), Facts(rows=_counts(e))]
    blocks += [_top_findings(e), Paragraph(text=scope(e))]
    warned = "" if e.gate.passed else " Explanations of uncertainty below carry this warning."
    blocks += [gate(e, f"{e.gate.reason}{warned}"), *_paragraphs(confirmed(e))]
    if answered:
        blocks += [Paragraph(text=agreement_of(answered)), *side_by_side(answered, IN_CHART)]
    return Section(id="summary", title=TITLE, blocks=tuple(blocks))


def _paragraphs(*texts: str) -> list[Paragraph]:
    return [Paragraph(text=text) for text in texts if text]


def scope(e: Evidence) -> str:
    """Say in one sentence what was examined."""
    about = e.subject
    counted_rows = about.n is not None and about.d is not None
    rows = f"{count(about.n or 0, 'row')} of {count(about.d or 0, 'feature')}" if counted_rows else "the rows given"
    sampled = f", drawn at random from {about.sampled_from}" if about.sampled_from else ""
    truth = "" if about.has_y else " The outcomes of these rows were not given."
    return (
        f"This report examines “{as_cell(about.label)}” ({as_cell(about.model_class)}). Its {as_cell(about.family)} "
        f"predictive distribution was evaluated on {rows}{sampled}, as of {clean(e.run.as_of, 20)}.{truth}"
    )


def _top_findings(e: Evidence) -> Block:
    """Return the worst findings, and how many there are beside them."""
    if not e.findings:
        return Paragraph(text=nothing_open(e))
    items = [f"{f.code} ({f.severity}): {sentence(f.title)} {sentence(f.statement)}" for f in e.findings[:TOP]]
    more = len(e.findings) - TOP
    if more > 0:
        items.append(f"{count(more, 'further finding')}: see “Findings register”.")
    return Bullets(items=tuple(items))


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


def agreement_of(answered: Sequence[Answer]) -> str:
    """Say which leading features the questions share."""
    lead = "What drives a model's prediction, its loss and its uncertainty need not be the same."
    return f"{lead} {agreement_words([a.places for a in answered], SHARED)}".strip()
