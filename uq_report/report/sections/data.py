"""The rows that were audited: where they come from, every feature, their quality, and the hashes they are known by."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.support.text import count
from ...document.blocks import make_table, paragraphs
from ...document.document import Block, Callout, Cell, Column, Facts, Section
from ...document.text import ABSENT, clean, items, joined, name, plain
from ...evidence.subject import FeatureFacts, SubjectFacts
from ...reading.run_reader import RunReader, as_cell
from ..placing import PluginSections

TITLE = "Data and lineage"
LEVELS = 4
SOURCES = {
    "ignored": "Columns left out", "query": "Query of the data", "train_query": "Query of the training data",
    "data_columns": "Columns of the data, as read", "train_columns": "Columns of the training data, as read",
    "train_against_data": "Data against the training data",
}  # fmt: skip
HASHED = {
    "data_file": "the file of the data", "train_file": "the file of the training data", "model": "the model",
    "X": "the rows", "y": "the outcomes", "train_X": "the training rows", "train_y": "the training outcomes",
}  # fmt: skip


def data(e: RunReader, placed: PluginSections, *, whole: bool = True) -> Section:
    """Return origin and facts of the rows, and hashes; in full every feature and the quality of the data."""
    parts = (
        Section(id="data-rows", title="Rows and features", blocks=_rows_and_features(e.subject, whole=whole)),
        *(placed.chapter("data") if whole else ()),
        Section(id="hashes", title="Hashes", blocks=_hashes(e.subject.hashes)),
    )
    return Section(id="data", title=TITLE, blocks=(Facts(rows=_lineage(e)),), sections=parts)


def _lineage(e: RunReader) -> tuple[tuple[str, Cell], ...]:
    """Return what people wrote of the data, and the names of its files."""
    files = tuple(
        (SOURCES.get(key, f"File or column of {name(key)}"), as_cell(source))
        for key, source in e.subject.sources.items()
        if key not in ("model", "model_loading")
    )
    texts = (("Origin", "data_origin"), ("How rows were split", "data_split"), ("Licence", "data_licence"))
    return (*((label, e.about_cell(key)) for label, key in texts), *files)


def _rows_and_features(about: SubjectFacts, *, whole: bool) -> tuple[Block, ...]:
    together = [f"{name(group)}: {joined(items(members))}" for group, members in about.groups.items()]
    facts = (
        ("Rows", as_cell(about.n)),
        ("Drawn from", f"{about.sampled_from} rows, at random" if about.sampled_from else "all rows given"),
        ("Features", as_cell(about.d)),
        ("Outcomes given", as_cell(about.has_y)),
        ("Training data given", f"yes, {count(about.n_train or 0, 'row')}" if about.has_train else "no"),
        ("Sample weights", as_cell(about.weights)),
        _dependence(about),
        ("Feature groups", "; ".join(together) or "none"),
        ("Protected attributes", as_cell(about.protected) if about.protected else "none named"),
        *_outcome(about),
    )
    return (Facts(rows=facts), *_warnings(about.features), *(_features(about.features) if whole else ()))


def _dependence(about: SubjectFacts) -> tuple[str, Cell]:
    """Return how rows depend on each other, as far as it was stated."""
    if about.block_length is None or about.clusters is None:
        return "Clusters of rows", about.clusters or "none"
    blocks, length = count(about.clusters, "block"), count(about.block_length, "successive row")
    return "Rows in order of time", f"{blocks} of about {length} (length {about.block_rule})"


def _outcome(about: SubjectFacts) -> tuple[tuple[str, Cell], ...]:
    """Return the facts of the outcome; counts by class where there are classes."""
    facts = {key: as_cell(value) for key, value in about.y_summary.items()}
    counts = about.y_summary.get("counts")
    if about.classes is not None and isinstance(counts, list | tuple):
        facts["counts"] = joined([f"{name(c)}: {n}" for c, n in zip(about.classes, counts, strict=False)])
    return tuple((f"Outcome, {name(key).replace('_', ' ')}", cell) for key, cell in facts.items())


def _warnings(features: tuple[FeatureFacts, ...]) -> tuple[Block, ...]:
    """Warn of columns that make importances misleading."""
    constant = [name(f.name) for f in features if f.constant]
    copies = [f"{name(f.name)} repeats {name(f.duplicate_of)}" for f in features if f.duplicate_of]
    missing = [f"{name(f.name)} ({f.missing})" for f in features if f.missing]
    warnings = (
        (constant, "Constant columns", "The model cannot be shown to use them on these rows: {}."),
        (copies, "Copies", "{}. Their importances share what they have in common."),
        (missing, "Missing values", "Rows without a value, by feature: {}."),
    )
    return tuple(Callout(tone="warning", title=t, text=text.format(joined(f))) for f, t, text in warnings if f)


def _features(features: tuple[FeatureFacts, ...]) -> tuple[Block, ...]:
    if not features:
        return paragraphs("The features were not recorded.")
    numbers = (Column("distinct", "integer"), Column("missing", "integer"))
    columns = ("feature", "kind", "range or most frequent levels", *numbers)
    rows = [(name(f.name), clean(f.kind), _range(f), f.distinct, f.missing) for f in features]
    return (make_table("data-features", "Features on the audited rows.", columns, rows),)


def _range(feature: FeatureFacts) -> str:
    if feature.top_levels:
        return joined([f"{name(level)} ({times})" for level, times in feature.top_levels], LEVELS)
    if feature.min is None or feature.max is None:
        return ABSENT
    return " to ".join(plain(x) if isinstance(x, int | float) else clean(x) for x in (feature.min, feature.max))


def _hashes(hashes: Mapping[str, str]) -> tuple[Block, ...]:
    rows = tuple((f"SHA-256 of {HASHED.get(key, name(key))}", as_cell(value)) for key, value in hashes.items())
    text = "A report belongs to the model and data with these hashes, and to no others."
    return (*paragraphs(text), Facts(rows=rows or (("Hashes", as_cell(None)),)))
