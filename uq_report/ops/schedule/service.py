"""Runs the audits of a schedule: all day by APScheduler, or once what is due now."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import Event, Lock, Thread, Timer
from typing import Any

from apscheduler import events
from apscheduler.executors.pool import ThreadPoolExecutor as Pool
from apscheduler.schedulers import SchedulerNotRunningError
from apscheduler.schedulers.blocking import BlockingScheduler

from .child import Children, Ended, State, run_command
from .lines import Level, Lines, now
from .plan import Job

_LEVELS: dict[State, Level] = {"done": "info", "unchanged": "info", "findings": "warning", "locked": "warning"}
_CODES = {"failed": 3, "timeout": 3, "missed": 75, "locked": 75, "findings": 1}  # the first that happened counts
_WAKE = 60  # seconds after which a clock that jumped ahead is noticed, at the latest


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
        self._jobs = {str(job.file): job for job in jobs}
        self._say, self._workers, self._grace = say, workers, grace
        self._command, self._clock = command, clock
        self._children, self._stopping, self._tally = Children(), Event(), Tally()
        self._due: dict[str, datetime] = {}
        self._scheduler: BlockingScheduler | None = None

    def serve(self) -> int:
        """Run audits at their times until `stop`; return the exit code.

        Returns
        -------
        int
            3 if a run failed or was stopped by its timeout, else 75 if one was missed or found its audit locked, else
            1 if one ended with findings, else 0.
        """
        logging.getLogger("apscheduler").propagate = False  # its events are told by us
        self._say("scheduler.start", audits=len(self._jobs))
        self._scheduler = self._made()
        self._scheduler.start()
        return self._ended()

    def once(self) -> int:
        """Run the audits that are due now, and return the exit code; see `serve`."""
        moment = self._clock()
        self._due = {key: at for key, job in self._jobs.items() if (at := job.missed(moment)) is not None}
        self._say("scheduler.once", audits=len(self._jobs), due=len(self._due))
        with ThreadPoolExecutor(self._workers) as pool:
            for done in [pool.submit(self._run, key) for key in list(self._due)]:
                done.result()
        return self._ended()

    def stop(self, reason: str) -> None:
        """Start no more runs, and give those at work their grace; asked again, do not wait for them."""
        if self._stopping.is_set():
            self._children.end()
            return
        self._say("scheduler.stopping", reason=reason, grace=self._grace)
        self._stopping.set()
        self._children.close()
        last = Timer(self._grace, self._children.end)
        last.daemon = True
        last.start()
        self._shut(wait=True)

    def _made(self) -> BlockingScheduler:
        """Return APScheduler with every audit, its store in memory."""
        made = BlockingScheduler(timezone="UTC", executors={"default": Pool(self._workers)})
        moment = self._clock()
        for key, job in self._jobs.items():
            missed = job.missed(moment)
            if missed is not None:
                self._due[key] = missed
            first = moment if missed else job.next(moment)
            self._say("audit.next", audit=job.label, at=first, missed=missed)
            limit = None if job.late is None else max(1, int(job.late.total_seconds()))
            made.add_job(
                self._run, job.trigger, args=[key], id=key, next_run_time=first, max_instances=1,
                coalesce=True, misfire_grace_time=limit,
            )  # fmt: skip
        made.add_job(_nothing, "interval", seconds=_WAKE, misfire_grace_time=None)
        made.add_listener(self._told, events.EVENT_JOB_MISSED | events.EVENT_JOB_MAX_INSTANCES | events.EVENT_JOB_ERROR)
        made.add_listener(self._started, events.EVENT_SCHEDULER_STARTED)
        return made

    def _started(self, _: Any) -> None:
        """End at once if `stop` came before the start."""
        if self._stopping.is_set():
            self._shut(wait=False)

    def _shut(self, *, wait: bool) -> None:
        """Shut APScheduler down, if it is there and running."""
        if self._scheduler is not None and self._scheduler.running:
            with suppress(SchedulerNotRunningError):  # another thread was quicker
                self._scheduler.shutdown(wait=wait)

    def _run(self, key: str) -> None:
        """Run one audit, and tell its start and end."""
        job = self._jobs[key]
        self._say("run.start", audit=job.label, missed=self._due.pop(key, None))
        try:
            ended = self._children.run(self._command(job.file), job.file.parent, job.timeout)
        except OSError as error:
            ended = Ended("failed", -1, 0.0, error=str(error))
        if ended is None:
            self._say("run.left", audit=job.label, reason="the scheduler is stopping")
            return
        self._tally.add(ended.state)
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

    def _told(self, event: Any) -> None:
        """Tell what APScheduler did not start."""
        if event.job_id not in self._jobs:
            return
        label = self._jobs[event.job_id].label
        if event.code == events.EVENT_JOB_ERROR:
            self._tally.add("failed")
            self._say("run.error", "error", audit=label, error=f"{type(event.exception).__name__}: {event.exception}")
            return
        self._tally.add("missed")
        overlap = event.code == events.EVENT_JOB_MAX_INSTANCES
        at = event.scheduled_run_times[0] if overlap else event.scheduled_run_time
        why = "the run before is still at work" if overlap else "too late, see misfire"
        self._say("run.missed", "warning", audit=label, at=at, reason=why)

    def _ended(self) -> int:
        code = self._tally.code()
        self._say("scheduler.stop", "info" if code == 0 else "warning", code=code, **self._tally.counts())
        return code


class Tally:
    """How the runs ended, counted; threads share it."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = Lock()

    def add(self, state: str) -> None:
        """Count one."""
        with self._lock:
            self._counts[state] = self._counts.get(state, 0) + 1

    def counts(self) -> dict[str, int]:
        """Return the counts by state."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def code(self) -> int:
        """Return the exit code of the worst state."""
        return next((code for state, code in _CODES.items() if state in self._counts), 0)


@contextmanager
def stopped_by_signals(service: Service) -> Iterator[None]:
    """Stop a service on SIGTERM and SIGINT; a second one does not wait for running audits."""

    def handle(number: int, _: object) -> None:
        Thread(target=service.stop, args=[signal.Signals(number).name], daemon=True).start()

    before = {one: signal.signal(one, handle) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, old in before.items():
            signal.signal(one, old)


def _nothing() -> None:
    """Wake the scheduler up."""


def _count(findings: object) -> int | None:
    """Return how many findings a summary tells, as a number, by severity, or one by one."""
    if isinstance(findings, dict):
        return sum(value for key, value in findings.items() if isinstance(value, int) and key != "waived")
    if isinstance(findings, list):
        return len(findings)
    return findings if isinstance(findings, int) else None
