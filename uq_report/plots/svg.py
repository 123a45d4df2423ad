"""A figure as small SVG: the same bytes in every process, text kept as text, coordinates to 0.1 pt."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import count
from typing import Any

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from .style import FONTS, context

_NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
_TOKEN = re.compile(r"[MLQCzZ]|-?\d+\.?\d*(?:e-?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"


def to_svg(figure: Figure) -> bytes:
    """Return the figure as SVG bytes, without date, creator or random ids, and with nothing it does not need.

    Text stays text (the page's own DejaVu Sans), so that it can be searched and read aloud.
    """
    buffer = io.BytesIO()
    with context():
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return slim(buffer.getvalue())


def slim(svg: bytes) -> bytes:
    """Return matplotlib's SVG without comments, empty groups and unused ids, its paths relative and rounded."""
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib's own output, see above
    names = _names(root)
    markers = {path for defs in root.iter(f"{_SVG}defs") for path in defs.iter(f"{_SVG}path")}
    for element in root.iter():
        _tidy(element, names)
        if element.tag == f"{_SVG}path":
            element.set("d", _path(element.get("d", ""), 2 if element in markers else 1))
    _flatten(root)
    root.set("font-family", FONTS)
    return _text(root)


def _names(root: ET.Element) -> dict[str, str]:
    """Return a short new id for every id that something refers to."""
    used: dict[str, str] = {}
    letters = (f"i{n}" for n in count())
    for element in root.iter():
        targets = [element.get(_HREF, "").removeprefix("#"), *_REFERENCE.findall(element.get("clip-path", ""))]
        for target in filter(None, targets):
            if target not in used:
                used[target] = next(letters)
    return used


def _tidy(element: ET.Element, names: dict[str, str]) -> None:
    """Rename or drop ids, round positions, shorten styles of one element."""
    own = element.attrib.pop("id", None)
    if own in names:
        element.set("id", names[own])
    reference = element.attrib.pop(_HREF, None)
    if reference:
        element.set("href", "#" + names[reference[1:]])
    if "clip-path" in element.attrib:
        element.set("clip-path", _REFERENCE.sub(lambda m: f"url(#{names[m[1]]})", element.attrib["clip-path"]))
    for name in ("x", "y", "width", "height", "transform"):
        if name in element.attrib and element.tag != f"{_SVG}svg":
            element.set(name, _NUMBER.sub(lambda m: _short(float(m[0]), 1), element.attrib[name]))
    if element.get("transform", "").startswith("rotate(0 "):
        del element.attrib["transform"]
    style = element.get("style")
    if style:
        parts = [part.strip().replace(": ", ":") for part in style.split(";")]
        element.set("style", ";".join(part for part in parts if part and not part.startswith("font-family")))
    for text in ("text", "tail"):
        if not (getattr(element, text) or "").strip():
            setattr(element, text, None)


def _flatten(element: ET.Element) -> None:
    """Replace groups without attributes by their children; give markers that share a style one group for it."""
    children: list[ET.Element] = []
    for child in list(element):
        _flatten(child)
        bare = child.tag == f"{_SVG}g" and not child.attrib
        children.extend(list(child) if bare else [child])
    element[:] = children
    uses = [child for child in element if child.tag == f"{_SVG}use"]
    styles = {use.get("style") for use in uses}
    if element.tag == f"{_SVG}g" and len(uses) > 1 and len(uses) == len(element) and len(styles) == 1:
        style = styles.pop()
        if style and "style" not in element.attrib:
            element.set("style", style)
            for use in uses:
                del use.attrib["style"]


def _path(d: str, digits: int) -> str:
    """Return a path in relative coordinates; rounding is done on absolute ones, so errors do not add up."""
    out: list[str] = []
    here = start = (0, 0)
    last = ""
    for command, points in _commands(d, digits):
        if command in "zZ":
            out.append("z")
            here, last = start, "z"
            continue
        if command == "L" and points[-1] == here and last == "l":
            continue
        letter = command.lower()
        numbers = [c for point in points for c in (point[0] - here[0], point[1] - here[1])]
        body = _joined([_short(n / 10**digits, digits) for n in numbers])
        separator = "" if last != letter or body.startswith("-") or letter == "m" else " "
        out.append((letter if last != letter or letter == "m" else "") + separator + body)
        here, last = points[-1], letter
        start = here if letter == "m" else start
    return "".join(out)


def _commands(d: str, digits: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield each command with its points as integers of the last digit kept."""
    counts = {"M": 1, "L": 1, "Q": 2, "C": 3}
    tokens = iter(_TOKEN.findall(d))
    for command in tokens:
        points = []
        for _ in range(counts.get(command, 0)):
            x, y = float(next(tokens)), float(next(tokens))
            points.append((round(x * 10**digits), round(y * 10**digits)))
        yield command, points


def _joined(numbers: list[str]) -> str:
    """Join numbers with a blank only where the next one does not begin with its sign."""
    return "".join(n if i == 0 or n.startswith("-") else f" {n}" for i, n in enumerate(numbers))


def _short(value: float, digits: int) -> str:
    """Return a number without needless zeros: ``0.50`` is ``.5``."""
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
    text = text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    return "0" if text in ("", "-", "-0") else text


def _text(root: ET.Element) -> bytes:
    """Serialise with the SVG namespace as the default one."""
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
    root.set("xmlns", _SVG.strip("{}"))
    return bytes(ET.tostring(root, encoding="utf-8"))
