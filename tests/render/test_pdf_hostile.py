"""Text from outside cannot break the file: it opens, its metadata are XML, nothing in it is active."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pikepdf
import pytest

from uq_report.document.blocks import make_table
from uq_report.document.document import (
    Attachment,
    Badge,
    Bullets,
    Callout,
    Column,
    Document,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
)
from uq_report.render.html import page
from uq_report.render.pdf import PdfRenderer

from . import structure
from .conftest import SVG, make
from .structure import faults

TEXTS = {
    "control characters": "a\x00b\x0bc\x1b[31md\x7f\x9b\r\n\te",
    "non-characters": "a\ufffeb\uffffc\ufdd0\ufeff",
    "lone surrogates": "a\ud800b\udfffc",
    "direction marks": "a\u202eb\u2066c\u200fd\u061c",
    "markup": "]]></rdf:Description><!-- & \" ' <b>\\(x) {{7*7}}",
    "a long name": "averylongname" * 800,
    "long text": "many words " * 180,
    "Chinese": "信用额度 信頼区間",
    "emoji": "score 🙂👩‍🔬 🇳🇿",
    "Arabic and combining": "الدخل e\u0301\u0323 n\u0303",
}
GLYPHLESS = ("Chinese", "emoji")


def everywhere(text: str) -> Document:
    """Put a text in every place that takes one; link targets and file names are made by the program."""
    table = Table(
        id=f"t {text[:50]}",
        caption=text,
        columns=(Column(text), Column(text, "number", text), Column("v")),
        rows=((text, 1.0, Badge(text, "bad")), (None, None, text)),
        evidence=text,
        note=text,
    )
    blocks = (
        Paragraph(text=text),
        Bullets(items=(text, "")),
        Callout(tone="warning", title=text, text=text, evidence=(text,)),
        Facts(rows=((text, text),)),
        table,
        Figure(id=f"f {text[:50]}", caption=text, alt=text, svg=SVG, evidence=text),
    )
    told = Attachment("evidence.csv", text.encode("utf-8", "replace"), "text/csv", text)
    head = text[:200]  # as long as those of reports are: running heads of a page's height have no layout
    made = make(Section(id=f"s {text[:50]}", title=text, blocks=blocks), title=head)
    return replace(made, subtitle=text, generator=head, facts=((text, text),), attachments=(told,))


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.filterwarnings("default:pdf. .notdef glyph:UserWarning")
def test_hostile_text_in_every_place_gives_a_sound_file(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "_heard", lambda _: ())  # it sounds as hostile as it is
    document = everywhere(TEXTS[what])
    pdf = PdfRenderer(strict=what not in GLYPHLESS).render(document)
    files = {item.name: item.content for item in document.attachments}
    assert faults(pdf, page(document, paged=True), files) == []
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        raw = opened.Root.Metadata.read_bytes()
        ET.fromstring(raw)
        assert not set(raw.decode()) & set("\x00\x0b\x1b\x7f\x9b\ufffe\uffff\u202e\u2066\u200f")


def test_ten_thousand_rows_are_printed_capped_and_attached() -> None:
    """The note names the file with all rows; the table costs what its printed rows cost."""
    rows = [(f"row {i}", i / 7) for i in range(10_000)]
    table = make_table("long", "Long", (Column("row"), Column("value", "number")), rows)
    document = make(Section(id="s", title="S", blocks=(table,)))
    html = page(document)
    assert (len(table.rows), table.total_rows, html.count("<tr>")) == (60, 10_000, 61)
    assert re.search("The first 60 of 10.000 rows", html)
    assert f"<code>{table.attachment}</code>" in html
    with pikepdf.open(io.BytesIO(PdfRenderer(strict=True).render(document))) as opened:
        assert len(opened.pages) <= 4
