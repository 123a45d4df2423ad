"""Importance of features and of their pairs: a dot and its interval for each, one panel per measure."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.model.results import Interaction, Result
from ...core.support.errors import InputError
from ...evidence import columns as col
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, UNDETERMINED, directed
from . import style
from .frames import RowLabels, axis_label, choose, interval_words, margin_of, numbers, several, words

# verdict -> marker, filled
VERDICTS: dict[str, tuple[str, bool]] = {
    POSITIVE: ("o", True),
    NEGATIVE: ("v", True),
    ABOUT_0: ("D", False),
    UNDETERMINED: ("s", False),
}
PANELS = 3
NARROW = 22  # characters of a label that fit under a narrow panel


class ImportancePanel(NamedTuple):
    """One ranking to draw: its heading (empty for none), axis label, role, estimates, and single values if drawn."""

    title: str
    label: str
    role: str
    table: pd.DataFrame
    single: pd.DataFrame | None = None


def draw(
    result: Result,
    measure: Sequence[str] | str | None = None,
    top: int = 20,
    by: RowLabels | None = None,
    *,
    swarm: bool = False,
    truncate: bool = False,
) -> style.Figure:
    """Draw the estimates with their intervals, the margin of "about 0" and the spread of the permutations.

    Parameters
    ----------
    result : Importance
    measure : str or sequence of str, optional
        One panel each; the first three by default. The first one orders the features.
    top : int
        Features to show, the largest.
    by : RowLabels, optional
        One panel for each label in place of each measure: the first measure over the rows of the label.
    swarm : bool
        Draw the single values of the frame as well, as those of sets or refits.
    truncate : bool
        Draw negative values as 0, and say so; the estimates stay as they are.
    """
    table = result.estimates
    if truncate:
        shown = [c for c in (col.ESTIMATE, col.LOWER, col.UPPER, col.SPREAD_LOW, col.SPREAD_HIGH) if c in table]
        table = table.assign(**table[shown].clip(lower=0.0))
    chosen = several(result, "measure", measure, table[col.MEASURE])[: None if measure else PANELS]
    order = choose(result, "measure", next(iter(chosen), None), table[col.MEASURE])
    sign = directed(result, words(order, result.measures)).sign
    first = table[table[col.MEASURE] == order].sort_values(col.ESTIMATE, ascending=sign < 0, kind="stable")
    features = [str(feature) for feature in first[col.FEATURE].head(top)]
    if by is not None:
        return draw_panels(_panels_by(result, order, by), features)
    marks = [str(result.meta[col.MARK])] if col.MARK in result.meta else []
    marks += ["negative values as 0"] if truncate else []
    panels = []
    for m in chosen:
        label = ", ".join([axis_label(m, result.measures), *marks])
        single = result.frame[result.frame[col.MEASURE] == m] if swarm else None
        part = table[table[col.MEASURE] == m]
        panels.append(ImportancePanel("", label, words(m, result.measures).role, part, single))
    return draw_panels(panels, features)


def _panels_by(result: Result, measure: str, by: RowLabels) -> list[ImportancePanel]:
    """Return a panel for each label of at least two rows: means over its rows, with the interval of a mean."""
    kept, facts = result.rows, words(measure, result.measures)
    table = result.estimates[result.estimates[col.MEASURE] == measure].set_index(col.FEATURE)
    if kept is None or measure not in kept.measures:
        raise InputError(
            f"plot.by must go with an importance that has terms of single observations; {result.id!r} has none for "
            f"{measure}."
        )
    means = [kept.mean(measure, feature) for feature in kept.features]
    if not np.allclose(means, table[col.ESTIMATE].reindex(kept.features), rtol=1e-6, atol=1e-9):
        raise InputError(
            f"plot.by must go with a mean over observations; {measure} of {result.id!r} is weighted or no mean."
        )
    level = float(table[col.CONFIDENCE].iloc[0])
    z = NormalDist().inv_cdf((1 + level) / 2)
    panels = []
    for label in by.order:
        at = [k for k, row in enumerate(kept.positions) if by.of_row.get(int(row)) == label]
        if len(at) < 2:
            continue
        values = kept.values[kept.measures.index(measure)][:, at]
        centre, error = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(len(at))
        part = pd.DataFrame({col.FEATURE: kept.features, col.CONFIDENCE: level, col.COVERS: "new test samples"})
        part = part.assign(estimate=centre, lower=centre - z * error, upper=centre + z * error)
        title = f"{style.name(label, 24)} (n = {len(at)})"
        panels.append(ImportancePanel(title, axis_label(measure, result.measures), facts.role, part))
    if not panels:
        raise InputError(f"plot.by must give groups of at least two observations; {by.name} gives none.")
    return panels


def draw_pairs(result: Interaction, measure: str | None = None, top: int = 20) -> style.Figure:
    """Draw the strongest pairs with their intervals; a feature without a partner represents all its pairs.

    A strength need not have the unit of its measure: axes name only a unit the result itself records.

    Parameters
    ----------
    result : Interaction
        Its estimates have a column ``feature_2``.
    """
    bare = {name: replace(facts, unit="") for name, facts in result.measures.items()}
    frame, estimates = (table.assign(feature=paired(table)) for table in (result.frame, result.estimates))
    return draw(replace(result, frame=frame, estimates=estimates, measures=bare, meta={}), measure, top=top)


def paired(table: pd.DataFrame) -> list[str]:
    """Return ``"a × b"`` for every row, ``"a"`` where there is no partner."""
    partners = table[col.FEATURE_2] if col.FEATURE_2 in table.columns else [""] * len(table)
    return [f"{a} × {b}" if b and not pd.isna(b) else str(a) for a, b in zip(table[col.FEATURE], partners, strict=True)]


def draw_panels(panels: Sequence[ImportancePanel], features: Sequence[str]) -> style.Figure:
    """Draw panels side by side, which may come from different results, one row per feature."""
    single = len(panels) == 1
    with style.drawing(0.27 * len(features) + (1.3 if single else 1.55)) as figure:
        row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        parts = [entry.table.set_index(col.FEATURE).reindex(list(features)) for entry in panels]
        for axes, entry, part in zip(row, panels, parts, strict=True):
            if entry.single is not None:
                _swarm(axes, entry.single, list(features))
            _panel(axes, part, entry.role)
            if single:
                axes.set_xlabel(entry.label)
            else:
                axes.set_xlabel(wrapped(entry.label), fontsize=style.SMALL)
                axes.set_title(entry.title)
                axes.xaxis.set_major_locator(style.round_numbers(4, None))
        style.name_rows(row, [style.name(feature) for feature in features])
        style.key(figure, _legend(pd.concat(parts)))
    return figure


def wrapped(label: str) -> str:
    r"""Return a label on two lines, broken before its bracket, or else at the blank nearest to its middle.

    Examples
    --------
    >>> wrapped("negative log-likelihood (nats)")
    'negative log-likelihood\n(nats)'
    """
    if len(label) < NARROW:
        return label
    breaks = [k for k, c in enumerate(label) if c == " "]
    bracket = label.rfind(" (")
    at = bracket if bracket > 0 else min(breaks, key=lambda k: abs(k - len(label) / 2), default=0)
    return f"{label[:at]}\n{label[at + 1 :]}" if at else label


def _panel(axes: style.Axes, part: pd.DataFrame, role: str) -> None:
    """Draw one measure; row k of `part` stands at height k."""
    style.plain(axes, "x")
    style.zero(axes, margin_of(part))
    at = np.arange(len(part), dtype=float)
    low, high = numbers(part, col.SPREAD_LOW), numbers(part, col.SPREAD_HIGH)
    style.segments(axes, low, high, at + 0.24, color=style.SPREAD, linewidth=0.8)
    for end in (low, high):
        axes.plot(end, at + 0.24, linestyle="", marker="|", markersize=4, color=style.SPREAD, markeredgewidth=0.8)
    color = style.ROLE.get(role, style.INK)
    style.intervals(axes, part, at, color=color, linewidth=2.0)
    estimate = numbers(part, col.ESTIMATE)
    kinds = _verdicts(part)
    for verdict, (marker, filled) in {"": ("o", True), **VERDICTS}.items():
        rows = kinds == verdict
        if rows.any():
            axes.plot(estimate[rows], at[rows], linestyle="", **_marker(marker, filled, color))


def _swarm(axes: style.Axes, values: pd.DataFrame, features: list[str]) -> None:
    """Draw single values as dots around the height of their feature, in the order of their repeats."""
    own = values[values[col.FEATURE].isin(features)]
    at = own[col.FEATURE].map(features.index).to_numpy(dtype=float)
    golden = own[col.REPEAT].to_numpy(dtype=float) * 0.618 % 1.0  # spreads dots evenly without chance
    look: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 2.0, "color": style.SPREAD}
    axes.plot(own[col.VALUE], at + 0.5 * golden - 0.25, alpha=0.6, **look)


def _marker(marker: str, filled: bool, color: str) -> dict[str, Any]:
    face = color if filled else "white"
    return {"marker": marker, "markersize": 5.5, "color": color, "markerfacecolor": face, "markeredgewidth": 1.2}


def _verdicts(part: pd.DataFrame) -> Any:
    """Return each row's verdict without its addition ("about 0, but not 0"), empty where there is none."""
    if col.VERDICT not in part.columns:
        return np.full(len(part), "", dtype=object)
    texts = part[col.VERDICT].fillna("").astype(str)
    return np.array([next((v for v in VERDICTS if text.startswith(v)), "") for text in texts], dtype=object)


def _legend(part: pd.DataFrame) -> list[Any]:
    """Explain only what is drawn."""
    verdicts = {verdict: VERDICTS[verdict] for verdict in VERDICTS if verdict in _verdicts(part)}
    handles: list[Any] = [
        style.line(linestyle="", label=verdict, **_marker(*sign, style.INK)) for verdict, sign in verdicts.items()
    ]
    handles.append(style.line(color=style.INK, linewidth=2.0, label=interval_words(part)))
    if np.isfinite(margin_of(part)):
        handles.append(style.patch(color=style.BAND, linewidth=0, label="margin of “about 0”"))
    if np.isfinite(numbers(part, col.SPREAD_LOW)).any():
        thin: dict[str, Any] = {"color": style.SPREAD, "linewidth": 0.8, "marker": "|", "markersize": 4}
        handles.append(style.line(label="spread of the permutations (no interval)", **thin))
    return handles
