"""Figures as part of the page: plain SVG only, with ids of their own, in colours that follow light and dark."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from markupsafe import Markup

from .text import clean

# What figures are drawn in, and what stands for it on a dark page. Others are data on a scale, which stay.
DARK = {
    "#fff": "#12171d",
    "#1f2328": "#e4e9f0",
    "#5d6570": "#a9b5c4",
    "#e4e7eb": "#2c3540",
    "#dfe3e8": "#333e4a",
    "#8b94a0": "#8d98a6",
    "#9fbfd8": "#45698a",
    "#0b5c9e": "#6cb0f0",
    "#b8450b": "#f59a62",
    "#00785a": "#55c9a6",
    "#0b4f8a": "#5ea4e6",
    "#e08214": "#eda04a",
    "#3f9c78": "#5fbb98",
    "#8c3f8c": "#cf8fd0",
    "#6aa9dc": "#8fc3ee",
    "#7a5a00": "#cfae4f",
    "#c2527a": "#e58aa9",
    "#555b63": "#a3abb6",
}
# fmt: off
PLAIN = frozenset((
    "svg", "g", "defs", "clipPath", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan",
    "use", "title",
))
LOOKS = frozenset((
    "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "d", "id", "points", "width", "height",
    "transform", "viewBox", "clip-path", "clip-rule", "fill", "fill-opacity", "fill-rule", "stroke", "stroke-opacity",
    "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "stroke-dashoffset", "stroke-miterlimit",
    "opacity", "font-family", "font-size", "font-style", "font-weight", "text-anchor", "textLength", "lengthAdjust",
    "href", "dominant-baseline", "version", "data-axes",
))
# fmt: on
_SPACE = "{http://www.w3.org/2000/svg}"
_ID = re.compile(r"#([^)]+)")


def inline(svg: bytes, name: str, alt: str) -> Markup | None:
    """Return a figure as an element of the page, heard as `alt`; None if it holds anything but shapes and text.

    Parameters
    ----------
    svg : bytes
    name : str
        Unique on the page; the figure's ids begin with it.
    alt : str

    Examples
    --------
    >>> inline(b'<svg xmlns="http://www.w3.org/2000/svg"><path id="a" d="M0 0"/></svg>', "map", "A dot.")
    Markup('<svg role="img" aria-label="A dot."><path id="map-a" d="M0 0"/></svg>')
    >>> inline(b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>', "map", "A script.")
    """
    if b"<!" in svg:
        return None
    try:
        root = ET.fromstring(svg)  # noqa: S314 - no declarations, so no entities
    except ET.ParseError:
        return None
    colours: set[str] = set()
    for element in root.iter():
        element.tag = str(element.tag).removeprefix(_SPACE)
        if element.tag not in PLAIN or not _own(element, name, colours):
            return None
    root.attrib = {"role": "img", "aria-label": clean(alt), **_class(colours), **root.attrib}
    return Markup(ET.tostring(root, encoding="unicode").replace(" />", "/>"))  # noqa: S704 - plain shapes, escaped


def _own(element: ET.Element, name: str, colours: set[str]) -> bool:
    """Prefix the ids of an element and note its colours; return whether its attributes are plain."""
    for key, value in element.attrib.items():
        if key not in LOOKS or ("url(" in value and key != "clip-path"):
            return False
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key in ("href", "clip-path"):
            if not value.startswith(("#", "url(#")):
                return False
            element.set(key, _ID.sub(rf"#{name}-\1", value))
        elif key in ("fill", "stroke") and value != "none":
            colours.add(value)
    return True


def _class(colours: set[str]) -> dict[str, str]:
    """Return the mark of a figure that stays light: one with colours that mean values, under which text must stand."""
    return {} if colours <= DARK.keys() else {"class": "paper"}
