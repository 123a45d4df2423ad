"""Both standards hold for reports of every shape, and the check that says so notices what is wrong."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

import pikepdf
import pytest

from uq_report.document.document import Attachment, Document, Paragraph, Section
from uq_report.evidence.run import Run
from uq_report.render.html import page
from uq_report.render.pdf import PdfRenderer
from uq_report.report.assemble import document as assemble
from uq_report.report.kinds.brief import brief
from uq_report.report.kinds.model_card import model_card
from uq_report.testing.known import known_document

from ..report.cases import NAMES, Case
from ..report.synthetic import make_run
from . import structure
from .conftest import figure, make, table
from .structure import faults, programs

FILES = (
    Attachment("run.json", b'{"format": 1}\n', "application/json", "The evidence"),
    Attachment("pfi.csv", b"feature,value\n", "text/csv", "Table of pfi"),
    Attachment("zz empty.bin", b"", "application/octet-stream", "Nothing"),
)


def skipped() -> Run:
    return replace(make_run(), results=(), outcomes=())


def side_by_side() -> Run:
    run = make_run(Case(names=NAMES[:2]), leave_out=("pdp", "shap", "dalex"))
    return replace(run, challenger=replace(run, subject={**run.subject, "label": "Challenger"}))


SHAPES: dict[str, Callable[[], Run]] = {
    "classification": lambda: make_run(Case(names=NAMES[:2])),
    "regression": lambda: make_run(Case(names=NAMES[:2], task="regression"), leave_out=("shap",)),
    "one feature": lambda: make_run(Case(names=("age",)), leave_out=("dalex",)),
    "60 features": lambda: make_run(Case(names=tuple(f"f{i}" for i in range(60))), leave_out=("pdp", "shap", "dalex")),
    "no finding": lambda: replace(make_run(Case(names=NAMES[:2]), leave_out=("pdp",)), outcomes=()),
    "everything skipped": skipped,
    "side by side": side_by_side,
}


def checked(document: Document) -> list[str]:
    """Return the faults of the PDF of a document, printed as users print it."""
    files = {item.name: item.content for item in document.attachments}
    return faults(PdfRenderer(strict=True).render(document), page(document, paged=True), files)


@pytest.mark.parametrize("shape", SHAPES)
def test_both_standards_hold_for_every_shape(shape: str) -> None:
    assert checked(assemble(SHAPES[shape]())) == []


@pytest.mark.parametrize("kind", [brief, model_card])
def test_both_standards_hold_for_the_short_kinds(kind: Callable[[Run], Document]) -> None:
    assert checked(kind(make_run(Case(names=NAMES[:3])))) == []


def test_both_standards_hold_with_attachments_and_with_nothing(document: Document, hostile: Document) -> None:
    assert checked(replace(document, attachments=FILES)) == []
    found = checked(replace(hostile, attachments=FILES[:1]))
    assert [fault for fault in found if not fault.startswith("outloud")] == []  # it sounds as hostile as it is
    assert checked(make()) == []
    assert checked(known_document()) == []


def test_attachments_do_not_depend_on_their_order(document: Document) -> None:
    one, other = (PdfRenderer().render(replace(document, attachments=files)) for files in (FILES, FILES[::-1]))
    assert one == other


@pytest.fixture(scope="module")
def sound() -> tuple[bytes, str]:
    made = make(Section(id="s", title="S", blocks=(Paragraph(text="T"), table(), figure())))
    pdf, html = PdfRenderer().render(replace(made, attachments=FILES[:2])), page(made)
    assert faults(pdf, html, {item.name: item.content for item in FILES[:2]}) == []
    return pdf, html


def _no_alt(pdf: pikepdf.Pdf) -> None:
    for item in pdf.objects:
        if isinstance(item, pikepdf.Dictionary) and item.get("/S") == "/Figure":
            del item["/Alt"]


def _no_headers(pdf: pikepdf.Pdf) -> None:
    for item in pdf.objects:
        if isinstance(item, pikepdf.Dictionary) and item.get("/S") == "/TD":
            item.A.Headers = pikepdf.Array()


def _deep(pdf: pikepdf.Pdf) -> None:
    for item in pdf.objects:
        if isinstance(item, pikepdf.Dictionary) and item.get("/S") == "/H2":
            item.S = pikepdf.Name("/H4")


def _no_scope(pdf: pikepdf.Pdf) -> None:
    for item in pdf.objects:
        if isinstance(item, pikepdf.Dictionary) and item.get("/S") == "/TH":
            del item.A["/Scope"]


def _loose_links(pdf: pikepdf.Pdf) -> None:
    for item in pdf.objects:
        if isinstance(item, pikepdf.Dictionary) and item.get("/S") == "/Link":
            item.S = pikepdf.Name("/Span")


def _script(pdf: pikepdf.Pdf) -> None:
    pdf.Root.OpenAction = pikepdf.Dictionary(S=pikepdf.Name("/JavaScript"), JS="app.alert(1)")


def _mute_fonts(pdf: pikepdf.Pdf) -> None:
    for item in pdf.objects:
        if isinstance(item, pikepdf.Dictionary) and "/ToUnicode" in item:
            del item["/ToUnicode"]


def _other_title(pdf: pikepdf.Pdf) -> None:
    pdf.docinfo["/Title"] = "Another"


def _no_ua(pdf: pikepdf.Pdf) -> None:
    raw = pdf.Root.Metadata.read_bytes()
    pdf.Root.Metadata = pdf.make_stream(raw.replace(b'pdfuaid:part="1"', b""))


def _twice(pdf: pikepdf.Pdf) -> None:
    pdf.Root.AF.append(pdf.Root.AF[0])


def _other_file(pdf: pikepdf.Pdf) -> None:
    pdf.Root.AF[0].EF.F.write(b"feature,value,more\n")


BREAKS: dict[str, tuple[Callable[[pikepdf.Pdf], None], str]] = {
    "no alternative text": (_no_alt, "a figure has no alternative text"),
    "cells without headers": (_no_headers, "a table cell names no header"),
    "headers without scope": (_no_scope, "a header cell says not whether"),
    "links outside of links": (_loose_links, "/Span holds a link"),
    "a skipped heading": (_deep, "the levels of headings start at 1 and skip none"),
    "a script": (_script, "the file is active: /OpenAction"),
    "fonts without meaning": (_mute_fonts, "says not what its glyphs mean"),
    "another title": (_other_title, "dc:title must be the title"),
    "one standard": (_no_ua, "XMP {http://www.aiim.org/pdfua/ns/id/}part must be 1"),
    "a file listed twice": (_twice, "each attachment stands once"),
    "another file": (_other_file, "attachment pfi.csv is not the file"),
    "no language": (lambda pdf: pdf.Root.__delitem__("/Lang"), "there is no language"),
    "no tags": (lambda pdf: pdf.Root.__delitem__("/MarkInfo"), "not marked as tagged"),
    "no colours": (lambda pdf: pdf.Root.__delitem__("/OutputIntents"), "there must be one output intent"),
    "no outline": (lambda pdf: pdf.Root.__delitem__("/Outlines"), "the outline must be the headings"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_the_check_notices(sound: tuple[bytes, str], what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself: other programs are not asked."""
    monkeypatch.setattr(structure, "programs", lambda _: ())
    change, fault = BREAKS[what]
    pdf, html = sound
    files = {item.name: item.content for item in FILES[:2]}
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        change(opened)
        out = io.BytesIO()
        opened.save(out)
    assert any(fault in said for said in faults(out.getvalue(), html, files))


def test_an_independent_checker_is_asked(sound: tuple[bytes, str]) -> None:
    if not find_spec("outloud"):
        pytest.skip("outloud is not installed: pip install 'uq_report[test]'")
    with pikepdf.open(io.BytesIO(sound[0])) as opened:
        _no_alt(opened)
        out = io.BytesIO()
        opened.save(out)
    assert [fault.split(":")[0] for fault in programs(out.getvalue())] == ["outloud FIG-001"]


def test_the_check_notices_a_file_cut_off(sound: tuple[bytes, str]) -> None:
    pdf, html = sound
    files = {item.name: item.content for item in FILES[:2]}
    assert faults(pdf[:-200], html, files)
