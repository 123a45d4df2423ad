"""Blocks made from frames and figures: tables with a cap, figures with words, and what was left out."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import pandas as pd

from ..core.model.results import Result
from ..core.support.errors import UQReportError
from ..core.support.text import count
from ..evidence import columns as col
from ..evidence.view import by_key
from .document import Badge, Block, Bullets, Callout, Cell, Column, Figure, Paragraph, Section, Table, Tint
from .plots import style
from .plots.frames import has_interval, interval_words
from .text import MENTION, clean, joined, mention, name

MAX_ROWS = 60
_DRAWS: ContextVar[bool] = ContextVar("draws", default=True)
# What drawing raises of results that hold what their figure does not expect; one figure must not cost a report.
FAILURES = (UQReportError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def make_table(
    key: str,
    caption: str,
    columns: Sequence[Column | str],
    rows: Iterable[Sequence[Any]],
    *,
    of: Result | None = None,
    evidence: str = "",
    note: str = "",
) -> Table:
    """Return a table that prints at most `MAX_ROWS` rows, says how many there are, and holds the rest.

    A column that is named alone is one of text; a table `of` a result has its id as evidence and its notes.
    """
    cells = tuple(tuple(cell(value) for value in row) for row in rows)
    return Table(
        id=key,
        caption=caption,
        columns=tuple(Column(column) if isinstance(column, str) else column for column in columns),
        rows=cells[:MAX_ROWS],
        evidence=evidence if of is None else of.id,
        note=note or notes_of(of),
        total_rows=len(cells),
        rest=cells[MAX_ROWS:],
    )


def cell(value: Any) -> Cell:
    r"""Return a frame's value as a cell: NaN is a missing number, text is cleaned.

    Examples
    --------
    >>> cell(np.float64("nan")) is None, cell(np.int64(3)), cell("a\tb")
    (True, 3, 'a b')
    >>> cell(f"covered by {mention('age')} alone") == f"covered by {mention('age')} alone"
    True
    """
    if isinstance(value, Badge | Tint):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, int | float) else _cleaned(str(value))


def _cleaned(text: str) -> str:
    """Clean text, but for the marks around features and the blanks beside them."""
    parts = MENTION.split(text)
    if len(parts) == 1:
        return clean(text)
    outer = [part.replace(inner, clean(inner)) if (inner := part.strip()) else part for part in parts[::2]]
    return "".join(piece for pair in zip(outer, [*map(mention, parts[1::2]), ""], strict=True) for piece in pair)


def svg_of(figure: Callable[[], style.Figure]) -> bytes:
    """Draw a figure and return its SVG."""
    from .plots.picture import to_svg  # heavy: what draws nothing does without

    return to_svg(figure())


@contextmanager
def undrawn() -> Iterator[None]:
    """Make figures of words alone inside this: their SVG is empty."""
    token = _DRAWS.set(False)
    try:
        yield
    finally:
        _DRAWS.reset(token)


def make_figure(
    key: str,
    caption: str,
    alt: str,
    figure: Callable[[], style.Figure],
    evidence: str,
    narrow: Callable[[], style.Figure] | None = None,
) -> Figure | Callout:
    """Return a figure, or a callout with the reason if it cannot be drawn: the rest of the report still holds."""
    try:
        svg, small = (svg_of(draw) if draw and _DRAWS.get() else b"" for draw in (figure, narrow))
    except FAILURES as error:
        text = f"The figure “{caption}” could not be drawn: {clean(error, 300)} Its numbers are in the evidence."
        return Callout(tone="warning", title="A figure is missing", text=text, evidence=(evidence,))
    return Figure(id=key, caption=caption, alt=clean(alt), svg=svg, evidence=evidence, narrow=small)


def intervals_caption(*tables: pd.DataFrame) -> str:
    """Name the intervals of the tables, as the end of a caption."""
    words = [words for words in dict.fromkeys(map(interval_words, tables)) if words]
    return f"Intervals: {joined(words)}." if words else "No intervals: the method provides none."


def interval_columns(table: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns of an interval, with its level; none where the table has no interval."""
    if not has_interval(table).any():
        return ()
    level = float(table.loc[has_interval(table), col.CONFIDENCE].iloc[0])
    label = f"{100 * level:.0f}% " if np.isfinite(level) else ""
    return (Column(f"{label}from", "number"), Column("to", "number"))


def notes_of(result: Result | None) -> str:
    """Return the notes of a result, each once."""
    return "" if result is None else " ".join(map(clean, dict.fromkeys(result.notes)))


def left_out(*results: Result | None, most: int = 5) -> tuple[Bullets, ...]:
    """List what these results omit, with reasons; the full list is in the section on what was not run."""
    gaps = (gap for result in results if result is not None for gap in result.omissions)
    shared = by_key(((gap.measure, gap.reason), gap.feature) for gap in gaps)
    unique = [omission_words(measure, reason, features) for (measure, reason), features in shared.items()]
    listed = [f"Omitted: {text}" for text in unique[:most]]
    if len(unique) > most:
        listed.append(f"{count(len(unique) - most, 'further omission')}: see “Not run, with reasons”.")
    return bullets(listed)


def omission_words(measure: str, reason: str, features: Iterable[str] = ()) -> str:
    """Return what is missing, for one reason, in words.

    Examples
    --------
    >>> omission_words("nll", "it is infinite", ["age", "income"])
    'nll of age and income: it is infinite.'
    """
    about = joined([name(feature) for feature in dict.fromkeys(features) if feature])
    what = " of ".join(filter(None, (name(measure) if measure else "", about)))
    return f"{what or 'everything'}: {clean(reason)}."


def paragraphs(*texts: str) -> tuple[Paragraph, ...]:
    """Return a paragraph for each text that is not empty."""
    return tuple(Paragraph(text=text) for text in texts if text)


def make_section(
    key: str, title: str, blocks: Iterable[Block] = (), parts: Iterable[Section] = (), evidence: Iterable[str] = ()
) -> Section:
    """Return a section with its sub-sections, and the results behind its sentences."""
    return Section(id=key, title=title, blocks=tuple(blocks), sections=tuple(parts), evidence=tuple(evidence))


def bullets(items: Iterable[str]) -> tuple[Bullets, ...]:
    """Return a list of sentences; none without any."""
    every = tuple(items)
    return (Bullets(items=every),) if every else ()


def tables(
    key: str, caption: str, columns: Sequence[Column | str], rows: Collection[Sequence[Any]], **options: Any
) -> tuple[Table, ...]:
    """Return a table as `make_table` does; none without rows."""
    return (make_table(key, caption, columns, rows, **options),) if rows else ()
