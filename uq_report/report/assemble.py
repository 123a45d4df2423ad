"""A run becomes a document: every section in its place, every number from the run's evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.finding import Outcome
from ..core.run import Run
from ..store.codec import sha256
from .attachments import attachments
from .document import Badge, Cell, CheckEntry, Document, Section
from .evidence import Evidence, as_cell, version
from .rating import rating
from .sections.changes import changes
from .sections.comparison import comparison
from .sections.data import data
from .sections.drivers import prediction, uncertainty_drivers
from .sections.findings import counted, findings
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
from .text import clean

DRAFT = "DRAFT"


def document(run: Run, *, title: str | None = None, subtitle: str | None = None) -> Document:
    """Return the report of a run; it needs neither the model nor the data.

    Parameters
    ----------
    run : Run
    title, subtitle : str, optional
        Instead of those in the run's settings, or ours.
    """
    e = Evidence(run)
    told: Sequence[Section | None] = _sections(e)
    if run.challenger is not None:
        names = ("Champion: " + clean(e.fact("label"), 60), "Challenger: " + clean(run.challenger.subject["label"], 60))
        told = (comparison(e), *merged(told, _sections(Evidence(run.challenger)), names))
    label = str(e.fact("label"))
    made = shell(
        run,
        title=title or e.about("title") or f"Uncertainty audit of {label}",
        subtitle=subtitle or f"What drives the prediction, the loss and the uncertainty of {label}",
    )
    body = tuple(section for section in told if section is not None)
    sections = (*body, *_appendices(e, body, made.evidence_sha256))
    return replace(made, sections=sections, attachments=attachments(run, sections))


def shell(run: Run, *, title: str, subtitle: str, kind: str = "audit") -> Document:
    """Return the document of a run without its sections and attachments: cover, rating, banner and checks."""
    e = Evidence(run)
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


def _sections(e: Evidence) -> tuple[Section, ...]:
    """Return what is told of one model, in the order of the table of contents."""
    return (
        summary(e),
        findings(e),
        changes(e),
        model(e),
        data(e),
        soundness(e),
        outcomes(e),
        uncertainty(e),
        prediction(e),
        uncertainty_drivers(e),
        relations(e),
        robustness(e),
        monitoring(e),
        limitations(e),
        sign_off(e),
    )


def _appendices(e: Evidence, body: tuple[Section, ...], digest: str) -> tuple[Section, ...]:
    """Return what is told of the run as a whole, and the index of what was cited."""
    again, cards = reproducibility(e, digest), methods(e)
    found = (again, mapping(e, (*body, again, cards)), cards)
    return tuple(replace(section, appendix=True) for section in (*found, references((*body, *found))))


def _banner(e: Evidence) -> str:
    """Return the classification, and that this is a draft unless people said it is final."""
    draft = "" if e.about("status") == "final" else DRAFT
    return " · ".join(filter(None, (clean(e.about("classification"), 60), draft)))


def _cover(e: Evidence) -> tuple[tuple[str, Cell], ...]:
    other = e.run.challenger
    challenger: tuple[tuple[str, Cell], ...] = ()
    if other is not None:
        challenger = (
            ("Challenger", as_cell(other.subject.get("label"))),
            ("Rating of the challenger", rating(other.outcomes)),
        )
    return (
        ("Model", e.fact("label")),
        ("Version", e.said("version")),
        ("Class", e.fact("model_class")),
        ("Rows", e.fact("n")),
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
