"""Commands about many audits: run them by the clock, and list them on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from ..core.support.errors import InputError
from ..core.support.text import count
from ..ops import caches
from .shared import Quiet, app, print_json, print_table, say

if TYPE_CHECKING:
    from ..ops.schedule import Job


class RunsByDefault(TyperGroup):
    """A group whose command `run` may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command in front where the first word names none."""
        known = {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if args and args[0] in known else ["run", *args])


schedules = typer.Typer(
    cls=RunsByDefault, help="Run several audits by cron expressions; write a schedule or its schema."
)
app.add_typer(schedules, name="schedule")
FIRST = """# uq-report schedule {name}    run what is due until stopped;  --once for cron
timezone = "UTC"

[[audit]]
file = "audit.toml"       # its [output] names a history
cron = "0 6 1 * *"        # minute, hour, day, month, weekday
misfire = "1d"            # how late a run may start
"""


@schedules.command(epilog="Example: uq-report schedule init audits.toml")
def init(
    file: Annotated[Path, typer.Argument(metavar="AUDITS", help="The file to write.")] = Path("audits.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a first schedule."""
    from ..evidence import run_folder

    if file.exists() and not force:
        raise InputError(f"schedule.file must be a new file; {file} is there already. Name another, or add --force.")
    run_folder.write_files(file.parent, {file.name: FIRST.format(name=file).encode()})
    say(f"Written: {file}. Edit it, then run: uq-report schedule {file} --dry-run")


@schedules.command(epilog="Example: uq-report schedule schema > audits.schema.json")
def schema() -> None:
    """Print the JSON Schema of audits.toml, for editors."""
    from ..ops.schedule import ScheduleFile

    print_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **ScheduleFile.model_json_schema()})


@schedules.command("run", epilog="Example: uq-report schedule run audits.toml --once")
def schedule(
    file: Annotated[Path, typer.Argument(metavar="AUDITS", help="audits.toml: which audits run when.")],
    once: Annotated[bool, typer.Option("--once", help="Run what is due now, and end; for cron.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what is due, and the next times.")] = False,
    log_format: Annotated[
        Literal["auto", "plain", "journal"],
        typer.Option(help="plain: with the time. journal: with priorities. auto: as stderr needs."),
    ] = "auto",
) -> None:
    """Run several audits by cron expressions, each in a process of its own, until SIGTERM or Ctrl-C."""
    from ..ops.schedule import Lines, Service, alone, jobs, read_schedule, stopped_by_signals

    plan = read_schedule(file)
    audits = jobs(plan)
    if dry_run:
        _print_times(audits)
        return
    if once:
        _need_histories(audits)
    with alone(file.resolve().parent):
        lines = Lines(style=log_format)
        if private := caches.announcement():
            lines("caches.private", reason=private)
        service = Service(audits, lines, workers=plan.workers, grace=plan.grace)
        with stopped_by_signals(service):
            code = service.once() if once else service.serve()
    raise typer.Exit(code)


@app.command(epilog="Example: uq-report index audits/ -o index.html")
def index(
    history: Annotated[Path, typer.Argument(metavar="HISTORY", help="Folder of filed runs.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("index.html"),
    quiet: Quiet = False,
) -> None:
    """Write one page over all audits of a history: recommendation, findings, trends, and links to the reports."""
    from ..ops.overview import write_overview

    audits = write_overview(history, output)
    if not quiet:
        say(f"Page in {output} ({count(audits, 'audit')})")


def _need_histories(audits: list[Job]) -> None:
    """Refuse audits whose last runs nobody knows."""
    bare = [str(job.file) for job in audits if job.history is None]
    if bare:
        raise InputError(f"output.history must be given for --once to know what is due; not so in {', '.join(bare)}.")


def _print_times(audits: list[Job]) -> None:
    from ..ops.schedule import now as clock

    moment = clock()
    rows: list[tuple[str, ...]] = [("AUDIT", "DUE NOW", "NEXT", "THEN", "FILE")]
    for job in audits:
        missed, first = job.missed(moment), job.times.after(moment)
        then = None if first is None else job.times.after(first)
        times = ["-" if at is None else at.isoformat(timespec="minutes") for at in (missed, first, then)]
        rows.append((job.label, *times, str(job.file)))
    print_table(rows)
