"""WeasyPrint, imported without what a page does not need: compilers that know where libraries lie, tools of fonts."""

from __future__ import annotations

import ctypes.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

# WeasyPrint calls these only where HarfBuzz cannot cut a font down, and for variable fonts.
_RARE = ("fontTools.subset", "fontTools.varLib.instancer")


class _Later(ModuleType):
    """Stands for a module whose functions and classes are called, if at all: it is imported then."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            return getattr(import_module(self.__name__), name)(*args, **options)

        return call


@contextmanager
def _without_rare() -> Iterator[None]:
    """Let WeasyPrint import modules that it hardly ever calls later; they take a third of its import."""
    stand_ins = {name: _Later(name) for name in _RARE if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


@contextmanager
def _by_name() -> Iterator[None]:
    """Let Linux load libraries by their own names, such as ``libpango-1.0.so.0``.

    WeasyPrint tries those of other systems before, and for each Python starts ldconfig, a compiler and a linker: 50
    processes, and more than a third of the import.
    """
    search = ctypes.util.find_library
    if sys.platform == "linux":
        vars(ctypes.util)["find_library"] = lambda _: None
    try:
        yield
    finally:
        vars(ctypes.util)["find_library"] = search


with _by_name(), _without_rare():
    from cssselect2 import ElementWrapper
    from weasyprint import HTML, draw, svg
    from weasyprint import Attachment as PdfAttachment
    from weasyprint.css import AnonymousStyle
    from weasyprint.formatting_structure.boxes import Box, TableCellBox
    from weasyprint.layout import background, block, inline, page, table
    from weasyprint.text import line_break
    from weasyprint.text.ffi import pango
    from weasyprint.text.line_break import Layout
    from weasyprint.urls import FatalURLFetchingError, URLFetcher

__all__ = [
    "HTML", "AnonymousStyle", "Box", "ElementWrapper", "FatalURLFetchingError", "Layout", "PdfAttachment",
    "TableCellBox", "URLFetcher", "background", "block", "draw", "inline", "line_break", "page", "pango", "replaced",
    "svg", "table",
]  # fmt: skip


@contextmanager
def replaced(place: Any, **others: Any) -> Iterator[None]:
    """Put others in the place of functions, or of what else has these names in a module or class, meanwhile."""
    before = {name: getattr(place, name) for name in others}
    for name, other in others.items():
        setattr(place, name, other)
    try:
        yield
    finally:
        for name, other in before.items():
            setattr(place, name, other)
