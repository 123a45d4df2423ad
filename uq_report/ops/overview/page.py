"""The page as data, one row per audit, and as HTML."""

from __future__ import annotations

import math
import os
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from ...core.errors import InputError
from ...core.text import clean
from ...document.document import Badge
from ...evidence import saved
from ...evidence.finding import SEVERITIES
from ...evidence.outcomes import LOG_SCORE
from ...render.environment import render
from ...report.overview import Link, Overview, Row, counted
from ...runner import plugins
from ..history import Filed, History
from .ratings import rated
from .spark import spark

TREND = 30  # runs
_REPORTS = ("report", "brief", "model-card")
_FORMATS = (".html", ".pdf", ".md")
_DELETED = Badge("Deleted", "neutral")
_CAPTION = (
    "The last run of each audit. The log score is the mean negative log-likelihood; lower is better. Trends run over "
    "the last runs, the newest on the right."
)


def write_overview(history: str | Path, page: str | Path) -> int:
    """Write the page over a history; return how many audits it lists.

    The same history gives the same bytes, and a page that would not change is left alone. Links are relative: page and
    history must stay where they are to each other.

    Raises
    ------
    InputError
        The history cannot be read, or the page not be written.
    """
    place, target = History(history), Path(page)
    if target.is_symlink() or target.is_dir():
        raise InputError(f"index.output must be a file, no link or folder; got {str(page)!r}. Name another.")
    listing = overview(place, target.parent)
    content = _drawn(listing)
    if not (target.is_file() and target.read_bytes() == content):
        saved.write_files(target.parent, {target.name: content})
    return len(listing.rows)


def check_page(history: str | Path, page: str | Path) -> list[str]:
    """Return what is wrong with a page that was written over a history: it must be the one over what is there now."""
    target = Path(page)
    content = _drawn(overview(History(history), target.parent))
    if not target.is_symlink() and target.is_file() and target.read_bytes() == content:
        return []
    remedy = f"Write it again: uq-report index {history} -o {target}."
    return [f"{target.name} is not the page over these runs: it was changed, or runs were filed since. {remedy}"]


def _drawn(listing: Overview) -> bytes:
    return render(None, "overview", document=listing, paged=False).encode()


def overview(history: History, folder: Path) -> Overview:
    """Return the page that stands in `folder`."""
    audits = [tuple(runs) for _, runs in groupby(history.runs(), key=lambda run: run.folder.parent.name)]
    rows = [_row(runs, folder) for runs in audits]
    return Overview(
        title="Audits",
        as_of=max((row.as_of for row in rows), default=""),
        generator=f"uq_report {plugins.versions(['uq_report']).get('uq_report', '')}".strip(),
        caption=_CAPTION,
        source="Made from the entries of the history",
        trends=True,
        rows=tuple(sorted(rows, key=lambda row: row.name)),
    )


def _row(runs: tuple[Filed, ...], folder: Path) -> Row:
    last, recent = runs[-1], runs[-TREND:]
    scores = [float(run.entry.scores[LOG_SCORE]) for run in recent if LOG_SCORE in run.entry.scores]
    return Row(
        name=last.entry.name,
        label=last.entry.label,
        as_of=last.entry.as_of,
        filed=last.entry.filed[:10],
        runs=len(runs),
        rating=rated(last) if last.present else _DELETED,
        findings=counted(last.entry.findings),
        score=spark("Log score in nats", [value for value in scores if math.isfinite(value)]),
        trend=spark("Open findings", [float(_open(run)) for run in recent], "g"),
        links=_links(last, folder),
    )


def _open(filed: Filed) -> int:
    return sum(filed.entry.findings.get(severity, 0) for severity in SEVERITIES)


def _links(filed: Filed, page_folder: Path) -> tuple[Link, ...]:
    """Return the reports that are there, HTML first; links of the file system are left out."""
    base = Path(os.path.relpath(filed.folder.resolve(), page_folder.resolve()))
    files = [filed.folder / f"{stem}{ending}" for stem in _REPORTS for ending in _FORMATS]
    return tuple(
        Link(clean(file.name), "./" + "/".join(quote(part, safe="") for part in (base / file.name).parts))
        for file in files
        if file.is_file() and not file.is_symlink()
    )
