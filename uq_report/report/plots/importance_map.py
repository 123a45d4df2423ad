"""Likelihood- against Entropy-PFI: what a feature does to the loss, and how much of it the model notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.results import Result
from ...document.plots import style
from ...document.plots.frames import choose, interval_words, optional
from ...document.plots.words import words
from ...evidence import columns as col
from .labels import place

LABELLED = 20  # features, those farthest out
_QUIET: dict[str, Any] = {"fontsize": style.SMALL, "fontweight": "normal", "color": style.MUTED}


def draw(result: Result, top: int = 40, x: str = "entropy", y: str = "nll") -> Figure:
    """Draw each feature at (Entropy-PFI, Likelihood-PFI) with both intervals and both margins of "about 0".

    Features inside both margins are not labelled: the grey square says all that is known of them; of others the 20
    farthest out are. `top` limits the features drawn, by the larger of the two importances.

    Parameters
    ----------
    result : Importance
        With the measures `x` and `y`.
    """
    across, up = (_measure(result, measure) for measure in (x, y))
    both = across.index.intersection(up.index, sort=False)
    reach = np.maximum(across.loc[both, col.ESTIMATE].abs(), up.loc[both, col.ESTIMATE].abs())
    features = list(reach.sort_values(ascending=False, kind="stable").index[:top])
    across, up = across.loc[features], up.loc[features]
    with style.context():
        figure = style.new_figure(3.3)
        axes = style.plain(figure.subplots())
        _margins(axes, across, up)
        color = style.ROLE["uncertainty"]
        axes.plot(*style.segments(across[col.LOWER], across[col.UPPER], up[col.ESTIMATE]), color=color, linewidth=1.1)
        starts, at = style.segments(up[col.LOWER], up[col.UPPER], across[col.ESTIMATE])
        axes.plot(at, starts, color=style.ROLE["loss"], linewidth=1.1)
        axes.plot(across[col.ESTIMATE], up[col.ESTIMATE], "o", color=style.INK, markersize=4.5)
        axes.set_xlabel(f"how much less sure the model becomes (Entropy-PFI, {words(x, result.measures).unit})")
        axes.set_ylabel(f"how much worse it predicts\n(Likelihood-PFI, {words(y, result.measures).unit})")
        axes.margins(0.08)
        axes.set_title(_bars(across, up), **_QUIET, loc="left")
        axes.set_title(" ", **_QUIET, loc="right")
        _labels(figure, axes, across, up)
    return figure


def inside_margins(across: pd.DataFrame, up: pd.DataFrame) -> Any:
    """Say which features have both estimates within their margins."""
    small = [part[col.ESTIMATE].abs() < pd.to_numeric(optional(part, col.MARGIN)) for part in (across, up)]
    return (small[0] & small[1]).to_numpy()


def _measure(result: Result, measure: str) -> pd.DataFrame:
    choose(result, "measure", measure, result.estimates[col.MEASURE])
    return result.estimates[result.estimates[col.MEASURE] == measure].set_index(col.FEATURE)


def _margins(axes: Axes, across: pd.DataFrame, up: pd.DataFrame) -> None:
    wide, high = (pd.to_numeric(optional(part, col.MARGIN)).max() for part in (across, up))
    if np.isfinite(wide):
        axes.axvspan(-wide, wide, color=style.BAND, linewidth=0, zorder=0)
    if np.isfinite(high):
        axes.axhspan(-high, high, color=style.BAND, linewidth=0, zorder=0)
    axes.axvline(0, color=style.MUTED, linewidth=0.6)
    axes.axhline(0, color=style.MUTED, linewidth=0.6)


def _labels(figure: Figure, axes: Axes, across: pd.DataFrame, up: pd.DataFrame) -> None:
    points = list(zip(across[col.ESTIMATE], up[col.ESTIMATE], strict=True))
    hidden = inside_margins(across, up)
    outside = [k for k in range(len(points)) if not hidden[k]]
    named, more = outside[:LABELLED], outside[LABELLED:]
    bars = [
        ((low, y), (high, y)) for low, high, (_, y) in zip(across[col.LOWER], across[col.UPPER], points, strict=True)
    ]
    bars += [((x, low), (x, high)) for low, high, (x, _) in zip(up[col.LOWER], up[col.UPPER], points, strict=True)]
    left_out = place(
        figure,
        axes,
        [points[k] for k in named],
        [style.name(across.index[k], 22) for k in named],
        busy=[bar for bar in bars if np.isfinite(bar).all()],
    )
    counts = ((int(hidden.sum()), "inside both margins"), (len(left_out) + len(more), "for lack of room"))
    text = ", ".join(f"{count} {why}" for count, why in counts if count)
    if text:
        axes.set_title(f"not labelled: {text}", **_QUIET, loc="right")


def _bars(across: pd.DataFrame, up: pd.DataFrame) -> str:
    """Say what bars and bands are, where there are some."""
    held = dict.fromkeys(filter(None, (interval_words(across), interval_words(up))))
    bars = f"bars: {' and '.join(held)}" if held else ""
    band = "grey: about 0" if pd.to_numeric(optional(across, col.MARGIN)).notna().any() else ""
    return " · ".join(filter(None, (bars, band)))
