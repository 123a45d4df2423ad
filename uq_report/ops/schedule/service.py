"""Runs the audits of a schedule: all day at their times, or once what is due now."""

from __future__ import annotations

import hashlib
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import gettempdir
from threading import Event, Thread, Timer

from ...core.support.errors import LockedError, words_of
from .. import crash_notice
from ..history.lock import locked
from .child import ChildEnd, Children, State, run_command
from .lines import Level, Lines, now
from .plan import Job

_LEVELS: dict[State, Level] = {"done": "info", "unchanged": "info", "findings": "warning", "locked": "warning"}
_CODES = {"failed": 3, "timeout": 3, "missed": 75, "locked": 75, "findings": 1}  # the first that happened counts
_WAKE = 60.0  # seconds after which a clock that jumped ahead is noticed, at the latest


class Service:
    """The audits of a schedule, at work.

    Parameters
    ----------
    jobs : sequence of Job
    say : Lines
    workers : int
        How many audits may run at once.
    grace : float
        Seconds that a running audit may go on after `stop`.
    command : callable
        From an audit file to the command that runs it.
    clock : callable
        The time, in UTC.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        say: Lines,
        *,
        workers: int = 1,
        grace: float = 60.0,
        command: Callable[[Path], list[str]] = run_command,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._jobs = jobs
        self._say, self._workers, self._grace = say, workers, grace
        self._command, self._clock = command, clock
        self._children, self._stopping = Children(), Event()
        self._ends: list[str] = []  # threads share it, and only ever append

    def serve(self) -> int:
        """Run audits at their times until `stop`; return the exit code.

        Returns
        -------
        int
            3 if a run failed or was stopped by its timeout, else 75 if one was missed or found its audit locked, else
            1 if one ended with findings, else 0.
        """
        self._say("scheduler.start", audits=len(self._jobs))
        self._look_back()
        moment = self._clock()
        overdue = {job.file: missed for job in self._jobs if (missed := job.missed(moment)) is not None}
        for job in self._jobs:
            missed = overdue.get(job.file)
            self._say("audit.next", audit=job.label, at=moment if missed else job.times.after(moment), missed=missed)
        with ThreadPoolExecutor(self._workers) as pool:
            running = {
                job.file: pool.submit(self._run, job, overdue[job.file]) for job in self._jobs if job.file in overdue
            }
            while not self._stopping.is_set():
                before, moment = moment, self._wait(moment)
                for job in () if self._stopping.is_set() else self._jobs:
                    due = job.times.latest(moment)
                    if due is None or due <= before:
                        continue
                    if job.file in running and not running[job.file].done():
                        self._miss(job, due, "the run before is still at work")
                    else:
                        running[job.file] = pool.submit(self._run_in_time, job, due)
        return self._ended()

    def once(self) -> int:
        """Run the audits that are due now, and return the exit code; see `serve`."""
        moment = self._clock()
        missed = [(job, due) for job in self._jobs if (due := job.missed(moment)) is not None]
        self._say("scheduler.once", audits=len(self._jobs), due=len(missed))
        self._look_back()
        with ThreadPoolExecutor(self._workers) as pool:
            for job, due in missed:
                pool.submit(self._run, job, due)
        return self._ended()

    def stop(self, reason: str) -> None:
        """Start no more runs, and give those at work their grace; asked again, do not wait for them."""
        if self._stopping.is_set():
            self._children.end()
            return
        self._say("scheduler.stopping", reason=reason, grace=self._grace)
        self._children.close()
        self._stopping.set()
        last = Timer(self._grace, self._children.end)
        last.daemon = True
        last.start()

    def _wait(self, moment: datetime) -> datetime:
        """Wait for the next time of any audit, and return what time it is then; a clock set back stands still."""
        following = [job.times.after(moment) for job in self._jobs]
        pauses = [(due - self._clock()).total_seconds() for due in following if due is not None]
        self._stopping.wait(max(0.0, min([_WAKE, *pauses])))
        return max(moment, self._clock())

    def _run_in_time(self, job: Job, due: datetime) -> None:
        """Run an audit, unless it has waited for too long since its time."""
        if job.is_late(due, self._clock()):
            self._miss(job, due, "too late, see misfire")
        else:
            self._run(job)

    def _miss(self, job: Job, due: datetime, reason: str) -> None:
        self._ends.append("missed")
        self._say("run.missed", "warning", audit=job.label, at=due, reason=reason)

    def _run(self, job: Job, missed: datetime | None = None) -> None:
        """Run one audit, and write its start and end."""
        self._say("run.start", audit=job.label, missed=missed)
        try:
            ended = self._children.run(self._command(job.file), job.file.parent, job.timeout, job.cpu_time)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other audits go on
            ended = ChildEnd("failed", -1, 0.0, error=words_of(error))
        if ended is None:
            self._say("run.left", audit=job.label, reason="the scheduler is stopping")
            return
        self._ends.append(ended.state)
        self._say(
            "run.end",
            _LEVELS.get(ended.state, "error"),
            audit=job.label,
            state=ended.state,
            code=ended.code,
            seconds=ended.seconds,
            findings=_count(ended.summary.get("findings")),
            report=ended.summary.get("folder"),
            error=ended.error or None,
        )

        if ended.code < 0 and ended.state != "stopped":
            self._tell_killed(job, ended.error)

    def _look_back(self) -> None:
        """Tell of runs that were killed together with their scheduler, or without one."""
        for job in self._jobs:
            self._tell_killed(job)

    def _tell_killed(self, job: Job, how: str = crash_notice.UNKNOWN) -> None:
        """Say and mail that the last run of an audit never ended, if it did not."""
        if job.history is None or job.name is None:
            return
        try:
            told = crash_notice.tell_if_left(job.file, job.history, job.name, how)
        except Exception as error:  # noqa: BLE001 - whatever it is, the audits go on
            told = [f"It cannot be told whether the last run was killed: {words_of(error, 300)}"]
        for sentence in told:
            self._say("run.killed", "error", audit=job.label, reason=sentence)

    def _ended(self) -> int:
        """Return the exit code of the worst end."""
        code = next((code for state, code in _CODES.items() if state in self._ends), 0)
        counts = Counter(sorted(self._ends))
        self._say("scheduler.stop", "info" if code == 0 else "warning", code=code, **counts)
        return code


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder for one scheduler; the system frees it when the process ends, however that ends.

    Raises
    ------
    LockedError
        If another scheduler holds it.
    """
    file = folder / ".schedule.lock"
    if not os.access(folder, os.W_OK):  # such as that of a service, whose files belong to root
        file = Path(gettempdir(), f"uq-report-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.lock")
    try:
        with locked(file, "schedule"):
            yield
    except LockedError as error:
        raise LockedError(
            f"schedule must be alone in {folder}; another scheduler is at work there. Stop one of them."
        ) from error


@contextmanager
def stopped_by_signals(service: Service) -> Iterator[None]:
    """Stop a service on SIGTERM and SIGINT; a second one does not wait for running audits."""

    def handle(number: int, _: object) -> None:
        Thread(target=service.stop, args=[signal.Signals(number).name], daemon=True).start()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _count(findings: object) -> int | None:
    """Return how many findings a summary lists, as a number, by severity, or one by one."""
    if isinstance(findings, dict):
        return sum(value for key, value in findings.items() if isinstance(value, int) and key != "waived")
    if isinstance(findings, list):
        return len(findings)
    return findings if isinstance(findings, int) else None
