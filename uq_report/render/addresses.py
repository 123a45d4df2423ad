"""What a page would load when it is opened: with a theme that must be ``data:`` addresses alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from ..core.support.errors import RenderError

_LOADING = frozenset(("src", "srcset", "poster", "data", "background", "action", "formaction", "manifest", "ping"))
_FRAMES = frozenset(("base", "embed", "frame", "iframe", "object", "portal"))
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_FETCH = re.compile(
    r"@import[^;]*|(?:url|src)\(\s*+[\"']?+(?!\s*(?:data:|#))[^)]*|(?:image|image-set)\(\s*[\"'][^)]*", re.IGNORECASE
)


def refuse_addresses(html: str) -> None:
    """Refuse a page that loads anything but what it holds, by elements or by styles.

    Links to click, by ``a`` and ``area``, are no loads.

    Raises
    ------
    RenderError

    Examples
    --------
    >>> refuse_addresses('<a href="https://bank.example">Bank</a><img src="data:image/png;base64,AA==">')
    >>> refuse_addresses('<style>@import "/etc/style.css";</style>')
    Traceback (most recent call last):
        ...
    uq_report.core.support.errors.RenderError: template: a page must load data: addresses alone; got '@import "/etc/...
    """
    parser = _Loads()
    parser.feed(html)
    parser.close()


class _Loads(HTMLParser):
    """Refuses elements and styles that load something."""

    _in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes of an element."""
        values = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        if tag in _FRAMES or (tag == "meta" and values.get("http-equiv", "").lower() == "refresh"):
            raise _refused(f"<{tag}>")
        for name, value in values.items():
            linked = name in ("href", "xlink:href") and tag not in ("a", "area")
            if (linked or name in _LOADING) and not re.match(r"\s*(data:|#|$)", value, re.IGNORECASE):
                raise _refused(f"<{tag} {name}={value!r}>")
            _refuse_fetches(value if name == "style" or "url(" in value.lower() else "")

    def handle_data(self, data: str) -> None:
        """Look at the text of a style."""
        if self._in_style:
            _refuse_fetches(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave a style."""
        self._in_style = self._in_style and tag != "style"


def _refuse_fetches(css: str) -> None:
    match = _FETCH.search(_COMMENT.sub("", _ESCAPE.sub(_letter, css)))
    if match:
        raise _refused(match[0])


def _letter(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16) % 0x110000) if escape[1] else escape[2]


def _refused(what: str) -> RenderError:
    cut = what if len(what) <= 100 else f"{what[:100]}…"
    return RenderError(
        f"template: a page must load data: addresses alone; got {cut!r}. Embed what it shows, or leave it out."
    )
