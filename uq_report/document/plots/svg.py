"""A figure as compact SVG: the same bytes in every process, text kept as text, coordinates to 0.1 pt.

The time and the size of a printed report follow the number of elements. Looks are attributes, which the page recolours
in dark mode.
"""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from .style import context, fonts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
_COMMAND = re.compile(r"([MLQCz])([^MLQCz]*)")
_FONT = re.compile(r"(?:(?P<weight>\d+|bold) )?(?P<size>[\d.]+px) ")  # the shorthand of matplotlib before 3.9
_ZERO = re.compile(r"(?<!\d)0\.")
_DOUBLED = re.compile(r"#(.)\1(.)\2(.)\3")
_IDLE = {"fill-rule": "nonzero", "stroke-dashoffset": "0", "stroke-linejoin": "round", "text-anchor": "start"}
_LOOKS = frozenset((
    "clip-path", "fill", "fill-opacity", "font-size", "font-style", "font-weight", "opacity", "stroke",
    "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width", "text-anchor",
))  # fmt: skip
Look = dict[str, str]


class Leaf(NamedTuple):
    """What is drawn: an element with the look that it has of its own and of the groups around it."""

    element: ET.Element
    look: Look

    @property
    def sign(self) -> tuple[Any, ...]:
        """What must be equal for two leaves to share an element."""
        return self.element.tag, self.element.get(_HREF), tuple(sorted(self.look.items()))


def to_svg(figure: Figure) -> bytes:
    """Return the figure as SVG bytes, without date, creator or random ids, and with few elements."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # heavy, and most commands draw nothing

    buffer = io.BytesIO()
    with context():
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        return compact(buffer.getvalue(), fonts(), _scales(figure))


def compact(svg: bytes, families: str, scales: str = "") -> bytes:
    """Return matplotlib's SVG with as few elements as show the same.

    Strokes of one look become one path, marks too. Texts stand in front of all paths. `scales` is what a page needs to
    read values off under the pointer.
    """
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib's own output, see above
    writer = _Writer(root)
    leaves = list(_leaves(root, {}))
    texts = sorted((leaf for leaf in leaves if leaf.element.tag == f"{SVG}text"), key=lambda leaf: leaf.sign[2])
    paths = [leaf for leaf in leaves if leaf.element.tag != f"{SVG}text"]
    body = "".join((*writer.drawn(paths), *writer.written(texts)))
    size = {name: root.attrib[name] for name in ("width", "height", "viewBox")}
    head = size | {"stroke-linejoin": "round", "font-family": families} | ({"data-axes": scales} if scales else {})
    return f'<svg xmlns="{SVG[1:-1]}"{_attributes(head)}>{writer.definitions()}{body}</svg>'.encode()


def _leaves(group: ET.Element, inherited: Look) -> Iterator[Leaf]:
    """Yield what a group draws, in order; of an axis what looks alike stands together."""
    for child in group:
        look = inherited | _look(child)
        if child.tag == f"{SVG}g" and "transform" not in child.attrib:
            found = list(_leaves(child, look))
            if child.get("id", "").startswith("matplotlib.axis"):
                order: dict[Any, int] = {}
                found.sort(key=lambda leaf: order.setdefault(leaf.sign, len(order)))
            yield from found
        elif child.tag not in (f"{SVG}defs", f"{SVG}metadata", f"{SVG}style"):
            yield Leaf(child, look)


def _look(element: ET.Element) -> Look:
    """Return the look of an element, colours as short as they can be written."""
    parts = (part.partition(":") for part in element.get("style", "").split(";"))
    look = {name.strip(): value.strip() for name, _, value in parts}
    font = _FONT.match(look.get("font", ""))
    if font:
        look |= {"font-size": font["size"]} | ({"font-weight": font["weight"]} if font["weight"] else {})
    look |= {"clip-path": element.attrib["clip-path"]} if "clip-path" in element.attrib else {}
    return {
        name: _DOUBLED.sub(r"#\1\2\3", value)
        for name, value in look.items()
        if name in _LOOKS and _IDLE.get(name) != value
    }


class _Writer:
    """Writes leaves as text; knows the marks and the clip paths that they refer to."""

    def __init__(self, root: ET.Element) -> None:
        self._marks = {f"#{path.get('id')}": path for path in root.iter(f"{SVG}path") if "id" in path.attrib}
        self._clips = {f"url(#{clip.get('id')})": clip for clip in root.iter(f"{SVG}clipPath")}
        self._patterns = {f"url(#{made.get('id')})": made for made in root.iter(f"{SVG}pattern")}
        self._used: dict[str, str] = {}

    def definitions(self) -> str:
        """Return the clip paths and patterns that are used, with short ids."""
        made = []
        for url, name in self._used.items():
            source = self._clips.get(url, self._patterns.get(url))
            if source is not None:
                source.set("id", name)
                made.append(_plain(source))
        return f"<defs>{''.join(made)}</defs>" if made else ""

    def drawn(self, leaves: Iterable[Leaf]) -> Iterator[str]:
        """Yield paths; strokes and marks that follow one another and look alike as one."""
        cut = [leaf._replace(look=self._within(leaf)) for leaf in leaves]
        for (tag, mark, _), group in groupby(cut, lambda leaf: leaf.sign):
            run = list(group)
            look = self._named(run[0].look)
            if tag == f"{SVG}use":
                source = self._marks[mark]
                shape, full = relative(source.get("d", ""), 2), look | _look(source)
                d = "".join(f"M{_place(leaf.element)}{shape}" for leaf in run)
                yield f'<path{_attributes({"fill": "none"} | full if open_shape(shape) else full)} d="{d}"/>'
            elif tag == f"{SVG}path":
                parts = [relative(leaf.element.get("d", ""), 1) for leaf in run]
                joined = look.get("fill") == "none" and not {"opacity", "stroke-opacity"} & look.keys()
                shapes = ["".join(f"M{part[1:]}" for part in parts if part)] if joined and len(parts) > 1 else parts
                yield from (f'<path{_attributes(look)} d="{shape}"/>' for shape in shapes if shape)
            else:
                yield from (_plain(leaf.element) for leaf in run)

    def written(self, leaves: Iterable[Leaf]) -> Iterator[str]:
        """Yield texts, those that look alike in a group."""
        for _, group in groupby(leaves, lambda leaf: leaf.sign):
            run = list(group)
            look = self._named(self._within(run[0]))
            yield f"<g{_attributes(look)}>{''.join(_text(leaf.element) for leaf in run)}</g>"

    def _within(self, leaf: Leaf) -> Look:
        """Return the look without a clip path that cuts nothing off."""
        clip = self._clips.get(leaf.look.get("clip-path", ""))
        box = None if clip is None else clip.find(f"{SVG}rect")
        if box is None:
            return leaf.look
        left, top, width, height = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        element = leaf.element
        d = f"{element.get('x')} {element.get('y')}" if element.tag != f"{SVG}path" else element.get("d", "")
        numbers = [float(number) for number in _NUMBER.findall(d)] if "None" not in d else []
        inside = (
            all(left - 0.5 <= x <= left + width + 0.5 for x in numbers[::2]),
            all(top - 0.5 <= y <= top + height + 0.5 for y in numbers[1::2]),
        )
        return {name: value for name, value in leaf.look.items() if name != "clip-path"} if all(inside) else leaf.look

    def _named(self, look: Look) -> Look:
        """Return the look with short ids of what it refers to."""
        return {
            name: f"url(#{self._used.setdefault(value, f'i{len(self._used)}')})" if value.startswith("url(") else value
            for name, value in look.items()
        }


def relative(d: str, digits: int) -> str:
    """Return a path in relative coordinates; rounding is done on absolute ones, so errors do not add up.

    Examples
    --------
    >>> relative("M 10 20 L 30.04 20 L 30.04 25 z", 1)
    'm10 20h20v5z'
    """
    out: list[str] = []
    here = start = (0, 0)
    unit = 10**digits
    for letter, body in _COMMAND.findall(d):
        if letter == "z":
            out.append("z")
            here = start
            continue
        numbers = [round(float(number) * unit) for number in body.split()]
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        if letter == "L" and points[-1] == here:
            continue
        command, steps = letter.lower(), [c for x, y in points for c in (x - here[0], y - here[1])]
        if letter == "L" and 0 in steps:
            command, steps = ("h", steps[:1]) if steps[1] == 0 else ("v", steps[1:])
        out.append(command + " ".join(f"{step / unit:g}" for step in steps))
        here = points[-1]
        start = here if letter == "M" else start
    return _ZERO.sub(".", "".join(out).replace(" -", "-"))


def open_shape(d: str) -> bool:
    """Return whether a path has straight lines only and encloses nothing that could be filled."""
    return not set(re.findall("[a-z]", d)) - {"m", "l", "h", "v"}


def _place(element: ET.Element) -> str:
    return " ".join(f"{float(element.get(name, '0')):.1f}".removesuffix(".0") for name in ("x", "y"))


def _text(text: ET.Element) -> str:
    """Return a text at its place, turned only where it is."""
    if len(text):
        return _plain(text)
    own: dict[str, str] = {name: _round(text.attrib[name]) for name in ("x", "y", "transform") if name in text.attrib}
    if re.match(r"rotate\(-?0 ", own.get("transform", "")):
        del own["transform"]
    return f"<text{_attributes(own)}>{escape(text.text or '')}</text>" if (text.text or "").strip() else ""


def _round(numbers: str) -> str:
    return _NUMBER.sub(lambda number: f"{round(float(number[0]), 1):g}", numbers)


def _plain(element: ET.Element) -> str:
    """Return an element as it is, its styles as attributes."""
    for part in element.iter():
        look = _look(part)
        part.attrib.pop("style", None)
        part.attrib.update(look)
        part.tag = part.tag.removeprefix(SVG)
        if _HREF in part.attrib:
            part.set("href", part.attrib.pop(_HREF))
        for name in {"x", "y", "width", "height", "transform"} & part.attrib.keys():
            part.set(name, _round(part.attrib[name]))
    element.tail = None
    return ET.tostring(element, encoding="unicode")


def _attributes(look: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in look.items())


def _scales(figure: Figure) -> str:
    """Return, as JSON, the frame of each pair of axes in the SVG, and name and range of each that measures."""
    from matplotlib.ticker import ScalarFormatter

    size = 72 * figure.get_size_inches()
    frames = []
    for axes in figure.axes:
        (left, low), (right, high) = axes.get_position().get_points() * size
        box = [round(float(place), 1) for place in (left, size[1] - high, right, size[1] - low)]
        measured = {
            name: [
                axis.get_label_text().replace("\\$", "$"),
                *(float(f"{end:.5g}") for end in axis.get_view_interval()),
            ]
            for name, axis in (("x", axes.xaxis), ("y", axes.yaxis))
            if axes.get_visible()
            and axis.get_scale() == "linear"
            and type(axis.get_major_formatter()) is ScalarFormatter
        }
        if measured:
            frames.append({"box": box, **measured})
    return json.dumps(frames, separators=(",", ":")) if frames else ""
