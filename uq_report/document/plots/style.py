"""The one look of all figures: DejaVu Sans, colours that differ in greyscale and for colour-blind readers.

Colour is never the only sign: verdicts have marker shapes, classes have line styles and markers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...core.text import short
from .glyphs import legible
from .sketch import Sample, Sizes, Sketch, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

round_numbers = scale.round_numbers
WIDTH = 6.5
FONTS = "'DejaVu Sans', Verdana, sans-serif"
SIZE = 9.0
SMALL = 8.0
TICKS = 6  # at most, on an axis of numbers

INK = "#1f2328"
MUTED = "#5d6570"
GRID = "#e4e7eb"
BAND = "#dfe3e8"
SPREAD = "#8b94a0"
ROLE = {"prediction": "#0b5c9e", "loss": "#b8450b", "uncertainty": "#00785a"}
CLASSES = ("#0b4f8a", "#e08214", "#3f9c78", "#8c3f8c", "#6aa9dc", "#7a5a00", "#c2527a", "#555b63")
LINES = ("-", (0, (4, 1.6)), (0, (1.2, 1.4)), (0, (6, 1.5, 1.2, 1.5)))
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
LEVELS = ("#f3f0df", "#dde3c0", "#bcd7ae", "#93c6a4", "#67b09e", "#41969a", "#2b7990", "#235b80", "#20406a", "#1b2450")

_TICK = {"labelsize": SMALL, "color": MUTED, "labelcolor": INK, "major.size": 3.0}
_RC = {
    "font.family": ["DejaVu Sans"],
    "font.size": SIZE,
    "text.color": INK,
    "text.usetex": False,
    "axes.labelcolor": INK,
    "axes.labelsize": SIZE,
    "axes.titlesize": SIZE + 0.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 5.0,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.formatter.limits": (-4, 5),
    "axes.formatter.use_mathtext": False,
    "axes.formatter.useoffset": False,
    **{f"{axis}tick.{key}": value for axis in "xy" for key, value in _TICK.items()},
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "lines.solid_capstyle": "butt",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "path.simplify": True,
    "path.simplify_threshold": 0.1,
    "svg.fonttype": "none",
    "svg.hashsalt": "uq_report",
    "svg.image_inline": True,
}


_sketching: ContextVar[bool] = ContextVar("sketching", default=False)


def context() -> AbstractContextManager[None]:
    """Return a context with our settings; the caller's own matplotlib settings return afterwards."""
    if _sketching.get():
        return nullcontext()
    import matplotlib as mpl  # here and below: heavy, and most commands draw nothing

    settings: Any = {**mpl.rcParamsDefault, **_RC}
    settings.pop("backend", None)
    return mpl.rc_context(settings)


@contextmanager
def sketching() -> Iterator[None]:
    """Let `new_figure` return sketches, which a page needs and which know only the part of matplotlib that we use."""
    token = _sketching.set(True)
    try:
        yield
    finally:
        _sketching.reset(token)


def new_figure(height: float, width: float = WIDTH, *, placed: bool = False) -> Figure:
    """Return an empty figure that belongs to no window and no pyplot state; sizes in inches.

    While `sketching` it is a `Sketch`. The panels of a `placed` one get their places by hand.
    """
    if _sketching.get():
        return cast("Figure", Sketch(width, height, INK, Sizes(SIZE, SMALL, SIZE + 0.5)))
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=None if placed else "constrained")
    FigureCanvasAgg(figure)
    return figure


def plain(axes: Axes, grid: str = "") -> Axes:
    """Give axes our look: two spines, and a light grid along `grid` (``"x"``, ``"y"``, ``"both"`` or none)."""
    axes.spines[["top", "right"]].set_visible(False)
    round_ticks(axes)
    if grid:
        axes.grid(True, axis=grid, color=GRID, linewidth=0.7)  # type: ignore[arg-type]
    return axes


def round_ticks(axes: Axes) -> None:
    """Put ticks at round numbers, not too many."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(round_numbers(TICKS))


def name(value: object, limit: int = 28) -> str:
    r"""Return outside text as matplotlib may draw it: short, no mathtext, only characters the font has.

    Examples
    --------
    >>> name("cost in $ (p.a.)")
    'cost in \\$ (p.a.)'
    """
    return legible(short(value, limit)).replace("$", r"\$")


def name_rows(panels: Sequence[Axes], names: Sequence[str], room: float = 0.6) -> None:
    """Name the rows of panels side by side, from top to bottom, with `room` above the first and below the last."""
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 1 + room, -room)
    for axes in panels[1:]:
        axes.tick_params(left=False)


def aslant(axes: Axes, angle: float = 35, ha: str = "right") -> None:
    """Let the names along x stand aslant."""
    for text in axes.get_xticklabels():
        text.set(rotation=angle, ha=ha, rotation_mode="anchor")


def class_style(position: int) -> dict[str, Any]:
    """Return the colour and line style of one class; its marker is `marker`."""
    return {"color": CLASSES[position % len(CLASSES)], "linestyle": LINES[position % len(LINES)]}


def marker(position: int, size: float) -> dict[str, Any]:
    """Return the marker of one class."""
    return {"marker": MARKERS[position % len(MARKERS)], "markersize": size}


def bundle(xs: Iterable[Any], ys: Iterable[Any]) -> tuple[Any, Any]:
    """Return many curves as one line with gaps, so that a figure holds one path for all of them."""
    x, y = (np.concatenate([np.append(np.asarray(curve, dtype=float), np.nan) for curve in c]) for c in (xs, ys))
    return x, y


def segments(starts: Any, ends: Any, at: Any) -> tuple[Any, Any]:
    """Return straight segments from `starts` to `ends`, each at its own place, as one line with gaps."""
    starts, ends, at = (np.asarray(part, dtype=float) for part in (starts, ends, at))
    gap = np.full_like(starts, np.nan)
    return np.stack([starts, ends, gap], axis=1).ravel(), np.stack([at, at, gap], axis=1).ravel()


def line(label: str = "", **look: Any) -> Sample:
    """Return an entry of a `key`: a line, a mark, or both."""
    return Sample(label, look, patch=False)


def patch(label: str = "", **look: Any) -> Sample:
    """Return an entry of a `key`: a filled patch."""
    return Sample(label, look, patch=True)


def key(figure: Figure | Sketch, samples: Sequence[Sample], columns: int = 2) -> None:
    """Put a legend below the axes, where it hides nothing."""
    if isinstance(figure, Sketch):
        figure.key(samples, columns)
    elif samples:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles = [
            Patch(label=s.label, **s.look) if s.patch else Line2D([], [], label=s.label, **s.look) for s in samples
        ]
        figure.legend(handles=handles, loc="outside lower left", ncols=columns, columnspacing=1.4)
