"""What a program can check of PDF/A-3a and PDF/UA-1 in a file, each fault in words.

Each rule was derived from a verdict of veraPDF; the numbers name the clauses of ISO 14289-1 (UA)
and ISO 19005-3 (A). A list without faults is no proof of conformance: reading order and the sense of
alternative texts are for people.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import html5lib
import pikepdf

ACTIVE = ("/JavaScript", "/JS", "/OpenAction", "/AA", "/Launch", "/RichMedia", "/XFA")
XMP = {
    "{http://www.aiim.org/pdfa/ns/id/}part": "3",
    "{http://www.aiim.org/pdfa/ns/id/}conformance": "A",
    "{http://www.aiim.org/pdfua/ns/id/}part": "1",
}
MISHEARD = {  # rules of outloud that a sound report breaks
    "PAG-001": "any line thrice near an edge counts as a running head: heads of tables, ticks and titles of figures",
    "FRM-003": "the widget of an invisible signature lies outside of the page, which PDF/UA-1 7.18.1 exempts from tags",
}
KIDS = {
    "/L": {"/LI", "/Caption", "/L"},
    "/LI": {"/Lbl", "/LBody"},
    "/Table": {"/THead", "/TBody", "/TFoot", "/TR", "/Caption"},
    "/THead": {"/TR"},
    "/TBody": {"/TR"},
    "/TR": {"/TH", "/TD"},
}
Heading = tuple[int, str]


def faults(pdf: bytes, html: str, attachments: Mapping[str, bytes] | None = None) -> list[str]:
    """Return everything wrong with a PDF printed from `html` with these files attached."""
    try:
        opened = pikepdf.open(io.BytesIO(pdf))
    except pikepdf.PdfError as error:
        return [f"the file cannot be opened: {error}"]
    with opened:
        found = [
            *_catalog(opened),
            *_metadata(opened),
            *_tags(opened),
            *_headings(opened, html),
            *_fonts(opened),
            *_objects(opened),
            *_attachments(opened, attachments or {}),
            *opened.check_pdf_syntax(),
        ]
    return [*found, *programs(pdf)]


def elements(opened: pikepdf.Pdf) -> list[Any]:
    """Return all structure elements in reading order."""
    return list(_below(opened.Root.StructTreeRoot))


def kids(element: Any) -> list[Any]:
    """Return the structure elements right below one."""
    return [kid for kid in _content(element) if "/S" in kid]


def _content(element: Any) -> list[Any]:
    content = element.get("/K", [])
    content = list(content) if isinstance(content, pikepdf.Array) else [content]
    return [kid for kid in content if isinstance(kid, pikepdf.Dictionary)]


def bookmarks(opened: pikepdf.Pdf) -> list[Heading]:
    """Return depth and title of every bookmark."""
    with opened.open_outline() as outline:
        return list(_titles(outline.root, 1))


def headings(html: str) -> list[Heading]:
    """Return level and text of every heading of a page."""
    root = html5lib.parse(html, namespaceHTMLElements=False)
    found = [e for e in root.iter() if isinstance(e.tag, str) and re.fullmatch("h[1-6]", e.tag)]
    return [(int(e.tag[1]), " ".join("".join(e.itertext()).split())) for e in found]


def _below(element: Any) -> Iterator[Any]:
    for kid in kids(element):
        yield kid
        yield from _below(kid)


def _titles(items: Any, depth: int) -> Iterator[Heading]:
    for item in items:
        yield depth, " ".join(item.title.split())
        yield from _titles(item.children, depth + 1)


def _catalog(opened: pikepdf.Pdf) -> Iterator[str]:
    root: Any = opened.Root
    none: Any = {}
    if not str(root.get("/Lang", "")):
        yield "there is no language (UA 7.2)"
    if root.get("/MarkInfo", none).get("/Marked") is not True:
        yield "the file is not marked as tagged (UA 7.1)"
    if root.get("/ViewerPreferences", none).get("/DisplayDocTitle") is not True:
        yield "viewers show the file name, not the title (UA 7.1)"
    intents = list(root.get("/OutputIntents", []))
    if [str(intent.S) for intent in intents] != ["/GTS_PDFA1"] or "/DestOutputProfile" not in intents[0]:
        yield f"there must be one output intent with a profile (A 6.2.3); got {len(intents)}"
    if len(opened.trailer.get("/ID", [])) != 2:
        yield "the trailer has no ID (A 6.1.3)"
    if opened.is_encrypted:
        yield "the file is encrypted (A 6.1.3)"


def _metadata(opened: pikepdf.Pdf) -> Iterator[str]:
    raw = opened.Root.Metadata.read_bytes()
    try:
        ET.fromstring(raw[raw.index(b"<rdf:RDF") :][: raw[raw.index(b"<rdf:RDF") :].index(b"</rdf:RDF>") + 10])
    except (ET.ParseError, ValueError) as error:
        yield f"the XMP metadata are not well-formed (A 6.6.2): {error}"
        return
    with opened.open_metadata() as xmp:
        for name, value in XMP.items():
            if xmp.get(name) != value:
                yield f"XMP {name} must be {value}; got {xmp.get(name)!r}"
        title = str(opened.docinfo.get("/Title", ""))
        if not title or xmp.get("dc:title") != title:
            yield f"dc:title must be the title {title!r}; got {xmp.get('dc:title')!r} (UA 7.1, A 6.6.3)"


def _tags(opened: pikepdf.Pdf) -> Iterator[str]:
    for element in elements(opened):
        kind = str(element.S)
        if kind == "/Figure" and not str(element.get("/Alt", "")).strip():
            yield "a figure has no alternative text (UA 7.3)"
        below = {str(kid.S) for kid in kids(element)}
        if kind in KIDS and not below <= KIDS[kind]:
            yield f"{kind} holds {sorted(below - KIDS[kind])} (UA 7.2)"
        if kind == "/TD" and not len(_attribute(element, "/Headers")):
            yield "a table cell names no header (UA 7.5)"
        if kind == "/TH" and not _attribute(element, "/Scope"):
            yield "a header cell says not whether it names a row or a column (UA 7.5)"
        if kind != "/Link" and any(kid.get("/Type") == "/OBJR" for kid in _content(element)):
            yield f"{kind} holds a link (UA 7.18.5)"
        if kind == "/Table":
            widths = {len(kids(row)) for row in _below(element) if str(row.S) == "/TR"}
            if len(widths) > 1:
                yield f"the rows of a table have {sorted(widths)} cells (UA 7.2)"
    yield from _running_heads(opened)
    identified = {str(e.ID) for e in elements(opened) if "/ID" in e}
    named = {str(h) for e in elements(opened) if str(e.S) == "/TD" for h in _attribute(e, "/Headers")}
    if named - identified:
        yield f"table cells name headers that are not there: {sorted(named - identified)[:3]}"


def _running_heads(opened: pikepdf.Pdf) -> Iterator[str]:
    """Look for marked content that no element of the tree holds: it is neither heard nor said to be an artifact."""
    held = {element.objgen for element in elements(opened)}
    nums: Any = opened.Root.StructTreeRoot.ParentTree.Nums
    for owners in list(nums)[1::2]:
        for owner in owners if isinstance(owners, pikepdf.Array) else [owners]:
            if owner is not None and owner.objgen not in held:
                yield "marked content is in no element of the tree (UA 7.1)"


def _attribute(element: Any, name: str) -> Any:
    attributes = element.get("/A", {})
    listed = attributes if isinstance(attributes, pikepdf.Array) else [attributes]
    return next((one[name] for one in listed if name in one), [])


def _headings(opened: pikepdf.Pdf, html: str) -> Iterator[str]:
    levels = [int(str(e.S)[2:]) for e in elements(opened) if re.fullmatch("/H[1-6]", str(e.S))]
    said = headings(html)
    if not levels or levels[0] != 1 or any(after > before + 1 for before, after in pairwise(levels)):
        yield f"the levels of headings start at 1 and skip none (UA 7.4.2); got {levels}"
    if levels != [level for level, _ in said]:
        yield f"the headings of the page are {said}, those of the file have levels {levels}"
    if bookmarks(opened) != said:
        yield f"the outline must be the headings {said}; got {bookmarks(opened)}"


def _fonts(opened: pikepdf.Pdf) -> Iterator[str]:
    for font in (o for o in opened.objects if isinstance(o, pikepdf.Dictionary) and o.get("/Type") == "/Font"):
        name, kind = str(font.get("/BaseFont", "")), str(font.get("/Subtype", ""))
        if kind == "/Type0" and "/ToUnicode" not in font:
            yield f"font {name} says not what its glyphs mean (A 6.2.11.7, UA 7.21.7)"
        if kind != "/Type0" and not {"/FontFile", "/FontFile2", "/FontFile3"} & set(font.FontDescriptor.keys()):
            yield f"font {name} is not embedded (A 6.2.11.4, UA 7.21.4)"


def _objects(opened: pikepdf.Pdf) -> Iterator[str]:
    root: Any = opened.Root
    objects: Any = opened.objects
    for item in objects:
        if isinstance(item, pikepdf.Dictionary | pikepdf.Stream):
            for name in ACTIVE:
                if name in item or item.get("/S") == name:
                    yield f"the file is active: {name} (A 6.5.1, 6.6.1)"
            if item.get("/Interpolate", False):
                yield "an image is interpolated (A 6.2.8)"
            if item.get("/Type") == "/Annot" and not int(item.get("/F", 0)) & 4:
                yield "an annotation is not printed (A 6.3.2)"
    if "/JavaScript" in root.get("/Names", []):
        yield "the file names scripts (A 6.5.1)"


def _attachments(opened: pikepdf.Pdf, expected: Mapping[str, bytes]) -> Iterator[str]:
    root: Any = opened.Root
    none: Any = {}
    tree = root.get("/Names", none).get("/EmbeddedFiles", none).get("/Names", [])
    names, specs = [str(name) for name in list(tree)[::2]], list(tree)[1::2]
    if names != sorted(expected):
        yield f"the attachments must be {sorted(expected)}, in that order; got {names}"
        return
    listed = [spec.objgen for spec in root.get("/AF", [])]
    if sorted(listed) != sorted({spec.objgen for spec in specs}):
        yield f"each attachment stands once among the associated files (A 6.8); {len(listed)} do"
    for name, spec in zip(names, specs, strict=True):
        file = spec.EF.F
        if file.read_bytes() != expected[name]:
            yield f"attachment {name} is not the file"
        if (str(spec.F), str(spec.UF), str(spec.get("/AFRelationship"))) != (name, name, "/Data"):
            yield f"attachment {name} has another name, or is no /Data (A 6.8)"
        if "/Subtype" not in file or "/ModDate" not in file.Params or not str(spec.get("/Desc", "")):
            yield f"attachment {name} lacks its type, date or description (A 6.8)"
    embedded = [o for o in opened.objects if isinstance(o, pikepdf.Stream) and o.get("/Type") == "/EmbeddedFile"]
    if len(embedded) != len(expected):
        yield f"the file embeds {len(embedded)} files, {len(expected)} of them ours"


def programs(pdf: bytes) -> Iterator[str]:
    """Ask qpdf, veraPDF for both profiles, and outloud, where they are installed."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "report.pdf")
        file.write_bytes(pdf)
        for command in (["qpdf", "--check"], ["verapdf", "-f", "3a"], ["verapdf", "-f", "ua1"]):
            if shutil.which(command[0]):
                done = subprocess.run([*command, str(file)], capture_output=True, check=False)
                said = (done.stdout + done.stderr).decode(errors="replace")
                if done.returncode or 'isCompliant="false"' in said:
                    yield f"{' '.join(command)}: {said[:500]}"
        if find_spec("outloud"):
            yield from _heard(file)


def _heard(file: Path) -> Iterator[str]:
    """Ask outloud, which checks PDF/UA-1 and how a page is heard, in a process of its own."""
    command = [sys.executable, "-m", "outloud.cli", "--json", "-", str(file)]
    (said,) = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)["results"]
    for finding in said["findings"]:
        if finding["severity"] in {"error", "warning"} and finding["rule"] not in MISHEARD:
            yield f"outloud {finding['rule']}: {finding['message']} ({finding.get('evidence')})"
