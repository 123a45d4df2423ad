"""How a model's uncertainty divides over its members: both parts by feature, beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from ..core.model.measures import PARTS
from ..core.model.results import Result
from ..document.blocks import intervals_caption, make_table
from ..document.document import Column, Table
from ..document.text import name, value_words
from ..evidence import columns as col
from .run_reader import RunReader
from .sentences import ordered, range_ends

CAUTION = (
    "The disagreement (epistemic) is that of these members only, set apart by the training rows that each drew, their "
    "first weights or their dropout: it does not measure all that is unknown. Members that are alike have none, "
    "however wrong; it changes with their number, and in forests smaller leaves turn noise into disagreement."
)
HEEDED = "The caution in “Can its stated uncertainty be believed?” holds here too."
SUMS = f"The two parts add up to the whole. {HEEDED}"
CURVES = f"At every point the two curves add up to that of the whole. {HEEDED}"
SIZES = f"Values of single rows add up to the whole; mean sizes need not, for the two parts may cancel. {HEEDED}"


def parts_of(measures: Iterable[object]) -> tuple[str, ...]:
    """Return the uncertainty, its aleatoric and its epistemic part, if both parts are among `measures`, else none.

    Examples
    --------
    >>> parts_of(["nll", "entropy", "aleatoric", "epistemic"]), parts_of(["nll", "entropy"])
    (('entropy', 'aleatoric', 'epistemic'), ())
    """
    present = set(map(str, measures))
    return next((names for names in PARTS if present.issuperset(names[1:])), ())


def split_table(e: RunReader, result: Result | None, key: str) -> tuple[Table, ...]:
    """Return the importance of each feature for the uncertainty and for its two parts; none without members."""
    names = () if result is None else parts_of(result.estimates[col.MEASURE])
    if result is None or not names:
        return ()
    caption = "The uncertainty in its two parts, feature by feature."
    return (side_by_side(e, result, key, names, (caption, SIZES if result.meta.get("sizes") else SUMS)),)


def side_by_side(e: RunReader, result: Result, key: str, names: Sequence[str], words: tuple[str, str]) -> Table:
    """Return a row per feature, largest of the first measure first, a column per measure; `words`: caption and note."""
    table = result.estimates.drop_duplicates([col.MEASURE, col.FEATURE]).astype({col.FEATURE: str})
    lines = {m: table[table[col.MEASURE] == m].set_index(col.FEATURE) for m in names if (table[col.MEASURE] == m).any()}
    order = ordered(next(iter(lines.values())).reset_index())[col.FEATURE]
    columns = [Column("feature"), *(Column(e.words(m, result).title, unit=e.words(m, result).unit) for m in lines)]
    rows = [(name(feature), *(_words(part, feature) for part in lines.values())) for feature in order]
    caption, note = words
    return make_table(key, f"{caption} {intervals_caption(table)}", columns, rows, evidence=result.id, note=note)


def _words(lines: pd.DataFrame, feature: str) -> str | None:
    if feature not in lines.index:
        return None
    row = lines.loc[feature]
    return value_words(row[col.ESTIMATE], row[col.LOWER], row[col.UPPER])


def split_ends(e: RunReader, result: Result, features: Sequence[str], key: str) -> tuple[Table, ...]:
    """Return where the curves of both parts are lowest and highest, a row per feature; none without members."""
    table = result.estimates
    names = parts_of(table[col.MEASURE])[1:] if {col.X, col.LEVEL} <= set(table.columns) else ()
    heads = [Column(f"{e.words(m).title}: {end}", unit=e.words(m).unit) for m in names for end in ("lowest", "highest")]
    rows = []
    for feature in features if names else ():
        own = table[table[col.FEATURE] == feature]
        ends = [range_ends(own[own[col.MEASURE] == measure]) for measure in names]
        if any(ends):
            rows.append((name(feature), *(cell for pair in ends for cell in (pair[:2] if pair else (None, None)))))
    caption = f"The two parts of the uncertainty along each feature. {intervals_caption(table)}"
    columns = [Column("feature"), *heads]
    return (make_table(key, caption, columns, rows, evidence=result.id, note=CURVES),) if rows else ()
