"""Every plugin as it was found, and what it did."""

from __future__ import annotations

from ...document.blocks import make_table
from ...document.document import Column, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import clean, name


def inventory(e: Evidence) -> Section:
    """Return the plugin inventory."""
    if not e.run.plugins:
        return Section(id="plugins", title="Plugins", blocks=(Paragraph(text="The plugins were not recorded."),))
    numbers = (Column("API", "integer"), Column("rows predicted", "integer"))
    columns = ("group", "name", "distribution", "version", *numbers, "outcome")
    rows = [
        (
            clean(p.group).removeprefix("uq_report."),
            name(p.name),
            name(p.distribution),
            name(p.version),
            p.api_version,
            p.rows_predicted,
            clean(p.outcome, 200),
        )
        for p in e.run.plugins
    ]
    text = "Every plugin that was found, built-in ones included, with the rows predicted for it and how it ended."
    table = make_table("plugins-table", "Plugins by group.", columns, rows)
    return Section(id="plugins", title="Plugins", blocks=(Paragraph(text=text), table))
