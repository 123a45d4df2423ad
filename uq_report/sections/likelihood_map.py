"""The Likelihood- against Entropy-PFI map, and what the two say of each feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..core.text import count
from ..document import slots
from ..document.blocks import intervals_caption, make_figure, make_table, notes_of
from ..document.document import Block, Bullets, Column, Paragraph, Section, Table
from ..document.evidence import Evidence
from ..document.text import clean, joined, name
from ..evidence.importance import Pfi, PfiLine, PfiReading
from ..evidence.view import by_feature, largest_first, of_measure, table_of
from ..plots import importance_map
from ._wording import words_of

PAIR = ("nll", "entropy")
SENTENCES = 30
IDENTITY = (
    "Two questions about every feature: does the model predict worse when its values are wrong (Likelihood-PFI), and "
    "does it become less sure (Entropy-PFI)? The first less the second is the damage that the model does not notice. "
    "The readings use the verdicts only; whether a feature shares information with others cannot be read off them."
)

Axes = Mapping[str, Mapping[str, PfiLine]]


@dataclass(frozen=True)
class MapSection:
    """The map and the reading of each feature; nothing without both measures, the section on drivers says why."""

    name: ClassVar[str] = "likelihood_map"
    slot: ClassVar[str] = slots.UNSURE_MAP
    shows: ClassVar[tuple[str, ...]] = (Pfi.id, PfiReading.id)
    api_version: ClassVar[int] = 1

    def section(self, evidence: Evidence) -> Section | None:
        """Return the map with a table and a sentence per feature."""
        view, reading = Pfi.find(evidence.run), PfiReading.find(evidence.run)
        if view is None or not set(PAIR) <= set(view.measures):
            return None
        axes = {measure: by_feature(of_measure(view.lines, measure)) for measure in PAIR}
        caption = intervals_caption(*(table_of(tuple(lines.values())) for lines in axes.values()))
        figure = make_figure(
            "map-figure",
            f"Likelihood-PFI against Entropy-PFI. {caption}",
            _alt(axes, reading),
            lambda: importance_map.draw(view.result),
            view.id,
        )
        order = [line.feature for line in largest_first(axes["nll"].values())]
        table = _table(axes, order, reading, caption)
        blocks = (Paragraph(text=IDENTITY), *evidence.warning(PAIR), figure, table, *_sentences(reading, order))
        return Section(id="map", title="Likelihood- against Entropy-PFI", blocks=blocks)


def _alt(axes: Axes, reading: PfiReading | None) -> str:
    """Group the features by their reading; without one, name the largest on each axis."""
    lead = f"Scatter of {count(len(axes['nll']), 'feature')}, Entropy-PFI across, Likelihood-PFI up, with intervals."
    groups: dict[str, list[str]] = {}
    for feature, words in reading.readings.items() if reading is not None else ():
        groups.setdefault(words, []).append(name(feature))
    if groups:
        return f"{lead} {'; '.join(f'{words}: {joined(features, 6)}' for words, features in groups.items())}."
    tops = {side: largest_first(axes[m].values())[0] for side, m in (("up", "nll"), ("across", "entropy"))}
    return f"{lead} Farthest {joined([f'{side} {name(line.feature)}' for side, line in tops.items()])}."


def _table(axes: Axes, order: Sequence[str], reading: PfiReading | None, intervals: str) -> Table:
    readings = {} if reading is None else reading.readings
    columns = [Column("feature"), Column("Likelihood-PFI", unit="nats"), Column("verdict")]
    columns += [Column("Entropy-PFI", unit="nats"), Column("verdict"), Column("reading")]
    rows = [
        [name(f), *(cell for m in PAIR for cell in _judged(axes[m].get(f))), readings.get(f, "not read")] for f in order
    ]
    source, note = (Pfi.id, "") if reading is None else (reading.id, notes_of(reading.result))
    return make_table("map-table", f"Reading of each feature. {intervals}", columns, rows, evidence=source, note=note)


def _judged(line: PfiLine | None) -> tuple[str, str]:
    """Return an estimate with its interval, and its verdict with the explainer's remark."""
    verdict = "" if line is None else ", ".join(filter(None, (line.verdict, line.remark)))
    return words_of(line, "not computed"), verdict


def _sentences(reading: PfiReading | None, order: Sequence[str]) -> list[Block]:
    """Return the reading of each feature in words, as the explainer wrote them, in the order of the table."""
    if reading is None or not reading.sentences:
        return []
    listed = [clean(reading.sentences[feature]) for feature in order if feature in reading.sentences]
    if len(listed) > SENTENCES:
        more = count(len(listed) - SENTENCES, "further feature")
        listed = [*listed[:SENTENCES], f"{more}: see the evidence {reading.id}."]
    return [Bullets(items=tuple(listed))]
