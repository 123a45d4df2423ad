"""One run in a process of its own: started, timed, stopped, and told by its exit code and its line of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any, Literal

from ...core.support.processes import command

State = Literal["done", "unchanged", "findings", "locked", "failed", "timeout", "stopped"]
_STATES: Mapping[int, State] = {0: "done", 1: "findings", 75: "locked"}
_TAIL = 65536
POLL = 1.0  # seconds between two looks at the processor time
PROC = Path("/proc")
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


def tells_cpu_time() -> bool:
    """Say whether the system tells the processor time of other processes, as Linux does."""
    return (PROC / "self" / "stat").is_file()


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
