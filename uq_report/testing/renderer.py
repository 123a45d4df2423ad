"""The contract of renderers."""

from __future__ import annotations

from collections.abc import Callable

from ..document.document import Renderer
from ..runner import plugins
from .contract import require, require_declared
from .known import known_document


def renderer_checks() -> tuple[Callable[[type[Renderer]], None], ...]:
    """Return every check of a renderer class."""
    return (check_renderer_declares_itself, check_renderer_is_a_pure_function)


def check_renderer_declares_itself(cls: type[Renderer]) -> None:
    """Require the members of the contract, and an extension with its dot."""
    require_declared(plugins.RENDERERS, cls)
    require(cls.extension.startswith("."), cls, f"must have an extension with its dot; got {cls.extension!r}")


def check_renderer_is_a_pure_function(cls: type[Renderer]) -> None:
    """Require that a document with every kind of block gives bytes, the same ones each time."""
    first, second = cls().render(known_document()), cls().render(known_document())
    require(isinstance(first, bytes) and bool(first), cls, "must return bytes")
    require(first == second, cls, "must give the same bytes for the same document")
