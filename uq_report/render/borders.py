"""The rules of tables, drawn as they are: WeasyPrint 70 cuts each out of four sides that it draws around a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .weasy import TableCellBox, draw, replaced

_SIDES = ("top", "right", "bottom", "left")


@contextmanager
def straight() -> Iterator[None]:
    """Draw the solid borders of cells as rectangles meanwhile, which takes a twentieth off a report."""
    with replaced(draw, draw_border=_plainly(draw.draw_border)):
        yield


def _plainly(other: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def border(stream: Any, box: Any) -> None:
        widths = {side: width for side in _SIDES if (width := getattr(box, f"border_{side}_width", 0))}
        if not (isinstance(box, TableCellBox) and widths and _is_plain(box, widths)):
            other(stream, box)
            return
        x, y, wide, high = box.border_box_x(), box.border_box_y(), box.border_width(), box.border_height()
        with stream.artifact(), stream.stacked():
            for side, width in widths.items():
                stream.set_color(draw.color.get_color(box.style, f"border_{side}_color"))
                if side in ("top", "bottom"):
                    stream.rectangle(x, y if side == "top" else y + high - width, wide, width)
                else:
                    stream.rectangle(x if side == "left" else x + wide - width, y, width, high)
                stream.fill()

    return border


def _is_plain(box: Any, sides: Any) -> bool:
    style = box.style
    return (
        style["visibility"] == "visible"
        and style["border_image_source"][0] == "none"
        and all(style[f"border_{side}_style"] == "solid" for side in sides)
        and not any(map(any, box.rounded_border_box()[4:]))
    )
