"""The page: self-contained, valid, navigable, and deaf to hostile text."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from dataclasses import replace
from itertools import pairwise
from typing import Any

import html5lib
import pytest

from uq_report.document.document import Attachment, Bullets, Column, Document, Renderer, Section, Table
from uq_report.render.environment import templates_dir
from uq_report.render.filters import MOST_CARRIED
from uq_report.render.html import HtmlRenderer, page

SVG = "{http://www.w3.org/2000/svg}svg"


def parse(html: str) -> Any:
    """Parse as browsers do, but refuse what they would mend."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(html)


def texts(root: Any, tag: str) -> list[str]:
    return [" ".join("".join(element.itertext()).split()) for element in root.iter(tag)]


def attributes(root: Any) -> list[tuple[str, str, str]]:
    return [(element.tag, name, value) for element in root.iter() for name, value in element.attrib.items()]


@pytest.fixture(params=["document", "hostile"])
def root(request: pytest.FixtureRequest) -> Any:
    return parse(page(request.getfixturevalue(request.param)))


def test_the_renderer_fulfils_the_contract(document: Document) -> None:
    renderer = HtmlRenderer()
    assert isinstance(renderer, Renderer)
    assert (renderer.name, renderer.extension, renderer.api_version) == ("html", ".html", 1)
    assert renderer.render(document) == renderer.render(document) == page(document).encode()


def test_nothing_is_active_and_nothing_is_fetched(root: Any) -> None:
    tags = {element.tag for element in root.iter() if isinstance(element.tag, str)}
    assert not tags & {"iframe", "object", "embed", "form", "base", "link"}
    assert [e.text for e in root.iter("script")] == [(templates_dir() / "script.js").read_text().removesuffix("\n")]
    for tag, name, value in attributes(root):
        assert name != "style", tag
        assert not name.startswith("on"), tag
        if name == "href":
            assert re.fullmatch(r"#[A-Za-z][A-Za-z0-9._-]*|data:text/csv;base64,[A-Za-z0-9+/=]+", value)
        if name == "src":
            assert re.fullmatch(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", value)
    (style,) = texts(root, "style")
    assert "url(" not in style
    assert "http" not in style


def test_the_policy_lets_exactly_our_style_and_script_through(root: Any) -> None:
    (policy,) = [m.get("content") for m in root.iter("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    for tag in ("style", "script"):
        (element,) = root.iter(tag)
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    for rule in ("default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'"):
        assert rule in policy


def test_the_script_is_small_and_asks_for_nothing() -> None:
    script = (templates_dir() / "script.js").read_text()
    assert len(script.encode()) <= 15_000
    assert not re.search(r"eval|Function|fetch|XMLHttp|import|http|innerHTML|WebSocket|sendBeacon|\.src\b", script)


def test_the_pdf_has_no_script(document: Document) -> None:
    html = page(document, paged=True)
    assert "<script" not in html
    assert "script-src 'none'" in html


def test_ids_are_unique_and_every_link_resolves(root: Any) -> None:
    found = attributes(root)
    ids = [value for _, name, value in found if name == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for _, name, value in found if name == "href"}
    labels = {value for _, name, value in found if name == "aria-labelledby"}
    assert {target for target in targets if not target.startswith("ata:")} | labels <= set(ids)
    assert {"main", "contents"} <= targets


def test_headings_skip_no_level(root: Any) -> None:
    levels = [int(e.tag[1]) for e in root.iter() if isinstance(e.tag, str) and re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_images_and_lists_can_be_heard(root: Any) -> None:
    assert root.get("lang") == "en"
    for table in root.iter("table"):
        assert table.find("caption") is not None
        assert {cell.get("data-label") is not None for cell in table.iter("td")} <= {True}
        assert all(head.get("scope") in {"col", "row"} for head in table.iter("th"))
        assert len({len(row) for row in table.iter("tr")}) == 1
    drawings = list(root.iter(SVG))
    assert drawings
    assert all((e.get("role"), bool(e.get("aria-label").strip())) == ("img", True) for e in drawings)
    assert all(child.tag in {"a", "ol", "code"} for item in root.iter("li") for child in item)
    regions = [e for e in root.iter("div") if "scroll" in (e.get("class") or "").split()]
    assert regions
    assert all(r.get("tabindex") == "0" and r.get("role") == "region" and r.get("aria-labelledby") for r in regions)
    assert [e.tag for e in root.find("body")] == ["a", "header", "main", "footer", "script"]
    assert [len(list(root.iter(tag))) for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]


def test_hostile_text_is_printed_as_it_is(hostile: Document) -> None:
    root = parse(page(hostile))
    for section in hostile.sections:
        title = section.title
        shown = [" ".join(title.split())]
        for tag in ("p", "li", "td", "dd"):
            assert any(shown[0] in text for text in texts(root, tag)), (tag, title)
        assert any(title == drawing.get("aria-label") for drawing in root.iter(SVG))


def test_the_contents_list_two_levels_in_order(document: Document) -> None:
    (contents,) = parse(page(document)).iter("nav")
    assert texts(contents, "a") == ["1 Summary", "2 Points", "2.1 Inner"]


def test_every_block_is_shown(document: Document) -> None:
    html = page(document)
    root = parse(html)
    assert "Text." in texts(root, "p")
    assert "One." in texts(root, "li")
    assert "■ Problem Fails" in texts(root, "p")
    assert "Evidence pfi.test calibration" in texts(root, "p")
    assert texts(root, "caption") == ["Table 1 Importance"]
    assert "Evidence pfi.test" in texts(root, "p")
    assert texts(root, "figcaption") == ["Figure 1 A map. Evidence pfi.test"]
    assert texts(root, "th") == ["Feature", "Importance nats", "p", "Verdict", "x_0", "x_1", "x_2"]
    assert texts(root, "td")[:3] == ["0.100", "–", "○ about 0"]
    assert {"–", "0.25", "■ failed", "1200", "● passes", "ab" * 32} <= set(texts(root, "dd"))
    assert "A note." in texts(root, "p")


def test_evidence_travels_in_the_page_of_an_audit_alone(document: Document) -> None:
    small = Attachment("pfi.csv", b"a,b\n1,2\n", "text/csv", "Estimates of pfi")
    large = Attachment("run.json", b"x" * (MOST_CARRIED + 1), "application/json", "The run")
    full = replace(document, attachments=(large, small))
    (link,) = [a for a in parse(page(full)).iter("a") if a.get("download")]
    assert link.get("download") == "evidence.zip"
    packed = base64.b64decode(link.get("href").removeprefix("data:application/zip;base64,"))
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        assert {name: files.read(name) for name in files.namelist()} == {"pfi.csv": small.content}
    assert page(full) == page(full)
    assert f"751 kB, in the PDF; SHA-256 {hashlib.sha256(large.content).hexdigest()}" in page(full)
    for other in (page(document), page(full, paged=True), page(replace(full, kind="brief"))):
        assert "Evidence files" not in other


def test_a_capped_table_says_where_the_rest_is(document: Document) -> None:
    table = Table(id="t", caption="c", columns=(Column("a"),), rows=(("x",),), evidence="pfi.test", total_rows=12345)
    full = replace(table, id="u", rest=(("y",),))
    html = page(replace(document, sections=(Section(id="s", title="s", blocks=(table, full)),)))
    told = texts(parse(html), "p")
    assert "The first 1 of 12 345 rows; all of them are in the evidence pfi.test." in told
    assert f"The first 1 of 12 345 rows; all of them are in {full.attachment}, attached to the PDF." in told


def test_what_cannot_be_encoded_is_shown(document: Document) -> None:
    odd = Section(id="s", title="\ud800 \x1b[31m \u202e", blocks=(Bullets(items=("\x00", "x" * 10_000)),))
    html = HtmlRenderer().render(replace(document, sections=(odd,))).decode()
    assert "[U+D800] [U+001B][31m [U+202E]" in html
    assert "[U+0000]" in html


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_its_panel(theme: int) -> None:
    """Contrast by WCAG 2.2, (L1 + 0.05) / (L2 + 0.05), at least 4.5."""
    css = (templates_dir() / "css" / "colours.css").read_text().split("@media")[theme]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", css))
    tones = ("good", "warning", "bad", "unknown", "neutral")
    panels = [f"{tone}-panel" for tone in tones]
    pairs = [(text, panel) for text in ("ink", "soft", "accent") for panel in ("page", "panel", *panels)]
    pairs += [(tone, f"{tone}-panel") for tone in tones]
    for text, panel in pairs:
        low, high = sorted((luminance(colours[text]), luminance(colours[panel])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, panel)
