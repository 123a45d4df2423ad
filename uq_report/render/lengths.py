"""What follows from a style alone is found once for each: WeasyPrint 70 does so for each box, line and text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .weasy import AnonymousStyle, Box, background, block, inline, page, replaced, table

_SIDES = ("top", "right", "bottom", "left")
_GIVEN = (
    *(f"{what}_{side}" for what in ("margin", "padding") for side in _SIDES),
    *(f"{bound}{size}" for bound in ("", "min_", "max_") for size in ("width", "height")),
)
_LENGTHS = (*_GIVEN, *(f"border_{side}_width" for side in _SIDES))
_CORNERS = tuple(f"border_{y}_{x}_radius" for y in ("top", "bottom") for x in ("left", "right"))
_INITIAL = (*_GIVEN, *_CORNERS)
_NO_RADIUS = ((0, "px"), (0, "px"))


@contextmanager
def resolved() -> Iterator[None]:
    """Resolve lengths once for each style meanwhile, where they are lengths and not parts of what is around a box.

    Those of lines and of texts, which no rule names, once for all; whether a box is in the flow, once for each style.
    """
    with ExitStack() as stack, replaced(Box, is_in_normal_flow=_flows(Box.is_in_normal_flow)):
        for module in (block, inline, page, table):
            once = _once(module.resolve_percentages, _LENGTHS, _are_lengths)
            stack.enter_context(replaced(module, resolve_percentages=once))
        corners = _once(background.resolve_radii_percentages, _CORNERS, _are_square)
        stack.enter_context(replaced(background, resolve_radii_percentages=corners))
        yield


def _once(resolve: Callable[..., None], names: tuple[str, ...], fixed: Callable[[Any], bool]) -> Callable[..., None]:
    """Return a function that sets these attributes of a box as `resolve` does, from the box before of its style."""
    key = names[0]
    unnamed: dict[str, Any] = {}

    def set_lengths(box: Any, *around: Any, **named: Any) -> None:
        known = vars(box.style)
        if not isinstance(box, Box):  # what stands for one that is placed by itself
            resolve(box, *around, **named)
            return
        if key not in known:
            initial = _is_unnamed(box.style)
            if not (initial and unnamed):
                resolve(box, *around, **named)
                known[key] = {name: vars(box)[name] for name in names} if fixed(box.style) else None
                unnamed.update(known[key] if initial and known[key] else {})
                return
            known[key] = unnamed
        if known[key] is None:
            resolve(box, *around, **named)
        else:
            vars(box).update(known[key])

    return set_lengths


def _is_unnamed(style: Any) -> bool:
    """Say whether all lengths of a style are the initial ones."""
    return (
        isinstance(style, AnonymousStyle)
        and style.keys().isdisjoint(_INITIAL)
        and style["border_collapse"] == "separate"
    )


def _flows(plain: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def flows(box: Any) -> bool:
        known = vars(box.style)
        if "flows" not in known:
            known["flows"] = plain(box)
        return bool(known["flows"])

    return flows


def _are_lengths(style: Any) -> bool:
    """Say whether no length of a style is a percentage, a formula or part of a table's common borders."""
    values = [style[name] for name in _GIVEN]
    return style["border_collapse"] == "separate" and all(
        value == "auto" or getattr(value, "unit", "") == "px" for value in values
    )


def _are_square(style: Any) -> bool:
    return all(style[name] == _NO_RADIUS for name in _CORNERS)
