"""Contributions of features to the measures of one observation: from base to value, one panel per measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.model.results import Result
from ...evidence import columns as col
from ...evidence.rows import Attributions
from . import style
from .frames import axis_label, choose, number, several, signed
from .importance import wrapped
from .matrix import rectangles
from .style import Axes, Figure

UP, DOWN = "#b8450b", "#0b5c9e"
PANELS = 3
ROOM = (0.2, 0.5, 1.0)  # room for numbers right of the bars with one, two, three panels


def draw(result: Result, measure: Sequence[str] | str | None = None, row: int | None = None, top: int = 10) -> Figure:
    """Draw the contributions from the base to the value of one observation, features in one order for all panels.

    Parameters
    ----------
    result : Attribution
    measure : str or sequence of str, optional
        The first three that have the observation by default.
    row : int, optional
        Position in the test sample; the first explained observation by default.
    top : int
        Features with a bar of their own; the others share the last one.
    """
    frame = result.frame
    at_row = frame[frame[col.ROW] == choose(result, "row", row, frame[col.ROW])]
    chosen = several(result, "measure", measure, at_row[col.MEASURE])[: None if measure else PANELS]
    parts = {m: at_row[at_row[col.MEASURE] == m].set_index(col.FEATURE) for m in chosen}
    features, rest = _order(parts, top)
    own = row_values(result, int(at_row[col.ROW].iloc[0]))
    with style.drawing(0.28 * (len(features) + bool(rest)) + 1.15) as figure:
        panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
        for axes, (name, part) in zip(panels, parts.items(), strict=True):
            values = part[col.VALUE]
            steps = [*values.reindex(features).fillna(0.0), *([values.reindex(rest).sum()] if rest else [])]
            room = ROOM[min(len(chosen), PANELS) - 1]
            _panel(axes, float(part[col.BASE].iloc[0]), np.array(steps, dtype=float), room)
            axes.set_xlabel(wrapped(axis_label(name, result.measures)), fontsize=style.SMALL)
            axes.xaxis.set_major_locator(style.round_numbers(4 if len(chosen) > 1 else 8, None))
        names = [style.name(f"{f} = {own[f]}" if f in own else f, 30) for f in features]
        names += [f"{len(rest)} other features"] if rest else []
        style.name_rows(panels, names, room=1.15)
    return figure


def draw_swarm(result: Result, measure: str | None = None, top: int = 10) -> Figure:
    """Draw the contributions of every explained observation, a row per feature, coloured by the feature's own value.

    Parameters
    ----------
    result : Attribution
        Of at least two observations.
    measure : str, optional
        The first one by default.
    top : int
        Features, those with the largest mean absolute contribution.
    """
    frame = result.frame[result.frame[col.MEASURE] == choose(result, "measure", measure, result.frame[col.MEASURE])]
    drawn = set(result.meta.get("rows_used", ())) or set(frame[col.ROW])  # not those that are explained as cases
    frame = frame[frame[col.ROW].isin(drawn)]
    view, low, high = Attributions.from_result(result), style.LEVELS[2], style.LEVELS[-2]
    sizes = frame.groupby(col.FEATURE)[col.VALUE].agg(lambda values: values.abs().mean())
    features = [str(f) for f in sizes.sort_values(ascending=False, kind="stable").index[:top]]
    width = float(frame[col.VALUE].abs().max()) / 40 or 1.0
    label = axis_label(str(frame[col.MEASURE].iloc[0]), result.measures)
    with style.rows([style.name(feature) for feature in features], label, 0.27, 0.8) as (figure, axes):
        for place, feature in enumerate(features):
            part = frame[frame[col.FEATURE] == feature].sort_values(col.VALUE, kind="stable")
            at = part[col.VALUE].to_numpy(dtype=float)
            upper = _is_high(view, feature, part[col.ROW])
            for shade, rows in ((style.SPREAD, np.isnan(upper)), (low, upper == 0), (high, upper == 1)):
                look: dict[str, Any] = {"marker": "o", "markersize": 3.4, "linestyle": "", "markeredgewidth": 0.3}
                axes.plot(at[rows], place + _apart(at, width)[rows], color=shade, markeredgecolor=style.INK, **look)
        marks = ((low, "value below the median"), (high, "above it"), (style.SPREAD, "category"))
        dot = {"marker": "o", "markersize": 4.0, "linestyle": ""}
        style.key(figure, [style.line(label=label, color=shade, **dot) for shade, label in marks], columns=3)
    return figure


def _is_high(view: Attributions, feature: str, rows: pd.Series[Any]) -> Any:
    """Return 1 where the observation's own value is above the median, 0 elsewhere, NaN of what is no number."""
    own = [view.values_of(int(row)).get(feature) for row in rows]
    values = np.array(
        [v if isinstance(v, int | float) and not isinstance(v, bool) else np.nan for v in own], dtype=float
    )
    return np.where(np.isfinite(values), values > np.nanmedian(values), np.nan) if np.isfinite(values).any() else values


def _apart(values: Any, width: float) -> Any:
    """Return offsets that keep sorted values closer than `width` beside each other, within ±0.4 of a row.

    Examples
    --------
    >>> _apart(np.array([0.0, 0.01, 5.0]), 0.1).round(2).tolist()
    [0.0, 0.09, 0.0]
    """
    run = np.cumsum(np.concatenate([[True], np.diff(values) > width]))
    places = np.arange(len(values)) - np.searchsorted(run, run)
    largest = max(int(places.max(initial=0)), 9)
    return np.where(places % 2, 1, -1) * ((places + 1) // 2) * 0.8 / largest


def row_values(result: Result, row: int) -> dict[str, str]:
    """Return the feature values of the explained observation as text, where the result records them."""
    return {feature: _value(value) for feature, value in Attributions.from_result(result).values_of(row).items()}


def _value(value: Any) -> str:
    if value is None:
        return "missing"
    return signed(f"{value:.6g}") if isinstance(value, float) else str(value)


def _order(parts: Mapping[str, pd.DataFrame], top: int) -> tuple[list[str], list[str]]:
    """Return the features with a bar, and the others.

    The first measure's sequence orders them where its method has one, else the mean size, each
    measure in units of its largest contribution.
    """
    values = {measure: part[col.VALUE].abs() for measure, part in parts.items()}
    sizes = pd.DataFrame({measure: size / (size.max() or 1.0) for measure, size in values.items()})
    ranked = [str(f) for f in sizes.mean(axis=1).sort_values(ascending=False, kind="stable").index]
    largest, rest = ranked[:top], ranked[top:]
    places = next(iter(parts.values()))[col.POSITION]
    if len(places) and (places != places.iloc[0]).any():
        largest = [str(f) for f in places.reindex(largest).sort_values(kind="stable").index]
    return largest, rest


def _panel(axes: Axes, base: float, steps: Any, room: float) -> None:
    """Draw one way from `base` by `steps`, one below the other, with `room` for numbers in units of its width."""
    style.plain(axes, "x")
    ends = base + np.cumsum(steps)
    starts = np.concatenate([[base], ends[:-1]])
    for rows, color in ((steps >= 0, UP), (steps < 0, DOWN)):
        boxes = [(starts[k], ends[k], k - 0.32, k + 0.32) for k in np.flatnonzero(rows)]
        rectangles(axes, boxes, color, color, 0.6)
    links = np.arange(len(steps) - 1)
    style.segments(axes, links + 0.32, links + 0.68, ends[:-1], upright=True, color=style.MUTED, linewidth=0.6)
    for at, text in enumerate(_signed(steps)):
        _write(axes, text, (max(starts[at], ends[at]), at), UP if steps[at] >= 0 else DOWN)
    _mark(axes, "base", base, -0.75)
    _mark(axes, "value", float(ends[-1]), len(steps) - 0.25)
    low, high = min(base, *ends), max(base, *ends)
    span = high - low or 1.0
    axes.set_xlim(low - 0.06 * span, high + room * span)


def _signed(steps: Any) -> list[str]:
    """Return contributions with their signs, to three digits of the largest; smaller ones read ``≈ 0``."""
    largest = float(np.abs(steps).max(initial=0.0))
    places = max(0, 2 - math.floor(math.log10(largest))) if largest > 0 else 0
    texts = [signed(f"{step:+.{places}f}") for step in steps]
    return [text if any(c in "123456789" for c in text) else "≈ 0" for text in texts]


def _mark(axes: Axes, label: str, value: float, at: float) -> None:
    """Draw where the way begins or ends, with its number at height `at`."""
    axes.axvline(value, color=style.MUTED, linewidth=0.7, linestyle=(0, (3, 2)))
    _write(axes, f"{label} {number(value)}", (value, at), style.INK)


def _write(axes: Axes, text: str, point: tuple[float, float], color: str) -> None:
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    look: dict[str, Any] = {"fontsize": style.SMALL, "color": color, "bbox": white}
    axes.annotate(text, point, (3, 0), textcoords="offset points", ha="left", va="center", **look)
