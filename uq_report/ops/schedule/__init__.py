"""Several audits by the clock: a schedule file, what is due, one child process for each run.

A run in a process of its own can crash, leak or hang without harm to the others. What ran last is read from the
histories of the audits, so that a restart makes up for a missed run, once.
"""

from .file import ScheduledAudit, ScheduleFile, read_schedule
from .lines import Lines
from .plan import Job, jobs
from .service import Service, alone, stopped_by_signals

__all__ = [
    "Job",
    "Lines",
    "ScheduleFile",
    "ScheduledAudit",
    "Service",
    "alone",
    "jobs",
    "read_schedule",
    "stopped_by_signals",
]
