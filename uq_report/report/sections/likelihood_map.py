"""The Likelihood- against Entropy-PFI map, with Wood's reading of each feature in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...plots import importance_map
from ..blocks import intervals_caption, make_figure, make_table, notes_of
from ..document import Block, Bullets, Column, Paragraph, Section, Table
from ..evidence import Evidence
from ..text import clean, joined, name, value_words

PAIR = ("nll", "entropy")
SENTENCES = 30
IDENTITY = (
    "Likelihood-PFI is the damage that shuffling a feature does to the log score; Entropy-PFI is the part of it the "
    "model notices by becoming less sure. Their difference is the change of the confidence gap: damage the model does "
    "not notice. The readings follow Wood et al., section 3.5, and use the verdicts only."
)


def likelihood_map(e: Evidence) -> Section | None:
    """Return the map, or None without both measures; the section on drivers says why."""
    result = e.find("pfi")
    if result is None or not set(PAIR) <= set(result.estimates["measure"]):
        return None
    table = result.estimates
    parts = {m: table[table["measure"] == m].drop_duplicates("feature").set_index("feature") for m in PAIR}
    order = [str(f) for f in parts["nll"]["estimate"].sort_values(ascending=False, kind="stable").index]
    reading = e.find("pfi.reading")
    figure = make_figure(
        "map-figure",
        f"Likelihood-PFI against Entropy-PFI. {intervals_caption(*parts.values())}",
        _alt(parts, reading),
        lambda: importance_map.draw(result),
        result.id,
    )
    blocks: list[Block] = [Paragraph(text=IDENTITY), *e.warning(PAIR), figure, _table(parts, order, reading)]
    blocks += _sentences(reading, order)
    return Section(id="map", title="Likelihood- against Entropy-PFI", blocks=tuple(blocks))


def _readings(reading: Result | None) -> dict[str, str]:
    if reading is None:
        return {}
    return dict(zip(reading.frame["feature"].astype(str), reading.frame["item"].astype(str), strict=True))


def _alt(parts: Mapping[str, pd.DataFrame], reading: Result | None) -> str:
    """Group the features by their reading; without one, name the largest on each axis."""
    lead = f"Scatter of {count(len(parts['nll']), 'feature')}, Entropy-PFI across, Likelihood-PFI up, with intervals."
    groups: dict[str, list[str]] = {}
    for feature, said in _readings(reading).items():
        groups.setdefault(said, []).append(name(feature))
    if groups:
        return f"{lead} {'; '.join(f'{said}: {joined(features, 6)}' for said, features in groups.items())}."
    tops = [f"{axis} {name(parts[m]['estimate'].idxmax())}" for axis, m in (("up", "nll"), ("across", "entropy"))]
    return f"{lead} Farthest {joined(tops)}."


def _table(parts: Mapping[str, pd.DataFrame], order: list[str], reading: Result | None) -> Table:
    said = _readings(reading)
    columns = [
        Column("feature"),
        Column("Likelihood-PFI", unit="nats"),
        Column("verdict"),
        Column("Entropy-PFI", unit="nats"),
        Column("verdict"),
        Column("reading"),
    ]
    records = {m: part.to_dict("index") for m, part in parts.items()}
    rows = [
        [name(f), *(cell for m in PAIR for cell in _judged(records[m].get(f))), said.get(f, "not read")] for f in order
    ]
    caption = f"Reading of each feature. {intervals_caption(*parts.values())}"
    evidence = "pfi" if reading is None else reading.id
    return make_table("map-table", caption, columns, rows, evidence=evidence, note=notes_of(reading))


def _judged(row: Mapping[Any, Any] | None) -> tuple[str, str]:
    """Return an estimate with its interval, and its verdict with the explainer's remark."""
    if row is None:
        return "not computed", ""
    verdict = ", ".join(filter(None, (str(row.get("verdict") or ""), str(row.get("remark") or ""))))
    return value_words(row["estimate"], row["lower"], row["upper"]), verdict


def _sentences(reading: Result | None, order: list[str]) -> list[Block]:
    """Return the reading of each feature in words, as the explainer wrote them, in the order of the table."""
    told = reading.meta.get("sentences") if reading is not None else None
    if not isinstance(told, Mapping) or not told:
        return []
    listed = [clean(told[feature]) for feature in order if feature in told]
    if len(listed) > SENTENCES:
        more = count(len(listed) - SENTENCES, "further feature")
        listed = [*listed[:SENTENCES], f"{more}: see the evidence pfi.reading."]
    return [Bullets(items=tuple(listed))]
