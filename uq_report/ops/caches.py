"""Caches of libraries for users without a home, as services have them: a private folder until the command ends.

Matplotlib and fontconfig warn where they cannot keep what they look up about fonts, once in each process; numba fails.
"""

import atexit
import os
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

MATPLOTLIB, CACHES = "MPLCONFIGDIR", "XDG_CACHE_HOME"
MARK = "UQ_REPORT_CACHES"  # names the folder until it was announced


def provide(environ: MutableMapping[str, str] = os.environ) -> Path | None:
    """Name a private folder to libraries that have none for their caches; it is removed when this process ends.

    Returns
    -------
    Path or None
        The folder; None where caches have a place, as they do in every process that this one starts.
    """
    homeless = without_place(environ)
    if not homeless:
        return None
    from ..core.support import processes  # what no other command waits for at its start

    with suppress(OSError):  # no room for temporary files either: the libraries say so themselves
        folder = processes.make_folder()
        atexit.register(processes.remove_folder, folder)
        environ.update(dict.fromkeys([*homeless, MARK], str(folder)))
        return folder
    return None


def without_place(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variables that must name a folder, because the places that libraries take without them are no use.

    Examples
    --------
    >>> without_place({"HOME": "/dev/null"}), without_place({CACHES: "/tmp", "HOME": "/dev/null"})
    (['MPLCONFIGDIR', 'XDG_CACHE_HOME'], ['MPLCONFIGDIR'])
    """
    home = _home(environ)
    caches = environ.get(CACHES) or (home and f"{home}/.cache")
    settings = environ.get("XDG_CONFIG_HOME") or (home and f"{home}/.config")
    own = environ.get(MATPLOTLIB)
    places = {MATPLOTLIB: (own,) if own else (caches, settings), CACHES: (caches,)}
    return [name for name, folders in places.items() if not all(map(_usable, folders))]


def announcement(environ: MutableMapping[str, str] = os.environ) -> str:
    """Return what to say of the private folder, once; nothing after that, or where there is none."""
    folder, home = environ.pop(MARK, ""), environ.get("HOME", "") or "none"
    return folder and f"The home of this user ({home}) cannot be written: caches go to {folder} until the end."


def _home(environ: Mapping[str, str]) -> str:
    """Return the user's home as libraries find it; nothing for a user whom the system does not know."""
    if environ.get("HOME"):
        return environ["HOME"]
    with suppress(RuntimeError):
        return str(Path.home())
    return ""


def _usable(folder: str | None) -> bool:
    """Say whether a folder can be written, or be made."""
    if not folder:
        return False
    place = Path(folder).absolute()
    there = next(place for place in (place, *place.parents) if os.path.exists(place))  # noqa: PTH110 - Path fails behind a closed folder
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
