"""Rules of tables are drawn as they are, and what is bare is left alone.

WeasyPrint 70 cuts each rule out of four sides that it draws around a cell, and looks for backgrounds box by box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .weasy import TableCellBox, background, draw, replaced

_SIDES = ("top", "right", "bottom", "left")
_WIDTHS = tuple(f"border_{side}_width" for side in _SIDES)


@contextmanager
def straight() -> Iterator[None]:
    """Draw the solid borders of cells as rectangles meanwhile, which takes a twentieth off a report.

    Whether a style has a background or an image is asked once, not for each of its boxes.
    """
    with (
        replaced(draw, draw_border=_plainly(draw.draw_border)),
        replaced(background, layout_box_backgrounds=_barely(background.layout_box_backgrounds)),
    ):
        yield


def _barely(other: Callable[..., None]) -> Callable[..., None]:
    def lay(page: Any, box: Any, *rest: Any, **options: Any) -> None:
        if box is page or len(rest) > 1 or options or not _is_bare(box.style):
            other(page, box, *rest, **options)
            return
        background.resolve_radii_percentages(box)
        for child in box.all_children():
            lay(page, child, *rest)
        box.background = None

    return lay


def _is_bare(style: Any) -> bool:
    """Say whether boxes of a style have no background, no shadow, no image around them and no rules of columns."""
    known = vars(style)
    if "bare" not in known:
        known["bare"] = (
            style["border_image_source"][0] == style["mask_border_source"][0] == "none"
            and style["column_width"] == style["column_count"] == "auto"
            and all(kind == "none" for kind, _ in style["background_image"])
            and not (style["box_shadow"] or draw.color.get_color(style, "background_color").alpha)
        )
    return bool(known["bare"])


def _plainly(other: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def border(stream: Any, box: Any) -> None:
        if _is_bare(box.style) and not any(getattr(box, width) for width in _WIDTHS):
            return
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
