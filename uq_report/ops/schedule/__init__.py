"""Several audits by the clock: a schedule file, what is due, one child process for each run.

A run in a process of its own can crash, leak or hang without harm to the others. What ran last is read from the
histories of the audits, so that a restart makes up for a missed run, once.
"""

from .file import ScheduledAudit as ScheduledAudit
from .file import ScheduleFile as ScheduleFile
from .file import read_schedule as read_schedule
from .lines import Lines as Lines
from .plan import Job as Job
from .plan import jobs as jobs
from .service import Service as Service
from .service import alone as alone
from .service import stopped_by_signals as stopped_by_signals
