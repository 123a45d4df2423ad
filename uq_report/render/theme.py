"""The files of a theme: read in their folder and nowhere else, and pages that load ``data:`` addresses alone."""

import os
import re
import tomllib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from html.parser import HTMLParser
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from jinja2 import BaseLoader, Environment
from jinja2.exceptions import TemplateNotFound
from jinja2.loaders import split_template_path
from jinja2.meta import find_referenced_templates

from ..core.support.errors import RenderError

MAX_FILE = 5_000_000  # bytes


class StyleLoader(BaseLoader):
    """Loads the templates of a folder.

    A name is resolved once, and what it leads to is opened step by step without links: a link that is put in its way
    meanwhile is not followed. Links inside the folder are, as volumes of Kubernetes have them.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    RenderError
        By `get_source`: a file leads out of the folder, is no text in UTF-8, no file at all, or has more than
        5 million bytes.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder.resolve()

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return a template's text and file."""
        del environment
        place = self._root.joinpath(*split_template_path(template))
        real = place.resolve()
        if not real.is_relative_to(self._root):
            raise RenderError(
                f"template {template} must lie in the folder of its style, {self._root}; it leads to {real}. "
                "Copy the file into the folder."
            )
        try:
            text = _read(self._root, real).decode()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise TemplateNotFound(template) from error
        except UnicodeDecodeError as error:
            raise RenderError(f"template {template} must be text in UTF-8; got {error}. Save it so.") from error
        except OSError as error:
            raise RenderError(f"template {template} must be a readable file; got {error}. Mend it.") from error
        return text, str(place), lambda: True


def _read(root: Path, file: Path) -> bytes:
    """Return what a file holds that has no links on its way from `root`."""
    with os.fdopen(_opened(root, file), "rb") as stream:
        if not S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError("no regular file")
        content = stream.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise OSError(f"more than {MAX_FILE} bytes")
    return content


def _opened(root: Path, file: Path) -> int:
    if os.open not in os.supports_dir_fd:  # Windows
        return os.open(file, os.O_RDONLY)
    here = os.open(root, os.O_RDONLY)
    for part in file.relative_to(root).parts:
        try:
            deeper = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
        finally:
            os.close(here)
        here = deeper
    return here


THEME = "theme.toml"
_TONES = ("good", "warning", "bad", "unknown", "neutral")
_PLAIN = ("ink", "soft", "line", "page", "panel", "stripe", "accent")
COLOURS = frozenset((*_PLAIN, *_TONES, *(f"{tone}-panel" for tone in _TONES)))
LOGOS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}
_HEX = re.compile(r"#[0-9a-fA-F]{6}")


class Theme(NamedTuple):
    """What `theme.toml` sets: colours by name for light and dark pages, a logo as a ``data:`` address, a footer."""

    colours: Mapping[str, str] = {}
    dark: Mapping[str, str] = {}
    logo: str = ""
    footer: str = ""


NO_THEME = Theme()


def read_theme(folder: Path) -> Theme:
    """Return the settings of a theme's ``theme.toml``; an empty theme where there is none.

    Raises
    ------
    RenderError
        The file is no TOML, or a key, a colour or the logo is not allowed.
    """
    root = folder.resolve()
    if not (root / THEME).is_file():
        return NO_THEME
    try:
        content = tomllib.loads(_read(root, (root / THEME).resolve()).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RenderError(f"{THEME} must be readable TOML in UTF-8; got {error}. Mend it.") from error
    if unknown := sorted(set(content) - {"colours", "dark", "logo", "footer"}):
        raise RenderError(f"{THEME} may set colours, dark, logo and footer; got {unknown[0]!r}. Remove it.")
    tables = [content.get(name, {}) for name in ("colours", "dark")]
    for name, colour in (pair for table in tables for pair in table.items()):
        if name not in COLOURS or not _HEX.fullmatch(str(colour)):
            allowed = f"one of {', '.join(sorted(COLOURS))} as #rrggbb"
            raise RenderError(f"{THEME}.colours must be {allowed}; got {name} = {colour!r}. Mend it.")
    return Theme(tables[0], tables[1], _logo(root, str(content.get("logo", ""))), str(content.get("footer", "")))


def _logo(root: Path, name: str) -> str:
    """Return a picture of the theme as a ``data:`` address."""
    if not name:
        return ""
    place = (root / name).resolve()
    if place.suffix not in LOGOS or not place.is_relative_to(root):
        raise RenderError(f"{THEME}.logo must be a .png, .svg or .jpg in the folder of the theme; got {name!r}.")
    try:
        content = _read(root, place)
    except OSError as error:
        raise RenderError(f"{THEME}.logo must be a readable file; got {error}. Copy it into the folder.") from error
    return f"data:{LOGOS[place.suffix]};base64,{b64encode(content).decode()}"


def refuse_unused(jinja: Environment, folder: Path, names: Sequence[str], ours: Sequence[str]) -> None:
    """Refuse a template, style or script of a theme that replaces none of ours and that its templates do not name."""
    theme = StyleLoader(folder)
    # a volume of Kubernetes links to "..data"; other files may lie in the folder
    shown = [name for name in names if name.endswith((".html", ".css", ".js")) and not name.startswith("..")]
    texts = [theme.get_source(jinja, name)[0] for name in shown]
    named = {reference for text in texts for reference in find_referenced_templates(jinja.parse(text))}
    unused = sorted(set(shown) - set(ours) - named)
    if unused:
        near = get_close_matches(unused[0], ours, 1)
        hint = f" Did you mean {near[0]!r}?" if near else " Remove it, or include it in a template."
        raise RenderError(f"template {unused[0]} of {folder} must take the place of a template, or be included.{hint}")


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


_SHA = "'sha256-[A-Za-z0-9+/=]+'"
_GUARDED = re.compile(
    r'<!DOCTYPE html>\s*<html lang="[\w-]*">\s*<head>\s*<meta charset="utf-8">\s*'
    rf"""<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src {_SHA}; """
    rf"""script-src (?:{_SHA}|'none'); img-src data:; base-uri 'none'; form-action 'none'">"""
)


def refuse_unguarded(html: str) -> None:
    """Refuse a page that does not open as ours do, with the content security policy.

    Raises
    ------
    RenderError
    """
    if not _GUARDED.match(html):
        raise RenderError(
            f"template: a page must open as base.html does, with its content security policy; got {html[:60]!r}. "
            "Extend uq_report/report.html, or copy its first lines."
        )


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
