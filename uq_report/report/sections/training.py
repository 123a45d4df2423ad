"""Importance on training rows beside that on test rows: what was over-fitted."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.results import Result
from ..blocks import intervals_caption, make_table, notes_of
from ..document import Block, Column, Paragraph, Section, Table
from ..evidence import Evidence
from ..telling import ordered
from ..text import joined, name

TITLE = "Training rows against test rows"
LEAD = (
    "Importance on the training rows shows what the model learnt, chance included; on test rows what holds. The model "
    "has seen the training rows, so their values stand for no population and have no interval."
)
RULE = "test verdict about 0 or negative, training value above the margin and above the test interval"


def training(e: Evidence) -> Section:
    """Return the comparison, or why there is none."""
    result, train = e.find("pfi"), e.find("pfi.train")
    if result is None or train is None:
        text = e.why_missing("pfi") if result is None else "There are no importances on training rows."
        return Section(id="drivers-train", title=TITLE, blocks=(Paragraph(text=text),))
    held = set(result.estimates["measure"])
    tables = [_beside(e, result, train, str(m)) for m in dict.fromkeys(train.estimates["measure"]) if m in held]
    blocks: list[Block] = [Paragraph(text=LEAD), Paragraph(text=_flagged(e, train)), *tables]
    return Section(id="drivers-train", title=TITLE, blocks=tuple(blocks))


def _flagged(e: Evidence, train: Result) -> str:
    """Name the features that matter on training rows only."""
    said = train.meta.get("overfit")
    flagged = [one for one in said if isinstance(one, Mapping)] if isinstance(said, list | tuple) else []
    told = [f"{name(one.get('feature'))} ({e.words(str(one.get('measure'))).title})" for one in flagged]
    if not told:
        return f"No feature is important on the training rows only ({RULE})."
    return f"Important on the training rows only ({RULE}): {joined(told, 20)}."


def _beside(e: Evidence, result: Result, train: Result, measure: str) -> Table:
    said = e.words(measure)
    test = ordered(result.estimates[result.estimates["measure"] == measure])
    seen = train.estimates[train.estimates["measure"] == measure].drop_duplicates("feature")
    values = dict(zip(seen["feature"], seen["estimate"], strict=True))
    columns = [
        Column("feature"),
        Column("test", "number", said.unit),
        Column("from", "number"),
        Column("to", "number"),
        Column("train", "number", said.unit),
        Column("train − test", "number"),
    ]
    rows = []
    for row in test.to_dict("records"):
        trained = values.get(row["feature"], float("nan"))
        cells = (row["estimate"], row["lower"], row["upper"], trained, trained - row["estimate"])
        rows.append((name(row["feature"]), *cells))
    caption = f"Importance for {said.title} on test and on training rows. {intervals_caption(test)}"
    return make_table(f"drivers-train-{measure}", caption, columns, rows, evidence=train.id, note=notes_of(train))
