"""Kinds of documents and themes: one page for all of them, the banner everywhere, and an end to every loop."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest

from uq_report.core.support.errors import RenderError
from uq_report.document.document import Badge, Document, Section
from uq_report.render import environment
from uq_report.render.environment import templates_dir
from uq_report.render.html import page
from uq_report.render.pdf import PdfRenderer

KINDS = ("audit", "brief", "model-card")


pytestmark = pytest.mark.usefixtures("filled_here")


def house(tmp_path: Path, text: str, name: str = "report.html") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path


def words(content: bytes) -> list[str]:
    """Return the text of each page's content stream that WeasyPrint wrote as strings of glyphs, by its length."""
    with pikepdf.open(io.BytesIO(content)) as pdf:
        return [str(len(p.Contents.read_bytes())) for p in pdf.pages]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_template_and_shows_every_section(document: Document, kind: str) -> None:
    html = page(replace(document, kind=kind))
    assert f'<body class="{kind} portrait">' in html
    assert re.findall(r'<h2 id="([a-z]+)"', html) == ["summary", "points"]
    assert ('<nav class="contents"' in html) is (kind != "brief")
    assert ('href="#contents"' in html) is (kind != "brief")


def test_an_unknown_kind_is_refused(document: Document) -> None:
    for kind in ("poster", "../pyproject", "/etc/passwd"):
        with pytest.raises(RenderError, match=r"there is no template '.*\.html'"):
            page(replace(document, kind=kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_house_style_is_used_for_every_kind(tmp_path: Path, document: Document, kind: str) -> None:
    (tmp_path / "house.css").write_text(":root { --accent: #7a0019; }")
    text = """{% extends "uq_report/report.html" %}
    {% block css %}{{ super() }}{% include "house.css" %}{% endblock %}
    {% block head %}<p class="logo">Our bank</p>{{ super() }}{% endblock %}"""
    html = page(replace(document, kind=kind), house(tmp_path, text))
    assert "--accent: #7a0019" in html
    assert html.index("Our bank") < html.index('<h1 id="title">')
    assert ("brief.css" in html or "/* The brief" in html) is (kind == "brief")


def test_a_house_style_may_change_one_kind_alone(tmp_path: Path, document: Document) -> None:
    text = '{% extends "uq_report/brief.html" %}{% block footer %}<p>Our brief</p>{% endblock %}'
    directory = house(tmp_path, text, "brief.html")
    assert "Our brief" in page(replace(document, kind="brief"), directory)
    assert "Our brief" not in page(document, directory)


def test_the_banner_stands_above_and_below_the_report(document: Document) -> None:
    html = page(replace(document, banner="Secret · DRAFT"))
    assert html.count("Secret · DRAFT") == 2
    assert html.index('<p class="banner">Secret') < html.index("<h1") < html.index('<p class="mark">Secret')
    assert 'class="banner"' not in page(document)


def test_the_banner_is_on_every_page_of_the_pdf(document: Document) -> None:
    """With a banner every page has more in its margins than without."""
    answer = Section(id="answer", title="The answer")
    document = replace(document, sections=(answer, *document.sections))
    plain = words(PdfRenderer().render(document))
    marked = words(PdfRenderer().render(replace(document, banner="Secret · DRAFT")))
    assert len(plain) == len(marked) > 1
    assert all(int(more) > int(less) for more, less in zip(marked, plain, strict=True))


def test_only_the_pdf_has_what_browsers_do_not_know(document: Document) -> None:
    assert "string-set" not in page(document)
    assert "string-set" in page(document, paged=True)


def test_the_answer_is_first_without_a_number_and_the_contents_follow(document: Document) -> None:
    answer = Section(id="answer", title="The answer", sections=(Section(id="why", title="Why"),))
    appendix = Section(id="appendix", title="Annex", appendix=True)
    html = page(replace(document, sections=(answer, *document.sections, appendix)))
    order = ['<h2 id="answer">The answer', '<h3 id="why">Why', 'id="contents"', 'id="summary"', 'class="identity"']
    places = [html.index(one) for one in (*order, '<div class="appendix">', 'id="appendix"')]
    assert places == sorted(places)
    assert '<h2 id="summary"><span class="place">1</span>' in html
    assert 'class="recommended"' not in html


def test_a_house_style_for_another_contract_is_refused(tmp_path: Path, document: Document) -> None:
    text = '{% set templates = NUMBER %}{% extends "uq_report/report.html" %}'
    (tmp_path / "old").mkdir()
    assert page(document, house(tmp_path, text.replace("NUMBER", str(environment.TEMPLATES)))) == page(document)
    with pytest.raises(RenderError, match=f"report.html is written for templates 1; these are {environment.TEMPLATES}"):
        page(document, house(tmp_path / "old", text.replace("NUMBER", "1")))


def test_the_recommendation_has_a_shape_a_word_and_a_colour(document: Document) -> None:
    html = page(replace(document, recommendation=Badge("Red", "bad")))
    shape = '<span class="badge bad"><span class="shape" aria-hidden="true">■</span> Red</span>'
    assert f'<p class="recommended"><span class="recommended-label">Recommendation</span> {shape}</p>' in html


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("{{ 'ab' * 10000000 }}", "repeated must stay below"),
        ("{{ 10000000 * [1] }}", "repeated must stay below"),
        ("{{ 2 ** 99999999 }}", "'**' is not allowed"),
        ("{{ ''.ljust(100000000) }}", "a count must stay below"),
        ("{% for i in range(9999999) %}{% endfor %}", "a count must stay below"),
        ("{% for i in range(2000) %}{% for j in range(2000) %}{% endfor %}{% endfor %}", "ranges of a page together"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
        ("{% include 'report.html' %}", "recursion"),
        ("{{ document.sections.append(1) }}", "has no attribute 'append'"),
        ("{{ document.title.__class__ }}", "unsafe"),
        ("{{ ''.format.__globals__ }}", "unsafe"),
    ],
)
def test_what_would_not_end_is_stopped(tmp_path: Path, document: Document, line: str, cause: str) -> None:
    with pytest.raises(RenderError) as caught:
        page(document, house(tmp_path, f"\n{line}"))
    assert cause in str(caught.value)
    assert "report.html, line 2" in str(caught.value)


def test_a_page_without_end_is_stopped(tmp_path: Path, document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MAX_PAGE", 100_000)
    text = "{% for i in range(9999) %}{{ 'many words ' * 9 }}{% endfor %}"
    with pytest.raises(RenderError, match="a page must stay below 100000 characters"):
        page(document, house(tmp_path, text))


def test_small_products_and_ranges_are_allowed(tmp_path: Path, document: Document) -> None:
    text = "{{ 3 * 4 }}{{ 'ab' * 2 }}{{ 2 * 'c' }}{% for i in range(1, 9, 4) %}{{ i }}{% endfor %}"
    for _ in range(3):  # the steps of one page are not those of the next
        assert page(document, house(tmp_path, text)) == "12ababcc15"


def test_a_missing_part_of_a_house_style_is_named(tmp_path: Path, document: Document) -> None:
    text = '{% extends "uq_report/report.html" %}\n{% block css %}{% include "gone.css" %}{% endblock %}'
    with pytest.raises(RenderError, match=r"report\.html, line 2: there is no template 'gone.css'"):
        page(document, house(tmp_path, text))


def test_every_style_sheet_is_in_use() -> None:
    text = "".join(path.read_text() for path in templates_dir().glob("*.html"))
    assert not [path.name for path in (templates_dir() / "css").glob("*.css") if f"css/{path.name}" not in text]


def test_a_number_of_any_size_is_printed(document: Document) -> None:
    """A page's macros take what the run has, as the seed 20261122; only what repeats is limited."""
    facts = (("Seed", environment.MAX_PRODUCT + 1), ("Rows", 2**40))
    html = page(replace(document, facts=facts))
    assert all(f"<dd>{number}" in html.replace("\u202f", "").replace(",", "") for _, number in facts)
