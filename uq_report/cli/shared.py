"""What every command shares: the application, the flags that several have, exit codes, and how errors are told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__
from ..core.text import harmless

INPUT, RENDER, VERIFICATION, TEMPORARY, INTERRUPTED = 3, 4, 5, 75, 130

app = typer.Typer(
    name="uq-report",
    help="Audit how a model's uncertainty arises, and report it in HTML and PDF.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ANNEX = "What follows an audit's sign-off: none, short, or full (every method's tables and figures)."

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the report.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something fails.")]
HistoryFolder = Annotated[Path | None, typer.Option("--history", help="Folder of filed runs, see `history`.")]
Formats = Annotated[
    list[str] | None,
    typer.Option("--format", help="html, pdf, markdown or junit; repeat for more. Default: html, pdf."),
]
Template = Annotated[str, typer.Option(help="audit, brief (two pages) or model-card.")]
Templates = Annotated[Path | None, typer.Option(help="Folder of a house style, see templates/README.md.")]
Annex = Annotated[str, typer.Option(help=ANNEX)]


def say(text: object, *, err: bool = False) -> None:
    """Print text, whatever names are in it: a terminal must not act on them."""
    typer.echo(harmless(str(text)), err=err)


@contextmanager
def told() -> Iterator[None]:
    """Turn the package's errors into one clear message and an exit code."""
    from ..core.errors import UQReportError

    try:
        yield
    except UQReportError as error:
        say(f"Error: {error}", err=True)
        raise typer.Exit(exit_code(error)) from error
    except KeyboardInterrupt as error:
        say("Interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from error


def exit_code(error: Exception) -> int:
    """Return the exit code of one of the package's errors."""
    from ..core.errors import LockedError, RenderError

    codes = {RenderError: RENDER, LockedError: TEMPORARY}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), INPUT)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"uq-report {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Audit how a model's uncertainty arises, and report it in HTML and PDF."""


def look(formats: list[str] | None, template: str, templates: Path | None, annex: str) -> dict[str, Any]:
    """Return which files of a report to write, and how they look."""
    return {"formats": formats or ("html", "pdf"), "template": template, "templates": templates, "annex": annex}


@contextmanager
def hushed(quiet: bool) -> Iterator[None]:
    """Keep the package's warnings off stderr, if asked to; the report has them."""
    import logging

    log = logging.getLogger("uq_report")
    before = log.level
    try:
        if quiet:
            log.setLevel(logging.ERROR)
        yield
    finally:
        log.setLevel(before)


def print_line(content: Any) -> None:
    """Print JSON on one line."""
    say(json.dumps(content))


def print_json(content: Any) -> None:
    """Print JSON for people to read as well."""
    say(json.dumps(content, indent=2))


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table in columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        say("  ".join([*cells, row[-1]]))
