"""The contract of what writes a document: ``uq_report.renderers``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .document import Document


@runtime_checkable
class DrawsFigures(Protocol):
    """A renderer that says whether its files show figures: for one that shows none, none is drawn."""

    draws: ClassVar[bool]


@runtime_checkable
class Prepares(Protocol):
    """A renderer that can say before an audit whether what it needs is there."""

    def ready(self, kind: str) -> None:
        """Refuse what would make every document of a kind fail: a template, a library; raises `RenderError`."""


@runtime_checkable
class Renderer(Protocol):
    """Turns a document into the bytes of one file.

    Class variables
    ---------------
    name : the entry-point name, and what users type: ``run.render("html")``
    extension : of the file written, with its dot
    """

    name: ClassVar[str]
    extension: ClassVar[str]
    api_version: ClassVar[int]

    def render(self, document: Document) -> bytes:
        """Return the whole file; the same document gives the same bytes, without a clock or a network.

        Raises `RenderError` where that is not possible.
        """
