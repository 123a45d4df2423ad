"""The command line; the only place that prints. One file per group of commands; they are listed in this order.

Exit codes are those of `core.support.errors.EXIT_CODES`; `errors` returns them.
"""

import sys

import typer

from ..core.support.errors import DONE, INTERRUPTED, USAGE
from ..ops import caches
from . import audits as audits, doctor as doctor, history as history, schedules as schedules, verify as verify
from .shared import Mistake, app, errors_reported, print_line, reopen_streams, takes_any_text, unprinted


def main() -> None:
    """Run the command line, and end with its exit code; one of 1 is a gate's alone."""
    reopen_streams()
    for stream in (sys.stdout, sys.stderr):
        takes_any_text(stream)
    caches.provide()
    try:
        with errors_reported():
            code = _code()
    except typer.Exit as end:
        code = end.exit_code
    sys.exit(code)


def _code() -> int:
    """Run the command line, and return its exit code."""
    try:
        return int(app(standalone_mode=False) or DONE)
    except Mistake as error:
        if "--json" in sys.argv:
            print_line({"exit_code": USAGE, "reasons": [error.format_message()]})
        error.show()
        return USAGE
    except typer.Abort:
        return INTERRUPTED
    except OSError as error:  # of help, which typer prints
        raise unprinted(error, sys.stdout) from error
    except SystemExit as end:  # what typer makes of a closed pipe
        if not isinstance(end.__context__, OSError):
            raise
        raise unprinted(end.__context__, sys.stdout) from end


__all__ = ["app", "main"]
