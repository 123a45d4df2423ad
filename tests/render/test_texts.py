"""Text is laid out once, and looks as if it were laid out as often as WeasyPrint does."""

from __future__ import annotations

import re
from typing import Any

import pytest

from uq_report.render.environment import templates_dir
from uq_report.render.texts import kept
from uq_report.render.weasy import HTML, Layout, line_break, svg

PARAGRAPHS = (
    "<style>@page { size: 300px 400px } p { width: 200px } .justified { text-align: justify }</style>"
    "<p>A sentence of <b>some</b> words, which takes several lines of this narrow page.</p>"
    "<p class='justified'>A sentence of some words, which takes several lines of this narrow page.</p>"
    "<pre>Two lines,\none of two.\u2029And a third.</pre><p style='font-size: 20px'>A <i>line</i> and another line.</p>"
)
LABEL = "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='50'><text x='{}' y='20'{}>Label</text></svg>"


def printed(page: str) -> bytes:
    return bytes(HTML(string=page).write_pdf(uncompressed_pdf=True))


def strings(label: str) -> list[str]:
    """Return what is shown of a figure with a label, each string by itself."""
    return re.findall(r"\[(.*?)\] TJ", printed(label).decode("latin-1"))


@pytest.mark.parametrize("own", [False, True])
def test_paragraphs_are_the_same_bytes(own: bool) -> None:
    twice = f"{PARAGRAPHS}{PARAGRAPHS}<p style='text-decoration: underline'>A line.</p><p>A line.</p>"
    plain = printed(twice)
    with kept(own=own):
        assert printed(twice) == plain


def test_lines_that_are_the_same_are_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    plain = Layout.set_text

    def counted(layout: Any, text: str, justify: bool = False) -> None:
        texts.append(text)
        plain(layout, text, justify)

    monkeypatch.setattr(Layout, "set_text", counted)
    for own, times in ((False, 3), (True, 1)):
        texts.clear()
        with kept(own=own):
            printed("<p>One line.</p>" * 3)
        assert texts.count("One line.") == times


def test_no_text_of_our_own_is_shortened() -> None:
    assert not [file for file in templates_dir().rglob("*.css") if re.search("ellipsis|clamp", file.read_text())]


def test_a_label_is_one_string_and_was_one_for_each_letter() -> None:
    page = LABEL.format(10, "")
    assert len(strings(page)) == len("Label")
    with kept():
        assert len(strings(page)) == 1


def test_a_label_of_a_given_length_has_it() -> None:
    with kept():
        plain, twice = (printed(LABEL.format(10, f" textLength='{length}'")) for length in (40, 80))
    scales = [float(re.search(rb"\n(\S+) 0 0 -1 \S+ \S+ Tm", page)[1]) for page in (plain, twice)]  # type: ignore[index]
    assert scales[1] == pytest.approx(2 * scales[0], rel=1e-4)


@pytest.mark.parametrize("label", [LABEL.format("10 20 30", ""), LABEL.format(10, " rotate='30'")])
def test_letters_that_are_placed_one_by_one_stay_so(label: str) -> None:
    plain = printed(label)
    with kept():
        assert printed(label) == plain


def test_weasyprint_is_left_as_it_was() -> None:
    before = dict(vars(Layout)), svg.text, dict(svg.TAGS), line_break.get_font_description
    with kept():
        assert svg.TAGS["text"] is svg.text is not before[1]
        assert line_break.get_font_description is not before[3]
    assert before == (dict(vars(Layout)), svg.text, svg.TAGS, line_break.get_font_description)
