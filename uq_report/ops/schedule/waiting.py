"""Waits for a run to end, no longer than it may take: by the clock, and of the processor."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from math import inf
from pathlib import Path

POLL = 1.0  # seconds between two looks at the processor time
PROC = Path("/proc")


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
