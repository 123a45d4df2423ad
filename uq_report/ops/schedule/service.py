"""Runs the audits of a schedule: all day at their times, or once what is due now."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from threading import Event, Lock, Thread, Timer
from typing import IO, Any, Literal, TextIO

from ...core.support.errors import LockedError, words_of
from ...core.support.processes import command
from ...core.support.text import clean
from .. import mail
from ..history.heads import locked
from .plan import PROC, Job

Level = Literal["info", "warning", "error"]
Style = Literal["auto", "plain", "journal"]
_PRIORITY = {"info": "<6>", "warning": "<4>", "error": "<3>"}  # sd-daemon(3)
_BARE = re.compile(r"[\w.:/@+,-]+", re.ASCII)


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


class Lines:
    """Writes events.

    Parameters
    ----------
    stream : TextIO, optional
        stderr by default.
    style : {"auto", "plain", "journal"}
        ``journal``: each line starts with its priority, and the journal adds the time. ``plain``: each line starts
        with its time. ``auto``: ``journal`` where the stream goes to one (`JOURNAL_STREAM`).
    """

    def __init__(
        self, stream: TextIO | None = None, style: Style = "auto", clock: Callable[[], datetime] = now
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._journal = style == "journal" or (style == "auto" and to_journal(self._stream))
        self._clock = clock
        self._lock = Lock()

    def __call__(self, event: str, level: Level = "info", **fields: object) -> None:
        """Write an event and what belongs to it, ``run.end audit=credit code=0``; what is None is left out."""
        start = _PRIORITY[level] if self._journal else f"{self._clock().astimezone().isoformat(timespec='seconds')} "
        details = " ".join(f"{key}={_word(value)}" for key, value in fields.items() if value is not None)
        with self._lock:
            self._stream.write(f"{start}{event} {details}".rstrip() + "\n")
            self._stream.flush()


def to_journal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether a stream goes to systemd's journal: `JOURNAL_STREAM` names its device and inode."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _word(value: object) -> str:
    """Return a value as one word, or quoted."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    text = clean(value, 500)
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)


State = Literal["done", "unchanged", "findings", "locked", "failed", "timeout", "stopped"]
_STATES: Mapping[int, State] = {0: "done", 1: "findings", 75: "locked"}
_TAIL = 65536
POLL = 1.0  # seconds between two looks at the processor time
_PATIENCE = 10.0  # from the request to end to the end itself


def run_command(file: Path) -> list[str]:
    """Return the command that runs an audit file, in its folder but with no code from there."""
    return command("uq_report", "run", str(file), "--quiet", "--json", folder=file.parent)


@dataclass(frozen=True)
class ChildEnd:
    """How a run ended: its state, exit code, duration, what it says of itself, and its last words on stderr."""

    state: State
    code: int
    seconds: float
    summary: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


class Children:
    """The runs at work; each has a process group of its own, so that a Ctrl-C reaches the scheduler alone."""

    def __init__(self) -> None:
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._lock = Lock()
        self._closed = False

    def run(
        self, words: Sequence[str], folder: Path, timeout: float | None, cpu_time: float | None = None
    ) -> ChildEnd | None:
        """Run a command in a folder to its end, or to one of its limits; None if no more runs are to start."""
        start = time.monotonic()
        with TemporaryFile() as out, TemporaryFile() as err:
            with self._lock:
                if self._closed:
                    return None
                child = subprocess.Popen(  # noqa: S603 - our own command, no shell
                    words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
                )
                self._running[child.pid] = child
            late = wait(child, timeout, cpu_time)
            if late:
                _end(child)
            with self._lock:
                stopped = self._running.pop(child.pid, None) is None
            summary, error = _summary(_tail(out)), _tail(err).strip()
        state: State = "stopped" if stopped else "timeout" if late else _STATES.get(child.returncode, "failed")
        if state == "done" and summary.get("unchanged") is True:
            state = "unchanged"
        last = late or _signalled(child.returncode) or (error.splitlines()[-1] if error else "")
        return ChildEnd(state, child.returncode, round(time.monotonic() - start, 1), summary, last)

    def close(self) -> None:
        """Start no more runs."""
        with self._lock:
            self._closed = True

    def end(self) -> None:
        """Stop the runs at work."""
        with self._lock:
            left, self._running = list(self._running.values()), {}
        for child in left:
            _end(child)


def _signalled(code: int) -> str:
    """Say which signal ended a run; nothing of one that ended itself."""
    names = {number.value: number.name for number in signal.Signals}
    return f"killed by {names.get(-code, f'signal {-code}')}" if code < 0 else ""


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask a run and what it started to end, and end it if it does not."""
    _signal(child, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_PATIENCE)
    _signal(child, signal.SIGKILL)
    child.wait()


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended meanwhile
        os.killpg(child.pid, number)


def _tail(stream: IO[bytes]) -> str:
    """Return the end of what was written."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _TAIL))
    return stream.read().decode("utf-8", "replace")


def _summary(text: str) -> Mapping[str, Any]:
    """Return the last line as the object of JSON it should be; nothing if it is none."""
    try:
        summary = json.loads(text.strip().splitlines()[-1])
    except (ValueError, IndexError, RecursionError):
        return {}
    return summary if isinstance(summary, dict) else {}


def wait(child: subprocess.Popen[bytes], timeout: float | None, cpu_time: float | None) -> str:
    """Wait for the leader of a session to end; return which limit came first, or nothing.

    Parameters
    ----------
    child : Popen
    timeout : float, optional
        Seconds by the clock, in which a run that hangs ends as well.
    cpu_time : float, optional
        Seconds of the processor, of the child and all that it starts. On a busy machine a run takes longer by the
        clock, but not of these.
    """
    end = time.monotonic() + (inf if timeout is None else timeout)
    while (left := end - time.monotonic()) > 0:
        step = left if cpu_time is None else min(left, POLL)
        with suppress(subprocess.TimeoutExpired):
            child.wait(None if step == inf else step)
            return ""
        if cpu_time is not None and cpu_seconds(child.pid) > cpu_time:
            return f"stopped after {cpu_time:g} s of processor time"
    return f"stopped after {timeout:g} s"


def cpu_seconds(session: int) -> float:
    """Return the processor time of a session's processes so far, with that of their children that have ended.

    Fields are those of ``/proc/pid/stat``, proc_pid_stat(5): session (6) and utime, stime, cutime, cstime (14 to 17).
    """
    ticks = 0
    for place in PROC.iterdir():
        if not place.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            numbers = (place / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(numbers[3]) == session:
                ticks += sum(map(int, numbers[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


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
            findings=_number_of_findings(ended.summary.get("findings")),
            report=ended.summary.get("folder"),
            error=ended.error or None,
        )

        if ended.code < 0 and ended.state != "stopped":
            self._tell_killed(job, ended.error)

    def _look_back(self) -> None:
        """Tell of runs that were killed together with their scheduler, or without one."""
        for job in self._jobs:
            self._tell_killed(job)

    def _tell_killed(self, job: Job, how: str = mail.UNKNOWN) -> None:
        """Say and mail that the last run of an audit never ended, if it did not."""
        if job.history is None or job.name is None:
            return
        try:
            told = mail.tell_if_left(job.file, job.history, job.name, how)
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


def _number_of_findings(findings: object) -> int | None:
    """Return how many findings a summary lists, as a number, by severity, or one by one."""
    if isinstance(findings, dict):
        return sum(value for key, value in findings.items() if isinstance(value, int) and key != "waived")
    if isinstance(findings, list):
        return len(findings)
    return findings if isinstance(findings, int) else None
