"""Markdown: every block in words, and nothing in it that a reader's renderer would act on."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from uq_report.document.document import Column, Columns, Document, Paragraph, Renderer, Section, Table
from uq_report.render.markdown import MarkdownRenderer, code, escape

from .conftest import make

ACTIVE = {"html_inline", "html_block", "link_open", "image", "em_open", "strong_open", "s_open"}
TEXTS = (
    "<b>x</b>",
    "[a](javascript:alert(1))",
    "![a](x.png)",
    "<http://example.org>",
    "http://example.org and www.example.org, a@b.org",
    "*a* **b** _c_ __d__ `e` ~~f~~",
    "# head",
    "- item",
    "1. item",
    "> quote",
    "&lt;b&gt; &#64; &copy;",
    "a | b \\| c \\",
    "[a]: http://example.org",
    "| a | b |\n| - | - |",
    "\\`x\\` ``y`",
    "x@`<b>`y",
    "===",
    "{{ site.title }} {% raw %}",
    "car_age not_known 3 < 4 & 5 > 2",
)


def rendered(document: Document) -> str:
    return MarkdownRenderer().render(document).decode()


def tokens(text: str) -> list[str]:
    """Return the types of all tokens a CommonMark reader with tables finds."""
    return [
        token.type
        for outer in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
        for token in (outer, *(outer.children or ()))
    ]


def shown(text: str) -> str:
    """Return what a reader of one line of Markdown sees."""
    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inline = [token for token in parsed if token.type == "inline"]
    return "".join(child.content for token in inline for child in token.children or ())


def test_the_renderer_fulfils_the_contract(document: Document) -> None:
    renderer = MarkdownRenderer()
    assert isinstance(renderer, Renderer)
    assert (renderer.name, renderer.extension, renderer.api_version) == ("markdown", ".md", 1)
    assert renderer.render(document) == renderer.render(document)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_shown_as_it_is_and_does_nothing(text: str) -> None:
    found = tokens(escape(text))
    assert not set(found) & ACTIVE
    assert set(found) <= {"paragraph_open", "inline", "text", "code_inline", "text_special", "paragraph_close"}
    assert shown(escape(text)) == " ".join(text.split())


@pytest.mark.parametrize("text", TEXTS)
def test_no_address_stands_outside_of_code(text: str) -> None:
    bare = re.sub(r"(`+).+?\1", "", escape(text))
    assert not re.search(r"://|www\.|@|mailto:", bare)


@pytest.mark.parametrize("text", TEXTS)
def test_a_cell_stays_a_cell(text: str) -> None:
    columns = (Column(text), Column("n", "integer"))
    table = Table(id="t", caption="c", columns=columns, rows=((text, 1), (text, None)))
    found = tokens(rendered(make(Section(id="s", title="s", blocks=(table,)))))
    assert (found.count("th_open"), found.count("td_open")) == (2, 4)
    assert not set(found) & (ACTIVE - {"strong_open"})


def test_hostile_documents_hold_no_markup_but_ours(hostile: Document) -> None:
    text = rendered(hostile)
    assert not set(tokens(text)) & (ACTIVE - {"strong_open"})
    assert "<script" not in re.sub(r"(`+).+?\1|\\<", "", text)


def test_every_block_is_told_in_words(document: Document) -> None:
    text = rendered(replace(document, banner="Internal"))
    assert "- **Classification:** Internal" in text
    assert "- **Recommendation:** ◆ not assessed" in text
    assert "# Audit of a model\n\nTest data\n\n" in text
    assert "## 1 Summary\n\nText.\n\n> **■ Problem: Fails**\n>\n> The gate fails.\n>\n> Evidence: `pfi.test`" in text
    assert "- **State:** ■ failed" in text
    assert "- One.\n- Two." in text
    assert "#### 2.1.1 Deep" in text
    assert "**Figure 1.** A map. Evidence: `pfi.test`\n\nThe line rises from 0 to 1." in text
    assert "| Feature | Importance (nats) | p | Verdict |\n| --- | ---: | ---: | --- |\n| x_0 | 0.100 | – |" in text
    assert text.endswith(f"Evidence SHA-256: `{'ab' * 32}`\n")


def test_a_capped_table_and_two_models_are_told() -> None:
    table = Table(id="t", caption="c", columns=(Column("a"),), rows=(("x",),), total_rows=9)
    both = Columns(names=("Champion", "Challenger"), left=table, right=None)
    alone = Columns(names=("Champion", "Challenger"), left=None, right=Paragraph(text="There."))
    text = rendered(make(Section(id="s", title="s", blocks=(both, alone))))
    assert "The first 1 of 9 rows." in text
    assert "**Challenger**\n\nNot in this audit." in text
    assert "**Challenger**\n\nThere." in text


def test_code_is_fenced_by_more_backticks_than_it_holds() -> None:
    for text in ("a", "`a", "a``b", "`"):
        assert shown(code(text)) == text
    assert code("") == ""
