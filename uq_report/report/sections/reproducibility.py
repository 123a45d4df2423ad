"""All that is needed to make this report again, and to see that it was not changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...document.blocks import make_table
from ...document.document import Block, Callout, Cell, Column, Facts, Paragraph, Section, Table
from ...document.evidence import Evidence, as_cell
from ...document.text import ABSENT, clean, name
from .inventory import inventory

TITLE = "Reproducibility"
RUNTIME = ("python", "platform")
LEAD = (
    "The report is made from run.json alone, which travels inside the PDF: the rebuild command writes the report again "
    "without the model, and the verify command checks hashes, printed numbers and bytes. The same run.json, versions "
    "and fonts give the same bytes. To compute the numbers again, audit the model and data with the hashes printed in "
    "“Data and lineage”, with these settings and versions."
)
FILES = (
    "Attached to the PDF: run.json, which is the copy for programs; the estimates of each result as "
    "“<result>.estimates.csv”, except for curves and single rows; and “table-….csv” for tables that are not printed in "
    "full. CSV files are guarded for spreadsheets: text they would take for a formula has a leading '."
)


def reproducibility(e: Evidence, sha256: str) -> Section:
    """Return how to rebuild and verify the report, its hashes, seeds, settings, versions and plugins."""
    return Section(
        id="reproducibility",
        title=TITLE,
        blocks=(*_warning(e), Paragraph(text=LEAD), Facts(rows=_facts(e, sha256))),
        sections=(
            Section(id="reproducibility-settings", title="Settings", blocks=(_settings(e), _options(e))),
            Section(id="reproducibility-versions", title="Versions", blocks=(_versions(e),)),
            Section(id="reproducibility-evidence", title="Evidence", blocks=(Paragraph(text=FILES), _results(e))),
            inventory(e),
        ),
    )


def _warning(e: Evidence) -> tuple[Block, ...]:
    """Say first that another run may give other numbers, where that is so."""
    reason = clean(e.run.not_reproducible)
    if not reason:
        return ()
    text = f"Another run of the same inputs may give other results: {reason}. What was cut is listed as not run."
    return (Callout(tone="warning", title="This run cannot be computed again", text=text),)


def _facts(e: Evidence, sha256: str) -> tuple[tuple[str, Cell], ...]:
    return (
        ("Rebuild", "uq-report render run.json"),
        ("Verify", "uq-report verify report.pdf"),
        ("SHA-256 of run.json", sha256),
        ("Logical date", clean(e.run.as_of, 20)),
        ("Seed", as_cell(e.run.settings.get("seed"))),
        ("Run format", e.run.format),
        *((key.capitalize(), as_cell(e.run.environment.get(key))) for key in RUNTIME),
    )


def _settings(e: Evidence) -> Table:
    settings = flat(e.run.settings)
    rows = [(name(key), _setting(value)) for key, value in settings if value or not key.startswith("about.")]
    caption = "Settings of the run. Texts about the model that were not given stand as open in their sections."
    return make_table("settings-table", caption, [Column("setting"), Column("value")], rows or [(ABSENT, "")])


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested settings with dotted keys, in the order of the keys.

    Examples
    --------
    >>> list(flat({"seed": 1, "options": {"pfi": {"n_repeats": 5}}}))
    [('options.pfi.n_repeats', 5), ('seed', 1)]
    """
    for key, value in sorted(settings.items()):
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _setting(value: Any) -> str:
    """Return a setting as text; what was not set is the default, and empty parts of a list are left out."""
    if isinstance(value, list | tuple):
        value = [{k: v for k, v in one.items() if v != ""} if isinstance(one, Mapping) else one for one in value]
    return "default" if value is None or value == "" else clean(as_cell(value), 300)


def _versions(e: Evidence) -> Table:
    rows = [(name(key), clean(value)) for key, value in flat(e.run.environment) if key not in RUNTIME]
    rows = [(key.removeprefix("packages."), value) for key, value in rows]
    columns = ("package", "version")
    return make_table("versions-table", "Versions of the packages in use.", columns, rows or [(ABSENT, "")])


def _options(e: Evidence) -> Table:
    """List the options of each explainer that ran, which are its provenance."""
    rows = [
        (name(m.name), "; ".join(f"{name(k)} = {_setting(v)}" for k, v in sorted(m.options.items())) or "none")
        for m in e.run.methods
    ]
    columns = ("explainer", "options as used")
    return make_table("options-table", "Options of each explainer.", columns, rows or [(ABSENT, "")])


def _results(e: Evidence) -> Table:
    columns = [Column("result"), Column("kind"), Column("rows", "integer"), Column("what it is")]
    rows = [(clean(r.id, 120), r.kind, len(r.frame), clean(r.title, 200)) for r in e.run.results]
    return make_table("results-table", "Results in the evidence.", columns, rows or [(ABSENT, "", 0, "")])
