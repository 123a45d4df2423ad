"""A figure as notebooks and files take it: SVG, PNG and PDF bytes, whatever backend matplotlib has or lacks."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.support.errors import InputError, OutputError
from .style import context
from .svg import to_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 144
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
