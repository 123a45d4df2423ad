"""A look at the limits of the audit at work, from loops deep in a computation that no engine is handed to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def limited(check: Callable[[], None]) -> Iterator[None]:
    """Let `look` call `check` until this is left; `Engine.check` of the explainer at work is one."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def check_limits() -> None:
    """Stop the explainer at work where a limit of time or memory is reached: long loops call it once a round.

    It is for code that has no engine: formulas, distributions, fast paths. Outside of an explainer, and in the threads
    of workers, whose limits are looked at between their tasks, it does nothing.

    Raises
    ------
    BudgetError
        Which limit was reached.
    """
    check = _CHECK.get()
    if check is not None:
        check()
