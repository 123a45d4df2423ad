"""The files that travel inside a report: the run itself, and the numbers behind its figures and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from ..core.text import file_stem
from ..document.document import Attachment, Badge, Cell, Section, Table, inside
from ..document.evidence import Evidence
from ..document.text import unmarked
from ..evidence.run import Run
from ..evidence.saved import RUN, guarded_csv

CSV = "text/csv"
# Every point of a curve, every row of a local explanation: those stand in run.json, which keeps a report small.
POINTS = ("profile", "attribution")


def attachments(e: Evidence, sections: Iterable[Section]) -> tuple[Attachment, ...]:
    """Return run.json, then a guarded CSV of each result's estimates and of each table that is not printed in full."""
    own = Attachment(RUN, e.content, "application/json", "The run: every number of this report")
    tables = (
        Attachment(table.attachment, _csv(table), CSV, f"All rows of: {table.caption}")
        for table in tables_in(sections)
        if table.rest
    )
    return (own, *_estimates(e.run), *tables)


def _estimates(run: Run) -> Iterator[Attachment]:
    for result in run.results:
        if len(result.estimates) and result.kind not in POINTS:
            name = f"{file_stem(result.id)}.estimates.csv"
            yield Attachment(name, guarded_csv(result.estimates), CSV, f"Estimates of {result.id}")


def tables_in(sections: Iterable[Section]) -> Iterator[Table]:
    """Yield every table of sections and those inside them."""
    for section in sections:
        yield from (block for block in inside(section.blocks) if isinstance(block, Table))
        yield from tables_in(section.sections)


def _csv(table: Table) -> bytes:
    heads = [f"{column.label} ({column.unit})" if column.unit else column.label for column in table.columns]
    cells = [[_value(cell) for cell in row] for row in (*table.rows, *table.rest)]
    frame = pd.DataFrame(cells, columns=pd.RangeIndex(len(heads)))
    frame.columns = pd.Index(heads)
    return guarded_csv(frame)


def _value(cell: Cell) -> Cell:
    return cell.text if isinstance(cell, Badge) else unmarked(cell) if isinstance(cell, str) else cell
