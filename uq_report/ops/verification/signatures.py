"""Signatures in a PDF: what they cover, what they forbid, and who made them; needs the extra ``sign``."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.support.errors import InputError, words_of
from ...core.support.text import clean, count
from .evidence import State, VerificationVerdict, failed, left_open, proven

if TYPE_CHECKING:
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
    from pyhanko.pdf_utils.reader import PdfFileReader

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
    from pyhanko.pdf_utils import generic

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


LEVELS = {1: "no changes allowed", 2: "form filling and further signatures allowed", 3: "comments allowed too"}


def judge_signatures(
    data: bytes, trust: Sequence[str | Path] = (), *, required: bool = False
) -> Iterator[VerificationVerdict]:
    """Say of each signature whether it holds, who signed, and whether the file is the report and signatures alone.

    Parameters
    ----------
    data : bytes
        A PDF with at least one signature.
    trust : sequence of path
        Certificates (PEM or DER) the signer's must lead to; nothing is fetched, and revocation is not looked up.
    required : bool
        Whether signatures must be judged.
    """
    try:
        from pyhanko.pdf_utils.reader import PdfFileReader
    except ImportError:
        state: State = "error" if required else "not assessed"
        yield VerificationVerdict("signature", state, "signature found, not assessed: install uq_report[sign]")
        return
    anchors = trusted(trust)
    try:
        reader = PdfFileReader(io.BytesIO(data))
        signatures = list(reader.embedded_signatures)
        if not signatures:
            yield failed("signature", "there are remains of a signature, and no signature field")
        for position, signature in enumerate(signatures, 1):
            yield from _judge(signature, data, anchors, asked=bool(trust), last=position == len(signatures))
        if signatures:
            yield _revisions(reader, data)
    except Exception as error:  # noqa: BLE001 - a damaged signature can fail in any way in the reader
        yield failed("signature", f"it cannot be read ({words_of(error)})")


def trusted(files: Sequence[str | Path]) -> list[Any]:
    """Return the certificates in files, at least one of each."""
    return [certificate for file in files for certificate in certificates_in(file, "verify.trust")]


def certificates_in(file: str | Path, option: str) -> list[Any]:
    """Return the certificates in a file in PEM or DER; refuse a file without one, as a key or a request is."""
    from pyhanko.keys import load_certs_from_pemder

    try:
        certificates = list(load_certs_from_pemder([str(file)]))
        parsed = [certificate.native for certificate in certificates]  # other DER fails here
    except (OSError, ValueError) as error:
        raise InputError(
            f"{option} must be a file with certificates; got {str(file)!r} ({words_of(error)}). Name a PEM file."
        ) from error
    if not parsed:
        raise InputError(
            f"{option} must be a file with certificates; got {str(file)!r}, which holds none. Name a PEM file."
        )
    return certificates


def _judge(
    signature: Any, data: bytes, anchors: list[Any], *, asked: bool, last: bool
) -> Iterator[VerificationVerdict]:
    from pyhanko.sign.validation import validate_pdf_signature
    from pyhanko.sign.validation.status import SignatureCoverageLevel
    from pyhanko_certvalidator import ValidationContext

    name = f"signature {clean(signature.field_name, 60)!r}"
    if signature.sig_object_type != "/Sig":
        yield failed(name, f"it must be a signature; got {clean(signature.sig_object_type, 40)}")
        return
    context = ValidationContext(trust_roots=anchors, allow_fetching=False)
    status = validate_pdf_signature(signature, signer_validation_context=context)
    whole = status.coverage == SignatureCoverageLevel.ENTIRE_FILE
    faults = {
        "the signed bytes were changed": not status.intact,
        "the cryptographic signature is not valid": not status.valid,
        "it does not cover its whole revision": status.coverage < SignatureCoverageLevel.ENTIRE_REVISION,
        "the report was changed after it in a way it forbids": not status.docmdp_ok,
        "bytes follow it that no signature covers": last and not whole,
        "its own bytes were changed": not _is_tidy(signature, data),
    }
    wrong = [fault for fault, holds in faults.items() if holds]
    level = LEVELS.get(getattr(signature.docmdp_level, "value", 0), "approval, which forbids no further signature")
    covers = "the whole file" if whole else "its revision; a later signature follows"
    meaning = f"certifies: {level}" if signature.docmdp_level else level
    yield VerificationVerdict(
        name, "failed" if wrong else "verified", "; ".join(wrong) or f"intact, covers {covers}; {meaning}"
    )
    yield _signer(status, asked, f"signer of {name.removeprefix('signature ')}")


def _revisions(reader: Any, data: bytes) -> VerificationVerdict:
    """Say whether each revision after the first adds a signature and nothing else."""
    faults, size = list(foreign(reader)), len(first_revision(data))
    if faults:
        more = f"; and {count(len(faults) - 1, 'other fault')}" if len(faults) > 1 else ""
        return failed("revisions", f"more was added to the report than signatures: {faults[0]}{more}")
    added = count(reader.total_revisions - 1, "revision")
    return proven("revisions", f"the first {size} bytes are the report; {added} after it: signatures alone")


def _signer(status: Any, asked: bool, name: str) -> VerificationVerdict:
    """Say who signed and when; if trust was `asked` for, whether the signer leads to a named certificate."""
    who = clean(status.signing_cert.subject.human_friendly, 200)
    stamp, claimed = status.timestamp_validity, status.signer_reported_dt
    when = "no time given" if claimed is None else f"says {claimed.isoformat(timespec='seconds')}, no time stamp"
    if stamp is not None:
        when = f"time stamp {stamp.timestamp.isoformat(timespec='seconds')}"
    signed = f"{who}; {when}"
    if stamp is not None and not (stamp.intact and stamp.valid):
        return failed(name, f"{signed}, which is NOT valid")
    if not asked:
        return left_open(name, f"{signed}; name the certificate it must lead to by --trust")
    if status.bottom_line:
        return proven(name, f"{signed}; leads to a trusted certificate; revocation was not looked up")
    reason = "the time stamp is not trusted" if status.trusted else "does not lead to a trusted certificate, or expired"
    return failed(name, f"{signed}; {reason}")


def _is_tidy(signature: Any, data: bytes) -> bool:
    """Return whether the only part of a file that no signature covers holds the signature and nothing else.

    That is: its bytes in one notation, then zeros; and the fields it repeats for readers say what its signed part says.
    """
    from asn1crypto.parser import peek

    start, length, rest, _ = (int(number) for number in signature.byte_range)
    content = bytes(signature.pkcs7_content)
    digits = content.hex().encode()
    room = data[start + length : rest]
    if any(content[peek(content) :]) or room not in (b"<" + digits + b">", b"<" + digits.upper() + b">"):
        return False
    whole, signer = signature.signed_data, signature.signer_info
    by_name = signer["sid"].name == "issuer_and_serial_number"
    repeated = [algorithm.dump() for algorithm in whole["digest_algorithms"]] == [signer["digest_algorithm"].dump()]
    return repeated and whole["version"].native == "v1" and signer["version"].native == ("v1" if by_name else "v3")
