"""Which model this is, what it is for and how much rests on it: as recorded, and as people said."""

from __future__ import annotations

from ...core.support.text import count
from ...document.blocks import paragraphs, tables
from ...document.document import Block, Cell, Facts, Section
from ...document.text import clean
from ...reading.run_reader import RunReader, as_cell

TITLE = "Model, purpose and materiality"
LEAD = "What only people can say comes from the settings of the audit; where they said nothing it stands open."
TEXTS = (
    ("Purpose", "purpose"), ("Intended use", "intended_use"), ("Out of scope", "out_of_scope"),
    ("Assumptions and design choices", "assumptions"), ("Materiality: exposure and reliance", "materiality"),
    ("Users", "users"), ("Owner", "owner"), ("Tier", "tier"), ("When a threshold is crossed", "response"),
    ("Next review", "next_review"),
)  # fmt: skip
WITH_METHODS = ("assumptions", "response")  # which the sections by method open with


def model(e: RunReader, *, whole: bool = True) -> Section:
    """Return purpose and materiality, the model's identity, and the parameters somebody chose, or all of them."""
    texts = [(label, key) for label, key in TEXTS if not (whole and key in WITH_METHODS)]
    purpose = Facts(rows=tuple((label, e.about_cell(key)) for label, key in texts))
    identity = Section(id="model-identity", title="Identity", blocks=(Facts(rows=_identity(e)),))
    parameters = Section(id="model-parameters", title="Parameters", blocks=_parameters(e, whole=whole))
    return Section(id="model", title=TITLE, blocks=(*paragraphs(LEAD), purpose), sections=(identity, parameters))


def _identity(e: RunReader) -> tuple[tuple[str, Cell], ...]:
    about = e.subject
    caution = about.sources.get("model_loading")
    return (
        ("Name", as_cell(about.label)),
        ("Version", e.about_cell("version")),
        ("Class", as_cell(about.model_class)),
        ("File", as_cell(about.sources.get("model"))),
        *((("Caution", as_cell(caution)),) if caution is not None else ()),
        ("SHA-256", as_cell(about.hashes.get("model"))),
        ("Task", as_cell(about.task)),
        ("Predictive distribution", as_cell(about.family)),
        ("Classes", as_cell(about.classes)),
        (_positive(e), as_cell(about.positive_class)),
        *((("Decides for", as_cell(about.decisions)),) if about.decisions else ()),
        ("Read by the adapter", as_cell(about.adapter)),
        ("Why this adapter", as_cell(about.adapter_reason)),
        *((("How it is called", as_cell(" ".join(about.notes))),) if about.notes else ()),
    )


def _positive(e: RunReader) -> str:
    """Return what the class is called whose probability is the prediction: of several classes none is positive."""
    return "Class whose probability is shown" if len(e.subject.classes or ()) > 2 else "Positive class"


def chosen(e: RunReader) -> dict[str, str] | None:
    """Return the model's parameters that differ from their defaults; None where that is not recorded."""
    at_default = e.subject.parameters_at_default
    if at_default is None:
        return None
    return {key: value for key, value in e.subject.model_parameters.items() if key not in at_default}


def _parameters(e: RunReader, *, whole: bool) -> tuple[Block, ...]:
    every, differing = e.subject.model_parameters, chosen(e)
    if not every:
        return paragraphs("No parameters were recorded.")
    rows = [(clean(key, 200), clean(value, 300)) for key, value in (every if whole else differing or {}).items()]
    caption = "Parameters of the model." if whole else "Parameters of the model that differ from their defaults."
    table = tables("model-parameters-table", caption, ("parameter", "value"), rows)
    return (*paragraphs(_counted(len(every), differing)), *table)


def _counted(many: int, differing: dict[str, str] | None) -> str:
    """Say how many parameters somebody chose.

    Examples
    --------
    >>> _counted(43, {"max_depth": "8"}), _counted(1, None)
    ('1 of 43 parameters differs from its default.', '1 parameter was recorded, not which were chosen.')
    """
    if differing is None:
        return f"{count(many, 'parameter')} {'was' if many == 1 else 'were'} recorded, not which were chosen."
    if not differing:
        return f"None of {count(many, 'parameter')} differs from its default."
    verb = "differs from its default" if len(differing) == 1 else "differ from their defaults"
    return f"{len(differing)} of {count(many, 'parameter')} {verb}."
