"""The rows that were audited: where they come from, every feature, their quality, and the hashes they are known by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.text import count
from ..blocks import make_table
from ..document import Block, Callout, Cell, Column, Facts, Paragraph, Section, Table
from ..evidence import Evidence, as_cell
from ..text import clean, items, joined, name, plain
from .quality import quality

TITLE = "Data and lineage"
LEVELS = 4


def data(e: Evidence) -> Section:
    """Return origin and facts of the rows, their quality, the features, and hashes."""
    return Section(
        id="data",
        title=TITLE,
        blocks=(Facts(rows=_lineage(e)),),
        sections=(
            Section(id="data-rows", title="Rows and features", blocks=_data(e)),
            quality(e),
            Section(id="hashes", title="Hashes", blocks=_hashes(e)),
        ),
    )


def _lineage(e: Evidence) -> tuple[tuple[str, Cell], ...]:
    """Return what people said of the data, and the names of its files."""
    sources = e.mapping("sources")
    files = tuple(
        (_SOURCES.get(key, f"File or column of {name(key)}"), as_cell(sources[key]))
        for key in sources
        if key not in ("model", "model_loading")
    )
    said = (("Origin", "data_origin"), ("How rows were split", "data_split"), ("Licence", "data_licence"))
    return (*((label, e.said(key)) for label, key in said), *files)


def _data(e: Evidence) -> tuple[Block, ...]:
    subject = e.run.subject
    named = [f"{name(group)}: {joined(items(members))}" for group, members in e.groups.items()]
    sampled = e.number("sampled_from")
    facts: list[tuple[str, Any]] = [
        ("Rows", e.fact("n")),
        ("Drawn from", f"{sampled} rows, at random" if sampled else "all rows given"),
        ("Features", e.fact("d")),
        ("Outcomes given", e.fact("has_y")),
        ("Training data given", f"yes, {count(e.number('n_train') or 0, 'row')}" if subject.get("has_train") else "no"),
        ("Sample weights", e.fact("weights")),
        ("Clusters of rows", e.fact("clusters") if subject.get("clusters") else "none"),
        ("Feature groups", "; ".join(named) or "none"),
        ("Protected attributes", e.fact("protected") if subject.get("protected") else "none named"),
    ]
    for key, value in e.mapping("y_summary").items():
        facts.append((f"Outcome, {name(key).replace('_', ' ')}", _summary(e, key, value)))
    return (Facts(rows=tuple(facts)), *_warnings(e), *_features(e))


def _summary(e: Evidence, key: str, value: Any) -> Any:
    """Return one fact of the outcome; counts by class where there are classes."""
    classes = e.run.subject.get("classes")
    if key == "counts" and isinstance(classes, list | tuple) and isinstance(value, list | tuple):
        return joined([f"{name(c)}: {n}" for c, n in zip(classes, value, strict=False)])
    return as_cell(value)


def _warnings(e: Evidence) -> tuple[Block, ...]:
    """Warn of columns that make importances misleading."""
    constant = [name(f["name"]) for f in e.features if f.get("constant")]
    copies = [f"{name(f['name'])} repeats {name(f['duplicate_of'])}" for f in e.features if f.get("duplicate_of")]
    missing = [f"{name(f['name'])} ({f['missing']})" for f in e.features if f.get("missing")]
    told = (
        (constant, "Constant columns", "The model cannot be shown to use them on these rows: {}."),
        (copies, "Copies", "{}. Their importances share what they have in common."),
        (missing, "Missing values", "Rows without a value, by feature: {}."),
    )
    return tuple(Callout(tone="warning", title=t, text=text.format(joined(found))) for found, t, text in told if found)


def _features(e: Evidence) -> tuple[Block, ...]:
    if not e.features:
        return (Paragraph(text="The features were not recorded."),)
    columns = [
        Column("feature"),
        Column("kind"),
        Column("range or most frequent levels"),
        Column("distinct", "integer"),
        Column("missing", "integer"),
    ]
    rows = [
        (name(f.get("name", "")), clean(f.get("kind", "")), _range(f), f.get("distinct"), f.get("missing"))
        for f in e.features
    ]
    table: Table = make_table("data-features", "Features on the audited rows.", columns, rows)
    return (table,)


def _range(feature: Mapping[str, Any]) -> str:
    levels = feature.get("top_levels")
    if isinstance(levels, Mapping):
        return joined([f"{name(level)} ({times})" for level, times in levels.items()], LEVELS)
    if isinstance(levels, list | tuple) and levels:
        return joined([_level(level) for level in levels], LEVELS)
    low, high = feature.get("min"), feature.get("max")
    if low is None or high is None:
        return "not recorded"
    return f"{_bound(low)} to {_bound(high)}"


def _level(level: Any) -> str:
    """Return a level with its count where one is recorded beside it."""
    if isinstance(level, list | tuple) and len(level) == 2:
        return f"{name(level[0])} ({level[1]})"
    return name(level)


def _bound(value: Any) -> str:
    return plain(value) if isinstance(value, int | float) else clean(value)


def _hashes(e: Evidence) -> tuple[Block, ...]:
    known = e.mapping("hashes")
    rows = tuple((f"SHA-256 of {_HASHED.get(key, name(key))}", as_cell(value)) for key, value in known.items())
    text = "A report belongs to the model and data with these hashes, and to no others."
    return (Paragraph(text=text), Facts(rows=rows or (("Hashes", as_cell(None)),)))


_SOURCES = {
    "ignored": "Columns left out",
    "query": "Query of the data",
    "train_query": "Query of the training data",
    "data_columns": "Columns of the data, as read",
    "train_columns": "Columns of the training data, as read",
    "train_against_data": "Data against the training data",
}
_HASHED = {
    "data_file": "the file of the data",
    "train_file": "the file of the training data",
    "model": "the model",
    "X": "the rows",
    "y": "the outcomes",
    "train_X": "the training rows",
    "train_y": "the training outcomes",
}
