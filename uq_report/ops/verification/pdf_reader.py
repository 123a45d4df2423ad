"""pyHanko's reader, made fit for long reports.

pyHanko 0.38 reads the index of an object stream again for each object in it, so that comparing two revisions of a
report of 60 pages takes many minutes. Here the index is read once.
"""

from __future__ import annotations

import io
from typing import Any

from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.reader import PdfFileReader


class MemoryPdfReader(PdfFileReader):  # type: ignore[misc] # an extra, Any to the types
    """Reads a PDF in memory; what an index does not say plainly is left to pyHanko."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._indexes: dict[int, tuple[list[int], int, bytes]] = {}
        super().__init__(io.BytesIO(data))

    def _get_object_from_stream(self, idnum: int, stmnum: int, idx: int) -> Any:
        numbers, first, content = self._index(stmnum)
        if not 0 <= 2 * idx + 1 < len(numbers) or numbers[2 * idx] != idnum:
            return super()._get_object_from_stream(idnum, stmnum, idx)
        place = io.BytesIO(content)
        place.seek(first + numbers[2 * idx + 1])
        item = generic.read_object(place, generic.Reference(idnum, 0, self))
        if isinstance(item, generic.StreamObject | generic.IndirectObject):
            return super()._get_object_from_stream(idnum, stmnum, idx)
        return item

    def _index(self, stmnum: int) -> tuple[list[int], int, bytes]:
        """Return object numbers and offsets in turn, where the offsets count from, and the content."""
        if stmnum not in self._indexes:
            stream: Any = generic.Reference(stmnum, 0, self).get_object()
            content = bytes(stream.data)
            first = int(stream["/First"])
            words = content[:first].split()
            plain = len(words) == 2 * int(stream["/N"]) and all(word.isdigit() for word in words)
            self._indexes[stmnum] = ([int(word) for word in words] if plain else [], first, content)
        return self._indexes[stmnum]
