"""Write one page over all audits of a history: recommendation, trend and reports of each."""

import logging
import math
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from ..core.support.errors import InputError, UQReportError
from ..core.support.text import clean, count
from ..document.document import Badge
from ..evidence import disk, run_folder
from ..evidence.disk import RUN
from ..evidence.finding import SEVERITIES
from ..evidence.outcomes import LOG_SCORE
from ..reading.rating import WORDS, rating
from ..render.environment import render
from ..report.overview import Link, Overview, Row, Spark, counted
from ..runner import plugins
from .history import FiledRun, History

UNREADABLE = Badge("Cannot be read", "unknown")
_log = logging.getLogger(__name__)


def rated(filed: FiledRun) -> Badge:
    """Return the recommendation of a run that is kept; of an entry that has none, the run is read."""
    try:
        if not disk.match(filed.folder, {RUN: filed.entry.run_sha256}, [RUN]):
            _log.warning("Not rated: %s: run.json is not the file that was filed", filed.entry.reference)
            return UNREADABLE
        if filed.entry.recommendation in WORDS:
            return WORDS[filed.entry.recommendation]
        return rating(run_folder.read(filed.folder)[0].outcomes)
    except UQReportError as error:
        _log.warning("Not rated: %s: %s", filed.entry.reference, error)
        return UNREADABLE


WIDTH, HEIGHT, EDGE = 120, 28, 4
_COLOUR = "#5b7fa6"  # 3 to 1 and more against the light and the dark page


def spark(what: str, values: Sequence[float], form: str = ".3g") -> Spark | None:
    """Return the line of values in the order of their runs, its last one marked; None for no values.

    Examples
    --------
    >>> spark("log score", [0.5, 0.25]).alt
    'log score over 2 runs: 0.5, now 0.25'
    """
    if not values:
        return None
    low, span = min(values), (max(values) - min(values)) or 1.0
    across, tall = (WIDTH - 2 * EDGE) / max(1, len(values) - 1), HEIGHT - 2 * EDGE
    flat = min(values) == max(values)
    points = [
        (EDGE + i * across, HEIGHT / 2 if flat else EDGE + tall * (1 - (value - low) / span))
        for i, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<polyline points="{line}" fill="none" stroke="{_COLOUR}" stroke-width="1.5"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{_COLOUR}"/></svg>'
    )
    now = f"{values[-1]:{form}}"
    return Spark(svg.encode(), f"{what} over {count(len(values), 'run')}: {values[0]:{form}}, now {now}", now)


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
        run_folder.write_files(target.parent, {target.name: content})
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


def _row(runs: tuple[FiledRun, ...], folder: Path) -> Row:
    last, recent = runs[-1], runs[-TREND:]
    scores = [float(run.entry.scores[LOG_SCORE]) for run in recent if LOG_SCORE in run.entry.scores]
    counts = [sum(run.entry.findings.get(severity, 0) for severity in SEVERITIES) for run in recent]
    return Row(
        name=last.entry.name,
        label=last.entry.label,
        as_of=last.entry.as_of,
        filed=last.entry.filed[:10],
        runs=len(runs),
        recommendation=rated(last) if last.present else _DELETED,
        findings=counted(last.entry.findings),
        score=spark("Log score in nats", [value for value in scores if math.isfinite(value)]),
        trend=spark("Open findings", counts, "g"),
        links=_links(last, folder),
    )


def _links(filed: FiledRun, page_folder: Path) -> tuple[Link, ...]:
    """Return the reports that are there, HTML first; links of the file system are left out."""
    base = Path(os.path.relpath(filed.folder.resolve(), page_folder.resolve()))
    files = [filed.folder / f"{stem}{ending}" for stem in _REPORTS for ending in _FORMATS]
    return tuple(
        Link(clean(file.name), "./" + "/".join(quote(part, safe="") for part in (base / file.name).parts))
        for file in files
        if file.is_file() and not file.is_symlink()
    )
