"""A figure as pages, notebooks and files take it: SVG, PNG and PDF bytes, whatever backend matplotlib has or lacks.

SVG has the same bytes in every process, text kept as text, and coordinates to 0.1 pt. Looks are attributes, which the
page recolours in dark mode.
"""

import io
import json
import re
import xml.etree.ElementTree as ET
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from ...core.support.errors import InputError, OutputError
from .style import Figure, Place, context, drawing, fonts, name, place

DPI = 144
TITLE = 0.28  # inches above a figure among others
SUFFIXES = (".svg", ".png", ".pdf")


def pictured(figure: Figure) -> Figure:
    """Return the figure with the hook by which notebooks show it as a picture; no backend needs to be active.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> sorted(pictured(Figure())._repr_mimebundle_()[0])
    ['image/png', 'image/svg+xml']
    """
    vars(figure)["_repr_mimebundle_"] = partial(_bundle, figure)
    return figure


def placed(draw: Callable[[], Figure], ax: Any = None, figsize: tuple[float, float] | None = None) -> Figure:
    """Return a figure of this size, or drawn into the place of axes, which are removed.

    Raises
    ------
    InputError
        For axes that have no place in a grid, or a size that is not two numbers.
    """
    if ax is None:
        if figsize is None:
            return draw()
        if not (isinstance(figsize, tuple | list) and len(figsize) == 2 and min(figsize) > 0):
            raise InputError(f"plot.figsize must be width and height in inches; got {figsize!r}.")
        with place(Place((figsize[0], figsize[1]))):
            return draw()
    spec = getattr(ax, "get_subplotspec", lambda: None)()
    if spec is None:
        raise InputError(f"plot.ax must be axes of plt.subplots; got a {type(ax).__name__}. Leave it out.")
    host: Figure = ax.figure
    ax.remove()
    _draw_into(host.add_subfigure(spec), draw)
    return host


def stacked(draws: Mapping[str, Callable[[], Figure]]) -> Figure:
    """Return one figure with a figure below each title."""
    sizes = [draw().get_size_inches() for draw in draws.values()]
    ratios = [height for _, own in sizes for height in (TITLE, own)]
    with drawing(sum(ratios), max(width for width, _ in sizes), placed=True) as figure:
        parts: Any = figure.subfigures(len(ratios), 1, height_ratios=ratios, squeeze=False)[:, 0]
        for k, (title, draw) in enumerate(draws.items()):
            parts[2 * k].text(0.01, 0.3, name(title, 80), weight="bold")
            _draw_into(parts[2 * k + 1], draw)
    return figure


def _draw_into(part: Any, draw: Callable[[], Figure]) -> None:
    """Draw a figure into a part of another, with the margins that it has alone at this size."""
    width, height = part.bbox.size / part.dpi
    with place(Place((width, height))):
        alone = draw().subplotpars
    margins = {side: getattr(alone, side) for side in ("left", "right", "bottom", "top", "wspace", "hspace")}
    with place(Place((width, height), part, margins)):
        draw()


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write the figure in the format of the suffix, and return the path.

    Raises
    ------
    InputError
        For another suffix than .svg, .png or .pdf.
    OutputError
        If the file cannot be written.
    """
    place = Path(path)
    if place.suffix.lower() not in SUFFIXES:
        raise InputError(f"save.path must end in {', '.join(SUFFIXES)}; got {place.name!r}. Name one of these formats.")
    content = to_svg(figure) if place.suffix.lower() == ".svg" else _printed(figure, place.suffix.lower()[1:])
    try:
        place.write_bytes(content)
    except OSError as error:
        raise OutputError(f"save.path must be writable; got {place.name!r}: {error.strerror}.") from error
    return place


def _bundle(figure: Figure, **_: Any) -> tuple[dict[str, str], Mapping[str, Mapping[str, int]]]:
    """Return the picture by media type, and the size at which the PNG is shown."""
    width, height = (round(100 * inches) for inches in figure.get_size_inches())
    pictures = {"image/svg+xml": to_svg(figure).decode(), "image/png": b64encode(_printed(figure, "png")).decode()}
    return pictures, {"image/png": {"width": width, "height": height}}


def _printed(figure: Figure, kind: str) -> bytes:
    """Return the figure as PNG or PDF, without date and creator."""
    buffer = io.BytesIO()
    facts = {"Software": None} if kind == "png" else {"Creator": None, "Producer": None, "CreationDate": None}
    with context():
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=facts)
    return buffer.getvalue()


SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_COMMAND = re.compile(r"\s*([MLQCz])\s*")
_REFERENCE = re.compile(r"#([\w-]+)")
_FONT = re.compile(r"(?:(?P<weight>\d+|bold) )?(?P<size>[\d.]+px) ")  # the shorthand of matplotlib before 3.9
_DOUBLED = re.compile(r"#(.)\1(.)\2(.)\3")
_IDLE = {"fill-rule": "nonzero", "stroke-dashoffset": "0", "stroke-linejoin": "round", "text-anchor": "start"}
_LOOKS = frozenset((
    "clip-path", "fill", "fill-opacity", "font-size", "font-style", "font-weight", "opacity", "stroke",
    "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width", "text-anchor",
))  # fmt: skip
_OWN = ("href", "x", "y")  # of a mark, whatever its look
_PLACES = ("d", "x", "y", "width", "height", "transform")


def to_svg(figure: Figure) -> bytes:
    """Return the figure as SVG bytes, without date, creator or random ids."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # heavy, and most commands draw nothing

    buffer = io.BytesIO()
    with context():
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        return compact(buffer.getvalue(), fonts(), _scales(figure))


def compact(svg: bytes, families: str, scales: str = "") -> bytes:
    """Return matplotlib's SVG without what a page has no use for.

    `scales` is what a page needs to read values off under the pointer.
    """
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib's own output, see above
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{SVG}metadata", f"{SVG}style"):
                parent.remove(child)
    used = {name for element in root.iter() for value in element.attrib.values() for name in _REFERENCE.findall(value)}
    ids = {element.attrib["id"]: f"i{k}" for k, element in enumerate(root.iter()) if element.get("id") in used}
    for element in root.iter():
        element.attrib = dict(_attributes(element, ids))
        element.tag, element.tail = element.tag.removeprefix(SVG), None
        element.text = element.text if element.tag in ("text", "tspan") else None
    for parent in reversed(list(root.iter())):  # from the inside: groups without a look only nest
        bare = (list(child) if child.tag == "g" and not child.attrib else [child] for child in parent)
        parent[:] = [child for group in bare for child in group if child.tag != "defs" or len(child)]
    for parent in list(root.iter()):
        parent[:] = [element for look, marks in groupby(parent, _look) for element in _grouped(look, list(marks))]
    size = {name: root.attrib[name] for name in ("width", "height", "viewBox")}
    look = {"stroke-linejoin": "round", "font-family": families} | ({"data-axes": scales} if scales else {})
    root.attrib = {"xmlns": SVG[1:-1], **size, **look}
    return ET.tostring(root, encoding="unicode").replace(" />", "/>").encode()


def _look(element: ET.Element) -> dict[str, str]:
    """Return the look of a mark; empty of other elements."""
    return {key: value for key, value in element.items() if key not in _OWN} if element.tag == "use" else {}


def _grouped(look: dict[str, str], elements: list[ET.Element]) -> list[ET.Element]:
    """Return marks of one look as a group that has it."""
    if not look or len(elements) < 2:
        return elements
    group = ET.Element("g", look)
    for mark in elements:
        mark.attrib = {key: mark.attrib[key] for key in _OWN}
        group.append(mark)
    return [group]


def _attributes(element: ET.Element, ids: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what a page needs of an element: its look as attributes, places rounded, references by short ids."""
    parts = (part.partition(":") for part in element.get("style", "").split(";"))
    look = {name.strip(): value.strip() for name, _, value in parts}
    font = _FONT.match(look.get("font", ""))
    if font:
        look |= {"font-size": font["size"]} | ({"font-weight": font["weight"]} if font["weight"] else {})
    for key, value in element.attrib.items():
        if key == "id":
            yield from [(key, ids[value])] if value in ids else []
        elif key in (_HREF, "clip-path"):
            yield key.removeprefix("{http://www.w3.org/1999/xlink}"), _renamed(value, ids)
        elif key in _PLACES:
            short = _NUMBER.sub(lambda number: f"{round(float(number[0]), 1):g}", value)
            if not short.startswith("rotate(-0 "):
                yield key, _COMMAND.sub(r"\1", short).strip() if key == "d" else short
        elif key != "style":
            yield key, value
    for key, value in look.items():
        if key in _LOOKS and _IDLE.get(key) != value:
            yield key, _renamed(value, ids) if value.startswith("url(") else _DOUBLED.sub(r"#\1\2\3", value)


def _renamed(value: str, ids: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda found: f"#{ids.get(found[1], found[1])}", value)


def _scales(figure: Figure) -> str:
    """Return, as JSON, the frame of each pair of axes in the SVG, and name and range of each that measures."""
    from matplotlib.ticker import ScalarFormatter

    size = 72 * figure.get_size_inches()
    frames = []
    for axes in figure.axes:
        (left, low), (right, high) = axes.get_position().get_points() * size
        box = [round(float(place), 1) for place in (left, size[1] - high, right, size[1] - low)]
        measured: dict[str, Any] = {}
        for along, axis in (("x", axes.xaxis), ("y", axes.yaxis)) if axes.get_visible() else ():
            if axis.get_scale() == "linear" and type(axis.get_major_formatter()) is ScalarFormatter:
                ends = [float(f"{end:.5g}") for end in axis.get_view_interval()]
                measured[along] = [axis.get_label_text().replace("\\$", "$"), *ends]
        if measured:
            frames.append({"box": box, **measured})
    return json.dumps(frames, separators=(",", ":")) if frames else ""
