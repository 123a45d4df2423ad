"""What every command shares: the application, the flags that several have, and printing."""

import codecs
import json
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import IO, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from .. import __version__
from ..core.support.errors import FOREIGN, INTERNAL, INTERRUPTED, OutputError, UQReportError, words_of
from ..core.support.text import harmless
from ..ops import caches

# A mistake of the command line: of the click that typer brings, or of the installed one.
Mistake: type[Any] = typer.BadParameter.__mro__[1]
# What our sentences use beyond ASCII, for terminals that have no more.
_PLAIN = {"\u2212": "-", "\u2013": "-", "\u2014": "-", "\u2026": "...", "\u00d7": "x", "\u00b7": "|", "\u202f": " "}
_PLAIN |= {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\u2009": " ", "\u2265": ">="}


def _plain(error: UnicodeError) -> tuple[str, int]:
    r"""Replace what an encoding has not: our own characters by ASCII, those of names by their code (``\xe4``)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


codecs.register_error("uq_report.plain", _plain)


def reopen_streams() -> None:
    """Put the null device in place of closed standard streams, which files would take; standard output refuses text."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)  # the lowest free number: this one
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode))


def takes_any_text(stream: IO[str]) -> None:
    """Let a stream replace what its encoding has not, instead of failing."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="uq_report.plain")


def say(text: object, *, err: bool = False, style: Mapping[str, Any] | None = None) -> None:
    """Print text, whatever names are in it: a terminal must not act on them.

    On a terminal lines wrap at words, and `style` holds arguments of `typer.style`.

    Raises
    ------
    OutputError
        Standard output takes no more (a full disk, a closed pipe). Where standard error does not, nobody can be told.
    """
    stream = sys.stderr if err else sys.stdout
    takes_any_text(stream)
    printed = harmless(str(text))
    if stream.isatty():
        width = get_terminal_size().columns
        printed = "\n".join(fill(line, width, break_long_words=False) for line in printed.split("\n"))
        printed = typer.style(printed, **style) if style and "NO_COLOR" not in os.environ else printed
    try:
        stream.write(f"{printed}\n")
        stream.flush()
    except OSError as error:
        refused = unprinted(error, stream)
        if not err:
            raise refused from error


def unprinted(error: OSError, stream: IO[str]) -> OutputError:
    """Return the error of a stream that takes no more, and spare the end of Python a second one by the same stream."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    return OutputError(
        f"standard output must take what is printed; got {error.strerror}. Files that were written are whole."
    )


def print_line(content: Any) -> None:
    """Print JSON on one line."""
    say(json.dumps(content))


@contextmanager
def errors_reported(as_json: bool = False) -> Iterator[None]:
    """Turn errors into one clear message, also a line of JSON if asked for, and an exit code.

    What an error's notes say was saved is printed behind it.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, Mistake):
        raise
    except UQReportError as error:
        _end(error, error.exit_code, f"Error: {error}", as_json)
    except KeyboardInterrupt as error:
        _end(error, INTERRUPTED, "Interrupted.", as_json)
    except FOREIGN as error:  # the last place: whatever was not foreseen ends here, never as a gate's code
        _end(error, INTERNAL, f"Error: {internal(error)}", as_json)


def internal(error: BaseException) -> str:
    """Return the message of a fault that nobody foresaw: its cause, its place, and the file with the details."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    cause = words_of(error).removesuffix(".")
    if isinstance(error, MemoryError):
        cause += "; no memory was left, or a limit of the address space (ulimit -v) was reached"
    return f"uq_report failed on what it does not foresee: {cause}{place}. {_details(error)}"


def _details(error: BaseException) -> str:
    """Write the whole story of an error to a file and say where; return it where there is no room for a file."""
    story = "".join(traceback.format_exception(error))
    try:
        descriptor, name = tempfile.mkstemp(prefix="uq-report-", suffix=".log")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"uq_report {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n{story}")
    except OSError:
        return f"No file could be written with the details:\n{story}"
    return f"Details: {name}. Please report it with that file."


def _end(error: BaseException, code: int, message: str, as_json: bool) -> NoReturn:
    """Print a message with the notes of its error, and end."""
    lines = [*message.splitlines(), *getattr(error, "__notes__", ())]
    if as_json:
        with suppress(OutputError):
            print_line({"exit_code": code, "reasons": [lines[0].removeprefix("Error: "), *lines[1:]]})
    say("\n".join(lines), err=True)
    raise typer.Exit(code) from error


class Reporting(TyperGroup):
    """The commands, whose errors end in one clear message."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with errors_reported("--json" in ctx.args):
            return super().invoke(ctx)


app = typer.Typer(
    cls=Reporting,
    name="uq-report",
    help="Audit how a model's uncertainty arises, and report it in HTML and PDF.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something fails.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HistoryFolder = Annotated[Path | None, typer.Option("--history", help="Folder of filed runs, see `history`.")]


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
