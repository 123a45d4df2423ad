"""Models from skops files, with a reviewed list of types."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal

from .skops_file import read_skops


class SkopsLoader:
    """Reads ``.skops`` files whose types are all reviewed, or trusted by the user by name."""

    name: ClassVar[str] = "skops"
    kind: ClassVar[Literal["model"]] = "model"
    api_version: ClassVar[int] = 1
    options: ClassVar[tuple[str, ...]] = ("trusted",)

    def matches(self, source: str) -> bool:
        """Match names that end in .skops."""
        return Path(source.lower()).suffix == ".skops"

    def load(self, source: str, *, trusted: Iterable[str] = ()) -> Any:
        """Return the model.

        Parameters
        ----------
        source : str
        trusted : iterable of str
            Full names of further types that the file may hold. Read their source first.
        """
        return read_skops(source, trusted)

    def caution(self, source: str, *, trusted: Iterable[str] = ()) -> str:
        """Name the types that were trusted beyond the reviewed ones."""
        named = ", ".join(sorted(trusted))
        return f"a skops file; trusted by name beyond the reviewed types: {named}" if named else ""
