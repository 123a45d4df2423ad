"""Numbers of a report lead to the page of the documentation on their method."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from uq_report.document.document import Document, Section, inside, texts
from uq_report.evidence.ids import METHOD_PAGES, method_address
from uq_report.render.html import HtmlRenderer
from uq_report.report import kinds

from .test_one_source import SAMPLES, run

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d\.\d|\d%")
OF_OTHERS = ("changes", "limitations", "sign-off")  # their numbers are those of other sections, with a name
LINK = re.compile(r'<a href="(https://[^"]+/methods/[^"]+)"')


@cache
def document(name: str) -> Document:
    """Return the audit of a sample."""
    return kinds.document(run(name), draws=False)


def numbered(sections: tuple[Section, ...], above: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Yield each section of the main part that prints numbers, with the results that it or those above it name."""
    for section in sections:
        if section.appendix or section.id in OF_OTHERS:
            continue
        named = {*above, *section.evidence}
        for block in inside(section.blocks):
            given = getattr(block, "evidence", ())
            named |= {given} if isinstance(given, str) else {*given}
        if NUMBER.search(" ".join(texts(section.blocks)).replace("95% CI", "")):
            yield section.id, named - {""}
        yield from numbered(section.sections, section.evidence)


def test_every_method_has_a_page() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "methods").glob("*.md")}
    assert set(METHOD_PAGES.values()) <= pages
    cards = tomllib.loads((ROOT / "uq_report" / "methods" / "cards.toml").read_text(encoding="utf-8"))
    assert [name for name in cards if not method_address(name)] == []


@pytest.mark.parametrize("name", SAMPLES)
def test_every_section_with_numbers_leads_to_their_methods(name: str) -> None:
    made = document(name)
    page = HtmlRenderer().render(made).decode()
    linked = set(LINK.findall(page))
    assert "</a>,<a" not in page
    found = dict(numbered(made.sections))
    assert len(found) > 10
    for section, named in found.items():
        addresses = {made.methods[one] for one in named if one in made.methods}
        assert addresses, section
        assert addresses <= linked, section
    assert {address.rpartition("/")[2] for address in linked} <= {f"{page}.html" for page in METHOD_PAGES.values()}
