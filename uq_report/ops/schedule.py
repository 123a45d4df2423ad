"""Several audits by the clock: a schedule file, what is due, one child process for each run.

A run in a process of its own can crash, leak or hang without harm to the others. What ran last is read from the
histories of the audits, so that a restart makes up for a missed run, once.
"""

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
from datetime import UTC, datetime, timedelta, tzinfo
from math import inf
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from threading import Event, Lock, Thread, Timer
from typing import IO, Annotated, Any, Literal, TextIO
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field

from ..core.support.errors import InputError, LockedError, MissingDependencyError, words_of
from ..core.support.processes import command
from ..core.support.text import clean
from ..jobs.reading import read_audit, toml_content
from ..runner.settings import Positive, SettingsPart, Text, must, validated
from . import mail
from .history import History
from .history.entry import locked

try:
    from cronsim import CronSim, CronSimError
except ImportError as error:
    raise MissingDependencyError("schedule", "cronsim", "schedule") from error

PROC = Path("/proc")
_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_TO_SUNDAY = re.compile(r"(?<!\bsun)(?<!\b0)-(sun|0)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Cron:
    """The times of a cron expression of five fields in a time zone.

    0 and 7 are Sunday, and a day of the month or a day of the week is enough where both are given. A run at an hour
    that a change of clocks skips starts right after it; at an hour that is repeated, it starts once.

    Raises
    ------
    ValueError
        If it is no cron expression; the message says what is.

    Examples
    --------
    >>> Cron("0 6 * * 1", UTC).after(datetime(2026, 1, 1, tzinfo=UTC)).isoformat()
    '2026-01-05T06:00:00+00:00'
    """

    text: str
    zone: tzinfo

    def __post_init__(self) -> None:
        if len(self._fields.split()) != 5:
            raise ValueError("five fields, minute hour day month weekday, or @daily, @weekly ...")
        try:
            CronSim(self._fields, datetime.now(UTC))
        except CronSimError as error:
            raise ValueError(f"a cron expression ({str(error).lower()})") from error

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment`; None if there is none."""
        return next(CronSim(self._fields, moment.astimezone(self.zone)), None)

    def latest(self, moment: datetime) -> datetime | None:
        """Return the last time at or before `moment`; None if there is none."""
        # the library steps in whole seconds, back from the one it is given
        second = moment.replace(microsecond=0) + timedelta(seconds=1)
        return next(CronSim(self._fields, second.astimezone(self.zone), reverse=True), None)

    @property
    def _fields(self) -> str:
        """The expression as the library reads it: a span of weekdays that ends on Sunday ends on 7."""
        text = self.text.strip()
        rest, _, weekdays = _SHORTHANDS.get(text, text).rpartition(" ")
        return f"{rest} {_TO_SUNDAY.sub('-7', weekdays)}"


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_LONGEST = 10 * 366 * 86400.0


def _seconds(value: Any) -> Any:
    """Return a duration in seconds."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        value = float(match[1]) * _UNITS[match[2]] if match else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST:
        raise ValueError('a duration such as "90s", "15m", "6h", "1d", "1w", or seconds')
    return value


def _is_cron(text: str) -> str:
    Cron(text, UTC)
    return text


def _is_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ValueError, OSError, KeyError) as error:
        raise ValueError("a time zone such as Europe/Vienna") from error
    return text


def tells_cpu_time() -> bool:
    """Say whether the system tells the processor time of other processes, as Linux does."""
    return (PROC / "self" / "stat").is_file()


def _is_told(seconds: float) -> float:
    if not tells_cpu_time():
        raise ValueError("left out on a system that does not tell the processor time of its processes")
    return seconds


Duration = Annotated[float, BeforeValidator(_seconds)]
_SOME = Field(json_schema_extra={"minItems": 1})
CpuTime = Annotated[float, AfterValidator(_is_told), BeforeValidator(_seconds)]
CronText = Annotated[str, AfterValidator(_is_cron)]
Zone = Annotated[str, AfterValidator(_is_zone)]


class ScheduledAudit(SettingsPart):
    """One audit and its times.

    Parameters
    ----------
    file : str
        Its ``audit.toml``.
    cron : str
        Five fields as in crontab(5).
    misfire : float, optional
        How late a run may start, ``"1d"``; later it is told as missed and waits for its next time. No limit by default.
    timeout : float, optional
        After which a run is stopped, by the clock.
    cpu_time : float, optional
        After which it is stopped, of the processor, for it and all that it starts.
    """

    file: Text
    cron: CronText
    misfire: Duration | None = None
    timeout: Duration | None = None
    cpu_time: CpuTime | None = None


class ScheduleFile(SettingsPart):
    """A schedule as written in ``audits.toml``.

    Parameters
    ----------
    audit : tuple of ScheduledAudit
    timezone : str, optional
        Of the cron expressions; that of the machine by default.
    workers : int
        How many audits may run at once.
    grace : float
        How long a running audit may go on when the scheduler is stopped.
    """

    audit: Annotated[tuple[ScheduledAudit, ...], AfterValidator(must(bool, "one [[audit]] or more")), _SOME]
    timezone: Zone | None = None
    workers: Positive = 1
    grace: Duration = 60.0

    def zone(self) -> tzinfo:
        """Return the time zone of the cron expressions."""
        if self.timezone is not None:
            return ZoneInfo(self.timezone)
        from tzlocal import get_localzone

        return get_localzone()


def read_schedule(path: str | Path) -> ScheduleFile:
    """Return the schedule a TOML file describes; the files in it are relative to it.

    Raises
    ------
    InputError
        The file cannot be read, is no TOML, or has mistakes: all of them, by key.
    """
    file = Path(path)
    schedule = validated(ScheduleFile, toml_content(file, "schedule"), file.name)
    folder = file.resolve().parent
    files = [str((folder / audit.file).resolve()) for audit in schedule.audit]
    doubled = sorted({name for name in files if files.count(name) > 1})
    if doubled:
        raise InputError(f"{file.name}.audit.file must be named once; got {doubled[0]!r} twice. Join their times.")
    audits = (audit.model_copy(update={"file": name}) for audit, name in zip(schedule.audit, files, strict=True))
    return schedule.model_copy(update={"audit": tuple(audits)})


@dataclass(frozen=True)
class Job:
    """One audit of a schedule.

    Parameters
    ----------
    file : Path
    label : str
        Its name in log lines.
    times : Cron
    late : timedelta, optional
        How late a run may start; None for no limit.
    timeout : float, optional
    history : str, optional
        Where its runs are filed.
    name : str, optional
        Under which name.
    cpu_time : float, optional
    """

    file: Path
    label: str
    times: Cron
    late: timedelta | None
    timeout: float | None
    history: str | None
    name: str | None
    cpu_time: float | None = None

    def missed(self, now: datetime) -> datetime | None:
        """Return the time at which the audit should have run and did not, if it may still start.

        An audit that was never filed counts as missed. A last run in the future was told by another clock, and is
        taken for none. Without a history nothing is known to be missed.
        """
        if self.history is None:
            return None
        last = None if self.name is None else History(self.history).last(self.name)
        due = self.times.latest(now)
        if due is None or self.is_late(due, now) or (last is not None and due <= last <= now):
            return None
        return due

    def is_late(self, due: datetime, now: datetime) -> bool:
        """Return whether it is too late to start the run of `due`."""
        return self.late is not None and now - due > self.late


def jobs(schedule: ScheduleFile) -> list[Job]:
    """Return the audits of a schedule; mistakes in all their files are told together.

    Raises
    ------
    InputError
        A file cannot be read or has mistakes.
    """
    zone, planned, mistakes = schedule.zone(), [], []
    for audit in schedule.audit:
        try:
            planned.append(_job(audit, Cron(audit.cron, zone)))
        except InputError as error:
            mistakes += [f"{audit.file}: {line}" for line in str(error).splitlines()]
    if mistakes:
        raise InputError("\n".join(mistakes))
    _check_distinct(planned)
    return planned


def _job(scheduled: ScheduledAudit, times: Cron) -> Job:
    audit = read_audit(scheduled.file)
    label = audit.name or Path(scheduled.file).parent.name
    if audit.output.history is not None and audit.name is None:
        raise InputError("output.name must be given, or model.label, for a schedule to find its last runs; it is not.")
    late = None if scheduled.misfire is None else timedelta(seconds=scheduled.misfire)
    where = (audit.output.history, audit.name)
    return Job(Path(scheduled.file), label, times, late, scheduled.timeout, *where, scheduled.cpu_time)


def _check_distinct(planned: list[Job]) -> None:
    """Refuse two audits that would be filed as one."""
    by_place: dict[tuple[str, str | None], Job] = {}
    for job in planned:
        if job.history is None:
            continue
        other = by_place.setdefault((job.history, job.name), job)
        if other is not job:
            raise InputError(
                f"output.name must differ within a history; got {job.name!r} in {other.file} and {job.file}. "
                "Name one otherwise."
            )


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
        findings = ended.summary.get("findings")  # their numbers by severity, as `run.summary_of` gives them
        self._say(
            "run.end",
            _LEVELS.get(ended.state, "error"),
            audit=job.label,
            state=ended.state,
            code=ended.code,
            seconds=ended.seconds,
            findings=sum(findings.values()) if findings else None,
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
