"""A figure as small SVG: the same bytes in every process, text kept as text, coordinates to 0.1 pt.

What is small here is fast there: WeasyPrint's time and the size of its PDF follow the number of elements.
"""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .pathdata import relative, short
from .sketch import Sketch
from .slim import HREF, REFERENCE, SVG, references, simplify
from .style import FONTS, context

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def to_svg(figure: Figure | Sketch) -> bytes:
    """Return the figure as SVG bytes, without date, creator or random ids, and with nothing it does not need.

    Text stays text (the page's own DejaVu Sans), so that it can be searched and read aloud.
    """
    if isinstance(figure, Sketch):
        return figure.svg(FONTS)
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # here and below: heavy, and pages have sketches

    buffer = io.BytesIO()
    with context():
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        scales = _scales(figure)
    return slim(buffer.getvalue(), scales)


def slim(svg: bytes, scales: str = "") -> bytes:
    """Return matplotlib's SVG with as few elements as show the same, its paths relative and rounded.

    `scales` is what a page needs to read a figure off under the pointer.
    """
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib's own output, see above
    simplify(root)
    names = _names(root)
    for element in root.iter():
        _rename(element, names)
        _round(element, root)
        for text in ("text", "tail"):
            if not (getattr(element, text) or "").strip():
                setattr(element, text, None)
        element.tag = element.tag.removeprefix(SVG)
    root.set("font-family", FONTS)
    if scales:
        root.set("data-axes", scales)
    root.set("xmlns", SVG.strip("{}"))
    return ET.tostring(root, encoding="utf-8").replace(b" />", b"/>")


def _scales(figure: Figure) -> str:
    """Return, as JSON, the frame of each pair of axes in the SVG, and name and range of each that measures."""
    from matplotlib.ticker import ScalarFormatter

    size = 72 * figure.get_size_inches()
    frames = []
    for axes in figure.axes:
        (left, low), (right, high) = axes.get_position().get_points() * size
        box = [round(float(place), 1) for place in (left, size[1] - high, right, size[1] - low)]
        measured = {
            name: [axis.get_label_text().replace("\\$", "$"), *_rounded(axis.get_view_interval())]
            for name, axis in (("x", axes.xaxis), ("y", axes.yaxis))
            if axis.get_visible()
            and axis.get_scale() == "linear"
            and type(axis.get_major_formatter()) is ScalarFormatter
        }
        if measured:
            frames.append({"box": box, **measured})
    return json.dumps(frames, separators=(",", ":")) if frames else ""


def _rounded(numbers: Iterable[float]) -> list[float]:
    return [float(f"{number:.5g}") for number in numbers]


def _names(root: ET.Element) -> dict[str, str]:
    """Return a short new id for every id that something refers to."""
    return {target: f"i{n}" for n, target in enumerate(dict.fromkeys(references(root)))}


def _rename(element: ET.Element, names: dict[str, str]) -> None:
    """Shorten the ids of one element and its references; drop those nothing refers to."""
    own = element.attrib.pop("id", None)
    if own in names:
        element.set("id", names[own])
    reference = element.attrib.pop(HREF, None)
    if reference:
        element.set("href", "#" + names[reference[1:]])
    if "clip-path" in element.attrib:
        element.set("clip-path", REFERENCE.sub(lambda m: f"url(#{names[m[1]]})", element.attrib["clip-path"]))


def _round(element: ET.Element, root: ET.Element) -> None:
    """Round the places of one element; markers, which are small, to another digit."""
    for name in ("x", "y", "width", "height", "transform", "textLength"):
        if name in element.attrib and element is not root:
            element.set(name, _NUMBER.sub(lambda m: short(float(m[0]), 1), element.attrib[name]))
    if element.tag == f"{SVG}path":
        element.set("d", relative(element.get("d", ""), 2 if "id" in element.attrib else 1))
