"""The numbers behind the map of Likelihood- against Entropy-PFI, and what the two say of each feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...document import slots
from ...document.blocks import intervals_caption, make_table, notes_of
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.text import joined, name
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, CoverCorrected, Pfi, PfiLine, PfiReading
from ...evidence.view import by_feature, largest_first, of_measure, table_of
from ...reading.run_reader import RunReader
from ..shared.wording import words_of

PAIR = ("nll", "entropy")
IDENTITY = (
    "The numbers behind the map of loss against doubt. Likelihood-PFI less Entropy-PFI is the damage that the model "
    "does not notice. The readings use the verdicts only; whether a feature shares information with others cannot be "
    "read off them."
)
PARTING = (
    "Wood et al. read a feature whose Entropy-PFI is about 0 as one that shares nothing with the others. Entropy-PFI "
    "says how the model's doubt changes; what features share is said by their joint distribution. Here the two part."
)

Axes = Mapping[str, Mapping[str, PfiLine]]


@dataclass(frozen=True)
class MapSection:
    """The numbers behind the map and the reading of each feature; nothing without both measures."""

    name: ClassVar[str] = "likelihood_map"
    slot: ClassVar[str] = slots.UNSURE_MAP
    shows: ClassVar[tuple[str, ...]] = (Pfi.id, PfiReading.id)
    api_version: ClassVar[int] = 1

    def section(self, evidence: RunReader) -> Section | None:
        """Return a table of both importances and their readings, and where these part from covering sets."""
        view, reading = Pfi.find(evidence.run), PfiReading.find(evidence.run)
        if view is None or not set(PAIR) <= set(view.measures):
            return None
        axes = {measure: by_feature(of_measure(view.lines, measure)) for measure in PAIR}
        caption = intervals_caption(*(table_of(tuple(lines.values())) for lines in axes.values()))
        order = [line.feature for line in largest_first(axes["nll"].values())]
        table = _table(axes, order, reading, caption)
        parted = _parted(axes["entropy"], CoverCorrected.find(evidence.run))
        blocks = (Paragraph(text=IDENTITY), table, *parted)
        return Section(id="map", title="Likelihood- against Entropy-PFI", blocks=blocks)


def _table(axes: Axes, order: Sequence[str], reading: PfiReading | None, intervals: str) -> Table:
    readings = {} if reading is None else reading.readings
    columns = [Column("feature"), Column("Likelihood-PFI", unit="nats"), Column("verdict")]
    columns += [Column("Entropy-PFI", unit="nats"), Column("verdict"), Column("reading")]
    rows = [
        [name(f), *(cell for m in PAIR for cell in _cells(axes[m].get(f))), readings.get(f, "not read")] for f in order
    ]
    source, note = (Pfi.id, "") if reading is None else (reading.id, notes_of(reading.result))
    return make_table("map-table", f"Reading of each feature. {intervals}", columns, rows, evidence=source, note=note)


def _cells(line: PfiLine | None) -> tuple[str, str]:
    """Return an estimate with its interval, and its verdict with the explainer's remark."""
    verdict = "" if line is None else ", ".join(filter(None, (line.verdict, line.remark)))
    return words_of(line, "not computed"), verdict


def _parted(doubts: Mapping[str, PfiLine], cover: CoverCorrected | None) -> list[Block]:
    """Say where Wood's reading of Entropy-PFI and the covering sets part, and which of them decides."""
    if cover is None:
        return []
    verdicts = {feature: line.verdict for feature, line in doubts.items() if feature in cover.partners}
    shared = [f for f, verdict in verdicts.items() if verdict == ABOUT_0 and cover.partners[f]]
    alone = [f for f, verdict in verdicts.items() if verdict in (POSITIVE, NEGATIVE) and not cover.partners[f]]
    partners = joined([f"{name(f)} (with {joined(list(map(name, cover.partners[f])))})" for f in shared])
    about_0 = f"Entropy-PFI about 0, and yet the fitted joint distribution finds cover: {partners}."
    other = f"Entropy-PFI other than 0, and yet nothing covers them: {joined(list(map(name, alone)))}."
    parts = [text for text, features in ((about_0, shared), (other, alone)) if features]
    return [Paragraph(text=" ".join([PARTING, *parts]))] if parts else []
