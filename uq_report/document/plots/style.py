"""The one look of all figures: DejaVu Sans, colours that differ in greyscale and for colour-blind readers.

Colour is never the only sign: verdicts have marker shapes, classes have line styles and markers. What a user sets in
`rcParams` or by a style sheet replaces our settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ...core.support.text import short
from ...evidence import columns as col
from ..text import legible
from .frames import numbers

if TYPE_CHECKING:
    import matplotlib.axis
    import matplotlib.figure

# For annotations: matplotlib is loaded by the first figure.
Axes: TypeAlias = "matplotlib.axes.Axes"
Axis: TypeAlias = "matplotlib.axis.Axis"
Figure: TypeAlias = "matplotlib.figure.Figure"

WIDTH = 6.5
FONTS = "'DejaVu Sans', Verdana, sans-serif"
SIZE = 9.0
SMALL = 8.0
TICKS = 6  # at most, on an axis of numbers
STEPS = (1, 2, 2.5, 5, 10)
PAD = 0.3  # around panels, in sizes of text

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
_LOOK: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": SIZE,
    "axes.titlesize": SMALL + 0.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 5.0,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.limits": [-4, 5],
    **{f"{axis}tick.{key}": value for axis in "xy" for key, value in _TICK.items()},
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.4,
    "lines.solid_capstyle": "butt",
    "path.simplify_threshold": 0.1,
}
_FIXED: dict[str, Any] = {  # equal bytes, text as text, and no text read as mathematics or TeX
    "text.usetex": False,
    "axes.formatter.use_mathtext": False,
    "axes.formatter.useoffset": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "uq_report",
    "svg.image_inline": True,
}


class KeySample(NamedTuple):
    """An entry of a `key`: its words, and the look of a line with marks or of a patch."""

    label: str
    look: dict[str, Any]
    patch: bool


class Place(NamedTuple):
    """Where the next figure is drawn: a size in inches, and a part of another figure with the margins of its panels."""

    size: tuple[float, float]
    part: matplotlib.figure.SubFigure | None = None
    margins: Mapping[str, float] = {}


_PLACE: ContextVar[Place | None] = ContextVar("_PLACE", default=None)


@contextmanager
def place(where: Place) -> Iterator[None]:
    """Draw figures at another place than one of their own."""
    token = _PLACE.set(where)
    try:
        yield
    finally:
        _PLACE.reset(token)


def context() -> AbstractContextManager[None]:
    """Return a context with our settings wherever the user has left matplotlib's; the user's return afterwards."""
    import matplotlib as mpl  # here and below: heavy, and most commands draw nothing

    now: dict[Any, Any] = dict(mpl.rcParams)  # the stubs have its keys as literals
    left = {key: value for key, value in _LOOK.items() if now[key] == mpl.rcParamsDefault[key]}  # type: ignore[index]
    return mpl.rc_context(left | _FIXED)  # type: ignore[arg-type]  # the same


def fonts() -> str:
    """Return the font families of figures, as CSS has them; a user's own comes first."""
    import matplotlib as mpl

    own = [f"'{family}'" for family in mpl.rcParams["font.family"] if [family] != _LOOK["font.family"]]
    return ", ".join([*own, FONTS])


@contextmanager
def drawing(height: float, width: float = WIDTH, *, placed: bool = False) -> Iterator[Figure]:
    """Yield an empty figure that belongs to no window and no pyplot state, and fit its panels into it at the end.

    Sizes are in inches. The panels of a `placed` figure have their places already.
    """
    from matplotlib import figure as canvas
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    where = _PLACE.get()
    with context():
        if where is not None and where.part is not None:
            host: Any = where.part
            yield host
            host.subplots_adjust(**where.margins)
            host.get_tightbbox()  # makes the ticks, with our sizes
            return
        figure = canvas.Figure(figsize=(width, height) if where is None else where.size, layout=None)
        FigureCanvasAgg(figure)  # measures texts
        yield figure
        if not placed:
            fit(figure)


@contextmanager
def panel(height: float, width: float = WIDTH, grid: str = "both") -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure of one panel, and its axes; see `drawing` and `plain`."""
    with drawing(height, width) as figure:
        yield figure, plain(figure.subplots(), grid)


@contextmanager
def rows(names: Sequence[str], label: str, each: float, around: float) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure of one panel with named rows and a line at 0, `each` row so high, and so much `around` them."""
    with panel(each * len(names) + around, grid="x") as (figure, axes):
        zero(axes)
        axes.set_xlabel(label)
        yield figure, axes
        name_rows([axes], names)


def fit(figure: Figure) -> None:
    """Give panels the room that their texts leave, above the key."""
    below = max((legend.get_window_extent().height for legend in figure.legends), default=0.0)
    figure.tight_layout(pad=PAD, rect=(0.0, below / figure.bbox.height, 1.0, 1.0) if below else None)


def plain(axes: Axes, grid: str = "") -> Axes:
    """Give axes few round ticks, and a light grid along `grid` (``"x"``, ``"y"``, ``"both"`` or none)."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(round_numbers(TICKS))
    if grid:
        axes.grid(True, axis=grid)  # type: ignore[arg-type]
    return axes


def round_numbers(most: int, steps: Sequence[float] | None = STEPS) -> Any:
    """Return the locator of at most so many round numbers, multiples of `steps`; matplotlib's own if None."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(most, steps=steps)


def name(value: object, limit: int = 28) -> str:
    r"""Return outside text as matplotlib may draw it: short, no mathtext, only characters the font has.

    Examples
    --------
    >>> name("cost in $ (p.a.)")
    'cost in \\$ (p.a.)'
    """
    return legible(short(value, limit)).replace("$", r"\$")


def zero(axes: Axes, margin: float = np.nan) -> None:
    """Draw the line at 0, and the band within which an importance counts as 0 where there is one."""
    axes.axvline(0, color=INK, linewidth=0.8)
    if np.isfinite(margin):
        axes.axvspan(-margin, margin, color=BAND, linewidth=0, zorder=0)


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


def segments(axes: Axes, starts: Any, ends: Any, at: Any, *, upright: bool = False, **look: Any) -> None:
    """Draw straight segments from `starts` to `ends`, each at its own place, as one line with gaps."""
    starts, ends, at = (np.asarray(part, dtype=float) for part in (starts, ends, at))
    along, across = (np.stack([*pair, np.full_like(at, np.nan)], axis=1).ravel() for pair in ((starts, ends), (at, at)))
    axes.plot(*((across, along) if upright else (along, across)), **look)


def intervals(axes: Axes, table: pd.DataFrame, at: Any, **look: Any) -> None:
    """Draw the interval of each row at its own place, as `segments` does."""
    segments(axes, numbers(table, col.LOWER), numbers(table, col.UPPER), at, **look)


def estimates(axes: Axes, table: pd.DataFrame, at: Any, linewidth: float, **look: Any) -> None:
    """Draw the estimate of each row with its interval, at its own height."""
    intervals(axes, table, at, color=look["color"], linewidth=linewidth)
    axes.plot(numbers(table, col.ESTIMATE), at, **{"linestyle": "", **look})


def line(label: str = "", **look: Any) -> KeySample:
    """Return an entry of a `key`: a line, a mark, or both."""
    return KeySample(label, look, patch=False)


def patch(label: str = "", **look: Any) -> KeySample:
    """Return an entry of a `key`: a filled patch."""
    return KeySample(label, look, patch=True)


def key(figure: Figure, samples: Sequence[KeySample] = (), columns: int = 2) -> None:
    """Put a legend below the panels, where it hides nothing, in as many columns as have room.

    It has what is drawn with a label, each once, then the samples with a label.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    drawn = {str(a.get_label()): a for axes in figure.axes for a in axes.get_legend_handles_labels()[0]}
    handles: list[Any] = list(drawn.values())
    for label, look, patched in (sample for sample in samples if sample.label):
        handles.append(Patch(label=label, **look) if patched else Line2D([], [], label=label, **look))
    if not handles:
        return
    room = 72 * figure.bbox.width / figure.dpi
    widths = [
        (0.6 * len(str(handle.get_label())) + 4.0) * SMALL for handle in handles
    ]  # 4: the sign, and blanks around it
    while columns > 1 and sum(max(part) for part in np.array_split(widths, columns) if len(part)) > room:
        columns -= 1
    figure.legend(handles=handles, loc="lower left", ncols=columns, borderaxespad=0.0)
