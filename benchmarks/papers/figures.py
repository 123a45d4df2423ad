"""Figures of the sources for which the package has no figure: several series by name, or along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from uq_report.document.plots import style


def dots(panels: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw a panel for each table: a row for each of its index, a marker for each of its columns."""
    first = next(iter(panels.values()))
    names, columns = [str(name) for name in first.index], [str(label) for label in first.columns]
    with style.drawing(0.24 * len(names) + 0.9) as figure:
        row = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        for axes, (title, table) in zip(row, panels.items(), strict=True):
            style.plain(axes, "x").axvline(0, color=style.INK, linewidth=0.8)
            for position, label in enumerate(table.columns):
                at = np.arange(len(names)) + (position - (len(columns) - 1) / 2) * 0.6 / len(columns)
                axes.plot(table[label].to_numpy(float), at, **_mark(position))
            axes.set_xlabel(title)
        style.name_rows(list(row), names)
        handles = [style.line(label=label, **_mark(position)) for position, label in enumerate(columns)]
        style.key(figure, handles if len(columns) > 1 else [], 4)
    return figure


def _mark(position: int) -> dict[str, Any]:
    return {"color": style.CLASSES[position % 8], "linestyle": "", **style.marker(position, 4.5)}


def swarm(panels: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw a panel for each table: a row of points for each of its columns, one for each repetition, and their median."""
    names = [str(name) for name in next(iter(panels.values())).columns]
    with style.drawing(0.3 * len(names) + 0.7) as figure:
        row = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        for axes, (title, table) in zip(row, panels.items(), strict=True):
            style.plain(axes, "x").axvline(0, color=style.INK, linewidth=0.8)
            for at, name in enumerate(names):
                values = table[name].to_numpy(float)
                jitter = 0.3 * np.sin(12.9898 * np.arange(len(values)))
                axes.plot(values, at + jitter, "o", markersize=2, color=style.ROLE["prediction"], alpha=0.6)
                axes.plot(np.median(values), at, "|", markersize=14, color=style.ROLE["loss"])
            axes.set_xlabel(title)
        style.name_rows(list(row), names)
    return figure


def lines(panels: Mapping[str, Mapping[str, tuple[Any, Any]]], xlabel: str, ylabel: str) -> Figure:
    """Draw a panel for each mapping of names to (x, y), at most three in a row."""
    across = min(len(panels), 3)
    down = -(-len(panels) // across)
    with style.drawing(2.2 * down + 0.4) as figure:
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        labels = list(dict.fromkeys(label for curves in panels.values() for label in curves))
        for axes, (title, curves) in zip(grid.ravel(), panels.items(), strict=False):
            style.plain(axes, "both")
            for label, (x, y) in curves.items():
                axes.plot(x, y, **style.class_style(labels.index(label)), linewidth=1.3)
            axes.set(title=title, xlabel=xlabel)
        for axes in grid[:, 0]:
            axes.set_ylabel(ylabel)
        style.key(figure, [style.line(label=label, **style.class_style(i)) for i, label in enumerate(labels)], 4)
    return figure


def scatter(panels: Mapping[str, tuple[Any, Any, Any]], xlabel: str, ylabel: str) -> Figure:
    """Draw a panel of points for each (x, y, group)."""
    with style.drawing(2.7) as figure:
        row = np.atleast_1d(figure.subplots(1, len(panels), sharex=True, sharey=True))
        for axes, (title, (x, y, group)) in zip(row, panels.items(), strict=True):
            style.plain(axes, "both")
            for position, label in enumerate(np.unique(group)):
                at = np.asarray(group) == label
                colour = style.CLASSES[position % 8]
                axes.plot(np.asarray(x)[at], np.asarray(y)[at], linestyle="", color=colour, **style.marker(position, 2))
            axes.set(title=title, xlabel=xlabel)
        row[0].set_ylabel(ylabel)
    return figure
