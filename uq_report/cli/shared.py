"""What every command shares: the application, the flags that several have, and printing."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__
from ..ops import caches
from .errors import errors_reported, print_line, say

__all__ = ["errors_reported", "print_line", "say"]  # of `boundary`, for every command

app = typer.Typer(
    name="uq-report",
    help="Audit how a model's uncertainty arises, and report it in HTML and PDF.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

FORMATS = "html, pdf, markdown or junit; repeat for more. Default: html, pdf."
TEMPLATE = "audit, brief (two pages) or model-card."
TEMPLATES = "Folder of a theme, see templates/README.md."
ANNEX = "What follows an audit's sign-off: none, short, or full (every method's tables and figures)."
PDF_SECONDS = "Processor seconds that printing a PDF may take. Default: 300."
TEMPLATE_SECONDS = "Processor seconds that the templates of a theme may take. Default: 60."
TEMPLATE_MEMORY = "Megabytes that the templates of a theme may take. Default: 2048."
PDF_MEMORY = "Megabytes that printing a PDF may take. Default: 2048."

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the report.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something fails.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HistoryFolder = Annotated[Path | None, typer.Option("--history", help="Folder of filed runs, see `history`.")]
Formats = Annotated[list[str] | None, typer.Option("--format", help=FORMATS)]
Template = Annotated[str, typer.Option(help=TEMPLATE)]
Templates = Annotated[Path | None, typer.Option(help=TEMPLATES)]
Annex = Annotated[str, typer.Option(help=ANNEX)]
PdfSeconds = Annotated[float | None, typer.Option(help=PDF_SECONDS)]
PdfMemory = Annotated[int | None, typer.Option(help=PDF_MEMORY)]
TemplateSeconds = Annotated[float | None, typer.Option(help=TEMPLATE_SECONDS)]
TemplateMemory = Annotated[int | None, typer.Option(help=TEMPLATE_MEMORY)]


def begun(text: str, quiet: bool) -> None:
    """Say on a terminal what begins, before the libraries are loaded that it needs."""
    if not quiet and sys.stderr.isatty():
        say(text, err=True)


def _print_version(value: bool) -> None:
    if value:
        say(f"uq-report {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Audit how a model's uncertainty arises, and report it in HTML and PDF."""


class _Lines(logging.Handler):
    """Prints what the package logs on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        say(record.getMessage(), err=True)


@contextmanager
def logged(quiet: bool, silent: bool = False) -> Iterator[None]:
    """Print what the package logs: errors alone if quiet, warnings too if silent, else progress as well."""
    log, handler = logging.getLogger("uq_report"), _Lines()
    level = log.level
    log.setLevel(logging.ERROR if quiet else logging.WARNING if silent else logging.INFO)
    log.addHandler(handler)
    if private := caches.announcement():
        log.info(private)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def print_json(content: Any) -> None:
    """Print JSON for people to read as well."""
    say(json.dumps(content, indent=2))


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table in columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        say("  ".join([*cells, row[-1]]))
