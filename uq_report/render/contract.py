"""What a renderer is; plugins register under the entry-point group ``uq_report.renderers``."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from ..report.document import Document


@runtime_checkable
class Renderer(Protocol):
    """Turns a document into the bytes of one file.

    `render` is pure: the same document and environment give the same bytes. It reads no clock,
    no file but its templates, and no network.

    Attributes
    ----------
    name : str
        The entry-point name, and what users type: ``run.render("html")``.
    extension : str
        Of the file written, with its dot.
    api_version : int
        1, the only one so far.
    """

    name: ClassVar[str]
    extension: ClassVar[str]
    api_version: ClassVar[int]

    def render(self, document: Document) -> bytes:
        """Return the whole file; raise `RenderError` where that is not possible."""
        ...
