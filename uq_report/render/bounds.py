"""What a process of one page has in common: its limits, and standard output for its answer alone."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import BinaryIO

if sys.platform != "win32":
    import resource

CLOCK = 10  # seconds by the clock for one of processor time, on a busy machine
GRACE = 5  # seconds after which a child without parent ends


def limit(cpu_seconds: int, seconds: int, megabytes: int) -> None:
    """Bound processor time, time by the clock and memory of this process, and leave no core file.

    A lower bound that is set already stays.
    """
    if sys.platform == "win32":  # there are no such limits; the parent's clock is the only one
        return
    signal.alarm(seconds + GRACE)
    for what, soft, most in (
        (resource.RLIMIT_AS, megabytes * 2**20, megabytes * 2**20),
        (resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1),  # the first ends it by SIGXCPU, the other by SIGKILL
        (resource.RLIMIT_CORE, 0, 0),
    ):
        hard = resource.getrlimit(what)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (min(soft, bound), bound))
        except (ValueError, OSError) as error:  # macOS refuses some of them
            warnings.warn(f"the printing process could not be limited: {error}", stacklevel=2)


def serve(main: Callable[[Sequence[str], BinaryIO, BinaryIO], int]) -> None:
    """Keep standard output for the answer: what libraries print goes to standard error."""
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    code = main(sys.argv[1:], sys.stdin.buffer, own)
    own.close()
    os._exit(code)  # taking the page apart costs more than it gives
