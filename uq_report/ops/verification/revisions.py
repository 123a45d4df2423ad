"""What the revisions of a signed PDF add: each after the first a signature, and nothing that a reader could see.

A signature covers whatever stood in the file when it was made, pages painted over by then included. So the first
revision must be the report as it was rendered, and each later one may hold no more than its signature asks for.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.reader import PdfFileReader

_ROOT = frozenset({"/AcroForm", "/Extensions", "/Perms", "/Version"})
_INFO = frozenset({"/ModDate", "/Producer"})
_PAGE = frozenset({"/Annots", "/Tabs"})
_FORM = frozenset({"/Fields", "/SigFlags", "/DA", "/DR"})
_FIELD = frozenset({"/AP", "/F", "/FT", "/Ff", "/Lock", "/P", "/Rect", "/SV", "/Subtype", "/T", "/TU", "/Type", "/V"})
_WORD = re.compile(rb">([^<>]+)<|\s(?!xmlns)[\w:]+=\"([^\"]*)\"")
_DATED = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.+Z-]+|.*\bpyHanko\b.*|")  # the time of the change, and the program


def first_revision(data: bytes) -> bytes:
    """Return the part of a PDF that its later revisions follow, without blanks at its end."""
    place = PdfFileReader(io.BytesIO(data)).xrefs.get_startxref_for_revision(0)
    end = re.search(rb"startxref\s+%d\s+%%%%EOF" % place, data)
    return data[: end.end()] if end else b""


def foreign(reader: PdfFileReader) -> Iterator[str]:
    """Yield what the revisions of a signed PDF change beside adding their signatures."""
    signatures, last = list(reader.embedded_signatures), reader.total_revisions - 1
    if sorted(signature.signed_revision for signature in signatures) != [*range(1, last + 1)]:
        yield f"{last} revisions follow the first for {len(signatures)} signatures"
        return
    widgets, faults = _fields(reader)
    if len(widgets) != len(signatures):
        faults.append("it has fields that are no signatures")
    yield from faults
    for revision in range(1, last + 1):
        yield from (f"revision {revision + 1} changes {part}" for part in _changes(reader, revision, widgets))


def _fields(reader: PdfFileReader) -> tuple[set[int], list[str]]:
    """Return the numbers of the form's fields, and what they show or do beside being signatures."""
    form = reader.root["/AcroForm"]
    faults = [f"its form has {key}" for key in sorted(form.keys() - _FORM)]
    numbers = set()
    for item in form["/Fields"]:
        field = item.get_object()
        numbers.add(getattr(item, "idnum", -1))
        left, bottom, right, top = (float(edge) for edge in field["/Rect"])
        if field["/FT"] != "/Sig" or field.keys() - _FIELD:
            faults.append("it has fields that are no signatures")
        elif left != right and bottom != top:
            faults.append("a signature is drawn on a page, where it may hide what stands there")
    return numbers, faults


def _changes(reader: PdfFileReader, revision: int, widgets: set[int]) -> Iterator[str]:
    """Yield what one revision changes of the one before, beside what a signature needs."""
    xrefs = reader.xrefs
    before, after = (reader.get_historical_resolver(number) for number in (revision - 1, revision))
    heads, then = before.trailer_view, after.trailer_view
    places = {key: _number(heads.raw_get(key)) for key in ("/Root", "/Info") if key in heads}
    if any(key not in then or _number(then.raw_get(key)) != number for key, number in places.items()):
        yield "which object is the document"
        return
    places["/Metadata"] = _number(before.root.raw_get("/Metadata")) if "/Metadata" in before.root else -1
    names = {number: key for key, number in places.items()}
    forms = set()
    if "/AcroForm" in before.root:
        forms = {_number(before.root.raw_get("/AcroForm")), _number(before.root["/AcroForm"].raw_get("/Fields"))}
    for ref in sorted(xrefs.explicit_refs_in_revision(revision) | xrefs.refs_freed_in_revision(revision), key=_number):
        if xrefs.get_historical_ref(ref, revision - 1) is None or ref.idnum in forms:  # new, or looked at as fields
            continue
        old, new = before.get_object(ref), after.get_object(ref)
        if not _allowed(names.get(ref.idnum, ""), old, new, widgets):
            yield f"object {ref.idnum}, which is no part of a signature"


def _allowed(name: str, old: Any, new: Any, widgets: set[int]) -> bool:
    """Return whether a signature may change an object so: what it does not need stays, lists of notes grow by it."""
    if name == "/Metadata":
        return set(_words(new) - _words(old)) == set()
    if isinstance(old, generic.ArrayObject):
        return _grows(old, new, widgets)
    if not isinstance(old, generic.DictionaryObject) or isinstance(old, generic.StreamObject):
        return False
    free = {"/Root": _ROOT, "/Info": _INFO}.get(name, _PAGE if old.get("/Type") == "/Page" else frozenset())
    if not isinstance(new, generic.DictionaryObject) or _kept(old, free) != _kept(new, free):
        return False
    if free is not _PAGE:
        return True
    return new.get("/Tabs", "/S") == "/S" and _grows(_notes(old), _notes(new), widgets)


def _grows(old: Any, new: Any, widgets: set[int]) -> bool:
    """Return whether a list goes on as it was, with signatures at its end."""
    if not isinstance(new, list):
        return False
    first, items = [_written(item) for item in old], list(new)  # as they stand, references unresolved
    return [_written(item) for item in items[: len(first)]] == first and all(
        _number(item) in widgets for item in items[len(first) :]
    )


def _notes(page: Any) -> Any:
    return page["/Annots"] if "/Annots" in page else []  # noqa: SIM401 - `get` leaves a reference unresolved


def _kept(content: Mapping[str, Any], free: frozenset[str]) -> dict[str, bytes]:
    return {str(key): _written(value) for key, value in content.items() if key not in free}


def _words(stream: Any) -> Counter[bytes]:
    """Return what the description of a document says, without when and by which program it was last written."""
    words = (b"".join(match.groups(b"")).strip(b"\xef\xbb\xbf\t\r\n ") for match in _WORD.finditer(bytes(stream.data)))
    return Counter(word for word in words if not _DATED.fullmatch(word))


def _written(item: Any) -> bytes:
    place = io.BytesIO()
    item.write_to_stream(place, None)
    return place.getvalue()


def _number(item: Any) -> int:
    """Return the number of the object that is referred to; -1 for one that stands in its place."""
    return int(getattr(item, "idnum", -1))
