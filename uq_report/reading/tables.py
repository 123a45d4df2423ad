"""Tables made from estimates, those of the two parts of an uncertainty included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias

import pandas as pd

from ..core.model.measures import PARTS
from ..core.model.results import Result
from ..core.support.numbers import is_number
from ..document.blocks import interval_columns, intervals_caption, make_table, notes_of, tables
from ..document.document import Column, Table
from ..document.text import clean, name, plain, value_words
from ..evidence import columns as col
from ..evidence.importance import CLAIMED, DELIVERED
from ..evidence.rows import SHUFFLED
from ..evidence.view import EstimateLine, table_of
from .rank_ranges import FeatureRanking
from .run_reader import RunReader
from .sentences import order_words, range_ends

FIRST = (col.FEATURE, col.FEATURE_2, col.ITEM, col.MEASURE, col.RANK, col.ESTIMATE)
HEADINGS = {
    col.FEATURE_2: "other feature",
    col.STD_ERROR: "std. error",
    col.SPREAD_LOW: "permutations from",
    col.SPREAD_HIGH: "permutations to",
    col.N_NEEDED: "n for 80% power",
    col.DISTRUST: "unreliable interval",
    col.P_VALUE: "p",
    col.P_ADJUSTED: "p, adjusted",
    col.PLAIN: "alone",
    col.NULL_LOWER: "if calibrated from",
    col.NULL_UPPER: "to",
    "null_mean": "mean if calibrated",
    "changed": "share that changes",
    "shift": "mean change",
    "total": "total effect",
}
WORDS = {  # items and measures that results name by a key
    CLAIMED: "model-implied",
    DELIVERED: "realised",
    SHUFFLED: "after permutation",
    "confidence_gap": "calibration gap",
    "brier": "Brier score",
    "copied_column": "copy of a column",
    "duplicate_rows": "duplicate observations",
    "log_score": "logarithmic score",
    "missing_train": "missing, training sample",
    "overlap": "observations that occur in training",
    "overlap_other_y": "observations that occur in training with another outcome",
    "roc_auc": "AUC",
    "rps": "ranked probability score",
    "sharpness_sd": "sharpness, standard deviation",
    "sharpness_width_90": "sharpness, width of 90% prediction intervals",
    "smooth_statistic": "smooth test",
    "sparse": "mostly one value",
}
_SPELLED = {"auc": "AUC", "auroc": "AUROC", "brier": "Brier", "crps": "CRPS", "pit": "PIT", "r2": "R²", "rps": "RPS"}
# columns for programs, and what the caption has: they stand in the evidence alone
HIDDEN = frozenset({
    col.CONFIDENCE, col.COVERS, col.MARGIN, col.SHUFFLING_ERROR, col.UNPERMUTED, "apart", "difference_std_error",
    "exact_zero", "freedom",
    "grown", "lower_90", "n_rest", "rare", "scale", "segment", "units", "upper_90", "where_changed",
})  # fmt: skip

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


def importance_table(e: RunReader, result: Result, measure: str, key: str, *, noted: bool) -> Table:
    """Return one measure's importances, the leading first, with the ranks that each feature may have."""
    ranking = FeatureRanking.of(e, result, measure)
    ranks = [place.words if (place := ranking.features.get(str(f))) else "" for f in ranking.table[col.FEATURE]]
    frame = ranking.table.drop(columns=col.MEASURE).assign(**{col.RANK: ranks})
    caption = f"{clean(result.title)}: {ranking.facts.title}, {order_words(ranking.facts)}."
    caption = f"{caption} {intervals_caption(frame)}"
    return plain_table(e, result, frame, key, caption, unit=ranking.facts.unit, noted=noted)


def ends_table(e: RunReader, result: Result, features: Sequence[str], key: str) -> tuple[Table, ...]:
    """Return the lowest and highest point of the average profile of each feature by measure; none without x."""
    if not {col.X, col.LEVEL} <= set(result.estimates.columns):
        return ()
    rows = []
    for feature in features:
        table = result.estimates[result.estimates[col.FEATURE] == feature]
        for measure in dict.fromkeys(map(str, table[col.MEASURE])):
            ends = range_ends(table[table[col.MEASURE] == measure])
            if ends is not None:
                rows.append((name(feature), e.words(measure).title, *ends))
    columns = ("feature", "measure", "lowest", "highest", "intervals disjoint")
    caption = f"Range of the average profiles. {intervals_caption(result.estimates)} Intervals are pointwise."
    return tables(key, caption, columns, rows, evidence=result.id)


def plain_table(
    e: RunReader, result: Result, frame: pd.DataFrame, key: str, caption: str, *, unit: str = "", noted: bool = True
) -> Table:
    """Return a frame of a result: estimates with their intervals, without empty columns and those for programs."""
    ends = {c: pair for c in frame.columns if (pair := _ends(frame, str(c)))}
    idle = HIDDEN.union(*ends.values(), (col.STD_ERROR,) if col.ESTIMATE in ends else ())
    order = sorted(frame.columns, key=lambda c: FIRST.index(c) if c in FIRST else len(FIRST))
    printed = [c for c in order if c not in idle and not is_blank(frame[c])] or order[:1]
    columns, cells = [], []
    for c in printed:
        kind: Any = "text" if c in ends else _kind(frame[c])
        columns.append(Column(HEADINGS.get(c, name(c).replace("_", " ")), kind, unit if c == col.ESTIMATE else ""))
        if c in ends:
            limits = frame[[c, *ends[c]]].itertuples(index=False)
            cells.append([value_words(*row) if pd.notna(row[0]) else None for row in limits])
        elif c == col.MEASURE:
            cells.append([WORDS.get(m) or e.words(str(m), result).title for m in frame[c]])
        elif c == col.ITEM and (col.FEATURE not in frame or is_blank(frame[col.FEATURE])):
            cells.append([key_words(str(value)) for value in frame[c]])
        elif c in FIRST or kind != "text":
            cells.append([WORDS.get(value, value) for value in frame[c]])
        else:
            cells.append([plain(value) if isinstance(value, str) and is_number(value) else value for value in frame[c]])
    rows = zip(*cells, strict=True)
    return make_table(key, caption, columns, rows, evidence=result.id, note=notes_of(result) if noted else "")


def key_words(key: str) -> str:
    """Return a key of a measure or a score in words; what is no key stays as it is.

    Examples
    --------
    >>> key_words("crps_skill"), key_words("roc_auc"), key_words("age above 42")
    ('CRPS skill', 'AUC', 'age above 42')
    """
    parts = key.split("_") if key.isidentifier() and key.islower() else (key,)
    return WORDS.get(key) or " ".join(_SPELLED.get(part, part) for part in parts)


def _ends(frame: pd.DataFrame, column: str) -> tuple[str, str] | None:
    """Return the columns of the limits of a column of numbers; None without any limit."""
    ends = (col.LOWER, col.UPPER) if column == col.ESTIMATE else (f"{column}_lower", f"{column}_upper")
    return ends if {*ends} <= {*frame.columns} and frame[ends[0]].notna().any() else None


def is_blank(column: pd.Series[Any]) -> bool:
    """Say whether a column has nothing to show."""
    return bool((column.isna() | column.astype(str).eq("")).all())


def _kind(column: pd.Series[Any]) -> Any:
    if str(column.name) in (col.P_VALUE, col.P_ADJUSTED):
        return "pvalue"
    if pd.api.types.is_integer_dtype(column):
        return "integer"
    return "number" if pd.api.types.is_float_dtype(column) else "text"


CAUTION = (
    "Epistemic uncertainty is estimated by the disagreement of these members only, which differ in their training "
    "sample, initial weights or dropout; it does not include all sources. Identical members have none, however wrong; "
    "it depends on their number, and in forests smaller leaves turn noise into disagreement."
)


def parts_of(measures: Iterable[object]) -> tuple[str, ...]:
    """Return the uncertainty, its aleatoric and its epistemic part, if both parts are among `measures`, else none.

    Examples
    --------
    >>> parts_of(["nll", "entropy", "aleatoric", "epistemic"]), parts_of(["nll", "entropy"])
    (('entropy', 'aleatoric', 'epistemic'), ())
    """
    present = set(map(str, measures))
    return next((names for names in PARTS if present.issuperset(names[1:])), ())
