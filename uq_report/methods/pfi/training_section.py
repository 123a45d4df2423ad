"""Importance on training rows beside that on test rows: what the model learnt and what holds."""

from __future__ import annotations

from math import nan
from typing import ClassVar

from ...core.model.measures import without_parts
from ...document import slots
from ...document.document import Column, Paragraph, Section, Table
from ...evidence.importance import Pfi, PfiLine, PfiTrain
from ...evidence.view import by_feature, largest_first, of_measure
from ...reading.run_reader import RunReader
from ...reading.tables import FEATURE, Field, line_table
from ..shared.wording import BuiltInSection

TITLE = "Training rows against test rows"
LEAD = (
    "Importance on the training rows shows what the model learnt, chance included; on test rows what holds. The model "
    "has seen the training rows, so their values stand for no population and have no interval."
)


class TrainingSection(BuiltInSection):
    """Importance on training rows against test rows, measure by measure, or why there is no comparison."""

    name: ClassVar[str] = "training"
    slot: ClassVar[str] = slots.TRAINING
    shows: ClassVar[tuple[str, ...]] = (PfiTrain.id,)

    def section(self, evidence: RunReader) -> Section:
        """Return both importances, measure by measure."""
        test, train = Pfi.find(evidence.run), PfiTrain.find(evidence.run)
        if test is None or train is None:
            text = evidence.why_missing(Pfi.id) if test is None else "There are no importances on training rows."
            return Section(id="drivers-train", title=TITLE, blocks=(Paragraph(text=text),))
        tables = [
            _table(evidence, test, train, measure)
            for measure in without_parts(train.measures)
            if measure in test.measures
        ]
        return Section(id="drivers-train", title=TITLE, blocks=(Paragraph(text=LEAD), *tables))


def _table(e: RunReader, test: Pfi, train: PfiTrain, measure: str) -> Table:
    facts = e.words(measure, test.result)
    lines = largest_first(of_measure(test.lines, measure), facts.sign)
    trained = by_feature(of_measure(train.lines, measure))

    def learnt(line: PfiLine) -> float:
        return trained[line.feature].estimate if line.feature in trained else nan

    fields: tuple[Field, ...] = (
        *(FEATURE, (Column("test", "number", facts.unit), "estimate")),
        *((Column("from", "number"), "lower"), (Column("to", "number"), "upper")),
        (Column("train", "number", facts.unit), learnt),
        (Column("train − test", "number"), lambda line: learnt(line) - line.estimate),
    )
    caption = f"Importance for {facts.title} on test and on training rows."
    return line_table(f"drivers-train-{measure}", caption, lines, fields, of=train.result)
