"""Tables made from estimates, those of the two parts of an uncertainty included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias

import pandas as pd

from ..core.model.measures import PARTS
from ..core.model.results import Result
from ..document.blocks import interval_columns, intervals_caption, make_table
from ..document.document import Column, Table
from ..document.text import name, value_words
from ..evidence import columns as col
from ..evidence.view import EstimateLine, table_of
from .rank_ranges import FeatureRanking
from .run_reader import RunReader
from .sentences import order_words, ordered, range_ends

# column of the estimates -> heading and number format, printed where the column is there and not empty
FURTHER: dict[str, tuple[str, str]] = {
    col.VERDICT: ("verdict", "text"),
    col.P_VALUE: ("p (permutations)", "pvalue"),
    col.SPREAD_LOW: ("permutations from", "number"),
    col.SPREAD_HIGH: ("to", "number"),
    col.N_NEEDED: ("n for 80% power", "integer"),
    col.DISTRUST: ("unreliable interval", "text"),
}
FIRST = (col.FEATURE, col.FEATURE_2, col.ITEM, col.MEASURE)


# the content of a column of a table of lines: an attribute of the line, or a function of it
Field: TypeAlias = tuple[Column | str, str | Callable[[Any], Any]]
FEATURE: Final[Field] = ("feature", lambda line: name(line.feature))
INTERVAL: Final[Field] = ("interval", "")  # the columns of the interval, where the lines have one


def line_table(key: str, caption: str, lines: Sequence[EstimateLine], fields: Iterable[Field], **options: Any) -> Table:
    """Return a row per line and a column per field; the caption ends with the kind of the intervals."""
    table = table_of(lines)
    interval = interval_columns(table)
    ends: list[Field] = list(zip(interval, ("lower", "upper"), strict=False))
    shown = [part for field in fields for part in (ends if field is INTERVAL else (field,))]
    values = [attrgetter(value) if isinstance(value, str) else value for _, value in shown]
    rows = [tuple(value(line) for value in values) for line in lines]
    return make_table(key, f"{caption} {intervals_caption(table)}", [head for head, _ in shown], rows, **options)


def importance_table(e: RunReader, result: Result, measure: str, key: str) -> Table:
    """Return one measure's importances: rank, estimate, error, interval, verdict and permutations."""
    ranking = FeatureRanking.of(e, result, measure)
    table, facts = ranking.table, ranking.facts
    interval = interval_columns(table)
    further = [(c, *FURTHER[c]) for c in FURTHER if c in table.columns and not _is_blank(table[c])]
    error = not _is_blank(table[col.STD_ERROR])
    columns = [Column("feature"), Column("rank"), Column("importance", "number", facts.unit)]
    columns += [Column("std. error", "number")] * error + list(interval)
    columns += [Column(heading, kind) for _, heading, kind in further]  # type: ignore[arg-type] # literals of FURTHER
    numbers = [col.ESTIMATE, *[col.STD_ERROR] * error, *(col.LOWER, col.UPPER) * bool(interval)]
    rows = []
    for row in table.to_dict("records"):
        rank = ranking.features.get(str(row[col.FEATURE]))
        cells = [name(row[col.FEATURE]), None if rank is None else rank.words, *(row[c] for c in numbers)]
        rows.append(cells + [_whole(row[c]) if kind == "integer" else row[c] for c, _, kind in further])
    caption = f"Importance for {facts.title}, {order_words(facts)}."
    return make_table(key, caption, columns, rows, of=result)


def wide_table(e: RunReader, result: Result, key: str, caption: str, measures: Sequence[str]) -> Table:
    """Return features by measures, each with its interval, ordered by the first measure."""
    table = result.estimates.drop_duplicates([col.MEASURE, col.FEATURE])
    parts = [table[table[col.MEASURE] == m].set_index(col.FEATURE) for m in measures]
    order = ordered(parts[0].reset_index(), e.words(measures[0], result).sign)[col.FEATURE]
    columns = [Column("feature")]
    for measure, part in zip(measures, parts, strict=True):
        columns += [Column(e.words(measure).title, "number", e.words(measure).unit), *interval_columns(part)]
    numbers = [[col.ESTIMATE, *(col.LOWER, col.UPPER) * bool(interval_columns(part))] for part in parts]
    cells = pd.concat([part[names].reindex(order) for part, names in zip(parts, numbers, strict=True)], axis=1)
    rows = [[name(feature), *values] for feature, values in zip(order, cells.to_numpy(), strict=True)]
    return make_table(key, caption, columns, rows, of=result)


def ends_table(
    e: RunReader, result: Result, features: Sequence[str], measures: Sequence[str], key: str
) -> tuple[Table, ...]:
    """Return the lowest and highest point of the average profile of each feature by measure; none without x."""
    if not {col.X, col.LEVEL} <= set(result.estimates.columns):
        return ()
    rows = []
    for feature in features:
        table = result.estimates[result.estimates[col.FEATURE] == feature]
        for measure in measures:
            ends = range_ends(table[table[col.MEASURE] == measure])
            if ends is not None:
                rows.append((name(feature), e.words(measure).title, *ends))
    columns = ("feature", "measure", "lowest", "highest", "intervals disjoint")
    caption = f"Range of the average profiles. {intervals_caption(result.estimates)} Intervals are pointwise."
    return (make_table(key, caption, columns, rows, evidence=result.id),) if rows else ()


def plain_table(frame: pd.DataFrame, key: str, caption: str, evidence: str, note: str = "") -> Table:
    """Return any frame as it is, without empty columns and those in its caption."""
    order = sorted(frame.columns, key=lambda c: FIRST.index(c) if c in FIRST else len(FIRST))
    idle = {c for c in (col.CONFIDENCE, col.COVERS) if c in frame.columns and len(frame[c].astype(str).unique()) == 1}
    printed = [c for c in order if c not in idle and not _is_blank(frame[c])] or order[:1]
    columns = [Column(name(c).replace("_", " "), _kind(frame[c])) for c in printed]
    return make_table(key, caption, columns, frame[printed].itertuples(index=False), evidence=evidence, note=note)


def _is_blank(column: pd.Series[Any]) -> bool:
    return bool((column.isna() | column.astype(str).eq("")).all())


def _kind(column: pd.Series[Any]) -> Any:
    if str(column.name) in (col.P_VALUE, col.P_ADJUSTED):
        return "pvalue"
    if pd.api.types.is_integer_dtype(column):
        return "integer"
    return "number" if pd.api.types.is_float_dtype(column) else "text"


def _whole(value: Any) -> Any:
    return None if pd.isna(value) else int(value)


CAUTION = (
    "Epistemic uncertainty is estimated by the disagreement of these members only, which differ in their training "
    "sample, initial weights or dropout; it does not include all sources. Identical members have none, however wrong; "
    "it depends on their number, and in forests smaller leaves turn noise into disagreement."
)
HEEDED = "The caution in “Calibration” applies."
SUMS = f"The two parts add up to the total. {HEEDED}"
CURVES = f"At every point the two curves add up to the total. {HEEDED}"
SIZES = f"Values of single observations add up to the total; mean absolute values need not. {HEEDED}"


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
    table = result.estimates.drop_duplicates([col.MEASURE, col.FEATURE]).astype({col.FEATURE: str})
    lines = {m: table[table[col.MEASURE] == m].set_index(col.FEATURE) for m in names if (table[col.MEASURE] == m).any()}
    order = ordered(next(iter(lines.values())).reset_index())[col.FEATURE]
    columns = [Column("feature"), *(Column(e.words(m, result).title, unit=e.words(m, result).unit) for m in lines)]
    rows = [(name(feature), *(_words(part, feature) for part in lines.values())) for feature in order]
    caption = f"Epistemic and aleatoric uncertainty by feature. {intervals_caption(table)}"
    note = SIZES if result.meta.get("sizes") else SUMS
    return (make_table(key, caption, columns, rows, evidence=result.id, note=note),)


def _words(lines: pd.DataFrame, feature: str) -> str | None:
    if feature not in lines.index:
        return None
    row = lines.loc[feature]
    return value_words(row[col.ESTIMATE], row[col.LOWER], row[col.UPPER])


def split_ends(e: RunReader, result: Result, features: Sequence[str], key: str) -> tuple[Table, ...]:
    """Return the lowest and highest point of the curves of both parts by feature; none without members."""
    table = result.estimates
    names = parts_of(table[col.MEASURE])[1:] if {col.X, col.LEVEL} <= set(table.columns) else ()
    heads = [Column(f"{e.words(m).title}: {end}", unit=e.words(m).unit) for m in names for end in ("lowest", "highest")]
    rows = []
    for feature in features if names else ():
        own = table[table[col.FEATURE] == feature]
        ends = [range_ends(own[own[col.MEASURE] == measure]) for measure in names]
        if any(ends):
            rows.append((name(feature), *(cell for pair in ends for cell in (pair[:2] if pair else (None, None)))))
    caption = f"Epistemic and aleatoric uncertainty along each feature. {intervals_caption(table)}"
    columns = [Column("feature"), *heads]
    return (make_table(key, caption, columns, rows, evidence=result.id, note=CURVES),) if rows else ()
