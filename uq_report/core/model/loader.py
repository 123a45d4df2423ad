"""How a model or a table is read from what a user names: the contract of loaders."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol, runtime_checkable


@runtime_checkable
class Loader(Protocol):
    """Reads one kind of source.

    Class variables
    ---------------
    name : the entry-point name
    kind : ``"model"`` or ``"data"``
    """

    name: ClassVar[str]
    kind: ClassVar[Literal["model", "data"]]
    api_version: ClassVar[int]

    def matches(self, source: str) -> bool:
        """Say whether this loader reads `source`, from its spelling alone."""

    def load(self, source: str, **options: Any) -> Any:
        """Return the model, or the table as a `pandas.DataFrame`."""


@runtime_checkable
class TakesOptions(Protocol):
    """Optional: a loader with ``options``, the names of the keyword arguments of `load` that users may give."""

    options: ClassVar[tuple[str, ...]]


@runtime_checkable
class Cautions(Protocol):
    """Optional: a loader of models that says what a reader of the report must know of how it loaded one."""

    def caution(self, source: str, **options: Any) -> str:
        """Return the sentence, or the empty string."""


@runtime_checkable
class HasSha256(Protocol):
    """Optional: a loader of sources that are no files, or of files that are read in another way."""

    def sha256(self, source: str) -> str:
        """Return the SHA-256 of the source; the empty string where there is none."""
