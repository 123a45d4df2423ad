"""What documents made from a run share beside their sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..assemble import shell
from ..attachments import attachments
from ..document import Document, Section
from ..evidence import Evidence
from ..text import clean


def framed(e: Evidence, kind: str, title: str, sections: Sequence[Section]) -> Document:
    """Return a document of these sections on upright pages, tied to the run by its hash and its attachments."""
    subtitle = e.about("title") or f"Uncertainty audit of {clean(e.fact('label'), 120)}"
    made = shell(e.run, title=title, subtitle=subtitle, kind=kind)
    return replace(made, sections=tuple(sections), attachments=attachments(e.run, sections), layout="portrait")
