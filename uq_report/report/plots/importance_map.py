"""Likelihood- against Entropy-PFI: what a feature does to the loss, and how much of it the model notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.model.results import Result
from ...core.support.arrays import FloatArray
from ...document.plots import style
from ...document.plots.frames import choose, interval_words, optional
from ...document.plots.words import words
from ...evidence import columns as col

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 40  # features, by the larger of the two importances
LABELLED = 20  # features, those farthest out
QUIET: dict[str, Any] = {"fontsize": style.SMALL, "fontweight": "normal", "color": style.MUTED}
CHARACTER = 0.62  # mean width of a DejaVu Sans character in units of its size, rounded up
REACH = (7.0, 13.0, 22.0, 34.0, 48.0)
DIRECTIONS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))


def draw(result: Result) -> Figure:
    """Draw each feature at (Entropy-PFI, Likelihood-PFI) with both intervals and both margins of "about 0".

    Features inside both margins are not labelled: the grey square says all that is known of them; of others the 20
    farthest out are.
    """
    across, up = (_measure(result, measure) for measure in ("entropy", "nll"))
    both = across.index.intersection(up.index, sort=False)
    reach = np.maximum(across.loc[both, col.ESTIMATE].abs(), up.loc[both, col.ESTIMATE].abs())
    features = list(reach.sort_values(ascending=False, kind="stable").index[:MOST])
    across, up = across.loc[features], up.loc[features]
    with style.drawing(3.3, placed=True) as figure:
        axes = style.plain(figure.subplots())
        _margins(axes, across, up)
        color = style.ROLE["uncertainty"]
        axes.plot(*style.segments(across[col.LOWER], across[col.UPPER], up[col.ESTIMATE]), color=color, linewidth=1.1)
        starts, at = style.segments(up[col.LOWER], up[col.UPPER], across[col.ESTIMATE])
        axes.plot(at, starts, color=style.ROLE["loss"], linewidth=1.1)
        axes.plot(across[col.ESTIMATE], up[col.ESTIMATE], "o", color=style.INK, markersize=4.5)
        units = [words(measure, result.measures).unit for measure in ("entropy", "nll")]
        axes.set_xlabel(f"how much less sure the model becomes (Entropy-PFI, {units[0]})")
        axes.set_ylabel(f"how much worse it predicts\n(Likelihood-PFI, {units[1]})")
        axes.margins(0.08)
        axes.set_title(_bars(across, up), **QUIET, loc="left")
        axes.set_title(" ", **QUIET, loc="right")
        _labels(figure, axes, across, up)
    return figure


def _measure(result: Result, measure: str) -> pd.DataFrame:
    """Return the estimates of a measure by feature, with their margins."""
    choose(result, "measure", measure, result.estimates[col.MEASURE])
    table = result.estimates[result.estimates[col.MEASURE] == measure].set_index(col.FEATURE)
    return table.assign(**{col.MARGIN: pd.to_numeric(optional(table, col.MARGIN))})


def _margins(axes: Axes, across: pd.DataFrame, up: pd.DataFrame) -> None:
    for part, span, line in ((across, axes.axvspan, axes.axvline), (up, axes.axhspan, axes.axhline)):
        margin = part[col.MARGIN].max()
        if np.isfinite(margin):
            span(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        line(0, color=style.MUTED, linewidth=0.6)


def _bars(across: pd.DataFrame, up: pd.DataFrame) -> str:
    """Say what bars and bands are, where there are some."""
    intervals = dict.fromkeys(filter(None, (interval_words(across), interval_words(up))))
    bars = f"bars: {' and '.join(intervals)}" if intervals else ""
    band = "grey: about 0" if across[col.MARGIN].notna().any() else ""
    return " · ".join(filter(None, (bars, band)))


def _labels(figure: Figure, axes: Axes, across: pd.DataFrame, up: pd.DataFrame) -> None:
    """Name the features outside the margins, as far as there is room, and count the others."""
    x, y = across[col.ESTIMATE].to_numpy(dtype=float), up[col.ESTIMATE].to_numpy(dtype=float)
    hidden = np.all([part[col.ESTIMATE].abs() < part[col.MARGIN] for part in (across, up)], axis=0)
    named, points = np.flatnonzero(~hidden)[:LABELLED], np.column_stack([x, y])
    ends = [(np.column_stack([across[end], y]), np.column_stack([x, up[end]])) for end in (col.LOWER, col.UPPER)]
    bars = np.stack([np.concatenate(end) for end in ends], axis=1).astype(float)
    texts = [style.name(across.index[k], 22) for k in named]
    done = place(figure, axes, points[named], texts, bars[np.isfinite(bars).all(axis=(1, 2))])
    counts = ((int(hidden.sum()), "inside both margins"), (int((~hidden).sum()) - done, "for lack of room"))
    text = ", ".join(f"{count} {why}" for count, why in counts if count)
    if text:
        axes.set_title(f"not labelled: {text}", **QUIET, loc="right")


def place(figure: Figure, axes: Axes, points: FloatArray, texts: Sequence[str], bars: FloatArray) -> int:
    """Write texts next to points (data coordinates, the most important first); return how many have room.

    They hide neither each other, nor points, nor bars, given by their two ends: greedy, deterministic, linear in words.
    Labels far from their point get a thin line. The figure is fitted before.
    """
    style.fit(figure)
    scale, frame = 72.0 / figure.dpi, axes.get_window_extent()
    origin = np.array([frame.x0, frame.y0])
    spots = (axes.transData.transform(points) - origin) * scale if len(points) else points
    ends = (axes.transData.transform(bars.reshape(-1, 2)).reshape(bars.shape) - origin) * scale
    # boxes as (left, bottom, right, top) in points from the lower left corner of the axes
    boxes = [*np.hstack([spots - 3.5, spots + 3.5]), *np.hstack([ends.min(axis=1) - 1.0, ends.max(axis=1) + 1.0])]
    corner, done = np.array([frame.width, frame.height]) * scale, 0
    for point, spot, text in zip(points, spots, texts, strict=True):
        box, far = _free(spot, text, corner, np.array(boxes))
        if box is not None:
            boxes.append(box)
            _write(axes, point, text, (box[:2] + box[2:]) / 2 - spot, far)
            done += 1
    return done


def _free(spot: FloatArray, text: str, corner: FloatArray, boxes: FloatArray) -> tuple[FloatArray | None, bool]:
    """Return the nearest free box for a text, and whether it is so far away that it needs a line."""
    half = np.array([CHARACTER * style.SMALL * len(text) / 2, 0.62 * style.SMALL])
    for reach in REACH:
        for dx, dy in DIRECTIONS:
            away = (dx * (reach * (0.75 if dy else 1.0) + half[0]), dy * (reach * 0.75 + half[1] * 0.6))
            low, high = spot + away - half, spot + away + half
            apart = (boxes[:, 2:] <= low) | (boxes[:, :2] >= high)  # on either axis is enough
            if (low >= 0).all() and (high <= corner).all() and apart.any(axis=1).all():
                return np.concatenate([low, high]), reach > REACH[1]
    return None, False


def _write(axes: Axes, point: FloatArray, text: str, offset: FloatArray, far: bool) -> None:
    line = {"arrowstyle": "-", "color": style.MUTED, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3} if far else None
    where: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": style.SMALL, "arrowprops": line}
    axes.annotate(text, (point[0], point[1]), (offset[0], offset[1]), textcoords="offset points", **where)
