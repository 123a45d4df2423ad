"""Optional libraries: which a plugin needs, and whether they are installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar, Protocol


class NeedsLibraries(Protocol):
    """Optional: a plugin that is of no use without libraries that its distribution does not always bring.

    Parameters
    ----------
    libraries : tuple of str
        The names by which they are imported; the first is the one that people know.
    """

    libraries: ClassVar[tuple[str, ...]]


def installed(library: str) -> bool:
    """Say whether a library can be found, without importing it.

    Examples
    --------
    >>> installed("json"), installed("no_such_library")
    (True, False)
    """
    try:
        return find_spec(library) is not None
    except ValueError:  # it is blocked in sys.modules
        return False
