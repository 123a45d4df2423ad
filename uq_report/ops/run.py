"""One audit from its description to its end: audited, written, filed, judged, logged, and mailed.

Where it goes is looked at first, results are saved next, and the report comes last.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import runner
from ..api import auditing
from ..api.reports import Reports, report_names, reports_of
from ..api.views import AuditRun
from ..core.engine.fast_path_evaluator import Progress
from ..core.model.adapter import AwaitsPredictions
from ..core.model.subject import Subject
from ..core.support import errors
from ..core.support.errors import Cause, InputError, LockedError, OutputError, PendingError, RenderError, UQReportError
from ..core.support.text import clean, count
from ..document.text import unmarked
from ..evidence import codec, run_folder
from ..evidence.finding import SEVERITIES, Finding, Severity
from ..evidence.run import NotRun, Run
from ..jobs import subject_of
from ..jobs.audit_file import AuditFile, OutputPart
from ..jobs.reading import DEFAULT_FOLDER, describe_audit
from ..jobs.subject import benchmark_model
from ..reading.rating import recommended
from ..reading.run_reader import RunReader
from ..report.answer.section import because
from ..runner.settings import Settings
from . import mail
from .history import History, Retention, delete
from .history.entry import MAILED
from .history.filing import Filing, inputs_key
from .mail import RunEnd
from .tracking import record as tracking

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
        return self.run.run.findings


def audit_subject(
    subject: Subject,
    settings: Settings,
    place: OutputPart,
    filing: Filing | None = None,
    *,
    previous: str | Path | Run | AuditRun | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    benchmark: Any = None,
) -> WrittenAudit:
    """Audit a subject; save the results, render the report once, and file both, if there is a history.

    What the report needs, and the place it goes to, are looked at before anything is computed. A file of it that cannot
    be made costs nothing else, and what stops the report is told what is saved.
    """
    form, folder = look_at(settings.deny, place, filed=filing is not None)
    last = previous or (None if filing is None else filing.previous())
    try:
        run = auditing.audit(subject, settings, progress=progress, previous=last, benchmark=benchmark)
    except KeyboardInterrupt as error:
        error.add_note("No results were saved.")
        raise
    if isinstance(subject.model, AwaitsPredictions):
        subject.model.refuse_pending()
    left_out = [entry for entry in run.run.not_run if entry.group == "explainers"]
    for entry in left_out:
        if entry.cause != "not asked":
            _log.info("Not run: %s: %s", entry.name, entry.reason)
    if others := [entry.name for entry in left_out if entry.cause == "not asked"]:
        _log.info("Not chosen: %s", ", ".join(others))
    if filing is not None:
        filing.hold(run.run, run.clock)
    _log.info("Writing the report ...")
    reports, stopped = _write(run, form, folder, progress)
    filed = None if filing is None else filing.add(run.run, reports=reports, clock=run.clock)
    if filed is not None and stopped is not None:
        stopped.add_note(f"The results are filed as {filed.entry.reference} in {filed.folder}")
    if stopped is not None and not isinstance(stopped, RenderError):
        raise stopped
    written = Path(folder or "") if filed is None else filed.folder
    return WrittenAudit(
        run=run,
        folder=written,
        reports=tuple(written / name for name in reports),
        reference="" if filed is None else filed.entry.reference,
        failed=() if stopped is None else (*str(stopped).splitlines(), *getattr(stopped, "__notes__", ())),
    )


def look_at(deny: Sequence[str], place: OutputPart, *, filed: bool) -> tuple[Reports, str | None]:
    """Return what an audit is rendered to and its folder; refuse what would fail there, before anything is computed."""
    style = place.model_dump(exclude={"folder", "formats", "history", "name", "keep"})
    reports = reports_of(place.formats, deny, **style)
    folder = place.folder or (None if filed else DEFAULT_FOLDER)
    if folder is not None:
        run_folder.check_place(folder, reports.renderers)
    return reports, folder


def _write(
    run: AuditRun, form: Reports, folder: str | None, progress: bool | Callable[[Progress], None] | None
) -> tuple[dict[str, bytes], BaseException | None]:
    """Save an audit in its folder, if it has one, and then render it; return the reports, and what stopped that."""
    reports: dict[str, bytes] = {}

    def made() -> Iterator[tuple[str, bytes]]:
        for name, content in form.of(run.run, progress):
            reports[name] = content
            yield name, content

    try:
        if folder is None:
            dict(made())
        else:
            run_folder.write_first(run.run, folder, reports=made(), clock=run.clock)
    except BaseException as error:  # noqa: BLE001 - an interrupt too; what is computed is filed before it goes on
        return reports, error
    return reports, None


_REQUIRED: tuple[Cause, ...] = ("limit", "fault")  # what was cut or broke, rather than did not apply
_VERDICTS = ("found", "passed", "ignored")


def gate_reasons(run: Run, fail_on: Severity | None = None) -> tuple[str, ...]:
    """Say why a run fails: an open finding of at least `fail_on`, or something required that was not measured.

    Waived findings are not open. Of the plugins in the settings' ``require``, those named themselves must have run;
    a distribution must be installed, and that is refused before a run starts. With `fail_on`, what the checks of the
    run read is required as well: the gate fails where a limit cut it or it broke, and where no check came to a
    verdict. What does not apply (no training rows, no protected attribute) or was not chosen is not required.

    Examples
    --------
    >>> from uq_report.evidence.finding import Finding, Outcome
    >>> finding = Finding(code="UQ101", title="", severity="medium", statement="", evidence=("a",), rests_on="")
    >>> outcome = Outcome(check="reliability", state="found", findings=(finding,))
    >>> run = Run(as_of="2026-01-31", subject={}, settings={}, environment={}, outcomes=(outcome,))
    >>> gate_reasons(run), gate_reasons(run, "high")
    ((), ())
    >>> gate_reasons(run, "low")
    ('1 open finding at or above low: UQ101 (medium)',)
    >>> gate_reasons(Run(as_of="2026-01-31", subject={}, settings={}, environment={}), "low")
    ('nothing was measured: no check came to a verdict',)
    """
    gate = () if fail_on is None else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    failing = [f"{finding.code} ({finding.severity})" for finding in run.findings if finding.severity in gate]
    words = f"{count(len(failing), 'open finding')} at or above {fail_on}: {', '.join(dict.fromkeys(failing))}"
    unmeasured = () if fail_on is None else _unmeasured(run)
    return (*([words] if failing else []), *dict.fromkeys((*_required(run), *unmeasured)))


def summary_of(run: Run, failures: Sequence[str], folder: str | Path) -> dict[str, Any]:
    """Return what a pipeline reads of a run, as JSON values; every severity is there, also with 0."""
    counts = Counter(finding.severity for finding in run.findings)
    advice = recommended(run)
    return {
        "reasons": list(failures),
        "label": run.subject["label"],
        "as_of": run.as_of,
        "recommendation": advice.badge.text,
        "because": unmarked(because(RunReader(run))),
        "basis": advice.basis,
        "conditions": [condition.as_json for condition in advice.conditions],
        "findings": {severity: counts[severity] for severity in SEVERITIES},
        "waived": sum(len(outcome.waived) for outcome in run.outcomes),
        "checks": {outcome.check: outcome.state for outcome in run.outcomes},
        "not_run": {entry.name: clean(entry.reason) for entry in run.not_run if entry.group == "explainers"},
        "not_reproducible": run.not_reproducible,
        "run_sha256": codec.sha256(run),
        "folder": str(folder),
    }


def _required(run: Run) -> Iterator[str]:
    """Yield a sentence for every required explainer or check that did not run."""
    for word in run.settings.get("require", ()):
        for entry in run.not_run:
            if word in (entry.name, f"{entry.group}.{entry.name}"):
                yield _not_run(entry)


def _unmeasured(run: Run) -> Iterator[str]:
    """Yield a sentence for everything that the checks of a run read, or that reads, and that was cut or broke."""
    if not any(o.state in _VERDICTS or o.undecided for o in run.outcomes):
        yield "nothing was measured: no check came to a verdict"
    for entry in run.not_run:
        read = entry.group == "checks" or any(entry.name in outcome.missing for outcome in run.outcomes)
        if entry.cause in _REQUIRED and read:
            yield _not_run(entry)


def _not_run(entry: NotRun) -> str:
    return f"required, and not run: {entry.group}.{entry.name}: {clean(entry.reason)}"


@dataclass(frozen=True, kw_only=True)
class CompletedAudit(WrittenAudit):
    """What `run` leaves behind.

    Parameters
    ----------
    run : AuditRun
        Results and findings; of an unchanged audit those filed last.
    folder : Path
        Where run.json and the reports are.
    reports : tuple of Path
        The report files.
    reference : str
        Its name in the history, ``"credit@3"``; empty without one.
    unchanged : bool
        Nothing differs from the run filed last, so that nothing was run and nothing written.
    failed : tuple of str
        Which files of the report could not be made and why, and how to make them from what is saved.
    exit_code : int
        That of ``uq-report run``: 0, 1 for a gate that failed, 4 if a file of the report could not be made, 75 if the
        tracking store could not be written.
    reasons : tuple of str
        Why the gate failed, and what `failed` says.
    summary : mapping of str to JSON values
        What ``uq-report run --json`` prints.
    """

    exit_code: int
    reasons: tuple[str, ...]
    summary: Mapping[str, Any]


def run(
    file: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    *,
    previous: str | Path | Run | AuditRun | None = None,
    force: bool = False,
    progress: bool | Callable[[Progress], None] | None = None,
) -> CompletedAudit:
    """Run the audit that a file describes, all of it: report, history, gate, retention, MLflow and mail.

    Parameters
    ----------
    file : str or Path, optional
        An ``audit.toml``; without one, `changes` describe everything.
    changes : mapping of str to value, optional
        Keys of ``audit.toml`` that win over the file: dotted, ``{"run.seed": 1}``, or by section,
        ``{"run": {"seed": 1}}``.
    previous : path, Run or AuditRun, optional
        The run to compare with; by default the last one of this name in the history.
    force : bool
        Run although nothing changed since the run filed last.
    progress : bool or callable, optional
        As of `audit`.

    Returns
    -------
    CompletedAudit

    Raises
    ------
    UQReportError
        What ``uq-report run`` ends with 3, 4 or 75 for; a failing gate is no error. A mail that is due is sent first.

    Notes
    -----
    Nothing is printed. What happens on the way goes to the logger ``uq_report``: a mail or tracking store that failed
    as errors, which cost no report.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/howto/audit_file.html

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> folder = tempfile.mkdtemp()
    >>> rows = pd.DataFrame({"age": range(40), "p": [0.2, 0.8] * 20, "paid": [0, 1] * 20})
    >>> rows.to_csv(f"{folder}/rows.csv", index=False)
    >>> done = run(
    ...     changes={
    ...         "data": {"source": f"{folder}/rows.csv", "target": "paid", "predictions": {"probability": "p"}},
    ...         "run.explainers": [],
    ...         "output": {"folder": f"{folder}/report", "formats": ["html"]},
    ...     }
    ... )
    >>> done.exit_code, done.unchanged, [file.name for file in done.reports]
    (0, False, ['report.html'])
    """
    _refuse_other(file)
    description = describe_audit(file, changes)
    audit = description.left()
    place = audit.output
    if audit.mlflow is not None:
        tracking.ready()
    with _failures_reported(audit):
        if not description.mistakes:
            _refuse_early(audit)
        subject = subject_of(audit, [*description.mistakes, *mail.refused(audit.email)], description.who)
        read = benchmark_model(audit)
        if read is not None:
            subject = replace(subject, hashes={**subject.hashes, "benchmark": read.sha256})
        other = None if read is None else read.content
        name = audit.name or subject.label
        with nullcontext() if place.history is None else _filing(audit, place.history, name) as filing:
            done = None if force or previous is not None else _unchanged(audit, subject, filing)
            parts: dict[str, Any] = {"previous": previous, "progress": progress, "benchmark": other}
            done = done or audit_subject(subject, audit.settings(), place, filing, **parts)
    failing = gate_reasons(done.run.run, audit.policy.fail_on)
    reasons = (*failing, *done.failed)
    tracking_code = _log_to_mlflow(audit, done)
    code = errors.FINDINGS if failing else errors.RENDER if done.failed else tracking_code
    summary = {"exit_code": code, **summary_of(done.run.run, reasons, done.folder)}
    if not done.unchanged:
        _prune(place, name)
    served = Path(place.history) if place.history is not None else done.folder
    told = errors.DONE if code == errors.TEMPORARY else code
    _send_mail(audit, RunEnd(name, told, summary, done.reports, done.findings, served, done.unchanged))
    said = {**summary, "unchanged": done.unchanged}
    return CompletedAudit(**vars(done), exit_code=code, reasons=reasons, summary=said)


@contextmanager
def _filing(audit: AuditFile, history: str, name: str) -> Iterator[Filing]:
    """Hold the lock of an audit and mark it as at work; a run before that was killed is told."""
    with History(history).filing(name) as filing:
        for sentence in mail.tell(audit.email, filing):
            _log.error("%s", sentence)
        with mail.at_work(filing):
            yield filing


def _refuse_other(file: object) -> None:
    """Refuse what is no path of a file, with the call that is meant."""
    if file is None or isinstance(file, str | Path):
        return
    call = "uq.run(changes={...})" if isinstance(file, Mapping) else "uq.audit(model, X, y)"
    call = "uq.audit(subject)" if isinstance(file, Subject) else call
    raise InputError(f"run.file must be the path of an audit.toml; got a {type(file).__name__}. Call {call}.")


def _unchanged(audit: AuditFile, subject: Subject, filing: Filing | None) -> WrittenAudit | None:
    """Return the run filed last if nothing that decides this one differs, and its files are whole."""
    if filing is None:
        return None
    place = audit.output
    names = report_names(place.formats, place.template, audit.run.deny)
    key = inputs_key(runner.facts(subject, audit.settings()))
    filed = filing.unchanged(key, names, None if place.folder is None else Path(place.folder))
    if filed is None:
        return None
    files = tuple(filed.folder / name for name in names)
    run, reference = auditing.load(filed.folder), filed.entry.reference
    return WrittenAudit(run=run, folder=filed.folder, reports=files, reference=reference, unchanged=True)


def _log_to_mlflow(audit: AuditFile, done: WrittenAudit) -> int:
    """Log the run to MLflow, if the audit names a store; one that fails is reported and costs no report."""
    if audit.mlflow is None:
        return 0
    try:
        run_id = tracking.log_finished(done.folder, audit.mlflow, audit.output.template, once=done.unchanged)
    except tracking.TrackingError as error:
        _log.error("Not logged to MLflow: %s", error)
        return errors.TEMPORARY
    _log.info("Logged to MLflow: run %s", run_id)
    return 0


def _prune(place: OutputPart, name: str) -> None:
    """Delete the runs that the audit's retention does not keep, and name them."""
    if place.history is None or place.keep is None:
        return
    history = History(place.history)
    due = Retention(place.keep).due(history.runs(name))
    delete(history, due)
    for filed in due:
        _log.warning("Deleted by output.keep = %s: %s of %s", place.keep, filed.entry.reference, filed.entry.as_of)


def _send_mail(audit: AuditFile, ended: RunEnd) -> None:
    """Send the mail of an audit; one that fails is reported, and costs neither the report nor the exit code."""
    history, name, mailed = audit.output.history, audit.name if ended.failed else ended.name, None
    if history is not None and name is not None:
        with suppress(InputError):  # no name for a history, which is what such a run fails by
            mailed = History(history).folder(name) / MAILED
    if sentence := mail.send_after(audit.email, ended, mailed):
        _log.error("Mail: %s", sentence)


def _refuse_early(audit: AuditFile) -> None:
    """Refuse what would fail at the end, before model and data are read; mistakes of keys are told with the others."""
    try:
        look_at(audit.run.deny, audit.output, filed=audit.output.history is not None)
    except (RenderError, OutputError):
        raise
    except UQReportError:
        return


@contextmanager
def _failures_reported(audit: AuditFile) -> Iterator[None]:
    """Send the mail of a run that fails; one that waits for its lock or for predictions has not failed."""
    try:
        yield
    except (LockedError, PendingError):
        raise
    except Exception as error:
        code, reasons = errors.INTERNAL, errors.words_of(error).splitlines()
        if isinstance(error, UQReportError):
            code = error.exit_code
        _send_mail(audit, RunEnd(audit.name or "audit", code, {"exit_code": code, "reasons": reasons}))
        raise
