"""Files inside of reports, by themselves: the process that prints needs nothing else of a document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attachment:
    """A file that travels inside the report where the format can hold one (PDF)."""

    name: str
    content: bytes
    media_type: str
    description: str
