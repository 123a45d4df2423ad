"""Printing in a process of its own, with limits: an endless page costs an error, not the program."""

from __future__ import annotations

import builtins
import math
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import RenderError
from ..core.text import clean
from ..document.document import Attachment
from .wire import pack, unpack

CHILD = "uq_report.render.child"
_TIME = tuple(getattr(signal, name, 0) for name in ("SIGXCPU", "SIGALRM"))


@dataclass(frozen=True)
class Limits:
    """What one page may cost: seconds of wall time, and megabytes of address space."""

    seconds: float
    megabytes: int


def print_apart(html: str, attachments: Sequence[Attachment], as_of: str, limits: Limits) -> tuple[bytes, list[str]]:
    """Return the PDF of a page and the complaints, printed by a child process that is gone afterwards.

    The child is a fresh interpreter that imports nothing of the caller's, so this works from notebooks, from
    scripts without ``if __name__ == "__main__"`` and from threads. Its Python warnings are raised here again.

    Raises
    ------
    RenderError
        A limit was reached, the child died or could not be started, or the page cannot be printed.
    """
    told = [{"name": a.name, "media_type": a.media_type, "description": a.description} for a in attachments]
    job = pack({"as_of": as_of, "attachments": told}, [html.encode(), *(a.content for a in attachments)])
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            _command(limits), input=job, capture_output=True, timeout=limits.seconds, env=_surroundings(), check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _too_slow(limits) from error
    except OSError as error:
        raise RenderError(f"pdf.process must start; got {error}. Free memory, or set isolated=False.") from error
    return _read(done, limits)


def _command(limits: Limits) -> list[str]:
    if not sys.executable or getattr(sys, "frozen", False):
        raise RenderError(
            f"pdf.process must be started by a Python interpreter; sys.executable is {sys.executable!r}. "
            "Set isolated=False to print in this process, without limits."
        )
    return [sys.executable, "-P", "-m", CHILD, str(math.ceil(limits.seconds)), str(limits.megabytes)]


def _surroundings() -> dict[str, str]:
    """Return the environment, with the places where this process finds its modules."""
    here = str(Path(__file__).resolve().parents[2])
    places = [place for place in sys.path if isinstance(place, str) and place]
    return os.environ | {"PYTHONPATH": os.pathsep.join(places if here in places else [*places, here])}


def _read(done: subprocess.CompletedProcess[bytes], limits: Limits) -> tuple[bytes, list[str]]:
    """Return what the child says, raise its error, and warn of what it warned of."""
    said = clean(done.stderr.decode(errors="replace"), 500)
    if done.returncode < 0 and -done.returncode in _TIME:
        raise _too_slow(limits)
    try:
        head, files = unpack(done.stdout)
    except (ValueError, KeyError, TypeError) as error:
        raise _died(done.returncode, said, limits) from error
    if head.get("memory"):
        raise _too_large(limits)
    if "error" in head:
        raise RenderError(head["error"])
    for category, message in head["warnings"]:
        warnings.warn(message, _category(category), stacklevel=4)
    if said:
        warnings.warn(f"pdf: {said}", stacklevel=4)
    return files[0], head["problems"]


def _category(name: str) -> type[Warning]:
    found: Any = getattr(builtins, name, UserWarning)
    return found if isinstance(found, type) and issubclass(found, Warning) else UserWarning


def _too_slow(limits: Limits) -> RenderError:
    return RenderError(
        f"pdf.timeout_seconds must be enough for the page; {limits.seconds:g} s passed. "
        "Raise it, leave sections out, or use the HTML."
    )


def _too_large(limits: Limits) -> RenderError:
    return RenderError(
        f"pdf.memory_mb must be enough for the page; {limits.megabytes} MB were used up. "
        "Raise it, leave sections out, or use the HTML."
    )


def _died(code: int, said: str, limits: Limits) -> RenderError:
    """Say how the child ended; without memory, libraries in C end it by a signal."""
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return RenderError(
        f"pdf.process must end with a page; it ended with {how} ({said or 'no message'}). "
        f"If memory ran out, raise memory_mb ({limits.megabytes})."
    )
