"""Several audits by the clock: a schedule file, what is due, one child process for each run.

A run in a process of its own can crash, leak or hang without harm to the others. What ran last is read from the
histories of the audits, so that a restart makes up for a missed run, once.
"""

from .plan import Job as Job
from .plan import ScheduledAudit as ScheduledAudit
from .plan import ScheduleFile as ScheduleFile
from .plan import jobs as jobs
from .plan import read_schedule as read_schedule
from .service import Lines as Lines
from .service import Service as Service
from .service import alone as alone
from .service import stopped_by_signals as stopped_by_signals
