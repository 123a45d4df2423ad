"""Figures of the sources for which the package has no figure: several series by name, or along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from uq_report.document.plots import style


def dots(
    panels: Mapping[str, pd.DataFrame], errors: Mapping[str, pd.DataFrame] | None = None, order: Sequence[str] = ()
) -> Figure:
    """Draw a panel for each table: a row for each of its index, a marker for each of its columns.

    With `errors` a marker carries two standard errors to both sides.
    """
    tables = {title: table.reindex(order) if order else table for title, table in panels.items()}
    names, columns = [str(n) for n in next(iter(tables.values())).index], list(next(iter(tables.values())).columns)
    with style.drawing(0.24 * len(names) + 0.9) as figure:
        row = np.atleast_1d(figure.subplots(1, len(tables), sharey=True))
        for axes, (title, table) in zip(row, tables.items(), strict=True):
            style.plain(axes, "x").axvline(0, color=style.INK, linewidth=0.8)
            for position, label in enumerate(columns):
                look: dict[str, Any] = {"color": style.CLASSES[position % 8], **style.marker(position, 4.5)}
                at = np.arange(len(names)) + (position - (len(columns) - 1) / 2) * 0.6 / len(columns)
                if errors is not None:
                    spread = 2 * errors[title].reindex(table.index)[label].to_numpy(float)
                    axes.hlines(at, table[label] - spread, table[label] + spread, color=look["color"], linewidth=1)
                axes.plot(table[label].to_numpy(float), at, linestyle="", **look)
            axes.set_xlabel(title)
        style.name_rows(list(row), names)
        handles = [
            style.line(label=str(c), color=style.CLASSES[i % 8], linestyle="", **style.marker(i, 4.5))
            for i, c in enumerate(columns)
        ]
        style.key(figure, handles if len(columns) > 1 else [], 4)
    return figure


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


def lines(
    panels: Mapping[str, Mapping[str, tuple[Any, Any]]], xlabel: str, ylabel: str, errors: Mapping[str, Any] | None = None
) -> Figure:
    """Draw a panel for each mapping of names to (x, y); `errors` are two standard errors by the same name."""
    with style.drawing(2.6) as figure:
        row = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        labels = list(dict.fromkeys(label for curves in panels.values() for label in curves))
        for axes, (title, curves) in zip(row, panels.items(), strict=True):
            style.plain(axes, "both")
            for label, (x, y) in curves.items():
                look: dict[str, Any] = {**style.class_style(labels.index(label)), "linewidth": 1.3}
                axes.plot(x, y, **look)
                if errors is not None and (title, label) in errors:
                    size = np.asarray(errors[title, label])
                    axes.fill_between(x, y - size, y + size, color=look["color"], alpha=0.2, linewidth=0)
            axes.set(title=title, xlabel=xlabel)
        row[0].set_ylabel(ylabel)
        handles = [style.line(label=label, **style.class_style(i)) for i, label in enumerate(labels)]
        style.key(figure, handles, 4)
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


def histograms(panels: Mapping[str, Mapping[str, Any]], xlabel: str) -> Figure:
    """Draw a panel for each mapping of names to values, as outlines of histograms on common bins."""
    with style.drawing(2.4) as figure:
        row = np.atleast_1d(figure.subplots(1, len(panels)))
        for axes, (title, series) in zip(row, panels.items(), strict=True):
            bins = np.histogram_bin_edges(np.concatenate([np.asarray(v) for v in series.values()]), 25)
            style.plain(axes, "y")
            for position, values in enumerate(series.values()):
                axes.hist(values, bins, histtype="step", **style.class_style(position))
            axes.set(title=title, xlabel=xlabel)
        names = list(next(iter(panels.values())))
        style.key(figure, [style.line(label=str(n), **style.class_style(i)) for i, n in enumerate(names)], 4)
    return figure
