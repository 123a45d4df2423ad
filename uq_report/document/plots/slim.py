"""Fewer elements that show the same: the tree of matplotlib's SVG, rewritten step by step."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from functools import lru_cache

from .pathdata import is_open, moved

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"
REFERENCE = re.compile(r"url\(#([^)]+)\)")
_PLACE = frozenset({"x", "y", "d", "id", "transform", "textLength", HREF})
_OWN = frozenset({"opacity", *_PLACE})  # a group with an opacity is not a group of elements with one
Look = tuple[tuple[str, str], ...]
_SHORT = re.compile(r"#(.)\1(.)\2(.)\3")


def simplify(root: ET.Element) -> None:
    """Rewrite the tree in place.

    Styles become attributes; marks of straight strokes and the grid become one path each; text says
    where it starts; a ``g`` holds what their elements share.
    """
    for element in root.iter():
        _attributes(element)
    _draw_marks(root)
    for axis in root.iter(f"{SVG}g"):
        if axis.get("id", "").startswith("matplotlib.axis"):
            _sort(axis)
    _drop_unused(root)
    _flatten(root)
    for element in root.iter(f"{SVG}text"):
        _anchor(element)
    for element in list(root.iter()):
        _join_strokes(element)
    _unwrap(root)
    for element in list(root.iter()):
        _join_strokes(element)
        _share(element)
    root.set("stroke-linejoin", "round")


def _attributes(element: ET.Element) -> None:
    """Write the style as attributes, which need no style sheet parser; leave out what is so anyway."""
    for part in element.attrib.pop("style", "").split(";"):
        name, _, value = part.partition(":")
        value = value.strip()
        if name.strip() and name.strip() != "font-family" and (name.strip(), value) != ("stroke-dashoffset", "0"):
            element.set(name.strip(), _SHORT.sub(r"#\1\2\3", value))
    if element.get("transform", "").startswith("rotate(0 ") or element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    painted = [name for name in ("fill", "stroke") if element.get(name, "none" if name == "stroke" else "") != "none"]
    if "opacity" in element.attrib and len(painted) == 1 and element.tag == f"{SVG}path":
        element.set(f"{painted[0]}-opacity", element.attrib.pop("opacity"))


def _draw_marks(root: ET.Element) -> None:
    """Replace each use of a mark that is straight strokes only (ticks, bars, crosses) by its path."""
    marks = {
        f"#{path.get('id')}": path
        for defs in root.iter(f"{SVG}defs")
        for path in defs.iter(f"{SVG}path")
        if is_open(path.get("d", ""))
    }
    for use in root.iter(f"{SVG}use"):
        mark = marks.get(use.get(HREF, ""))
        if mark is not None:
            x, y = float(use.attrib.pop("x", "0")), float(use.attrib.pop("y", "0"))
            del use.attrib[HREF]
            own = {name: value for name, value in mark.attrib.items() if name not in _PLACE}
            use.attrib.update(own | {"fill": "none", "d": moved(mark.get("d", ""), x, y)})
            use.tag = f"{SVG}path"


def _sort(axis: ET.Element) -> None:
    """Put an axis in the order grid and ticks, then the rest: what is drawn alike stands together."""
    if any(set(group.attrib) - {"id"} for group in axis.iter(f"{SVG}g")):
        return
    leaves = list(_leaves(axis))
    lines = [leaf for leaf in leaves if leaf.tag == f"{SVG}path"]
    order = {look: place for place, look in enumerate(dict.fromkeys(map(_look, lines)))}
    others = [leaf for leaf in leaves if leaf.tag != f"{SVG}path"]
    axis[:] = sorted(lines, key=lambda line: order[_look(line)]) + others


def _leaves(group: ET.Element) -> Iterator[ET.Element]:
    """Yield what is inside each ``g``, in order."""
    for child in group:
        if child.tag == f"{SVG}g":
            yield from _leaves(child)
        else:
            yield child


def _look(element: ET.Element) -> Look:
    """Return all attributes but those of the place."""
    return tuple(sorted(item for item in element.attrib.items() if item[0] not in _PLACE))


def _drop_unused(root: ET.Element) -> None:
    """Remove definitions nothing refers to, the style element, and each ``g`` that is empty then."""
    used = set(references(root))
    for parent in list(root.iter()):
        for child in list(parent):
            hidden = parent.tag == f"{SVG}defs" and child.get("id") not in used
            if hidden or child.tag.rpartition("}")[2] in ("style", "metadata"):
                parent.remove(child)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{SVG}defs", f"{SVG}g") and not len(child):
                parent.remove(child)


def references(root: ET.Element) -> Iterator[str]:
    """Yield every id that something refers to, in order."""
    for element in root.iter():
        yield from filter(None, (element.get(HREF, "")[1:], *REFERENCE.findall(element.get("clip-path", ""))))


def _flatten(element: ET.Element) -> None:
    """Replace each ``g`` without attributes by its children."""
    children: list[ET.Element] = []
    for child in list(element):
        _flatten(child)
        bare = child.tag == f"{SVG}g" and not set(child.attrib) - {"id"}
        children.extend(list(child) if bare else [child])
    element[:] = children


def _anchor(text: ET.Element) -> None:
    """Say where a centred or right-bound text starts, and how long it is, whatever font a reader has.

    WeasyPrint makes an object of its own of every text with an anchor.
    """
    anchor = text.attrib.pop("text-anchor", "start")
    if anchor == "start" or len(text) or not text.text or not text.text.strip():
        return
    size = float(text.get("font-size", "10px").removesuffix("px"))
    length = _length(text.text, size, text.get("font-weight", "normal"))
    text.set("x", str(float(text.get("x", "0")) - length * (0.5 if anchor == "middle" else 1.0)))
    text.set("textLength", str(length))


@lru_cache(maxsize=4096)
def _length(text: str, size: float, weight: str) -> float:
    """Return the length of a text in DejaVu Sans, as matplotlib measures it to place it."""
    from matplotlib.font_manager import FontProperties  # heavy, and pages have sketches
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=["DejaVu Sans"], size=size, weight=int(weight) if weight.isdigit() else weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def _join_strokes(parent: ET.Element) -> None:
    """Make one path of strokes that follow one another and look alike; opaque ones, so that nothing is seen twice."""
    if parent.tag == f"{SVG}defs":
        return
    children: list[ET.Element] = []
    for _, run in _alike(parent, _is_stroke):
        if len(run) > 1:
            run[0].set("d", " ".join(path.get("d", "") for path in run))
        children.append(run[0])
    parent[:] = children


def _is_stroke(element: ET.Element) -> bool:
    plain = not {"id", "transform", "opacity", "stroke-opacity"} & set(element.attrib)
    return element.tag == f"{SVG}path" and element.get("fill") == "none" and plain


def _unwrap(parent: ET.Element) -> None:
    """Let the only element of a group take over what the group says, where it says nothing else of that."""
    for place, child in enumerate(parent):
        _unwrap(child)
        if child.tag == f"{SVG}g" and len(child) == 1 and not set(child.attrib) & (_OWN | set(child[0].attrib)):
            child[0].attrib.update(child.attrib)
            parent[place] = child[0]


def _share(parent: ET.Element) -> None:
    """Put elements that follow one another and look alike in a group that holds their look."""
    if parent.tag not in (f"{SVG}g", f"{SVG}svg"):
        return
    children: list[ET.Element] = []
    for look, run in _alike(parent, lambda e: e.tag in (f"{SVG}text", f"{SVG}use", f"{SVG}path")):
        children.extend([_group(look, run)] if len(run) > 1 and look else run)
    parent[:] = children


def _group(look: Look, run: list[ET.Element]) -> ET.Element:
    group = ET.Element(f"{SVG}g", dict(look))
    for element in run:
        element.attrib = {name: value for name, value in element.attrib.items() if name in _OWN}
    group.extend(run)
    return group


def _alike(parent: ET.Element, fits: Callable[[ET.Element], bool]) -> Iterator[tuple[Look, list[ET.Element]]]:
    """Yield runs of children that fit and share their look; the others one by one."""
    run: list[ET.Element] = []
    before: Look | None = None
    for child in parent:
        look = tuple(item for item in _look(child) if item[0] not in _OWN) if fits(child) else None
        if run and (look is None or look != before):
            yield before or (), run
            run = []
        run.append(child)
        before = look
    if run:
        yield before or (), run
