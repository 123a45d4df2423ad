"""Sentences and amounts about results, never beyond what an interval allows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ..core.model.results import MeasureFacts
from ..core.support.text import clean, count
from ..document.plots.frames import has_interval, margin_of
from ..document.plots.importance import VERDICTS
from ..document.text import joined, name, position, value_words
from ..evidence import columns as col
from ..evidence.information import ItemLine
from ..evidence.outcomes import GroupLine, ScoreLine

NUMBERS = (col.ESTIMATE, col.LOWER, col.UPPER)
DAGGER = "†"  # marks an unreliable interval
ABOUT = re.compile(r"about (\d+)")


def ordered(table: pd.DataFrame, sign: int = 1) -> pd.DataFrame:
    """Return estimates, largest first, of sign -1 smallest first; equal ones keep their order."""
    return table.sort_values(col.ESTIMATE, ascending=sign < 0, kind="stable", ignore_index=True)


def order_words(facts: MeasureFacts) -> str:
    """Return the order of a table of importances.

    Examples
    --------
    >>> order_words(MeasureFacts("entropy", "nats", "uncertainty"))
    'largest first'
    >>> order_words(MeasureFacts("precision", "", "uncertainty", "smaller"))
    'lowest first: lower values mean less certain'
    """
    if facts.sign > 0:
        return "largest first"
    return f"lowest first: {_lower(facts)}"


def _lower(facts: MeasureFacts) -> str:
    return f"lower values {'mean less certain' if facts.role == 'uncertainty' else 'are worse'}"


def largest_words(table: pd.DataFrame, facts: MeasureFacts, most: int = 3) -> str:
    """Name the leading estimates with their intervals: the largest, or the lowest of a measure that is read from below.

    ``"Largest: age 0.156 nats (0.127 to 0.185), amount ..."``
    """
    parts = [
        f"{name(row.feature)} {estimate_words(row, facts.unit)}{mark(row)}"
        for row in ordered(table, facts.sign).head(most).itertuples()
    ]
    lead = "Largest" if facts.sign > 0 else f"Lowest ({_lower(facts)})"
    return f"{lead}: {joined(parts)}."


def estimate_words(line: Any, unit: str = "") -> str:
    """Return the estimate of a line with its interval; empty without a line."""
    return "" if line is None else value_words(line.estimate, line.lower, line.upper, unit)


def verdict_words(table: pd.DataFrame) -> str:
    """Count the verdicts, or without verdicts the intervals above and below 0."""
    n = count(len(table), "feature")
    if col.VERDICT in table.columns and table[col.VERDICT].astype(bool).any():
        verdicts = table[col.VERDICT].astype(str)
        counts = [(int(verdicts.str.startswith(verdict).sum()), verdict) for verdict in VERDICTS]
        counted = joined([f"{number_of} {verdict}" for number_of, verdict in counts if number_of])
        return f"Of {n}: {counted}.{_distrust_words(table)}"
    if not has_interval(table).any():
        return ""
    above, below = int((table[col.LOWER] > 0).sum()), int((table[col.UPPER] < 0).sum())
    signs = ((above, "above 0"), (below, "below 0"), (len(table) - above - below, "that contains 0"))
    return f"Of {n}: {joined([f'{number_of} with an interval {sign}' for number_of, sign in signs if number_of])}."


def mark(line: object) -> str:
    """Return the mark of an unreliable interval; empty for others."""
    return DAGGER if getattr(line, col.DISTRUST, "") else ""


def unreliable_words(reasons: Iterable[str], what: str = "The interval") -> str:
    """Explain the mark below a table: why intervals are unreliable; empty where all are reliable.

    Examples
    --------
    >>> unreliable_words(["heavy tails (about 3 of 800)", "", "heavy tails (about 2 of 800)"])
    '† The interval is unreliable: heavy tails (about 2 to 3 of 800).'
    """
    kinds: dict[str, list[int]] = {}
    for reason in filter(None, reasons):  # those that differ in a count alone become one, with the range of the counts
        kinds.setdefault(ABOUT.sub("about #", clean(reason)), []).extend(map(int, ABOUT.findall(reason)))
    causes = []
    for kind, counts in kinds.items():
        ends = dict.fromkeys((min(counts), max(counts))) if counts else ()
        causes.append(kind.replace("about #", f"about {' to '.join(map(str, ends))}"))
    return f"{DAGGER} {what} is unreliable: {joined(causes, 2)}." if causes else ""


def _distrust_words(table: pd.DataFrame) -> str:
    """Explain the mark: why intervals are unreliable, and of which features."""
    if col.DISTRUST not in table.columns:
        return ""
    reasons = table[table[col.DISTRUST].astype(bool)].groupby(col.DISTRUST, sort=False)[col.FEATURE].agg(list)
    words = [
        f"{'all features' if len(features) == len(table) else joined([name(f) for f in features])}: {clean(reason)}"
        for reason, features in reasons.items()
    ]
    return f" {DAGGER} Unreliable intervals, without a verdict: {'; '.join(words)}." if words else ""


def margin_words(table: pd.DataFrame, unit: str) -> str:
    """Return the tolerance for "about 0"."""
    margin = margin_of(table)
    return f"“About 0”: within the tolerance of ±{value_words(margin, unit=unit)}." if np.isfinite(margin) else ""


def range_words(table: pd.DataFrame, facts: MeasureFacts) -> str:
    """Return the range of an average profile; `table` has the estimates of one measure.

    The lowest and highest points are called different only if their intervals do not overlap.
    """
    ends = range_ends(table, facts.unit)
    if ends is None:
        return ""
    low, high, apart = ends
    return f"Average {facts.title}: lowest {low}, highest {high}{'; the two intervals overlap' * (apart == 'no')}."


def range_ends(table: pd.DataFrame, unit: str = "") -> tuple[str, str, str] | None:
    """Return the lowest and the highest point of an average profile in words, and whether their intervals are apart.

    None without a number; ``"no intervals"`` where that is not known.
    """
    points = table[np.isfinite(table[col.ESTIMATE].to_numpy(dtype=float))]
    if points.empty:
        return None
    values = points[col.ESTIMATE].to_numpy(dtype=float)
    low, high = points.iloc[int(values.argmin())], points.iloc[int(values.argmax())]
    lowest, highest = (
        f"{value_words(end[col.ESTIMATE], end[col.LOWER], end[col.UPPER], unit)} at {where(end)}" for end in (low, high)
    )
    if not has_interval(points).all():
        return lowest, highest, "no intervals"
    return lowest, highest, "yes" if low[col.UPPER] < high[col.LOWER] else "no"


def where(row: pd.Series[Any]) -> str:
    """Return the place of a point of a curve: its level, or its value of the feature."""
    level = str(row[col.LEVEL])
    return name(level) if level else position(row[col.X])


SHARES = ("probability", "share")


def is_share(unit: str) -> bool:
    """Say whether a unit is that of a probability or a share.

    Examples
    --------
    >>> is_share("share of observations"), is_share("squared probability")
    (True, False)
    """
    return unit.startswith(SHARES)


def scaled(estimate: float, lower: float, upper: float, unit: str, of_share: str = "points", sign: int = 1) -> str:
    """Return `sign` times an estimate with its unit and interval; of a share a hundred times that, in `of_share`.

    Examples
    --------
    >>> scaled(0.058, 0.05, 0.066, "probability of bad"), scaled(20.4, 18.8, 22.0, "units of the outcome")
    ('5.8 points (5.0 to 6.6)', '20.4 units of the outcome (18.8 to 22.0)')
    """
    scale = sign * (100 if is_share(unit) else 1)
    low, high = sorted((scale * lower, scale * upper))
    return value_words(scale * estimate, low, high, of_share if is_share(unit) else unit)


def percent(estimate: float, lower: float, upper: float, sign: int = 1) -> str:
    """Return `sign` times a share in percent.

    Examples
    --------
    >>> percent(0.15, 0.08, 0.21), percent(-0.92, -1.09, -0.75, -1)
    ('15% (8 to 21)', '92% (75 to 109)')
    """
    return scaled(estimate, lower, upper, "share", "%", sign)


def amount(line: ScoreLine | GroupLine, of_share: str = "%") -> str:
    """Return an estimate with its interval: shares in percent, or in `of_share`."""
    return scaled(line.estimate, line.lower, line.upper, line.unit, of_share) + mark(line)


def points(line: GroupLine) -> str:
    """Return a difference with its interval, of probabilities and shares in points."""
    return amount(line, "points")


def share(line: ItemLine) -> str:
    """Return a share between 0 and 1 with its interval in percent."""
    return percent(line.estimate, line.lower, line.upper)


def apart(words: str) -> tuple[str, str]:
    """Return a number, and the interval in brackets behind it.

    Examples
    --------
    >>> apart("0.76 (0.70 to 0.83)"), apart("0.76")
    (('0.76', ' (0.70 to 0.83)'), ('0.76', ''))
    """
    number, bracket, around = words.partition(" (")
    return number, bracket + around


def unbracketed(words: str) -> str:
    """Return a number with its interval behind a comma, for use inside brackets.

    Examples
    --------
    >>> unbracketed("0.76 (0.70 to 0.83)"), unbracketed("0.76")
    ('0.76, 0.70 to 0.83', '0.76')
    """
    return words.replace(" (", ", ").rstrip(")")
