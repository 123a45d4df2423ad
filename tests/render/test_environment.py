"""Templates: strict, escaped, sandboxed, small; and themes."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from statistics import median

import pytest

from uq_report.core.support.errors import RenderError
from uq_report.document.document import Block, Document
from uq_report.render.environment import environment, templates_dir
from uq_report.render.html import HtmlRenderer, page

TEMPLATES = sorted(templates_dir().rglob("*.html"))
STYLES = sorted(templates_dir().rglob("*.css"))


pytestmark = pytest.mark.usefixtures("filled_here")


def house(tmp_path: Path, text: str, name: str = "report.html") -> Path:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("{{ document.titel }}", "has no attribute 'titel'"),
        ("{{ docment.title }}", "'docment' is undefined"),
        ("{% if document.tilte %}{% endif %}", "has no attribute 'tilte'"),
        ("{% for x in documents %}{% endfor %}", "'documents' is undefined"),
        ("{% if %}", "Expected an expression"),
        ("{{ document.title|safe }}", "No filter named 'safe'"),
        ("{% autoescape false %}{% endautoescape %}", "'autoescape' is not allowed"),
        ("{{ document.__class__.__mro__ }}", "unsafe"),
        ("{{ document.facts + 1 }}", "can only concatenate tuple"),
        ("{% include 'nowhere.html' %}", "there is no template 'nowhere.html'"),
        ("{{ '</style>'|csp_hash }}", "css and script must hold no"),
    ],
)
def test_a_template_error_names_file_line_and_cause(tmp_path: Path, document: Document, line: str, cause: str) -> None:
    directory = house(tmp_path, "one\ntwo\n" + line)
    with pytest.raises(RenderError) as caught:
        page(document, directory)
    message = str(caught.value)
    assert cause in message
    assert "css" in cause or ("report.html, line 3" in message and "README" in message)


def test_the_innermost_template_is_named(tmp_path: Path, document: Document) -> None:
    directory = house(tmp_path, "{{ block.txt }}", "blocks/paragraph.html")
    with pytest.raises(RenderError, match=r"paragraph\.html, line 1: .* has no attribute 'txt'"):
        page(document, directory)


def test_a_missing_directory_is_refused(tmp_path: Path, document: Document) -> None:
    with pytest.raises(RenderError, match=r"render\.templates must be a directory; got .*gone"):
        page(document, tmp_path / "gone")


def test_a_house_style_extends_ours_without_python(tmp_path: Path, document: Document) -> None:
    house(tmp_path, ":root { --accent: #7a0019; }", "house.css")
    house(tmp_path, "<p class='ours'>{{ block.text }}</p>", "blocks/paragraph.html")
    text = """{% extends "uq_report/report.html" %}
    {% block css %}{{ super() }}{% include "house.css" %}{% endblock %}
    {% block banner %}<p class="banner">Internal</p>{% endblock %}"""
    html = HtmlRenderer(templates=house(tmp_path, text)).render(document).decode()
    assert "--accent: #7a0019" in html
    assert '<p class="banner">Internal</p>' in html
    assert "<p class='ours'>Deep text.</p>" in html
    assert "--accent: #7a0019" not in page(document)


def test_a_house_directory_may_hold_partials_only(tmp_path: Path, document: Document) -> None:
    house(tmp_path, "<p>mine</p>", "blocks/figure.html")
    assert "<p>mine</p>" in page(document, tmp_path)


def test_a_bare_number_or_gap_is_formatted() -> None:
    template = environment().from_string("{{ a }} {{ b }} {{ c }} {{ d }}")
    assert template.render(a=1 / 3, b=None, c=float("nan"), d=7) == "0.333 – – 7"


def test_there_is_one_environment() -> None:
    assert environment() is environment()


def test_every_block_type_has_its_partial() -> None:
    types = {block.type for block in Block.__args__}
    assert {path.stem for path in (templates_dir() / "blocks").glob("*.html")} == types


def test_templates_are_small_and_do_not_decide() -> None:
    lengths = [len(path.read_text().splitlines()) for path in TEMPLATES + STYLES]
    assert median(lengths) <= 30
    assert max(lengths) <= 80
    for path in TEMPLATES:
        tags = re.findall(r"{[{%].*?[}%]}", path.read_text(), re.S)
        assert not [tag for tag in tags if re.search(r"\bsafe\b|\|\s*sort| [<>+*/-] |[<>]=|~", tag)], path


def test_every_template_block_and_field_is_documented() -> None:
    readme = (templates_dir() / "README.md").read_text()
    names = {name for path in TEMPLATES for name in re.findall(r"{% block (\w+)", path.read_text())}
    names |= {field.name for block in Block.__args__ for field in fields(block)}
    assert not [name for name in names if f"`{name}`" not in readme]
