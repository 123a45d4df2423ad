"""A run becomes a document: every section in its place, every number from the run's evidence."""

from __future__ import annotations

from ..core.run import Run
from ..store.codec import sha256
from .document import Badge, Cell, Document, Section
from .evidence import Evidence, as_cell, severity_badge, version
from .sections.agreement import agreement
from .sections.comparison import comparison
from .sections.covered import covered
from .sections.dependence import dependence
from .sections.drivers import drivers
from .sections.findings import findings
from .sections.interactions import interactions
from .sections.inventory import inventory
from .sections.libraries import dalex, others, shap
from .sections.likelihood_map import likelihood_map
from .sections.local_effects import local_effects
from .sections.methods import methods
from .sections.missing import not_run
from .sections.model import model_and_data
from .sections.outcome import outcome
from .sections.profiles import profiles
from .sections.reproducibility import reproducibility
from .sections.sensitivity import sensitivity
from .sections.summary import summary
from .side_by_side import merged
from .text import clean


def document(run: Run, *, title: str | None = None, subtitle: str | None = None) -> Document:
    """Return the report of a run; it needs neither the model nor the data.

    Parameters
    ----------
    run : Run
    title, subtitle : str, optional
        Instead of those in the run's settings, or ours.
    """
    e = Evidence(run)
    digest = sha256(run)
    sections: tuple[Section | None, ...]
    if run.challenger is None:
        sections = (*_sections(e), *_appendix(e, digest))
    else:
        names = ("Champion: " + clean(e.fact("label"), 60), "Challenger: " + clean(run.challenger.subject["label"], 60))
        both = merged(_sections(e), _sections(Evidence(run.challenger)), names)
        sections = (comparison(e), *both, *_appendix(e, digest))
    label = str(e.fact("label"))
    return Document(
        title=clean(title or e.about("title") or f"Uncertainty audit of {label}", 200),
        subtitle=clean(subtitle or f"What drives the prediction, the loss and the uncertainty of {label}", 300),
        as_of=clean(run.as_of, 20),
        generator=f"uq_report {clean(version(run.environment, 'uq_report'), 40)}".strip(),
        evidence_sha256=digest,
        facts=_cover(e),
        sections=tuple(section for section in sections if section is not None),
        layout="portrait" if run.challenger is None else "landscape",
    )


def _sections(e: Evidence) -> tuple[Section | None, ...]:
    """Return what is told of one model."""
    return (
        summary(e),
        findings(e),
        model_and_data(e),
        outcome(e),
        drivers(e),
        likelihood_map(e),
        agreement(e),
        profiles(e),
        local_effects(e),
        dependence(e),
        covered(e),
        interactions(e),
        sensitivity(e),
        dalex(e),
        shap(e),
        *others(e),
        not_run(e),
    )


def _appendix(e: Evidence, digest: str) -> tuple[Section | None, ...]:
    """Return what is told of the run as a whole."""
    return (methods(e), inventory(e), reproducibility(e, digest))


def _cover(e: Evidence) -> tuple[tuple[str, Cell], ...]:
    worst = (
        severity_badge(e.findings[0].severity) if e.findings else Badge("none", "good" if e.run.outcomes else "unknown")
    )
    return (
        ("Model", e.fact("label")),
        ("Class", e.fact("model_class")),
        ("Rows", e.fact("n")),
        ("Calibration gate", Badge(e.gate.word, e.gate.tone)),
        ("Worst finding", worst),
        ("Seed", as_cell(e.run.settings.get("seed"))),
    )
