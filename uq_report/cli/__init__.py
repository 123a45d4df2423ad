"""The command line; the only place that prints. One file per group of commands; they are listed in this order.

Exit codes: 0 done, 1 open findings of a gate, 2 usage, 3 input, model or data unusable, 4 rendering failed,
5 something filed or signed was changed, 75 another process holds the lock, 130 interrupted.
"""

from . import audits as audits
from . import configs as configs
from . import machine as machine
from . import past as past
from . import proof as proof
from . import schedules as schedules
from .shared import app


def main() -> None:
    """Run the command line."""
    app()


__all__ = ["app", "main"]
