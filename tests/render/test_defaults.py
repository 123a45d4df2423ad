"""Without the pseudo-elements it has not, a page prints to the same bytes."""

from __future__ import annotations

import pytest

from uq_report.render.defaults import Page
from uq_report.render.weasy import HTML

LIST = "<ol><li>one</li><li>two<ul><li>three</li></ul></li></ol>"
PAGES = {
    "a list": LIST,
    "another list item": f"<style>p {{ display: list-item; margin-left: 3em }}</style><p>a  b</p>{LIST}",
    "a footnote": "<style>i { float: footnote }</style><p>word<i>below</i></p>",
    "margins": "<style>@page { @top-left { content: 'a' } @right-middle { content: 'b'; width: 2em } }</style><p>c",
    "a note": "<style>i { position: note(end) } div { content: element(end, all-once) }</style><p>w<i>b</i></p><div>",
}


def pseudo_elements(page: HTML) -> set[str]:
    """Return those for which every element of a page has styles."""
    (sheet,) = page._ua_stylesheets()
    return {entry[3] for entry in sheet.matcher.other_selectors} - {None, "before", "after"}


@pytest.mark.parametrize("text", PAGES.values(), ids=PAGES.keys())
def test_the_bytes_are_those_of_weasyprint_itself(text: str) -> None:
    html = f"<html lang=en><title>T</title><body>{text}</body></html>"
    assert Page(html).write_pdf(pdf_tags=True) == HTML(string=html).write_pdf(pdf_tags=True)


def test_elements_have_styles_for_what_the_page_can_have_alone() -> None:
    notes = {"note-call", "note-marker", "note-callback"}
    footnotes = {"footnote-call", "footnote-marker"}
    assert pseudo_elements(HTML(string=LIST)) == {*notes, *footnotes, "marker"}
    assert pseudo_elements(Page(PAGES["a list"])) == set()
    assert pseudo_elements(Page(PAGES["another list item"])) == {"marker"}
    assert pseudo_elements(Page(PAGES["a footnote"])) == footnotes
    assert pseudo_elements(Page(PAGES["a note"])) == notes


def test_margins_have_styles_where_the_page_names_them_alone() -> None:
    def margins(page: HTML) -> set[str]:
        return {rule[1][0][1] for sheet in page._ua_stylesheets() for rule in sheet.page_rules} - {None}

    every = margins(HTML(string=PAGES["margins"]))
    assert len(every) == 18
    assert margins(Page(PAGES["margins"])) == {"@top-left", "@right-middle", "@footnote", "@note-area"} < every
    assert margins(Page(LIST)) == {"@footnote", "@note-area"}
