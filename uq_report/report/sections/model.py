"""Which model this is, what it is for and how much rests on it: as recorded, and as people said."""

from __future__ import annotations

from ..blocks import make_table
from ..document import Cell, Column, Facts, Paragraph, Section, Table
from ..evidence import Evidence, as_cell
from ..text import clean

TITLE = "Model, purpose and materiality"
LEAD = "What only people can say comes from the settings of the audit; where they said nothing it stands open."
SAID = (
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
    purpose = Facts(rows=tuple((label, e.said(key)) for label, key in SAID))
    identity = Section(id="model-identity", title="Identity", blocks=(Facts(rows=_identity(e)),))
    table = _parameters(e)
    parameters = Section(
        id="model-parameters", title="Parameters", blocks=(table or Paragraph(text="No parameters were recorded."),)
    )
    return Section(id="model", title=TITLE, blocks=(Paragraph(text=LEAD), purpose), sections=(identity, parameters))


def _identity(e: Evidence) -> tuple[tuple[str, Cell], ...]:
    sources = e.mapping("sources")
    return (
        ("Name", e.fact("label")),
        ("Version", e.said("version")),
        ("Class", e.fact("model_class")),
        ("File", as_cell(sources.get("model"))),
        *(
            (("Caution", as_cell(e.mapping("sources")["model_loading"])),)
            if "model_loading" in e.mapping("sources")
            else ()
        ),
        ("SHA-256", as_cell(e.mapping("hashes").get("model"))),
        ("Task", e.fact("task")),
        ("Predictive distribution", e.fact("family")),
        ("Classes", e.fact("classes")),
        ("Positive class", e.fact("positive_class")),
        ("Read by the adapter", e.fact("adapter")),
        ("Why this adapter", e.fact("adapter_reason")),
    )


def _parameters(e: Evidence) -> Table | None:
    rows = [(clean(key, 200), clean(value, 300)) for key, value in e.mapping("model_parameters").items()]
    columns = [Column("parameter"), Column("value")]
    return make_table("model-parameters-table", "Parameters of the model.", columns, rows) if rows else None
