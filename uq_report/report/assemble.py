"""A run becomes a document: every section in its place, and the run itself and more numbers as attachments."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from ..core.support.text import file_stem
from ..document.document import Attachment, Badge, Cell, CheckEntry, Document, Figure, Section, Table, blocks_in
from ..document.text import clean, unmarked
from ..evidence import ids
from ..evidence.disk import RUN
from ..evidence.finding import Outcome
from ..evidence.ids import method_address
from ..evidence.run import Run
from ..evidence.run_folder import guarded_csv
from ..evidence.subject import SubjectFacts
from ..reading.rating import counted, rating
from ..reading.run_reader import RunReader, as_cell, version
from ..runner import figures, plugins
from .answer.section import answer
from .placing import PluginSections
from .sections.appendix import appendix as behind
from .sections.comparison import changes, comparison, merged
from .sections.drivers import drives
from .sections.findings import findings
from .sections.limitations import limitations
from .sections.model import sign_off
from .sections.outcomes import sure
from .sections.sheets import sheets

CSV = "text/csv"
# Every point of a curve, every row of a local explanation: those stand in run.json, which keeps a report small.
POINTS = ("profile", "attribution")
OBSERVATIONS = (ids.SEGMENTS_ROWS, ids.SUPPORT_ROWS)  # positions in the test sample, to look up
FIGURES, FEWEST_SHEETS = 16, 3  # figures of the main part: feature sheets fill what the other sections leave
DRAFT = "DRAFT"  # on every page, unless people said that it is final


def document(run: Run, *, appendix: str = "short") -> Document:
    """Return the report of a run; it needs neither the model nor the data.

    Parameters
    ----------
    run : Run
    appendix : {"none", "short", "full"}
        How much of what is behind the front part follows it.
    """
    e = read(run)
    sections: Sequence[Section | None] = _front(e)
    if run.challenger is not None:
        other = read(run.challenger)
        names = (f"Champion: {clean(as_cell(e.subject.label), 60)}", f"Challenger: {clean(other.subject.label, 60)}")
        sections = (comparison(e), *merged(sections, _front(other), names))
    cover = shell(e, title=e.about("title") or f"Uncertainty audit of {as_cell(e.subject.label)}", subtitle="")
    front = tuple(section for section in sections if section is not None)
    whole = (*front, *behind(e, PluginSections(e), front, cover.evidence_sha256, appendix))
    return replace(cover, sections=whole, attachments=attachments(e, whole))


def shell(e: RunReader, *, title: str, subtitle: str, kind: str = "audit") -> Document:
    """Return the document of a run without its sections and attachments: cover, recommendation, banner and checks."""
    run, draft = e.run, "" if e.about("status") == "final" else DRAFT
    # those of a challenger have names of their own
    others = () if run.challenger is None else (_check(outcome, "challenger.") for outcome in run.challenger.outcomes)
    checks = (*map(_check, run.outcomes), *others)
    return Document(
        title=clean(title, 200),
        subtitle=clean(subtitle, 300),
        as_of=clean(run.as_of, 20),
        generator=f"uq_report {clean(version(run.environment, 'uq_report'), 40)}".strip(),
        evidence_sha256=e.digest,
        facts=_cover(e),
        layout="portrait" if run.challenger is None else "landscape",
        kind=kind,
        banner=" · ".join(filter(None, (clean(e.about("classification"), 60), draft))),
        recommendation=rating(run.outcomes),
        checks=checks,
        methods={result.id: address for result in run.results if (address := method_address(result.id))},
    )


def framed(e: RunReader, kind: str, title: str, sections: Sequence[Section]) -> Document:
    """Return a document of these sections on upright pages, tied to the run by its hash and its attachments."""
    subtitle = e.about("title") or f"Uncertainty audit of {clean(as_cell(e.subject.label), 120)}"
    cover = shell(e, title=title, subtitle=subtitle, kind=kind)
    return replace(cover, sections=tuple(sections), attachments=attachments(e, sections), layout="portrait")


def read(run: Run) -> RunReader:
    """Return a run as sections read it, with the registered figures."""
    registered = {plugin.name for plugin in plugins.find(plugins.FIGURES, run.denied)}
    return RunReader(run, partial(figures.draw, deny=run.denied), registered)


def _front(e: RunReader) -> tuple[Section | None, ...]:
    """Return the front part on one model, in reading order."""
    before, after = (answer(e), findings(e), sure(e), drives(e)), (changes(e), limitations(e), sign_off(e))
    figures = sum(isinstance(b, Figure) for b in blocks_in(filter(None, (*before, *after))))
    return (*before, sheets(e, max(FEWEST_SHEETS, FIGURES - figures)), *after)


def _cover(e: RunReader) -> tuple[tuple[str, Cell], ...]:
    other = e.run.challenger
    challenger: tuple[tuple[str, Cell], ...] = ()
    if other is not None:
        challenger = (
            ("Challenger", as_cell(SubjectFacts.of(other).label)),
            ("Recommendation for the challenger", rating(other.outcomes)),
        )
    return (
        *e.facts((("Model", "label"), ("Version", "about.version"))),
        ("Open findings", counted(e.findings)),
        *challenger,
    )


def _check(outcome: Outcome, prefix: str = "") -> CheckEntry:
    """Return how a check ended; waived findings are no failures."""
    return CheckEntry(
        name=f"{prefix}{clean(outcome.check, 120)}",
        title=clean(outcome.title or outcome.check, 200),
        state=outcome.state,
        reason=clean(outcome.reason),
        findings=tuple((clean(f.code, 20), f.severity, clean(f.statement)) for f in outcome.findings),
    )


def attachments(e: RunReader, sections: Iterable[Section]) -> tuple[Attachment, ...]:
    """Return run.json, then a guarded CSV of each result's estimates and of each table that is not printed in full."""
    own = Attachment(RUN, e.content, "application/json", "The run: every number of this report")
    tables = (
        Attachment(table.attachment, _csv(table), CSV, f"The full table: {table.caption}")
        for table in tables_in(sections)
        if table.rest
    )
    return (own, *_estimates(e.run), *tables)


def _estimates(run: Run) -> Iterator[Attachment]:
    for result in run.results:
        if len(result.estimates) and result.kind not in POINTS:
            name = f"{file_stem(result.id)}.estimates.csv"
            yield Attachment(name, guarded_csv(result.estimates), CSV, f"Estimates of {result.id}")
        if result.id in OBSERVATIONS:
            yield Attachment(f"{file_stem(result.id)}.csv", guarded_csv(result.frame), CSV, clean(result.title))


def tables_in(sections: Iterable[Section]) -> Iterator[Table]:
    """Return every table of sections and those inside them."""
    return (block for block in blocks_in(sections) if isinstance(block, Table))


def _csv(table: Table) -> bytes:
    heads = [f"{column.label} ({column.unit})" if column.unit else column.label for column in table.columns]
    texts = ([cell.text if isinstance(cell, Badge) else cell for cell in row] for row in (*table.rows, *table.rest))
    cells = [[unmarked(cell) if isinstance(cell, str) else cell for cell in row] for row in texts]
    frame = pd.DataFrame(cells, columns=pd.RangeIndex(len(heads)))
    frame.columns = pd.Index(heads)
    return guarded_csv(frame)
