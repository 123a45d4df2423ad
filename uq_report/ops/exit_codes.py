"""How a command ends for a pipeline; nothing heavy is imported, since every command needs it."""

from __future__ import annotations

from ..core.errors import LockedError, RenderError

DONE, FINDINGS, INPUT, RENDER, VERIFICATION, TEMPORARY, INTERRUPTED = 0, 1, 3, 4, 5, 75, 130


def exit_code(error: Exception) -> int:
    """Return the exit code of one of the package's errors.

    Examples
    --------
    >>> exit_code(ValueError()), exit_code(RenderError())
    (3, 4)
    """
    codes = {RenderError: RENDER, LockedError: TEMPORARY}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), INPUT)
