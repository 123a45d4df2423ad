"""Which model this is, what it is for and how much rests on it: as recorded, and as people said."""

from __future__ import annotations

from ...document.blocks import make_table
from ...document.document import Cell, Facts, Paragraph, Section, Table
from ...document.evidence import Evidence, as_cell
from ...document.text import clean

TITLE = "Model, purpose and materiality"
LEAD = "What only people can say comes from the settings of the audit; where they said nothing it stands open."
TEXTS = (
    ("Purpose", "purpose"),
    ("Intended use", "intended_use"),
    ("Out of scope", "out_of_scope"),
    ("Materiality: exposure and reliance", "materiality"),
    ("Users", "users"),
    ("Owner", "owner"),
    ("Tier", "tier"),
    ("Next review", "next_review"),
)


def model(e: Evidence) -> Section:
    """Return purpose and materiality, the model's identity, and its parameters."""
    purpose = Facts(rows=tuple((label, e.said(key)) for label, key in TEXTS))
    identity = Section(id="model-identity", title="Identity", blocks=(Facts(rows=_identity(e)),))
    table = _parameters(e)
    parameters = Section(
        id="model-parameters", title="Parameters", blocks=(table or Paragraph(text="No parameters were recorded."),)
    )
    return Section(id="model", title=TITLE, blocks=(Paragraph(text=LEAD), purpose), sections=(identity, parameters))


def _identity(e: Evidence) -> tuple[tuple[str, Cell], ...]:
    about = e.subject
    caution = about.sources.get("model_loading")
    return (
        ("Name", as_cell(about.label)),
        ("Version", e.said("version")),
        ("Class", as_cell(about.model_class)),
        ("File", as_cell(about.sources.get("model"))),
        *((("Caution", as_cell(caution)),) if caution is not None else ()),
        ("SHA-256", as_cell(about.hashes.get("model"))),
        ("Task", as_cell(about.task)),
        ("Predictive distribution", as_cell(about.family)),
        ("Classes", as_cell(about.classes)),
        ("Positive class", as_cell(about.positive_class)),
        *((("Decides for", as_cell(about.decisions)),) if about.decisions else ()),
        ("Read by the adapter", as_cell(about.adapter)),
        ("Why this adapter", as_cell(about.adapter_reason)),
        *((("How it is called", as_cell(" ".join(about.notes))),) if about.notes else ()),
    )


def _parameters(e: Evidence) -> Table | None:
    rows = [(clean(key, 200), clean(value, 300)) for key, value in e.subject.model_parameters.items()]
    columns = ("parameter", "value")
    return make_table("model-parameters-table", "Parameters of the model.", columns, rows) if rows else None
