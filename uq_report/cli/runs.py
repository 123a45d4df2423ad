"""One run from its description to the exit code: audited, filed, judged, told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from .ends import failures_told, tell, unchanged
from .shared import TEMPORARY, exit_code, print_line, say

if TYPE_CHECKING:
    from ..core.subject import Subject
    from ..evidence.run import Run
    from ..jobs.audit_file import AuditFile, MlflowPart, OutputPart
    from ..ops.history import Filing


class How(NamedTuple):
    """What is asked of `run` beside the audit itself."""

    previous: Path | None
    as_json: bool
    quiet: bool
    force: bool
    code_unchanged: int


def run_described(file: Path | None, given: dict[str, Any], how: How) -> None:
    """Audit what a file and flags describe; end with the exit code of its gate."""
    from .. import jobs as files
    from ..jobs.reading import describe_audit
    from ..ops import gates, hooks
    from ..ops.tracking import finished as tracking

    found = describe_audit(file, given)
    audit = found.left()
    place = audit.output
    if audit.mlflow is not None:
        tracking.ready()
    with failures_told(audit):
        subject = files.subject_of(audit, [*found.mistakes, *hooks.refused(audit.hooks)], found.who)
        name = place.name or subject.label
        with _filing(place.history, name) as filing:
            done, written, same = _audited(audit, subject, filing, how)
    judged = gates.verdict(done, audit.policy.fail_on)
    for reason in judged.reasons:
        say(f"Failed: {reason}", err=True)
    told = gates.summary(done, judged, written)
    if how.as_json:
        print_line({**told, "unchanged": same})
    logged = _log(audit.mlflow, written, place.template, how.quiet or how.as_json, same)
    if same:
        raise typer.Exit(judged.exit_code or logged or how.code_unchanged)
    _keep(place, name, how.quiet)
    tell(audit, name, judged.exit_code, told, written)
    if judged.exit_code or logged:
        raise typer.Exit(judged.exit_code or logged)


def _audited(audit: AuditFile, subject: Subject, filing: Filing | None, how: How) -> tuple[Run, Path, bool]:
    """Return the run, its folder, and whether it is the one filed last, since nothing changed."""
    from ..evidence import saved

    place, silent = audit.output, how.quiet or how.as_json
    folder = place.folder or ("uq-report" if filing is None else None)
    output = None if folder is None else Path(folder)
    same = None if how.force or how.previous is not None else unchanged(audit, subject, filing, output)
    if same is not None:
        if not silent:
            say(
                f"Unchanged: inputs, settings and versions are those of {same.entry.reference}; nothing was written. "
                f"Report in {same.folder}"
            )
        return saved.read(same.folder)[0], same.folder, True
    last = how.previous or (None if filing is None else filing.previous())
    chosen = {name: getattr(place, name) for name in ("formats", "template", "templates", "annex")}
    settings = {"settings": audit.settings(), "previous": last}
    return *audit_subject(subject, output, chosen, silent, settings, filing), False


def _log(where: MlflowPart | None, folder: Path, template: str, quiet: bool, once: bool) -> int:
    """Log the finished run to MLflow, if asked to; a store that fails is told and costs no report.

    With `once`, a run that the store has already is not logged again.
    """
    if where is None:
        return 0
    from ..ops.tracking import finished

    try:
        run_id = finished.log_finished(folder, where, template, once=once)
    except finished.TrackingError as error:
        say(f"Not logged to MLflow: {error}", err=True)
        return TEMPORARY
    if not quiet:
        say(f"Logged to MLflow: run {run_id}", err=True)
    return 0


def _keep(place: OutputPart, name: str, quiet: bool) -> None:
    """Delete the runs that the audit's retention does not keep, and name them."""
    if place.history is None or place.keep is None:
        return
    from ..ops.history import History, Retention, delete

    history = History(place.history)
    due = Retention(place.keep).due(history.runs(name))
    delete(history, due)
    for one in due if not quiet else ():
        say(f"Deleted by output.keep = {place.keep}: {one.entry.reference} of {one.entry.as_of}", err=True)


@contextmanager
def errors_told(as_json: bool) -> Iterator[None]:
    """Print an error as one line of JSON too, where that is asked for."""
    from ..core.errors import UQReportError

    try:
        yield
    except UQReportError as error:
        if as_json:
            print_line({"exit_code": exit_code(error), "reasons": str(error).splitlines()})
        raise


@contextmanager
def _filing(history: str | None, name: str) -> Iterator[Filing | None]:
    """Hold the audit's lock in a history while it runs, if there is to be one."""
    if history is None:
        yield None
        return
    from ..ops.history import History

    with History(history).filing(name) as filing:
        yield filing


def audit_subject(
    subject: Any,
    output: Path | None,
    chosen: dict[str, Any],
    quiet: bool,
    settings: dict[str, Any],
    filing: Filing | None = None,
) -> tuple[Run, Path]:
    """Run, write and file; say where the report is and what it answers, and return the run and its folder."""
    from ..api import audit
    from ..api.views import report_stem
    from ..document.evidence import Evidence
    from ..report.answer import answer_of, as_lines

    done = audit(subject, progress=False if quiet else None, **settings)
    if not quiet:
        say("Writing the report ...", err=True)
    folders = [] if filing is None else [filing.add(done.run, reports=done.reports(**chosen), clock=done.clock).folder]
    folders += [] if output is None else [done.write(output, **chosen)]
    folder = folders[0]
    if not quiet:
        left_out = [entry for entry in done.run.not_run if entry.group == "explainers"]
        for entry in left_out:
            say(f"Not run: {entry.name}: {entry.reason}", err=True)
        counts = f"results: {len(done.results)}, findings: {len(done.findings)}, explainers not run: {len(left_out)}"
        files = sorted(file.name for file in folder.glob(f"{report_stem(chosen['template'])}.*"))
        say("\n".join((f"Report in {folder}: {', '.join(files)} ({counts})", *as_lines(answer_of(Evidence(done.run))))))
    return done.run, folder
