"""Is the predictive distribution right: reliability of probabilities, coverage of intervals, PIT."""

from typing import Any

import numpy as np
import pandas as pd

from ...core.model.results import Result
from ...core.support.errors import InputError
from ...core.support.numbers import OUTCOME_UNIT
from ...document.plots import style
from ...document.plots.frames import interval_words, numbers, optional
from ...document.plots.registered import figure_plugin
from ...document.plots.style import Axes, Figure
from ...evidence import columns as col, ids
from ...evidence.comparisons import RESIDUAL, NetBenefit, Roc
from ...evidence.outcomes import Reliability

NULL: dict[str, Any] = {"color": style.BAND, "linewidth": 0.0, "zorder": 0}
IDEAL: dict[str, Any] = {"color": style.MUTED, "linewidth": 0.9, "linestyle": style.LINES[1]}
DECIDED: dict[str, Any] = {"color": style.INK, "marker": "D", "markersize": 5.5, "linestyle": ""}
IN_USE: dict[str, Any] = {"color": style.INK, "linewidth": 1.0}
BEST: dict[str, Any] = {"color": style.ROLE["uncertainty"], "linewidth": 1.2, "linestyle": style.LINES[3]}
POINT: dict[str, Any] = {"color": style.SPREAD, "marker": "o", "markersize": 2.0, "linestyle": "", "alpha": 0.7}
WORDS = ({"event": "with the event", "other": "without it"}, {"event": "predicted rightly", "other": "wrongly"})
LOSS = style.ROLE["loss"]
SIZE = (2.9, 3.25)  # height and width: two of them stand side by side


def draw_reliability(result: Result) -> Figure:
    """Draw observed frequency against mean predicted probability, and where points of a calibrated model would lie.

    Parameters
    ----------
    result : Diagnostic
        Its estimates, a row per bin: ``x`` (mean predicted), ``estimate`` (observed) with its
        interval, and ``null_lower``, ``null_upper``, the range if the model were right.
    """
    table, view = result.estimates.sort_values(col.X, kind="stable"), Reliability.from_result(result)
    samples = _legend(table)
    with style.drawing(SIZE[0] + 0.6, SIZE[1]) as figure:
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        style.plain(axes, "both").plot([0, 1], [0, 1], **IDEAL)
        if optional(table, col.NULL_LOWER).notna().any():
            axes.fill_between(table[col.X], table[col.NULL_LOWER], table[col.NULL_UPPER], **NULL)
        _points(axes, table)
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), ylabel="observed frequency")
        samples += _histogram(style.plain(below), view)
        below.set(xlabel=f"stated {style.name(view.event or 'the event', 32)}", ylabel="n")
        style.key(figure, samples, columns=1)
    return figure


def _histogram(axes: Axes, view: Reliability) -> list[Any]:
    """Draw how many observations have each stated probability, with the event over those without it."""
    samples, base = [], np.zeros(1)
    axes.yaxis.set_major_locator(style.round_numbers(2))
    for key, color in (("other", style.SPREAD), ("event", style.ROLE["loss"])):
        counts = np.asarray(view.histogram.get(key, ()), dtype=float)
        if not counts.size:
            continue
        at = (np.arange(len(counts)) + 0.5) / len(counts)
        axes.bar(at, counts, 0.92 / len(counts), bottom=base, color=color, linewidth=0)
        base = base + counts
        words = WORDS[view.form == "top label"][key]
        samples.append(style.patch(color=color, linewidth=0, label=f"n: observations {words}"))
    return samples


def draw_roc(result: Result) -> Figure:
    """Draw the true- against the false-positive rate, and the rates of the model's own decisions.

    Parameters
    ----------
    result : Diagnostic
        Its estimates: ``x`` (false-positive rate) and ``estimate`` with its limits, from high thresholds to low ones.
    """
    table, view = result.estimates, Roc.from_result(result)
    x, y = (np.concatenate([[0.0], numbers(table, name), [1.0]]) for name in (col.X, col.ESTIMATE))
    color = style.ROLE["prediction"]
    with style.panel(*SIZE) as (figure, axes):
        axes.plot(x, y, color=color, linewidth=1.6, label="model")
        axes.plot([0, 1], [0, 1], **IDEAL, zorder=1.9, label="no discrimination")
        if view.decided:
            axes.plot(*([rate] for rate in view.decided), **DECIDED, label="the model's decisions")
        axes.fill_between(table[col.X], table[col.LOWER], table[col.UPPER], **NULL, label=interval_words(table))
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="false-positive rate", ylabel="true-positive rate")
        style.key(figure, columns=1)
    return figure


def draw_net_benefit(result: Result) -> Figure:
    """Draw the net benefit by threshold beside that of treating all and none.

    Parameters
    ----------
    result : Diagnostic
        Its estimates: ``x`` (threshold), ``estimate`` with its limits, ``all``, and the limits of a band.
    """
    table, view = result.estimates.sort_values(col.X, kind="stable"), NetBenefit.from_result(result)
    x, color = table[col.X], style.ROLE["prediction"]
    banded = optional(table, "band_lower").notna().any()
    low, high = ("band_lower", "band_upper") if banded else (col.LOWER, col.UPPER)
    words = interval_words(table)
    if banded:
        words = f"{words.partition(' CI')[0]} band, all thresholds at once"
    every: dict[str, Any] = {"color": style.ROLE["loss"], "linewidth": 1.2, "linestyle": style.LINES[2]}
    with style.panel(*SIZE) as (figure, axes):
        axes.plot(x, table[col.ESTIMATE], color=color, linewidth=1.6, label="model")
        axes.plot(x, table["all"], **every, zorder=1.9, label="treat all")
        axes.axhline(0.0, **IDEAL, zorder=1.8, label="treat none")
        axes.fill_between(x, table[low], table[high], **NULL, label=words)
        own, ideal = (view.threshold, "the model's threshold", IN_USE), (view.ideal, "at the stated costs", BEST)
        for at, label, look in (own, ideal):
            if at is not None and at <= x.max():
                axes.axvline(at, **look, label=label)
        top = float(np.nanmax([*table[high], *table[col.ESTIMATE], 0.01]))
        floor = min(float(np.nanmin([*table[low], 0.0])), -0.25 * top)
        axes.set(xlim=(0, float(x.max())), ylim=(max(floor, -top), 1.1 * top))
        axes.set(xlabel=f"threshold on P({style.name(view.event, 20)})", ylabel="net benefit")
        style.key(figure, columns=1)
    return figure


def draw_residuals(result: Result, item: str = RESIDUAL, along: str = "prediction") -> Figure:
    """Draw residuals against predictions with their means, or the root mean squared error, by quantile group.

    Parameters
    ----------
    result : Diagnostic
        Its estimates: ``item``, ``x`` (mean prediction), ``estimate`` with its limits, and ``implied``.
    item : {"mean residual", "root mean squared error"}
    along : {"prediction", "feature"}
        For features a panel each, of mean residuals.
    """
    choices = ("prediction", "feature") if (result.estimates[col.FEATURE] != "").any() else ("prediction",)
    if along not in choices:
        raise InputError(f"plot.along must be one of {choices}; got {along!r}. Features need numbers.")
    if along == "feature":
        return _by_feature(result)
    table = result.estimates[(result.estimates["item"] == item) & (result.estimates[col.FEATURE] == "")]
    table = table.sort_values(col.X, kind="stable")
    with style.panel(*SIZE) as (figure, axes):
        if item == RESIDUAL:
            label = "observations" if len(result.frame) < 400 else "a sample of 400"
            axes.plot(result.frame[col.X], result.frame[col.VALUE], **POINT, label=label)
            axes.axhline(0.0, **IDEAL)
        elif table["implied"].notna().any():
            axes.plot(table[col.X], table["implied"], **IDEAL, label="as the model implies")
        _groups(axes, table, item)
        if item != RESIDUAL:
            axes.set_ylim(bottom=0)
        axes.set(xlabel=f"prediction ({OUTCOME_UNIT})")
        axes.set_ylabel(f"{'outcome minus prediction' if item == RESIDUAL else item}\n({OUTCOME_UNIT})")
        style.key(figure, columns=1)
    return figure


def _by_feature(result: Result) -> Figure:
    """Draw the mean residuals by quantile of each feature that has some, a panel each on one scale."""
    table = result.estimates[result.estimates[col.FEATURE] != ""]
    panels = list(table.groupby(col.FEATURE, sort=False))
    with style.drawing(2.3, 2.2 * len(panels) + 0.4) as figure:
        every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (feature, own) in zip(every, panels, strict=True):
            style.plain(axes, "both").axhline(0.0, **IDEAL)
            _groups(axes, own, "mean")
            axes.set(xlabel=style.name(str(feature), 28))
        every[0].set(ylabel=f"outcome minus prediction\n({OUTCOME_UNIT})")
        style.key(figure)
    return figure


def draw_coverage(result: Result) -> Figure:
    """Draw the share of rows inside each central interval against its nominal level.

    Parameters
    ----------
    result : Diagnostic
        Its estimates: ``x`` (nominal level) and ``estimate`` (observed share).
    """
    table = result.estimates.sort_values(col.X, kind="stable")
    with style.panel(*SIZE) as (figure, axes):
        axes.plot([0, 1], [0, 1], **IDEAL)
        _points(axes, table)
        low = min(0.4, *table[[col.X, col.ESTIMATE, col.LOWER]].min().dropna().tolist())
        ends = max(0.0, low - 0.05), 1.02
        axes.set(xlim=ends, ylim=ends, xlabel="stated level", ylabel="share of outcomes inside")
        style.key(figure, _legend(table), columns=1)
    return figure


def draw_pit(result: Result) -> Figure:
    """Draw the PIT histogram beside the flat line of a calibrated model.

    Parameters
    ----------
    result : Diagnostic
        Its estimates: ``x`` (bin centre) and ``estimate``, the density in the bin (1 is flat).
    """
    table = result.estimates.sort_values(col.X, kind="stable")
    with style.panel(*SIZE, grid="y") as (figure, axes):
        edge = style.ROLE["prediction"]
        axes.bar(table[col.X], table[col.ESTIMATE], 0.92 / len(table), color="#9fbfd8", edgecolor=edge, linewidth=0.7)
        style.intervals(axes, table, table[col.X], upright=True, color=style.INK, linewidth=1.3)
        axes.axhline(1.0, **IDEAL)
        axes.set(xlim=(0, 1), xlabel="probability integral transform of the outcome")
        axes.set_ylabel("density (1 if calibrated)")
        style.key(figure, _legend(table), columns=1)
    return figure


def _points(axes: Axes, table: pd.DataFrame) -> None:
    """Draw estimates, joined, with their intervals."""
    color = style.ROLE["uncertainty"]
    style.intervals(axes, table, table[col.X], upright=True, color=color, linewidth=1.3)
    axes.plot(table[col.X], table[col.ESTIMATE], "-o", color=color, linewidth=1.0, markersize=5)


def _groups(axes: Axes, table: pd.DataFrame, label: str) -> None:
    """Draw the estimates of quantile groups, joined, with their intervals, both with their words."""
    look: dict[str, Any] = {"color": LOSS, "linewidth": 1.0, "markersize": 4, "label": f"{label}, by quantile group"}
    axes.plot(table[col.X], table[col.ESTIMATE], "-o", **look)
    interval = {"color": LOSS, "linewidth": 1.3, "label": interval_words(table)}
    style.intervals(axes, table, table[col.X], upright=True, **interval)


def _legend(table: pd.DataFrame) -> list[Any]:
    interval = style.line(color=style.INK, linewidth=1.3, label=interval_words(table))
    handles = [style.line(**IDEAL, label="as stated"), interval]
    if optional(table, col.NULL_LOWER).notna().any():
        handles.append(style.patch(color=style.BAND, linewidth=0, label="points of a calibrated model"))
    return handles


RocFigure = figure_plugin(ids.CALIBRATION_ROC, draw_roc)
NetBenefitFigure = figure_plugin(ids.CALIBRATION_NET_BENEFIT, draw_net_benefit)
ResidualsFigure = figure_plugin(ids.CALIBRATION_RESIDUALS, draw_residuals)
GradesFigure = figure_plugin(ids.CALIBRATION_GRADES, draw_reliability)
ReliabilityFigure = figure_plugin(ids.CALIBRATION_RELIABILITY, draw_reliability)
CoverageFigure = figure_plugin(ids.CALIBRATION_COVERAGE, draw_coverage)
PitFigure = figure_plugin(ids.CALIBRATION_PIT, draw_pit)
