"""Pages of our own templates are read as an HTML parser reads them, but for ids nothing links to and for blanks."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import pytest
import tinyhtml5

from uq_report.document.document import (
    Badge,
    Block,
    Bullets,
    Card,
    Cards,
    Columns,
    Document,
    Fold,
    Paragraph,
    Section,
    Split,
    Step,
    Steps,
    Verdict,
)
from uq_report.render.html import page
from uq_report.render.own import OF_BLOCKS, elements
from uq_report.render.printer import print_page

PARAGRAPH = Paragraph(text="x_y < 1 & \N{NO-BREAK SPACE}z\r\n\t.")
REST = (
    Verdict(badge=Badge("Use", "good"), text="Because.", note="A note."),
    Cards(cards=(Card(title="How?", headline="0.7", aside="AUC", texts=("So.",), counts=(("a", "b"), ("1", "2"))),)),
    Steps(steps=(Step(lead="First", text="this.", aside="UQ1", tone="bad"),)),
    Fold(title="More", blocks=(Bullets(items=("One.",)),)),
    Split(left=(PARAGRAPH,), right=(PARAGRAPH,)),
    Columns(names=("a", "b"), left=None, right=PARAGRAPH),
)


def same(ours: Element, theirs: Element) -> bool:
    """Say whether two elements are, but for ids left out and for blanks between blocks."""
    theirs.attrib.pop("id", None) if "id" not in ours.attrib else None
    blank = " \n\t" if theirs.tag in OF_BLOCKS else ""
    texts = [(ours.text, theirs.text), *((one.tail, two.tail) for one, two in zip(ours, theirs, strict=False))]
    return (
        (ours.tag, ours.attrib, len(ours)) == (theirs.tag, theirs.attrib, len(theirs))
        and all((one or "") == (two or "").strip(blank) for one, two in texts)
        and all(map(same, ours, theirs))
    )


@pytest.mark.parametrize("kind", ["audit", "brief", "model-card"])
@pytest.mark.parametrize("name", ["document", "hostile"])
def test_elements_are_those_of_an_html_parser(name: str, kind: str, request: pytest.FixtureRequest) -> None:
    document: Document = request.getfixturevalue(name)
    rest = Section(id="rest", title="Rest", blocks=REST)
    text = page(replace(document, kind=kind, sections=(*document.sections, rest), banner="DRAFT"), paged=True)
    ours = elements(text)
    assert ours is not None
    assert same(ours, tinyhtml5.parse(text, namespace_html_elements=False))


def test_no_words_stand_between_blocks(document: Document) -> None:
    rest = Section(id="rest", title="Rest", blocks=REST)
    root = elements(page(replace(document, sections=(*document.sections, rest)), paged=True))
    assert root is not None
    blocks = [element for element in root.iter() if element.tag in OF_BLOCKS]
    beside = [*((element.text, element) for element in blocks), *((child.tail, e) for e in blocks for child in e)]
    assert not [(text, element.tag, element.attrib) for text, element in beside if text]


def test_what_is_linked_keeps_its_id(document: Document) -> None:
    root = elements(page(document, paged=True))
    assert root is not None
    links = {unquote(href[1:]) for link in root.iter("a") if (href := link.get("href", "")).startswith("#")}
    assert links == {element.get("id") for element in root.iter()} - {None}


def test_blocks_are_all_in_the_pages_compared(document: Document) -> None:
    blocks = [*REST, *(block for section in document.sections for block in section.blocks)]
    inner = [block for section in document.sections[1].sections for block in section.blocks]
    assert {block.type for block in (*blocks, *inner)} == {block.type for block in get_args(Block)}


def test_a_page_that_is_no_xml_is_printed_all_the_same(document: Document) -> None:
    text = page(document, paged=True).replace("Deep text.", "Deep \x08 text.")
    assert elements(text) is None
    assert print_page(text, own=True)[0] == print_page(text)[0]
