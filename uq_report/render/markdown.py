"""The report as Markdown, for a repository: headings, lists and tables, and figures in words."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from jinja2 import Template
from markupsafe import Markup

from ..document.document import Document
from ..document.text import unmarked
from .environment import environment
from .filters import short
from .outline import outline
from .text import line

# What Markdown, or GitHub's reading of it, takes for markup: anywhere, and at the start of a line.
_MARKUP = re.compile(r"[\\`*{}\[\]<|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])")
_START = re.compile(r"^(\d*)([-+>#=.)])(?=\s|$|[-+>#=])")
# Words that readers of Markdown turn into links or mentions by themselves: shown as code, which is never a link.
_LINKED = re.compile(r"\S*(?:[a-z][a-z0-9+.-]*:[^\s\d]|www\.|@)\S*", re.IGNORECASE)


def escape(text: str) -> str:
    r"""Return text that Markdown prints as it is: no markup, no HTML, no links, on one line.

    Examples
    --------
    >>> escape("car_age <b>"), escape("see http://example.org")
    ('car_age \\<b>', 'see `http://example.org`')
    """
    plain = line(short(unmarked(text), 5000))
    parts, end = [], 0
    for match in _LINKED.finditer(plain):
        parts += [_plain(plain[end : match.start()]), code(match[0])]
        end = match.end()
    return _START.sub(r"\1\\\2", "".join([*parts, _plain(plain[end:])]))


def code(text: str) -> str:
    """Return text as code, fenced by more backticks than it holds.

    Examples
    --------
    >>> code("age.test"), code("a`b")
    ('`age.test`', '``a`b``')
    """
    plain = line(short(text, 5000))
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    pad = " " if plain[:1] == "`" or plain[-1:] == "`" else ""
    return f"{fence}{pad}{plain}{pad}{fence}" if plain else ""


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text)


@dataclass(frozen=True)
class MarkdownRenderer:
    """Write a document as GitHub-flavoured Markdown without HTML, links and images.

    A figure is its words and the id of its evidence.

    Examples
    --------
    >>> empty = Document(title="Model card", subtitle="", as_of="2026-11-21", generator="uq", evidence_sha256="0")
    >>> MarkdownRenderer().render(empty).splitlines()[0]
    b'# Model card'
    """

    name: ClassVar[str] = "markdown"
    extension: ClassVar[str] = ".md"
    api_version: ClassVar[int] = 1
    draws: ClassVar[bool] = False

    def render(self, document: Document) -> bytes:
        """Return the file in UTF-8."""
        text = _template().render(document=document, outline=outline(document))
        # a step or a row ends its line in the template, and an empty text leaves a blank
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        return (re.sub(r"\n{3,}", "\n\n", lines).strip() + "\n").encode()


@lru_cache
def _template() -> Template:
    """Return the template, in an environment whose filters make text plain and code of it."""
    jinja = environment().overlay()
    plain = {"md": escape, "code": code, "bars": lambda text: re.sub(r"(?<!\\)\|", r"\|", text)}
    own = {name: (lambda text, make=make: Markup(make(text))) for name, make in plain.items()}  # noqa: S704 - made plain
    jinja.filters = {**jinja.filters, **own}
    return jinja.get_template("report.md")
