"""Modules of a folder that Python does not look in: those that a user names, and what they import from beside them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

_MACHINERY = ("importlib", "importlib._bootstrap", "importlib._bootstrap_external")


class Nearby(MetaPathFinder):
    """Finds modules of one folder that no other place has.

    A folder on `sys.path` would lend its code to every import that finds nothing, and its metadata to plugins. Here an
    import counts if it is of a name that is allowed, or if code of the folder does it; what it finds is allowed then.
    Pickled, as for workers, it is there before what follows it in the pickle.

    Parameters
    ----------
    folder : str
        Absolute.
    names : sequence of str
        Modules that may be imported by anybody.
    """

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        self.folder, self.names = folder, set(names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module of the folder."""
        if path is not None or not (fullname in self.names or self._is_asked_from_inside(sys._getframe(1))):  # noqa: SLF001 - who imports
            return None
        spec = PathFinder.find_spec(fullname, [self.folder], target)
        if spec is not None:
            self.names.add(fullname)
        return spec

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the same modules importable elsewhere."""
        return look_in, (self.folder, sorted(self.names))

    def _is_asked_from_inside(self, frame: FrameType | None) -> bool:
        while frame is not None and frame.f_globals.get("__name__") in _MACHINERY:
            frame = frame.f_back
        return frame is not None and Path(frame.f_code.co_filename).is_relative_to(self.folder)


def look_in(folder: str, names: Sequence[str]) -> Nearby:
    """Allow modules of a folder to be imported, from now on; see `Nearby`."""
    for finder in looked_in():
        if finder.folder == folder:
            finder.names.update(names)
            return finder
    finder = Nearby(folder, names)
    sys.meta_path.append(finder)
    return finder


def looked_in() -> tuple[Nearby, ...]:
    """Return the finders at work."""
    return tuple(finder for finder in sys.meta_path if isinstance(finder, Nearby))
