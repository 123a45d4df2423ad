"""The case sheet: one observation on one page, for a complaint or an adverse decision."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pandas as pd

from ...core.model.results import MeasureFacts, Result
from ...core.support.numbers import number
from ...document.blocks import make_figure, make_section, make_table, paragraphs
from ...document.document import Attachment, Block, Cell, Column, Document, Facts, Section
from ...document.plots import attribution
from ...document.plots.case import draw_case
from ...document.text import clean, joined, name
from ...evidence import columns as col
from ...evidence import ids
from ...runner import plugins
from ...runner.cases import CaseFacts

TOP = 5  # features with a bar
NEAREST = 3  # observations beside this one
SHOWN = 5  # features of the nearest observations
LINES = 3  # changes of each kind


def leading_features(facts: CaseFacts) -> list[str]:
    """Return the features by the size of their Shapley values, each measure in units of its largest."""
    if not facts.attributions:
        return list(facts.subject.features)
    frame = facts.attributions[0].frame
    sizes = frame.assign(size=frame[col.VALUE].abs())
    largest = sizes.groupby(col.MEASURE)["size"].transform("max").replace(0.0, 1.0)
    means = (sizes["size"] / largest).groupby(sizes[col.FEATURE], sort=False).mean()
    return [str(feature) for feature in means.sort_values(ascending=False, kind="stable").index]


def case_figure(facts: CaseFacts) -> Any:
    """Return the figure of the distribution, the percentiles and the profiles."""
    shown = facts.measures[facts.measures["role"] != "loss"]
    known = {str(m): MeasureFacts(str(t), str(u), str(r)) for m, t, u, r in shown.iloc[:, :4].to_numpy().tolist()}
    first = {m: fact for m, fact in known.items() if m in ("prediction", facts.uncertainty)}
    return draw_case(facts.distribution, shown, facts.profiles, leading_features(facts), first)


def case_document(facts: CaseFacts, as_of: str, csv: bytes) -> Document:
    """Return the case sheet; `csv` is the table of all its numbers, which travels inside a PDF.

    Parameters
    ----------
    facts : CaseFacts
    as_of : str
        The date of the sheet.
    csv : bytes
    """
    return Document(
        title=f"Case sheet: {name(facts.label)}",
        subtitle=f"Prediction of {clean(facts.subject.label, 120)}",
        as_of=as_of,
        generator=f"uq_report {plugins.versions(['uq_report']).get('uq_report', '')}".strip(),
        evidence_sha256=hashlib.sha256(csv).hexdigest(),
        sections=tuple(_sections(facts)),
        kind="case",
        attachments=(Attachment("case.csv", csv, "text/csv", "All numbers of the case"),),
    )


def _sections(facts: CaseFacts) -> list[Section]:
    notes = " ".join((*facts.notes, *(note for result in _explained(facts) for note in result.notes)))
    return [
        make_section("case-prediction", "Prediction and uncertainty", (_facts(facts), _overview(facts))),
        make_section("case-reasons", "Contributions of the features", _reasons(facts)),
        make_section("case-changes", "Smallest changes", _changes(facts)),
        make_section("case-compared", "Comparison", (*_groups(facts), *_neighbours(facts), *paragraphs(clean(notes)))),
    ]


def _facts(facts: CaseFacts) -> Facts:
    rows: list[tuple[str, Cell]] = [("Decision", clean(facts.decision) if facts.decision else "not defined")]
    for line in facts.measures.to_dict("records"):
        if line["role"] != "loss" or line["measure"] == "nll":
            of = f"{number(line['value'])} {line['unit']}; percentile {100 * line['percentile']:.0f}"
            rows.append((str(line["title"]).capitalize(), of))
    return Facts(rows=(*rows, ("Training domain", domain_words(facts))))


def domain_words(facts: CaseFacts) -> str:
    """Return whether the observation is within the domain, and by which numbers."""
    domain = facts.domain
    if domain is None:
        return "not assessed"
    words = "inside" if domain.inside else "outside"
    distance = f"distance {number(domain.distance)}, limit {number(domain.limit)}, {domain.n} {domain.reference}"
    return f"{words} ({'; '.join([distance, *map(clean, domain.beyond)])})"


def _overview(facts: CaseFacts) -> Block:
    alt = joined([f"{item}: {number(value)}" for item, value in facts.distribution.to_numpy().tolist()], 6)
    caption = "Predictive distribution, percentiles in the test sample, and profiles through the observation (dot)."
    return make_figure("case-figure", caption, alt, lambda: case_figure(facts), "")


def _explained(facts: CaseFacts) -> Sequence[Result]:
    return [result for result in facts.attributions if result.id == ids.SHAP]


def _reasons(facts: CaseFacts) -> tuple[Block, ...]:
    explained = _explained(facts)
    if not explained:
        return paragraphs("No Shapley values were computed.")
    caption = "Shapley values: from the mean over background observations (base) to this observation (value)."
    leading = joined(leading_features(facts), 3)
    draw = lambda: attribution.draw(explained[0], row=facts.row, top=TOP)  # noqa: E731 - drawn where it is needed
    return (make_figure("case-shap", caption, f"Largest contributions: {leading}.", draw, ids.SHAP),)


def _changes(facts: CaseFacts) -> tuple[Block, ...]:
    if facts.changes.empty:
        what = "decision or takes the uncertainty across the median of the test sample"
        return paragraphs(f"No change of a single feature within the domain changes the {what}.")
    table = facts.changes.groupby("changes", sort=False).head(LINES)
    rows = [
        (line["changes"], name(line["feature"]), _value(line["from"]), _value(line["to"]), line["size"], line["result"])
        for line in table.to_dict("records")
    ]
    columns = [*map(Column, ("changes", "feature", "from", "to")), Column("size", "percent"), Column("then")]
    caption = (
        "Smallest change of one feature, to an observed value within the domain, that changes the decision or takes "
        "the uncertainty across the median of the test sample. Size: share of reference observations between."
    )
    note = "It describes the model. It is no statement about causes, and no advice."
    return (make_table("case-changes-table", caption, columns, rows, note=note),)


def _groups(facts: CaseFacts) -> tuple[Block, ...]:
    """Return the medians of groups, and where the observation stands among them."""
    names = [m for m in ("prediction", facts.uncertainty) if (facts.groups["measure"] == m).any()]
    parts = {m: facts.groups[facts.groups["measure"] == m].to_dict("records") for m in names}
    columns = [Column("group"), Column("n", "integer")]
    for measure in names:
        columns += [Column(f"median {measure}", "number"), Column("percentile of this", "percent")]
    rows = [
        (clean(lines[0]["group"]), lines[0]["n"], *(line[what] for line in lines for what in ("median", "percentile")))
        for lines in zip(*parts.values(), strict=True)
    ]
    return (make_table("case-groups", "This observation among others of the test sample.", columns, rows),)


def _neighbours(facts: CaseFacts) -> tuple[Block, ...]:
    if facts.neighbours.empty or facts.domain is None:
        return ()
    outcome = [c for c in ("outcome",) if c in facts.neighbours]
    shown = leading_features(facts)[:SHOWN]
    own = facts.values.set_index("feature")["value"]
    table = facts.neighbours[["distance", *outcome, *shown]]
    rows = [("this", *[""] * len(outcome), *(_value(own[feature]) for feature in shown))]
    rows += [(number(line[0]), *map(_value, line[1:])) for line in table.head(NEAREST).to_numpy(dtype=object).tolist()]
    caption = f"Nearest {facts.domain.reference} (Gower's distance over all features), with the leading features."
    return (make_table("case-nearest", caption, ["distance", *outcome, *map(name, shown)], rows),)


def _value(value: Any) -> str:
    """Return a value of the data as text."""
    if value is None or value is pd.NaT or (isinstance(value, float) and pd.isna(value)):
        return "missing"
    return number(value) if isinstance(value, float) else clean(value, 40)
