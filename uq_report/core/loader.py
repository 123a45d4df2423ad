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
