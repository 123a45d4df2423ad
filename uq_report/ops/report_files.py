"""An audit on the disk: where it goes is looked at first, results are saved next, and the report comes last."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .. import api
from ..api.reports import Reports, reports_of
from ..api.views import AuditRun
from ..core.engine.fast_path_evaluator import Progress
from ..core.model.subject import Subject
from ..core.support.errors import RenderError
from ..evidence import run_folder
from ..evidence.finding import Finding
from ..evidence.run import Run
from ..jobs.audit_file import OutputPart
from ..jobs.reading import DEFAULT_FOLDER
from ..runner.settings import Settings
from .history import FiledRun
from .history.filing import Filing

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class WrittenAudit:
    """An audit in its folder, not yet judged; see `CompletedAudit`. `failed` says which reports could not be made."""

    run: AuditRun
    folder: Path
    reports: tuple[Path, ...]
    reference: str = ""
    unchanged: bool = False
    failed: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Open findings, in the order of the checks."""
        return self.run.findings


def audit_subject(
    subject: Subject,
    settings: Settings,
    place: OutputPart,
    filing: Filing | None = None,
    *,
    previous: str | Path | Run | AuditRun | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
) -> WrittenAudit:
    """Audit a subject; save the results, render the report once, and file both, if there is a history.

    What the report needs, and the place it goes to, are looked at before anything is computed. A file of it that cannot
    be made costs nothing else, and what stops the report is told what is saved.
    """
    form = look_at(settings.deny, place, filed=filing is not None)
    last = previous or (None if filing is None else filing.previous())
    try:
        run = api.audit(subject, settings, progress=progress, previous=last)
    except KeyboardInterrupt as error:
        error.add_note("No results were saved.")
        raise
    for entry in run.run.not_run:
        if entry.group == "explainers":
            _log.info("Not run: %s: %s", entry.name, entry.reason)
    if filing is not None:
        filing.hold(run.run, run.clock)
    _log.info("Writing the report ...")
    reports: dict[str, bytes] = {}
    stopped: BaseException | None = None
    try:
        _write(run, form, reports, progress)
    except BaseException as error:  # noqa: BLE001 - an interrupt too; what is computed is filed before it goes on
        stopped = error
    filed = None if filing is None else filing.add(run.run, reports=reports, clock=run.clock)
    if filed is not None and stopped is not None:
        stopped.add_note(f"The results are filed as {filed.entry.reference} in {filed.folder}")
    if stopped is not None and not isinstance(stopped, RenderError):
        raise stopped
    return _written(run, form, filed, reports, stopped)


class OutputForm(NamedTuple):
    """What an audit is rendered to, and the folder it is written to."""

    reports: Reports
    folder: str | None


def look_at(deny: Sequence[str], place: OutputPart, *, filed: bool) -> OutputForm:
    """Return where an audit goes and in which form; refuse what would fail there, before anything is computed."""
    reports = reports_of(
        place.formats,
        deny,
        template=place.template,
        templates=place.templates,
        appendix=place.appendix,
        pdf_cpu_seconds=place.pdf_cpu_seconds,
        pdf_memory_mb=place.pdf_memory_mb,
        template_cpu_seconds=place.template_cpu_seconds,
        template_memory_mb=place.template_memory_mb,
    )
    folder = place.folder or (None if filed else DEFAULT_FOLDER)
    if folder is not None:
        run_folder.check_place(folder, reports.renderers)
    return OutputForm(reports, folder)


def _write(
    run: AuditRun, form: OutputForm, reports: dict[str, bytes], progress: bool | Callable[[Progress], None] | None
) -> None:
    """Save an audit in its folder, if it has one, and then render it into `reports` and the folder."""

    def made() -> Iterator[tuple[str, bytes]]:
        for name, content in form.reports.of(run.run, progress):
            reports[name] = content
            yield name, content

    if form.folder is None:
        dict(made())
    else:
        run_folder.write_first(run.run, form.folder, reports=made(), clock=run.clock)


def _written(
    run: AuditRun, form: OutputForm, filed: FiledRun | None, reports: dict[str, bytes], stopped: RenderError | None
) -> WrittenAudit:
    folder = Path(form.folder or "") if filed is None else filed.folder
    return WrittenAudit(
        run=run,
        folder=folder,
        reports=tuple(folder / name for name in reports),
        reference="" if filed is None else filed.entry.reference,
        failed=() if stopped is None else (*str(stopped).splitlines(), *getattr(stopped, "__notes__", ())),
    )
