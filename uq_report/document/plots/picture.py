"""A figure as notebooks and files take it: SVG, PNG and PDF bytes, whatever backend matplotlib has or lacks."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.support.errors import InputError, OutputError
from .style import Place, context, drawing, name, place
from .svg import to_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
        parts = figure.subfigures(len(ratios), 1, height_ratios=ratios).ravel().tolist()
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
