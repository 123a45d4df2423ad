"""The PDF: structure, metadata, equal bytes, and no way out."""

from __future__ import annotations

import io
import logging
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest
from pypdf import PdfReader
from weasyprint.urls import FatalURLFetchingError

from uq_report.core.support.errors import RenderError
from uq_report.document.document import Column, Document, Facts, Figure, Paragraph, Renderer, Section, Table
from uq_report.render.html import page
from uq_report.render.pdf import PdfRenderer
from uq_report.render.printer import LONG, DataOnly, print_page

from .structure import elements, kids


def read(document: Document) -> pikepdf.Pdf:
    return pikepdf.open(io.BytesIO(PdfRenderer(strict=True).render(document)))


@pytest.fixture(scope="module")
def pdf(document: Document) -> Iterator[pikepdf.Pdf]:
    with read(document) as opened:
        yield opened


def test_the_renderer_fulfils_the_contract() -> None:
    renderer = PdfRenderer()
    assert isinstance(renderer, Renderer)
    assert (renderer.name, renderer.extension, renderer.api_version) == ("pdf", ".pdf", 1)


def test_metadata_and_both_standards(pdf: pikepdf.Pdf, document: Document) -> None:
    assert str(pdf.docinfo["/Title"]) == document.title
    assert str(pdf.docinfo["/CreationDate"]).startswith("D:20261121")
    assert pdf.Root.Lang == "en"
    assert pdf.Root.MarkInfo.Marked
    assert pdf.Root.ViewerPreferences.DisplayDocTitle
    assert len(pdf.Root.OutputIntents) == 1
    assert "/ID" in pdf.trailer
    assert not {"/OpenAction", "/AA", "/AcroForm", "/AF"} & set(pdf.Root.keys())
    with pdf.open_metadata() as xmp:
        assert (xmp["pdfaid:part"], xmp["pdfaid:conformance"]) == ("3", "A")
        assert xmp["{http://www.aiim.org/pdfua/ns/id/}part"] == "1"
        assert xmp["dc:title"] == document.title


def test_bookmarks_follow_the_headings(pdf: pikepdf.Pdf, document: Document) -> None:
    with pdf.open_outline() as bookmarks:
        (top,) = bookmarks.root
        assert top.title == document.title
        assert [item.title for item in top.children] == ["1 Summary", "2 Points"]
        assert [item.title for item in top.children[1].children] == ["2.1 Inner"]


def test_every_link_of_the_contents_leads_to_a_page(pdf: pikepdf.Pdf) -> None:
    names = {str(name) for name in list(pdf.Root.Names.Dests.Names)[::2]}
    links = [str(note.Dest) for page in pdf.pages for note in page.get("/Annots", []) if "/Dest" in note]
    assert {"summary", "points", "map"} <= set(links) <= names


def test_the_structure_can_be_heard(pdf: pikepdf.Pdf) -> None:
    found = elements(pdf)
    figures = [e for e in found if e.S == "/Figure"]
    assert [str(f.Alt) for f in figures] == ["The line rises from 0 to 1."]
    headings = [str(e.S) for e in found if str(e.S) in {"/H1", "/H2", "/H3", "/H4"}]
    assert headings == ["/H1", "/H2", "/H2", "/H3", "/H4"]
    for e in found:
        below = {str(kid.S) for kid in kids(e)}
        if e.S == "/LI":
            assert below <= {"/Lbl", "/LBody"}
        if e.S == "/L":
            assert below <= {"/LI", "/Caption"}
        if e.S == "/TR":
            assert below <= {"/TH", "/TD"}


def test_a_long_table_shows_its_head_on_every_page_and_is_heard_as_one(document: Document) -> None:
    rows = tuple((f"feature {i}", i / 7) for i in range(160))
    table = Table(id="t", caption="Long", columns=(Column("Feature"), Column("Impact", "number")), rows=rows)
    pdf = PdfRenderer(strict=True).render(replace(document, sections=(Section(id="s", title="S", blocks=(table,)),)))
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        assert len(opened.pages) >= LONG
        found = elements(opened)
        assert [str(e.S) for e in found].count("/THead") == [str(e.S) for e in found].count("/Table") == 1
        assert [str(e.S) for e in found].count("/TR") == 161
        ids = {str(e.ID) for e in found if e.S == "/TH"}
        assert all({str(one) for one in e.A.Headers} <= ids for e in found if e.S == "/TD")
    texts = [page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages]
    assert all("Impact" in text for text in texts)


def test_hostile_text_gives_a_sound_file(hostile: Document) -> None:
    with read(hostile) as pdf:
        assert str(pdf.docinfo["/Title"]) == hostile.title
        assert "/JavaScript" not in str(pdf.Root.get("/Names", ""))
        assert not pdf.attachments
        links = [a for p in pdf.pages for a in p.get("/Annots", []) if "/A" in a]
        assert not links


@pytest.mark.parametrize(
    "address", ["file:///etc/hostname", "http://127.0.0.1:9/x.png", "ftp://127.0.0.1/x", "//127.0.0.1/x.png", "x.png"]
)
def test_the_fetcher_opens_data_only(address: str) -> None:
    with pytest.raises(ValueError, match=r"disallowed protocol|Not an absolute URI"):
        DataOnly().fetch(address)
    with closing(DataOnly().fetch("data:text/plain,hello")) as response:
        assert response.read() == b"hello"


@pytest.mark.parametrize(
    "rule",
    [
        "body { background: url(file:///etc/hostname) }",
        "@import 'http://127.0.0.1:9/x.css';",
        "h1::before { content: url(http://127.0.0.1:9/x.svg) }",
        "li { list-style-image: url(file:///etc/hostname) }",
    ],
)
def test_a_style_that_fetches_stops_the_render(tmp_path: Path, document: Document, rule: str) -> None:
    (tmp_path / "house.css").write_text(rule)
    (tmp_path / "report.html").write_text(
        '{% extends "uq_report/report.html" %}{% block css %}{% include "house.css" %}{% endblock %}'
    )
    with pytest.raises(RenderError, match="template: a page must load data: addresses alone"):
        PdfRenderer(templates=tmp_path).render(document)
    with pytest.raises(RenderError, match=r"pdf\.images must be data: addresses") as caught:
        print_page(page(document).replace("</head>", f"<style>{rule}</style></head>"))
    assert isinstance(caught.value.__cause__, FatalURLFetchingError)


def test_a_figure_cannot_reach_out(document: Document) -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/hostname"/></svg>'
    figure = Figure(id="f", caption="c", alt="a", svg=svg)
    with pytest.raises(RenderError, match="Failed to render SVG image"):
        read(replace(document, sections=(Section(id="s", title="S", blocks=(figure,)),)))


def text(document: Document, words: str) -> Document:
    return replace(document, sections=(Section(id="s", title="S", blocks=(Paragraph(text=words),)),))


def test_a_character_without_glyph_warns_or_fails(document: Document) -> None:
    odd = text(document, "rare \U00012345 sign")
    with pytest.raises(RenderError, match=r"pdf\.page must be free of faults; got .*notdef"):
        PdfRenderer(strict=True).render(odd)
    with pytest.warns(UserWarning, match=r"pdf: \.notdef glyph"):
        PdfRenderer().render(odd)


def test_a_figure_that_cannot_be_drawn_fails_in_strict_mode(document: Document) -> None:
    broken = Figure(id="f", caption="c", alt="a", svg=b"no picture")
    with pytest.raises(RenderError, match="Failed to load image"):
        PdfRenderer(strict=True).render(replace(document, sections=(Section(id="s", title="S", blocks=(broken,)),)))


def test_a_page_nested_too_deeply_is_refused() -> None:
    with pytest.raises(RenderError, match="must not be nested this deeply"):
        print_page("<html lang=en><title>t</title>" + "<div>" * 1500)


def test_a_table_with_a_few_rows_overleaf_is_heard_as_one(document: Document) -> None:
    """Rows are added until the table goes on overleaf, where its heads would outnumber its cells; then many more."""
    columns = (Column("heading"), *(Column(f"c{k}") for k in range(2)))

    def heard(rows: int) -> tuple[bool, int]:
        cells = tuple(tuple(f"{i}.{k}" for k in range(3)) for i in range(rows))
        table = Table(id="t", caption="C", columns=columns, rows=cells)
        pdf = PdfRenderer().render(replace(document, sections=(Section(id="s", title="S", blocks=(table,)),)))
        second = PdfReader(io.BytesIO(pdf)).pages[1:2]
        with pikepdf.open(io.BytesIO(pdf)) as opened:
            tables = [str(e.S) for e in elements(opened)].count("/Table")
        return any("heading" in page.extract_text() for page in second), tables

    least = bisect_left(range(64), True, lo=32, key=lambda rows: heard(rows)[0])
    assert heard(least) == (True, 1)
    assert heard(least + 15) == (True, 2)


def test_a_failure_of_the_layout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("page_is_empty")

    monkeypatch.setattr("weasyprint.HTML.render", fail)
    with pytest.raises(RenderError, match=r"pdf\.page must be printable; got AssertionError: page_is_empty"):
        print_page("<p>x</p>")


def test_words_longer_than_a_page_take_little_time_and_room(document: Document) -> None:
    endless = "averylongname" * 800
    facts = Facts(rows=((endless, endless), ("a", endless)))
    table = Table(id="t", caption="c", columns=(Column(endless), Column("v")), rows=((endless, endless), ("b", "c")))
    section = Section(id="s", title=endless, blocks=(Paragraph(text=endless), table, facts))
    with read(replace(document, sections=(section,))) as opened:
        assert len(opened.pages) <= 2


def test_the_log_is_left_as_it_was(document: Document, caplog: pytest.LogCaptureFixture) -> None:
    loggers = [logging.getLogger(name) for name in ("weasyprint", "fontTools")]
    before = [(list(logger.handlers), logger.propagate) for logger in loggers]
    PdfRenderer(isolated=False).render(document)
    assert [(list(logger.handlers), logger.propagate) for logger in loggers] == before
    assert not caplog.records
