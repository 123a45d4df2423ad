"""A run becomes a document: every section in its place, every number from the run's evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .. import figures
from ..document.document import Badge, Cell, CheckEntry, Document, Section
from ..document.evidence import Evidence, as_cell, version
from ..document.text import clean
from ..evidence.codec import sha256
from ..evidence.finding import Outcome
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from .attachments import attachments
from .placing import Placed
from .rating import counted, rating
from .sections.changes import changes
from .sections.comparison import comparison
from .sections.data import data
from .sections.drivers import prediction, uncertainty_drivers
from .sections.findings import findings
from .sections.limitations import limitations
from .sections.mapping import mapping
from .sections.methods import methods
from .sections.model import model
from .sections.monitoring import monitoring
from .sections.outcomes import outcomes
from .sections.references import references
from .sections.relations import relations
from .sections.reproducibility import reproducibility
from .sections.robustness import robustness
from .sections.signoff import sign_off
from .sections.soundness import soundness
from .sections.summary import summary
from .sections.uncertainty import uncertainty
from .side_by_side import merged

DRAFT = "DRAFT"


def document(run: Run, *, title: str | None = None, subtitle: str | None = None) -> Document:
    """Return the report of a run; it needs neither the model nor the data.

    Parameters
    ----------
    run : Run
    title, subtitle : str, optional
        Instead of those in the run's settings, or ours.
    """
    e = read(run)
    sections: Sequence[Section | None] = _sections(e)
    if run.challenger is not None:
        other = read(run.challenger)
        names = (f"Champion: {clean(as_cell(e.subject.label), 60)}", f"Challenger: {clean(other.subject.label, 60)}")
        sections = (comparison(e), *merged(sections, _sections(other), names))
    label = str(as_cell(e.subject.label))
    cover = shell(
        e,
        title=title or e.about("title") or f"Uncertainty audit of {label}",
        subtitle=subtitle or f"What drives the prediction, the loss and the uncertainty of {label}",
    )
    body = tuple(section for section in sections if section is not None)
    whole = (*body, *_appendices(e, body, cover.evidence_sha256))
    return replace(cover, sections=whole, attachments=attachments(run, whole))


def shell(e: Evidence, *, title: str, subtitle: str, kind: str = "audit") -> Document:
    """Return the document of a run without its sections and attachments: cover, rating, banner and checks."""
    run = e.run
    return Document(
        title=clean(title, 200),
        subtitle=clean(subtitle, 300),
        as_of=clean(run.as_of, 20),
        generator=f"uq_report {clean(version(run.environment, 'uq_report'), 40)}".strip(),
        evidence_sha256=sha256(run),
        facts=_cover(e),
        layout="portrait" if run.challenger is None else "landscape",
        kind=kind,
        banner=_banner(e),
        rating=rating(run.outcomes),
        checks=_checks(run),
    )


def read(run: Run) -> Evidence:
    """Return a run as sections read it, with the registered figures."""
    return Evidence(run, partial(figures.draw, deny=run.denied))


def _sections(e: Evidence) -> tuple[Section | None, ...]:
    """Return the chapters on one model, in the order of the table of contents."""
    placed = Placed(e)
    return (
        summary(e),
        findings(e),
        changes(e),
        model(e),
        data(e, placed),
        soundness(e, placed),
        outcomes(e, placed),
        uncertainty(e, placed),
        prediction(e, placed),
        uncertainty_drivers(e, placed),
        relations(e, placed),
        robustness(placed),
        monitoring(e),
        limitations(e),
        sign_off(e),
    )


def _appendices(e: Evidence, body: tuple[Section, ...], digest: str) -> tuple[Section, ...]:
    """Return the appendices on the run as a whole, and the index of what was cited."""
    again, cards = reproducibility(e, digest), methods(e)
    appendices = (again, mapping(e, (*body, again, cards)), cards)
    return tuple(replace(section, appendix=True) for section in (*appendices, references((*body, *appendices))))


def _banner(e: Evidence) -> str:
    """Return the classification, and that this is a draft unless people said it is final."""
    draft = "" if e.about("status") == "final" else DRAFT
    return " · ".join(filter(None, (clean(e.about("classification"), 60), draft)))


def _cover(e: Evidence) -> tuple[tuple[str, Cell], ...]:
    other = e.run.challenger
    challenger: tuple[tuple[str, Cell], ...] = ()
    if other is not None:
        challenger = (
            ("Challenger", as_cell(SubjectFacts.of(other).label)),
            ("Rating of the challenger", rating(other.outcomes)),
        )
    return (
        ("Model", as_cell(e.subject.label)),
        ("Version", e.said("version")),
        ("Class", as_cell(e.subject.model_class)),
        ("Rows", as_cell(e.subject.n)),
        ("Open findings", counted(e.findings)),
        ("Calibration gate", Badge(e.gate.word, e.gate.tone)),
        ("Status", e.about("status") or "draft"),
        ("Seed", as_cell(e.run.settings.get("seed"))),
        *challenger,
    )


def _checks(run: Run) -> tuple[CheckEntry, ...]:
    """Return how every check ended, for machines, those of a challenger under names of their own."""
    other = run.challenger.outcomes if run.challenger is not None else ()
    return (*(_check(one) for one in run.outcomes), *(_check(one, "challenger.") for one in other))


def _check(outcome: Outcome, prefix: str = "") -> CheckEntry:
    """Return how a check ended; waived findings are no failures."""
    return CheckEntry(
        name=f"{prefix}{clean(outcome.check, 120)}",
        title=clean(outcome.title or outcome.check, 200),
        state=outcome.state,
        reason=clean(outcome.reason),
        findings=tuple((clean(f.code, 20), f.severity, clean(f.statement)) for f in outcome.findings),
    )
