"""Themes are strangers': they read their own folder alone, load nothing, and end within time and memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jinja2.exceptions import TemplateNotFound

from uq_report.core.support.errors import RenderError
from uq_report.document.document import Document
from uq_report.render import environment
from uq_report.render.environment import fill, ready
from uq_report.render.html import HtmlRenderer, page
from uq_report.render.theme import MAX_FILE, StyleLoader, refuse_addresses, refuse_unguarded

posix = pytest.mark.skipif(os.name != "posix", reason="limits of time and memory, and links, are POSIX")


@pytest.fixture
def style(tmp_path: Path) -> Path:
    """Return the folder of a style, beside a secret."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "style").mkdir()
    return tmp_path / "style"


def source(style: Path, name: str) -> str:
    return StyleLoader(style).get_source(environment.environment(), name)[0]


@posix
@pytest.mark.parametrize("kind", ["absolute", "relative", "folder", "chain", "broken"])
def test_a_link_that_leads_out_is_refused_by_name(style: Path, kind: str) -> None:
    if kind == "absolute":
        (style / "logo.css").symlink_to(style.parent / "secret.txt")
    elif kind == "relative":
        (style / "logo.css").symlink_to("../secret.txt")
    elif kind == "folder":
        (style / "out").symlink_to("..")
    elif kind == "chain":
        (style / "first").symlink_to("../secret.txt")
        (style / "logo.css").symlink_to("first")
    else:
        (style / "logo.css").symlink_to("../no-such-file")
    name = "out/secret.txt" if kind == "folder" else "logo.css"
    with pytest.raises(RenderError, match=rf"template {name} must lie in the folder of its style.*Copy the file into"):
        source(style, name)


@posix
def test_links_within_the_folder_are_followed(style: Path) -> None:
    """As a volume of Kubernetes has them; the folder itself may be one."""
    (style / "..data_1").mkdir()
    (style / "..data_1" / "report.html").write_text("linked")
    (style / "..data").symlink_to("..data_1")
    (style / "report.html").symlink_to("..data/report.html")
    linked = style.with_name("linked")
    linked.symlink_to(style)
    assert source(style, "report.html") == source(linked, "report.html") == "linked"


@posix
@pytest.mark.parametrize("part", ["logo.css", "css"])
def test_a_link_put_in_the_way_after_a_name_is_resolved_is_not_followed(
    style: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (style / "css").mkdir()
    (style / "css" / "logo.css").write_text("ours")
    (style.parent / "logo.css").write_text("secret")
    resolve = Path.resolve

    def swapped(path: Path, strict: bool = False) -> Path:
        resolved = resolve(path, strict=strict)
        if path.name == "logo.css":
            (style / "css").rename(style / "before")
            if part == "css":
                (style / "css").symlink_to("..")
            else:
                (style / "css").mkdir()
                (style / "css" / "logo.css").symlink_to("../../logo.css")
        return resolved

    loader = StyleLoader(style)
    monkeypatch.setattr(Path, "resolve", swapped)
    with pytest.raises((RenderError, TemplateNotFound)) as caught:
        loader.get_source(environment.environment(), "css/logo.css")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["../secret.txt", "a/../../secret.txt", "/secret.txt", "css\\..\\secret.txt", "none"])
def test_other_ways_out_lead_nowhere(style: Path, name: str) -> None:
    with pytest.raises(TemplateNotFound):
        source(style, name)


@posix
def test_what_is_no_text_of_a_size_is_refused(style: Path) -> None:
    os.mkfifo(style / "pipe.css")
    (style / "folder.css").mkdir()
    (style / "logo.png").write_bytes(b"\x89PNG")
    (style / "large.css").write_text("x" * (MAX_FILE + 1))
    (style / "full.css").write_text("x" * MAX_FILE)
    for name, cause in (
        ("pipe.css", "no regular file"), ("folder.css", "directory|no regular file"),
        ("logo.png", "text in UTF-8"), ("large.css", "more than 5000000 bytes"),
    ):  # fmt: skip
        with pytest.raises(RenderError, match=rf"template {name} must be .*(?:{cause})"):
            source(style, name)
    assert len(source(style, "full.css")) == MAX_FILE


LOADS = (
    '<img src="file:///etc/passwd">', '<img src="logo.png">', "<img srcset='a.png 2x'>", '<link rel=x href="a.css">',
    '<svg><image href="/etc/passwd"/></svg>', '<svg><use xlink:href="other.svg#a"/></svg>', "<iframe srcdoc=x>",
    '<object data="data:text/html,x">', '<base href="https://bank.example">', '<script src="//x/y.js"></script>',
    '<meta http-equiv="Refresh" content="0;url=x">', '<video poster="a.png"></video>', '<body background="a.png">',
    '<form action="https://bank.example">', '<p style="background:url(a.png)">', '<rect fill="url(other.svg#a)">',
    "<style>@import 'a.css';</style>", "<style>@IMPORT url(a.css);</style>", "<style>p{mask:url( 'a.png' )}</style>",
    "<style>@font-face{src:url(../font.woff2)}</style>", "<style>p{background:\\75 rl(a.png)}</style>",
    "<style>p{background:u/**/rl(a.png)}</style>", "<style>p{cursor:image-set('a.png' 1x)}</style>",
    "<STYLE>p{content:url(\nfile:///x)}</STYLE>",
)  # fmt: skip


@pytest.mark.parametrize("html", LOADS)
def test_a_page_that_loads_something_is_refused(html: str) -> None:
    with pytest.raises(RenderError, match="template: a page must load data: addresses alone; got "):
        refuse_addresses(f"<p>before</p>{html}")


def test_data_own_parts_and_links_to_click_are_allowed(document: Document) -> None:
    refuse_addresses(page(document))
    refuse_addresses(page(document, paged=True))
    refuse_addresses('<a href="https://bank.example">x</a><use href="#a"/><p style="color:red">url(a.png)</p>')
    refuse_addresses('<style>p{background:url("data:image/png;base64,AA==");mask:url(#a)}</style>@import x')


POLICY = (
    '<!DOCTYPE html>\n<html lang="en"><head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'sha256-a='; script-src 'none'; img-src data:; base-uri 'none'; "
    "form-action 'none'\">"
)


def test_a_page_of_a_style_opens_with_the_policy(style: Path, document: Document) -> None:
    for paged in (False, True):
        refuse_unguarded(page(document, paged=paged))
    (style / "report.html").write_text(f"{POLICY}<title>a</title></head>b")
    assert HtmlRenderer(style).render(document).decode().endswith("<title>a</title></head>b")
    (style / "report.html").write_text("<script>navigator.sendBeacon('//x.example')</script>")
    with pytest.raises(RenderError, match=r"a page must open as base\.html does, with its content security policy"):
        HtmlRenderer(style).render(document)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<!DOCTYPE html>", ""), ("<!DOCTYPE html>", "text"), ("<head>", "<head></head>"), ("<head>", "<head><script>"),
        ("<head>", "<head><!--><script>a</script>-->"), ("<html", "<script>a</script><html"), ("lang", "onload=a lang"),
        ("<meta http", "<!--<meta http"), ("'none'; style", "*; style"), ("'sha256-a='", "'unsafe-inline'"),
        ("script-src 'none'", "script-src *"), ("; form-action 'none'", ""), ("Policy", "Policy-Report-Only"),
        ("<meta http", '<meta content="script-src *" http'),
    ],
)  # fmt: skip
def test_a_page_without_the_policy_or_with_anything_before_it_is_refused(old: str, new: str) -> None:
    refuse_unguarded(POLICY)
    assert old in POLICY
    with pytest.raises(RenderError, match="with its content security policy"):
        refuse_unguarded(POLICY.replace(old, new))


FOR, END = "{% for i in a %}", "{% endfor %}"


@posix
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{{% set a = 'x' * 999999 %}}\n{FOR}{FOR}{END}{END}", "a page must be filled within 1 s of processor time"),
        (f"{{% set a = 'x' * 99 %}}{{% set n = namespace(t=a) %}}\n{FOR}{{% set n.t = n.t ~ n.t %}}{END}", "no memory"),
        ("\n{{ 'a'|center(99999999999) }}", "no memory is left"),
    ],
    ids=["endless", "doubled", "constant"],
)
def test_time_and_memory_are_bounded_with_the_cause_and_the_line(
    style: Path, document: Document, text: str, cause: str
) -> None:
    (style / "report.html").write_text(text)
    with pytest.raises(RenderError, match=rf"report\.html, line 2: {cause}"):
        HtmlRenderer(style, template_cpu_seconds=0.5, template_memory_mb=200).render(document)


@posix
def test_a_process_that_is_killed_is_reported_with_the_limits(style: Path, document: Document) -> None:
    """Code in C may see neither limit before it is killed."""
    (style / "report.html").write_text("text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "command", lambda *_: ["sh", "-c", "echo broken >&2; kill -9 $$"])
        with pytest.raises(RenderError, match=r"60 s of processor time and 2048 MB; .* ended with -9 \(broken\)"):
            page(document, style)
        patch.setattr(environment, "command", lambda *_: ["/no/such/python"])
        with pytest.raises(RenderError, match=r"the process that fills .* must start and end; got .*/no/such/python"):
            page(document, style)


def test_a_page_filled_apart_is_the_page_filled_here(style: Path, document: Document) -> None:
    (style / "report.html").write_text('{% extends "uq_report/report.html" %}{% block banner %}\ud7ff é{% endblock %}')
    ready(style, document.kind)
    from uq_report.render.outline import outline

    data = {"document": document, "outline": outline(document), "paged": False}
    assert HtmlRenderer(templates=style).render(document).decode() == fill(style, document.kind, data)


def test_a_style_is_looked_at_before_anything_is_computed(style: Path) -> None:
    (style / "blocks").mkdir()
    (style / "blocks" / "table.html").write_text("\n{% if %}")
    with pytest.raises(RenderError, match=r"table\.html, line 2: Expected an expression"):
        ready(style, "audit")
    with pytest.raises(RenderError, match=r"render\.templates must be a directory; got .*gone"):
        ready(style / "gone", "audit")


def test_a_theme_file_sets_colours_logo_and_footer(style: Path) -> None:
    (style / "logo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (style / "theme.toml").write_text(
        'logo = "logo.svg"\nfooter = "Model risk <one>"\n[colours]\naccent = "#123456"\n[dark]\nink = "#fefefe"\n'
    )
    document = Document(title="T", subtitle="", as_of="2026-01-31", generator="g", evidence_sha256="0" * 64)
    html = page(document, templates=style)
    assert "--accent: #123456;" in html
    assert "--ink: #fefefe;" in html
    assert "data:image/svg+xml;base64," in html
    assert html.count("Model risk &lt;one&gt;") == 2, "at the end of the page, and for the foot of each page of the PDF"
    assert 'alt="Logo"' in html
    assert "--accent: #123456;" not in page(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("font = 'x'", "may set colours, dark, logo and footer; got 'font'"),
        ("[colours]\nacent = '#123456'", "colours must be one of accent.* got acent"),
        ("[colours]\naccent = 'red'", "as #rrggbb; got accent = 'red'"),
        ("logo = '../secret.png'", "logo must be a .png, .svg or .jpg in the folder of the theme"),
        ("logo = 'gone.png'", "logo must be a readable file"),
        ("logo", "must be readable TOML"),
    ],
)
def test_a_wrong_theme_file_is_refused(style: Path, text: str, message: str) -> None:
    (style / "theme.toml").write_text(text)
    with pytest.raises(RenderError, match=message):
        fill(style, "audit", {})


def test_a_file_that_nothing_uses_is_refused_and_one_that_is_included_is_not(style: Path) -> None:
    (style / "colors.css").write_text(":root {}")
    with pytest.raises(RenderError, match=r"colors\.css .* must take the place of a template, or be included"):
        ready(style, "audit")
    (style / "audit.html").write_text(
        '{% extends "uq_report/audit.html" %}{% block css %}{{ super() }}{% include "colors.css" %}{% endblock %}'
    )
    ready(style, "audit")
