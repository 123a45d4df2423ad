"""What documents made from a run share beside their sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...document.document import Document, Section
from ...document.evidence import Evidence, as_cell
from ...document.text import clean
from ..assemble import shell
from ..attachments import attachments


def framed(e: Evidence, kind: str, title: str, sections: Sequence[Section]) -> Document:
    """Return a document of these sections on upright pages, tied to the run by its hash and its attachments."""
    subtitle = e.about("title") or f"Uncertainty audit of {clean(as_cell(e.subject.label), 120)}"
    cover = shell(e, title=title, subtitle=subtitle, kind=kind)
    return replace(cover, sections=tuple(sections), attachments=attachments(e, sections), layout="portrait")
